"""A real client as the lead: what is delivered to it is seen by its model, once, and counts only then."""

import json
import os
import subprocess
import unittest

from client import patience
from daemon import wait_for
from flow import SECONDS, FlowTest, HooksFlow, since, until
from model import script, tool

WORDS = ("pearl", "quartz", "ruby", "slate")


class WithoutUs(FlowTest):
    """What a client does by itself, so that it is not taken for a fault of ours."""

    @since((2, 1, 139), "there it stands once")
    def test_the_text_of_a_stop_that_blocks_stands_twice_from_the_next_prompt_on(self):
        hook, once = self.folder / "hook", self.folder / "once"
        hook.write_text("#!/bin/sh\nmkdir '%s' && echo '%s'\nexit 0\n" % (once, json.dumps({"decision": "block", "reason": "payload pearl"})))
        hook.chmod(0o755)
        settings = self.world.project / ".claude" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": str(hook)}]}]}}))
        lead = self.screen()
        lead.say("first " + script("one", "two"))
        self.turns(2)
        lead.say("second " + script("three"))
        self.assertEqual(self.turns(3)[-1].text().count("payload pearl"), 2)


class WithHooks(HooksFlow):
    """`hook install`, then the client as it is started every day."""

    def test_p_loses_nothing_that_counts_as_delivered_and_ends(self):
        self.prepare()
        session = "11111111-2222-4333-8444-555555555555"
        self.is_lead(session)
        for word in WORDS:
            self.team.say("ada", "payload " + word)
        wait_for("all are queued", lambda: self.chat()["queued"] == len(WORDS), SECONDS)
        done = self.world.ask("go on " + script(tool("Bash", command="echo one"), "that was all"), "--session-id", session, "--permission-mode",
                              "default", "--allowedTools", "Bash(echo:*)")
        self.assertEqual(done.returncode, 0, done)
        seen = self.nothing_lost(WORDS)
        self.assertTrue(any(seen.values()), "a prompt takes the waiting messages along")

    def test_an_interactive_lead_sees_every_message_once_and_then_it_counts(self):
        self.prepare()
        session = "11111111-2222-4333-8444-666666666666"
        self.is_lead(session)
        lead = self.screen("--session-id", session)
        self.team.say("ada", "payload pearl")
        wait_for("queued or on its way", lambda: sum(self.chat()[k] for k in ("queued", "offered", "delivered")) == 1, SECONDS)
        lead.say("first " + script({"text": "slow", "hold": "turn"}, "done"))
        self.turns(1)
        self.team.say("ada", "payload quartz")
        wait_for("the second waits", lambda: sum(self.chat()[k] for k in ("queued", "offered", "delivered")) == 2, SECONDS)
        self.model.release("turn")
        self.model_sees("payload pearl")
        self.model_sees("payload quartz")
        if self.world.version < (2, 1, 329):  # its transcript is silent: it proves the last one with its next event
            lead.say("what else? " + script("nothing"))
        wait_for("both count", lambda: self.chat()["delivered"] == 2, SECONDS)
        self.assertEqual(self.nothing_lost(("pearl", "quartz")), {"pearl": 1, "quartz": 1})

    def idle_lead(self, session):
        """A lead whose first turn is over, as its Stop hook said."""
        self.prepare()
        self.is_lead(session)
        lead = self.screen("--session-id", session)
        lead.say("first " + script("done"))
        self.turns(1)
        self.lead_is("idle")
        return lead

    @since((2, 1, 139), "nothing wakes it: test_an_idle_lead_that_nothing_wakes_gets_it_with_the_next_prompt")
    def test_an_idle_lead_is_woken(self):
        self.idle_lead("11111111-2222-4333-8444-777777777777")
        self.team.say("ada", "payload pearl")
        self.model_sees("payload pearl")
        wait_for("it counts", lambda: self.chat()["delivered"] == 1, SECONDS)
        self.assertEqual(self.nothing_lost(("pearl",)), {"pearl": 1})

    @until((2, 1, 139), "it is woken: test_an_idle_lead_is_woken")
    def test_an_idle_lead_that_nothing_wakes_gets_it_with_the_next_prompt(self):
        lead = self.idle_lead("11111111-2222-4333-8444-777777777777")
        self.assertNotIn("hook wait", (self.world.project / ".claude" / "settings.json").read_text())  # it would wait for its end
        self.team.say("ada", "payload pearl")
        wait_for("it waits", lambda: self.chat()["queued"] == 1, SECONDS)
        self.polls_pass(20)
        self.assertEqual((self.chat()["queued"], self.model.ever_seen("payload pearl")), (1, 0))
        self.assertIn("2.1.50", self.status()["lead"]["not_woken"])
        self.assertIn("idle, it is not woken: client 2.1.50", self.daemon.cli("status").stdout)
        self.assertIn(self.status()["lead"]["not_woken"], self.doctor()["lead.not_woken"]["what"])
        lead.say("what else? " + script("nothing"))
        self.model_sees("payload pearl")
        lead.say("and now? " + script("nothing"))
        wait_for("it counts", lambda: self.chat()["delivered"] == 1, SECONDS)
        self.assertEqual(self.nothing_lost(("pearl",)), {"pearl": 1})

    @since((2, 1, 139), "nothing wakes it: test_an_idle_lead_that_nothing_wakes_gets_it_with_the_next_prompt")
    def test_a_report_that_its_worker_printed_and_did_not_send_wakes_an_idle_lead(self):
        self.prepare('unsent_reports = "whole"\n', patient=False)
        self.install_hooks_of_workers()
        self.be_patient(self.hooks_file)
        session = "11111111-2222-4333-8444-777777777777"
        self.is_lead(session)
        lead = self.screen("--session-id", session)
        lead.say("first " + script("done"))
        self.turns(1)
        self.lead_is("idle")
        self.start_worker("ada")
        sent = tool("SendMessage", to="team-lead", message="payload sent", summary="s")
        for word, steps in (("quartz", [sent, "payload quartz"]), ("pearl", ["payload pearl"])):
            self.daemon.cli("send", "ada", word + " " + script(*steps))
            wait_for("the turn is over", lambda w=word: [m for m in self.daemon.log("message.accepted", type="idle_notification")][
                ("quartz", "pearl").index(w):], SECONDS)
        self.model_sees("payload sent", "lead")
        self.model_sees("payload pearl", "lead")
        self.assertIn("[not sent: written by the worker at the end of its turn, in which it sent you nothing]\npayload pearl",
                      self.model.turns("lead")[-1].text())
        self.assertEqual(self.model.ever_seen("payload quartz", "lead"), 0)
        wait_for("both count", lambda: self.chat()["delivered"] == 2, SECONDS)
        self.assertEqual([m["text"] for m in self.daemon.ask("history", type="unsent_report", full=True)["messages"]], ["payload pearl"])

    def interrupted(self):
        """A lead whose first turn a person has ended by Escape at a dialog, while a message was waiting."""
        self.prepare()
        session = "11111111-2222-4333-8444-888888888888"
        self.is_lead(session)
        lead = self.screen("--session-id", session)
        lead.say("first " + script(tool("Bash", command="mkdir asked"), "done"))
        lead.shows("Do you want to proceed?", seconds=SECONDS)
        self.team.say("ada", "payload pearl")
        wait_for("it waits", lambda: self.chat()["queued"] == 1, SECONDS)
        lead.press("Escape")
        return lead

    @since((2, 1, 329), "nothing wakes it then: test_escape_ends_a_turn_and_the_mail_comes_with_the_next_prompt")
    def test_escape_ends_a_turn_without_any_event_and_the_mail_goes_on(self):
        self.interrupted()
        self.model_sees("payload pearl")
        wait_for("it counts", lambda: self.chat()["delivered"] == 1, SECONDS)
        self.assertEqual(self.nothing_lost(("pearl",)), {"pearl": 1})

    @until((2, 1, 329), "it is woken: test_escape_ends_a_turn_without_any_event_and_the_mail_goes_on")
    def test_escape_ends_a_turn_and_the_mail_comes_with_the_next_prompt(self):
        lead = self.interrupted()
        self.composer(lead)
        self.assertEqual((self.chat()["queued"], self.model.ever_seen("payload pearl")), (1, 0))
        lead.say("what else? " + script("nothing"))
        self.model_sees("payload pearl")
        lead.say("and now? " + script("nothing"))
        wait_for("it counts", lambda: self.chat()["delivered"] == 1, SECONDS)
        self.assertEqual(self.nothing_lost(("pearl",)), {"pearl": 1})

    def test_the_leads_own_requests_go_by_the_rules(self):
        self.prepare("[lead]\npermissions = true\n")
        session = "11111111-2222-4333-8444-999999999999"
        self.is_lead(session)
        lead = self.screen("--session-id", session)
        lead.say("go " + script(*(tool("Bash", command="mkdir " + name) for name in ("allowed", "denied", "asked")), "done"))
        lead.shows("Do you want to proceed?", "mkdir asked")  # what no rule decides stays the person's
        self.assertTrue((self.world.project / "allowed").exists(), "the rule's yes was not asked for")
        self.assertFalse((self.world.project / "denied").exists())
        self.assertEqual([event["action"] for event in self.daemon.log("lead.permission")][:2], ["allow", "deny"])
        self.turns(3)

    def test_the_settings_stay_valid_for_this_client(self):
        self.prepare()
        path = self.world.project / ".claude" / "settings.json"
        settings = json.loads(path.read_text())
        witness = self.folder / "witness"
        settings["hooks"].setdefault("SessionStart", []).append({"hooks": [{"type": "command", "command": "touch '%s'" % witness}]})
        path.write_text(json.dumps(settings))
        self.assertEqual(self.world.ask("hello " + script("hi")).returncode, 0)
        self.assertTrue(witness.exists(), "a settings file with our hooks in it is skipped whole")


