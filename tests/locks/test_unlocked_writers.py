"""Peers that write the lead's inbox without any lock, while the daemon reads and marks it: nothing of theirs is undone.

A writer reads the file, adds, removes, and reorders entries, and writes everything back, by rename or in place, many times a
second: between a reading of the daemon and its mark the file is another one again and again. Before each change the writer
compares what it finds with what it wrote: a removed entry that came back, a new one that is gone, a changed byte of an entry, is a
violation at once, whoever reads the file next. In the end every entry that stood there for some polls is recorded and delivered
exactly once, and what is marked is recorded.

What no program can give without a lock: a flag is compared and set by two calls of the system, a few microseconds apart. A writer
that moves entries *in place* within just these finds five bytes where the flag was before, or behind the end of a shorter file. How often that happens is counted (once in some thousand
writes, at twenty polls a second); that the daemon goes on when the file is replaced is required.

The seed is printed; TEST_SEED=… repeats a run as far as processes can be repeated. A story takes 3 seconds, in the long form (LONG=1)
120.
"""

import collections
import json
import os
import random
import time
import unittest

import oracle
import portion
import team as wire
from case import ProcessTest
from daemon import wait_for
from workload import received

SECONDS = 120.0 if os.environ.get("LONG") == "1" else 3.0
MEMBERS = ("ada", "bob", "cleo")


