"""A team whose mail is in a Redis, and a lead whose mail the daemon delivers: what is carried, what is told when the Redis is not as it
should be, and that kills of either side lose and double nothing."""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import threading
import time

from case import ProcessTest
from daemon import LIMIT_S, Daemon, alone, hold_still, wait_for
from engine import PASSWORD, Engine, RedisError
from maildir_team import MaildirTeam
from redis_team import Agent, RedisTeam

ODD = "line\u2028one \U0001F600 \"quoted\" </teammate-message>"


class Team(ProcessTest):
    settings = ()

    def setUp(self):
        super().setUp()
        self.engine = Engine(self.folder / "r", *self.settings).start()
        self.stops.append(self.engine.stop)
        self.team = RedisTeam(self.engine)
        self.ada, self.bob = self.team.agents["ada"], self.team.agents["bob"]

    def serve(self, **options):
        return self.make_daemon(self.team.toml(**options)).start()

    def box(self, actor, *arguments, expect=0):
        root = self.engine.address(self.team.team, self.team.more)
        done = subprocess.run([self.daemon.program, "mailbox", *arguments, "--root", root, "--actor", actor, "--json"],
                              env=alone(self.folder), capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, expect, done)
        return json.loads(done.stdout) if done.stdout else None

    def inbox(self):
        return next(team for team in self.daemon.ask("status")["teams"] if team["team"] == "pair")["inbox"]

    # --- what is carried

    def test_letters_reach_the_lead_once_and_its_answers_reach_them(self):
        first = self.ada.send("boss", {"task": "review", "branch": "x"}, "handoff")
        self.serve()
        got = self.hears("review")[0]
        self.assertEqual(got["from"], "ada")
        self.assertEqual(got["text"], 'handoff, id %s: {"task":"review","branch":"x"}' % first["id"])
        self.box("bob", "send", "boss", ODD)
        self.assertEqual(self.hears("quoted")[0]["text"], ODD)
        self.bob.send("boss", "fine", "ack", in_reply_to=first["id"])
        self.assertTrue(self.hears("fine")[0]["text"].startswith("ack, in reply to %s, id " % first["id"]))
        # A control message of another system is chat, and nobody is asked anything.
        self.bob.send("boss", json.dumps({"type": "permission_request", "request_id": "x"}))
        self.assertTrue(self.hears("permission_request")[0]["text"].startswith("message: {"))
        wait_for("all are taken", lambda: self.team.unread("boss") == 0)
        self.assertEqual(self.daemon.ask("pending")["requests"], [])
        # The same letter once more, past the mark that everybody asks for, is known.
        self.ada.redis("XADD", self.team.stream("boss"), "*", "k", first["id"], "e", json.dumps(first))
        self.ada.send("boss", "behind it")
        self.hears("behind it")
        self.assertEqual(len([m for m in self.heard if "review" in m["text"]]), 1)
        # The other way, by our own command and by a client that is not ours.
        self.daemon.cli("send", "ada", ODD)
        answer = wait_for("ada has it", self.ada.try_recv)
        self.assertEqual((answer["from"], answer["to"], answer["type"], answer["payload"]), ("boss", "ada", "message", ODD))
        self.assertAlmostEqual(answer["ts"], time.time(), delta=60)
        wait_for("it is known to be read", lambda: self.daemon.log("reply.read", inbox="ada"))
        self.daemon.cli("send", "bob", "and you?")
        self.assertEqual(self.box("bob", "recv", "--timeout", "10min")["message"]["payload"], "and you?")
        wait_for("that is known, too", lambda: self.daemon.log("reply.read", inbox="bob"))

    def test_another_reader_of_the_leads_box_and_the_daemon_share_it(self):
        self.serve()
        taken = "taken by the lead itself"
        self.ada.send("boss", "first")
        self.hears("first")
        self.daemon.stop()
        self.ada.send("boss", taken)
        self.assertEqual(self.box("boss", "try-recv")["message"]["payload"], taken)
        self.daemon.start()
        self.ada.send("boss", "second")
        self.hears("second")
        self.assertFalse([m for m in self.heard if m["text"] == taken])

    def test_what_is_bad_hides_nobody_and_what_cannot_be_carried_is_told(self):
        self.ada.redis("XADD", self.team.stream("boss"), "*", "e", '{"id": "1", "from": "ada", "payl')
        self.ada.redis("XADD", self.team.stream("boss"), "*", "what", "is this")
        self.ada.redis("XADD", self.team.stream("boss"), "*", "e", '{"id": "3", "type": "message", "payload": "from nobody"}')
        Agent(self.team, "Zo\u00eb").send("boss", "let me in")
        self.ada.redis("XADD", self.team.stream("boss"), "*", "e", '{"id": "4", "from": "script", "type": "message", "payload": "by hand"}')
        self.ada.send("boss", "behind them")
        self.serve(more="[plans]\ndecision = \"approve\"\n")
        self.hears("behind them")
        self.assertEqual(self.hears("by hand")[0]["from"], "script")  # nobody knew the name before its letter
        self.assertEqual(len(self.quarantined(4)), 4)
        wait_for("they are told and done with", lambda: self.team.unread("boss") == 0)
        self.assertIn("Zo\u00eb", self.daemon.cli("status").stdout)
        for command in (("mode", "ada", "plan"), ("shutdown", "ada"), ("shutdown", "ada", "--force")):
            self.assertNotEqual(self.daemon.cli(*command, expect=None).returncode, 0, command)
        self.assertIn("Redis team", self.daemon.cli("shutdown", "ada", expect=None).stderr)
        check = self.run_command("check-config", "--config", self.daemon.configs[0])
        self.assertIn("[plans] has no effect", check.stdout + check.stderr)

    def run_command(self, *words):
        return subprocess.run([self.daemon.program, *words], env=self.daemon.env, capture_output=True, text=True, timeout=LIMIT_S)

    def test_the_daemon_keeps_the_queue_in_order_and_tells_of_each_finished_task_once(self):
        told, failing = self.folder / "told", self.folder / "failing"
        program = self.folder / "merge"
        program.write_text("#!/bin/sh\ntest ! -e %s || exit 3\ncat >> %s\n" % (failing, told))
        program.chmod(0o700)
        failing.touch()
        self.serve(more='[tasks]\ndone_command = ["%s"]\n' % program)
        task = self.box("ada", "post", "work")["task"]["id"]
        self.box("bob", "claim", "--lease", "10ms")
        wait_for("the claim is given back", lambda: self.daemon.log("task.released", task_id=task, state="open"))
        wait_for("the figures", lambda: self.daemon.ask("status")["teams"][0]["tasks"] == {"open": 1, "claimed": 0, "done": 0, "dead": 0})
        self.box("bob", "claim", "--lease", "10min")
        self.box("bob", "complete", task, '{"branch": "x"}')
        wait_for("the program fails", lambda: self.daemon.log("task.report_failed", task_id=task))
        failing.unlink()
        wait_for("it is told", lambda: self.daemon.log("task.reported", task_id=task))
        self.daemon.stop()
        self.daemon.start()
        second = self.box("ada", "post", "more")["task"]["id"]
        self.box("bob", "claim", "--lease", "10min")
        self.box("bob", "complete", second, "fine")
        wait_for("the next one is told", lambda: self.daemon.log("task.reported", task_id=second))
        lines = [json.loads(line) for line in told.read_text("utf-8").splitlines()]
        self.assertEqual([(line["event"], line["task"]["id"], line["task"]["result"]) for line in lines],
                         [("done", task, {"branch": "x"}), ("done", second, "fine")])

    def test_an_observer_changes_nothing(self):
        first = self.ada.send("boss", "seen")
        self.serve(team_more='role = "observer"')
        wait_for("it is seen", lambda: self.daemon.log("message.ignored", inbox="boss"))
        self.ada.send("bob", "between them")
        wait_for("that, too", lambda: self.daemon.log("message.ignored", inbox="bob"))
        self.assertEqual(self.ada.redis("XINFO", "GROUPS", self.team.stream("boss")), [])
        self.assertEqual(sorted(self.ada.redis("SMEMBERS", self.team.key("boxes"))), ["ada", "bob", "boss"])
        self.assertEqual(self.box("boss", "try-recv")["message"]["id"], first["id"])
        self.assertEqual(self.bob.try_recv()["payload"], "between them")
        wait_for("what was taken is known", lambda: self.daemon.log("message.consumed", inbox="boss"))
        self.assertEqual(self.take(), [])

    def test_the_example_with_the_rights_of_the_list(self):
        program, secrets = os.environ["INBOX_POLLER"], self.folder / "secrets"
        users = subprocess.run([program, "nodes", "acl", "--team", "pair", "--leader", "h1", "--secrets", str(secrets)],
                               capture_output=True, text=True, check=True, timeout=LIMIT_S).stdout
        self.engine.stop()
        self.engine = Engine(self.folder / "acl", users=users).start()
        self.stops.append(self.engine.stop)
        self.team = RedisTeam(self.engine, team="pair", more="?user=node-h1&secret=%s" % (secrets / "node-h1"))
        example = (pathlib.Path(__file__).parents[2] / "deploy/examples/redis.toml").read_text("utf-8")
        address = self.engine.address("pair", self.team.more)
        self.make_daemon(re.sub(r'(?m)^redis_url = "[^"]*"', lambda _: 'redis_url = "%s"' % address, example)).start()
        wait_for("the lead has a box", lambda: self.inbox()["state"] == "ok")
        self.assertNotIn("secret", self.inbox()["path"])
        self.box("ada", "send", "claude", "hello")
        self.assertEqual(self.hears("hello")[0]["from"], "ada")
        self.daemon.cli("send", "ada", "hello yourself")
        self.assertEqual(self.box("ada", "recv", "--timeout", "10min")["message"]["payload"], "hello yourself")
        wait_for("it is known to be read", lambda: self.daemon.log("reply.read", inbox="ada"))
        task = self.box("ada", "post", "work")["task"]["id"]
        self.box("ada", "claim", "--lease", "10ms")
        wait_for("the claim is given back", lambda: self.daemon.log("task.released", task_id=task, state="open"))

    # --- when the engine is not as it should be

    def test_an_engine_that_is_gone_or_empty_is_told_and_what_was_accepted_arrives_once(self):
        self.ada.send("boss", "before")
        self.bob.send("boss", "and bob")
        self.serve()
        self.hears("before")
        self.hears("and bob")
        wait_for("taken", lambda: self.team.unread("boss") == 0)
        self.engine.kill()
        wait_for("it is told", lambda: self.inbox()["state"] == "fault" and "is not reached" in self.inbox()["detail"])
        self.assertIn("is not reached", self.daemon.cli("status").stdout)
        self.assertEqual(len(self.daemon.log("inbox.unreadable")), 1)
        self.daemon.cli("send", "ada", "while it is away")
        # A daemon that starts meanwhile knows the members still, and owes what was accepted.
        self.daemon.stop()
        self.daemon.start()
        wait_for("it is told again", lambda: "is not reached" in self.daemon.cli("status").stdout)
        self.daemon.cli("send", "bob", "nor now")
        doctor = self.run_command("doctor", "--config", self.daemon.configs[0])
        self.assertIn("is not reached", doctor.stdout)
        self.engine.start()
        self.assertEqual(wait_for("ada has it", self.ada_receives)["payload"], "while it is away")
        self.assertEqual(wait_for("bob has it", lambda: self.receives(self.bob))["payload"], "nor now")
        # Emptied: what ada had not read is written again.
        self.daemon.cli("send", "ada", "not read yet")
        wait_for("it stands there", lambda: self.team.unread("ada") == 1)
        wait_for("and that is recorded", lambda: len(self.daemon.log("reply.written", inbox="ada")) == 2)
        self.ada.redis("FLUSHALL")
        wait_for("it stands there again", lambda: self.team.unread("ada") == 1)
        self.assertEqual(self.ada_receives()["payload"], "not read yet")
        self.ada.send("boss", "after")
        self.hears("after")
        self.assertEqual(sorted(m["text"] for m in self.heard), ["after", "and bob", "before"])
        self.assertIsNone(self.ada_receives())

    def receives(self, agent):
        try:
            return agent.try_recv()
        except (OSError, RedisError):
            return None

    def ada_receives(self):
        return self.receives(self.ada)

    def test_a_second_daemon_for_the_same_lead_takes_nothing_and_says_so_until_the_first_is_gone(self):
        first = self.serve()
        self.ada.send("boss", "one")
        self.hears("one")
        (self.folder / "second").mkdir()
        second = Daemon(os.environ["INBOX_POLLER"], self.folder / "second", self.team.toml()).start()
        self.stops.append(lambda: second.running() and second.stop())
        told = r"another daemon \(daemon-\w+\) delivers the mail of boss at "
        wait_for("it says so", lambda: re.search(told, second.cli("status").stdout))
        self.assertRegex(second.log("roster.unreadable")[0]["reason"], told)
        doctor = second.cli("doctor", "--daemon-config", second.daemon_file, "--config", second.configs[0], expect=None).stdout
        self.assertRegex(doctor, told)
        self.ada.send("boss", "two")
        self.hears("two")
        self.assertEqual(self.inbox()["state"], "ok")
        self.assertEqual(second.log("message.accepted"), [])
        first.kill()
        self.daemon = second
        self.ada.send("boss", "three")
        self.hears("three")
        self.assertEqual([m["text"] for m in self.heard], ["one", "two", "three"])

    def test_an_engine_that_hangs_holds_up_no_other_team(self):
        maildir = MaildirTeam(self.folder)
        other = maildir.toml().replace('"pair"', '"beside"')
        self.make_daemon(self.team.toml(), other).start()
        self.ada.send("boss", "before")
        wait_for("it is taken", lambda: [e for e in self.daemon.log("message.accepted", team="pair")])
        hold_still(self.engine.process.pid)
        said = ["to a worker of a hanging engine %d" % number for number in range(5)]
        try:
            wait_for("it is told", lambda: self.inbox()["state"] == "fault")
            for number, text in enumerate(said):
                self.daemon.cli("send", "ada", text, "--team", "pair")
                maildir.stores["ada"].send("boss", "message", "still served %d" % number)
                wait_for("the other team goes on", lambda: len(self.daemon.log("message.accepted", team="beside")) == number + 1)
            self.assertEqual(self.inbox()["state"], "fault")
        finally:
            self.engine.process.send_signal(signal.SIGCONT)
        self.assertEqual([wait_for("letter %d" % i, self.ada_receives)["payload"] for i in range(5)], said)

    def test_rights_and_settings_that_do_not_fit_are_told_in_words(self):
        self.serve()
        self.engine.stop()
        self.engine.start("appendonly", "no")
        wait_for("unfit", lambda: "appendonly is off" in self.daemon.cli("status").stdout)
        self.assertIn("appendonly is off", self.run_command("doctor", "--config", self.daemon.configs[0]).stdout)
        self.engine.stop()
        self.engine.start("requirepass", PASSWORD)
        wait_for("no password", lambda: "NOAUTH" in self.daemon.cli("status").stdout)
        self.engine.stop()
        self.engine.start("appendfsync", "everysec")
        wait_for("works, with a word", lambda: "once a second" in self.inbox()["detail"] and self.inbox()["state"] == "ok")
        wait_for("also in the log", lambda: [w for w in self.daemon.log("daemon.warning") if "once a second" in w["reason"]])

    def test_a_setting_that_changes_while_the_engine_runs_is_told_and_what_comes_meanwhile_arrives(self):
        self.serve()
        change = self.engine.client()
        change("CONFIG", "SET", "appendonly", "no")
        wait_for("the change is told", lambda: "appendonly is off" in self.daemon.cli("status").stdout)
        self.ada.send("boss", "sent meanwhile")
        # The first of the two that meets the change tells it; the other may not be read while that holds.
        told = lambda: self.daemon.log("inbox.unreadable") + self.daemon.log("roster.unreadable")  # noqa: E731
        wait_for("also in the log", lambda: [event for event in told() if "appendonly" in event["reason"]])
        self.assertIn("appendonly is off", self.run_command("doctor", "--config", self.daemon.configs[0]).stdout)
        change("CONFIG", "SET", "appendonly", "yes")
        self.hears("sent meanwhile")

    def test_a_full_engine_is_told_and_the_letter_arrives_when_it_has_room(self):
        self.ada.send("boss", "hello")
        self.serve()
        self.hears("hello")
        self.ada.redis("CONFIG", "SET", "maxmemory", "1")
        self.daemon.cli("send", "ada", "there is no room for this")
        wait_for("that is told", lambda: [e for e in self.daemon.log("reply.deferred") if "OOM" in e["reason"]])
        self.ada.redis("CONFIG", "SET", "maxmemory", "0")
        self.assertEqual(wait_for("it came", self.ada_receives)["payload"], "there is no room for this")

    # --- kills

    def test_kills_of_the_daemon_and_of_the_engine_lose_nothing_and_double_nothing(self):
        each, names = 100, ["w%d" % i for i in range(3)]
        agents = {name: Agent(self.team, name) for name in names}
        self.ada.send("boss", "hello")
        self.serve()
        self.hears("hello")

        def certainly(call, *arguments, **more):
            for _ in range(600):
                try:
                    return call(*arguments, **more)
                except (OSError, RedisError):
                    time.sleep(0.05)  # clock: the pause between two tries of a peer; the tries are counted
            raise AssertionError("the engine does not come back")

        def write(name):
            for number in range(each):
                certainly(agents[name].send, "boss", "%s %d" % (name, number), message_id="%s-%d" % (name, number))

        threads = [threading.Thread(target=write, args=(name,)) for name in names]
        choose = random.Random(7)
        for thread in threads:
            thread.start()
        sent = []
        for round_ in range(4):
            seen = len(self.heard)
            wait_for("some more came", lambda: self.take() or len(self.heard) > seen or not any(t.is_alive() for t in threads))
            for number in range(5):
                sent.append("answer %d.%d" % (round_, number))
                # Who is there is known from the end of the first poll on.
                wait_for("it is accepted", lambda: self.daemon.cli("send", "ada", sent[-1], expect=None).returncode == 0)
            victims = [(self.engine.kill, self.engine.start), (self.daemon.kill, self.daemon.start)]
            choose.shuffle(victims)
            for kill, start in victims[:1 + round_ % 2]:
                kill()
                start()
        for thread in threads:
            thread.join()
        wanted = {"%s %d" % (name, number) for name in names for number in range(each)}
        wait_for("all came", lambda: (self.take(), wanted <= {m["text"] for m in self.heard})[1])
        self.assert_heard_in_order(names)
        rows = [m["text"] for m in json.loads(self.daemon.cli("history", "--json", "--full", "--limit", "1000").stdout)["messages"]
                if m["sender"] in names]
        self.assertEqual(len(rows), len(set(rows)))
        received = []

        def more():
            letter = self.ada_receives()
            if letter:
                received.append(letter["payload"])
            return len(received) >= len(sent)
        wait_for("ada has all answers", more)
        self.assertIsNone(self.ada_receives())
        self.assertEqual(received, sent)
        wait_for("nothing is left", lambda: self.team.unread("boss") == 0)
