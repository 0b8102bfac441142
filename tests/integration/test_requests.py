"""Each kind of request, decided by a rule, by a person and by the deadline, as workers of both client generations take it."""

import json
import time
import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for

ERAS = (wire.ERA1, wire.ERA2)


class DecidedByRule(ProcessTest):
    def test_permission_sandbox_and_plan_are_answered_in_both_generations(self):
        team = self.make_team(members=["w1", "w2"])
        self.start_daemon(team, plans="approve")
        for name, era in zip(("w1", "w2"), ERAS):
            with self.subTest(era=era):
                worker = self.start_worker(team, name, era)
                tool_input = {"command": "git status -s", "description": "grüße 😀", "timeout": 12345678901234567890}
                event = self.answer(worker, worker.ask("permission", tool="Bash", input=tool_input))
                self.assertEqual((event["event"], event["input"]), ("ran", tool_input))
                event = self.answer(worker, worker.ask("permission", tool="Bash", input={"command": "rm -rf /"}))
                self.assertEqual(event["event"], "refused")
                self.assertTrue(event["error"])
                event = self.answer(worker, worker.ask("sandbox", host="api.example.com"))
                self.assertIs(event["allow"], True)
                event = self.answer(worker, worker.ask("sandbox", host="x.evil.test"))
                self.assertIs(event["allow"], False)
                event = self.answer(worker, worker.ask("plan", plan="# Plan\nread, then write"))
                self.assertEqual((event["event"], event["mode"]), ("plan_approved", "default"))

    def test_the_answer_to_an_input_keeps_every_byte_of_it(self):
        team = self.make_team()
        self.start_daemon(team)
        worker = self.start_worker(team, "ada")
        odd = '{"command":"git status","n":123456789012345678901234567890,"f":1e400,"s":"\\u00e9\\ud83d","a" : [ 1,2 ]}'
        text = ('{"type":"permission_request","request_id":"perm-1-bytes","agent_id":"ada","tool_name":"Bash","tool_use_id":"t",'
                '"description":"d","input":' + odd + ',"permission_suggestions":[]}')
        team.say("bob", text.replace('"ada"', '"bob"'))
        reply = wait_for("the reply", lambda: team.replies("bob", "perm-1-bytes"))[0]
        self.assertIn('"updated_input":' + odd, reply["text"])
        self.assertEqual(worker.events(), [])


class DecidedByAPerson(ProcessTest):
    def test_approve_and_deny_reach_the_worker_in_both_generations(self):
        team = self.make_team(members=["w1", "w2"])
        self.start_daemon(team)
        for name, era in zip(("w1", "w2"), ERAS):
            with self.subTest(era=era):
                worker = self.start_worker(team, name, era)
                request = worker.ask("permission", tool="Bash", input={"command": "make deploy"})
                shown = self.pending_id(request)
                self.assertEqual((shown["member"], shown["kind"]), (name, "permission"))
                self.assertIn("make deploy", shown["body"] + shown["subject"])
                self.daemon.cli("approve", request)
                self.assertEqual(self.answer(worker, request)["input"], {"command": "make deploy"})
                request = worker.ask("permission", tool="Bash", input={"command": "make deploy"})
                self.pending_id(request)
                self.daemon.cli("deny", request, "--reason", "not on a Friday")
                event = self.answer(worker, request)
                self.assertEqual(event["event"], "refused")
                self.assertIn("not on a Friday", event["error"])
                for verdict, expected in (("approve", True), ("deny", False)):
                    request = worker.ask("sandbox", host="%s-%s.test" % (verdict, name))
                    self.pending_id(request)
                    self.daemon.cli(verdict, request, *(["--reason", "no"] if verdict == "deny" else []))
                    self.assertIs(self.answer(worker, request)["allow"], expected)
                request = worker.ask("plan", plan="# Plan A")
                self.pending_id(request)
                self.daemon.cli("deny", request, "--reason", "add error handling")
                event = self.answer(worker, request)
                self.assertEqual((event["event"], event["feedback"]), ("plan_rejected", "add error handling"))
                request = worker.ask("plan", plan="# Plan B")
                self.pending_id(request)
                self.daemon.cli("approve", request)
                self.assertEqual(self.answer(worker, request)["mode"], "default")

    def test_a_person_may_change_the_input(self):
        team = self.make_team()
        self.start_daemon(team)
        worker = self.start_worker(team, "ada")
        request = worker.ask("permission", tool="Bash", input={"command": "make deploy"})
        self.pending_id(request)
        self.daemon.cli("approve", request, "--input", '{"command":"make deploy DRY_RUN=1"}')
        self.assertEqual(self.answer(worker, request)["input"], {"command": "make deploy DRY_RUN=1"})

    def test_always_adds_a_rule_for_the_session_that_outlives_a_restart(self):
        team = self.make_team()
        self.start_daemon(team)
        worker = self.start_worker(team, "ada")
        request = worker.ask("permission", tool="Bash", input={"command": "make check"},
                         suggestions=[{"type": "setMode", "mode": "bypassPermissions", "destination": "session"}])
        self.pending_id(request)
        self.daemon.cli("approve", request, "--always")
        event = self.answer(worker, request)
        self.assertNotIn("bypassPermissions", event["text"], "a worker's own suggestion must never be echoed")
        again = worker.ask("permission", tool="Bash", input={"command": "make check"})
        self.assertEqual(self.answer(worker, again)["event"], "ran")
        self.daemon.stop()
        self.daemon.start()
        again = worker.ask("permission", tool="Bash", input={"command": "make check"})
        self.assertEqual(self.answer(worker, again)["event"], "ran")
        other = worker.ask("permission", tool="Bash", input={"command": "make check && rm x"})
        self.assertEqual(self.answer(worker, other)["event"], "refused")

    def test_a_plan_is_never_approved_above_the_ceiling(self):
        team = self.make_team()
        self.start_daemon(team)
        worker = self.start_worker(team, "ada")
        request = worker.ask("plan", plan="# Plan")
        self.pending_id(request)
        done = self.daemon.cli("approve", request, "--mode", "bypassPermissions", expect=1)
        self.assertIn("ceiling", done.stdout + done.stderr)
        self.assertEqual(worker.find(request, "plan_approved"), [])
        self.daemon.cli("approve", request)
        self.assertEqual(self.answer(worker, request)["mode"], "default")

    def test_the_second_verdict_is_told_that_it_came_too_late(self):
        team = self.make_team()
        self.start_daemon(team)
        worker = self.start_worker(team, "ada")
        request = worker.ask("permission", tool="Bash", input={"command": "make deploy"})
        self.pending_id(request)
        self.daemon.cli("approve", request)
        answer = self.daemon.answer("deny", request, by="test", reason="late")
        self.assertEqual((answer["ok"], answer["code"]), (False, "request.already_decided"))
        self.daemon.cli("deny", request, "--reason", "late", expect=1)
        self.assertEqual(self.answer(worker, request)["event"], "ran")
        self.daemon.cli("approve", "perm-no-such-request", expect=4)


