"""One bit of the ledger or of its log is wrong: the daemon refuses to start and names the way out, or sets aside what it cannot trust,
or works. Never does an ask get another answer, never is anything allowed that no rule allows, never does the lead read altered words.

Three moments of one run: its decisions are in the log and no answer is written yet; the same with everything in the database file; and
all answered and delivered. FLIPS=… bits are tried of each, drawn by the seed (LONG=1: 1,500; `all`: one in every byte, which takes
hours). SHARD and JOBS: see sweep.py. What each single read makes of a flipped bit is tried in tests/unit/poller/ledger_damage.cpp.
"""

import collections
import os
import random
import re
import shutil
import sqlite3
import unittest

import oracle
from sweep import Preloaded, each

SEED = int(os.environ.get("FAULT_SEED", "15"))
FLIPS = os.environ.get("FLIPS", "1500" if "LONG" in os.environ else "24")
PARTS = ("state", "teams")
SINK = "lead.jsonl"
WAYS_OUT = re.compile(rb"--new-ledger|choose another path|install the newer inbox-poller|chmod 600|is a person's to mend|Check the disk")


class Moment:
    """What a run left at some moment: the bytes of all its files."""

    def __init__(self, scenario, end=None, whole=False):
        scenario.stage()
        code = scenario.run_with(**({"CALLS_END": end} if end else {}))
        assert code == (137 if end else 0), "it left with %d" % code
        ledger = scenario.daemon.state / "ledger.sqlite3"
        if whole:
            with sqlite3.connect(ledger) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            database.close()
        for path in scenario.folder.rglob("*.lock"):
            path.rmdir() if path.is_dir() else None
        self.files = {path.relative_to(scenario.folder): path.read_bytes() for part in (*PARTS, SINK)
                      for path in [scenario.folder / part, *(scenario.folder / part).rglob("*")] if path.is_file()}
        self.world = scenario.world  # ids in it are new each time it is staged
        self.parts = [p for p in self.files if p.name in ("ledger.sqlite3", "ledger.sqlite3-wal") and self.files[p]]

    def put(self, scenario, flipped, byte, bit):
        for what in ("sent", "before", "may_allow"):
            setattr(scenario.world, what, getattr(self.world, what))
        for part in PARTS:
            shutil.rmtree(scenario.folder / part, ignore_errors=True)
        (scenario.folder / SINK).unlink(missing_ok=True)
        for path, data in self.files.items():
            if path == flipped:
                data = data[:byte] + bytes([data[byte] ^ 1 << bit]) + data[byte + 1:]
            target = scenario.folder / path
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.write_bytes(data)
            target.chmod(0o600)


class BitFlips(unittest.TestCase):
    def setUp(self):
        scenario = Preloaded(SEED)
        self.addCleanup(scenario.remove)
        calls = scenario.calls()
        reply = next(number for number, name, path in calls if "open" in name and re.search(r"/inboxes/\.(?!team-lead)", path))
        self.moments = {"decided": Moment(scenario, reply - 1), "decided, no log": Moment(scenario, reply - 1, whole=True),
                        "done": Moment(scenario)}

    def cases(self):
        choose = random.Random(SEED)
        for name, moment in self.moments.items():
            places = [(part, byte) for part in moment.parts for byte in range(len(moment.files[part]))]
            for part, byte in places if FLIPS == "all" else choose.sample(places, int(FLIPS)):
                yield name, str(part), byte, choose.randrange(8)

    def flipped(self, scenario, case):
        """How the daemon took it."""
        name, part, byte, bit = case
        moment = self.moments[name]
        scenario.stage()
        moment.put(scenario, next(p for p in moment.parts if str(p) == part), byte, bit)
        code = scenario.run()
        log = scenario.world.runs[-1][1]
        self.assertIn(code, (0, 1), log[-2000:])
        self.assertEqual(self.wrongs(scenario.world), [], log[-3000:])
        self.assertEqual(oracle.i12_last_words(scenario.world), [])
        if code == 1:
            self.assertRegex(log.splitlines()[-1], WAYS_OUT)
            return "refused at the start" if b"daemon.started" not in log else "ended, and said why"
        return "told" if b"ledger.damaged" in log else "worked"

    def wrongs(self, world):
        """What must never be, by what workers and the lead can read; the ledger itself is no witness here."""
        texts, told = collections.defaultdict(set), collections.Counter()
        for worker, request_id, text in world.replies():
            texts[request_id].add(text)
            told[worker, request_id] += 1
        problems = ["different answers to %s: %s" % (i, sorted(t)) for i, t in texts.items() if len(t) > 1]
        problems += ["%d answers to %s" % (n, who) for who, n in told.items() if n > 1]
        asked = {str(i) for e in world.sent for i in [oracle.wire.as_payload(e["text"])] if i for i in (i.get("request_id"), i.get("requestId"))}
        problems += ["an answer to %s, which nobody asked" % i for i in texts if i not in asked]
        said = {e["text"] for e in world.sent}
        problems += ["nobody wrote %r" % m["text"] for m in world.received if m["text"] not in said]
        return problems + oracle.i8_no_allow(world) + oracle.i4_foreign_bytes(world)

    def test_a_flipped_bit_never_decides_anything(self):
        how = collections.Counter(each(self, list(self.cases()), self.flipped, lambda: Preloaded(SEED)))
        print("figures: %d flipped bits: %s (seed %d)" % (sum(how.values()), ", ".join("%d %s" % (n, w) for w, n in how.most_common()), SEED))
        self.assertGreater(len(how), 1, "every bit was taken alike: nothing was flipped")


if __name__ == "__main__":
    unittest.main()
