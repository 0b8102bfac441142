"""The stand-in itself: it must be as strict as the real client, or the other tests prove nothing. One line an answer, as observed
of clients 2.1.50 and 2.1.329 (docs/protocol.md, "What a worker accepts")."""

import time
import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for

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
            for what, ask, kind, table in tables:
                for row in table:
                    with self.subTest(era=era, kind=kind, payload=row[0], id_key=row[1]):
                        request_id = worker.ask(what, patient=True, **ask)
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
            request_id = worker.ask("permission", tool="Bash", input={}, patient=True)
            wait_for("asked", lambda: worker.find(request_id, "asked"))
            team.say("bob", {"type": "permission_response", "request_id": request_id, "subtype": "success"}, to=name)
            wait_for(expected, lambda: [e for e in worker.events() if e["event"] == expected])

    def test_a_held_lock_loses_the_message_of_the_older_client_only(self):
        team = self.make_team(members=["w1", "w2"])
        wire.rewrite(team.lead_inbox, "[]")
        for name, era, expected in (("w1", wire.ERA1, "lost"), ("w2", wire.ERA2, "asked")):
            worker = self.start_worker(team, name, era)
            with wire.Lock(team.lead_inbox):
                request_id = worker.ask("permission", tool="Bash", input={})
                time.sleep(0.3)
            wait_for(expected, lambda: worker.find(request_id, expected))

    def test_the_older_client_keeps_what_it_read_and_the_newer_deletes_it(self):
        team = self.make_team(members=["w1", "w2"])
        for name, era in (("w1", wire.ERA1), ("w2", wire.ERA2)):
            worker = self.start_worker(team, name, era)
            team.say("team-lead", "hello", to=name)
            wait_for("taken", lambda: [e for e in worker.events() if e["event"] == "chat"])
            left = wire.read_inbox(team.inbox(name))
            self.assertEqual([e["read"] for e in left], [True] if era == wire.ERA1 else [])


if __name__ == "__main__":
    unittest.main()
