"""A real client as the worker of a team that we lead: started by a script, so no lead's key is on its command line."""

import json
import os
import pathlib
import re
import signal
import unittest

import team as wire
from alone import ClientsOwn, MinimalLead, told_apart
from daemon import wait_for
from flow import SECONDS, FlowTest, since, until
from model import script, tool


class Led(FlowTest):
    def begin(self, *steps, options=(), mode="default", toml_more=""):
        """A worker whose first message makes its model do these."""
        self.lead_team('[shutdown]\ngrace = "1s"\ntmux = ["tmux", "-S", "%s"]\n' % (self.folder / "tmux-ada") + toml_more)
        self.worker = self.start_worker("ada", *options, mode=mode)
        self.daemon.cli("send", "ada", "begin " + script(*steps))

    def requests(self, kind):
        return [a for a in self.daemon.ask("pending")["requests"] if a["kind"] == kind]

    def says(self, text):
        """A call by which its model writes to the lead."""
        if self.world.version < (2, 1, 139):
            return tool("SendMessage", type="message", recipient="team-lead", content=text, summary="s")
        return tool("SendMessage", to="team-lead", message=text, summary="s")

    def agrees(self, request):
        """A call by which its model agrees to end."""
        answer = {"type": "shutdown_response", "request_id": request, "approve": True}
        return tool("SendMessage", **(answer if self.world.version < (2, 1, 139) else {"to": "team-lead", "message": answer}))

    def test_chat_arrives_both_ways(self):
        self.begin(self.says("grüße from the worker"), "done")
        got = []
        wait_for("its message is here", lambda: got.extend(self.daemon.cli_lines("recv", "--format", "json", "--ignore-busy")) or any(
            "grüße from the worker" in m["text"] for m in got), SECONDS)
        self.daemon.cli("send", "ada", "a second message")
        self.model_sees("a second message", "ada")

    def test_rules_allow_and_deny_and_a_person_says_the_rest(self):
        self.begin(*(tool("Bash", command="mkdir " + name) for name in ("allowed", "denied", "asked", "refused")), "done")
        request = wait_for("the third is pending", lambda: self.requests("permission"), SECONDS)[0]
        self.assertTrue((self.world.project / "allowed").exists())
        self.assertFalse((self.world.project / "denied").exists())
        self.daemon.cli("approve", request["request_id"], "--input", json.dumps({"command": "mkdir changed"}))
        wait_for("the third ran as the person changed it", (self.world.project / "changed").exists, SECONDS)
        self.assertFalse((self.world.project / "asked").exists())
        request = wait_for("the fourth is pending", lambda: [a for a in self.requests("permission") if "mkdir refused" in json.dumps(a)], SECONDS)[0]
        self.daemon.cli("deny", request["request_id"], "--reason", "not before the pearl is found")
        self.model_sees("not before the pearl is found", "ada")
        self.turns(5, "ada")
        self.assertFalse((self.world.project / "refused").exists())

    REASON = "look for the pearl first"

    def write_plan(self, asked):
        """The client tells its model which file is the plan's. What stands in the conversation decides: 2.1.220 once gave its model a message twice."""
        steps = "1. look\n2. do it\n" if self.REASON in asked.text() else "1. do it\n"
        return tool("Write", file_path=re.search(r"/\S+/plans/[\w.-]+\.md", asked.text()).group(), content="# The plan\n" + steps)

    def plan_steps(self):
        """A model that has read something, and then hands in a plan, and a better one after a rejection."""
        readme = self.world.project / "README"
        readme.write_text("what there is\n")
        return [tool("Read", file_path=str(readme)), *[self.write_plan, tool("ExitPlanMode"), "I wait"] * 2]

    PLANNING = {"options": ("--plan-mode-required",), "mode": "plan", "toml_more": '[plans]\nceiling = "acceptEdits"\n'}

    def approval_was_told(self):
        """True when the model knows of the approval: it has a message that came after it. What its client makes of one differs."""
        self.model_sees("the message after it", "ada")
        return bool(self.model.ever_seen('"approved":true' if self.old else "[Plan Approved]", "ada"))

    def rests(self, turns):
        """So many turns of the worker have ended. An answer that comes before the end is what 2.1.331 often keeps from its model."""
        wait_for("%d turns are over" % turns, lambda: len(self.daemon.log("message.accepted", type="idle_notification")) >= turns, SECONDS)

    def the_client_approves_silently(self):
        """Answered at once, as its own lead answers: then it happens most."""
        lead = MinimalLead(self.make_led_team())
        self.start_worker("ada", *self.PLANNING["options"], mode=self.PLANNING["mode"])
        lead.say("ada", "begin " + script(*self.plan_steps()))
        request = lead.request("plan_approval_request")
        lead.say("ada", {"type": "plan_approval_response", "requestId": request["requestId"], "approved": True, "timestamp": wire.now_iso(),
                         "permissionMode": "acceptEdits"})
        lead.taken("ada")
        lead.say("ada", "the message after it")
        return not self.approval_was_told()

    @told_apart(the_client_approves_silently)
    def test_a_plan_is_rejected_then_approved(self):
        self.begin(*self.plan_steps(), **self.PLANNING)
        request = wait_for("the plan is pending", lambda: self.requests("plan"), SECONDS)[0]
        self.rests(1)
        self.daemon.cli("deny", request["request_id"], "--reason", self.REASON)
        self.model_sees(self.REASON, "ada")
        request = wait_for("the next plan is pending", lambda: [a for a in self.requests("plan") if "2. do it" in json.dumps(a)], SECONDS)[0]
        self.rests(2)
        self.daemon.cli("approve", request["request_id"], "--mode", "acceptEdits")
        wait_for("the approval is taken", lambda: self.daemon.log("reply.read", request_id=request["request_id"]), SECONDS)
        made = self.writes("the message after it")
        wait_for("it goes on", lambda: made.exists() or self.requests("permission"), SECONDS)
        self.assertTrue(made.exists(), "the approval was not obeyed: it asks as in plan mode")
        if not self.approval_was_told():
            raise ClientsOwn("the worker took the approval and its model was not told")

    def told_a_mode(self):
        """A worker at rest that was told acceptEdits, and has read it: 2.1.50 marks what it has not seen as read, too."""
        self.begin("ready", toml_more='[modes]\napply_timeout = "1s"\n')
        self.turns(1, "ada")
        self.daemon.cli("mode", "ada", "acceptEdits")
        sent = wait_for("it is sent", lambda: self.daemon.log("setting.sent", member="ada"), SECONDS)[0]
        wait_for("it is read", lambda: self.daemon.log("reply.read", message_key=sent["message_key"]), SECONDS)

    def writes(self, word="go on"):
        """A file that the worker makes, without a question only where edits are accepted."""
        made = self.world.project / "made"
        self.daemon.cli("send", "ada", word + " " + script(tool("Write", file_path=str(made), content="x"), "done"))
        return made

    failed_to_ask = 0

    def could_not_ask(self):
        """Newer clients sometimes read their own roster while they rewrite it, and cannot write to the lead then ("Retry the tool
        call"): the worker is told to try again."""
        failed = self.model.ever_seen("could not be delivered to the team lead", "ada")
        if failed > self.failed_to_ask:
            self.failed_to_ask = failed
            self.writes("again")

    @until((2, 1, 329), "it adopts no mode: test_a_mode_that_a_newer_worker_does_not_adopt_is_reported")
    def test_a_mode_is_adopted_and_goes_for_the_next_call(self):
        self.told_a_mode()
        shown = lambda: [m for m in self.status()["members"] if m["member"] == "ada" and m["mode"] == "acceptEdits"]
        # The worker's own write of `isActive`, of what it had read before, may take the mode out of the roster again.
        wait_for("it is adopted", lambda: shown() or self.daemon.log("setting.not_applied", member="ada"), SECONDS)
        wait_for("it wrote without a question", self.writes().exists, SECONDS)
        self.assertEqual((self.requests("permission"), self.daemon.log("request.decided")), ([], []))

    @since((2, 1, 329), "it adopts the mode: test_a_mode_is_adopted_and_goes_for_the_next_call")
    def test_a_mode_that_a_newer_worker_does_not_adopt_is_reported(self):
        self.told_a_mode()
        wait_for("it is reported", lambda: self.daemon.log("setting.not_applied", member="ada", value="acceptEdits"), SECONDS)
        self.assertEqual([n["member"] for n in self.status()["not_applied"]], ["ada"])
        made = self.writes()
        request = wait_for("it asks as before", lambda: self.requests("permission") or self.could_not_ask(), SECONDS)[0]
        self.assertFalse(made.exists())
        self.daemon.cli("approve", request["request_id"])
        wait_for("a person's yes wrote it", made.exists, SECONDS)

    def test_an_agreed_end(self):
        self.lead_team()
        worker = self.start_worker("ada")
        self.daemon.cli("send", "ada", "begin " + script("ready"))
        self.turns(1, "ada")
        asked = self.daemon.ask("shutdown", member="ada", by="test")
        self.assertTrue(asked["ok"], asked)
        request = asked["shutdowns"][0]["request_id"]
        wait_for("its model is asked to end", lambda: self.model.ever_seen(request, "ada"), SECONDS)
        self.daemon.cli("send", "ada", "agree " + script(self.agrees(request), "bye"))
        wait_for("it has gone", lambda: not worker.alive(), SECONDS)
        wait_for("cleaned", lambda: self.daemon.ask("shutdowns", id=request)["shutdowns"][0]["state"] == "cleaned", SECONDS)

    def test_a_forced_end_takes_the_running_tool_along(self):
        self.begin(tool("Bash", command="mkdir asked && tail -f /dev/null"), "done")
        request = wait_for("the tool is pending", lambda: self.requests("permission"), SECONDS)[0]
        self.daemon.cli("approve", request["request_id"])
        wait_for("the tool runs", self.tails, SECONDS)
        self.stops.append(lambda: [os.kill(int(pid), signal.SIGKILL) for pid in self.tails()])
        asked = self.daemon.ask("shutdown", member="ada", by="test", force_after_ms=500)
        self.assertTrue(asked["ok"], asked)
        request = asked["shutdowns"][0]["request_id"]
        wait_for("it has gone", lambda: not self.worker.alive(), SECONDS)
        wait_for("its tool has gone, too", lambda: not self.tails(), SECONDS)
        wait_for("cleaned", lambda: self.daemon.ask("shutdowns", id=request)["shutdowns"][0]["state"] == "cleaned", SECONDS)

    def tails(self):
        """The tool's process, of this test's client only: it was started in the test's project."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if b"tail\x00-f\x00/dev/null" in (process / "cmdline").read_bytes() and os.readlink(process / "cwd").startswith(str(self.folder)):
                    found.append(process.name)
            except OSError:
                pass  # it ended meanwhile
        return found


if __name__ == "__main__":
    unittest.main()
