"""One bit of the ledger or of its log is wrong: the daemon refuses to start and names the way out, or sets aside what it cannot trust,
or works. Never does a request get another answer, never is anything allowed that no rule allows, never does the lead read altered words.

Three moments of one run: its decisions are in the log and no answer is written yet; the same with everything in the database file; and
all answered and delivered. FLIPS=… bits are tried of each, drawn by the seed (LONG=1: 1,500; `all`: one in every byte, which takes
hours). 1,200 took 4 minutes beside other work. SHARD and JOBS: see sweep.py. What each single read makes of a flipped bit is tried in tests/unit/poller/ledger/ledger_damage_test.cpp.
"""

import collections
import os
import random
import re
import unittest

import oracle
import portion
from moments import Moment, wrongs
from sweep import Preloaded, each

SEED = 15  # of the workload
FLIPS = os.environ.get("FLIPS", "1500" if portion.LONG else "16")
WAYS_OUT = re.compile(rb"--new-ledger|choose another path|install the newer inbox-poller|Check the disk")


class BitFlips(unittest.TestCase):
    def setUp(self):
        scenario = Preloaded(SEED)
        self.addCleanup(scenario.remove)
        calls = scenario.calls()
        reply = next(number for number, name, path in calls if "open" in name and re.search(r"/inboxes/\.(?!team-lead)", path))
        self.moments = {"decided": Moment(scenario, reply - 1), "decided, no log": Moment(scenario, reply - 1, whole=True),
                        "done": Moment(scenario)}

    def cases(self):
        choose = random.Random(portion.seed())
        for name, moment in self.moments.items():
            places = [(part, byte) for part in moment.parts for byte in range(len(moment.files[part]))]
            # The first byte says what the file is: whatever slice is drawn, one flip is noticed.
            yield name, str(next(part for part in moment.parts if part.name == "ledger.sqlite3")), 0, 0
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
        self.assertEqual(wrongs(scenario.world), [], log[-3000:])
        self.assertEqual(oracle.i12_last_words(scenario.world), [])
        if code == 1:
            self.assertRegex(log.splitlines()[-1], WAYS_OUT)
            return "refused at the start" if b"daemon.started" not in log else "ended, and said why"
        return "told" if b"ledger.damaged" in log else "worked"

    def test_a_flipped_bit_never_decides_anything(self):
        how = collections.Counter(each(self, list(self.cases()), self.flipped, lambda: Preloaded(SEED)))
        print("figures: %d flipped bits: %s (seed %d)" % (sum(how.values()), ", ".join("%d %s" % (n, w) for w, n in how.most_common()), portion.seed()))
        self.assertGreater(len(how), 1, "every bit was taken alike: nothing was flipped")


if __name__ == "__main__":
    unittest.main()
