"""A run ends before or after a call of the C library, of whichever thread, and whole runs whose reads and writes move only a part each.

The same oracle as of test_every_call.py, without ptrace: a library between the program and the C library (tests/shim/calls.cpp) counts
the calls that change something. LONG=1 takes every call, before and after it; otherwise CRASH_POINTS of them are taken, drawn by TEST_SEED
(portion.py), after the call. SHORT_RUNS=… says how many drawn granularities are tried beside the fixed ones. SHARD and JOBS: see sweep.py.
Beside much other work, 2 cores, ASan: the short form takes 20 s, the long one 5 minutes.
"""

import os
import unittest

import portion
from sweep import Preloaded, each

SEED = 14  # of the workload
POINTS = os.environ.get("CRASH_POINTS", "all" if portion.LONG else "40")
SHORT_RUNS = int(os.environ.get("SHORT_RUNS", "200" if portion.LONG else "4"))
PARTS = ("1", "7", "511", "4096")


class AfterCall(unittest.TestCase):
    def killed_at(self, scenario, case):
        """Whether the run came to that call."""
        number, moment = case
        scenario.stage()
        code = scenario.run_with(CALLS_END=number, CALLS_END_AT=moment)
        self.assertIn(code, (0, 137), scenario.world.runs[-1][1][-2000:])
        self.assertEqual(scenario.judge(over=False), [], "just after the end")
        self.assertEqual(scenario.recover(), 0, scenario.world.runs[-1][1][-2000:])
        self.assertEqual(scenario.judge(over=True), [], "started again")
        return code == 137

    def test_a_run_that_ends_after_any_call_loses_nothing(self):
        scenario = Preloaded(SEED)
        self.addCleanup(scenario.remove)
        # On a busy machine a run may look once more than another: the shortest of three has the calls that all of them have.
        numbers = [number for number, _, _ in min((scenario.calls() for _ in range(3)), key=len)]
        cases = [(n, m) for n in numbers for m in ("before", "after")] if POINTS == "all" else [
            (n, "after") for n in portion.portion(numbers, int(POINTS), portion.seed())]
        reached = each(self, cases, self.killed_at, lambda: Preloaded(SEED))
        print("figures: %d calls, ended %d times at one of them (seed %d)" % (len(numbers), sum(reached), portion.seed()))
        self.assertGreaterEqual(sum(reached), 0.5 * len(reached), "the run is not the one that was counted")  # how often it looks, the machine says


class ShortTransfers(unittest.TestCase):
    def whole_run(self, scenario, case):
        part, every = case
        scenario.stage()
        code = scenario.run_with(CALLS_SHORT=part, CALLS_SHORT_EVERY=every)
        self.assertEqual(code, 0, scenario.world.runs[-1][1][-2000:])
        self.assertEqual(scenario.judge(over=True), [])
        self.assertNotIn(b'"level":"error"', scenario.world.runs[-1][1])
        return scenario.told()

    def test_reads_and_writes_that_move_only_a_part_change_nothing(self):
        cases = [("100000000", 1)] + [(part, every) for part in PARTS for every in (1, 3)]
        cases += [("random:%d" % (portion.seed() % (1 << 30) + n), 1 + n % 3) for n in range(SHORT_RUNS)]
        whole, *parts = each(self, cases, self.whole_run, lambda: Preloaded(SEED))
        for told in parts:
            self.assertEqual(told, whole, "something else happened than in a run whose transfers are whole")
        print("figures: %d runs whose reads and writes were cut short (seed %d)" % (len(parts), portion.seed()))


if __name__ == "__main__":
    unittest.main()