class Writer:
    """Somebody who holds the whole inbox in mind and never asks for the lock."""

    def __init__(self, seed, path, write, moves=True):
        self.choose = random.Random(seed)
        self.path = path
        self.write_file = write
        self.moves = moves
        self.entries = []       # as they should stand in the file, flags aside
        self.born = {}          # text -> when it was first written
        self.died = {}          # text -> when it was taken out
        self.all = {}           # text -> the entry
        self.number = 0
        self.problems = []
        self.rounds = 0

    def new(self):
        self.number += 1
        sender = self.choose.choice(MEMBERS)
        odd = self.choose.choice(("", "x" * self.choose.randrange(600), ' "read": false', "\u00fc\u2028"))
        entry = wire.entry(sender, "n%d of %s%s" % (self.number, sender, odd), self.choose.choice((wire.ERA1, wire.ERA2)))
        entry["timestamp"] = "2026-02-07T15:%02d:%02d.%03dZ" % (self.number // 60000 % 60, self.number // 1000 % 60, self.number % 1000)
        if self.choose.random() < 0.1:
            del entry["read"]  # set by replacing the file
        self.all[entry["text"]] = entry
        return entry

    def bare(self, entry):
        return {k: v for k, v in entry.items() if k != "read"}

    def compare(self):
        """Reads the file as the next writer would; returns its entries with their flags, or None when it cannot be read."""
        data = self.path.read_bytes()
        try:
            found = json.loads(data)
        except ValueError:
            self.problems.append("round %d: the file does not parse: %r" % (self.rounds, data[-80:]))
            return None
        texts = [e.get("text") for e in found]
        wanted = [e["text"] for e in self.entries]
        if texts != wanted:
            self.problems.append("round %d: came back: %s; gone: %s" % (
                self.rounds, [t for t in texts if t not in wanted], [t for t in wanted if t not in texts]))
        wrong = [e for e in found if self.bare(e) != self.bare(self.all.get(e.get("text"), {})) or e.get("read") not in (None, False, True)]
        if wrong:
            self.problems.append("round %d: changed: %s" % (self.rounds, wrong))
        return found

    def change(self):
        """One write. Flags are kept as they were found, as every tool does that reads before it writes."""
        self.rounds += 1
        found = self.compare() if self.entries else []
        if self.problems:
            return
        now = time.monotonic()  # clock: how long this peer goes on; nothing is judged by it
        what = self.choose.random()
        if self.moves and what < 0.25 and found:
            # The oldest first, and never all that are read: that would be another consumer at work.
            for entry in self.choose.sample(found, self.choose.randrange(1, 1 + min(3, len(found)))):
                found.remove(entry)
                self.died[entry["text"]] = now
        elif self.moves and what < 0.4:
            self.choose.shuffle(found)
        for _ in range(self.choose.randrange(0 if found else 1, 4)):
            entry = self.new()
            self.born[entry["text"]] = now
            found.insert(self.choose.randrange(len(found) + 1) if self.moves else len(found), entry)
        if self.moves and len(found) > 60:
            for entry in found[:30]:
                self.died[entry["text"]] = now
            del found[:30]
        self.entries = [self.bare(e) for e in found]
        self.write_file(self.path, wire.stringify(found, indent=self.choose.choice((None, 2)) if self.moves else 2))


class UnlockedWriters(ProcessTest):
    def setUp(self):
        super().setUp()
        self.seed = portion.seed()

    def start(self):
        self.team = self.make_team(members=MEMBERS)
        self.sink = self.folder / "lead.jsonl"
        self.start_daemon(self.team, '[delivery]\nfile = "%s"\n[limits]\nqueued_chat = 100000\n' % self.sink, poll="50ms",
                          team_more='on_competing_consumer = "ignore"\n')

    def story(self, write, moves=True):
        self.start()
        writer = Writer(self.seed, self.team.lead_inbox, write, moves)
        until = time.monotonic() + SECONDS  # clock: how long this peer goes on; nothing is judged by it
        while time.monotonic() < until and not writer.problems:  # clock: how long this peer goes on; nothing is judged by it
            writer.change()
            time.sleep(writer.choose.uniform(0.0, 0.02))  # clock: the pace of a peer; nothing is judged by it
        self.assertEqual(writer.problems, [], "TEST_SEED=%d" % self.seed)
        return writer

    def judge(self, writer):
        wait_for("what stands there is marked", lambda: all(
            e.get("read") is True for e in wire.read_inbox(self.team.lead_inbox) or [{}]))
        standing = [e["text"] for e in writer.entries]
        wait_for("what stands there is delivered", lambda: {m["text"] for m in received(self.sink)} >= set(standing))
        writer.compare()
        self.assertEqual(writer.problems, [])
        self.assertEqual(self.daemon.stop(), 0)
        got = received(self.sink)
        world = oracle.World(self.team, self.daemon.state, received=got, runs=[(0, self.daemon.log_path.read_bytes())])
        world.read_ledger()
        # Who stood there for a second has certainly been in some complete poll; younger ones may have been seen.
        world.sent = [writer.all[t] for t in writer.born
                      if t in standing or writer.died[t] - writer.born[t] > 1.0 or world.recorded(writer.all[t])]
        problems = [p for p in oracle.violations(world) if "out of order" not in p or not writer.moves]
        self.assertEqual(problems, [], "TEST_SEED=%d" % self.seed)
        times = collections.Counter(m["text"] for m in got)
        self.assertEqual([t for t in times if times[t] != 1], [])
        self.assertEqual([t for t in times if t not in writer.born], [])
        self.assertEqual([e for e in self.daemon.log() if e["level"] == "error" or e["event"] == "inbox.quarantined"], [])
        changed = len(self.daemon.log("inbox.lock_foreign"))
        print("figures: %d writes, %d entries, %d of them certainly seen, %d removed; %d times the file was another one when it was to be marked" % (
            writer.rounds, writer.number, len(world.sent), len(writer.died), changed))

    def test_by_rename_removing_and_reordering(self):
        self.judge(self.story(wire.replace))

    def test_in_place_appending(self):
        self.judge(self.story(wire.rewrite, moves=False))

    def test_in_place_removing_and_reordering(self):
        self.start()
        writes, damaged, until = 0, [], time.monotonic() + SECONDS  # clock: how long this peer goes on; nothing is judged by it
        while time.monotonic() < until:  # clock: how long this peer goes on; nothing is judged by it
            wire.replace(self.team.lead_inbox, "[]")
            self.seed += 1
            writer = Writer(self.seed, self.team.lead_inbox, wire.rewrite)
            writer.number = self.seed % 1000 * 1_000_000  # other messages than before
            while time.monotonic() < until and not writer.problems:  # clock: how long this peer goes on; nothing is judged by it
                writer.change()
                time.sleep(writer.choose.uniform(0.0, 0.004))  # clock: the pace of a peer; nothing is judged by it
            writes += writer.rounds
            damaged += writer.problems
        print("figures: %d writes in place that moved entries, %d of them met a flag on its way: %s" % (
            writes, len(damaged), [d[:200] for d in damaged]))
        self.assertLess(len(damaged), 3 + writes / 1000)
        wire.replace(self.team.lead_inbox, wire.stringify([wire.entry("ada", "the last one")], 2))
        wait_for("it goes on", lambda: received(self.sink)[-1]["text"] == "the last one")


if __name__ == "__main__":
    unittest.main()
