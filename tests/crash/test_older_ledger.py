"""A start that finds a ledger of an older format ends after a call of the C library: the next start sets the rest aside or refuses it.

The old ledger lies there with a log, as a killed daemon leaves it. The starts end after every call up to the first one of the new ledger
and after some later ones (tests/shim/calls.cpp). The bytes of the old ledger and of its log stay in every case. Requests are answered once.
"""

import json
import pathlib
import sqlite3
import tempfile
import unittest

from sweep import Preloaded, each

SEED = 19  # of the workload
LEDGER = "ledger.sqlite3"
APPLICATION = 0x496E506F  # poller/ledger/tables.hpp
PARTS = ("", "-wal", "-shm")


def older_ledger():
    """The bytes of a ledger of format 1 and of its companions: its last row is in the log only."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / LEDGER
        database = sqlite3.connect(path, isolation_level=None)
        for statement in ("PRAGMA application_id = %d" % APPLICATION, "PRAGMA user_version = 1", "CREATE TABLE outbox (entry)",
                          "PRAGMA journal_mode = WAL", "INSERT INTO outbox VALUES ('kept')"):
            database.execute(statement)
        parts = {part: path.with_name(LEDGER + part).read_bytes() for part in PARTS}
        database.close()
        return parts


class Older(Preloaded):
    """The same with an older ledger in the daemon's place."""

    old = older_ledger()

    def stage(self):
        super().stage()
        self.daemon.state.mkdir(mode=0o700, exist_ok=True)
        for part, data in self.old.items():
            path = self.daemon.state / (LEDGER + part)
            path.write_bytes(data)
            path.chmod(0o600)
        return self

    def take_set_aside(self):
        """Removes the files that were set aside; their bytes by name."""
        found = {}
        for word in ("format", "damaged"):
            for path in self.daemon.state.glob("%s.%s-*" % (LEDGER, word)):
                found[path.name] = path.read_bytes()
                path.unlink()
        return found


def events(scenario, name):
    lines = [json.loads(line) for line in scenario.world.runs[-1][1].splitlines() if line.startswith(b"{")]
    return [line for line in lines if line["event"] == name]


class OlderLedger(unittest.TestCase):
    def goes_on(self, scenario):
        """Whether the next start went on by itself; a refusal names the way out, and the way leads out."""
        code = scenario.run()
        is_refused = code == 1
        if is_refused:
            self.assertIn("--new-ledger", events(scenario, "daemon.fault")[0]["reason"])
            self.assertEqual((scenario.daemon.state / (LEDGER + "-wal")).read_bytes(), scenario.old["-wal"])
            code = scenario.run(more=["--new-ledger"])
            self.assertIn("--new-ledger was given", events(scenario, "ledger.set_aside")[0]["reason"])
        self.assertEqual(code, 0, scenario.world.runs[-1][1][-2000:])
        kept = scenario.take_set_aside()
        self.assertEqual(kept[LEDGER + ".format-1"], scenario.old[""])
        self.assertIn(scenario.old["-wal"], kept.values())
        self.assertEqual(scenario.judge(over=True), [], "started again")
        return not is_refused

    def ended_at(self, scenario, number):
        scenario.stage()
        self.assertEqual(scenario.run_with(CALLS_END=number), 137, scenario.world.runs[-1][1][-2000:])
        return self.goes_on(scenario)

    def test_a_start_that_ends_after_any_call_keeps_the_older_ledger(self):
        scenario = Older(SEED)
        self.addCleanup(scenario.remove)
        calls = scenario.calls()
        (line,) = events(scenario, "ledger.set_aside")
        self.assertEqual(line["path"], str((scenario.daemon.state / LEDGER).resolve()) + ".format-1")
        self.assertIn("it has format 1", line["reason"])
        kept = scenario.take_set_aside()
        self.assertEqual([kept[LEDGER + ".format-1" + part] for part in ("", "-wal")], [scenario.old[""], scenario.old["-wal"]])
        self.assertEqual(scenario.judge(over=True), [])
        renames = [number for number, name, path in calls if name.startswith("rename") and path.startswith(str(scenario.daemon.state / LEDGER))]
        self.assertGreaterEqual(len(renames), len(PARTS) + 1, calls)
        draft = renames[len(PARTS)]  # the new ledger gets its name
        numbers = [number for number, _, _ in calls if number <= renames[len(PARTS) - 1] + 4 or draft - 1 <= number <= draft + 4]
        ends = each(self, numbers, self.ended_at, lambda: Older(SEED))
        print("figures: ended after %d calls, %d starts refused" % (len(ends), ends.count(False)))
        self.assertIn(False, ends, "no start ended between the renames")


if __name__ == "__main__":
    unittest.main()
