"""What can happen to the ledger while the real daemon uses it, or between two of its runs: somebody else locks it, its pages are
overwritten, its log is gone or cut off, something else stands in its place, it cannot be written. It refuses with a sentence that says
what to do, or goes on; it never answers what it could not record, and loses nothing once that is mended.

TROUBLES=… cuts of the log are tried (LONG=1: 200). SHARD and JOBS: see sweep.py.
"""

import os
import random
import signal
import sqlite3
import subprocess
import unittest

import small_disk
import portion
import team as wire
from case import ProcessTest
from daemon import LIMIT_S, hold_still, wait_for
from moments import Moment, wrongs
from sweep import Plain, Preloaded, each

SEED = 17  # of the workload
CUTS = int(os.environ.get("TROUBLES", "200" if os.environ.get("LONG") == "1" else "10"))


def setUpModule():
    small_disk.enter()


class WhileItRuns(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.start_daemon(self.team)
        self.path = self.daemon.state / "ledger.sqlite3"
        self.ask("perm-1")
        self.answered("perm-1")

    def ask(self, request_id):
        self.team.say("ada", wire.permission_request("ada", "Bash", {"command": "git status"}, request_id))

    def answered(self, *ids):
        for request_id in ids:
            wait_for("%s is answered" % request_id, lambda: self.team.replies("ada", request_id))
        for request_id in ids:
            self.assertEqual(len(self.team.replies("ada", request_id)), 1)

    def fault(self, code):
        return wait_for("it is told", lambda: self.daemon.log("ledger.fault", code=code))[0]

    def hold(self):
        """A connection that has the ledger's write lock, as a person's forgotten `sqlite3` has it."""
        other = sqlite3.connect(self.path, timeout=LIMIT_S, isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN EXCLUSIVE")
        return other

    def test_somebody_else_locks_it_for_seconds(self):
        other = self.hold()
        self.ask("perm-2")
        self.assertIn("open transaction", self.fault("ledger.busy")["reason"])
        self.assertIn("open transaction", self.status()["ledger_fault"])
        self.assertEqual(self.team.replies("ada", "perm-2"), [], "answered without a record")
        self.assertFalse(wire.read_inbox(self.team.lead_inbox)[-1]["read"])
        other.execute("ROLLBACK")
        self.answered("perm-2")
        self.assertEqual(self.daemon.stop(), 0)

    def test_somebody_else_locks_it_for_good(self):
        other = self.hold()
        self.ask("perm-2")
        self.fault("ledger.busy")
        self.assertEqual(self.daemon.stop(), 0, self.daemon.tail())
        self.assertEqual(self.team.replies("ada", "perm-2"), [])
        self.daemon.spawn()
        self.assertEqual(self.daemon.process.wait(LIMIT_S), 1)
        self.assertIn("open transaction", self.daemon.log()[-1]["reason"])
        other.execute("ROLLBACK")
        other.close()
        self.daemon.start()
        self.answered("perm-1", "perm-2")

    def test_its_pages_are_overwritten(self):
        """What it has read is in its memory; sooner or later it meets the damage, and then nothing is decided any more."""
        hold_still(self.daemon.process.pid)
        for path in (self.path, self.path.with_name(self.path.name + "-wal")):
            if path.exists() and path.stat().st_size:
                with open(path, "r+b") as file:
                    file.seek(0 if path != self.path else 4096)
                    file.write(random.Random(SEED).randbytes(path.stat().st_size - file.tell()))
        self.ask("perm-2")
        os.kill(self.daemon.process.pid, signal.SIGCONT)
        wait_for("it is told, or answered from memory", lambda: self.daemon.log("ledger.fault") or not self.daemon.running()
                 or self.team.replies("ada", "perm-2"))
        self.daemon.stop()
        self.assertLessEqual(len(self.team.replies("ada", "perm-2")), 1)
        done = self.refused()
        self.assertIn("--new-ledger", done["reason"])
        self.daemon.extra = ["--new-ledger"]
        self.daemon.start()
        self.ask("perm-3")
        self.answered("perm-3")
        self.assertTrue(list(self.daemon.state.glob("*.damaged-*")), "it was not kept")
        answers = [e["text"] for e in self.team.replies("ada")]
        self.assertTrue(all(wire.as_payload(text)["subtype"] == "success" for text in answers), answers)

    def refused(self):
        self.daemon.extra = []
        self.daemon.spawn()
        self.assertEqual(self.daemon.process.wait(LIMIT_S), 1, self.daemon.tail())
        last = self.daemon.log()[-1]
        self.assertEqual(last["event"], "daemon.fault")
        return last


class BetweenRuns(unittest.TestCase):
    """Another thing in its place: refused; put back, nothing is lost."""

    def setUp(self):
        self.scenario = Plain(SEED)
        self.addCleanup(self.scenario.remove)
        self.scenario.stage()
        self.assertEqual(self.scenario.run(), 0)
        self.path = self.scenario.daemon.state / "ledger.sqlite3"
        self.sound = self.path.read_bytes()

    def replace(self, make):
        self.path.rmdir() if self.path.is_dir() else self.path.unlink()
        make()

    def garbage(self):
        self.path.write_bytes(random.Random(SEED).randbytes(len(self.sound)))

    def half(self):
        self.path.write_bytes(self.sound[:len(self.sound) // 2])

    def empty(self):
        self.path.write_bytes(b"")

    def newer(self):
        self.path.write_bytes(self.sound)
        self.sql("PRAGMA user_version = 999")

    def another_database(self):
        self.sql("CREATE TABLE t (x)")

    def folder(self):
        self.path.mkdir(mode=0o700)

    def link(self):
        other = self.scenario.folder / "elsewhere.sqlite3"
        other.write_bytes(self.sound)
        other.chmod(0o600)
        self.path.symlink_to(other)

    def fifo(self):
        os.mkfifo(self.path, 0o600)

    def open_to_others(self):
        self.path.write_bytes(self.sound)
        self.path.chmod(0o666)

    def sql(self, statement):
        database = sqlite3.connect(self.path, isolation_level=None)
        database.execute(statement)
        database.close()

    CASES = {"garbage": "--new-ledger", "half": "--new-ledger", "empty": "--new-ledger", "newer": "install the newer inbox-poller",
             "another_database": "not a ledger of inbox-poller; choose another path", "folder": "move it away",
             "link": "symbolic link; put the file itself there", "fifo": "move it away", "open_to_others": "chmod 600"}

    def test_something_else_in_its_place_is_refused_and_nothing_is_lost(self):
        for name, word in self.CASES.items():
            with self.subTest(name):
                self.replace(getattr(self, name))
                if name not in ("folder", "link", "open_to_others"):
                    self.path.chmod(0o600)
                self.assertEqual(self.scenario.run(), 1)
                log = self.scenario.world.runs[-1][1].decode()
                self.assertIn(word, log)
                self.assertIn(str(self.path), log)
                self.replace(lambda: self.path.write_bytes(self.sound))
                self.path.chmod(0o600)
                self.assertEqual(self.scenario.run(), 0)
                self.assertEqual(self.scenario.judge(over=True), [])

    def test_a_file_system_that_cannot_be_written_is_refused_and_nothing_is_lost(self):
        state = self.scenario.daemon.state
        for how in (["-o", "bind"], ["-o", "remount,bind,ro"]):
            subprocess.run(["mount", *how, str(state), str(state)], check=True)
        try:
            code = self.scenario.run()
        finally:
            subprocess.run(["umount", str(state)], check=True)
        self.assertEqual(code, 1)
        last = self.scenario.world.runs[-1][1].decode()
        self.assertIn("Read-only file system", last)
        self.assertIn(str(state), last)
        self.assertEqual(self.scenario.run(), 0)
        self.assertEqual(self.scenario.judge(over=True), [])


class ItsLog(unittest.TestCase):
    """The log of a daemon that was killed has what the file has not yet."""

    def setUp(self):
        scenario = Preloaded(SEED)
        self.addCleanup(scenario.remove)
        written = [number for number, name, path in scenario.calls() if name.startswith("pwrite") and path.endswith("-wal")]
        self.moment = self.last_moment(scenario, sorted(written))
        self.log = next(p for p in self.moment.parts if p.name.endswith("-wal"))

    @staticmethod
    def last_moment(scenario, numbers):
        """How often a run writes hangs on time (batches, the roster once a second), so the moment is the last that a second run meets, and
        at which something stands in the log: SQLite begins it anew now and then."""
        back = 1
        while back < len(numbers):
            try:
                moment = Moment(scenario, numbers[-back])
                if any(path.name.endswith("-wal") for path in moment.parts):
                    return moment
                back += 1
            except AssertionError:
                back = back + 1 + back // 2
        return Moment(scenario, numbers[0])

    def cut(self, scenario, size):
        """How the daemon took a log of so many bytes; None: no log."""
        scenario.stage()
        self.moment.put(scenario)
        path = scenario.folder / self.log
        path.unlink() if size is None else os.truncate(path, size)
        code = scenario.run()
        log = scenario.world.runs[-1][1]
        self.assertIn(code, (0, 1), log[-2000:])
        self.assertEqual(wrongs(scenario.world, may_repeat=True), [], log[-2000:])
        if code == 1:
            self.assertRegex(log.decode(), "--new-ledger")
        return code

    def test_a_log_that_is_gone_or_cut_off_is_no_other_answer(self):
        whole = len(self.moment.files[self.log])
        choose = random.Random(portion.seed())
        sizes = [None, 0, 16, 32, 56, whole - 1] + [choose.randrange(whole) for _ in range(CUTS)]
        ends = each(self, sizes, self.cut, lambda: Preloaded(SEED))
        print("figures: %d logs cut off, %d refused (seed %d)" % (len(ends), ends.count(1), portion.seed()))

    def test_a_log_without_its_ledger_is_refused(self):
        scenario = Preloaded(SEED)
        self.addCleanup(scenario.remove)
        scenario.stage()
        self.moment.put(scenario)
        ledger = scenario.daemon.state / "ledger.sqlite3"
        ledger.rename(scenario.folder / "aside")
        self.assertEqual(scenario.run(), 1)
        self.assertRegex(scenario.world.runs[-1][1].decode(), "Put the ledger back, or start with an empty one: .*--new-ledger")
        (scenario.folder / "aside").rename(ledger)
        self.assertEqual(scenario.run(), 0)
        self.assertEqual(scenario.judge(over=True), [])


if __name__ == "__main__":
    unittest.main()