class DecidedByTheDeadline(ProcessTest):
    def test_every_kind_is_denied_with_a_text_in_both_generations(self):
        team = self.make_team(members=["w1", "w2"])
        self.start_daemon(team, timeout="1s")
        for name, era in zip(("w1", "w2"), ERAS):
            with self.subTest(era=era):
                worker = self.start_worker(team, name, era)
                permission = worker.ask("permission", tool="Bash", input={"command": "npm publish"})
                sandbox = worker.ask("sandbox", host="unknown.test")
                plan = worker.ask("plan", plan="# Plan")
                event = self.answer(worker, permission)
                self.assertEqual(event["event"], "refused")
                self.assertTrue(event["error"])
                self.assertIs(self.answer(worker, sandbox)["allow"], False)
                event = self.answer(worker, plan)
                self.assertEqual(event["event"], "plan_rejected")
                self.assertTrue(event["feedback"])

    def test_a_deadline_that_passed_while_nobody_was_there_is_a_denial(self):
        team = self.make_team()
        self.start_daemon(team, timeout="2s")
        worker = self.start_worker(team, "ada")
        request = worker.ask("permission", tool="Bash", input={"command": "npm publish"})
        self.pending_id(request)
        self.daemon.kill()
        time.sleep(2.2)  # clock: the deadline passes while no daemon runs; more time does no harm
        self.daemon.start()
        self.assertEqual(self.answer(worker, request)["event"], "refused")