class OverTheStream(FlowTest):
    """`lead run` in front of the client."""

    def start_run(self, *options, toml_more=""):
        self.lead_team(toml_more='[delivery]\nmethods = ["stdin"]\n' + toml_more)
        command = [self.world.program, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
                   "--replay-user-messages", "--permission-mode", "default", *options]
        run = subprocess.Popen([os.environ["INBOX_POLLER"], "lead", "run", "--socket", self.daemon.socket, "--", *command], cwd=self.world.project,
                               env=dict(self.world.env(), XDG_RUNTIME_DIR=self.daemon.env["XDG_RUNTIME_DIR"]), stdin=subprocess.PIPE,
                               stdout=open(self.folder / "run.out", "wb"), stderr=open(self.folder / "run.err", "wb"))
        self.stops.append(lambda: (run.stdin.close(), run.terminate(), run.wait(patience(60))))
        return run

    def test_each_message_is_seen_once_and_acknowledged(self):
        self.start_run()
        for word in WORDS:
            self.team.say("ada", "payload " + word)
        wait_for("delivered", lambda: self.chat()["delivered"] == len(WORDS), SECONDS)
        self.model_sees("payload " + WORDS[-1])
        self.assertEqual({word: self.model.ever_seen("payload " + word) for word in WORDS}, dict.fromkeys(WORDS, 1))
        if not self.old:  # it says what it took up; the older one repeats no line that begins with a block
            self.assertEqual(self.chat()["assumed"], 0, self.chat())

    def test_the_leads_own_requests_go_by_the_rules(self):
        run = self.start_run(toml_more="[lead]\npermissions = true\n")
        steps = script(tool("Bash", command="mkdir allowed"), tool("Bash", command="mkdir denied"), "done")
        line = {"type": "user", "message": {"role": "user", "content": "go " + steps}, "parent_tool_use_id": None}
        run.stdin.write((json.dumps(line) + "\n").encode())
        run.stdin.flush()
        self.turns(3)
        self.assertTrue((self.world.project / "allowed").exists(), "the rule's yes was not asked for")
        self.assertFalse((self.world.project / "denied").exists())
        self.assertEqual([event["action"] for event in self.daemon.log("lead.permission")], ["allow", "deny"])


