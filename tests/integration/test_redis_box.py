"""`box`, `tasks` and `mcp` over a Redis of the test's own: word for word as over a folder, through kills of either side."""

import collections
import contextlib
import json
import os
import random
import re
import socket
import subprocess
import threading
import unittest

from case import ProcessTest
from daemon import LIMIT_S, alone, wait_for
from engine import Engine
from mcp import McpClient


class RedisBoxes(ProcessTest):
    def setUp(self):
        super().setUp()
        self.folder_root = self.folder / "shared"
        self.folder_root.mkdir(mode=0o700)
        self.engine = Engine(self.folder / "r").start()
        self.stops.append(self.engine.stop)
        self.root = self.engine.address()

    def run_box(self, *arguments, root=None, actor="ada", group="mailbox", **options):
        words = [os.environ["INBOX_POLLER"], group, *arguments, "--root", str(root or self.root)]
        words += ["--actor", actor] if group == "mailbox" else []
        return subprocess.run(words, env=alone(self.folder), capture_output=True, text=True, timeout=LIMIT_S, **options)

    def box(self, *arguments, expect=0, **options):
        done = self.run_box(*arguments, "--json", **options)
        self.assertEqual(done.returncode, expect, done)
        return json.loads(done.stdout)

    # --- the same words

    def steps(self, root):
        """What two agents do, and all that they are told."""
        told, ids = [], {}

        def step(actor, *arguments, keep=None, group="mailbox", stdin=None):
            words = [ids.get(a[1:], a) if a.startswith("$") else a for a in arguments]
            done = self.run_box(*words, root=root, actor=actor, group=group, input=stdin)
            if keep:
                ids[keep] = json.loads(done.stdout)["message" if "send" in words else "task"]["id"]
            told.append((actor, arguments, done.returncode, done.stdout, done.stderr))

        step("ada", "send", "bob", "x")
        step("bob", "try-recv")
        step("ada", "send", "bob", '{"n": [1, 2.5], "t": "\u2028"}', "--type", "handoff", "--json", keep="first")
        step("ada", "send", "bob", "-", stdin="a text\n")
        step("bob", "inbox", "--json")
        step("bob", "inbox")
        step("bob", "recv", "--timeout", "10min", "--json")
        step("bob", "send", "ada", "fine", "--in-reply-to", "$first")
        step("ada", "recv", "--reply-to", "$first")
        step("ada", "send", "../x", "x")
        step("ada", "send", "nobody", "x")
        step("ada", "send", "bbo", "x", "--json")
        step("ada", "send", "nobody", "again", "--json")
        step("ada", "send", "bbo", "x", "--known-actors", "bob,carl")
        step("bob", "try-recv", "--type", "none", "--json")
        step("bob", "recv", "--json")
        step("ada", "claim")
        step("ada", "post", '{"branch": "x"}', "--json", keep="task")
        step("ada", "post", "now", "--priority", "5", "--type", "docs", "--json", keep="urgent")
        step("ada", "post", "later", "--priority", "-1")
        step("bob", "claim", "--json")
        step("bob", "claim", "--type", "task", "--lease", "10min")
        step("bob", "heartbeat", "$task", "--lease", "20min", "--json")
        step("eve", "heartbeat", "$task")
        step("bob", "complete", "$task", '{"merged": true}', "--json")
        step("bob", "complete", "$task", "again")
        step("bob", "abandon", "$urgent", "no time")
        step("bob", "abandon", "$urgent", "no time")
        step("bob", "complete", "none", "x")
        step("bob", "complete", "", "x")
        step("bob", "inbox", "--json")
        step("bob", "claim", "--json")
        step("bob", "abandon", "$urgent", "no time")
        step("bob", "claim", "--json")
        step("bob", "abandon", "$urgent", "no time")
        step("bob", "claim", "--json")
        step("", "show", "$urgent", group="tasks")
        step("", "requeue", "$urgent", group="tasks")
        step("", "requeue", "$task", group="tasks")
        step("", "show", "nonsense", group="tasks")
        step("", "--dead", group="tasks")
        step("", group="tasks")
        step("bob", "sweep", "--json")
        step("bob", "sweep")
        step("", "--json", group="tasks")
        return told

    def plain(self, told, root):
        """Without what differs from run to run: ids, moments, names of files, the root. Ids by their order of appearance."""
        names = {}

        def named(match):
            return names.setdefault(match.group()[:12], "id%d" % len(names))

        text = json.dumps(told, ensure_ascii=False).replace(json.dumps(str(root))[1:-1], "ROOT")
        text = re.sub(r'(?:late-|dead-)?\d{20}-(?:late-)?[0-9a-f]+(?:\.json)?', "FILE", text)
        text = re.sub(r"(?:late|dead)-FILE", "FILE", text)
        text = re.sub(r"\b1\.\d+E9\b", "TIME", text)  # first: it may have the twelve digits of an id
        text = re.sub(r"(?<![0-9a-f])(?:[0-9a-f]{32}|[0-9a-f]{12})(?![0-9a-f])", named, text)
        text = re.sub(r"\b\d{10}\.\d+\b|\b\d{4}-\d\d-\d\d[T ][\d:.]+Z?( UTC)?", "TIME", text)
        return json.loads(text)

    def test_every_word_is_that_of_a_folder(self):
        over_folder = self.plain(self.steps(self.folder_root), self.folder_root)
        over_redis = self.plain(self.steps(self.root), self.root)
        for folder, redis in zip(over_folder, over_redis):
            self.assertEqual(redis, folder)

    def test_the_tools_of_an_assistant_answer_as_over_a_folder(self):
        answers = []
        for root in (self.folder_root, self.root):
            alice = McpClient(os.environ["INBOX_POLLER"], "--root", root, "--actor", "alice", env=alone(self.folder))
            bob = McpClient(os.environ["INBOX_POLLER"], "--root", root, "--actor", "bob", env=alone(self.folder))
            self.stops += [alice.stop, bob.stop]
            alice.start()
            bob.start()
            told = [bob.tool("try_recv"), alice.tool("send", to="bob", type="note", payload={"n": 1}), bob.tool("recv", timeout_s=600)]
            told += [bob.tool("inbox"), alice.tool("post", payload="do it"), bob.tool("claim")]
            task = told[-1]["task"]["id"]
            told += [bob.tool("heartbeat", task_id=task), bob.tool("complete", task_id=task, result=[1]), alice.tool("claim"), alice.tool("sweep"),
                     alice.refusal("complete", task_id=task, result=2), alice.refusal("send", to="../x", type="x", payload=1),
                     alice.tool("send", to="bbo", type="x", payload=1)]
            answers.append(self.plain([json.dumps(one) for one in told], root))
        self.assertEqual(answers[0], answers[1])

    def test_a_waiting_tool_call_is_woken_by_another_process(self):
        bob = McpClient(os.environ["INBOX_POLLER"], "--root", self.root, "--actor", "bob", env=alone(self.folder))
        self.stops.append(bob.stop)
        bob.start()
        bob.tool("try_recv")
        got = []
        waits = threading.Thread(target=lambda: got.append(bob.tool("recv", timeout_s=600)))
        waits.start()
        wait_for("it listens", lambda: "cmd=xread" in self.engine.client()("CLIENT", "LIST"))
        self.box("send", "bob", "wake up")
        waits.join(LIMIT_S)
        self.assertEqual(got[0]["message"]["payload"], "wake up")

    # --- moves

    def test_a_team_moves_to_redis_and_back(self):
        for i in range(20):
            self.box("send", "bob", str(i), root=self.folder_root)
        task = self.box("post", "x", root=self.folder_root)["task"]
        self.box("claim", root=self.folder_root, actor="bob")
        back = self.folder / "back"
        back.mkdir(mode=0o700)
        for expected in ({"messages": 20, "tasks": 1, "were_there": 0}, {"messages": 0, "tasks": 0, "were_there": 21}):
            for source, target in ((self.folder_root, self.root), (self.root, back)):
                done = subprocess.run([os.environ["INBOX_POLLER"], "mailbox", "copy", "--from", str(source), "--to", str(target), "--json"],
                                      env=alone(self.folder), capture_output=True, text=True, timeout=LIMIT_S)
                self.assertEqual(done.returncode, 0, done)
                told = json.loads(done.stdout)
                self.assertEqual({**told, "version": ""}, {"ok": True, "actors": 2, "version": "", **expected})
        for root in (self.root, back):
            self.assertEqual([self.box("recv", root=root, actor="bob")["message"]["payload"] for _ in range(20)], list(range(20)))
            self.assertEqual(self.box("complete", task["id"], "done", root=root, actor="bob")["task"]["result"], "done")

    # --- trouble

    def test_an_answer_that_is_lost_on_its_way_is_given_again_and_not_the_next_message(self):
        self.box("send", "bob", "first")
        self.box("send", "bob", "second")
        lost = []
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.folder / "proxy"))
        listener.listen()
        self.stops.append(listener.close)

        def pump(source, target):
            with contextlib.suppress(OSError):  # the other way has ended
                while data := source.recv(1 << 20):
                    if b'"first"' in data and not lost:
                        lost.append(data)
                        break
                    target.sendall(data)
            for one in (source, target):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

        def serve():
            with contextlib.suppress(OSError):  # the test is over
                while True:
                    client = listener.accept()[0]
                    server = socket.socket(socket.AF_UNIX)
                    server.connect(str(self.engine.socket))
                    for way in ((client, server), (server, client)):
                        threading.Thread(target=pump, args=way, daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        through = self.root.replace(str(self.engine.socket), str(self.folder / "proxy"))
        got = [self.box("recv", "--timeout", "60s", root=through, actor="bob")["message"] for _ in range(2)]
        self.assertEqual([(one["payload"], one.get("attempts")) for one in got], [("first", None), ("second", None)])
        self.assertEqual(len(lost), 1)

    def test_the_server_is_killed_again_and_again_and_nothing_is_lost_or_done_twice(self):
        stop, lock, chance = threading.Event(), threading.Lock(), random.Random(11)
        sent, got, done, troubles = [], collections.Counter(), collections.Counter(), []
        for i in range(25):
            self.box("post", str(i))
        self.box("try-recv", actor="bob", expect=4)

        def write(n):
            for i in range(15):
                self.box("send", "bob", json.dumps([n, i]), actor="w%d" % n)
                with lock:
                    sent.append((n, i))

        def read():
            while True:
                finished = stop.is_set()
                result = self.run_box("try-recv", "--json", actor="bob")
                if result.returncode == 4 and finished:
                    return
                if result.returncode == 0:
                    with lock:
                        got[tuple(json.loads(result.stdout)["message"]["payload"])] += 1
                elif result.returncode != 4:
                    troubles.append(result.stdout + result.stderr)

        def work(n):
            while True:
                claimed = self.run_box("claim", "--json", actor="c%d" % n)
                if claimed.returncode == 4:
                    return
                if claimed.returncode != 0:
                    troubles.append(claimed.stdout + claimed.stderr)
                    continue
                result = self.run_box("complete", json.loads(claimed.stdout)["task"]["id"], str(n), "--json", actor="c%d" % n)
                if result.returncode == 0:
                    with lock:
                        done[json.loads(result.stdout)["task"]["payload"]] += 1
                else:
                    troubles.append(result.stdout + result.stderr)

        threads = [threading.Thread(target=write, args=(n,)) for n in range(2)] + [threading.Thread(target=work, args=(n,)) for n in range(2)]
        reader = threading.Thread(target=read)
        for thread in threads + [reader]:
            thread.start()
        kills = 0
        while any(thread.is_alive() for thread in threads):
            next(thread for thread in threads + [reader] if thread.is_alive()).join(chance.uniform(0.3, 1.0))
            self.engine.kill()
            kills += 1
            self.engine.start()
        stop.set()
        reader.join()
        self.assertEqual(troubles, [])
        self.assertGreater(kills, 1)
        self.assertEqual(sorted(got), sorted(sent))
        self.assertEqual([m for m, n in got.items() if n > 1], [])
        self.assertEqual(sorted(done), list(range(25)))
        self.assertEqual([t for t, n in done.items() if n > 1], [])
        print("figures: %d kills of the server, %d messages and %d tasks, none lost, none twice" % (kills, len(got), len(done)))

    def test_a_receiver_that_is_killed_takes_nothing_along(self):
        for i in range(6):
            self.box("send", "ada", str(i))
        for _ in range(3):
            with open("/dev/full", "w") as full:
                done = subprocess.run([os.environ["INBOX_POLLER"], "mailbox", "recv", "--root", self.root, "--actor", "ada"], env=alone(self.folder),
                                      stdout=full, stderr=subprocess.DEVNULL, timeout=LIMIT_S)
            self.assertEqual(done.returncode, 1)
        first = self.box("recv")["message"]
        self.assertEqual((first["payload"], first["attempts"]), (0, 4))
        self.assertEqual([self.box("recv")["message"]["payload"] for _ in range(5)], [1, 2, 3, 4, 5])

    def test_what_stands_in_the_way_is_said_in_words(self):
        client = self.engine.client()
        more = self.engine.address
        for address, code, words in (
                ("redis://user:hunter2@h#t", 2, "?user=NAME&secret=FILE"), (self.root.split("#")[0], 2, "#team"),
                (more(more="?secret=%s" % self.engine.secret("open", mode=0o644)), 1, "chmod 600"),
                (more(more="?secret=%s" % self.engine.secret("wrong", "hunter2")), 1, "AUTH"),
                ("redis+unix:///%s#t" % ("x" * 120), 1, "107 bytes"), ("rediss://localhost:1?ca=/nowhere#t", 1, "/nowhere")):
            done = self.run_box("inbox", root=address)
            self.assertEqual(done.returncode, code, done)
            self.assertIn(words, done.stderr)
            self.assertNotIn("hunter2", done.stderr + done.stdout)
        client("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        refused = self.run_box("inbox")
        self.assertEqual((refused.returncode, "maxmemory-policy noeviction" in refused.stderr), (1, True), refused)
        self.assertEqual(self.run_box("inbox", root=more(more="?accept_risks=redis-not-durable")).returncode, 0)
        client("CONFIG", "SET", "maxmemory-policy", "noeviction")
        client("CONFIG", "SET", "appendfsync", "everysec")
        told = self.run_box("inbox")
        self.assertEqual((told.returncode, "everysec" in told.stderr), (0, True), told)
        client("CONFIG", "SET", "maxmemory", "1")
        full = self.run_box("send", "ada", "x")
        self.assertEqual((full.returncode, "OOM" in full.stderr), (1, True), full)
        client("CONFIG", "SET", "maxmemory", "0")
        self.box("try-recv", expect=4)


if __name__ == "__main__":
    unittest.main()