class AskedAgain(ProcessTest):
    def test_the_same_request_gets_the_same_answer_byte_for_byte(self):
        team = self.make_team(era=wire.ERA1)
        self.start_daemon(team)
        request = wire.permission_request("ada", "Bash", {"command": "git status"})
        for count in (1, 2, 3):
            team.say("ada", request)
            replies = wait_for("reply %d" % count, lambda: (lambda r: r if len(r) >= count else None)(
                team.replies("ada", request["request_id"])) if count == 1 else self.settled(team, request["request_id"], count))
            texts = {r["text"] for r in replies}
            self.assertEqual(len(texts), 1, texts)
            if count == 2:
                self.daemon.kill()
                self.daemon.start()

    def settled(self, team, request_id, count):
        """All copies of the request are marked read and nothing is owed any more; then the replies that are there."""
        entries = wire.read_inbox(team.lead_inbox)
        if not entries or len(entries) < count or not all(e["read"] for e in entries):
            return None
        if self.daemon.ask("status")["teams"][0]["replies_owed"]:
            return None
        return team.replies("ada", request_id)

    def test_the_same_id_with_other_content_is_refused_and_shown(self):
        team = self.make_team()
        self.start_daemon(team)
        first = wire.permission_request("ada", "Bash", {"command": "git status"}, "perm-1-same")
        team.say("ada", first)
        reply = wait_for("the first reply", lambda: team.replies("ada", "perm-1-same"))
        second = wire.permission_request("ada", "Bash", {"command": "git status --porcelain"}, "perm-1-same")
        team.say("ada", second)
        self.assertEqual(self.quarantined()[0]["sender"], "ada")
        other = wire.permission_request("bob", "Bash", {"command": "git status"}, "perm-1-same")
        team.say("bob", other)
        wait_for("bob's own request is answered", lambda: team.replies("bob", "perm-1-same"))
        self.assertEqual([e["sender"] for e in self.quarantined()], ["ada"])
        answers = wait_for("ada is told", lambda: (lambda r: r if len(r) == 2 else None)(team.replies("ada", "perm-1-same")))
        self.assertEqual(answers[0], dict(reply[0], read=answers[0]["read"]))
        self.assertIn("Ask again with an id", wire.as_payload(answers[1]["text"])["error"])
        json.loads(self.daemon.cli("quarantine", "--json").stdout)


class OneIdForTwoRequests(ProcessTest):
    """Ids name one request of one kind: another worker that uses one for another kind keeps nobody from being answered."""

    def begin(self):
        self.team = self.make_team()
        self.start_daemon(self.team)
        self.ada, self.bob = self.start_worker(self.team, "ada"), self.start_worker(self.team, "bob")

    def asked(self):
        return {(a["member"], a["kind"]): a for a in self.daemon.ask("pending")["requests"]}

    def test_both_open_the_kind_or_the_key_says_which(self):
        self.begin()
        for answer in (["--kind", "permission"], None):
            with self.subTest(answer=answer):
                request = self.ada.ask("permission", tool="Bash", input={"command": "make"})
                self.pending_id(request)
                self.bob.ask("sandbox", host="x-%s.test" % request[-7:], id=request)
                wait_for("both wait", lambda: len([a for a in self.asked().values() if a["request_id"] == request]) == 2)
                said = self.daemon.cli("approve", request, expect=1).stderr
                self.assertIn("several requests have this id", said)
                key = self.asked()["ada", "permission"]["message_key"]
                for part in ("permission of ada in team demo", "sandbox of bob in team demo", key, "--kind"):
                    self.assertIn(part, said)
                self.daemon.cli("approve", *([request] + answer if answer else [key]))
                self.assertEqual(self.answer(self.ada, request)["event"], "ran")
                self.daemon.cli("deny", request, "--kind", "sandbox", "--reason", "no")
                self.assertIs(self.answer(self.bob, request)["allow"], False)
                lives = self.daemon.ask("trace", id=request)["requests"]
                self.assertEqual({r["kind"] for r in lives}, {"permission", "sandbox"})
                self.assertEqual([r["kind"] for r in self.daemon.ask("trace", id=request, kind="sandbox")["requests"]], ["sandbox"])
        self.assertEqual(self.daemon.answer("approve", request, by="test", kind="wish")["code"], "request.invalid")
        self.assertEqual(self.daemon.answer("approve", request, by="test", kind="plan")["code"], "request.unknown")

    def test_the_open_one_is_meant_unless_it_came_behind_a_decision(self):
        self.begin()
        request = self.ada.ask("permission", tool="Bash", input={"command": "make"})
        self.pending_id(request)
        self.bob.ask("sandbox", host="api.example.com", id=request)  # decided at once by a rule
        self.assertIs(self.answer(self.bob, request)["allow"], True)
        self.daemon.cli("approve", request)
        self.assertEqual(self.answer(self.ada, request)["event"], "ran")
        # Whoever still types the id of what was just decided must not approve what somebody else put behind it.
        self.bob.ask("plan", plan="everything", id=request)
        wait_for("it waits", lambda: ("bob", "plan") in self.asked())
        self.assertEqual(self.daemon.answer("approve", request, by="test")["code"], "request.ambiguous")
        self.daemon.cli("approve", request, "--kind", "plan")
        wait_for("the plan is approved", lambda: self.bob.find(request, "plan_approved"))

    def test_suggestions_that_are_null_are_none(self):
        self.begin()
        request = wire.permission_request("ada", "Bash", {"command": "git status"}, "perm-null")
        self.team.say("ada", dict(request, permission_suggestions=None))
        # ada takes the answer out of its inbox at once, so the log is asked.
        wait_for("it is answered", lambda: self.daemon.log("reply.written", request_id="perm-null"))
        self.assertTrue(self.daemon.log("request.decided", request_id="perm-null", new="approved"))


if __name__ == "__main__":
    unittest.main()
