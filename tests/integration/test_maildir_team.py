"""A team over a folder that agents share: two assistants and a lead whose mail the daemon delivers."""

import json
import os
import subprocess
import threading
import time

from case import ProcessTest
from daemon import wait_for
from maildir_peer import Store
from maildir_team import MaildirTeam

ODD = "line\u2028one \U0001F600 \"quoted\" </teammate-message> \x1b[2J"


class Team(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = MaildirTeam(self.folder)
        self.ada, self.bob = self.team.stores["ada"], self.team.stores["bob"]

    def serve(self, **options):
        return self.make_daemon(self.team.toml(**options)).start()

    def test_letters_reach_the_lead_once_and_its_answers_reach_them(self):
        first = self.ada.send("boss", "handoff", {"task": "review", "branch": "x"})
        self.serve()
        got = self.hears("review")[0]
        self.assertEqual(got["from"], "ada")
        self.assertEqual(got["text"], 'handoff, id %s: {"branch":"x","task":"review"}' % first["id"])
        self.bob.send("boss", "message", ODD)
        self.assertEqual(self.hears("quoted")[0]["text"], ODD)
        self.bob.send("boss", "ack", "fine", in_reply_to=first["id"])
        self.assertTrue(self.hears("fine")[0]["text"].startswith("ack, in reply to %s, id " % first["id"]))
        # A control message of another system is chat, and nobody is asked anything.
        self.bob.send("boss", "message", json.dumps({"type": "permission_request", "request_id": "x"}))
        self.assertTrue(self.hears("permission_request")[0]["text"].startswith("message: {"))
        wait_for("all are taken", lambda: not self.team.files("boss/new") and len(self.team.files("boss/cur")) == 4)
        self.assertEqual(self.daemon.ask("pending")["requests"], [])
        # What the peers' store sends again, under its own id, is not delivered again.
        self.ada.write(self.team.root / "boss" / "new" / "again.json", first)
        self.ada.send("boss", "message", "behind it")
        self.hears("behind it")
        self.assertEqual(len([m for m in self.heard if "review" in m["text"]]), 1)
        # The other way, to one who has a mailbox and to one who only wrote.
        self.daemon.cli("send", "ada", ODD.replace("\x1b", ""))
        answer = wait_for("ada has it", self.ada.try_recv)
        self.assertEqual((answer["from"], answer["to"], answer["type"], answer["payload"]),
                         ("boss", "ada", "message", ODD.replace("\x1b", "")))
        self.assertAlmostEqual(answer["ts"], time.time(), delta=60)
        wait_for("it is known to be read", lambda: self.daemon.log("reply.read", inbox="ada"))
        self.team.put("boss/new/msg_1.json", '{"id": "s-1", "from": "script", "to": "boss", "type": "message", "payload": "from a script"}')
        self.hears("from a script")
        self.daemon.cli("send", "script", "thanks")
        wait_for("the script's mailbox is made", lambda: self.team.files("script/new"))
        self.assertEqual([path for path in (self.team.root / "tmp").iterdir()], [])

    def test_killed_while_many_letters_leave_each_is_queued_once(self):
        count = 2500
        for n in range(count):
            self.team.put("boss/new/%020d-%032x.json" % (n, n), json.dumps(
                {"id": "%032x" % n, "from": "ada", "to": "boss", "type": "message", "payload": "letter %d" % n, "ts": n}))
        self.serve()
        wait_for("some have left", lambda: self.team.files("boss/cur"), pause=0.001)
        self.daemon.kill()
        self.assertTrue(self.team.files("boss/new"), "all had left before the kill: it proves nothing")
        self.daemon.start()
        wait_for("all have left", lambda: len(self.team.files("boss/cur")) == count)
        self.assertEqual(self.team.files("boss/new"), [])
        self.assertEqual(self.daemon.ask("status")["teams"][0]["chat"]["queued"], count)

    def test_what_is_bad_hides_nobody_and_what_cannot_be_carried_is_told(self):
        torn = self.team.put("boss/new/0-torn.json", '{"id": "1", "from": "ada", "payl')
        self.team.put("boss/new/1-nobody.json", '{"id": "2", "type": "message", "payload": "from nobody"}')
        (self.team.root / "foo.bar" / "new").mkdir(parents=True)
        self.team.put("boss/new/2.json", '{"id": "3", "from": "Zo\u00eb", "type": "message", "payload": "let me in"}')
        self.ada.send("boss", "message", "behind them")
        self.serve(more="[plans]\ndecision = \"approve\"\n")
        self.hears("behind them")
        entries = self.quarantined(3)
        self.assertEqual(len(entries), 3)
        self.assertTrue(torn.exists())
        torn.write_text('{"id": "1", "from": "ada", "type": "message", "payload": "mended"}', "utf-8")
        self.hears("mended")
        status = self.daemon.cli("status").stdout
        for name in ("foo.bar", "Zo\u00eb"):
            self.assertIn(name, status)
        for command in (("mode", "ada", "plan"), ("shutdown", "ada"), ("shutdown", "ada", "--force")):
            said = self.daemon.cli(*command, expect=None)
            self.assertNotEqual(said.returncode, 0, command)
        self.assertIn("maildir", self.daemon.cli("shutdown", "ada", expect=None).stderr)
        check = subprocess.run([self.daemon.program, "check-config", "--config", self.daemon.configs[0]], env=self.daemon.env,
                               capture_output=True, text=True)
        self.assertIn("[plans] has no effect", check.stdout + check.stderr)
        self.team.put("tasks/claimed/9.json", "{}")
        doctor = self.daemon.cli("doctor", "--config", self.daemon.configs[0], expect=None)
        for word in ("a name that is not served", "where no worker looks for tasks"):
            self.assertIn(word, doctor.stdout)

    def test_the_daemon_keeps_the_queue_in_order_and_tells_of_each_finished_task_once(self):
        told, failing = self.folder / "told", self.folder / "failing"
        program = self.folder / "merge"
        program.write_text("#!/bin/sh\ntest ! -e %s || exit 3\ncat >> %s\n" % (failing, told))
        program.chmod(0o700)
        failing.touch()
        self.serve(more='[tasks]\ndone_command = ["%s"]\n' % program)
        task = self.ada.post("work")
        name, _ = self.bob.claim(0.01)
        wait_for("the claim is given back", lambda: self.daemon.log("task.released", task_id=task["id"], state="open"))
        self.assertEqual(len(self.team.files("tasks/open")), 1)
        name, claimed = self.bob.claim(60)
        self.assertTrue(self.bob.complete(name, {"branch": "x"}))
        wait_for("the program fails", lambda: self.daemon.log("task.report_failed", task_id=task["id"]))
        failing.unlink()
        wait_for("it is told", lambda: self.daemon.log("task.reported", task_id=task["id"]))
        self.daemon.stop()
        self.daemon.start()
        second = self.ada.post("more")
        name, _ = self.bob.claim(60)
        self.bob.complete(name, "fine")
        wait_for("the next one is told", lambda: self.daemon.log("task.reported", task_id=second["id"]))
        lines = [json.loads(line) for line in told.read_text("utf-8").splitlines()]
        self.assertEqual([(line["event"], line["team"], line["task"]["id"], line["task"]["result"]) for line in lines],
                         [("done", "pair", task["id"], {"branch": "x"}), ("done", "pair", second["id"], "fine")])

    def test_an_observer_moves_nothing(self):
        self.ada.send("boss", "message", "seen")
        self.serve(team_more='role = "observer"')
        wait_for("it is seen", lambda: self.daemon.log("message.ignored", inbox="boss"))
        before = sorted(str(path) for path in self.team.root.rglob("*"))
        self.ada.send("bob", "message", "between them")
        wait_for("some polls", lambda: self.daemon.ask("status")["ok"])
        self.assertEqual(len(self.team.files("boss/new")), 1)
        self.assertEqual([p for p in before if not os.path.exists(p)], [])

    def test_an_observer_has_the_history_of_what_others_write_to_each_other(self):
        first = self.ada.send("bob", "handoff", "have a look at the parser")
        self.serve(team_more='role = "observer"')
        wait_for("what lay there is recorded", lambda: self.daemon.log("message.ignored", inbox="bob"))
        second = self.bob.send("ada", "message", "it is fine", in_reply_to=first["id"])
        self.bob.send("boss", "message", "and you know it")
        wait_for("and what came", lambda: self.daemon.log("message.ignored", inbox="ada") and self.daemon.log("message.ignored", inbox="boss"))
        told = {m["inbox"]: m for m in json.loads(self.daemon.cli("history", "--json", "--full").stdout)["messages"]}
        self.assertEqual({name: (m["sender"], m["delivery"]) for name, m in told.items()},
                         {"bob": ("ada", "none"), "ada": ("bob", "none"), "boss": ("bob", "none")})
        self.assertIn("have a look at the parser", told["bob"]["text"])
        self.assertIn(first["id"], told["ada"]["text"])
        self.assertIn("ada to bob", self.daemon.cli("history").stdout)
        self.assertIn("was written to ada; the team is only watched", self.daemon.cli("trace", told["ada"]["message_key"]).stdout)
        self.assertEqual(self.take(), [])
        # Nothing moved, and a restart records nothing again.
        self.assertEqual([len(self.team.files(name + "/new")) for name in ("ada", "bob", "boss")], [1, 1, 1])
        self.daemon.stop()
        self.daemon.start()
        self.ada.send("bob", "message", "one more")
        wait_for("what is new", lambda: len(self.daemon.log("message.ignored", inbox="bob")) == 2)
        self.assertEqual(len(json.loads(self.daemon.cli("history", "--json").stdout)["messages"]), 4)
        self.assertEqual(second["id"], self.ada.try_recv()["id"])

    def test_the_status_tells_how_the_task_queue_stands(self):
        self.serve()
        self.assertEqual(self.daemon.ask("status")["teams"][0]["tasks"], {"open": 0, "claimed": 0, "done": 0, "dead": 0})
        self.assertIn("none yet", [line for line in self.daemon.cli("status").stdout.splitlines() if "tasks" in line][0])
        for number in range(4):
            self.ada.post(number)
        self.bob.claim(60)
        name, _ = self.ada.claim(60)
        self.ada.complete(name, "fine")
        (self.team.root / "tasks/dead").mkdir()
        os.rename(self.team.files("tasks/open")[0], self.team.root / "tasks/dead/dead-1.json")
        self.assertEqual(self.daemon.ask("status")["teams"][0]["tasks"], {"open": 1, "claimed": 1, "done": 1, "dead": 1})
        self.assertIn("1 open, 1 claimed, 1 done, 1 dead", self.daemon.cli("status").stdout)

    def test_a_letter_that_nobody_reads_is_told(self):
        self.serve(team_more='unresponsive_after = "1s"\n')
        self.daemon.cli("send", "ada", "are you there?")
        wait_for("it stands in the mailbox", lambda: self.team.files("ada/new"))
        wait_for("nobody reads it", lambda: "no session reads the inbox of ada" in self.daemon.cli("status").stdout)
        self.ada.try_recv()
        wait_for("it is read", lambda: "no session reads" not in self.daemon.cli("status").stdout)

    def test_names_that_no_folder_can_have_are_told_and_the_longest_is_served(self):
        longest, longer = "x" * 64, "y" * 66
        for name in (longest, longer, "foo.bar", "Zo\u00eb"):
            (self.team.root / name / "new").mkdir(parents=True)
        self.serve()
        self.daemon.cli("send", longest, "hello")
        wait_for("the longest name is served", lambda: self.team.files(longest + "/new"))
        status = self.daemon.cli("status").stdout
        doctor = self.daemon.cli("doctor", "--config", self.daemon.configs[0], expect=None).stdout
        logged = {event["member"] for event in self.daemon.log("member.unreachable")}
        for name in (longer, "foo.bar", "Zo\u00eb"):
            self.assertIn(name, status)
            self.assertIn(name, doctor)
            self.assertIn(name, logged)
            self.assertNotEqual(self.daemon.cli("send", name, "hello", expect=None).returncode, 0)
        self.assertNotIn(longest + " is in the roster and cannot", status)

    def test_kills_of_the_daemon_lose_nothing_and_double_nothing(self):
        each, writers = 150, 4
        self.serve()

        def write(store, name):
            for number in range(each):
                store.send("boss", "message", "%s %d" % (name, number))

        stores = {"w%d" % i: Store(self.team.root, "w%d" % i) for i in range(writers)}
        threads = [threading.Thread(target=write, args=(store, name)) for name, store in stores.items()]
        for thread in threads:
            thread.start()
        for _ in range(3):
            seen = len(self.heard)
            wait_for("some more came", lambda: self.take() or len(self.heard) > seen or not any(t.is_alive() for t in threads))
            self.daemon.kill()
            self.daemon.start()
        for thread in threads:
            thread.join()
        wait_for("all came", lambda: (self.take(), len({m["text"] for m in self.heard}) == each * writers)[1])
        self.assert_heard_in_order(stores)
        wait_for("new is empty", lambda: not self.team.files("boss/new"))

