"""Beside a real lead: its mail is its own, its workers' requests go by our rules only where our answer counts."""

import json
import os
import signal
import unittest

from daemon import wait_for
from flow import SECONDS, FlowTest, since, until
from model import held, script, tool

UNVERIFIED = "could not be verified"


class BesideALead(FlowTest):
    def lead_says_yes(self, made):
        """The person at the lead, whose yes counts. A dialog takes no key in its first moments."""
        def pressed():
            if not (self.world.project / made).exists():
                self.lead.press("Enter")
            return (self.world.project / made).exists()
        wait_for("the lead's yes made " + made, pressed, SECONDS, pause=2)

    def test_front_never_makes_a_request_fail(self):
        name = self.start_lead(tool("Bash", command="echo ready"), held(tool("Bash", command="mkdir allowed"), "request"), "done")
        self.serve(name, team_more='role = "interceptor"')
        self.model.release("request")
        if self.world.version < (2, 1, 329):  # its lead signs nothing, so its workers verify nothing: the rule's yes counts
            wait_for("the rule's yes ran it", (self.world.project / "allowed").exists, SECONDS)
            return
        self.lead.shows("from the ada agent", "mkdir allowed", seconds=SECONDS)
        self.polls_pass(5)
        answered = self.team_folder / "inboxes" / "ada.json"
        self.assertNotIn("permission_response", answered.read_text() if answered.exists() else "")
        self.lead_says_yes("allowed")
        self.assertEqual(self.model.ever_seen(UNVERIFIED), 0)

    @since((2, 1, 178), "its workers take answers from us, which test_front_never_makes_a_request_fail shows")
    def test_rules_decide_by_the_workers_own_hooks(self):
        self.make_daemon()
        self.cli("hook", "--socket", self.daemon.socket, "install", "--target", "workers", "--scope", "project", "--yes")
        self.be_patient(self.world.project / ".claude" / "settings.json")
        name = self.start_lead(held(tool("Bash", command="mkdir allowed"), "request"), tool("Bash", command="mkdir denied"),
                               tool("Bash", command="mkdir asked"), "done")
        self.serve(name, team_more='role = "interceptor"')
        self.model.release("request")
        wait_for("the rule's yes ran it", (self.world.project / "allowed").exists, SECONDS)
        self.lead.shows("from the ada agent", "mkdir asked", seconds=SECONDS)  # what no rule decides goes on to the lead
        self.assertFalse((self.world.project / "denied").exists())
        self.lead_says_yes("asked")
        self.assertEqual(self.model.ever_seen(UNVERIFIED), 0)
        self.assertEqual([len(self.decisions(word)) for word in ("mkdir allowed", "mkdir denied")], [1, 1])

    def kill_the_lead(self):
        """The worker's first turn is over, then its lead dies."""
        wait_for("the worker's turn is over", lambda: [a for a in self.model.turns() if "ada's work" in a.text() and "go " not in a.text()], SECONDS)
        processes = self.lead.run("list-panes", "-a", "-F", "#{pane_id} #{pane_pid}").split("\n")
        os.kill(int(next(line.split()[1] for line in processes if line.startswith(self.lead.pane + " "))), signal.SIGKILL)
        wait_for("its pane is closed", lambda: self.lead.pane not in self.lead.run("list-panes", "-a", "-F", "#{pane_id}").split(), SECONDS)

    def leads_what_is_left(self, name):
        """A client that still writes the roster may leave it empty for a moment."""
        self.serve(name, '[shutdown]\ngrace = "1s"\ntmux = %s\n' % json.dumps(self.lead.command))
        wait_for("the worker is known", lambda: self.daemon.log("roster.changed", member="ada"))

    def ends_by_force(self):
        """The worker's pane and its place in the roster."""
        self.daemon.cli("shutdown", "ada", "--force", "--wait")
        wait_for("no pane is left", lambda: not self.lead.alive(), SECONDS)
        self.assertNotIn("ada", [m["name"] for m in json.loads((self.team_folder / "config.json").read_text())["members"]])

    @since((2, 1, 178), "its workers take every answer from us, see test_an_old_team_whose_lead_was_killed_is_led_whole")
    def test_a_team_whose_lead_was_killed_gets_chat_and_rules(self):
        self.make_daemon()
        self.cli("hook", "--socket", self.daemon.socket, "install", "--target", "workers", "--scope", "project", "--yes")
        self.be_patient(self.world.project / ".claude" / "settings.json")
        name = self.start_lead("ready")
        self.kill_the_lead()
        self.leads_what_is_left(name)
        self.daemon.cli("send", "ada", "go on " + script(tool("Bash", command="mkdir allowed"), tool("Bash", command="mkdir asked"), "done"))
        wait_for("the rule's yes ran it", (self.world.project / "allowed").exists, SECONDS)
        wait_for("the second is known here", lambda: [a for a in self.daemon.ask("pending")["requests"] if "mkdir asked" in json.dumps(a)], SECONDS)
        self.assertEqual(self.model.ever_seen(UNVERIFIED), 0)
        self.assertFalse((self.world.project / "asked").exists())
        self.ends_by_force()

    @until((2, 1, 178), "its workers take no answer from us, see test_a_team_whose_lead_was_killed_gets_chat_and_rules")
    def test_an_old_team_whose_lead_was_killed_is_led_whole(self):
        name = self.start_lead("ready")
        self.kill_the_lead()
        self.leads_what_is_left(name)
        self.daemon.cli("send", "ada", "go on " + script(tool("Bash", command="mkdir allowed"), tool("Bash", command="mkdir asked"), "done"))
        request = wait_for("the second is pending", lambda: [a for a in self.daemon.ask("pending")["requests"] if "mkdir asked" in json.dumps(a)], SECONDS)[0]
        self.assertTrue((self.world.project / "allowed").exists())
        self.daemon.cli("approve", request["request_id"])
        wait_for("the person's yes ran it", (self.world.project / "asked").exists, SECONDS)
        self.ends_by_force()

    @since((2, 1, 329), "it claims no process in its roster; a second leader is noticed by what it consumes (tests/integration/test_observing.py)")
    def test_a_leader_beside_a_live_lead_takes_nothing(self):
        say = dict(to="team-lead", summary="s")
        name = self.start_lead(held(tool("SendMessage", **dict(say, message="payload pearl")), "say"),
                               tool("SendMessage", **dict(say, message="payload quartz")), "done")
        self.serve(name)
        self.model.release("say")
        for word in ("pearl", "quartz"):
            wait_for("the lead's model has it: " + word, lambda w=word: any(
                "payload " + w in a.text() and "ada's work" not in "".join(a.texts()[:3]) for a in self.model.turns()), SECONDS)
        status = self.status()
        self.assertEqual(status["chat"]["delivered"] + status["chat"]["queued"] + status["chat"]["offered"], 0, status["chat"])
        self.assertNotEqual(status["role"], "leader", status)


if __name__ == "__main__":
    unittest.main()
