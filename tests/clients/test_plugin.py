# clients: since 2.1.139
"""A real client with deploy/claude-code/plugin instead of hooks in its settings: the same flows, and the plugin's commands."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest
import uuid

import team as wire
import test_leads
from client import patience
from daemon import wait_for
from flow import SECONDS, FlowTest, HooksFlow
from model import script

PLUGIN = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "claude-code" / "plugin"


class PluginFlow(HooksFlow):
    """The client is started with the plugin's folder, the program stands in PATH, and the settings name no hook."""

    def install_hooks(self):
        plugin = self.folder / "plugin"
        shutil.copytree(PLUGIN, plugin)
        self.hooks_file = plugin / "hooks" / "hooks.json"
        self.path_with_client()
        program = self.folder / "bin" / "inbox-poller"
        program.write_text('#!/bin/sh\nexec "%s" --socket "%s" "$@"\n' % (os.environ["INBOX_POLLER"], self.daemon.socket))
        program.chmod(0o755)
        client = self.folder / "client"
        client.write_text('#!/bin/sh\nPATH="%s:$PATH" exec "%s" --plugin-dir "%s" "$@"\n' % (
            self.folder / "bin", self.world.program, plugin))
        client.chmod(0o755)
        self.world.program = str(client)

    def install_hooks_of_workers(self):
        """They are in the plugin."""


class WithThePlugin(PluginFlow, test_leads.WithHooks):
    """What a lead with hooks in its settings sees, a lead with the plugin sees."""

    test_the_settings_stay_valid_for_this_client = None  # they name no hook


class Commands(PluginFlow):
    def test_a_person_lists_and_answers_requests_with_the_plugins_commands(self):
        self.prepare(patient=False)
        for name in ("first", "second"):
            self.team.say("ada", wire.permission_request("ada", "Bash", {"command": "mkdir " + name}, "perm-" + name))
        wait_for("both wait", lambda: len(self.daemon.ask("pending")["requests"]) == 2, SECONDS)
        for line, shown in (("pending", "mkdir second"), ("approve perm-first", "perm-first"), ("deny perm-second don't; ask $HOME \"later\"", "perm-second"),
                            ("pending", "nothing is waiting"), ("status", "team demo"), ("trace perm-second", "don't; ask $HOME \"later\"")):
            done = self.world.ask("/inbox-poller:" + line)
            self.assertEqual(done.returncode, 0, done)
            self.assertIn(shown, self.model.turns()[-1].text(), line)
        self.assertEqual([d["state"] for d in self.decisions("mkdir")], ["denied", "approved"])

    def test_the_model_does_not_call_them_and_knows_the_skill(self):
        self.prepare(patient=False)
        self.assertEqual(self.world.ask("hello " + script("hi")).returncode, 0)
        seen = self.model.turns()[-1].text()
        self.assertIn("inbox-poller:lead-a-team", seen)
        self.assertNotIn("inbox-poller:approve", seen)


class Settings(PluginFlow):
    """The program in PATH knows nothing of the daemon's socket: the hooks and commands have it from the plugin's settings."""

    def install_hooks(self):
        super().install_hooks()
        (self.folder / "bin" / "inbox-poller").write_text('#!/bin/sh\nexec "%s" "$@"\n' % os.environ["INBOX_POLLER"])
        options = {"socket": str(self.daemon.socket), "team": "demo"}
        (self.world.config / "settings.json").write_text(json.dumps({"pluginConfigs": {"inbox-poller@inline": {"options": options}}}))

    def test_hooks_and_commands_reach_the_daemon_by_the_settings(self):
        self.prepare(patient=False)
        self.team.say("ada", wire.permission_request("ada", "Bash", {"command": "mkdir first"}, "perm-first"))
        wait_for("it waits", lambda: self.daemon.ask("pending")["requests"], SECONDS)
        done = self.world.ask("/inbox-poller:pending")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("mkdir first", self.model.turns()[-1].text())
        session = str(uuid.uuid4())
        self.is_lead(session)
        done = self.world.ask("hello " + script("hi"), "--session-id", session)
        self.assertEqual(done.returncode, 0, done)
        self.assertTrue(self.daemon.log("lead.state", new="busy"), self.daemon.tail())


class Manifests(FlowTest):
    def test_the_client_finds_no_fault_in_the_plugins_and_the_marketplace(self):
        for path in (PLUGIN, PLUGIN.with_name("plugin-mail-tools"), PLUGIN.parents[2]):
            done = subprocess.run([self.world.program, "plugin", "validate", str(path)], env=self.world.env(), capture_output=True, text=True,
                                  timeout=patience(120))
            self.assertEqual(done.returncode, 0, done)


if __name__ == "__main__":
    unittest.main()
