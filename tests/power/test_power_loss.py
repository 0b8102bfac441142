"""The power fails after each change that a run makes, with every fate of what was not synced: the daemon starts on what is left, and
nothing that it had promised is gone.

LONG=1 takes every state; otherwise POWER_STATES of them, drawn by TEST_SEED (portion.py), and a tenth as many of the other systems. What peers write is taken for
sure: they never sync, so the promise begins with the first poll that found it.
"""

import os
import shutil
import unittest

import portion
import powerloss
from other_systems import Letters, Lines
from sweep import Scenario

SEED = 13  # of the workload
STATES = os.environ.get("POWER_STATES", "all" if portion.LONG else "40")


class PowerLoss(unittest.TestCase):
    system, part, size = Scenario, 1, 24

    def setUp(self):
        self.scenario = self.system(SEED, self.size)
        self.addCleanup(self.scenario.remove)

    def states(self):
        self.scenario.stage()
        folder = self.scenario.folder
        existing = powerloss.read_tree(folder, self.scenario.parts)
        trace = folder / "trace"
        code = self.scenario.run(["strace", "-qq", "-f", "-y", "-s", "10000000", "-e", "trace=" + powerloss.CALLS, "-o", str(trace)])
        self.assertEqual(code, 0)
        self.assertEqual(self.scenario.judge(over=True), [])
        sizes = {path: None if data is None else len(data) for path, data in existing.items()}
        operations = [o for o in powerloss.Operations(trace.read_text("latin-1"), folder, sizes).list
                      if o[1].split("/")[0] in self.scenario.parts]
        self.assertEqual(powerloss_end(operations, existing), ours(powerloss.read_tree(folder, self.scenario.parts)), "the model is not what happened")
        return operations, list(powerloss.crash_states(operations, existing))

    def put(self, files):
        """These files in place of what is there."""
        for part in self.scenario.parts:
            shutil.rmtree(self.scenario.folder / part, ignore_errors=True)
        (self.scenario.folder / "lead.jsonl").unlink(missing_ok=True)
        for path, data in sorted(files.items()):
            target = self.scenario.folder / path
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if data is None:
                target.mkdir(mode=0o700, exist_ok=True)
            else:
                target.write_bytes(data)
                target.chmod(0o600)
        self.scenario.put_back()

    def test_after_a_power_loss_at_any_moment_nothing_promised_is_gone(self):
        operations, states = self.states()
        taken = states if STATES == "all" else portion.portion(states, int(STATES) // self.part, portion.seed())
        for number, fate, kept, files in taken:
            last = operations[number - 1][:2] if number else "the start"
            with self.subTest("after operation %d of %d (%s), bytes: %s, names kept: %d" % (number, len(operations), last, fate, kept)):
                self.put(files)
                self.scenario.world.runs.clear()
                code = self.scenario.recover()
                log = self.scenario.world.runs[-1][1].decode("utf-8", "replace")
                self.assertEqual(code, 0, log[-2000:])
                self.assertEqual(self.scenario.judge(over=True), [], log[-2000:])
        print("figures: %s: %d operations, %d states that differ, %d tried (seed %d)" % (
            self.system.__name__, len(operations), len(states), len(taken), portion.seed()))


class PowerLossLines(PowerLoss):
    system, part, size = Lines, 10, 10


class PowerLossLetters(PowerLoss):
    system, part, size = Letters, 10, 10


def ours(files):
    return {path: data for path, data in files.items() if not path.endswith(".lock")}


def powerloss_end(operations, existing):
    """What the model takes the disk to be at the end, when everything reached it."""
    disk = powerloss.Disk(existing)
    for operation in operations:
        disk.apply(operation)
    return ours({path: None if disk.files[i] is None else disk.content(i, "all") for path, i in disk.names.items()})


class Model(unittest.TestCase):
    """The model itself: it finds what is known to be wrong, and nothing in what is known to be right."""

    NEW = b"new!" * 256

    def contents(self, *operations):
        """What d/f may hold afterwards, other than the old and the new content; None when the name is gone."""
        states = list(powerloss.crash_states(list(operations), {"d": None, "d/f": b"old"}))
        return {files.get("d/f") for _, _, _, files in states} - {b"old", self.NEW}

    def test_a_file_rewritten_in_place_may_be_empty_half_or_zeroes(self):
        self.assertEqual(self.contents(("cut", "d/f", 0), ("write", "d/f", 0, self.NEW)), {b"", bytes(1024), self.NEW[:512]})

    def test_a_few_bytes_in_one_sector_are_there_or_not(self):
        self.assertEqual(self.contents(("write", "d/f", 0, b"OLD")), {b"OLD"})

    def test_a_few_bytes_across_a_sector_may_be_torn(self):
        states = powerloss.crash_states([("write", "f", 510, b"true ")], {"f": b"." * 510 + b"false"})
        self.assertIn(b"trlse", {files["f"][510:] for _, _, _, files in states})

    def test_a_rename_without_a_sync_may_leave_a_file_without_its_bytes(self):
        self.assertEqual(self.contents(("create", "d/t"), ("write", "d/t", 0, self.NEW), ("rename", "d/t", "d/f")),
                         {b"", bytes(1024), self.NEW[:512]})

    def test_a_synced_file_that_is_renamed_is_the_old_one_or_the_new_one(self):
        good = [("create", "d/t"), ("write", "d/t", 0, self.NEW), ("sync", "d/t"), ("rename", "d/t", "d/f"), ("sync", "d")]
        self.assertEqual(self.contents(*good), set())
        self.assertEqual([files["d/f"] for number, _, _, files in powerloss.crash_states(good, {"d": None, "d/f": b"old"})
                          if number == len(good)], [], "after the last sync there is nothing new to be afraid of")

    def test_two_files_that_change_names_are_both_there(self):
        states = powerloss.crash_states([("exchange", "d/a", "d/b"), ("unlink", "d/a"), ("sync", "d")], {"d": None, "d/a": b"A", "d/b": b"B"})
        self.assertEqual([{p: b for p, b in files.items() if b} for _, _, _, files in states],
                         [{"d/a": b"A", "d/b": b"B"}, {"d/a": b"B", "d/b": b"A"}, {"d/b": b"A"}])

    def test_names_come_in_their_order(self):
        names = [tuple(p for p in files if p != "d") for _, _, _, files in
                 powerloss.crash_states([("create", "d/a"), ("create", "d/b"), ("rename", "d/a", "d/c")], {"d": None})]
        self.assertEqual(set(names), {(), ("d/a",), ("d/a", "d/b"), ("d/b", "d/c")})


if __name__ == "__main__":
    unittest.main()
