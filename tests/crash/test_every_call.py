"""kill -9 at each system call of a run, one after the other: what was accepted is never lost, and nothing is done twice.

strace kills before the call takes effect. Killed before the next call is the same as killed after this one, so the sweep over all calls
has both. LONG=1 takes every point; otherwise CRASH_POINTS of them are taken, drawn by TEST_SEED (portion.py), and an eighth as many of the
other mailbox systems. SHARD and JOBS: see sweep.py. Beside much other work, 2 cores, ASan: 80 and 10 pairs take 40 s.
"""

import dataclasses
import os
import random
import threading
import unittest

import portion
from other_systems import Letters, Lines
from sweep import Scenario, each

SEED = 11  # of the workload
POINTS = os.environ.get("CRASH_POINTS", "all" if portion.LONG else "40")
# What leaves the folder other than it was. To be killed before any other call is to be killed before the next of these; and how many files
# are opened and closed hangs on how many processes the machine has (a worker's is looked for among all), so their numbers would differ.
CHANGES = {"pwrite64", "write", "writev", "fsync", "fdatasync", "rename", "renameat", "renameat2", "mkdir", "mkdirat",
           "rmdir", "unlink", "unlinkat", "ftruncate", "fchmod", "fchown", "bind", "connect", "sendto", "sendmsg"}


class EveryCall(unittest.TestCase):
    system, part = Scenario, 1

    def setUp(self):
        self.waited, self.waiting = set(), threading.Lock()

    def points(self):
        scenario = self.system(SEED)
        self.addCleanup(scenario.remove)
        every = scenario.points()
        changing = [p for p in every if p.call in CHANGES]
        return every if POINTS == "all" else portion.portion(changing, int(POINTS) // self.part, portion.seed())

    def killed_at(self, scenario, point):
        """Whether a run on an untouched folder came to that call."""
        scenario.stage()
        code = scenario.disturbed(point, "signal=KILL")
        self.assertIn(code, (0, 137), "it left with %d:\n%s" % (code, scenario.world.runs[-1][1][-2000:]))
        self.assertEqual(scenario.judge(over=False), [], "just after the kill")
        return code == 137

    def recovers(self, scenario, waits_for_locks=False):
        self.assertEqual(scenario.recover(waits_for_locks), 0, scenario.world.runs[-1][1][-2000:])
        self.assertEqual(scenario.judge(over=True), [], "restarted after the kill")

    def is_new_lock(self, scenario):
        """Whether a lock was left that no run has waited for: the first time at each it is left to the daemon, which takes ten seconds."""
        locks = {p.name for p in scenario.world.team.inboxes.glob("*.lock")}
        with self.waiting:
            new = bool(locks - self.waited)
            self.waited |= locks
        return new

    def test_a_kill_before_any_call_loses_nothing(self):
        def once(scenario, point):
            reached = self.killed_at(scenario, point)
            self.recovers(scenario, self.is_new_lock(scenario))
            return point.call in CHANGES, reached

        tried = each(self, self.points(), once, lambda: self.system(SEED))
        print("figures: %s: %d points, %d kills (seed %d)" % (
            self.system.__name__, len(tried), sum(reached for _, reached in tried), portion.seed()))
        telling = [reached for changes, reached in tried if changes]
        self.assertGreaterEqual(sum(telling), 0.9 * len(telling), "the run is not the one that was traced")

    def test_a_second_kill_while_recovering_loses_nothing(self):
        choose = random.Random(portion.seed())
        points = self.points()
        changing = [p for p in points if p.call in CHANGES]
        pairs = []
        for first in choose.sample(changing, len(changing) // 2 if POINTS == "all" else 10 // self.part):
            second = choose.choice(changing)
            pairs.append((first, dataclasses.replace(second, number=max(1, second.number // 4))))  # a recovery has fewer calls

        def twice(scenario, pair):
            reached = self.killed_at(scenario, pair[0])
            for path in scenario.world.team.inboxes.glob("*.lock"):
                path.rmdir()
            reached += scenario.disturbed(pair[1], "signal=KILL") == 137
            self.assertEqual(scenario.judge(over=False), [], "just after the second kill")
            self.recovers(scenario)
            return reached

        reached = each(self, pairs, twice, lambda: self.system(SEED))
        print("figures: %s: %d pairs, %d of them killed twice (seed %d)" % (self.system.__name__, len(reached), reached.count(2), portion.seed()))


class EveryCallLines(EveryCall):
    system, part = Lines, 8


class EveryCallLetters(EveryCall):
    system, part = Letters, 8


if __name__ == "__main__":
    unittest.main()
