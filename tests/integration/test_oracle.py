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
from daemon import Daemon, LIMIT_S, team_toml
from jsonl_team import append
from other_systems import Letters, Lines
from workload import WORKERS, Workload, received

SEED = 7  # with requests of every kind, refusals and duplicates in it


class Oracle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.master = pathlib.Path(tempfile.mkdtemp(prefix="ip-"))
        team = wire.Team(cls.master / "teams", "demo", WORKERS)
        sink = cls.master / "lead.jsonl"
        daemon = Daemon(os.environ["INBOX_POLLER"], cls.master, team_toml(
            team, more='\n[delivery]\nmethods = ["file"]\nfile = "%s"\n' % sink), polls=3)
        cls.world = Workload(SEED, team, daemon.state, size=60).write()
        code = daemon.spawn().process.wait(LIMIT_S)
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
        self.assertEqual((kinds, ends), ({"permission", "sandbox", "plan"}, {"chat", "control", "status", "rejected", "duplicate", "malformed"}))

    def test_i1_a_message_that_nobody_received(self):
        del self.spoilt.received[0]
        self.notices("I1")

    def test_i1_a_message_that_was_never_recorded(self):
        self.sql("DELETE FROM messages WHERE id = (SELECT min(id) FROM messages WHERE disposition = 'chat')")
        self.notices("I1", "I5")

    def test_i1_a_request_whose_worker_waits_for_ever(self):
        self.change_reply(lambda entries, n, _: entries.pop(n))
        self.notices("I1")

    def test_i1_chat_of_one_sender_in_another_order(self):
        of_one = [m for m in self.spoilt.received if m["from"] == self.spoilt.received[0]["from"]]
        self.spoilt.received = list(reversed(of_one)) + [m for m in self.spoilt.received if m not in of_one]
        self.notices("I1")

    def test_i2_two_decisions(self):
        self.sql("INSERT INTO history (at_ms, team, message_key, request_id, event, detail, checksum) "
                 "SELECT at_ms, team, message_key, request_id, event, detail, checksum FROM history WHERE event = 'request.decided' LIMIT 1")
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

    def test_i2_a_repeat_after_its_acknowledgment(self):
        self.spoilt.acknowledged.append((self.spoilt.received[0]["message_key"], len(self.spoilt.received)))
        self.spoilt.received.append(dict(self.spoilt.received[0], attempts=2))
        self.notices("I2")

    def test_i3_chat_before_an_answer_of_its_batch(self):
        self.sql("UPDATE history SET at_ms = (SELECT max(offered_ms) + 1 FROM deliveries) "
                 "WHERE id >= (SELECT min(id) FROM history WHERE event = 'reply.written')")
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
        self.sql("DELETE FROM history WHERE event = 'message.rejected'")
        self.notices("I9")

    def test_i9_an_order_of_a_worker_that_was_obeyed(self):
        self.sql("UPDATE messages SET disposition = 'control' WHERE disposition = 'rejected'")
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



class OtherSystems(unittest.TestCase):
    """The same of the oracles for lines and for letters."""

    def run_of(self, system):
        scenario = system(SEED, size=40)
        self.addCleanup(scenario.remove)
        scenario.stage()
        self.assertEqual(scenario.run(), 0)
        self.assertEqual(scenario.judge(over=True), [])
        return scenario

    def notices(self, scenario, name, spoil, over=True):
        """What `spoil` does to the run's folder or world is noticed as that; then all is as before."""
        kept = scenario.folder.with_name(scenario.folder.name + "-kept")
        shutil.copytree(scenario.folder, kept)
        was = {k: v.copy() if isinstance(v, (list, set, dict)) else v for k, v in vars(scenario.world).items()}
        try:
            with self.subTest(name, spoil=spoil.__name__):
                spoil()
                self.assertIn(name, {v.split(" ", 1)[0] for v in scenario.judge(over)})
        finally:
            vars(scenario.world).update(was)
            shutil.rmtree(scenario.folder)
            kept.rename(scenario.folder)
        self.assertEqual(scenario.judge(over=True), [], "it is not as before")

    def forgets_chat(self, scenario):
        with sqlite3.connect(scenario.folder / "state" / "ledger.sqlite3") as database:
            database.execute("DELETE FROM messages WHERE id = (SELECT min(id) FROM messages WHERE disposition = 'chat' AND text <> '')")
        database.close()

    def test_what_is_wrong_among_lines_is_noticed(self):
        run = self.run_of(Lines)
        team, world = run.world.team, run.world
        worker = next(name for name in ("alice", "bob") if b"plan_approval_response" in team.path(name).read_bytes())

        def a_line_gone_and_not_recorded():
            self.forgets_chat(run)
            team.path("lead").write_bytes(b"")

        def a_message_that_nobody_received():
            del world.received[0]

        def an_answer_that_is_missing():
            team.path(worker).write_bytes(world.before.get(worker, b""))

        def an_answer_twice():
            last = team.path(worker).read_bytes().splitlines()[-1]
            append(team.path(worker), last + b"\n")

        def another_s_line_changed():
            team.path("alice").write_bytes(team.path("alice").read_bytes().replace(b"between us", b"between you"))

        def an_approval_that_no_rule_gives():
            world.may_allow.clear()

        def a_file_of_nobody():
            (team.inbox / ".alice.1.inbox-poller").write_bytes(b"")

        def a_line_recorded_twice():
            world.expected.remove(next(one for one in world.expected if one.disposition == "chat"))

        for name, spoil in (("I5", a_line_gone_and_not_recorded), ("I1", a_message_that_nobody_received), ("I1", an_answer_that_is_missing),
                            ("I2", an_answer_twice), ("I4", another_s_line_changed), ("I8", an_approval_that_no_rule_gives),
                            ("I7", a_file_of_nobody), ("I1", a_line_recorded_twice)):
            self.notices(run, name, spoil)

    def test_what_is_wrong_among_letters_is_noticed(self):
        run = self.run_of(Letters)
        root, world = run.world.team.root, run.world
        letters = {p.read_bytes(): p for p in (root / "boss/cur").glob("*.json")}
        letter = letters[world.expected[0].raw]

        def a_letter_that_is_gone():
            letter.unlink()

        def a_letter_in_both_places():
            shutil.copy(letter, root / "boss/new/copy.json")

        def a_letter_left_unread():
            letter.rename(root / "boss/new" / letter.name)

        def a_letter_taken_and_not_recorded():
            self.forgets_chat(run)

        def another_s_letter_changed():
            next(root.glob("bob/new/*.json")).write_text("{}")

        def a_lost_task():
            next(root.glob("tasks/open/*.json")).unlink()

        def a_task_in_two_places():
            task = next(root.glob("tasks/open/*.json"))
            shutil.copy(task, root / "tasks/done" / task.name)

        def a_file_of_nobody():
            (root / "tmp/.ip-0123.tmp").write_text("")

        for name, spoil in (("I4", a_letter_that_is_gone), ("I4", a_letter_in_both_places), ("I11", a_letter_left_unread),
                            ("I5", a_letter_taken_and_not_recorded), ("I4", another_s_letter_changed), ("I1", a_lost_task),
                            ("I1", a_task_in_two_places), ("I7", a_file_of_nobody)):
            self.notices(run, name, spoil)


if __name__ == "__main__":
    unittest.main()
