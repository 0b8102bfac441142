"""What has passed through the daemon takes no memory: the second half of many messages, and of many requests, adds next to nothing to
what is in use of the heap after the first half. The inboxes stay short here, so that only what the daemon keeps for itself can grow.
What is in use is asked of the heap itself (tests/shim/heap.cpp): what is resident creeps with every greater peak.

LONG=1 takes 30,000 messages and 6,000 requests and is meant for a release build; the short form takes fewer.
"""

import json
import os
import time
import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for

LONG = os.environ.get("LONG") == "1"
ROUND = 250
# SQLite keeps two megabytes of pages, and they have to be full by half: that takes 2,700 messages, or 800 requests.
MESSAGES = 30_000 if LONG else 6000
REQUESTS = 6000 if LONG else 3000
BYTES_EACH = 64  # of the second half; a message here is a row of about 1,200


class Memory(ProcessTest):
    def setUp(self):
        super().setUp()
        self.heap = self.folder / "heap"
        for name, value in (("LD_PRELOAD", os.path.join(os.environ["INBOX_POLLER_SHIMS"], "heap.so")), ("HEAP_FILE", str(self.heap)),
                            ("ASAN_OPTIONS", os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")):
            self.addCleanup(os.environ.__setitem__, name, os.environ.get(name, ""))
            os.environ[name] = value  # the daemon's, which is all that is started here
        self.team = self.make_team(members=("ada",))
        more = '\n[delivery]\nmethods = ["file"]\nfile = "%s"\n' % (self.folder / "lead.jsonl")
        self.start_daemon(self.team, more, team_more='on_competing_consumer = "ignore"')  # we tidy up behind its back

    def in_use(self):
        """Bytes, once the daemon has come to rest: the least of some polls. What a look read is held until the next poll."""
        told = []
        for _ in range(30):
            time.sleep(0.1)  # clock: some polls apart; the least of thirty figures counts
            words = self.heap.read_text().split()
            if len(words) == 2:  # it may be being written
                told.append(int(words[1]))
        return min(told)

    def put(self, texts):
        """A lead's inbox with nothing but these, as a client that tidies up would leave it."""
        entries = [{"from": "ada", "text": text, "timestamp": "2026-11-21T10:00:00.000Z", "read": False} for text in texts]
        with wire.Lock(self.team.lead_inbox, wire.PATIENT):  # what was handed over may still be on its way to being marked
            wire.replace(self.team.lead_inbox, json.dumps(entries))

    def grown(self, many, one_round):
        for start in range(0, many, ROUND):
            one_round(range(start, start + ROUND))
            if start == many // 2 - ROUND:
                half = self.in_use()
        return half, (self.in_use() - half) / (many / 2)

    def judge(self, what, many, one_round):
        half, each = self.grown(many, one_round)
        print("figures: %d %s: %.1f MiB of heap in use after the first half, %+.1f bytes each in the second" % (
            many, what, half / (1 << 20), each))
        self.assertLess(each, BYTES_EACH)

    def test_messages_that_were_delivered_take_no_memory(self):
        def one_round(numbers):
            self.put("message %d %s" % (number, "x" * 300) for number in numbers)
            wait_for("%d delivered" % numbers.stop, lambda: self.status()["chat"]["delivered"] == numbers.stop)
        self.judge("messages", MESSAGES, one_round)

    def test_requests_that_were_answered_take_no_memory(self):
        answers = self.team.inboxes / "ada.json"

        def one_round(numbers):
            self.put(json.dumps({"type": "permission_request", "request_id": "perm-%d" % number, "agent_id": "ada@demo",
                                 "tool_name": "Bash", "tool_use_id": "toolu_%d" % number, "description": "what changed",
                                 "input": {"command": "git status %d" % number}, "permission_suggestions": []})
                     for number in numbers)
            wait_for("the answers up to %d" % numbers.stop, lambda: len(wire.read_inbox(answers) or []) >= ROUND)
            answers.write_text("[]", encoding="utf-8")
        self.judge("requests", REQUESTS, one_round)


if __name__ == "__main__":
    unittest.main()
