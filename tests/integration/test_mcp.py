"""`inbox-poller mcp` for the actors of a folder, spoken to with raw lines: framing, calls side by side, and no message lost."""

import json
import os
import pathlib
import pty
import random
import subprocess
import time

from daemon import LIMIT_S, alone, wait_for, write_private
from mailboxes import Mailboxes
from mcp import MODERN, PROTOCOL, McpClient

MIB = 1 << 20


class Lines(Mailboxes):
    def test_twenty_malformed_lines_are_answered_and_the_next_is_heard(self):
        client = self.connect()
        lines = [b"x", b"{", b"}", b'{"jsonrpc":"2.0"', b"\xff\xfe\xfd", b"\x00", b"nul\x00l", b"'a'", b"[", b"[1,2]", b"[]",
                 b'[{"jsonrpc":"2.0","id":5,"method":"ping"}]', b"true", b'"ping"', b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
                 b'{"jsonrpc":"2.0","id":[],"method":"ping"}', b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
                 b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}', b'{"jsonrpc":"3.0","method":"ping"}', b'{"method":5}',
                 b'{"jsonrpc":"2.0","id":false,"method":"tools/list"}', b"Content-Length: 20\r"]
        for line in lines:
            client.write(line + b"\n")
        self.assertEqual(client.ask("ping")["result"], {})
        self.assertEqual(len(client.unknown), len(lines))
        self.assertEqual({answer["error"]["code"] for answer in client.unknown}, {-32700, -32600})
        self.assertEqual(client.end(), 0)

    def test_twenty_hostile_sizes_are_bounded_and_the_next_line_is_heard(self):
        client = self.connect()
        call = b'{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"%s","arguments":{"to":"bob","type":"%s","payload":%s}}}\n'
        too_long = 0
        for n, size in enumerate((4 * MIB - 200, 4 * MIB, 4 * MIB + 1, 5 * MIB, 16 * MIB)):
            line = b'{"jsonrpc":"2.0","id":"s%d","method":"ping","params":{"p":"' % n
            line += b"x" * (size - len(line) - 3) + b'"}}'
            self.assertEqual(len(line), size)
            client.write(line + b"\n")
            if size > 4 * MIB:
                too_long += 1
                client.wait("it is left out", lambda: len(client.unknown) == too_long)
                self.assertIn("longer than 4 MiB", client.unknown[-1]["error"]["message"])
            else:
                self.assertEqual(client.answer("s%d" % n)["result"], {})
        for n, (name, type, payload) in enumerate([
                (b"n" * MIB, b"t", b"1"), (b"send", b"t" * MIB, b"1"), (b"send", b"", b"1"), (b"send", b"t", b"[" * 100 + b"]" * 100),
                (b"send", b"t", b"[" * 1000 + b"]" * 1000), (b"send", b"t", b"[" * MIB + b"]" * MIB), (b"send", b"t", b"[" * MIB),
                (b"send", b"t", b'{"a":' * 1000 + b"1" + b"}" * 1000), (b"send", b"t", b"9" * MIB), (b"send", b"t", b"1e999"),
                (b"send", b"t", b'"' + b"\\u0000" * 1000 + b'"'), (b"send", b"t", b'"' + b"\\ud800" * 1000 + b'"'),
                (b"send", b"t", b'{' + b",".join(b'"k%d":0' % i for i in range(50000)) + b"}"),
                (b"send", b"t", b"[" + b",".join([b"0"] * MIB) + b"]"), (b"../../x", b"t", b"1")]):
            client.write(call % (n, name, type, payload))
            self.assertEqual(client.ask("ping")["result"], {}, n)
        client.write(b'{"jsonrpc":"2.0","id":"' + b"i" * MIB + b'","method":"ping"}\n')
        client.write(b'{"jsonrpc":"2.0","id":7777,"method":"' + b"m" * MIB + b'"}\n')
        self.assertLess(len(json.dumps(client.answer(7777))), 1000)
        self.assertEqual(client.ask("ping")["result"], {})
        self.assertEqual(client.end(), 0)

    def test_ten_thousand_calls_are_bounded(self):
        client = self.connect()
        for n in range(10_000):
            client.say("tools/call", "c%d" % n, name="recv", arguments={"timeout_s": 600})
            if n % 100 == 0:
                client.read()
        self.assertEqual(client.ask("ping")["result"], {})
        client.wait("those too many are refused", lambda: len(client.answers) == 10_000 - 256)
        self.assertIn("256 calls are open", client.answers["c9999"]["result"]["content"][0]["text"])
        self.assertEqual(client.end(), 0)

    def test_a_client_that_reads_nothing_costs_a_bounded_lot_and_gets_every_answer(self):
        client = self.connect()
        os.set_blocking(client.process.stdin.fileno(), False)
        line = (json.dumps({"jsonrpc": "2.0", "id": 0, "method": "tools/list"}) + "\n").encode()
        sent = 0
        while sent < 20_000:
            try:
                if client.process.stdin.write(line.replace(b": 0,", b": %d," % (1000 + sent))) is None:
                    break  # nobody takes more
                sent += 1
            except BlockingIOError:
                break
        self.assertLess(sent, 20_000, "it reads on and on")
        status = pathlib.Path("/proc/%d/status" % client.process.pid).read_text()
        self.assertLess(int(status.split("VmRSS:")[1].split()[0]), 256 << 10)  # sanitizers take most of it
        os.set_blocking(client.process.stdin.fileno(), True)
        client.wait("every answer", lambda: len(client.answers) >= sent - 1)

    def test_the_input_ends_and_so_does_it_whatever_waits(self):
        for waiting in (0, 3):
            client = self.connect()
            for _ in range(waiting):
                client.begin_tool("recv", timeout_s=600)
            client.ask("ping")
            self.assertEqual(client.end(), 0)
            self.assertEqual((client.answers, client.said()), ({}, ""))

    def test_it_says_that_it_waits_every_five_seconds(self):
        client = self.connect()
        call = client.begin_tool("recv", {"progressToken": "mine"}, timeout_s=11)
        self.assertEqual(client.result(call)["structuredContent"], {"message": None})
        said = [n["params"] for n in client.notifications if n["method"] == "notifications/progress"]
        self.assertEqual([(s["progressToken"], s["progress"], s["total"]) for s in said], [("mine", 5, 11), ("mine", 10, 11)])

    def test_three_revisions_from_one_process(self):
        client = self.connect(start=False)
        found = client.ask("server/discover", _meta=MODERN)["result"]
        self.assertEqual((found["supportedVersions"], found["resultType"]), (["2026-07-28"], "complete"))
        self.assertEqual(client.ask("tools/list", _meta=dict(MODERN, **{PROTOCOL: "2024-11-05"}))["error"]["code"], -32022)
        for version in ("2025-06-18", "2025-11-25"):
            self.assertEqual(client.start(version)["protocolVersion"], version)
            self.assertNotIn("resultType", client.ask("tools/list")["result"])
        self.assertEqual(client.ask("tools/list", _meta=MODERN)["result"]["cacheScope"], "private")

    def test_a_person_who_starts_it_at_a_terminal_is_told_what_it_is_for(self):
        outer, inner = pty.openpty()
        self.stops.append(lambda: (os.close(outer), os.close(inner)))
        os.write(outer, b"\x04")  # Ctrl-D
        done = subprocess.run([self.program, "mcp", "--root", str(self.root), "--actor", "bob"], env=self.env, stdin=inner,
                              capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("inbox-poller mcp install", done.stderr)

    def test_who_and_where_come_from_the_environment_and_are_asked_for(self):
        self.env.update(COLLAB_ROOT=str(self.root), COLLAB_ACTOR="bob")
        client = McpClient(self.program, env=self.env)
        self.stops.append(client.stop)
        self.assertEqual(client.tool("inbox")["actor"], "bob")
        client = McpClient(self.program, "--root", "mail", "--actor", "alice", env=alone(self.folder), cwd=self.folder)
        self.stops.append(client.stop)
        self.assertEqual(client.tool("inbox")["actor"], "alice")
        root = str(self.root)
        for arguments, what, code in (
                (("--root", root), "--actor", 2), (("--root", str(self.folder / "no"), "--actor", "a"), "no", 1),
                (("--actor", "bob"), "--root", 2), (("--root", root, "--actor", "bob", "--team", "t"), "--team", 2),
                (("--team", "t", "--actor", "bob"), "--root", 2), (("--root", root, "--actor", "../x"), "../x", 2),
                (("--root", root, "--actor", "bob", "--channel"), "--channel", 2),
                (("--root", root, "--actor", "bob", "--known-actors", "a,b c"), "--known-actors", 2),
                (("--team", "t", "--known-actors", "bob"), "--known-actors", 2)):
            done = subprocess.run([self.program, "mcp", *arguments], env=alone(self.folder), stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertIn(what, done.stderr)


class Taken(Mailboxes):
    def test_a_message_is_taken_by_the_next_request_and_not_before(self):
        client = self.connect()
        self.post("alice", "one")
        self.assertEqual(client.tool("recv", timeout_s=600)["message"]["payload"], "one")
        self.assertEqual(len(self.unread()), 1)
        client.ask("ping")
        self.assertEqual(len(self.unread()), 0)
        self.assertEqual(len(list((self.root / "alice/cur").iterdir())), 1)

    def test_the_tools_of_a_team_s_lead_are_refused_and_take_no_message(self):
        client = self.connect()
        self.post("alice", "one")
        for tool, more in (("status", {}), ("pending", {}), ("approve", {"id": "x", "key": "k"}), ("deny", {"id": "x", "key": "k", "reason": "r"}),
                           ("shutdown", {"member": "bob"}), ("ack", {"key": "k"})):
            self.assertIn("only the lead of a team", client.refusal(tool, **more), tool)
        self.assertEqual(len(self.unread()), 1)

    def test_a_recv_that_its_client_gave_up_silently_comes_after_the_one_it_calls_now(self):
        client = self.connect()
        given_up = client.begin_tool("recv", timeout_s=600)
        call = client.begin_tool("recv", timeout_s=600)
        for n in range(5):
            client.ask("ping")  # the call has begun
            self.post("alice", n)
            self.assertEqual(client.result(call)["structuredContent"]["message"]["payload"], n)
            call = client.begin_tool("recv", timeout_s=600)
        self.assertNotIn(given_up, client.answers)

    def test_a_client_that_is_killed_behind_a_wrapper_takes_nothing_along(self):
        self.post("alice", "one")
        ours, theirs = os.pipe()
        wrapper = subprocess.Popen(["/bin/sh", "-c", '"$0" mcp --root "$1" --actor alice; exit 0', self.program, str(self.root)],
                                   env=self.env, stdin=subprocess.PIPE, stdout=theirs)
        self.stops.append(wrapper.stdin.close)
        os.close(theirs)
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recv", "arguments": {}}}
        wrapper.stdin.write((json.dumps(call) + "\n").encode())
        wrapper.stdin.flush()
        self.assertIn(b'"one"', os.read(ours, 65536))
        wrapper.stdin.close()  # what a killed client leaves: both its ends closed, and the wrapper alive
        os.close(ours)
        self.assertEqual(wrapper.wait(LIMIT_S), 0)
        message = self.connect().tool("recv", timeout_s=600)["message"]
        self.assertEqual((message["payload"], message["attempts"]), ("one", 2))

    def test_a_number_that_json_has_no_word_for_breaks_no_line(self):
        (self.root / "alice/new/1.json").write_text('{"from":"bob","id":"1","payload":[1e999,{"a":-1e999}],"to":"alice","ts":1,"type":"t"}')

        def strict(text):
            return json.loads(text, parse_constant=self.fail)

        for arguments in (("mcp",), ("mailbox", "try-recv", "--json")):
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "try_recv", "arguments": {}}}
            done = subprocess.run([self.program, *arguments, "--root", str(self.root), "--actor", "alice"], env=self.env,
                                  input=json.dumps(call) + "\n", capture_output=True, text=True, timeout=LIMIT_S)
            answer = strict(done.stdout)
            if "result" in answer:
                answer = answer["result"]
                self.assertEqual(strict(answer["content"][0]["text"]), answer["structuredContent"])
                answer = answer["structuredContent"]
            self.assertEqual(answer["message"]["payload"], ["1e999", {"a": "-1e999"}])
            for taken in (self.root / "alice/cur").iterdir():
                os.rename(taken, self.root / "alice/new" / taken.name)

    def test_a_client_that_ends_has_it_and_one_that_is_killed_has_not(self):
        self.post("alice", "one")
        client = self.connect()
        client.tool("recv", timeout_s=600)
        client.end()
        self.assertEqual(len(self.unread()), 0)
        self.post("alice", "two")
        client = self.connect()
        client.tool("recv", timeout_s=600)
        client.process.kill()
        client.process.wait()
        message = self.connect().tool("recv", timeout_s=600)["message"]
        self.assertEqual((message["payload"], message["attempts"]), ("two", 2))

    def test_two_assistants_talk_while_both_wait(self):
        alice, bob = self.connect("alice"), self.connect("bob")
        call = bob.begin_tool("recv", timeout_s=600, match_type="handoff")
        alice.tool("send", to="bob", type="note", payload="not this one")
        sent = alice.tool("send", to="bob", type="handoff", payload={"task": "parser"})["message"]
        got = bob.result(call)["structuredContent"]["message"]
        self.assertEqual((got["id"], got["from"], got["payload"]), (sent["id"], "alice", {"task": "parser"}))
        wait = alice.begin_tool("recv", timeout_s=600)
        bob.tool("send", to="alice", type="ack", payload=None, in_reply_to=got["id"])
        self.assertEqual(alice.result(wait)["structuredContent"]["message"]["in_reply_to"], sent["id"])

    def test_two_assistants_that_start_at_the_same_time_can_greet_each_other(self):
        root = self.root = self.folder / "fresh"
        root.mkdir(mode=0o700)
        alice = self.connect("alice")
        self.assertEqual(sorted(str(p.relative_to(root)) for p in root.rglob("*")), ["alice", "alice/cur", "alice/new"])
        self.post_as_peer(root, "alice", "of a program that makes no folder")
        greeted = alice.tool("send", to="bob", type="note", payload="hello")  # whose server is still starting
        self.assertIs(greeted["new_mailbox"], True)
        self.assertIn('"bob" had no mailbox yet', greeted["note"])
        bob = self.connect("bob")
        self.assertNotIn("new_mailbox", bob.tool("send", to="alice", type="note", payload="hello back"))
        slip = alice.tool("send", to="bbo", type="note", payload="x")
        self.assertIn('did you mean "bob"?', slip["note"])
        self.assertEqual(bob.tool("recv", timeout_s=600)["message"]["payload"], "hello")
        self.assertEqual(alice.tool("recv", timeout_s=600)["message"]["payload"], "of a program that makes no folder")
        self.assertEqual(alice.tool("recv", timeout_s=600)["message"]["payload"], "hello back")

    def post_as_peer(self, root, to, payload):
        (root / to / "new" / "1.json").write_text(json.dumps({"id": "1", "from": "eve", "to": to, "type": "note", "payload": payload, "ts": 1}))

    def test_a_server_that_knows_its_actors_refuses_a_slip_and_writes_nothing(self):
        alice = self.connect("alice", "--known-actors", "bob,carl")
        self.assertIn('did you mean "bob"?', alice.refusal("send", to="bbo", type="note", payload="x"))
        self.assertFalse((self.root / "bbo").exists())
        self.assertIs(alice.tool("send", to="carl", type="note", payload="x")["new_mailbox"], True)

    def test_what_else_there_is_to_know_is_a_second_text_and_the_first_stays_json(self):
        alice = self.connect()
        for arguments in ({"to": "carl", "payload": "x"}, {"to": "dora", "payload": "y" * 100_000}):
            result = alice.result(alice.begin_tool("send", type="note", **arguments))
            first, second = result["content"]
            self.assertEqual(json.loads(first["text"]), result["structuredContent"])
            self.assertEqual(second, {"type": "text", "text": result["structuredContent"]["note"]})
        self.assertRegex(second["text"], r'^"dora" had no mailbox yet: .*; cut, as too long for one answer: payload')
        self.assertEqual(len(alice.result(alice.begin_tool("inbox"))["content"]), 1)

    def test_one_sweep_gives_back_what_is_over_and_others_are_answered_and_see_it_meanwhile(self):
        alice, bob = self.connect("alice"), self.connect("bob")
        task = bob.tool("post", payload="x")["task"]["id"]
        claimed = bob.tool("claim", lease_ttl=0.001)["task"]
        self.assertEqual(claimed["id"], task)
        wait_for("the claim is over", lambda: time.time() > claimed["lease_expires_at"] + 0.1)  # clock: a lease is over by two clocks
        call = alice.begin_tool("sweep")
        looks, seen = 0, set()
        while call not in alice.answers:
            self.assertEqual(alice.ask("ping")["result"], {})
            places = [p.parent.parent.name + "/" + p.parent.name for p in self.root.glob("tasks/*/**/*.json") if task in p.name]
            if not places:  # between the two folders of one listing: it moved on meanwhile
                places = [str(p.parent.name) for p in self.root.glob("tasks/*/**/*.json") if task in p.name]
            self.assertTrue(places)
            looks, seen = looks + 1, seen | set(places)
        given = alice.result(call)["structuredContent"]["tasks"]
        self.assertEqual([(t["id"], t["status"], t["swept_from"]) for t in given], [(task, "open", "bob")])
        self.assertEqual([p.name for p in (self.root / "tasks/claimed").iterdir()], ["bob"])
        self.assertEqual(alice.tool("claim")["task"]["id"], task)
        print("figures: %d looks during the sweep, places: %s" % (looks, sorted(seen)))

    def test_two_hundred_cancelled_recvs_lose_nothing(self):
        client = self.connect()
        chance = random.Random(7)
        posted = []
        for n in range(200):
            call = client.begin_tool("recv", timeout_s=600)
            if n % 2:
                posted.append("message %d" % n)
                self.post("alice", posted[-1])
            if chance.random() < 0.5:
                time.sleep(chance.random() * 0.004)  # clock: a cancellation at any moment; nothing is judged by it
            if chance.random() < 0.3:
                client.say("ping", "p%d" % n)
            client.say("notifications/cancelled", requestId=call)
        got = []

        def crossed():
            """What was answered before its cancellation arrived: it comes again, unless a request between both took it."""
            late = [i for i in client.answers if isinstance(i, int)]
            got.extend(client.answers.pop(i)["result"]["structuredContent"]["message"] for i in late)

        client.ask("ping")
        crossed()
        nothing = 0
        while not set(posted) <= {m["payload"] for m in got}:
            self.assertLess(nothing, 30, "lost: %s" % sorted(set(posted) - {m["payload"] for m in got}))
            call = client.begin_tool("recv", timeout_s=2)
            message = client.result(call)["structuredContent"]["message"]
            got += [message] if message else []
            nothing += message is None
            crossed()
        self.labeled(got)
        client.ask("ping")
        self.assertEqual(self.unread(), [])


