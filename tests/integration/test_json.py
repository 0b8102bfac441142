"""Every command with --json in a living team: what it prints is one document, and a closed schema describes it."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, wait_for

try:
    import jsonschema
except ImportError:
    jsonschema = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
# They print no document: they stay, print another program's words, or only open what stands below them.
WITHOUT = {"top", "web", "run", "completion", "manual", "help", "init", "inbox", "mailbox", "hook", "hook wait", "hook worker", "lead run", "mcp"}


def commands():
    """Every row of the table of commands."""
    verbs = dict(re.findall(r'^struct (\w+).*\n  static constexpr std::string_view verb = "(\w+)"',
                            (ROOT / "schema/operations/verb_arguments.hpp").read_text("utf-8"), re.M))
    return [name or verbs[request] for file in (ROOT / "poller/cli").rglob("*.cpp")
            for name, request in re.findall(r'^    \{\.name = (?:"([a-z -]+)"|arguments::(\w+)::verb), \.group = ', file.read_text("utf-8"), re.M)]


class Json(ProcessTest):
    done = set()  # commands of all tests
    schemas = None  # what `manual --schemas` writes, by command

    def setUp(self):
        super().setUp()
        if jsonschema is None:
            print("SKIPPED: no jsonschema for Python (Debian: python3-jsonschema)", file=sys.stderr)
            self.skipTest("no jsonschema")
        self.seen = set()
        if Json.schemas is None:
            folder = pathlib.Path(self.folder, "schemas")
            subprocess.run([os.environ["INBOX_POLLER"], "manual", "--schemas", str(folder)], check=True, timeout=LIMIT_S)
            Json.schemas = {path.stem: json.loads(path.read_text("utf-8")) for path in folder.glob("*.json") if path.stem != "control"}

    def told(self, command, *more, expect=0):
        """What a command prints, held against its schema."""
        self.seen.add(command)
        words = [self.daemon.program, *command.split(), *more, "--json"] + (["--socket", self.daemon.socket] if self.daemon.running() else [])
        done = subprocess.run(words, env=self.daemon.env, cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
        self.assertIn(done.returncode, expect if isinstance(expect, tuple) else (expect,), (words, done.stdout, done.stderr))
        documents = [json.loads(line) for line in done.stdout.splitlines()]
        schema = self.schemas[command.replace(" ", "-")]
        for document in documents:
            problems = list(jsonschema.Draft202012Validator(schema).iter_errors(document))
            self.assertEqual(problems, [], "%s\n%s" % (words, json.dumps(document, indent=1)[:4000]))
            if command != "recv":
                self.assertEqual(document["version"], self.version)
        self.assertTrue(documents, (words, done.stderr))
        return documents[0]

    def test_every_command_that_prints_a_document_has_a_schema(self):
        described = {name.replace("-", " ") for name in self.schemas}
        wanted = {command.replace("-", " ") for command in commands() if command not in WITHOUT}
        self.assertEqual((sorted(wanted - described), sorted(described - wanted)), ([], []))

    def ask(self, number, command, asker="ada"):
        said = wire.permission_request(asker, "Bash", {"command": command}, request_id="perm-%d" % number)
        self.team.say(asker, said if isinstance(said, str) else json.dumps(said))
        return self.pending_id("perm-%d" % number)

    def begin(self):
        self.team = self.make_team()
        self.start_daemon(self.team)
        self.version = self.daemon.ask("status")["version"]

    def test_what_is_asked_of_the_daemon(self):
        self.begin()
        first = self.ask(1, "cd src && make x")
        for number in (2, 3, 4):
            self.ask(number, "make it")
        self.team.say("ada", "hello")
        wire.append(self.team.lead_inbox, wire.entry("ada", '{"type":"permission_request"}'))
        wait_for("the chat came", lambda: self.status()["chat"]["queued"])
        self.quarantined()
        self.told("pending")
        self.told("pending", "--list", "--member", "ada")
        deep = {"command": "make deep", "levels": json.loads("[" * 100 + "]" * 100)}
        rule = {"type": "addRules", "rules": [{"toolName": "Bash"}]}
        self.team.say("ada", json.dumps(wire.permission_request("ada", "Bash", deep, request_id="perm-9", suggestions=[rule])))
        self.pending_id("perm-9")
        shown = next(request for request in self.told("pending")["requests"] if request["request_id"] == "perm-9")
        self.assertEqual((shown["input"], shown["suggested"]), (deep, [rule]))
        self.told("deny", "perm-9", "--reason", "no")
        self.told("rules")
        self.told("rules", "--try", "cd src && git push")
        self.told("approve", "perm-2")
        self.told("approve", "perm-2", "--by", "bob", expect=1)
        self.told("approve", "perm-none", expect=4)
        self.assertEqual(self.told("approve", "perm-3", "--always")["answers"][0]["rule_added"], "Bash(make it)")
        self.told("deny", first["message_key"][:9], "--reason", "no")
        self.told("rules", "--suggest")
        self.told("rules")
        self.told("revoke", "Bash(make it)")
        self.ask(5, "make that")
        self.assertEqual(len(self.told("allow", "Bash(make:*)", "--yes")["answered"]), 1)
        for words in ([], ["--short"]):
            self.told("status", *words)
        self.told("nodes")
        self.told("wait", "--answered", "--timeout", "0s")
        for key in (first["message_key"], "perm-3"):
            self.told("trace", key)
        self.told("trace", "nothing-like-it", expect=4)
        self.told("decisions")
        for words in ([], ["--full"]):
            self.told("history", *words)
        self.told("quarantine")
        self.told("metrics")
        self.told("statusline")
        self.told("doctor", "--daemon-config", self.daemon.daemon_file, "--config", self.daemon.configs[0], expect=(0, 1, 2))
        self.told("doctor", "--quick", expect=(0, 1))
        self.told("send", "ada", "hello")
        self.told("send", "adda", "hello", expect=4)
        self.told("broadcast", "hello")
        self.told("mode", "ada", "plan")
        self.team.add_task(1)
        self.told("assign", "1", "ada")
        self.told("lead")
        self.told("lead", "idle")
        self.told("ack", self.told("recv", "--no-ack")["message_key"])
        self.told("resume")
        self.told("reload")
        self.told("shutdown", "bob", "--reason", "done")
        self.told("shutdowns")
        self.told("trace", self.daemon.ask("shutdowns")["shutdowns"][0]["request_id"])
        self.told("check-config", "--config", self.daemon.configs[0], "--daemon-config", self.daemon.daemon_file)
        self.done.update(self.seen)

    def test_what_is_done_to_files(self):
        self.begin()
        self.daemon.stop()
        self.team.say("ada", "hello")
        wire.append(self.team.lead_inbox, 7)
        root = ["--root", str(self.team.root), "--team", "demo"]
        self.told("inbox list", *root)
        for command in ("inbox show", "inbox unread"):
            self.told(command, "team-lead", *root)
        self.told("inbox send", "ada", "hello", *root)
        self.told("inbox mark-read", "team-lead", "--all", *root)
        self.told("inbox clear", "ada", "--read", *root)
        (self.folder / "box").mkdir()
        box = ["--root", str(self.folder / "box")]
        self.told("mailbox send", "bob", "hello", *box, "--actor", "ada")
        self.told("mailbox send", "bob", "again", *box, "--actor", "ada")
        self.told("mailbox try-recv", *box, "--actor", "bob")
        self.told("mailbox inbox", *box, "--actor", "bob")
        self.told("mailbox recv", *box, "--actor", "bob")
        self.told("mailbox try-recv", *box, "--actor", "bob", expect=4)
        task = self.told("mailbox post", "{}", "--type", "build", *box, "--actor", "ada")["task"]["id"]
        self.told("tasks", *box)
        self.told("tasks show", task, *box)
        self.told("mailbox claim", *box, "--actor", "bob")
        self.told("mailbox claim", *box, "--actor", "bob", expect=4)
        self.told("mailbox heartbeat", task, *box, "--actor", "bob")
        self.told("mailbox abandon", task, "not mine", *box, "--actor", "bob")
        self.told("mailbox claim", *box, "--actor", "bob")
        self.told("mailbox complete", task, "{}", *box, "--actor", "bob")
        self.told("mailbox sweep", *box, "--actor", "bob")
        self.told("tasks requeue", task, *box, expect=1)
        (self.folder / "other").mkdir()
        self.told("mailbox copy", "--from", str(self.folder / "box"), "--to", str(self.folder / "other"))
        self.told("nodes acl", "--team", "demo", "--leader", "h1", "--secrets", str(self.folder / "secrets"))
        for command in ("hook install", "hook uninstall", "mcp install", "mcp uninstall"):
            self.told(command, "--scope", "project", "--yes")
        self.done.update(self.seen)

    @classmethod
    def tearDownClass(cls):
        missing = {command for command in commands() if command not in WITHOUT} - cls.done
        assert jsonschema is None or len(cls.done) < 40 or not missing, "never run with --json: %s" % sorted(missing)


if __name__ == "__main__":
    unittest.main()
