"""Beside a real lead: its mail is its own, its workers' asks go by our rules only where our answer counts."""

import json
import os
import signal
import time
import unittest

from daemon import wait_for
from flow import SECONDS, FlowTest
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

    def test_front_never_makes_an_ask_fail(self):
        name = self.start_lead(tool("Bash", command="echo ready"), held(tool("Bash", command="mkdir allowed"), "ask"), "done")
        self.serve(name, team_more='role = "front"')
        self.model.release("ask")
        if self.old:  # verifies nothing: the rule's yes counts
            wait_for("the rule's yes ran it", (self.world.project / "allowed").exists, SECONDS)
            return
        self.lead.shows("from the ada agent", "mkdir allowed", seconds=SECONDS)
        time.sleep(3)  # noqa: an answer of ours would have been taken by now
        self.assertEqual(self.model.ever_seen(UNVERIFIED), 0)
        self.lead_says_yes("allowed")

    def test_rules_decide_by_the_workers_own_hooks(self):
        self.only_newer("its workers take answers from us; nothing tells a hook that it runs in a worker")
        self.make_daemon()
        self.cli("hook", "--socket", self.daemon.socket, "install", "--for", "workers", "--scope", "project", "--yes")
        name = self.start_lead(held(tool("Bash", command="mkdir allowed"), "ask"), tool("Bash", command="mkdir denied"),
                               tool("Bash", command="mkdir asked"), "done")
        self.serve(name, team_more='role = "front"')
        self.model.release("ask")
        wait_for("the rule's yes ran it", (self.world.project / "allowed").exists, SECONDS)
        self.lead.shows("from the ada agent", "mkdir asked", seconds=SECONDS)  # what no rule decides goes on to the lead
        self.assertFalse((self.world.project / "denied").exists())
        self.lead_says_yes("asked")
        self.assertEqual(self.model.ever_seen(UNVERIFIED), 0)
        self.assertEqual([len(self.decisions(word)) for word in ("mkdir allowed", "mkdir denied")], [1, 1])

    def test_a_team_whose_lead_was_killed_gets_chat_and_rules(self):
        self.only_newer("its workers take every answer from us: test_workers.py")
        self.make_daemon()
        self.cli("hook", "--socket", self.daemon.socket, "install", "--for", "workers", "--scope", "project", "--yes")
        name = self.start_lead("ready")
        wait_for("the worker's turn is over", lambda: [a for a in self.model.turns() if "ada's work" in a.text() and "go " not in a.text()], SECONDS)
        os.kill(json.loads((self.team_folder / "config.json").read_text())["leadProcess"]["pid"], signal.SIGKILL)
        self.serve(name)
        self.daemon.cli("send", "ada", "go on " + script(tool("Bash", command="mkdir allowed"), tool("Bash", command="mkdir asked"), "done"))
        wait_for("the rule's yes ran it", (self.world.project / "allowed").exists, SECONDS)
        wait_for("the second is known here", lambda: [a for a in self.daemon.ask("pending")["asks"] if "mkdir asked" in json.dumps(a)], SECONDS)
        self.assertEqual(self.model.ever_seen(UNVERIFIED), 0)
        self.assertFalse((self.world.project / "asked").exists())

    def test_a_leader_beside_a_live_lead_takes_nothing(self):
        self.only_newer("it claims no process in its roster")
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
