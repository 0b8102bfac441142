"""Workers that take answers from their own lead only, and a lead that lives: what counts is answered, what would fail is not written."""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for
from lead import claim_of

DEAD = 0x7ffffff0  # beyond any pid


def claims(team, **process):
    wire.edit_roster(team.config, lambda roster: roster.update(leadProcess=process))


class Signed(ProcessTest):
    """A team whose lead has died, one signed worker and one that takes anybody's answers."""

    def setUp(self):
        super().setUp()
        # A name of its own: processes are looked for on the whole machine, where other tests have workers too.
        self.team = self.make_team("verified-%d" % os.getpid())
        claims(self.team, pid=DEAD, pidSpace="", claimedAt=wire.now_ms(), procStart="1")

    def start(self, **options):
        self.start_daemon(self.team, **options)
        self.ada = self.start_worker(self.team, "ada", signed=True)
        self.bob = self.start_worker(self.team, "bob")
        wait_for("the worker's key is seen", lambda: self.member("ada")["answers"] == "verified")

    def member(self, name):
        return next(m for m in self.status()["members"] if m["member"] == name)

    def requests(self):
        return {request["request_id"]: request for request in self.daemon.ask("pending")["requests"]}

    def nothing_failed(self):
        self.assertEqual(self.ada.events("failed", "not_obeyed"), [])
        self.assertEqual(self.team.replies("ada"), [])


