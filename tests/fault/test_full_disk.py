"""File systems that are really full, of bytes or of files, below the daemon's own folder or below the team's, under a running daemon and
at its start: nothing crashes, nothing is claimed that is not so, nobody is allowed anything that is not recorded, the state is told, and
all goes on when there is room again.

The small file systems are mounted in a namespace of the test's own (support/small_disk.py).
"""

import collections
import os
import signal
import time
import unittest

import oracle
import small_disk
import team as wire
from case import ProcessTest
from daemon import LIMIT_S, hold_still, team_toml, wait_for
from workload import received

ROUNDS = int(os.environ.get("FULL_ROUNDS", "20" if os.environ.get("LONG") == "1" else "1"))  # of each case with one daemon
BIG = 60_000  # bytes of a chat that a spool has to carry


def setUpModule():
    small_disk.enter()


class FullDisk(ProcessTest):
    def start(self, small, kib=8192, files=200):
        """A daemon whose `state` or `teams` folder is small."""
        self.disk = small_disk.SmallDisk(self.folder / small, kib, files)
        self.stops.append(self.disk.unmount)
        self.team = self.make_team(members=("ada", "bob"))
        self.lead_file = self.folder / "lead.jsonl"
        self.make_daemon(team_toml(self.team, more='\n[delivery]\nmethods = ["file"]\nfile = "%s"\n' % self.lead_file)).start()
        self.world = oracle.World(self.team, self.daemon.state)
        self.number, self.outages, self.waits = 0, 0, []
        self.filler_place = self.daemon.state / "quarantine" if small == "state" else self.disk.place

    def peers_write(self, chat=3, size=40):
        """Chat, requests that a rule allows, and one that needs a person; the ids of the requests of the first kind."""
        requests = []
        for _ in range(chat):
            self.number += 1
            self.sent(self.team.say("ada", "chat %d " % self.number + "x" * size))
            request = wire.permission_request("bob", "Bash", {"command": "git status"}, "perm-%d" % self.number)
            self.sent(self.team.say("bob", request))
            requests.append(request["request_id"])
        self.world.may_allow.update(requests)
        person = wire.permission_request("ada", "Bash", {"command": "make"}, "person-%d" % self.number)
        self.sent(self.team.say("ada", person))
        return requests

    def sent(self, entry):
        self.world.sent.append(entry)

    def paused(self, action):
        """Does something while the daemon stands still."""
        hold_still(self.daemon.process.pid)
        try:
            return action()
        finally:
            os.kill(self.daemon.process.pid, signal.SIGCONT)

    def judged(self, over):
        self.world.received = received(self.lead_file)
        return oracle.violations(self.world, over)

    def is_served(self, requests):
        texts = {m["text"] for m in received(self.lead_file)}
        replies = {i for i in requests if self.team.replies("bob", i)}
        chat = {e["text"] for e in self.world.sent if not wire.as_payload(e["text"])}
        marked = all(e["read"] for e in wire.read_inbox(self.team.lead_inbox) or [{"read": False}])
        if replies != set(requests) or not chat <= texts or not marked:
            return False
        waiting = self.status()["chat"]  # what the file has and a full ledger could not record comes once more
        return waiting["queued"] + waiting["offered"] == 0

    def goes_on(self, requests):
        began = time.monotonic()  # clock: a figure for the reader, compared with nothing
        wait_for("all that waited is served", lambda: self.is_served(requests), pause=0.05)
        self.waits.append(time.monotonic() - began)  # clock: a figure for the reader, compared with nothing

    def ends_well(self):
        self.assertEqual(self.daemon.stop(), 0, self.daemon.tail())
        self.world.runs.append((0, self.daemon.log_path.read_bytes()))
        self.assertEqual(self.judged(over=True), [])
        print("figures: all that waited was served %s s after there was room (again)" % ", ".join("%.1f" % w for w in self.waits))

    def outage(self, fill, told):
        """Entries come, the disk fills before the daemon sees them, `told` is true in time; what must hold does; then there is room. The
        requests that were answered meanwhile. A later outage may find room that was made before (in the log of the ledger): it is none."""
        before = len(self.daemon.log())
        requests = self.paused(lambda: (self.peers_write(), fill())[0])
        wait_for("it is told", lambda: told() or (self.outages and self.is_served(requests)))
        answered = [] if self.is_served(requests) else [i for i in requests if self.team.replies("bob", i)]
        self.outages += 1
        self.assertEqual(self.paused(lambda: self.judged(over=False)), [])
        self.daemon.polled()
        problems = collections.Counter(e["event"] for e in self.daemon.log()[before:] if e["level"] in ("warn", "error"))
        self.assertLessEqual(max(problems.values(), default=0), len(requests) + 1, "told again and again")
        self.assertTrue(self.daemon.running())
        self.disk.free()
        self.goes_on(requests)
        return answered

    def doctor(self):
        return self.daemon.cli("doctor", "--json", "--config", self.daemon.configs[0], "--daemon-config", self.daemon.daemon_file,
                               expect=None).stdout

    def room_in_status(self):
        return "ledger_fault" not in self.status()

    def test_no_room_for_the_ledger(self):
        self.start("state")
        self.goes_on(self.peers_write())
        for _ in range(ROUNDS):
            before = len(self.daemon.log("ledger.fault"))
            answered = self.outage(lambda: self.disk.fill_bytes(self.filler_place),
                                   lambda: len(self.daemon.log("ledger.fault")) > before and not self.room_in_status()
                                   and "disk.space" in self.doctor())
            self.assertEqual(answered, [], "answered without a record")
            wait_for("`status` says nothing of a fault any more", self.room_in_status)
        self.assertEqual({e["code"] for e in self.daemon.log("ledger.fault")}, {"ledger.full"})
        self.assertEqual(len(self.daemon.log("ledger.recovered")), len(self.daemon.log("ledger.fault")))
        self.ends_well()

    def test_a_spool_that_fills_its_disk_and_a_disk_that_grows(self):
        self.start("state", kib=3072)
        self.team.add_member("cleo")
        requests = []

        def fault():
            requests.extend(self.peers_write(chat=4, size=BIG))
            return wait_for("taken in, or refused", lambda: self.daemon.log("ledger.fault") or self.is_served(requests))

        wait_for("the disk is full", lambda: (fault(), self.daemon.log("ledger.fault"))[1])
        self.assertEqual(self.paused(lambda: self.judged(over=False)), [])
        self.assertFalse(self.room_in_status())
        self.disk.grow(65536)
        self.goes_on(requests)
        self.ends_well()

    def test_no_room_for_replies(self):
        self.start("teams")
        self.goes_on(self.peers_write())
        for _ in range(ROUNDS):
            before = len(self.daemon.log("reply.deferred"))
            answered = self.outage(lambda: self.disk.fill_bytes(self.filler_place),
                                   lambda: len(self.daemon.log("reply.deferred")) > before and self.status()["replies_owed"] > 0)
            self.assertEqual(answered, [])
        self.ends_well()

    def test_no_file_can_be_made_in_the_team(self):
        """A lock is a directory: no lock, no read flag and no reply. What is said is taken in all the same."""
        self.start("teams")
        self.goes_on(self.peers_write())
        for _ in range(ROUNDS):
            before = len(self.daemon.log("reply.deferred"))
            answered = self.outage(lambda: self.disk.fill_names(self.filler_place),
                                   lambda: len(self.daemon.log("reply.deferred")) > before and self.status()["replies_owed"] > 0)
            self.assertEqual(answered, [])
        self.ends_well()

    def test_no_file_can_be_made_beside_the_ledger(self):
        """A ledger that is open needs no new file; what cannot be read is not copied into the quarantine, and comes there later."""
        self.start("state")
        self.goes_on(self.peers_write())
        self.disk.fill_names(self.filler_place)
        self.goes_on(self.peers_write())
        self.disk.free()
        self.ends_well()

    def test_a_start_without_room_is_refused_with_a_word_and_works_afterwards(self):
        for fill in ("fill_bytes", "fill_names"):
            with self.subTest(fill):
                self.disk = small_disk.SmallDisk(self.folder / "state")
                self.team = self.make_team(fill.replace("_", "-"))
                daemon = self.make_daemon(team_toml(self.team))
                self.team.say("bob", wire.permission_request("bob", "Bash", {"command": "git status"}, "perm-1"))
                getattr(self.disk, fill)(self.disk.place / "quarantine")
                daemon.log_path = self.folder / (fill + ".log")
                daemon.spawn()
                self.assertEqual(daemon.process.wait(LIMIT_S), 1, daemon.tail())
                last = daemon.log()[-1]
                self.assertEqual(last["event"], "daemon.fault")
                self.assertIn(str(daemon.state), last["reason"])
                self.assertRegex(last["reason"], "[Nn]o (space|room)")
                self.disk.free()
                daemon.start()
                wait_for("the request is answered", lambda: self.team.replies("bob", "perm-1"))
                self.assertEqual(daemon.stop(), 0)
                self.disk.unmount()


if __name__ == "__main__":
    unittest.main()
