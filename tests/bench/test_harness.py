#!/usr/bin/env python3
"""The harness itself: would it notice? Run by deploy/bench before anything is measured: test_harness.py BUILD-FOLDER."""

import json
import os
import pathlib
import shutil
import socket
import struct
import sys
import tempfile
import threading
import time
import unittest

import figures
import instructions
import plots
import scenarios
from subjects import Lost, Tools

BUILD = "build/bench"


class Spoiled:
    """A poller that takes every message from the writers' bell and the file, and then does something wrong with the third."""

    name, marks, listens, pid = "spoiled", False, True, 0

    def __init__(self, spoil):
        self.spoil, self.thread = spoil, None

    def start(self, place):
        self.bell, self.socket = str(place.folder / "bell"), str(place.folder / "c.sock")
        os.mkfifo(self.bell)
        self.inbox = place.inbox()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return {"consumer": "listen", "socket": self.socket, "notify": self.bell}

    def serve(self):
        while not os.path.exists(self.socket):
            time.sleep(0.01)
        with socket.socket(socket.AF_UNIX) as consumer:
            consumer.connect(self.socket)
            self.pass_on(consumer)

    def pass_on(self, consumer):
        with open(self.bell, "rb") as bell:
            for number in iter(lambda: bell.read(8), b""):
                wanted = "bench %d " % struct.unpack("q", number)
                text = next(e["text"] for e in json.loads(self.inbox.read_text()) if e["text"].startswith(wanted))
                for line in self.spoil(text) if wanted == "bench 2 " else [text]:
                    consumer.sendall((json.dumps({"text": line}) + "\n").encode())

    def stop(self):
        self.thread.join(10)

    def kill(self):
        pass


class Checks(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ip-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.tools = Tools(BUILD)

    def run_with(self, spoil, marks=False):
        subject = Spoiled(spoil)
        subject.marks = marks
        return scenarios.measured(self, subject, "check", "chat", scenarios.Place(self), count=6, style="replace", writers=2, gap_us=2000,
                                  size=50, patience_s=1)

    def test_an_honest_poller_passes_with_a_sample_for_each_message(self):
        result = self.run_with(lambda text: [text])
        self.assertEqual((result["written"], result["received"], result["refused"], len(result["latency_ns"])), (6, 6, 0, 6))
        self.assertTrue(all(0 < one < 5e9 for one in result["latency_ns"]))

    def test_a_lost_message_is_noticed(self):
        with self.assertRaisesRegex(Lost, r"1 of 6 messages never arrived, such as \[2\]"):
            self.run_with(lambda text: [])

    def test_a_repeated_message_is_noticed(self):
        with self.assertRaisesRegex(Lost, "1 messages arrived more than once"):
            self.run_with(lambda text: [text, text])

    def test_a_changed_stamp_is_noticed(self):
        with self.assertRaisesRegex(Lost, "another stamp: 2"):
            self.run_with(lambda text: ["bench 2 1 x"])

    def test_an_invented_message_is_noticed(self):
        with self.assertRaisesRegex(Lost, "a message that nobody here wrote: hello"):
            self.run_with(lambda text: [text, "hello"])

    def test_a_message_that_stays_unread_is_noticed(self):
        with self.assertRaisesRegex(Lost, "6 entries are still unread when our patience ends"):
            self.run_with(lambda text: [text], marks=True)


class Figures(unittest.TestCase):
    def test_percentiles_are_samples_by_nearest_rank(self):
        samples = [50, 15, 40, 20, 35]
        self.assertEqual([figures.percentile(samples, rank) for rank in (5, 30, 40, 50, 100)], [15, 20, 20, 35, 50])
        self.assertEqual(figures.percentile(list(range(1, 101)), 99), 99)
        self.assertEqual(figures.percentile([7], 99.9), 7)

    def test_one_outlier_is_the_highest_percentile(self):
        self.assertEqual(figures.summary([1] * 999 + [10 ** 9])["p100"], 10 ** 9)

    def test_more_than_three_percent_more_of_anything_are_flagged_and_only_they(self):
        baseline = {"made_by": {"compiler": "a"}, "instructions": {"scan": 1000, "idle": 1000, "decide": 1000},
                    "system_calls": {"scan": 0, "idle": 20}}
        rows, why = instructions.compare({"scan": {"instructions": 1031, "system_calls": 0}, "idle": {"instructions": 1030, "system_calls": 21},
                                          "decide": {"instructions": 500}}, baseline, {"compiler": "a"})
        self.assertEqual(([row[:2] for row in rows if row[5]], why), ([("scan", "instructions"), ("idle", "system_calls")], ""))

    def test_counts_of_another_compiler_are_not_compared(self):
        baseline = {"made_by": {"compiler": "a"}, "instructions": {"scan": 1000}}
        rows, why = instructions.compare({"scan": {"instructions": 9999}}, baseline, {"compiler": "b"})
        self.assertEqual((rows[0][4], rows[0][5]), (None, False))
        self.assertIn("other compiler (b, then a)", why)

    def test_calls_are_counted_between_the_marks_and_without_those_of_chance(self):
        text = ('7 openat(AT_FDCWD, "x") = 3\n7 access("/hot-path/begin", F_OK) = -1 ENOENT\n7 read(3, "", 8) = 0\n'
                '8 futex(0x1, FUTEX_WAIT) = 0\n8 pread64(3, <unfinished ...>\n7 close(3) = 0\n8 <... pread64 resumed>"") = 0\n'
                '7 access("/hot-path/end", F_OK) = -1 ENOENT\n7 exit_group(0) = ?\n')
        self.assertEqual(instructions.system_calls(text), 3)

    def test_allocations_are_calls_from_outside_of_the_allocator(self):
        text = "fn=main\ncfn=malloc\ncalls=3 0\n0 9\ncfn=free\ncalls=3 0\n0 9\nfn=calloc\ncfn=malloc\ncalls=2 0\n0 9\n"
        self.assertEqual(instructions.allocations(text), 3)

    def test_a_missed_part_of_a_target_is_a_missed_target(self):
        self.assertEqual(figures.Row("", "").judge(True).judge(False).judge(True).verdict(), "missed")
        self.assertEqual(figures.Row("", "").verdict(), "not judged")

    def test_plots_hold_every_subject_and_every_sample(self):
        found = {"floor": {"samples": [1_000_000] * 10}, "reference": {"samples": [1_000_000, 500_000_000]}}
        drawn = plots.latency_plot(found, "a < b")
        self.assertIn("a &lt; b", drawn)
        self.assertIn(">reference</text>", drawn)
        self.assertIn(">1,000</text>", drawn)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        BUILD = sys.argv.pop(1)
    unittest.main()