class Workers(Signed):
    def test_an_answer_that_would_make_the_request_fail_is_never_written(self):
        self.start(timeout="1s", plans="approve")
        ids = {"allowed": self.ada.ask("permission", tool="Bash", input={"command": "git status"}),
               "denied": self.ada.ask("permission", tool="Bash", input={"command": "rm x"}),
               "open": self.ada.ask("permission", tool="Bash", input={"command": "make"}),
               "host": self.ada.ask("sandbox", host="a.example.com"), "plan": self.ada.ask("plan", plan="# Plan")}
        self.assertEqual(self.answer(self.bob, self.bob.ask("permission", tool="Bash", input={"command": "git status"}))["event"], "ran")
        wait_for("all five are shown", lambda: set(ids.values()) <= set(self.requests()))
        wait_for("it is told once that nobody answers", lambda: len(self.daemon.log("request.unanswered")) == 5)
        for what, request_id in ids.items():
            with self.subTest(what):
                request = self.requests()[request_id]
                self.assertEqual((request["answers"], request["deadline_ms"], request["decided_by"]), ("verified", 0, ""))
                self.assertIn("--lead-verify-key", request["answers_reason"])
                for verb, words in (("approve", {}), ("deny", {"reason": "no"})):
                    said = self.daemon.answer(verb, request_id, by="ann", **words)
                    self.assertEqual(said["code"], "worker.verifies_lead", said)
                    for word in ("the lead's own session", "hook install --target workers", "shutdown ada --force"):
                        self.assertIn(word, said["message"])
        self.daemon.polled(20)
        self.assertEqual(len(self.daemon.log("request.unanswered")), 5)
        self.assertEqual(len(self.daemon.log("worker.verifies_lead", member="ada")), 1)
        self.assertEqual(self.daemon.log("worker.verifies_lead", member="bob"), [])
        self.nothing_failed()
        self.assertEqual([d for d in self.daemon.ask("decisions")["decisions"] if d["member"] == "ada"], [])
        self.assertEqual({n: self.member(n)["answers"] for n in ("ada", "bob")}, {"ada": "verified", "bob": "count"})
        self.assertIn("cannot be answered", self.daemon.cli("pending").stdout)
        self.assertIn("ada takes answers from its own lead only", self.daemon.cli("status").stdout)
        self.ada.do("idle")  # its turn has ended, whoever answered
        wait_for("no tool call waits any more", lambda: list(self.requests()) == [ids["plan"]])
        self.nothing_failed()

    def test_chat_goes_on_as_ever(self):
        self.start()
        self.ada.do("say", text="hello")
        with self.daemon.connect() as control:
            heard = wait_for("the lead hears it", lambda: control.ask("recv")["messages"])
        self.assertEqual([m["text"] for m in heard], ["hello"])
        self.daemon.cli("send", "ada", "good morning")
        wait_for("and it the lead", lambda: [e for e in self.ada.events("chat") if e["text"] == "good morning"])

    def test_what_cannot_be_told_counts_as_verified_where_the_lead_signs_and_nowhere_else(self):
        self.start_daemon(self.team)
        request = wire.permission_request("ada", "Bash", {"command": "git status"})
        self.team.say("ada", request)
        seen = wait_for("it is shown", lambda: self.requests().get(request["request_id"]))
        self.assertEqual(seen["answers"], "presumed verified")
        self.assertEqual(self.team.replies("ada"), [])
        wire.edit_roster(self.team.config, lambda roster: roster.pop("leadProcess"))
        wait_for("that is known", lambda: self.member("bob")["answers"] == "count")
        request = wire.permission_request("bob", "Bash", {"command": "git status"})
        self.team.say("bob", request)
        wait_for("it is answered", lambda: self.team.replies("bob", request["request_id"]))

    def test_a_signed_worker_is_known_by_its_process_whatever_the_roster_and_its_namesakes_say(self):
        wire.edit_roster(self.team.config, lambda roster: roster.pop("leadProcess"))
        namesake = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", "--agent-id",
                                     "ada@" + self.team.name])
        self.stops.append(lambda: (namesake.kill(), namesake.wait()))
        self.start_daemon(self.team)
        self.assertEqual(self.member("ada")["answers"], "count")
        ada = self.start_worker(self.team, "ada", signed=True)
        request_id = ada.ask("permission", tool="Bash", input={"command": "git status"})
        wait_for("it is shown", lambda: request_id in self.requests())
        ada.stop()  # and another one in its place
        wait_for("the next one is known", lambda: self.member("ada")["answers"] == "count")
        again = self.start_worker(self.team, "ada", log=str(self.folder / "again.log"))
        self.assertEqual(self.answer(again, again.ask("permission", tool="Bash", input={"command": "git status"}))["event"], "ran")
        self.assertEqual(ada.events("failed"), [])

    def test_a_front_leaves_such_a_request_to_its_lead_and_answers_the_others(self):
        self.start(team_more='role = "interceptor"\n')
        asked = [(worker, worker.ask("permission", tool="Bash", input={"command": "git status %d" % number}))
                 for number in range(5) for worker in (self.ada, self.bob)]
        for worker, request_id in asked:
            if worker is self.bob:
                self.assertEqual(self.answer(worker, request_id)["event"], "ran")
        wait_for("all that is answered is marked", lambda: [
            json.loads(e["text"])["agent_id"] for e in wire.read_inbox(self.team.lead_inbox) if not e["read"]] == ["ada"] * 5)
        lead = self.start_lead(self.team, poll=0.3, answer_after=0.1, claim=True, sign=True)
        for worker, request_id in asked:
            self.assertEqual(self.answer(worker, request_id)["event"], "ran")
        self.assertEqual(self.ada.events("failed"), [])
        self.assertEqual([json.loads(e["text"])["agent_id"] for e in lead.took()], ["ada"] * 5)
        self.assertEqual(len(self.daemon.log("request.decided", by="rule")), 5)

    def test_check_config_and_doctor_say_whose_answers_count_without_a_daemon(self):
        self.start()
        self.daemon.stop()
        report = json.loads(self.daemon.cli("check-config", "--config", self.daemon.configs[0], "--json").stdout)
        self.assertEqual({w["member"]: w["answers"] for w in report["teams"][0]["members"]}, {"ada": "verified", "bob": "count"})
        self.assertIn("--lead-verify-key", next(w for w in report["teams"][0]["members"] if w["member"] == "ada")["reason"])
        text = self.daemon.cli("check-config", "--config", self.daemon.configs[0]).stdout
        self.assertIn("ada takes answers from its own lead only", text)
        found = json.loads(self.daemon.cli("doctor", "--config", self.daemon.configs[0], "--json", expect=None).stdout)
        checks = [f for section in found["sections"] for f in section["findings"] if f["check"].startswith("answers.")]
        self.assertEqual([(f["severity"], f["check"]) for f in checks], [("warning", "answers.verified"), ("ok", "answers.count")])
        self.assertIn("ada", checks[0]["what"])


