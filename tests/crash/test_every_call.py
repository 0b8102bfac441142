"""kill -9 at each system call of a run, one after the other: what was accepted is never lost, and nothing is done twice.

strace kills before the call takes effect. Killed before the next call is the same as killed after this one, so the sweep over all calls
has both. CRASH_POINTS=all takes every point; otherwise that many are taken, evenly over the run.
"""

import dataclasses
import os
import random
import unittest

from sweep import Scenario, spread

SEED = int(os.environ.get("CRASH_SEED", "11"))
POINTS = os.environ.get("CRASH_POINTS", "80")
CHANGES = {"pwrite64", "write", "writev", "openat", "open", "fsync", "fdatasync", "rename", "renameat", "renameat2", "mkdir", "mkdirat",
           "rmdir", "unlink", "unlinkat", "ftruncate", "fchmod", "fchown", "bind", "connect", "sendto", "sendmsg", "close"}


class EveryCall(unittest.TestCase):
    def setUp(self):
        self.scenario = Scenario(SEED)
        self.addCleanup(self.scenario.remove)

    def points(self):
        every = self.scenario.points()
        changing = [p for p in every if p.call in CHANGES]
        return every if POINTS == "all" else spread(changing, int(POINTS))

    def killed_at(self, point):
        """Whether a run on an untouched folder came to that call."""
        self.scenario.stage()
        code = self.scenario.disturbed(point, "signal=KILL")
        self.assertIn(code, (0, 137), "killed at %s it left with %d:\n%s" % (point, code, self.scenario.world.runs[-1][1][-2000:]))
        self.assertEqual(self.scenario.judge(over=False), [], "just after the kill at %s" % point)
        return code == 137

    def test_a_kill_before_any_call_loses_nothing(self):
        points = self.points()
        waited, reached = set(), 0
        for point in points:
            reached += self.killed_at(point)
            locks = {p.name for p in self.scenario.world.team.inboxes.glob("*.lock")}
            waits = bool(locks - waited)  # the first time at each lock it is left to the daemon, which takes ten seconds
            waited |= locks
            self.assertEqual(self.scenario.recover(waits), 0, "restarted after the kill at %s" % point)
            self.assertEqual(self.scenario.judge(over=True), [], "restarted after the kill at %s" % point)
        print("%d points, %d kills (seed %d)" % (len(points), reached, SEED))
        self.assertGreaterEqual(reached, 0.9 * len(points), "the run is not the one that was traced")

    def test_a_second_kill_while_recovering_loses_nothing(self):
        choose = random.Random(SEED)
        points = self.points()
        many = len(points) // 4 if POINTS == "all" else 10
        for point in choose.sample([p for p in points if p.call in CHANGES], many):
            self.killed_at(point)
            second = choose.choice([p for p in points if p.call in CHANGES])
            second = dataclasses.replace(second, number=max(1, second.number // 2))  # what is done already needs fewer calls
            for path in self.scenario.world.team.inboxes.glob("*.lock"):
                path.rmdir()
            self.scenario.disturbed(second, "signal=KILL")
            self.assertEqual(self.scenario.judge(over=False), [], "after kills at %s, then %s" % (point, second))
            self.assertEqual(self.scenario.recover(), 0)
            self.assertEqual(self.scenario.judge(over=True), [], "after kills at %s, then %s" % (point, second))


if __name__ == "__main__":
    unittest.main()
