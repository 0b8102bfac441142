"""Good messages with fields of another type: they arrive, are marked, and every other byte stays as it was written."""

import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for
from jsonl_team import JsonlTeam, append

# Each is one entry; the bytes that a program would not write twice in the same way are kept as they stand.
ENTRIES = [
    '{"from": "ada", "text": "one", "timestamp": 1771234567.5, "read": false}',
    '{"from":"ada","text":"two","timestamp":17712345671e2, "msg_id": 7,"read": null}',
    '{"from": "ada",  "text": "three", "color": 5, "summary": [], "read": 0}',
    '{"text": "four", "from": "ada", "type": true, "read" : "no", "x": 1.50}',
]


class OddFields(ProcessTest):
    def test_chat_with_fields_of_another_type_arrives_and_is_marked(self):
        team = self.make_team()
        self.start_daemon(team)
        wire.rewrite(team.lead_inbox, "[\n  " + ",\n  ".join(ENTRIES) + "\n]")
        wait_for("four messages", lambda: len(self.heard) + len(self.take()) >= 4)
        self.assertEqual([m["text"] for m in self.heard], ["one", "two", "three", "four"])
        self.assertEqual(self.daemon.ask("quarantine")["entries"], [])

        def all_marked():
            return [e.get("read") for e in wire.read_inbox(team.lead_inbox)] == [True] * 4

        wait_for("all are marked read", all_marked)
        after = team.lead_inbox.read_text("utf-8")
        for entry, flag in zip(ENTRIES, ('"read": false', '"read": null', '"read": 0', '"read" : "no"')):
            head, tail = entry.split(flag)
            self.assertIn(head, after)
            self.assertIn(tail, after)
        # The history says what was left out, and the ledger has the bytes.
        told = self.daemon.ask("trace", id=self.heard[2]["message_key"])
        self.assertIn("color: expected a string, found a number", str(told["history"]))
        self.assertIn('"color": 5', str(told["messages"]))
        self.daemon.polled()
        self.assertEqual(self.take(), [])  # marked once, and not taken again

    def test_a_request_with_an_optional_field_of_another_type_is_answered(self):
        team = self.make_team()
        self.start_daemon(team)
        request = wire.permission_request("ada", "Bash", {"command": "git status"}, description=7)
        team.say("ada", request, color=9)
        wait_for("the answer", lambda: team.replies("ada", request["request_id"]))

    def test_one_odd_member_does_not_hide_the_others(self):
        team = self.make_team()
        team.change_member("ada", color=5, isActive="yes", cwd=None, tmuxPaneId=7)
        self.start_daemon(team)
        request = wire.permission_request("ada", "Bash", {"command": "git status"})
        team.say("ada", request)
        wait_for("the answer", lambda: team.replies("ada", request["request_id"]))
        self.assertIn("members[", self.daemon.log("roster.ignored")[0]["reason"])

    def test_a_line_with_fields_of_another_type_arrives(self):
        team = JsonlTeam(self.folder / "proj")
        append(team.path("lead"), b'{"type": 5, "from": "alice", "content": "hello", "timestamp": {}, "id": 7, "color": 5}\n')
        self.make_daemon(team.toml()).start()
        self.assertEqual([m["text"] for m in wait_for("the message", self.take)], ["hello"])


if __name__ == "__main__":
    unittest.main()
