"""The ledger is taken away while the real daemon uses it: its folder, the file itself, its log, its index or its lock, by removing, moving,
replacing and cutting, and at every call of a run. From then on nothing is accepted, marked or answered; one line and the exit code say so; what was committed before is
kept, and a start goes on with it or says what a person has to decide.

GONE_POINTS=… calls are tried, drawn by TEST_SEED (portion.py), each before and after it, with removing and with moving; LONG=1 takes every
call. SHARD and JOBS: see sweep.py.
"""

import os
import pathlib
import shutil
import signal
import unittest

import portion
import team as wire
from case import ProcessTest
from daemon import LIMIT_S, hold_still, wait_for
from sweep import Preloaded, each

GONE = 6
SEED = 18  # of the workload
POINTS = os.environ.get("GONE_POINTS", "all" if portion.LONG else "8")


def part(path, suffix):
    return pathlib.Path(str(path) + suffix)


def replace(path):
    """A copy, renamed over it, as an editor or a restore does."""
    copy = part(path, ".copy")
    shutil.copy2(path, copy)
    copy.rename(path)


def link(path):
    moved = path.parent.parent / "moved.sqlite3"
    path.rename(moved)
    path.symlink_to(moved)


def put_another_folder(path):
    moved = path.parent.parent / "moved"
    path.parent.rename(moved)
    path.parent.mkdir(mode=0o700)


# What is done to the ledger at `path`.
WAYS = {
    "the folder is removed": lambda path: shutil.rmtree(path.parent),
    "the folder is moved": lambda path: path.parent.rename(path.parent.parent / "moved"),
    "another folder takes its place": put_another_folder,
    "the file is removed": lambda path: path.unlink(),
    "the file is moved": lambda path: path.rename(path.parent / "other.sqlite3"),
    "the log is removed": lambda path: part(path, "-wal").unlink(),
    "a copy takes the log's place": lambda path: replace(part(path, "-wal")),
    "the index is removed": lambda path: part(path, "-shm").unlink(),
    "the lock is removed": lambda path: part(path, ".lock").unlink(),
    "a copy takes the lock's place": lambda path: replace(part(path, ".lock")),
}
# Afterwards two ledgers are there, and a person has to say which one is to be used.
UNCLEAR = {
    "a copy takes its place": replace,
    "a link takes its place": link,
    "the log is cut": lambda path: os.truncate(part(path, "-wal"), 0),
}


