"""A lock that somebody breaks while we hold it: what was done to the file meanwhile stays, and the breaker's own lock is left alone.

A holder that stops inside its lock for long (a suspended machine) is robbed with good reason: after ten seconds its lock is anybody's.
Here strace stops the daemon for some seconds at one call inside its hold; a peer sees the lock, takes it for abandoned, makes its own,
and rewrites the file so that nothing stands where it stood. Then the daemon goes on. Which call that is, is found in a trace of the
same run before: where the flags are about to be set, and right before the rename that brings an answer into a worker's inbox.
"""

import os
import re
import shutil
import subprocess
import threading
import time
import unittest

import oracle
import team as wire
from case import ProcessTest
from daemon import LIMIT_S, asan_options, team_toml, wait_for
from workload import received

DELAY = 3.0  # seconds; the peer is quicker
CALL = re.compile(r"(\d+)\s+(\w+)\((.*)")


@unittest.skipUnless(shutil.which("strace"), "strace is not installed")
class StolenLock(ProcessTest):
    def stage(self):
        """The same files under the same names each time, so that the calls are the same."""
        for name in ("teams", "state"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        (self.folder / "lead.jsonl").unlink(missing_ok=True)
        self.team = self.make_team()
        self.request = wire.permission_request("ada", "Bash", {"command": "git status"}, "perm-1")
        stamp = "2026-02-07T15:20:11.00%dZ"
        self.sent = [wire.entry("ada", wire.stringify(self.request), timestamp=stamp % 1),
                     *(wire.entry("bob", "n%d" % n, timestamp=stamp % n) for n in range(2, 6))]
        for entry in self.sent:
            entry["msg_id"] = "a"  # of the same length in each run
        wire.rewrite(self.team.lead_inbox, wire.stringify(self.sent, 2))
        wire.rewrite(self.team.inbox("ada"), wire.stringify([wire.entry("bob", "between us", timestamp=stamp % 0)], 2))
        for path in (self.team.lead_inbox, self.team.inbox("ada")):
            path.chmod(0o600)
        self.make_daemon(team_toml(self.team, more='\n[delivery]\nfile = "%s"\n' % (self.folder / "lead.jsonl")))
        self.daemon.env["ASAN_OPTIONS"] = asan_options("detect_leaks=0")  # a traced process cannot look for leaks
        self.daemon.log_path.unlink(missing_ok=True)

    def run_traced(self, polls, *options):
        self.daemon.extra = ["--polls", str(polls)]
        with open(self.daemon.log_path, "ab") as log:
            process = subprocess.Popen(["strace", "-qq", "-f", "-y", *options, *self.daemon.command()], env=self.daemon.env,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.stops.append(lambda: process.poll() is None and process.kill())
        return process

    def calls(self, path):
        """The calls of the undisturbed run's main thread: (name, its number among those of that name about this path, arguments).
        How many calls there are about other things depends on the processes that run here."""
        trace = self.folder / "trace"
        self.assertEqual(self.run_traced(3, "-s", "200", "-o", str(trace)).wait(LIMIT_S), 0)
        found, counts, main = [], {}, None
        for line in trace.read_text("utf-8", "replace").splitlines():
            call = CALL.match(line)
            if call and (main or call[1]) == call[1]:
                main = call[1]
                counts[call[2]] = counts.get(call[2], 0) + ('"%s"' % path in call[3])
                found.append((call[2], counts[call[2]], call[3]))
        return found

    def where_flags_are_set(self, calls):
        return next((name, n) for name, n, about in calls if name.startswith("open") and "team-lead.json\"" in about and "O_RDWR" in about)

    def where_an_answer_comes_in(self, calls):
        """The last look at our lock before the rename."""
        rename = next(i for i, (name, _, about) in enumerate(calls) if name.startswith("rename") and "ada.json\"" in about)
        return next((name, n) for name, n, about in reversed(calls[:rename]) if "ada.json.lock" in about and "stat" in name)

    def steal(self, inbox, change):
        """Waits for a lock that does not go away, breaks it, changes the file under an own lock, and holds that for a while."""
        lock = inbox.with_suffix(".json.lock")
        since, seen = time.monotonic(), None  # clock: a lock that stays that long belongs to a daemon that is stopped in it
        # clock: a lock that stays that long belongs to a daemon that is stopped in it
        while not self.over.is_set() and not (seen and time.monotonic() - since > 0.7):
            try:
                now = lock.stat().st_mtime_ns
            except FileNotFoundError:
                now = None
            if now != seen:
                since, seen = time.monotonic(), now  # clock: a lock that stays that long belongs to a daemon that is stopped in it
            time.sleep(0.01)  # clock: the pause between two checks of a condition
        if self.over.is_set():
            return
        lock.rmdir()
        lock.mkdir()
        mine = (lock.stat().st_ino, lock.stat().st_mtime_ns)
        entries = change(wire.read_inbox(inbox))
        wire.rewrite(inbox, wire.stringify(entries, 4))
        self.stolen = entries
        # clock: the daemon has gone on by then, and wants the lock again; more time does no harm
        time.sleep(DELAY + 1.5)  # the daemon has gone on, and wants the lock again
        self.kept = lock.is_dir() and (lock.stat().st_ino, lock.stat().st_mtime_ns) == mine
        self.at_the_end = wire.read_inbox(inbox)
        lock.rmdir()

    def story(self, inbox, path, where, change):
        self.stage()
        name, number = where(self.calls(path))
        self.stage()
        self.over, self.stolen = threading.Event(), None
        thief = threading.Thread(target=self.steal, args=(inbox(), change))
        thief.start()
        process = self.run_traced(60, "-o", "/dev/null", "-P", path, "-e", "trace=" + name, "-e",
                                  "inject=%s:delay_enter=%d:when=%d" % (name, DELAY * 1e6, number))
        try:
            wait_for("the lock is broken while we hold it", lambda: self.stolen)
        finally:
            self.over.set()
            thief.join()
        self.assertTrue(self.kept, "the breaker's own lock was taken away")
        self.assertEqual(self.at_the_end, self.stolen, "written to under somebody else's lock")
        code = process.wait(LIMIT_S)
        self.assertEqual(code, 0)
        return oracle.World(self.team, self.daemon.state, received=received(self.folder / "lead.jsonl"), may_allow={"perm-1"},
                            runs=[(code, self.daemon.log_path.read_bytes())])

    def test_while_flags_are_set(self):
        late = wire.entry("bob", "came by the thief " + "x" * 700, timestamp="2026-02-07T15:20:12.000Z")
        world = self.story(lambda: self.team.lead_inbox, "team-lead.json", self.where_flags_are_set, lambda entries: [late] + entries[::-1])
        self.assertEqual(wire.read_inbox(self.team.lead_inbox), [dict(e, read=True) for e in [late] + self.sent[::-1]])
        world.sent = self.sent + [late]
        self.assertEqual(oracle.violations(world), [])
        self.assertTrue([e for e in self.daemon.log("inbox.lock_foreign") if "broken by another program while InboxPoller held it" in e["reason"]])

    def test_while_an_answer_comes_in(self):
        late = wire.entry("bob", "came by the thief", timestamp="2026-02-07T15:20:12.000Z")
        world = self.story(lambda: self.team.inbox("ada"), "ada.json.lock", self.where_an_answer_comes_in, lambda entries: entries + [late])
        entries = wire.read_inbox(self.team.inbox("ada"))
        self.assertEqual(entries[:2], self.stolen)
        self.assertEqual(len(self.team.replies("ada", "perm-1")), 1)
        world.sent = self.sent
        self.assertEqual(oracle.violations(world), [])


if __name__ == "__main__":
    unittest.main()