class Endings(Signed):
    """Such a worker is ended without being asked, by what is on record, when a person says --force."""

    def begin(self, **options):
        self.tmux = self.start_tmux()
        self.bystander = self.tmux.bystander()
        self.team.change_member("bob", tmuxPaneId="in-process", backendType="in-process")  # what it has is no pane of this server
        settings = '[shutdown]\ngrace = "1s"\nremind_after = "500ms"\nforce_after = "1s"\ntmux = ["%s"]\n' % '", "'.join(self.tmux.command)
        self.start_daemon(self.team, toml_more=settings, **options)
        self.ada = self.start_pane_worker(self.tmux, self.team, "ada", signed=True)
        wait_for("the pane is known", lambda: self.ada.pane in self.daemon.ask("shutdown", member="ada", by="test")["message"])

    def test_it_is_said_before_and_ends_pane_and_process_and_nothing_else(self):
        self.begin()
        request_id = self.ada.ask("permission", tool="Bash", input={"command": "make"})
        wait_for("it waits", lambda: request_id in self.requests())
        said = self.daemon.cli("shutdown", "ada", expect=1).stderr
        for word in ("verif", "shutdown ada --force", self.ada.pane, str(self.ada.pid)):
            self.assertIn(word, said)
        refused = self.daemon.ask("shutdown", all=True, by="test")["refused"]
        self.assertIn(("ada", "worker.verifies_lead"), [(r["member"], r["code"]) for r in refused])
        self.daemon.polled(30)
        self.assertTrue(self.ada.runs())
        said = self.daemon.cli("shutdown", "ada", "--force", "--wait=10min").stdout
        self.assertIn(self.ada.pane, said)
        self.assertIsNone(self.team.member("ada"))
        self.assertFalse(self.ada.runs())
        self.assertFalse(self.ada.in_pane())
        self.assertTrue(self.bystander.untouched())
        self.assertEqual(self.ada.events("not_obeyed", "failed"), [])
        self.assertEqual([e for e in wire.read_inbox(self.team.inbox("ada")) or [] if "shutdown_request" in e["text"]], [])
        wait_for("its request is closed with it", lambda: not self.requests())
        self.assertEqual([d["state"] for d in self.daemon.ask("decisions")["decisions"]], ["withdrawn"])

    def test_a_process_that_nobody_recorded_is_not_touched(self):
        self.start()
        said = self.daemon.ask("shutdown", member="ada", force=True, by="test")
        self.assertEqual(said["code"], "shutdown.nothing_recorded", said)
        self.assertIn(str(self.ada.pid), said["message"])
        self.assertTrue(self.ada.runs())
        self.assertIsNotNone(self.team.member("ada"))

    def test_one_that_has_gone_is_taken_out_of_the_team(self):
        self.start_daemon(self.team)
        self.assertEqual(self.daemon.ask("shutdown", member="ada", by="test")["code"], "worker.verifies_lead")
        self.assertTrue(self.daemon.ask("shutdown", member="ada", force=True, by="test")["ok"])
        wait_for("it is no member any more", lambda: self.team.member("ada") is None)
        self.assertFalse(self.team.inbox("ada").exists())


