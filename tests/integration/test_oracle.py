"""The oracle itself: silent about a run that went well, and each invariant, broken on purpose, is noticed."""

import json
import os
import pathlib
import shutil
import sqlite3
import tempfile
import unittest

import oracle
import team as wire
from daemon import Daemon, team_toml
from workload import WORKERS, Workload, received

SEED = 7  # with asks of every kind, refusals and duplicates in it


class Oracle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.master = pathlib.Path(tempfile.mkdtemp(prefix="ip-"))
        team = wire.Team(cls.master / "teams", "demo", WORKERS)
        sink = cls.master / "lead.jsonl"
        daemon = Daemon(os.environ["INBOX_POLLER"], cls.master, team_toml(
            team, more='\n[delivery]\nvia = ["file"]\nfile = "%s"\n' % sink), polls=3)
        cls.world = Workload(SEED, team, daemon.state, size=60).write()
        code = daemon.spawn().process.wait(60)
        cls.world.runs = [(code, daemon.log_path.read_bytes())]
        cls.world.received = received(sink)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.master)

    def setUp(self):
        """The same folder once more, to be spoilt."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ip-"))
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(self.master, self.folder, dirs_exist_ok=True, ignore=lambda _, names: [n for n in names if n.endswith(".sock")])
        shutil.copystat(self.master / "state", self.folder / "state")
        team = wire.Team.__new__(wire.Team)
        team.__dict__.update(self.world.team.__dict__)
        for name in ("root", "folder", "inboxes", "config"):
            setattr(team, name, self.folder / getattr(self.world.team, name).relative_to(self.master))
        copied = {k: v.copy() if isinstance(v, (list, dict, set)) else v for k, v in self.world.__dict__.items() if k != "rows"}
        self.spoilt = oracle.World(**dict(copied, team=team, state=self.folder / "state"))

    def sql(self, statement, *values):
        with sqlite3.connect(self.folder / "state" / "ledger.sqlite3") as database:
            self.assertGreater(database.execute(statement, values).rowcount, 0, "the test spoilt nothing: " + statement)
        database.close()

    def notices(self, *names):
        found = {v.split(" ", 1)[0] for v in oracle.violations(self.spoilt)}
        self.assertLessEqual(set(names), found)

    def change_inbox(self, member, change):
        path = self.spoilt.team.inbox(member)
        data = path.read_bytes()
        changed = change(data)
        self.assertNotEqual(data, changed, "the test spoilt nothing")
        path.write_bytes(changed)

    def change_reply(self, change, worker=None):
        """Changes the entry of the first answer to a permission, in the first worker's inbox that has one."""
        for name in [worker] if worker else WORKERS:
            entries = wire.read_inbox(self.spoilt.team.inbox(name))
            for number, entry in enumerate(entries or []):
                payload = wire.as_payload(entry["text"])
                if payload and payload["type"] == "permission_response":
                    change(entries, number, payload)
                    self.spoilt.team.inbox(name).write_text(wire.stringify(entries), "utf-8")
                    self.spoilt.before.pop(self.spoilt.team.inbox(name).name, None)
                    return
        self.fail("the seed has no such answer")

    def test_a_good_run_is_a_good_run(self):
        self.assertEqual(oracle.violations(self.world), [])
        self.assertEqual(oracle.violations(self.spoilt), [], "the copy is spoilt before anything was")
        kinds = {r["kind"] for r in self.world.rows["requests"]}
        ends = {r["disposition"] for r in self.world.rows["messages"]}
        self.assertEqual((kinds, ends), ({"permission", "sandbox", "plan"}, {"chat", "control", "status", "refused", "duplicate", "bad"}))

    def test_i1_a_message_that_nobody_received(self):
        del self.spoilt.received[0]
        self.notices("I1")

    def test_i1_a_message_that_was_never_recorded(self):
        self.sql("DELETE FROM messages WHERE id = (SELECT min(id) FROM messages WHERE disposition = 'chat')")
        self.notices("I1", "I5")

    def test_i1_an_ask_whose_worker_waits_for_ever(self):
        self.change_reply(lambda entries, n, _: entries.pop(n))
        self.notices("I1")

    def test_i1_chat_of_one_sender_in_another_order(self):
        of_one = [m for m in self.spoilt.received if m["from"] == self.spoilt.received[0]["from"]]
        self.spoilt.received = list(reversed(of_one)) + [m for m in self.spoilt.received if m not in of_one]
        self.notices("I1")

    def test_i2_two_decisions(self):
        self.sql("INSERT INTO history (at_ms, team, message_key, request_id, event, detail, sum) "
                 "SELECT at_ms, team, message_key, request_id, event, detail, sum FROM history WHERE event = 'request.decided' LIMIT 1")
        self.notices("I2")

    def test_i2_two_different_answers(self):
        self.change_reply(lambda entries, n, p: entries.append(dict(entries[n], text=wire.stringify(dict(p, subtype="error", error="no")))))
        self.notices("I2")

    def test_i2_the_same_answer_twice(self):
        self.change_reply(lambda entries, n, _: entries.append(entries[n]))
        self.notices("I2")

    def test_i2_a_repeat_without_its_label(self):
        self.spoilt.received.append(dict(self.spoilt.received[0]))
        self.notices("I2")

    def test_i2_a_repeat_after_its_acknowledgement(self):
        self.spoilt.acknowledged.append((self.spoilt.received[0]["message_key"], len(self.spoilt.received)))
        self.spoilt.received.append(dict(self.spoilt.received[0], attempts=2))
        self.notices("I2")

    def test_i3_chat_before_an_answer_of_its_batch(self):
        self.sql("UPDATE history SET at_ms = (SELECT max(offered_ms) + 1 FROM deliveries) "
                 "WHERE id >= (SELECT min(id) FROM history WHERE event = 'effect.written')")
        self.notices("I3")

    def test_i4_a_number_spelled_anew(self):
        self.change_inbox("team-lead", lambda data: data.replace(b"123456789012345678901234567890", b"1.2345678901234568e+29", 1))
        self.notices("I4")

    def test_i4_an_entry_that_vanished(self):
        self.change_inbox("ada", lambda data: b"[\n" + data[data.index(b"},") + 2:])
        self.notices("I4")

    def test_i4_an_entry_that_nobody_wrote(self):
        self.change_inbox("team-lead", lambda data: data[:data.rindex(b"]")] + b',{"read":true}]')
        self.notices("I4")

    def test_i4_a_worker_s_message_marked(self):
        self.change_inbox("ada", lambda data: data.replace(b'"read": false', b'"read": true ', 1))
        self.notices("I4")

    def test_i5_marked_but_not_recorded(self):
        self.sql("DELETE FROM messages WHERE disposition = 'control'")
        self.notices("I5")

    def test_i6_a_lock_that_was_not_let_go(self):
        os.mkdir(str(self.spoilt.team.lead_inbox) + ".lock")
        self.notices("I6")

    def test_i6_a_lock_that_is_a_file(self):
        pathlib.Path(str(self.spoilt.team.lead_inbox) + ".lock").write_text("1")
        self.assertTrue([v for v in oracle.violations(self.spoilt, over=False) if v.startswith("I6")])

    def test_i7_a_file_where_none_belongs(self):
        for path in ("teams/demo/inboxes/.ada.json.ip-1-1.tmp", "teams/demo/x", "state/y"):
            with self.subTest(path):
                (self.folder / path).write_text("")
                self.notices("I7")
                (self.folder / path).unlink()

    def test_i7_a_ledger_that_others_may_read(self):
        (self.folder / "state" / "ledger.sqlite3").chmod(0o644)
        self.notices("I7")

    def test_i8_an_allowance_that_no_rule_gives(self):
        self.spoilt.may_allow = set()
        self.notices("I8")

    def test_i9_a_refusal_that_is_told_twice_or_never(self):
        self.sql("DELETE FROM history WHERE event = 'message.refused'")
        self.notices("I9")

    def test_i9_an_order_of_a_worker_that_was_obeyed(self):
        self.sql("UPDATE messages SET disposition = 'control' WHERE disposition = 'refused'")
        self.notices("I9")

    def test_i10_memory_and_descriptors_that_grow(self):
        for grown in ((1000, 1), (0, 1), (2000, 0)):
            self.spoilt.samples = [(n, 20_000 + grown[0] * n, 20 + grown[1] * n) for n in range(40)]
            self.notices("I10")
        self.spoilt.samples = [(n, 20_000 + 10 * (n % 7), 20 + n % 2) for n in range(40)]
        self.assertEqual(oracle.violations(self.spoilt), [])

    def test_i11_what_is_left_lying(self):
        self.sql("UPDATE deliveries SET state = 'queued' WHERE state = 'delivered'")
        self.notices("I11")
        self.sql("UPDATE deliveries SET state = 'delivered' WHERE state = 'queued'")
        self.assertEqual(oracle.violations(self.spoilt), [])
        self.change_inbox("team-lead", lambda data: data.replace(b'"read": true ', b'"read": false', 1).replace(b'"read":true ', b'"read":false', 1))
        self.notices("I11")

    def test_i12_an_end_without_a_word(self):
        code, log = self.spoilt.runs[0]
        for run in ((code, log[:log.rindex(b"\n", 0, -1)] + b"\n"), (1, log), (0, b""), (139, log), (0, b"free(): invalid pointer\n")):
            with self.subTest(run[0]):
                self.spoilt.runs = [run]
                self.notices("I12")
        self.spoilt.runs = [(-9, b"{half a li")]
        self.assertEqual(oracle.violations(self.spoilt), [])


if __name__ == "__main__":
    unittest.main()