class InATerminal(FlowTest):
    """The paste into a pane: nothing is ever approved by it."""

    def prepare(self, lead):
        """The daemon's tmux keeps what it is called for."""
        self.looks = self.folder / "looks"
        counting = self.folder / "tmux-that-counts"
        counting.write_text('#!/bin/sh\necho "$*" >>"%s"\nexec "$@"\n' % self.looks)
        counting.chmod(0o755)
        self.lead_team(toml_more='[delivery]\nmethods = ["tmux"]\n[delivery.tmux]\npane = "%s"\ncommand = %s\nsettle = "300ms"\n' % (
            lead.pane, json.dumps([str(counting), *lead.command])))

    def waits_while_looked_at(self, times=3):
        """The message stays although the screen was looked at again and again."""
        wait_for("it waits", lambda: self.chat()["queued"] + self.chat()["offered"] == 1, SECONDS)
        before = self.looked()
        wait_for("the screen is looked at %d times" % times, lambda: self.looked() >= before + times, SECONDS)
        self.assertEqual(self.chat()["delivered"], 0)

    def looked(self):
        return self.looks.read_text().count("capture-pane") if self.looks.exists() else 0

    def test_an_open_dialog_is_not_answered(self):
        lead = self.screen()
        lead.say("go " + script(tool("Bash", command="mkdir not-allowed"), "done"))
        lead.shows("Do you want to proceed?", seconds=SECONDS)
        self.prepare(lead)
        self.team.say("ada", "payload pearl")
        self.waits_while_looked_at()
        self.assertIn("Do you want to proceed?", lead.look())
        self.assertFalse((self.world.project / "not-allowed").exists(), "Enter approved a tool")

    def test_an_empty_composer_gets_the_pointer_and_enter(self):
        lead = self.screen()
        self.prepare(lead)
        self.team.say("ada", "payload pearl")
        self.model_sees("inbox-poller recv")
        self.assertEqual(self.model.ever_seen("inbox-poller recv"), 1)

    def test_a_running_turn_gets_nothing_until_it_ends(self):
        lead = self.screen()
        lead.say("go " + script({"text": "slow", "hold": "turn"}))
        self.turns(1)
        self.prepare(lead)
        self.team.say("ada", "payload pearl")
        self.waits_while_looked_at()
        self.assertNotIn("inbox-poller recv", lead.look())
        self.model.release("turn")
        self.model_sees("inbox-poller recv")

    def test_a_persons_draft_is_not_sent(self):
        lead = self.screen()
        lead.draft("half a sentence of a person")
        self.prepare(lead)
        self.team.say("ada", "payload pearl")
        self.waits_while_looked_at()
        self.assertEqual(self.model.ever_seen("half a sentence"), 0)
        self.assertIn("❯\xa0half a sentence of a person\n", lead.look())


if __name__ == "__main__":
    unittest.main()
