"""kill -9 of the lead at fifty random moments while three senders write a thousand numbered messages to it; some kills take
`lead run` with them, and twice the daemon is killed before it.

Every message is taken, the first time in its sender's order; a message comes again only when nobody could know that the lead had it,
and then it says so. The moments come from a seed, which is printed; TEST_SEED=… repeats a run (as far as processes can be repeated),
CRASH_KILLS=… makes it longer.
"""

import collections
import json
import os
import random
import signal
import sqlite3
import threading
import time
import unittest

import portion
from case import ProcessTest
from daemon import wait_for
from stream_lead import LeadRun, messages_in

KILLS = int(os.environ.get("CRASH_KILLS", "50"))
SENDERS = {"ada": 334, "bob": 333, "cy": 333}
SECONDS = 0.4 * KILLS  # in which they say all that; much longer on a machine that has other work
# Out of ten kills: the lead alone, whose host starts it again; both at once, as a service manager ends a service; the host alone, whose
# lead then leaves by itself.
WHO = ["lead"] * 8 + ["both", "host"]


class LeadKills(ProcessTest):
    def setUp(self):
        super().setUp()
        self.seed = portion.seed()
        self.random = random.Random(self.seed)
        self.over = threading.Event()
        self.sent = {name: ["%s says %d" % (name, n) for n in range(count)] for name, count in SENDERS.items()}
        self.team = self.make_team(members=list(SENDERS))
        self.start_daemon(self.team)
        self.lives = 0          # of leads
        self.unheard = set()    # leads whose last words were lost with their host
        self.start_host()

    # --- what happens ---

    def start_host(self):
        """May be started while the daemon has not yet seen the end of the one before."""
        self.run_ = LeadRun(self.daemon, self.folder / "lead", "--restart", "100", turn=0.02, pause=0.06)
        self.stops.append(self.run_.stop)

    def feed(self, name, choose):
        for text in self.sent[name]:
            if self.over.is_set():
                return
            self.team.say(name, text)
            time.sleep(choose.uniform(0, 2 * SECONDS / SENDERS[name]))  # clock: the pace of a peer; nothing is judged by it

    def lead_lives(self):
        """The pid of a lead that was not killed yet."""
        started = wait_for("the lead is started", lambda: (lambda s: s if len(s) > self.lives else None)(self.run_.events("started")))
        self.assertEqual(len(started), self.lives + 1, "there were two leads at once:\n" + self.run_.errors())
        self.lives += 1
        return started[-1]["pid"]

    def kill(self, who):
        pid = self.lead_lives()
        time.sleep(self.random.uniform(0, 0.3))  # clock: a kill at any moment; each moment has to end well
        self.assertIsNone(self.run_.process.poll(), "lead run left by itself:\n" + self.run_.errors())
        if who != "lead":
            self.unheard.add(pid)
            self.run_.process.kill()
        if who != "host":
            os.killpg(pid, signal.SIGKILL)
        if who == "lead":
            return
        if who == "host":
            wait_for("the lead left", lambda: any(e["pid"] == pid for e in self.run_.events("left")))
        self.run_.wait()
        self.start_host()

    def kill_without_daemon(self, number):
        """What the lead repeats in the meantime, which has some messages by then, its host must keep."""
        self.run_.order("think")
        time.sleep(self.random.uniform(0.1, 0.4))  # clock: a kill at any moment; each moment has to end well
        self.daemon.kill()
        self.run_.revoke("think")
        self.kill("lead")
        self.daemon.log_path = self.folder / ("daemon-%d.log" % number)  # a killed one may leave half a line
        self.daemon.start()
        # A host that is killed before it could tell takes that with it; it asks for messages only when it has told all.
        wait_for("the host has told all", lambda: self.daemon.log("delivery.offered") or not self.chat_waiting())

    def chat_waiting(self):
        chat = self.status()["chat"]
        return chat["queued"] + chat["offered"]

    def test_a_thousand_messages_reach_a_lead_that_is_killed_fifty_times(self):
        whom = [WHO[n % len(WHO)] for n in range(KILLS)]
        self.random.shuffle(whom)
        without_daemon = set(self.random.sample([n for n, who in enumerate(whom) if who == "lead"], 2))
        senders = [threading.Thread(target=self.feed, args=(name, random.Random(self.seed + i))) for i, name in enumerate(SENDERS)]
        started = time.monotonic()  # clock: a figure for the reader, compared with nothing
        try:
            for sender in senders:
                sender.start()
            for number, who in enumerate(whom):
                self.kill_without_daemon(number) if number in without_daemon else self.kill(who)
            # clock: a figure for the reader, compared with nothing
            print("%d kills in %.1f s" % (KILLS, time.monotonic() - started), flush=True)
            for sender in senders:
                sender.join()
            wait_for("all is delivered", lambda: self.status()["chat"]["delivered"] == sum(SENDERS.values()), pause=0.2)
            self.daemon.polled(20)  # whatever would come a second time has come
        finally:
            self.over.set()
            for sender in senders:
                sender.join()
        self.check_takings()
        self.check_sessions()
        self.run_.process.terminate()
        self.run_.wait()
        self.assertEqual(self.daemon.stop(), 0)
        self.check_books()

    # --- what must be true behind it ---

    def check_takings(self):
        """By what the lead itself wrote down: each message as often as it read it."""
        answered = {(e["pid"], e["uuid"]) for e in self.run_.events("answered")}
        takings = collections.defaultdict(list)  # text -> (labeled, known to have arrived)
        firsts = collections.defaultdict(list)
        for event in self.run_.events("took"):
            known = (event["pid"], event["uuid"]) in answered and event["pid"] not in self.unheard
            for sender, text, labeled in messages_in(event["content"]):
                if text not in takings:
                    firsts[sender].append(text)
                takings[text].append((labeled, known))
        self.assertEqual(dict(firsts), self.sent, "lost, invented or out of order")
        again = {text: seen for text, seen in takings.items() if len(seen) > 1}
        for text, seen in again.items():
            self.assertTrue(all(labeled for labeled, _ in seen[1:]), "a repeat that does not say so: %s %s" % (text, seen))
            self.assertFalse(any(known for _, known in seen[:-1]), "it came again after the lead's model had answered it: %s %s" % (text, seen))
        self.takings = takings
        print("%d messages to %d leads, each taken; %d labeled repeats of %d of them" % (
            len(takings), self.lives + 1, sum(len(seen) - 1 for seen in again.values()), len(again)), flush=True)

    def check_sessions(self):
        """A lead that was started again goes on with the session of the one before it."""
        sessions, resumed = set(), 0
        for event in self.run_.events("started"):
            if "--resume" in event["argv"]:
                self.assertIn(event["argv"][event["argv"].index("--resume") + 1], sessions)
                resumed += 1
            sessions.add(event["session"])
        self.assertGreater(resumed, 0)
        print("%d of them went on with a session" % resumed, flush=True)

    def check_books(self):
        """The ledger, its history, the log and the lead say the same."""
        logged = collections.Counter(json.loads(line)["message_key"] for path in self.folder.glob("daemon*.log") for line in path.read_text(
            "utf-8").splitlines() if '"delivery.delivered"' in line and line.endswith("}"))
        with sqlite3.connect(self.folder / "state" / "ledger.sqlite3") as ledger:
            # The row tells of its last offer itself, unless it was taken back before the word that it had arrived came.
            taken_back = dict(ledger.execute("SELECT message_key, count(*) FROM history_view WHERE event = 'delivery.offered' GROUP BY message_key"))
            rows = ledger.execute("SELECT key, delivery, confirmed, method, attempts, text FROM messages_view").fetchall()
        self.assertEqual(len(rows), len(self.takings))
        self.assertLessEqual(set(logged.values()), {1}, "delivered twice in the log")
        for key, *state, attempts, text in rows:
            self.assertEqual(state, ["delivered", "acknowledged", "stdin"], text)
            self.assertIn(attempts - taken_back.pop(key, 0), (0, 1), text)
            self.assertGreaterEqual(attempts, len(self.takings[text]), text)
            self.assertEqual(self.takings[text][-1][0], attempts > 1, text)
        self.assertEqual(taken_back, {})
        self.assertLessEqual(len(rows) - len(logged), 2 * 20, "only a killed daemon's last batch may be missing from the log")


if __name__ == "__main__":
    unittest.main()
