"""A real client that has our tools: actors over one folder, and the lead of a team; and what it pushes into a session."""

import json
import os
import subprocess
import unittest

import team as wire
from client import patience
from daemon import wait_for
from flow import SECONDS, FlowTest
from model import script, tool


class Tools(FlowTest):
    def install(self, *options):
        done = subprocess.run([os.environ["INBOX_POLLER"], "mcp", "install", "--scope", "local", "--yes", *options], cwd=self.world.project,
                              capture_output=True, text=True, timeout=patience(120), env=dict(self.world.env(), PATH=self.path_with_client()))
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def goes_on(self, *steps, allowed, **more):
        done = self.world.ask("go on " + script(*steps), "--permission-mode", "default", "--allowedTools", allowed, **more)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def test_two_assistants_send_receive_and_share_a_task(self):
        root = self.folder / "coordination"
        for folder in ("tmp", "alice/new", "alice/cur", "bob/new", "bob/cur", "tasks/open", "tasks/claimed", "tasks/done"):
            (root / folder).mkdir(parents=True)
        for actor in ("alice", "bob"):
            self.install("--name", "mail-" + actor, "--root", str(root), "--actor", actor)
        self.goes_on(tool("mcp__mail-alice__send", to="bob", type="note", payload={"word": "pearl"}),
                     tool("mcp__mail-alice__post", payload={"do": "quartz"}), "sent", allowed="mcp__mail-alice")
        self.assertEqual(len(list((root / "bob" / "new").iterdir())), 1)
        self.goes_on(tool("mcp__mail-bob__recv", timeout_s=20), tool("mcp__mail-bob__claim"), "read", allowed="mcp__mail-bob")
        self.model_sees("pearl")
        self.model_sees("quartz")
        self.assertEqual(len(list((root / "bob" / "cur").iterdir())), 1, "read, and the next call was made: taken")
        self.assertEqual(len(list((root / "tasks" / "claimed").iterdir())), 1)

    def test_the_lead_of_a_team_receives_once_answers_and_writes_to_a_worker(self):
        self.lead_team(toml_more='[delivery]\nmethods = ["mcp"]\n[lead]\nmcp_tools = true\n')
        self.install("--team", "demo", "--socket", str(self.daemon.socket))
        (server,) = {name for project in json.loads((self.world.home / ".claude.json").read_text())["projects"].values()
                     for name in project.get("mcpServers", {})}
        self.team.say("ada", "payload pearl")
        self.team.say("ada", wire.permission_request("ada", "Bash", {"command": "mkdir other"}, "req-1"))
        wait_for("both are there", lambda: self.chat()["queued"] == 1 and self.daemon.ask("pending")["requests"], SECONDS)
        self.goes_on(tool("mcp__%s__recv" % server, timeout_s=20), tool("mcp__%s__pending" % server),
                     tool("mcp__%s__send" % server, to="ada", type="note", payload="go on with ruby"), "done", allowed="mcp__" + server)
        self.model_sees("payload pearl")
        self.model_sees("mkdir other")
        wait_for("it counts", lambda: self.chat()["delivered"] == 1, SECONDS)
        wait_for("the worker has it", lambda: any("ruby" in m["text"] for m in json.loads(self.team.inbox("ada").read_text())), SECONDS)
        self.assertEqual(self.model.ever_seen("payload pearl"), 1)


if __name__ == "__main__":
    unittest.main()