class Install(Mailboxes):
    def cli(self, *arguments, expect=0, cwd=None):
        done = subprocess.run([self.program, *arguments], env=self.env, cwd=cwd or self.folder, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def test_a_server_is_put_into_each_scope_and_taken_out_to_the_last_byte(self):
        home = pathlib.Path(self.env["HOME"])
        here = str(self.folder.resolve())
        text = '{\n  "numStartups": 9,\n  "odd": "\\ud83d",\n  "projects": {\n    "%s": {\n      "allowedTools": []\n    }\n  }\n}\n' % here
        for scope, path in (("local", home / ".claude.json"), ("user", home / ".claude.json"), ("project", self.folder / ".mcp.json")):
            for before in (text, None):
                path.unlink(missing_ok=True)
                if before:
                    write_private(path, before)
                refused = self.cli("mcp", "install", "--scope", scope, "--root", "mail", "--actor", "alice", expect=1)
                self.assertIn("--yes writes without asking", refused.stderr)
                self.assertEqual(path.read_text() if before else path.exists(), before or False)
                shown = self.cli("mcp", "install", "--scope", scope, "--root", "mail", "--actor", "alice", "--yes").stdout
                self.assertIn("mcp__inbox-poller__*", shown)
                self.assertIn('+', shown)
                settings = json.loads(path.read_text())
                servers = (settings["projects"][here] if scope == "local" else settings)["mcpServers"]
                server = servers["inbox-poller"]
                self.assertEqual(server["args"], ["mcp", "--root", here + "/mail", "--actor", "alice"])
                client = McpClient(server["command"], *server["args"][1:], env={"PATH": os.environ["PATH"]}, cwd="/")
                self.stops.append(client.stop)
                self.assertEqual(client.tool("inbox")["actor"], "alice")
                again = self.cli("mcp", "install", "--scope", scope, "--root", "mail", "--actor", "alice", "--yes").stdout
                self.assertIn("nothing to change", again)
                self.cli("mcp", "uninstall", "--scope", scope, "--yes")
                self.assertEqual(path.read_text() if path.exists() else None, before)

    def test_what_cannot_be_installed_says_why(self):
        self.assertIn("--actor", self.cli("mcp", "install", "--root", "mail", "--yes", expect=1).stderr)
        self.assertIn("--root", self.cli("mcp", "install", "--actor", "alice", "--yes", expect=1).stderr)
        for wrong in (("--actor", "../../x"), ("--actor", "alice", "--channel"), ("--actor", "alice", "--team", "demo"),
                      ("--actor", "alice", "--known-actors", "bob,../x")):
            refused = self.cli("mcp", "install", "--root", "mail", "--scope", "project", *wrong, "--yes", expect=1)
            self.assertIn("nothing was written", refused.stderr)
            self.assertFalse((self.folder / ".mcp.json").exists())
        self.assertIn("this folder does not exist", self.cli("mcp", "install", "--root", "nowhere", "--actor", "a", "--yes", expect=1).stderr)
        write_private(self.folder / ".mcp.json", '{"mcpServers":{"inbox-poller":{"command":"/bin/other"}}}')
        refused = self.cli("mcp", "install", "--scope", "project", "--team", "demo", "--yes", expect=1)
        self.assertIn("--name", refused.stderr)
        self.cli("mcp", "install", "--scope", "project", "--root", "mail", "--actor", "alice", "--known-actors", "bob,carl", "--name", "strict", "--yes")
        self.assertEqual(json.loads((self.folder / ".mcp.json").read_text())["mcpServers"]["strict"]["args"][-2:], ["--known-actors", "bob,carl"])
        self.cli("mcp", "install", "--scope", "project", "--team", "demo", "--name", "mail", "--yes")
        self.assertEqual(json.loads((self.folder / ".mcp.json").read_text())["mcpServers"]["mail"]["args"], ["mcp", "--team", "demo"])

    def test_doctor_knows_a_server_whose_program_is_gone(self):
        self.cli("mcp", "install", "--scope", "user", "--root", "mail", "--actor", "alice", "--yes")
        path = pathlib.Path(self.env["HOME"]) / ".claude.json"

        def findings():
            done = subprocess.run([self.program, "doctor", "--json"], env=self.env, cwd=self.folder, capture_output=True, text=True,
                                  timeout=LIMIT_S)
            return [f for f in json.dumps(json.loads(done.stdout)).split("{") if '"mcp.program"' in f]

        self.assertIn('"ok"', findings()[0])
        there = path.read_text()
        path.write_text(there.replace(self.program, "inbox-poller"))  # which one a client would start is not known here
        self.assertEqual(findings(), [])
        path.write_text(there.replace(self.program, "/gone/inbox-poller"))
        found = findings()
        self.assertEqual(len(found), 1)
        self.assertIn("points at a program that is gone: /gone/inbox-poller", found[0])
        self.assertIn("mcp install --scope user", found[0])