class LiveLead(ProcessTest):
    """A leader that is started beside a lead which lives, or which comes to live."""

    def begin(self, more="", **options):
        self.team = self.make_team()
        self.start_daemon(self.team, team_more=more, **options)

    def chatter(self, lead, count=20):
        said = ["message %d" % number for number in range(count)]
        for text in said:
            self.team.say("bob", text)
            time.sleep(0.03)  # clock: the pace of a worker; nothing is judged by it
        wait_for("the lead has them all", lambda: [e["text"] for e in lead.took() if e["text"] in said] == said)

    def role(self, role):
        wait_for("the role is " + role, lambda: self.status()["role"] == role)

    def test_from_the_first_poll_on_it_takes_nothing_until_a_person_says_so(self):
        self.team = self.make_team()
        lead = self.start_lead(self.team, claim=True, poll=0.2)
        self.team.say("bob", "before")
        self.start_daemon(self.team)
        self.assertEqual(self.status()["role"], "paused")
        for word in (str(lead.process.pid), "leadProcess", "inbox-poller resume"):
            self.assertIn(word, self.status()["role_reason"])
        self.chatter(lead)
        self.assertEqual(self.status()["chat"]["queued"], 0)
        self.assertEqual([e["new"] for e in self.daemon.log("inbox.role")], ["paused"])
        self.daemon.stop()
        self.daemon.start()
        self.assertEqual(self.status()["role"], "paused")
        self.daemon.cli("resume")
        self.role("leader")
        self.daemon.kill()
        self.daemon.start()  # the person's word holds for that process
        self.assertEqual(self.status()["role"], "leader")
        lead.stop()
        self.start_lead(self.team, claim=True)  # and for no other
        self.role("paused")

    def test_it_stops_when_one_appears_later_and_does_not_go_on_by_itself_when_that_one_ends(self):
        self.begin()
        self.assertEqual(self.status()["role"], "leader")
        lead = self.start_lead(self.team, claim=True, poll=0.2)
        self.role("paused")
        self.chatter(lead)
        lead.stop()
        self.daemon.polled()
        self.assertEqual(self.status()["role"], "paused")
        self.daemon.cli("resume")
        self.team.say("bob", "to us")
        with self.daemon.connect() as control:
            self.assertEqual([m["text"] for m in wait_for("it comes", lambda: control.ask("recv")["messages"])], ["to us"])

    def test_observe_and_ignore(self):
        self.begin('on_competing_consumer = "observe"\n')
        lead = self.start_lead(self.team, claim=True, poll=0.2)
        self.role("observer")
        self.chatter(lead)
        self.daemon.stop()
        path = pathlib.Path(self.daemon.configs[0])
        path.write_text(path.read_text("utf-8").replace('"observe"', '"ignore"'), "utf-8")
        self.daemon.start()
        self.assertEqual(self.status()["role"], "leader")
        self.assertEqual([e["code"] for e in self.daemon.log("inbox.competing_consumer")][-1], "lead_process")

    def test_a_claim_of_a_process_that_is_gone_or_of_another_one_of_its_number_stops_nobody(self):
        own = claim_of(os.getpid())
        for claim in (dict(own, pid=DEAD), dict(own, procStart="7"), dict(own, claimedAt=7, procStart="", pidSpace="")):
            with self.subTest(claim=claim):
                self.team = self.make_team()
                claims(self.team, **claim)
                self.start_daemon(self.team)
                self.assertEqual(self.status()["role"], "leader")
                self.assertEqual(self.daemon.log("inbox.competing_consumer"), [])
                self.daemon.stop()

    def test_a_process_that_is_not_to_be_seen_from_here_is_warned_of(self):
        self.team = self.make_team()
        claims(self.team, **dict(claim_of(os.getpid()), pid=DEAD, pidSpace="elsewhere#pid:[1]"))
        self.start_daemon(self.team)
        self.assertEqual(self.status()["role"], "leader")
        told = wait_for("it is told", lambda: self.daemon.log("daemon.warning"))
        self.assertIn("elsewhere", told[0]["reason"])


if __name__ == "__main__":
    unittest.main()
