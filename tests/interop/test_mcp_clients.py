"""`inbox-poller mcp` with clients that nobody here wrote: both generations of the official library, and the inspector."""

import json
import os
import pathlib
import shutil
import subprocess

from case import ProcessTest
from daemon import LIMIT_S, alone, team_toml
from maildir_peer import Store

HERE = pathlib.Path(__file__).parent
PEERS = pathlib.Path(os.environ.get("INBOX_POLLER_MCP_PEERS", "build/quick/mcp-peers")).resolve()
ERAS = (("1", "legacy"), ("2", "legacy"), ("2", "auto"), ("2", "modern"))
ACTOR_TOOLS = ["send", "recv", "try_recv", "post", "claim", "complete", "heartbeat", "abandon", "sweep", "inbox"]


class McpClients(ProcessTest):
    def setUp(self):
        super().setUp()
        if not (PEERS / "node_modules/@modelcontextprotocol").exists():
            self.skipTest("the public clients are not installed in %s: tests/interop/install-peers %s mcp" % (PEERS, PEERS))
        self.program = os.environ["INBOX_POLLER"]
        self.env = alone(self.folder)
        self.root = self.folder / "mail"
        self.make_root()

    def make_root(self):
        shutil.rmtree(self.root, ignore_errors=True)
        for part in ("tmp", "alice/new", "alice/cur", "bob/new", "bob/cur", "tasks/open", "tasks/claimed", "tasks/done"):
            (self.root / part).mkdir(parents=True)

    def run_client(self, generation, revision, calls, actor="alice", arguments=None):
        server = [self.program, "mcp", *(arguments or ("--root", str(self.root), "--actor", actor))]
        done = subprocess.run(["node", str(HERE / "mcp" / "client.js"), str(PEERS), generation, revision, *server], env=self.env,
                              input="".join(json.dumps(call) + "\n" for call in calls), capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        first, *answers, last = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(last, {"errors": []})
        self.assertEqual(first["server"], "inbox-poller")
        self.assertEqual(len(answers), len(calls))
        return first, answers

    def test_every_tool_of_an_actor_answers_as_its_schema_says_to_every_generation(self):
        for generation, revision in ERAS:
            with self.subTest(generation=generation, revision=revision):
                self.make_root()
                first, answers = self.run_client(generation, revision, [
                    {"name": "send", "arguments": {"to": "bob", "type": "handoff", "payload": {"task": "parser", "n": [1, None]}}},
                    {"name": "post", "arguments": {"payload": "build it", "type": "chore"}},
                    {"name": "inbox", "arguments": {}},
                    {"name": "try_recv", "arguments": {}},
                    {"name": "recv", "arguments": {"timeout_s": 600}, "cancel_ms": 200},
                    {"name": "claim", "arguments": {"lease_ttl": 60}},
                    {"name": "claim", "arguments": {}},
                    {"name": "sweep", "arguments": {}},
                    {"name": "send", "arguments": {"to": "bbo", "type": "x", "payload": 1}},
                    {"name": "send", "arguments": {"to": "../x", "type": "x", "payload": 1}},
                ])
                self.assertEqual(first["tools"], ACTOR_TOOLS)
                sent, posted, inbox, nothing, canceled, claimed, none, swept, new, refused = answers
                self.assertEqual(sent["answer"]["message"]["payload"], {"task": "parser", "n": [1, None]})
                self.assertEqual(inbox["answer"]["actor"], "alice")
                self.assertEqual(nothing["answer"], {"message": None})
                self.assertIn("given up", canceled["failed"])
                self.assertEqual(none["answer"], {"task": None})
                self.assertEqual(swept["answer"], {"tasks": []})
                self.assertEqual((new["answer"]["new_mailbox"], new["notes"]), (True, [new["answer"]["note"]]))
                self.assertIn('did you mean "bob"?', new["notes"][0])
                self.assertEqual([a["notes"] for a in answers if "notes" in a and a is not new], [[]] * 8)
                self.assertTrue(refused["refused"])
                task = claimed["answer"]["task"]["id"]
                self.assertEqual(task, posted["answer"]["task"]["id"])
                _, answers = self.run_client(generation, revision, [
                    {"name": "heartbeat", "arguments": {"task_id": task}},
                    {"name": "abandon", "arguments": {"task_id": task, "reason": "not mine"}},
                    {"name": "claim", "arguments": {}},
                    {"name": "complete", "arguments": {"task_id": task, "result": {"ok": True}}},
                    {"name": "complete", "arguments": {"task_id": task, "result": None}},
                ])
                self.assertEqual([a["refused"] for a in answers], [False] * 4 + [True])
                _, (received, again) = self.run_client(generation, revision, [
                    {"name": "recv", "arguments": {"timeout_s": 5}}, {"name": "try_recv", "arguments": {}}], actor="bob")
                self.assertEqual(received["answer"]["message"]["payload"], {"task": "parser", "n": [1, None]})
                self.assertEqual(again["answer"], {"message": None})

    def test_a_task_whose_lease_is_over_comes_back_in_one_call_of_every_generation(self):
        for generation, revision in ERAS:
            with self.subTest(generation=generation, revision=revision):
                self.make_root()
                store = Store(self.root, "eve")
                posted = store.post("build it")
                store.claim(-2)  # by another program, and over
                _, (swept, claimed) = self.run_client(generation, revision, [{"name": "sweep", "arguments": {}}, {"name": "claim", "arguments": {}}])
                self.assertEqual([t["id"] for t in swept["answer"]["tasks"]], [posted["id"]])
                self.assertEqual(claimed["answer"]["task"]["id"], posted["id"])

    def test_every_tool_of_a_lead_answers_as_its_schema_says_to_every_generation(self):
        team = self.make_team()
        self.start_daemon(team, "[lead]\nmcp_tools = true\n")
        self.env = self.daemon.env
        for generation, revision in ERAS:
            with self.subTest(generation=generation, revision=revision):
                team.say("ada", "hello to %s %s" % (generation, revision))
                _, answers = self.run_client(generation, revision, [
                    {"name": "recv", "arguments": {"timeout_s": 600}},
                    {"name": "send", "arguments": {"to": "ada", "type": "message", "payload": "hi"}},
                    {"name": "inbox", "arguments": {}}, {"name": "pending", "arguments": {}}, {"name": "status", "arguments": {}},
                    {"name": "claim", "arguments": {}}], arguments=("--socket", self.daemon.socket))
                self.assertEqual([a.get("refused") for a in answers], [False] * 5 + [True])
                self.assertEqual(answers[0]["answer"]["message"]["payload"], "hello to %s %s" % (generation, revision))

    def test_every_tool_that_decides_answers_as_its_schema_says_to_every_generation(self):
        team = self.make_team(members=("ada", *("w%d" % n for n in range(len(ERAS)))))
        toml = team_toml(team, more="[lead]\nmcp_tools = true\n")
        self.make_daemon(toml.replace("[permissions]", '[permissions]\napprover = "both"', 1)).start()
        self.env = self.daemon.env
        worker = self.start_worker(team, "ada")
        for n, (generation, revision) in enumerate(ERAS):
            with self.subTest(generation=generation, revision=revision):
                self.decides(generation, revision, worker, "w%d" % n)

    def decides(self, generation, revision, worker, leaving):
        yes, no = (worker.ask("permission", tool="Bash", input={"command": "make " + what}) for what in ("check", "deploy"))
        keys = {request: self.pending_id(request)["message_key"] for request in (yes, no)}
        _, answers = self.run_client(generation, revision, [
            {"name": "pending", "arguments": {}},
            {"name": "approve", "arguments": {"id": yes, "key": keys[yes], "note": "go on"}},
            {"name": "deny", "arguments": {"id": no, "key": keys[no], "reason": "not today"}},
            {"name": "shutdown", "arguments": {"member": leaving, "reason": "done"}}], arguments=("--socket", self.daemon.socket))
        self.assertEqual([a.get("refused", a) for a in answers], [False] * 4)
        pending, approved, denied, ends = (a["answer"] for a in answers)
        self.assertLessEqual({yes, no}, {request["request_id"] for request in pending["requests"]})
        self.assertEqual([approved["decision"]["state"], denied["decision"]["state"]], ["approved", "denied"])
        self.assertEqual(ends["shutdowns"][0]["member"], leaving)

    def test_the_inspector_finds_no_error_in_the_schemas(self):
        for arguments in (("--root", str(self.root), "--actor", "alice"), ("--socket", str(self.folder / "nobody.sock"), "--channel")):
            for era in ("legacy", "modern"):
                done = subprocess.run([PEERS / "node_modules/.bin/mcp-inspector", "--cli", "--strict", "--method", "tools/list",
                                       "--protocol-era", era, "--", self.program, "mcp", *arguments], env=self.env,
                                      capture_output=True, text=True, timeout=LIMIT_S)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("\n0 errors", done.stderr)
                self.assertEqual(len(json.loads(done.stdout)["tools"]), 10)
