"""Each system call of a run fails, once and for good: nothing crashes, nothing is claimed that is not so, and what waited goes on when
the fault is over.

FAULT_POINTS=40 takes that many calls, drawn by TEST_SEED (portion.py), each with an error drawn likewise, and a quarter as many of the
other mailbox systems; `all` (LONG=1) takes each call with such an error
twice, once and for good; `every` takes each call with every error that it can return, once and for good. SHARD and JOBS: see sweep.py.
Beside much other work, 2 cores, ASan: 40 take 30 s, `all` (2,228) 13 minutes with JOBS=6; `every` has some 9,000.
"""

import os
import random
import unittest

import portion
from daemon import LIMIT_S
from other_systems import Letters, Lines
from sweep import Scenario, each

SEED = 12  # of the workload
POINTS = os.environ.get("FAULT_POINTS", "all" if portion.LONG else "24")
FULL = ("ENOSPC", "EDQUOT", "EIO", "EROFS")
ERRORS = {
    "openat": ("EMFILE", "ENFILE", "EACCES", "EROFS", "ENOMEM", "EINTR", "ELOOP", "ENOSPC", "ESTALE", "ENAMETOOLONG"),
    "newfstatat": ("EIO", "EACCES", "ENOMEM", "ESTALE"),
    "statx": ("EIO", "EACCES", "ENOMEM", "ESTALE"),
    "read": ("EIO", "EINTR", "EAGAIN", "ESTALE"),
    "pread64": ("EIO", "EINTR", "ESTALE"),
    "write": FULL + ("EINTR", "EAGAIN"),
    "pwrite64": FULL + ("EINTR",),
    "fsync": FULL,
    "fdatasync": FULL,
    "ftruncate": FULL + ("EINTR",),
    "rename": FULL + ("EACCES", "ESTALE"),
    "renameat": FULL + ("EACCES", "ESTALE"),
    "renameat2": FULL + ("EACCES", "ESTALE", "EINVAL"),
    "mkdirat": FULL + ("EACCES", "ENOMEM", "ESTALE"),
    "unlinkat": ("EACCES", "EIO", "EROFS", "ESTALE"),
    "unlink": ("EACCES", "EIO", "EROFS"),
    "fchmod": ("EPERM", "EIO", "EROFS"),
    "fchown": ("EPERM", "EIO", "EROFS"),
    "fcntl": ("EAGAIN", "EINTR", "EIO", "ENOLCK"),
    "close": ("EIO", "EINTR"),
    "getdents64": ("EIO", "ENOMEM", "ESTALE"),
    "bind": ("EADDRINUSE", "EACCES", "ENOMEM"),
    "connect": ("ECONNREFUSED", "EACCES"),
    "flock": ("EINTR", "ENOLCK", "EAGAIN"),
    "chmod": ("EPERM", "EIO"),
}
AFTERWARDS = 30  # polls of 50 ms: the time of three polls of the default interval
PASSING = ("EINTR", "EAGAIN")  # never from now on: who gets one tries again at once
# Done; a fault, or a configuration that cannot be read, which its last line names; the ledger is not certain to be there after a commit.
ENDS = (0, 1, 2, 6)  # anything else is a crash
# Seconds. When it cannot lock, or could not unlock once, SQLite tries for ten in each transaction, until the ledger is opened again. That is
# told by ledger.fault; the poll loop does not feed the watchdog meanwhile, which has the daemon started again.
WATCHDOG = 15


class CallErrors(unittest.TestCase):
    system, part = Scenario, 1

    def cases(self):
        """(point, error, whether it lasts)"""
        choose = random.Random(portion.seed())
        scenario = self.system(SEED)
        self.addCleanup(scenario.remove)
        points = [p for p in scenario.points() if p.call in ERRORS]
        if POINTS == "every":
            return [(p, e, lasts) for p in points for e in ERRORS[p.call] for lasts in {False, e not in PASSING}]
        if POINTS == "all":
            return [(p, choose.choice([e for e in ERRORS[p.call] if not (lasts and e in PASSING)]), lasts)
                    for p in points for lasts in (False, True)]
        drawn = [(p, choose.choice(ERRORS[p.call]), choose.random() < 0.5) for p in portion.portion(points, int(POINTS) // self.part, portion.seed())]
        return [(p, e, lasts and e not in PASSING) for p, e, lasts in drawn]

    def suffers(self, scenario, case):
        """Whether the error ended the daemon."""
        point, error, lasts = case
        scenario.stage()
        no_locks = point.call == "fcntl"
        code = scenario.disturbed(point, "error=" + error, lasts, seconds=WATCHDOG if no_locks else LIMIT_S, is_patient=not no_locks)
        log = scenario.world.runs[-1][1]
        self.assertIn(code, ENDS + (137,) * no_locks, log[-2000:])
        if "run-" in point.about or (lasts and point.call == "write"):
            scenario.world.runs.clear()  # the log itself could not be written: it cannot have a last word
        self.assertEqual(scenario.judge(over=False), [], log[-2000:])
        self.assertEqual(scenario.recover(), 0)
        problems = scenario.judge(over=True)
        if any(problem.startswith("I11") for problem in problems):
            self.assertEqual(scenario.recover(polls=AFTERWARDS), 0)
            problems = scenario.judge(over=True)
        self.assertEqual(problems, [])
        return code != 0

    def test_an_error_of_any_call_is_survived_or_told_and_costs_nothing(self):
        ended = each(self, self.cases(), self.suffers, lambda: self.system(SEED))
        print("figures: %s: %d errors, %d of them ended the daemon with a word (seed %d)" % (
            self.system.__name__, len(ended), sum(ended), portion.seed()))


class CallErrorsLines(CallErrors):
    system, part = Lines, 4


class CallErrorsLetters(CallErrors):
    system, part = Letters, 4


if __name__ == "__main__":
    unittest.main()
