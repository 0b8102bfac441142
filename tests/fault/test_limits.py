"""A daemon that may open few files, write short ones only, or have little memory: it refuses with a word or works, decides nothing wrong,
and loses nothing once the limit is gone.

LIMITS=all (LONG=1) takes every limit in a range; otherwise some of them. Sanitizers reserve terabytes of memory, and look at memory
through pipes of their own: memory and descriptors are limited for a program without them, which is INBOX_POLLER itself or a build
beside it (build/release, bench or quick). Without any, these two tests do not exist, which is said. SHARD and JOBS: see sweep.py.
"""

import os
import pathlib
import unittest

from sweep import Plain, each

SEED = 16  # of the workload
LONG = os.environ.get("LIMITS", "all" if os.environ.get("LONG") == "1" else "some") == "all"
OPEN_FILES = range(5, 41) if LONG else (6, 8, 10, 12, 13, 14, 15, 16, 24, 32)
FILE_SIZES = range(0, 1 << 19, 8192) if LONG else (0, 512, 8192, 65536, 131072, 262144, 400000)
MEMORY = range(1 << 20, 48 << 20, 1 << 19) if LONG else [n << 20 for n in (1, 2, 4, 6, 8, 12, 16, 24)]
GIVEN = pathlib.Path(os.environ["INBOX_POLLER"])
BARE = next((p for p in (GIVEN, *(GIVEN.parent.parent / preset / "inbox-poller" for preset in ("release", "bench", "quick")))
             if p.is_file() and b"__ubsan_handle" not in p.read_bytes()), None)
if BARE is None:
    print("NOT TRIED: limits of descriptors and of memory, for want of a program without sanitizers (deploy/build makes one)")
ENDS = (0, 1, 2)
NO_START = (127,)  # of the dynamic loader, before there is a program


class Limits(unittest.TestCase):
    def limited(self, scenario, case):
        """How the daemon ended under this limit."""
        what, limit = case
        scenario.stage()
        scenario.daemon.program = str(GIVEN if what == "fsize" else BARE)
        code = scenario.run(["prlimit", "--%s=%d:%d" % (what, limit, limit)])
        log = scenario.world.runs[-1][1]
        if code in NO_START and b"loading shared libraries" in log:
            scenario.world.runs.clear()
        else:
            self.assertIn(code, ENDS, log[-2000:])
        if what == "fsize" and len(log) >= limit:
            scenario.world.runs.clear()  # the log is a file too: it cannot have a last word
        self.assertEqual(scenario.judge(over=False), [], log[-2000:])
        self.assertEqual(scenario.recover(), 0)
        problems = scenario.judge(over=True)
        if any(problem.startswith("I11") for problem in problems):
            self.assertEqual(scenario.recover(polls=30), 0)
            problems = scenario.judge(over=True)
        self.assertEqual(problems, [])
        return code

    def tried(self, what, limits):
        ends = each(self, [(what, limit) for limit in limits], self.limited, lambda: Plain(SEED))
        print("figures: %s: %d limits, ended in good order under %d of them (seed %d)" % (what, len(ends), ends.count(0), SEED))
        self.assertIn(0, ends, "no limit was generous enough to show anything")
        self.assertNotEqual(set(ends), {0}, "no limit was tight enough to show anything")

    def test_short_files(self):
        self.tried("fsize", FILE_SIZES)

    if BARE:
        def test_few_open_files(self):
            self.tried("nofile", OPEN_FILES)

        def test_little_memory(self):
            self.tried("data", MEMORY)


if __name__ == "__main__":
    unittest.main()
