"""kill -9 of the daemon at fifty random moments of a busy run: nothing lost, no second decision, no second reply.

Three worker processes ask and chat all the time, a person answers what the rules leave open, and a receiver takes the chat with
recv and ack, all of them trying again when the daemon is gone in the middle. The moments come from a seed, which is printed;
TEST_SEED=… repeats a run (as far as processes can be repeated), CRASH_KILLS=… makes it longer.
"""

import collections
import json
import os
import random
import threading
import time
import unittest

import portion
import team as wire
from case import ANSWERS, ProcessTest
from daemon import team_toml, wait_for

KILLS = int(os.environ.get("CRASH_KILLS", "50"))
EACH_WORKER_SAYS = 60
WORKERS = (("w1", wire.ERA1), ("w2", wire.ERA1), ("w3", wire.ERA2))


class Kill9(ProcessTest):
    def setUp(self):
        super().setUp()
        self.seed = portion.seed()
        self.random = random.Random(self.seed)
        self.over = threading.Event()
        self.taken = []            # every message the receiver got, in order
        self.acknowledged = set()  # keys whose acknowledgment the daemon has confirmed
        self.problems = []
        self.team = self.make_team(members=[name for name, _ in WORKERS])
        self.make_daemon(team_toml(self.team, poll="50ms"))
        self.workers = {name: self.start_worker(self.team, name, era) for name, era in WORKERS}
        self.requests = {name: [] for name in self.workers}
        self.chat = {name: [] for name in self.workers}

    # --- those who keep the daemon busy ---

    def feed(self, name, choose):
        worker = self.workers[name]
        for n in range(EACH_WORKER_SAYS):
            if self.over.is_set():
                return
            kind = choose.random()
            if kind < 0.4:
                text = "%s says %d" % (name, n)
                worker.do("say", text=text)
                self.chat[name].append(text)
            else:
                command = "git status %d" if kind < 0.7 else "rm file%d" if kind < 0.8 else "make target%d"
                self.requests[name].append(worker.ask("permission", tool="Bash", input={"command": command % n}))
            time.sleep(choose.uniform(0.0, 2 * self.seconds / EACH_WORKER_SAYS))  # clock: the pace of a peer; nothing is judged by it

    def person(self):
        while not self.over.is_set():
            try:
                with self.daemon.connect() as control:
                    for request in control.ask("pending")["requests"]:
                        control.answer("approve", request["request_id"], by="person")
            except (OSError, ValueError):
                pass
            time.sleep(0.1)  # clock: the pace of a peer; nothing is judged by it

    def receiver(self):
        while not self.over.is_set():
            try:
                with self.daemon.connect() as control:
                    while not self.over.is_set():
                        messages = control.ask("recv", wait_ms=200)["messages"]
                        self.take(messages)
                        if messages and control.ask("ack", keys=[m["message_key"] for m in messages])["ok"]:
                            self.acknowledged.update(m["message_key"] for m in messages)
            except (OSError, ValueError):
                time.sleep(0.02)  # clock: the pace of a peer; nothing is judged by it

    def take(self, messages):
        known = {m["message_key"] for m in self.taken}
        for message in messages:
            if message["message_key"] in self.acknowledged:
                self.problems.append("delivered after its acknowledgment was confirmed: %s" % message)
            elif message["message_key"] in known and message["attempts"] < 2:
                self.problems.append("a repeat that does not say so: %s" % message)
            self.taken.append(message)

    def kill_and_start(self, number):
        """Life and death of one daemon; the moment may fall into its start."""
        self.daemon.log_path = self.folder / ("daemon-%02d.log" % number)  # a killed one may leave half a line
        self.daemon.spawn()
        time.sleep(self.random.uniform(0.02, 0.7))  # clock: a kill at any moment; each moment has to end well
        self.assertTrue(self.daemon.running(), "it left by itself:\n" + self.daemon.tail())
        self.daemon.kill()

    def kill_among(self, threads, helpers, kills):
        """Kills the daemon that often while all of them are at it; then lets `threads` come to their end with one that lives."""
        try:
            for thread in threads + helpers:
                thread.daemon = True  # a start that fails ends the test
                thread.start()
            started = time.monotonic()  # clock: a figure for the reader, compared with nothing
            for number in range(kills):
                self.kill_and_start(number)
            # clock: a figure for the reader, compared with nothing
            print("%d kills in %.1f s" % (kills, time.monotonic() - started), flush=True)
            self.daemon.log_path = self.folder / "daemon-last.log"
            self.daemon.start()
            for thread in threads:
                thread.join()
            self.settle()
        finally:
            self.over.set()
            for thread in helpers:
                thread.join()

    # --- the run and what must be true behind it ---

    def test_nothing_is_lost_decided_twice_or_answered_twice(self):
        self.seconds = 0.4 * KILLS
        threads = [threading.Thread(target=self.feed, args=(name, random.Random(self.seed + i)))
                   for i, name in enumerate(self.workers)]
        helpers = [threading.Thread(target=self.person), threading.Thread(target=self.receiver)]
        self.kill_among(threads, helpers, KILLS)
        self.check_chat()
        self.check_answers()
        self.check_decisions()
        self.assertEqual(self.daemon.stop(), 0)

    def settle(self):
        everything = sum(map(len, self.requests.values())) + sum(map(len, self.chat.values()))
        wait_for("all %d messages in the lead's inbox, all marked" % everything, lambda: (lambda entries: entries and len(
            entries) == everything and all(e["read"] for e in entries))(wire.read_inbox(self.team.lead_inbox)), pause=0.2)
        for name, worker in self.workers.items():
            wait_for("every request of %s answered" % name, lambda: {e["id"] for e in worker.events() if e["event"] in ANSWERS} >= set(
                self.requests[name]), pause=0.2)
        wait_for("all chat taken", lambda: {m["text"] for m in self.taken} >= {t for c in self.chat.values() for t in c}, pause=0.2)
        wait_for("nothing owed", lambda: not self.daemon.ask("status")["teams"][0]["replies_owed"], pause=0.2)
        self.daemon.polled(20)  # whatever would come a second time has come

    def check_chat(self):
        self.assertEqual(self.problems, [])
        for name, texts in self.chat.items():
            first = list(dict.fromkeys(m["text"] for m in self.taken if m["from"] == name))
            self.assertEqual(first, texts, "chat of %s: lost, invented or out of order" % name)
        repeats = len(self.taken) - len({m["message_key"] for m in self.taken})
        print("chat: %d messages, %d labeled repeats (killed between the hand-over and its acknowledgment)" % (
            len(self.taken) - repeats, repeats))

    def check_answers(self):
        again = 0
        for name, worker in self.workers.items():
            events = worker.events()
            self.assertEqual([e for e in events if e["event"] in ("interrupted", "shown", "lost")], [])
            taken = collections.Counter(e["id"] for e in events if e["event"] in ANSWERS)
            self.assertEqual(taken, collections.Counter(self.requests[name]))
            ignored = [e for e in events if e["event"] == "ignored"]
            if worker.era == wire.ERA1:  # it keeps what it has read: all that was ever written is there
                replies = collections.Counter(json.loads(e["text"])["request_id"] for e in self.team.replies(name))
                self.assertEqual(replies, collections.Counter(self.requests[name]))
                self.assertEqual(ignored, [])
            else:
                # It deletes what it has read. Killed between writing a reply and recording that, the daemon cannot know whether the
                # worker has it, and writes it again: the same bytes, which the worker ignores.
                texts = {e["text"] for e in events if e["event"] in ANSWERS}
                self.assertEqual([e for e in ignored if e["why"] != "answered before" or e["text"] not in texts], [])
                self.assertLessEqual(len(ignored), KILLS)
                again = len(ignored)
        print("requests: %d, each taken exactly once; %d answers written again, byte for byte, to the worker that deletes what it read" % (
            sum(map(len, self.requests.values())), again))

    def check_decisions(self):
        logged = collections.Counter()
        for path in self.folder.glob("daemon-*.log"):
            for line in path.read_text("utf-8").splitlines():
                if '"request.decided"' in line and line.endswith("}"):
                    logged[json.loads(line)["request_id"]] += 1
        with self.daemon.connect() as control:
            for request in (a for requests in self.requests.values() for a in requests):
                self.assertLessEqual(logged[request], 1, "decided twice in the log: " + request)
                history = control.ask("trace", id=request)["history"]
                decisions = [h for h in history if h["event"] == "request.decided"]
                self.assertEqual(len(decisions), 1, history)


if __name__ == "__main__":
    unittest.main()
