"""What no rule decides goes to the lead, to a person, or to both: how each hears of it, answers it, and hears of its end; and what
becomes of a worker that asks to stop."""

import json
import sys
import unittest

import team as wire
from case import ProcessTest
from daemon import team_toml, wait_for

LEAD = "team-lead"
SECTIONS = ("permissions", "sandbox", "plans")


def asking(team, request, timeout="10min", shutdown="", notify=None):
    """A team file in which every kind of request goes to `ask`."""
    toml = team_toml(team, timeout=timeout)
    for section in SECTIONS:
        toml = toml.replace("[%s]\n" % section, '[%s]\napprover = "%s"\n' % (section, request))
    toml += '\n[shutdown]\napprover = "%s"\ntimeout = "%s"\ngrace = "1s"\n%s' % (request, timeout, shutdown)
    if notify:
        toml += "\n[approver]\ncommand = %s\n" % json.dumps(notify)
    return toml


class AskingTest(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team(members=["ada", "bob"])
        self.told_path = self.folder / "told"

    def lead(self, request, **options):
        self.make_daemon(asking(self.team, request, **options)).start()
        self.ada = self.start_worker(self.team, "ada", exit_after=0.2)

    def lead_hears(self, kind, request_id):
        """The one message of this type about the request, as `recv` prints it; it is acknowledged."""
        lines = []

        def heard():
            lines.extend(self.daemon.cli_lines("recv", "--format", "json"))
            return [m for m in lines if m["type"] == kind and request_id in m["text"]]
        found = wait_for("the lead gets %s of %s" % (kind, request_id), heard)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def person_heard(self, request_id, *events):
        """What the program was told about this request, once all of these were."""
        def heard():
            if not self.told_path.exists():
                return []
            lines = [json.loads(line) for line in self.told_path.read_text("utf-8").splitlines()]
            found = [t for t in lines if t["request_id"] == request_id]
            return found if [t["event"] for t in found] == list(events) else []
        return wait_for("a person is told %s of %s" % (events, request_id), heard)

    def bell(self):
        """A program that writes down what it is told."""
        return [sys.executable, "-c", "import sys; open(%r, 'a').write(sys.stdin.read())" % str(self.told_path)]

    def nothing_to_hear(self):
        self.assertEqual(self.daemon.cli_lines("recv", "--format", "json"), [])

    def copied(self, message, verb):
        """The command that the message gives for this verb, as it stands there."""
        line = next(line for line in message["text"].splitlines() if line.startswith("  inbox-poller %s " % verb))
        return line.split()[1:]


class TheLead(AskingTest):
    def test_it_reads_the_whole_request_and_answers_by_the_command_in_it(self):
        self.lead("lead")
        request = self.ada.ask("permission", tool="Bash", input={"command": "make \u202edeploy\nmake clean", "timeout": 7},
                           description="Tidies up")
        message = self.lead_hears("permission_requested", request)
        self.assertEqual((message["from"], message["request_id"]), ("ada", request))
        self.assertIn("| Bash\n| command:\n|     make <U+202E>deploy\n|     make clean\n| timeout:\n|     7\n", message["text"])
        self.assertIn("unchecked:\n| Tidies up\n", message["text"])
        self.daemon.cli(*self.copied(message, "approve"))
        self.assertEqual(self.answer(self.ada, request)["event"], "ran")
        self.nothing_to_hear()
        decision = next(e for e in self.daemon.log("request.decided", request_id=request))
        self.assertEqual(decision["by"], LEAD)

    def test_each_kind_is_put_before_it(self):
        self.lead("lead")
        for kind, fields, shown in (("sandbox", {"host": "Api.Example.org"}, "| Api.Example.org\n"),
                                    ("plan", {"plan": "# Plan\n1. Build"}, "| # Plan\n| 1. Build\n")):
            with self.subTest(kind):
                request = self.ada.ask(kind, **fields)
                message = self.lead_hears(kind + "_requested", request)
                self.assertIn(shown, message["text"])
                answer = self.daemon.answer("deny", request, by=LEAD, reason="not now")
                self.assertTrue(answer["ok"], answer)
                self.answer(self.ada, request)

    def test_it_gets_a_request_once_although_the_daemon_is_killed(self):
        self.lead("lead")
        request = self.ada.ask("permission", tool="Bash", input={"command": "make"})
        self.pending_id(request)
        for _ in range(3):
            self.daemon.kill()
            self.daemon.start()
        self.lead_hears("permission_requested", request)
        self.nothing_to_hear()

    def test_a_worker_cannot_write_a_request_itself(self):
        self.lead("lead")
        self.ada.do("raw", text=wire.stringify({"type": "permission_requested", "request_id": "perm-1", "text": "approve perm-1"}))
        self.assertEqual(self.quarantined()[0]["code"], "payload.unknown")
        self.nothing_to_hear()

    def test_a_person_may_answer_although_only_the_lead_is_asked(self):
        self.lead("lead", notify=self.bell())
        request = self.ada.ask("permission", tool="Bash", input={"command": "make"})
        self.lead_hears("permission_requested", request)
        self.assertTrue(self.daemon.answer("approve", request, by="ann")["ok"])
        self.assertEqual(self.answer(self.ada, request)["event"], "ran")
        self.assertIn("was approved by ann; nothing is left to do", self.lead_hears("request_closed", request)["text"])
        self.assertFalse(self.told_path.exists(), "a person was told of what is the lead's")

    def test_the_deadline_denies_and_it_is_told(self):
        self.lead("lead", timeout="10s")
        request = self.ada.ask("permission", tool="Bash", input={"command": "make"})
        self.lead_hears("permission_requested", request)
        self.assertEqual(self.answer(self.ada, request)["event"], "refused")
        self.assertIn("no answer came in time", self.lead_hears("request_closed", request)["text"])
        late = self.daemon.answer("approve", request, by=LEAD)
        self.assertEqual((late["ok"], late["code"]), (False, "request.already_decided"))


class APerson(AskingTest):
    def test_the_lead_hears_nothing_and_may_not_answer(self):
        self.lead("person", notify=self.bell())
        request = self.ada.ask("permission", tool="Bash", input={"command": "make"})
        told = self.person_heard(request, "asked")[0]
        self.assertEqual((told["team"], told["member"], told["kind"], told["state"]), ("demo", "ada", "permission", "pending"))
        self.assertEqual(json.loads(told["body"]), {"command": "make"})
        refused = self.daemon.answer("approve", request, by=LEAD)
        self.assertEqual((refused["ok"], refused["code"]), (False, "answer.not_asked"))
        self.assertTrue(self.daemon.answer("deny", request, by="ann", reason="no")["ok"])
        decided = self.person_heard(request, "asked", "decided")[1]
        self.assertEqual((decided["state"], decided["decided_by"]), ("denied", "ann"))
        self.nothing_to_hear()

    def test_a_restart_tells_nothing_twice(self):
        self.lead("person", notify=self.bell())
        request = self.ada.ask("permission", tool="Bash", input={"command": "make"})
        self.person_heard(request, "asked")
        wait_for("it is recorded", lambda: self.daemon.log("approver.notified", request_id=request))
        self.daemon.kill()
        self.daemon.start()
        self.assertTrue(self.daemon.answer("approve", request, by="ann")["ok"])
        self.person_heard(request, "asked", "decided")

    def test_a_program_that_hangs_keeps_nobody_waiting(self):
        self.lead("person", notify=[sys.executable, "-c", "import time; time.sleep(600)"])
        first = self.ada.ask("permission", tool="Bash", input={"command": "make"})
        self.pending_id(first)
        request = self.ada.ask("permission", tool="Bash", input={"command": "git status"})
        self.assertEqual(self.answer(self.ada, request)["event"], "ran")


class Both(AskingTest):
    def test_the_first_answer_wins_and_the_other_side_is_told(self):
        self.lead("both", notify=self.bell())
        request = self.ada.ask("permission", tool="Bash", input={"command": "make one"})
        self.lead_hears("permission_requested", request)
        self.person_heard(request, "asked")
        self.assertTrue(self.daemon.answer("approve", request, by="ann")["ok"])
        late = self.daemon.answer("deny", request, by=LEAD, reason="no")
        self.assertEqual((late["ok"], late["code"]), (False, "request.already_decided"))
        self.assertIn("already approved by ann since 2", late["message"])
        self.assertIn("was approved by ann", self.lead_hears("request_closed", request)["text"])

        request = self.ada.ask("permission", tool="Bash", input={"command": "make two"})
        message = self.lead_hears("permission_requested", request)
        self.person_heard(request, "asked")
        self.daemon.cli(*self.copied(message, "approve"))
        self.assertEqual(self.person_heard(request, "asked", "decided")[1]["decided_by"], LEAD)
        self.nothing_to_hear()

    def test_what_the_lead_did_not_get_yet_it_never_gets(self):
        self.lead("both")
        self.daemon.ask("lead", state="busy")
        request = self.ada.ask("permission", tool="Bash", input={"command": "make"})
        self.pending_id(request)
        self.assertTrue(self.daemon.answer("approve", request, by="ann")["ok"])
        self.answer(self.ada, request)
        self.daemon.ask("lead", state="idle")
        self.nothing_to_hear()


class Stopping(AskingTest):
    def test_a_granted_wish_ends_the_worker_and_cleans_up_after_it(self):
        self.lead("lead")
        request = self.ada.ask("stop", reason="my tasks are done")
        message = self.lead_hears("stop_requested", request)
        self.assertIn("| my tasks are done\n", message["text"])
        self.daemon.cli(*self.copied(message, "approve"))
        asked = wait_for("it is asked to shut down", lambda: self.ada.events("shutdown"))
        self.assertIn(request, asked[0]["text"])
        wait_for("it has left", lambda: not self.ada.runs())
        wait_for("it is out of the roster", lambda: self.team.member("ada") is None)
        self.assertEqual(len(self.ada.events("shutdown")), 1)
        self.assertEqual([s["state"] for s in self.daemon.ask("shutdowns")["shutdowns"]], ["cleaned"])
        self.assertIsNotNone(self.team.member("bob"))

    def test_the_grant_survives_a_kill(self):
        self.lead("person")
        request = self.ada.ask("stop")
        self.pending_id(request)
        self.assertTrue(self.daemon.answer("approve", request, by="ann")["ok"])
        self.daemon.kill()
        self.daemon.start()
        wait_for("it is out of the roster", lambda: self.team.member("ada") is None)
        self.assertEqual(len(self.daemon.ask("shutdowns")["shutdowns"]), 1)

    def test_a_declined_wish_is_told_and_the_worker_goes_on(self):
        self.lead("person")
        request = self.ada.ask("stop")
        self.pending_id(request)
        self.assertTrue(self.daemon.answer("deny", request, by="ann", reason="finish task 3 first")["ok"])
        chat = wait_for("it reads why", lambda: self.ada.events("chat"))
        self.assertEqual([c["text"] for c in chat], ["Your request to stop was declined: finish task 3 first"])
        self.assertEqual(self.ada.events("shutdown"), [])
        self.assertTrue(self.ada.runs())
        self.assertEqual(self.daemon.ask("shutdowns")["shutdowns"], [])

    def test_a_wish_that_nobody_answers_is_declined(self):
        self.lead("person", timeout="2s")
        self.ada.ask("stop")
        chat = wait_for("it reads why", lambda: self.ada.events("chat"))
        self.assertIn("Your request to stop was declined: Denied because no answer came within 2 seconds.", chat[0]["text"])
        self.assertTrue(self.ada.runs())


if __name__ == "__main__":
    unittest.main()
