# clients: since 2.1.139
"""A real client keeps a file of its session while it lives: beside one that leads we take nothing, and what it does is known from there."""

import json
import os
import signal
import unittest
import uuid

import team as wire
from daemon import wait_for
from flow import SECONDS, FlowTest, since, until
from model import held, script, tool

SAID = ("pearl", "quartz", "ruby", "slate", "topaz")


class Sessions(FlowTest):
    def tell(self, word):
        return tool("SendMessage", summary="s", to="team-lead", message="payload " + word)

    def lead_saw(self, word):
        """In a conversation of the lead's, not in what its worker wrote itself."""
        return any("payload " + word in text for asked in self.model.turns() for texts in [asked.texts()]
                   if any(text.startswith("go %%") for text in texts) for text in texts)

    def lead_pid(self, lead):
        return int(lead.run("display-message", "-p", "-t", lead.pane, "#{pane_pid}"))

    def in_ours(self):
        return sum(self.status()["chat"][state] for state in ("queued", "offered", "delivered"))

    def test_a_leader_beside_a_lead_that_lives_stops_after_one_message_at_most(self):
        name = self.start_lead(held(self.tell(SAID[0]), "say"), *[self.tell(word) for word in SAID[1:]], "done")
        self.serve(name)
        self.model.release("say")
        wait_for("the lead has all but one", lambda: sum(map(self.lead_saw, SAID)) >= len(SAID) - 1, SECONDS)
        status = self.status()
        self.assertEqual(status["role"], "paused", status)
        self.assertLessEqual(self.in_ours(), 1, status["chat"])
        wait_for("the last is there as well, at the lead or with us", lambda: sum(map(self.lead_saw, SAID)) + self.in_ours() == len(SAID), SECONDS)
        pid = self.lead_pid(self.lead)
        self.assertIn("process %d" % pid, status["role_reason"])
        self.assertIn("end process %d" % pid, self.doctor()["daemon.paused"]["mend"])
        os.kill(pid, signal.SIGKILL)
        self.assertIn("has ended since", wait_for("its end is seen", lambda: self.ended(), SECONDS))
        self.daemon.cli("resume")
        wait_for("we lead", lambda: self.status()["role"] == "leader", SECONDS)

    def ended(self):
        what = self.doctor()["daemon.paused"]["what"]
        return what if "has ended since" in what else None

    def ada_rests(self):
        """Her turn is over, and the lead has read so."""
        active = {m["name"]: m.get("isActive") for m in json.loads((self.team_folder / "config.json").read_text())["members"]}
        box = self.team_folder / "inboxes" / "team-lead.json"
        entries = wire.read_inbox(box) if box.exists() else None  # a newer client takes what it has read out
        return active["ada"] is False and entries is not None and all(entry["read"] for entry in entries)

    def resume_lead(self):
        """The lead is killed when all is at rest, and its session taken up again: the new client's screen, and we serve the team."""
        name = self.start_lead("ready")
        session = json.loads((self.team_folder / "config.json").read_text())["leadSessionId"]
        wait_for("its turn is over", lambda: "the lead is done" in self.lead.look(), SECONDS)  # else there is half a turn to resume
        wait_for("ada rests", self.ada_rests, SECONDS)  # else the end of her turn puts the old roster back over the claim
        os.kill(self.lead_pid(self.lead), signal.SIGKILL)
        again = self.screen("--resume", session, who="again")
        self.serve(name)
        return again

    @until((2, 1, 329), "it makes the team anew and claims it; see the next test")
    def test_a_lead_that_is_resumed_reads_nothing_and_stops_nobody(self):
        again = self.resume_lead()
        wait_for("its file is seen", lambda: self.status()["lead"].get("session_file"), SECONDS)
        self.assertEqual(self.status()["lead"]["session_file"]["pid"], self.lead_pid(again))
        self.assertEqual(self.status()["lead"]["session_file"]["client"], ".".join(map(str, self.world.version)))
        self.assertEqual(self.status()["role"], "leader")

    @since((2, 1, 329), "it leaves the roster alone; see the test before")
    def test_a_lead_that_is_resumed_claims_its_team_and_a_person_says_who_leads(self):
        again = self.resume_lead()
        wait_for("the leader stops", lambda: self.status()["role"] == "paused", SECONDS)
        self.assertIn("process %d" % self.lead_pid(again), self.status()["role_reason"])
        self.daemon.cli("resume")
        wait_for("we lead", lambda: self.status()["role"] == "leader", SECONDS)

    def test_what_a_lead_without_hooks_does_is_known(self):
        self.lead_team()
        session = str(uuid.uuid4())
        roster = self.team.roster()
        roster["leadSessionId"] = session
        self.team.write_roster(roster)
        lead = self.screen("--session-id", session)
        lead.say("first " + script({"text": "slow", "hold": "turn"}))
        wait_for("it is busy", lambda: self.status()["lead"]["state"] == "busy", SECONDS)
        self.assertEqual(self.status()["lead"]["by"], "session_works")
        self.team.say("ada", "payload pearl")
        wait_for("it is queued", lambda: self.status()["chat"]["queued"] == 1, SECONDS)
        self.assertEqual(self.daemon.cli_lines("recv", "--format", "json"), [])
        self.model.release("turn")
        wait_for("it is idle", lambda: self.status()["lead"]["state"] == "idle", SECONDS)
        self.assertEqual(self.status()["role"], "leader")
        self.assertIn("payload pearl", [message["text"] for message in self.daemon.cli_lines("recv", "--format", "json")])


if __name__ == "__main__":
    unittest.main()
