"""A writer that rewrites large files in place, over and over, while the daemon looks: half a file has no effect at all.

The file is cut to nothing and written again in pieces, as the older client does and worse, without a pause between two rounds; now
and then an entry is added. Most looks of the daemon meet a part of it. No part is taken for the whole: nothing is copied aside,
nothing is lost or doubled, no flag stands in another entry, and in the end everything is recorded, delivered and marked. Once with
the lock held while writing, once without any lock.

Then a file that stays broken: copied aside once, told once, left as it is; when it is mended, it goes on.

The seed is printed; TEST_SEED=… repeats a run. A story takes 3 seconds, in the long form (LONG=1) 120.
"""

import contextlib
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
TORN_POLLS = 20  # so that a writer who waits for a busy machine is none that died
MEMBERS = ("ada", "bob", "cleo")


class TornFiles(ProcessTest):
    def setUp(self):
        super().setUp()
        self.seed = portion.seed()
        self.choose = random.Random(self.seed)
        self.team = self.make_team(members=MEMBERS)
        self.inbox = self.team.lead_inbox
        self.sink = self.folder / "lead.jsonl"
        wire.rewrite(self.inbox, "[]")
        self.inbox.chmod(0o600)
        self.sent = []
        self.start_daemon(self.team, '[delivery]\nfile = "%s"\n[limits]\nqueued_chat = 100000\nquarantine_after_polls = %d\n' % (
            self.sink, TORN_POLLS), poll="50ms")

    def new(self, size):
        number = len(self.sent)
        if number % 10 == 9:
            sender = self.choose.choice(MEMBERS)
            text = wire.stringify(wire.permission_request(sender, "Bash", {"command": "git status %d" % number}, "perm-%d" % number))
        else:
            sender = self.choose.choice(MEMBERS)
            text = "n%d " % number + "x]}\"" * (size // 4)
        entry = wire.entry(sender, text, timestamp="2026-02-07T15:20:%02d.%03dZ" % (number // 1000, number % 1000))
        self.sent.append(entry)
        return entry

    def write_in_pieces(self, data):
        with open(self.inbox, "r+b", buffering=0) as file:
            file.truncate(0)
            position = 0
            while position < len(data):
                size = self.choose.choice((1, 4096, 65536, 1 << 20))
                file.write(data[position:position + size])
                position += size
                time.sleep(self.choose.choice((0, 0.001, 0.002, 0.002, 0.03)))  # clock: the pace of a peer; nothing is judged by it

    # clock: how long this peer goes on; a share of that time is judged, which a slow machine does not change
    def write_for_a_while(self, lock):
        """Each round says what stands there, flags as they were found, with now and then one more."""
        rounds, until = 0, time.monotonic() + SECONDS
        self.torn_seconds = 0.0
        while time.monotonic() < until:
            with lock():
                entries = wire.read_inbox(self.inbox)
                self.assertIsNotNone(entries, "what the last round wrote does not parse")
                texts = [e["text"] for e in entries]
                self.assertEqual(texts, [e["text"] for e in self.sent])
                if rounds % 2 == 0:
                    total = sum(map(len, texts))
                    size = self.choose.choice((10, 100, 100_000, 400_000)) if total < 5_000_000 else 10
                    entries.append(self.new(size))
                data = wire.stringify(entries, 2).encode()
                began = time.monotonic()
                self.write_in_pieces(data)
                self.torn_seconds += time.monotonic() - began
            rounds += 1
            time.sleep(self.choose.choice((0, 0, 0.005, 0.02)))  # clock: the pace of a peer; nothing is judged by it
        return rounds

    def judge(self, rounds):
        self.assertGreater(self.torn_seconds, SECONDS / 5)
        wait_for("all is marked", lambda: all(e["read"] is True for e in wire.read_inbox(self.inbox) or [{"read": False}]), pause=0.1)
        chat = [e["text"] for e in self.sent if wire.as_payload(e["text"]) is None]
        wait_for("all is delivered", lambda: len(received(self.sink)) >= len(chat), pause=0.1)
        self.assertEqual(wire.read_inbox(self.inbox), [dict(e, read=True) for e in self.sent])
        size = self.inbox.stat().st_size
        self.assertEqual(self.daemon.stop(), 0)
        got = received(self.sink)
        self.assertEqual(sorted(m["text"] for m in got), sorted(chat))
        self.assertEqual(self.daemon.log("inbox.quarantined"), [])
        self.assertEqual([e for e in self.daemon.log() if e["level"] == "error"], [])
        self.assertFalse((self.daemon.state / "quarantine").exists())
        world = oracle.World(self.team, self.daemon.state, sent=self.sent, received=got, runs=[(0, self.daemon.log_path.read_bytes())],
                             may_allow={"perm-%d" % n for n in range(len(self.sent))})
        self.assertEqual(oracle.violations(world), [], "TEST_SEED=%d" % self.seed)
        print("figures: %d rounds, %d entries, %.1f MB in the end; torn for %.0f %% of the time; found so for a whole poll %d times" % (
            rounds, len(self.sent), size / 1e6, 100 * self.torn_seconds / SECONDS, len(self.daemon.log("inbox.unreadable"))))

    def test_a_loop_that_rewrites_in_place_under_its_lock(self):
        self.judge(self.write_for_a_while(lambda: wire.Lock(self.inbox, wire.PATIENT)))

    def test_a_loop_that_rewrites_in_place_without_a_lock(self):
        self.judge(self.write_for_a_while(contextlib.nullcontext))

    def test_a_file_that_stays_broken_is_copied_once_and_goes_on_when_mended(self):
        good = [self.new(100) for _ in range(12)]
        whole = wire.stringify(good, 2).encode()
        broken = whole[:-300] + b"\x00\x00"
        self.inbox.write_bytes(broken)
        wait_for("it is copied aside", lambda: self.daemon.log("inbox.quarantined"))
        self.daemon.polled(20)
        self.assertEqual(self.inbox.read_bytes(), broken)
        copies = [p.read_bytes() for p in (self.daemon.state / "quarantine").iterdir()]
        self.assertEqual((copies, len(self.daemon.log("inbox.quarantined")), len(self.daemon.log("inbox.unreadable"))), ([broken], 1, 1))
        wire.replace(self.inbox, whole.decode())
        self.sent = list(good)
        wait_for("all is marked", lambda: all(e["read"] for e in wire.read_inbox(self.inbox) or [{"read": False}]))
        chat = [e["text"] for e in good if wire.as_payload(e["text"]) is None]
        wait_for("all is delivered", lambda: len(received(self.sink)) >= len(chat))
        self.assertEqual(self.daemon.stop(), 0)
        world = oracle.World(self.team, self.daemon.state, sent=good, received=received(self.sink), before={self.inbox.name: whole},
                             runs=[(0, self.daemon.log_path.read_bytes())], may_allow={"perm-%d" % n for n in range(len(good))})
        self.assertEqual(oracle.violations(world), [])
        self.assertEqual(sorted(m["text"] for m in world.received), sorted(chat))


if __name__ == "__main__":
    unittest.main()
