"""The stand-in itself: it must be as strict as the real client, or the other tests prove nothing. One line an answer, as observed
of clients 2.1.50 and 2.1.329 (docs/reference/protocol.md, "Payloads")."""

import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for
from worker import MANNERS

WAITS = None  # the worker goes on waiting, for ever

PERMISSION = [  # payload without type and id, id key, outcome in 2.1.50, outcome in 2.1.329
    ({"subtype": "success"}, "request_id", "ran", "ran"),
    ({"subtype": "success", "response": {}}, "request_id", "ran", "ran"),
    ({"subtype": "success", "response": {"updated_input": {"command": "b"}, "permission_updates": []}}, "request_id", "ran", "ran"),
    ({"subtype": "success", "response": {}}, "requestId", WAITS, WAITS),
    ({"approved": True}, "requestId", WAITS, WAITS),
    ({"subtype": "success", "response": {"updated_input": None}}, "request_id", "ran", WAITS),
    ({"subtype": "success", "response": {"permission_updates": None}}, "request_id", "ran", WAITS),
    ({"subtype": "error", "error": "no"}, "request_id", "refused", "refused"),
    ({"subtype": "error"}, "request_id", "interrupted", WAITS),
    ({"approved": True}, "request_id", "interrupted", WAITS),
    ({"subtype": "yes"}, "request_id", "interrupted", WAITS),
]
SANDBOX = [
    ({"host": "h.test", "allow": True, "timestamp": "t"}, "requestId", "sandbox", "sandbox"),
    ({"host": "h.test", "allow": True, "timestamp": "t"}, "request_id", WAITS, WAITS),
]
PLAN = [
    ({"approved": True, "timestamp": "t"}, "requestId", "plan_approved", "plan_approved"),
    ({"approved": True, "timestamp": "t", "permissionMode": "acceptEdits"}, "requestId", "plan_approved", "plan_approved"),
    ({"approved": False, "timestamp": "t", "feedback": "f"}, "requestId", "plan_rejected", "plan_rejected"),
    ({"approved": True}, "requestId", WAITS, WAITS),
    ({"approve": True, "timestamp": "t"}, "requestId", WAITS, WAITS),
    ({"approved": True, "timestamp": "t"}, "request_id", WAITS, WAITS),
    ({"approved": True, "timestamp": "t", "extra": 1}, "requestId", WAITS, WAITS),
]


