#!/usr/bin/env python3
"""Runs one file of tests for CTest: run.py tests/integration/test_x.py [Class.test …].

Leaves with 0 when all passed, 77 when some could not run here (each named as "SKIPPED: …"), 1 otherwise. Where CI=true, a test that
could not run counts as failed: CI has everything.
"""

import importlib.util
import os
import pathlib
import resource
import signal
import sys
import time
import unittest


class Result(unittest.TextTestResult):
    """Tells which tests took long, so that a wait that ended only by its limit is seen although the test passed."""

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()  # clock: a figure for the reader; no verdict depends on it

    def stopTest(self, test):
        super().stopTest(test)
        seconds = time.monotonic() - self.began  # clock: a figure for the reader; no verdict depends on it
        if seconds > 60:
            print("took %.0f s: %s" % (seconds, test), flush=True)


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in a shell's background it is ignored, and children inherit that
    path = pathlib.Path(sys.argv[1]).resolve()
    sys.path[:0] = [str(path.parent), str(pathlib.Path(__file__).resolve().parent)]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(sys.argv[2:], module) if len(sys.argv) > 2 else loader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result).run(suite)
    for test, why in result.skipped:
        print("SKIPPED: %s: %s" % (test.id(), why))
    if not result.wasSuccessful() or result.testsRun == 0:
        return 1
    if result.skipped and os.environ.get("CI") == "true":
        return 1
    return 77 if result.skipped else 0


def note_cost():
    """Adds the processor seconds of this file and its children to the table that tests/costs.py prints."""
    path, tests = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(__file__).resolve().parents[1]
    if "TEST_COSTS" in os.environ and tests in path.parents:
        # clock: a figure for the reader; no verdict depends on it
        seconds = sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
        with open(os.environ["TEST_COSTS"], "a") as out:
            out.write("%s %s\t%.2f\n" % (path.parent.name, path.stem, seconds))


if __name__ == "__main__":
    code = main()
    note_cost()
    sys.exit(code)
