"""What a real client does to its inboxes, step by step, compared with what the simulation was made from (tests/sim, `exchanges/`).

INBOX_RECORD=1 writes the recording of this client's version anew instead of comparing it.
"""

import json
import os
import pathlib

import team as wire
from daemon import wait_for
from exchange import Recorder, plain
from flow import SECONDS, FlowTest
from model import script, tool

RECORDED = pathlib.Path(__file__).resolve().parent / "exchanges"


class Exchange(FlowTest):
    def says(self, text):
        if self.world.version < (2, 1, 139):
            return tool("SendMessage", type="message", recipient="team-lead", content=text, summary="s")
        return tool("SendMessage", to="team-lead", message=text, summary="s")

    def played(self):
        """A worker takes two messages, one after the other, and writes two; nobody else is there."""
        self.make_led_team()
        self.team.say("team-lead", "begin " + script(self.says("one"), self.says("two"), "done"), to="ada")
        recorder = Recorder(self.team.inbox("ada").parent)
        self.stops.append(recorder.stop)
        self.start_worker("ada")
        idle = lambda count: sum(part["after"].count("idle_notification") > (part["before"] or "").count("idle_notification")
                                 for part in recorder.of("team-lead")) >= count
        wait_for("its first turn is over", lambda: idle(1), SECONDS)
        first = len(recorder.of("ada"))
        self.team.say("team-lead", "a second message", to="ada")
        wait_for("it has taken the second", lambda: len(recorder.of("ada")) >= first + 2 and "a second message" not in
                 unread(recorder.of("ada")[-1]["after"]), SECONDS)
        return {"ada": [part for part in recorder.of("ada") if unread(part["after"]) != unread(part["before"]) and not unread(part["after"])],
                "team-lead": recorder.of("team-lead")[:3]}

    def test_a_client_does_to_its_inboxes_what_was_recorded(self):
        played = self.played()
        path = RECORDED / (".".join(map(str, self.world.version)) + ".json")
        if os.environ.get("INBOX_RECORD") == "1":
            path.write_text(json.dumps(played, indent=1) + "\n", "utf-8")
        if not path.exists():
            self.skipTest("%s is not recorded; INBOX_RECORD=1 records it" % path.name)
        told = lambda parts: [{**part, "before": plain(part["before"] or ""), "after": plain(part["after"])} for part in parts]
        recorded = json.loads(path.read_text("utf-8"))
        for box in recorded:
            self.assertEqual(told(played[box]), told(recorded[box]), box)


def unread(bytes_of_inbox):
    return [entry["text"] for entry in json.loads(bytes_of_inbox or "[]") if not entry.get("read")]


if __name__ == "__main__":
    import unittest
    unittest.main()