class StandIn(ProcessTest):
    def test_it_accepts_what_the_real_client_accepts_and_nothing_else(self):
        team = self.make_team(members=["w1", "w2"])
        tables = (("permission", {"tool": "Bash", "input": {"command": "a"}}, "permission_response", PERMISSION),
                  ("sandbox", {"host": "h.test"}, "sandbox_permission_response", SANDBOX),
                  ("plan", {"plan": "# P"}, "plan_approval_response", PLAN))
        for name, era, column in (("w1", wire.ERA1, 2), ("w2", wire.ERA2, 3)):
            worker = self.start_worker(team, name, era)
            for what, request, kind, table in tables:
                for row in table:
                    with self.subTest(era=era, kind=kind, payload=row[0], id_key=row[1]):
                        request_id = worker.ask(what, **request)
                        wait_for("asked", lambda: worker.find(request_id, "asked"))
                        before = len(worker.events())
                        team.say("team-lead", dict({"type": kind, row[1]: request_id}, **row[0]), to=name)
                        wait_for("the answer is taken", lambda: len(worker.events()) > before)
                        got = [e["event"] for e in worker.events()[before:] if e.get("id") == request_id]
                        self.assertEqual(got, [row[column]] if row[column] else [])

    def test_who_answers_matters_to_the_newer_client_only(self):
        team = self.make_team(members=["w1", "w2"])
        for name, era, expected in (("w1", wire.ERA1, "ran"), ("w2", wire.ERA2, "ignored")):
            worker = self.start_worker(team, name, era)
            request_id = worker.ask("permission", tool="Bash", input={})
            wait_for("asked", lambda: worker.find(request_id, "asked"))
            team.say("bob", {"type": "permission_response", "request_id": request_id, "subtype": "success"}, to=name)
            wait_for(expected, lambda: [e for e in worker.events() if e["event"] == expected])

    def test_a_held_lock_loses_the_message_of_the_older_client_only(self):
        team = self.make_team(members=["w1", "w2"])
        wire.rewrite(team.lead_inbox, "[]")
        for name, era, expected in (("w1", wire.ERA1, "lost"), ("w2", wire.ERA2, "asked")):
            worker = self.start_worker(team, name, era)
            with wire.Lock(team.lead_inbox):
                request_id = worker.ask("permission", tool="Bash", input={}, patient=False)
                wait_for("it meets the lock", lambda: worker.events("met_lock"))
                if era == wire.ERA1:
                    wait_for(expected, lambda: worker.find(request_id, expected))
            wait_for(expected, lambda: worker.find(request_id, expected))

    def test_the_older_client_keeps_what_it_read_and_the_newer_deletes_it(self):
        team = self.make_team(members=["w1", "w2"])
        for name, era in (("w1", wire.ERA1), ("w2", wire.ERA2)):
            worker = self.start_worker(team, name, era)
            team.say("team-lead", "hello", to=name)
            wait_for("taken", lambda: [e for e in worker.events() if e["event"] == "chat"])
            left = wire.read_inbox(team.inbox(name))
            self.assertEqual([e["read"] for e in left], [True] if era == wire.ERA1 else [])

    def leaves(self, worker):
        wait_for("%s leaves" % worker.name, lambda: not worker.runs())

    def kinds(self, team, sender):
        return [(wire.as_payload(e["text"]) or {"type": "chat"})["type"] for e in wire.read_inbox(team.lead_inbox) or []
                if e["from"] == sender]

    def test_a_shutdown_is_answered_as_its_model_is_made_to(self):
        team = self.make_team(members=["%s-%s" % (manner, n) for manner in MANNERS for n in "12"])
        said = {"approve": ["shutdown_approved"], "prose": ["chat"], "reminded": ["chat", "shutdown_approved"],
                "reject": ["shutdown_rejected"], "ignore": [], "die": [], "survive": ["shutdown_approved"]}
        workers = [self.start_worker(team, "%s-%s" % (manner, n), era, on_shutdown=manner, exit_after=0.1)
                   for manner in MANNERS for n, era in (("1", wire.ERA1), ("2", wire.ERA2))]
        for worker in workers:
            team.say("team-lead", wire.shutdown_request(worker.name, "shutdown-7@" + worker.name), to=worker.name)
        for worker in workers:
            manner = worker.name[:-2]
            with self.subTest(manner=manner, era=worker.era):
                wait_for("it reaches the model", lambda: worker.find("shutdown-7@" + worker.name, "shutdown"))
                if manner == "reminded":
                    wait_for("it chats", lambda: self.kinds(team, worker.name) == ["chat"])
                    team.say("team-lead", "please answer shutdown-7@%s with shutdown_response" % worker.name, to=worker.name)
                if manner in ("approve", "reminded", "die"):
                    self.leaves(worker)
                old_says_idle = ["idle_notification"] if worker.era == wire.ERA1 and manner in ("approve", "reminded") else []
                wait_for("it said its piece", lambda: self.kinds(team, worker.name) == said[manner] + old_says_idle)
                self.assertEqual(worker.runs(), manner not in ("approve", "reminded", "die"))
        approved = [wire.as_payload(e["text"]) for e in wire.read_inbox(team.lead_inbox) if e["from"] == "approve-2"]
        self.assertEqual(list(approved[0]), ["type", "requestId", "from", "timestamp", "paneId", "backendType"])

    def test_a_shutdown_in_the_wrong_spelling_is_text_or_nothing_and_a_waiting_worker_answers_later(self):
        team = self.make_team(members=["w1", "w2"])
        for name, era, expected in (("w1", wire.ERA1, "shown"), ("w2", wire.ERA2, "ignored")):
            worker = self.start_worker(team, name, era)
            request = worker.ask("permission", tool="Bash", input={})
            wait_for("asked", lambda: worker.find(request, "asked"))
            team.say("team-lead", wire.shutdown_request(name, id_key="request_id"), to=name)
            wait_for(expected, lambda: worker.events(expected))
            team.say("team-lead", wire.shutdown_request(name), to=name)
            wait_for("it is taken", lambda: worker.events("shutdown"))
            team.say("bob", "a message behind it", to=name)
            wait_for("it goes on", lambda: [e for e in worker.events("chat") if e["text"] == "a message behind it"])
            self.assertNotIn("shutdown_approved", self.kinds(team, name))
            team.say("team-lead", {"type": "permission_response", "request_id": request, "subtype": "success"}, to=name)
            wait_for("it agrees", lambda: "shutdown_approved" in self.kinds(team, name))

    def test_modes_and_rules_are_obeyed_by_the_older_client_only(self):
        team = self.make_team(members=["w1", "w2"])
        for name, era in (("w1", wire.ERA1), ("w2", wire.ERA2)):
            worker = self.start_worker(team, name, era)
            team.say("bob", wire.mode_set_request("plan", "bob"), to=name)
            team.say("team-lead", wire.mode_set_request("acceptEdits"), to=name)
            team.say("team-lead", wire.mode_set_request("delegate"), to=name)
            team.say("bob", wire.team_permission_update("Bash", "make:*"), to=name)
            wait_for("all is consumed", lambda: len(worker.events()) >= 4)
            requests = [worker.ask("permission", tool="Bash", input={"command": c}) for c in ("make x", "makefile")]
            wait_for("both are dealt with", lambda: all(worker.find(a) for a in requests))
            told = [e["event"] for e in worker.events()]
            if era == wire.ERA1:
                self.assertEqual(told, ["ignored", "mode", "shown", "rules", "allowed", "asked"])
                self.assertEqual(team.member(name)["mode"], "acceptEdits")
            else:
                self.assertEqual(told, ["no_effect"] * 4 + ["asked"] * 2)
                self.assertNotIn("mode", team.member(name))

    def test_a_rule_without_a_tool_stops_the_older_client(self):
        team = self.make_team(members=["w1"])
        worker = self.start_worker(team, "w1", wire.ERA1)
        team.say("team-lead", wire.team_permission_update("Bash", "make:*", named=False), to="w1")
        wait_for("it is taken", lambda: worker.events("rules"))
        request = worker.ask("permission", tool="Bash", input={"command": "ls"})
        wait_for("it is stuck", lambda: worker.find(request, "stuck"))

    def test_a_lead_beside_us_takes_everything_and_answers_after_a_while(self):
        for era in (wire.ERA1, wire.ERA2):
            with self.subTest(era=era):
                team = self.make_team("team%d" % (era == wire.ERA2), members=["w1"])
                lead = self.start_lead(team, era, poll=0.05, answer_after=0.2)
                before = len(lead.took())
                request = wire.permission_request("w1", "Bash", {"command": "ls"})
                team.say("w1", request)
                team.say("w1", "hello")
                wait_for("it took both", lambda: len(lead.took()) == before + 2)
                reply = wait_for("it answers", lambda: team.replies("w1", request["request_id"]))[0]
                self.assertEqual(wire.as_payload(reply["text"])["subtype"], "success")
                left = wire.read_inbox(team.lead_inbox)
                self.assertEqual([e["read"] for e in left], [True, True] if era == wire.ERA1 else [])

    def test_in_a_pane_it_leaves_a_shell_behind_or_takes_the_pane_with_it(self):
        tmux = self.start_tmux()
        team = self.make_team(members=["w1", "w2"])
        bystander = tmux.bystander()
        for name, shell in (("w1", True), ("w2", False)):
            worker = self.start_pane_worker(tmux, team, name, shell=shell, exit_after=0.1)
            self.assertEqual(team.member(name)["tmuxPaneId"], worker.pane)
            worker.do("say", text="hello")
            wait_for("it works there", lambda: worker.events("said"))
            team.say("team-lead", wire.shutdown_request(name), to=name)
            self.leaves(worker)
            wait_for("the pane is as expected", lambda: worker.in_pane() == shell)
        self.assertTrue(bystander.untouched())


if __name__ == "__main__":
    unittest.main()