class LedgerGone(ProcessTest):
    def begin(self):
        """A daemon that has answered one request and holds one message for the lead."""
        self.team = self.make_team()
        self.start_daemon(self.team)
        self.path = self.daemon.state / "ledger.sqlite3"
        self.ask("perm-1")
        self.team.say("ada", "said before")
        wait_for("perm-1 is answered", lambda: self.team.replies("ada", "perm-1"))
        wait_for("both are marked", lambda: all(e["read"] for e in wire.read_inbox(self.team.lead_inbox)))

    def ask(self, request_id):
        self.team.say("ada", wire.permission_request("ada", "Bash", {"command": "git status"}, request_id))

    def taken_away(self, way):
        """The ledger goes, and a worker writes; the line that tells it."""
        way(self.path)
        self.ask("perm-2")
        self.team.say("ada", "said after")
        self.assertEqual(self.daemon.process.wait(LIMIT_S), GONE, self.daemon.tail())
        self.assertEqual([e["read"] for e in wire.read_inbox(self.team.lead_inbox)], [True, True, False, False])
        self.assertEqual(self.team.replies("ada", "perm-2"), [], "answered without a record")
        (line,) = self.daemon.log("ledger.gone")
        self.assertEqual([e["event"] for e in self.daemon.log() if e["level"] == "error"], ["ledger.gone"])
        self.assertEqual(self.daemon.log()[-1]["reason"], "the ledger is gone")
        return line

    def goes_on(self):
        self.daemon.start()
        wait_for("perm-2 is answered", lambda: self.team.replies("ada", "perm-2"))
        self.hears("said after")
        self.assertEqual([m["text"] for m in self.heard], ["said before", "said after"])
        self.assertEqual([len(self.team.replies("ada", i)) for i in ("perm-1", "perm-2")], [1, 1])
        self.assertEqual(self.daemon.stop(), 0)

    def each(self, ways, follows):
        """What follows, given the line, after each of the ways."""
        for name, way in ways.items():
            with self.subTest(name):
                shutil.rmtree(self.folder)
                self.folder.mkdir(mode=0o700)
                self.heard = []
                self.begin()
                follows(self.taken_away(way))

    def test_a_start_goes_on_with_what_was_saved_when_the_ledger_is_taken_away(self):
        def follows(line):
            self.assertIn("start the daemon: it goes on with that", line["reason"])
            is_saved = line["path"] == str(self.path) + ".saved"
            if is_saved:
                self.a_person_is_told()
            else:
                self.assertEqual(line["path"], str(self.path))
            self.goes_on()
            self.assertEqual([e["path"] for e in self.daemon.log("ledger.saved")], [str(self.path)] * is_saved)

        self.each(WAYS, follows)

    def a_person_is_told(self):
        settings = self.folder / "home" / "config" / "inbox-poller"
        settings.mkdir(mode=0o700)
        shutil.copy2(self.daemon.daemon_file, settings / "daemon.toml")
        done = self.daemon.cli("doctor", expect=2)
        self.assertIn("taken away while the daemon used it", done.stdout)
        done = self.daemon.cli("status", expect=3)
        self.assertIn("taken away while the daemon used it", done.stderr)

    def test_a_start_is_refused_with_the_choice_when_another_ledger_is_there(self):
        def follows(line):
            self.assertEqual(line["path"], str(self.path) + ".saved")
            self.daemon.spawn()
            self.assertEqual(self.daemon.process.wait(LIMIT_S), 1, self.daemon.tail())
            said = self.daemon.log()[-1]["reason"]
            for word in ("go on with the saved one", "move the saved one away", "--new-ledger"):
                self.assertIn(word, said)
                self.assertIn(word, line["reason"])
            for suffix in ("", "-wal", "-shm"):
                part(self.path, suffix).unlink(missing_ok=True)
            self.goes_on()

        self.each(UNCLEAR, follows)

    def test_a_new_ledger_sets_the_saved_one_aside(self):
        def follows(_):
            self.daemon.extra = ["--new-ledger"]
            self.daemon.start()
            self.daemon.polled(2)
            self.assertEqual(self.daemon.stop(), 0)
            self.assertEqual(len(list(self.daemon.state.glob("*.damaged-*.saved"))), 1)

        self.each({"a copy takes its place": replace}, follows)

    def test_a_cut_file_is_told_and_refused(self):
        def follows(line):
            self.assertIn("was cut to 8192 bytes", line["reason"])
            self.assertIn("could not be saved", line["reason"])
            self.daemon.spawn()
            self.assertEqual(self.daemon.process.wait(LIMIT_S), 1, self.daemon.tail())
            self.assertIn("--new-ledger", self.daemon.log()[-1]["reason"])

        self.each({"the file is cut": lambda path: os.truncate(path, 8192)}, follows)

    def test_a_place_that_cannot_be_examined_holds_everything_up_until_it_can(self):
        """A loop of links is neither there nor gone. In the middle of a commit the doubt would be final, so the daemon is at rest."""
        self.begin()
        self.daemon.polled(5)
        state, away = self.daemon.state, self.folder / "away"
        self.while_it_is_stopped(lambda: (state.rename(away), state.symlink_to(state)))
        self.ask("perm-2")
        (line,) = wait_for("it is told", lambda: self.daemon.log("ledger.fault", code="ledger.io"))
        self.assertIn("cannot be examined", line["reason"])
        self.daemon.polled(5)
        self.assertEqual([e["read"] for e in wire.read_inbox(self.team.lead_inbox)], [True, True, False])
        self.assertEqual(self.team.replies("ada", "perm-2"), [], "answered without a record")
        self.while_it_is_stopped(lambda: (state.unlink(), away.rename(state)))
        wait_for("perm-2 is answered", lambda: self.team.replies("ada", "perm-2"))
        self.assertNotIn("ledger_fault", self.status())
        self.assertEqual(self.daemon.stop(), 0)
        self.assertEqual([e["event"] for e in self.daemon.log() if e["level"] == "error"], ["ledger.fault"])

    def while_it_is_stopped(self, work):
        pid = self.daemon.process.pid
        hold_still(pid)
        wait_for("it stands", lambda: pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] == "T")
        work()
        os.kill(pid, signal.SIGCONT)

    def test_a_decision_of_a_person_is_refused_when_the_ledger_is_taken_away(self):
        """Between two polls: the commit itself finds it."""
        self.team = self.make_team()
        self.start_daemon(self.team, poll="1min")
        self.path = self.daemon.state / "ledger.sqlite3"
        self.team.say("ada", wire.permission_request("ada", "Bash", {"command": "make it so"}, "perm-1"))
        self.pending_id("perm-1")
        self.path.unlink()
        done = self.daemon.cli("approve", "perm-1", expect=None)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.daemon.process.wait(LIMIT_S), GONE, self.daemon.tail())
        self.assertEqual(self.team.replies("ada", "perm-1"), [])


