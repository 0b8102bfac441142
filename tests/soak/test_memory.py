"""What has passed through the daemon takes no memory: the second half of many messages, and of many asks, adds next to nothing to
what is resident after the first half. The inboxes stay short here, so that only what the daemon keeps for itself can grow.

LONG=1 takes 30,000 messages and 6,000 asks and is meant for a release build; the short form takes a tenth, and allows for what the
address sanitizer keeps beside each block.
"""

import json
import os
import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for

LONG = os.environ.get("LONG") == "1"
ROUND = 250
MESSAGES = 30_000 if LONG else 3000
ASKS = 6000 if LONG else 1000
BYTES_EACH = 64 if LONG else 2500  # of the second half; a message here is a row of about 1,200


class Memory(ProcessTest):
    def setUp(self):
        super().setUp()
        options = os.environ.get("ASAN_OPTIONS", "")
        os.environ["ASAN_OPTIONS"] = options + ":quarantine_size_mb=1"  # freed blocks come back soon, as without it
        self.addCleanup(os.environ.__setitem__, "ASAN_OPTIONS", options)
        self.team = self.make_team(members=("ada",))
        more = '\n[delivery]\nvia = ["file"]\nfile = "%s"\n' % (self.folder / "lead.jsonl")
        self.start_daemon(self.team, more, team_more='foreign_consumer = "ignore"')  # we tidy up behind its back

    def resident(self):
        with open("/proc/%d/status" % self.daemon.process.pid) as status:
            return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    def put(self, texts):
        """A lead's inbox with nothing but these, as a client that tidies up would leave it."""
        entries = [{"from": "ada", "text": text, "timestamp": "2026-11-21T10:00:00.000Z", "read": False} for text in texts]
        temporary = self.team.lead_inbox.with_suffix(".new")
        temporary.write_text(json.dumps(entries), encoding="utf-8")
        os.rename(temporary, self.team.lead_inbox)

    def grown(self, many, one_round):
        sizes = []
        for start in range(0, many, ROUND):
            one_round(range(start, start + ROUND))
            sizes.append(self.resident())
        half = sizes[len(sizes) // 2 - 1]
        return half, (sizes[-1] - half) / (many / 2)

    def judge(self, what, many, one_round):
        half, each = self.grown(many, one_round)
        print("figures: %d %s: resident %.1f MiB after the first half, %+.1f bytes each in the second" % (
            many, what, half / (1 << 20), each))
        self.assertLess(each, BYTES_EACH)

    def test_messages_that_were_delivered_take_no_memory(self):
        def one_round(numbers):
            self.put("message %d %s" % (number, "x" * 300) for number in numbers)
            wait_for("%d delivered" % numbers.stop, lambda: self.status()["chat"]["delivered"] == numbers.stop, 60)
        self.judge("messages", MESSAGES, one_round)

    def test_asks_that_were_answered_take_no_memory(self):
        answers = self.team.inboxes / "ada.json"

        def one_round(numbers):
            self.put(json.dumps({"type": "permission_request", "request_id": "perm-%d" % number, "agent_id": "ada@demo",
                                 "tool_name": "Bash", "tool_use_id": "toolu_%d" % number, "description": "what changed",
                                 "input": {"command": "git status %d" % number}, "permission_suggestions": []})
                     for number in numbers)
            wait_for("the answers up to %d" % numbers.stop, lambda: len(wire.read_inbox(answers) or []) >= ROUND, 120)
            answers.write_text("[]", encoding="utf-8")
        self.judge("asks", ASKS, one_round)


if __name__ == "__main__":
    unittest.main()