class AtEveryCall(unittest.TestCase):
    """A workload lies there complete, and the state folder goes at the N-th call of the run that takes it in."""

    # The copy is for the judge: what was in the ledger when it went.
    FORMS = {"removed": "cp -a {state} {away} && rm -rf {state}", "moved": "mv {state} {away}"}

    def taken_away(self, scenario, case):
        """(whether the run told it, whether the start went on with a saved ledger)"""
        number, moment, form = case
        away = pathlib.Path(str(scenario.folder) + "-away")
        shutil.rmtree(away, ignore_errors=True)
        scenario.stage()
        state = scenario.daemon.state
        state.mkdir(mode=0o700)  # the first calls are made before the daemon has it
        code = scenario.run_with(CALLS_END=number, CALLS_END_AT=moment, CALLS_DO=self.FORMS[form].format(state=state, away=away))
        try:
            return self.judged(scenario, code, state, away)
        finally:
            shutil.rmtree(away, ignore_errors=True)

    def judged(self, scenario, code, state, away):
        log = scenario.world.runs[-1][1]
        self.assertIn(code, (0, 1, GONE), log[-2000:])
        self.assertEqual(log.count(b'"event":"ledger.gone"'), code == GONE, log[-2000:])
        is_saved = (state / "ledger.sqlite3.saved").exists()
        if code == 0 and not (state / "ledger.sqlite3").exists():
            # After the last check: what was marked and answered is in the ledger that was at its path then.
            self.assertTrue(away.exists(), "the run did not come to that call")
            shutil.rmtree(state, ignore_errors=True)
            away.rename(state)
        self.assertEqual(scenario.recover(), 0, scenario.world.runs[-1][1][-2000:])
        self.assertEqual(scenario.judge(over=True), [], log[-2000:])
        return code != 0, is_saved

    def test_a_run_whose_state_is_taken_away_at_any_call_loses_nothing_untold(self):
        scenario = Preloaded(SEED)
        self.addCleanup(scenario.remove)
        numbers = [number for number, _, _ in min((scenario.calls() for _ in range(3)), key=len)]
        drawn = numbers if POINTS == "all" else portion.portion(numbers, int(POINTS), portion.seed())
        cases = [(n, moment, form) for n in drawn for moment in ("before", "after") for form in self.FORMS]
        ends = each(self, cases, self.taken_away, lambda: Preloaded(SEED))
        print("figures: %d calls, taken away %d times: %d told, %d saved (seed %d)" % (
            len(numbers), len(ends), sum(told for told, _ in ends), sum(saved for _, saved in ends), portion.seed()))
        # Each one is judged; this only says that the sweep meets runs that go on. A slow run has fewer calls than the one that was counted.
        self.assertGreaterEqual(sum(told for told, _ in ends), 0.2 * len(ends), "it is not told")


if __name__ == "__main__":
    unittest.main()
