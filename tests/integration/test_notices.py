"""deploy/notify: what reaches a person of open requests, through a stand-in server and a stand-in notify-send."""

import argparse
import http.server
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import queue
import stat
import subprocess
import sys
import threading
import unittest
import urllib.request

from case import ProcessTest
from daemon import LIMIT_S, alone, wait_for

NOTIFY = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "notify"
HOSTILE = "Bash: curl \u202e<b>&amp; `x` @everyone \x1b[2J " + "long " * 40


def request(key="a" * 32, subject="Bash: make deploy", **fields):
    return dict({"message_key": key, "subject": subject, "member": "ada", "team": "demo", "asked_ms": 0, "deadline_ms": 0,
                 "body": "the whole secret command"}, **fields)


def module(name):
    """A program or module of deploy/notify."""
    sys.path.insert(0, str(NOTIFY))
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("notify_" + name.split(".")[0], str(NOTIFY / name))
    loaded = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    try:
        loader.exec_module(loaded)
    finally:
        sys.path.remove(str(NOTIFY))
    return loaded


class Server(http.server.ThreadingHTTPServer):
    """Keeps what it was sent. As ntfy does, it gives the messages of the topic `answers` to those who read it."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.got, self.refuse = [], ()
        self.answers, self.readers, self.asked_since = [], [], []
        self.changed = threading.Condition()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return "http://127.0.0.1:%d/requests" % self.server_port

    def end(self):
        self.hang_up()
        self.shutdown()
        self.server_close()

    def hang_up(self):
        """Ends the connections of all readers."""
        with self.changed:
            for reader in self.readers:
                reader.put(None)
            self.readers = []

    def publish(self, text):
        with self.changed:
            self.answers.append({"id": "m%d" % len(self.answers), "event": "message", "topic": "answers", "message": text})
            for reader in self.readers:
                reader.put(self.answers[-1])

    def subscribe(self, since):
        """Returns what was said after the message `since`, and a queue of what follows."""
        with self.changed:
            self.asked_since.append(since)
            ids = [one["id"] for one in self.answers]
            reader = queue.Queue()
            for one in self.answers[ids.index(since) + 1 if since in ids else len(ids):]:
                reader.put(one)
            self.readers.append(reader)
            return reader

    def pushed(self):
        """The pushes, by what stands in them."""
        return {body: headers for method, path, headers, body in self.got if (method, path) == ("POST", "/requests")}

    def press(self, subject, label):
        """Sends what the phone sends when a button of the push is pressed, and returns the token."""
        action, = [one for one in json.loads(self.pushed()[subject]["actions"]) if one["label"] == label]
        body = action["body"].encode()
        urllib.request.urlopen(urllib.request.Request(action["url"], method=action["method"], data=body, headers=action["headers"]), timeout=LIMIT_S).close()
        return action["body"]


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        headers = {name.lower(): value.encode("latin-1").decode() for name, value in self.headers.items()}
        self.server.got.append((self.command, self.path, headers, body))
        if self.path == "/answers":
            self.server.publish(body)
        self.send_response(405 if self.command in self.server.refuse else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_DELETE = answer

    def do_GET(self):
        self.server.got.append((self.command, self.path, {}, ""))
        reader = self.server.subscribe(self.path.partition("since=")[2])
        self.send_response(200)
        self.end_headers()
        one = {"id": "o", "event": "open", "topic": "answers"}
        while one:
            self.wfile.write(json.dumps(one).encode() + b"\n")
            one = reader.get()

    def log_message(self, *_):
        pass


class Programs(ProcessTest):
    def setUp(self):
        super().setUp()
        self.server = Server()
        self.stops.append(self.server.end)
        self.env = dict(alone(self.folder), INBOX_POLLER_PAGE="http://127.0.0.1:8474", SLACK_WEBHOOK=self.server.address,
                        NTFY_URL=self.server.address, NTFY_TOKEN="tk_1")

    def tell(self, program, told):
        done = subprocess.run([sys.executable, "-B", str(NOTIFY / program)], input=json.dumps(told), env=self.env, text=True, capture_output=True,
                              timeout=LIMIT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_ntfy_pushes_a_short_line_and_withdraws_it(self):
        self.tell("ntfy", dict(request(subject=HOSTILE), event="asked"))
        method, path, headers, body = self.server.got[0]
        self.assertEqual((method, path, headers["authorization"], headers["x-sequence-id"]), ("POST", "/requests", "Bearer tk_1", "a" * 32))
        self.assertEqual((headers["title"], headers["click"]), ("ada asks (demo)", "http://127.0.0.1:8474/#/request/" + "a" * 32))
        self.assertNotIn("actions", headers)
        self.assertLessEqual(len(body), 80)
        self.assertTrue(body.startswith("Bash: curl <U+202E><b>"), body)
        self.assertNotIn("secret", json.dumps(self.server.got))
        self.tell("ntfy", dict(request(), event="decided", state="approved", decided_by="carol"))
        self.assertEqual(self.server.got[1][:2], ("DELETE", "/requests/" + "a" * 32))
        self.server.refuse = ("DELETE",)
        self.tell("ntfy", dict(request(), event="decided", state="approved", decided_by="carol"))
        self.assertEqual(self.server.got[3][3], "approved by carol: Bash: make deploy")

    def test_many_requests_are_one_notice(self):
        self.tell("ntfy", {"event": "reminder", "requests": [request("%032d" % i, "Bash: make %d" % i, team="t%d" % (i % 5)) for i in range(300)]})
        (_, _, headers, body), = self.server.got
        self.assertEqual((headers["title"], headers["click"]), ("Still open: 300 requests (t0, t1, t2)", "http://127.0.0.1:8474/"))
        self.assertEqual(body.split("\n")[-1], "and 295 more")

    def test_slack_gets_no_markup_of_a_worker(self):
        self.tell("slack", dict(request(subject="Bash: <!channel> `rm` *x* <http://evil.test|safe> & @here"), event="asked"))
        text = json.loads(self.server.got[0][3])["text"]
        self.assertNotIn("<!channel>", text)
        self.assertNotIn("<http://evil", text)
        self.assertEqual(text.count("`"), 2)
        self.assertIn("&lt;!channel&gt;", text)
        self.assertTrue(text.endswith("<http://127.0.0.1:8474/#/request/%s|open>" % ("a" * 32)))
        self.tell("slack", dict(request(), event="decided", state="denied", decided_by="carol"))
        self.assertEqual(json.loads(self.server.got[1][3])["text"], "Answered: `denied by carol: Bash: make deploy`")

    def test_the_desktop_s_notice_goes_when_the_request_is_decided(self):
        programs, said = self.folder / "bin", self.folder / "said"
        programs.mkdir()
        stand_in = programs / "notify-send"
        stand_in.write_text('#!/bin/sh\nprintf "%%s\\n" "$*" >> %s\necho 42\n' % said, "utf-8")
        stand_in.chmod(stat.S_IRWXU)
        self.env["PATH"] = "%s:%s" % (programs, os.environ["PATH"])
        self.tell("desktop", dict(request(subject="Bash: <b>x</b> && y"), event="asked"))
        self.tell("desktop", dict(request(), event="decided", state="approved", decided_by="carol"))
        self.tell("desktop", dict(request(), event="decided", state="approved", decided_by="carol"))  # it is gone already
        text = said.read_text("utf-8")
        self.assertIn("-- ada asks (demo) Bash: &lt;b&gt;x&lt;/b&gt; &amp;&amp; y", text)
        self.assertIn("--replace-id=42 --expire-time=1", text)
        self.assertEqual(text.count("--app-name"), 2)

    def test_from_the_daemon_to_the_server_and_back(self):
        team = self.make_team()
        self.start_daemon(team)
        process = subprocess.Popen([sys.executable, "-B", str(NOTIFY / "watch"), "--socket", self.daemon.socket, "--gather", "0", "--", sys.executable,
                                    "-B", str(NOTIFY / "ntfy")], env=self.env)
        self.stops.append(lambda: (process.terminate(), process.wait(LIMIT_S)))
        worker = self.start_worker(team, "ada")
        one = self.pending_id(worker.ask("permission", tool="Bash", input={"command": "make deploy TOKEN=abcdefghijklmnop0123456789"}))
        wait_for("it is pushed", lambda: self.server.got)
        self.assertNotIn("abcdefghijklmnop0123456789", json.dumps(self.server.got))
        self.daemon.answer("approve", one["request_id"], by="carol")
        wait_for("it is withdrawn", lambda: [got for got in self.server.got if got[:2] == ("DELETE", "/requests/" + one["message_key"])])


class Buttons(ProcessTest):
    """An answer from a notice, from the daemon through the server to the phone and back."""

    def setUp(self):
        super().setUp()
        self.server = Server()
        self.stops.append(self.server.end)
        self.env = dict(alone(self.folder), NTFY_URL=self.server.address, NTFY_ANSWERS=self.server.address.replace("requests", "answers"),
                        NTFY_ANSWERS_TOKEN="tk_writes")
        self.said = self.folder / "said"

    def watch(self, program, *options):
        with self.said.open("ab") as said:
            process = subprocess.Popen([sys.executable, "-B", str(NOTIFY / "watch"), "--socket", self.daemon.socket, "--gather", "0", *options, "--",
                                        sys.executable, "-B", str(NOTIFY / program)], env=self.env, stderr=said)
        self.stops.append(lambda: (process.terminate(), process.wait(LIMIT_S)))
        return process

    def says(self, text, times=1):
        wait_for("watch says %r" % text, lambda: self.said.read_text("utf-8").count(text) >= times)
        self.assertEqual(self.said.read_text("utf-8").count(text), times)

    def ask(self, name, command):
        return self.pending_id(self.workers[name].ask("permission", tool="Bash", input={"command": command, "description": "builds"}))["request_id"]

    def start(self, *options, program="ntfy"):
        team = self.make_team()
        self.start_daemon(team)
        self.workers = {name: self.start_worker(team, name) for name in ("ada", "bob")}
        return self.watch(program, *options)

    def decisions(self):
        return {one["request_id"]: (one["state"], one["decided_by"]) for one in self.daemon.ask("decisions")["decisions"]}

    def is_pushed(self, command):
        return wait_for("%s is pushed" % command, lambda: self.server.pushed().get("Bash: " + command))

    def test_a_press_answers_its_request_once_and_no_other_one(self):
        self.start("--answer-as", "carol")
        one, two = self.ask("ada", "make one"), self.ask("bob", "make two")
        actions = json.loads(self.is_pushed("make one")["actions"])
        self.is_pushed("make two")
        self.assertEqual([(a["action"], a["label"], a["method"], a["clear"], a["headers"]["Authorization"]) for a in actions],
                         [("http", "Approve", "POST", True, "Bearer tk_writes"), ("http", "Deny", "POST", True, "Bearer tk_writes")])
        self.server.press("Bash: make two", "Approve")
        self.assertEqual(self.answer(self.workers["bob"], two)["event"], "ran")
        self.assertEqual(self.decisions(), {two: ("approved", "carol")})
        self.says("approve of %s (Bash: make two): approved" % two)

        self.server.press("Bash: make two", "Approve")
        self.server.press("Bash: make two", "Deny")
        self.says("by a token that is used was ignored", 2)
        self.server.publish("guessed")
        self.says("by a token that is unknown was ignored")
        self.assertEqual((self.decisions(), [r["request_id"] for r in self.daemon.ask("pending")["requests"]]), ({two: ("approved", "carol")}, [one]))

        self.server.press("Bash: make one", "Deny")
        refused = self.answer(self.workers["ada"], one)
        self.assertEqual((refused["event"], self.decisions()[one]), ("refused", ("denied", "carol")))
        tokens = [a["body"] for pushed in self.server.pushed().values() for a in json.loads(pushed.get("actions", "[]"))]
        self.assertEqual((len(tokens), len(set(tokens))), (4, 4))
        self.assertFalse([token for token in tokens if token in self.said.read_text("utf-8")])

    def test_a_token_ends_with_its_request(self):
        self.start("--answer-as", "carol")
        one = self.ask("ada", "make one")
        self.is_pushed("make one")
        self.daemon.answer("deny", one, by="dave")
        wait_for("the push is withdrawn", lambda: [got for got in self.server.got if got[0] == "DELETE"])
        self.server.press("Bash: make one", "Approve")
        self.says("by a token that is expired was ignored")
        self.assertEqual(self.decisions(), {one: ("denied", "dave")})

    def test_a_press_while_nobody_reads_is_read_later_and_nothing_is_read_twice(self):
        self.start("--answer-as", "carol")
        one, two = self.ask("ada", "make one"), self.ask("bob", "make two")
        self.is_pushed("make one")
        self.is_pushed("make two")
        self.server.press("Bash: make one", "Approve")
        self.says("approve of %s (Bash: make one): approved" % one)
        self.server.hang_up()
        self.server.press("Bash: make two", "Approve")
        self.says("approve of %s (Bash: make two): approved" % two)
        self.assertEqual(self.server.asked_since[1:], ["m0"])
        self.assertNotIn("ignored", self.said.read_text("utf-8"))

    def test_only_what_the_notice_shows_whole_can_be_approved(self):
        self.start("--answer-as", "carol")
        self.pending_id(self.workers["ada"].ask("permission", tool="Bash", input={"command": "make a\nmake b"}))
        pushed = wait_for("it is pushed", lambda: self.server.pushed().get("Bash: make a (+1 lines)"))
        self.assertEqual([one["label"] for one in json.loads(pushed["actions"])], ["Deny"])

    def test_without_the_option_there_is_no_button_and_nobody_reads(self):
        self.start()
        self.ask("ada", "make one")
        self.assertNotIn("actions", self.is_pushed("make one"))
        self.assertFalse([got for got in self.server.got if got[0] == "GET"])

    def test_the_listener_ends_with_watch(self):
        watch = self.start("--answer-as", "carol")
        wait_for("it reads", lambda: self.server.readers)
        listener, = [int(name) for name in os.listdir("/proc") if name.isdigit() and self.is_listener(name)]
        watch.kill()
        wait_for("it is gone", lambda: not self.is_listener(str(listener)))

    def is_listener(self, number):
        try:
            words = pathlib.Path("/proc", number, "cmdline").read_bytes().split(b"\0")
            return b"--listen" in words and str(self.folder).encode() in pathlib.Path("/proc", number, "environ").read_bytes()
        except OSError:
            return False

    def test_a_program_without_a_way_back_is_refused(self):
        del self.env["NTFY_ANSWERS"]
        self.assertEqual(self.start("--answer-as", "carol").wait(LIMIT_S), 2)
        self.says("ntfy: NTFY_ANSWERS is not set, or it is the topic of NTFY_URL; name a second topic for the answers\n")
        self.assertEqual(self.watch("slack", "--answer-as", "carol").wait(LIMIT_S), 2)
        self.says("slack: a webhook takes no answers; use desktop or ntfy, or leave --answer-as out\n")

    def test_a_press_on_the_desktop_answers(self):
        programs = self.folder / "bin"
        programs.mkdir()
        program = programs / "notify-send"
        program.write_text(NOTIFY_SEND.format(folder=self.folder), "utf-8")
        program.chmod(stat.S_IRWXU)
        self.env["PATH"] = "%s:%s" % (programs, os.environ["PATH"])
        self.start("--answer-as", "carol", program="desktop")
        one = self.ask("ada", "make one")
        wait_for("it is shown", lambda: "make one" in self.shown())
        self.assertIn("--action=approve=Approve --action=deny=Deny", self.shown())
        (self.folder / "press-1").write_text("approve\n")
        self.assertEqual(self.answer(self.workers["ada"], one)["event"], "ran")
        self.assertEqual(self.decisions(), {one: ("approved", "carol")})

        two = self.ask("bob", "make two")
        wait_for("it is shown", lambda: "make two" in self.shown())
        number = next(line.split()[0] for line in self.shown().splitlines() if "make two" in line)
        self.daemon.answer("deny", two, by="dave")
        wait_for("the notice says it", lambda: "denied by dave" in self.shown())
        wait_for("nothing waits for a press", lambda: (self.folder / ("ended-" + number)).exists())

    def shown(self):
        path = self.folder / "shown"
        return path.read_text("utf-8") if path.exists() else ""


# Counts its notices; one with buttons waits for a press, and says that it has ended.
NOTIFY_SEND = """#!/bin/sh
number=1
until mkdir {folder}/notice-$number 2>/dev/null; do number=$((number + 1)); done
mkfifo {folder}/press-$number
echo $number
printf '%s %s\\n' "$number" "$(printf '%s' "$*" | tr '\\n' ' ')" >> {folder}/shown
case $* in *--action*) ;; *) exit ;; esac
cat {folder}/press-$number &
trap 'kill $!; touch {folder}/ended-'$number'; exit' TERM
wait
"""


class Tokens(unittest.TestCase):
    """What a token answers, without a daemon and a clock."""

    def setUp(self):
        self.module = module("answers.py")
        self.decided, self.said, self.now = [], [], 1000
        self.away = False
        self.answers = self.module.Answers(self.decide, self.said.append, lambda: self.now)

    def decide(self, answer, one):
        if self.away:
            raise OSError("no daemon")
        self.decided.append((answer, one["message_key"]))
        return "done"

    def request(self, key, **fields):
        return request(key, **dict({"kind": "permission", "tool": "Bash", "body": '{"command":"make deploy"}', "request_id": "perm-" + key}, **fields))

    def test_a_token_answers_its_request_and_counts_once(self):
        a, b = self.answers.buttons(self.request("a")), self.answers.buttons(self.request("b"))
        self.assertEqual(self.answers.buttons(self.request("a")), a)  # a reminder has the same
        self.answers.take(b["deny"])
        self.answers.take(b["deny"])
        self.answers.take(b["approve"])
        self.answers.take("")
        self.answers.take(b["deny"] + "x")
        self.assertEqual(self.decided, [("deny", "b")])
        self.assertEqual([text.split(" is ")[-1] for text in self.said[1:]], ["used was ignored"] * 2 + ["unknown was ignored"] * 2)
        self.answers.take(a["approve"])
        self.assertEqual(self.decided[1:], [("approve", "a")])

    def test_a_token_ends_with_its_request_and_at_its_deadline(self):
        a, b = self.answers.buttons(self.request("a")), self.answers.buttons(self.request("b", deadline_ms=2000))
        self.answers.keep({"b"})
        self.answers.take(a["approve"])
        self.now = 2000
        self.answers.take(b["approve"])
        self.answers.take(b["deny"])
        self.assertEqual((self.decided, [("expired" in text) for text in self.said]), ([], [True] * 3))

    def test_a_press_that_no_daemon_took_counts_again(self):
        a = self.answers.buttons(self.request("a"))
        self.away = True
        self.answers.take(a["approve"])
        self.assertIn("press again", self.said[0])
        self.away = False
        self.answers.take(a["approve"])
        self.answers.take(a["deny"])
        self.assertEqual((self.decided, self.said[2]), ([("approve", "a")], "an answer by a token that is used was ignored"))

    def test_ended_tokens_are_forgotten_at_last(self):
        self.module.MOST_ENDED = 3
        tokens = []
        for key in "abcd":
            tokens.append(self.answers.buttons(self.request(key))["deny"])
            self.answers.take(tokens[-1])
        self.said.clear()
        for token in tokens:
            self.answers.take(token)
        self.assertEqual([text.split()[-3] for text in self.said], ["unknown", "unknown", "used", "used"])

    def test_approve_is_there_only_for_what_is_shown_whole(self):
        def bash(command, subject=None, **more):
            return self.request("k", subject=subject or "Bash: " + command, body=json.dumps(dict({"command": command}, **more)))
        cases = [(True, bash("make deploy")), (True, bash("make deploy", description="it deploys")), (False, bash("make " + "x" * 80)),
                 (False, bash("make", run_in_background=True)), (False, bash("make TOKEN=abc", "Bash: make TOKEN=***")), (False, bash("make\nrm", "Bash: make (+1 lines)")),
                 (False, bash("a\u202eb")), (False, self.request("k", subject="Write: /x", tool="Write", body='{"file_path":"/x","content":"y"}')),
                 (False, self.request("k", body="{")), (False, self.request("k", body='{"command":7}')), (False, self.request("k", body="[]")),
                 (True, self.request("k", kind="sandbox", subject="example.com", body="")), (True, self.request("k", kind="sandbox", subject="a.b", body="a.b")),
                 (False, self.request("k", kind="sandbox", subject="a." * 41, body="")), (False, self.request("k", kind="sandbox", subject="a.b", body="A.b:80")), (False, self.request("k", kind="plan", subject="A plan", body="A plan")),
                 (False, self.request("k", kind="stop", subject="to stop", body=""))]
        for number, (whole, one) in enumerate(cases):
            buttons = self.answers.buttons(dict(one, message_key=str(number)))
            self.assertEqual(sorted(buttons), ["approve", "deny"] if whole else ["deny"], one)


class Looks(unittest.TestCase):
    """What watch tells, and when: without a clock."""

    def setUp(self):
        self.module = module("watch")
        self.told, self.fails = [], False
        self.watch = self.module.Watch(self.tell, 3.0)

    def tell(self, told):
        if self.fails:
            raise OSError("no network")
        self.told.append((told["event"], [one["message_key"] for one in told["requests"]], *(told["notices"] if told["event"] == "decided" else [])))

    def look(self, now, *requests, quiet=False, decisions=()):
        self.told = []
        self.watch.look(requests, lambda: decisions, now, quiet)
        return self.told

    def test_what_comes_together_is_told_together_and_once(self):
        a, b, c = request("a"), request("b"), request("c", answers="verified")
        self.assertEqual(self.look(100, a), [])
        self.assertEqual(self.look(102, a, b, c), [])
        self.assertEqual(self.look(103, a, b, c), [("asked", ["a", "b"])])  # c cannot be answered from here
        self.assertEqual(self.look(200, a, b, c), [])
        self.assertEqual(self.look(201, b), [])  # its notice is b's, too
        self.assertEqual(self.look(202), [("decided", ["a", "b"], "a")])
        self.assertEqual(self.look(203), [])

    def test_what_is_decided_before_it_was_told_is_nobody_s_business(self):
        self.assertEqual(self.look(100, request("a")) + self.look(101) + self.look(110), [])

    def test_a_few_requests_with_buttons_have_a_notice_each(self):
        self.watch = self.module.Watch(self.tell, 3.0, most_apart=2)
        few = request("a"), request("b")
        self.look(100, *few)
        self.assertEqual(self.look(103, *few), [("asked", ["a"]), ("asked", ["b"])])
        many = few + (request("c"), request("d"), request("e"))
        self.look(110, *many)
        self.assertEqual(self.look(113, *many), [("asked", ["c", "d", "e"])])
        self.assertEqual(self.look(114, *many[1:]), [("decided", ["a"], "a")])

    def test_half_of_the_time_is_a_reminder_once(self):
        a = request("a", asked_ms=100_000, deadline_ms=700_000)
        self.look(100, a)
        self.look(103, a)
        self.assertEqual(self.look(399, a), [])
        self.assertEqual(self.look(400, a), [("reminder", ["a"])])
        self.assertEqual(self.look(401, a), [])
        self.assertEqual(self.look(402), [("decided", ["a"], "a", "a-again")])

    def test_at_night_only_what_takes_a_notice_away(self):
        a, b = request("a"), request("b")
        self.look(100, a)
        self.look(103, a)
        self.assertEqual(self.look(110, a, b, quiet=True) + self.look(120, a, b, quiet=True), [])
        self.assertEqual(self.look(130, b, quiet=True), [("decided", ["a"], "a")])
        self.assertEqual(self.look(140, b), [("asked", ["b"])])

    def test_what_could_not_be_told_is_told_later(self):
        a = request("a")
        self.look(100, a)
        self.fails = True
        with self.assertRaises(OSError):
            self.look(103, a)
        self.fails = False
        self.assertEqual(self.look(105, a), [("asked", ["a"])])

    def test_a_notice_that_cannot_be_taken_away_keeps_no_new_request_back(self):
        self.look(100, request("a"))
        self.look(103, request("a"))
        said, self.watch.tell = self.watch.tell, lambda told: self.tell(told) if told["event"] == "asked" else exec("raise OSError")
        self.told = []
        for now in (110, 113):
            with self.assertRaises(OSError):
                self.watch.look([request("b")], lambda: (), now, False)
        self.assertEqual(self.told, [("asked", ["b"])])
        self.watch.tell = said
        self.assertEqual(self.look(114, request("b")), [("decided", ["a"], "a")])

    def test_hours_that_are_none_are_refused(self):
        for wrong in ("foo", "25:99-7", "22-7", "22:00", "22:00-24:00"):
            with self.assertRaises(argparse.ArgumentTypeError):
                self.module.hours_of(wrong)

    def test_without_a_runtime_folder_the_socket_is_in_the_state_folder(self):
        code = "import notice; print(notice.own_folder())"
        for env, folder in (({"XDG_RUNTIME_DIR": "/r", "HOME": "/h"}, "/r/inbox-poller"), ({"HOME": "/h"}, "/h/.local/state/inbox-poller"),
                            ({"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/inbox-poller")):
            done = subprocess.run([sys.executable, "-B", "-c", code], cwd=NOTIFY, env=env, stdout=subprocess.PIPE, text=True, check=True)
            self.assertEqual(done.stdout.strip(), folder)

    def test_hours(self):
        night = self.module.hours_of("22:00-07:00")
        self.assertEqual([self.module.is_quiet(night, at) for at in ((21, 59), (22, 0), (3, 0), (6, 59), (7, 0))], [False, True, True, True, False])
        noon = self.module.hours_of("12:00-13:30")
        self.assertEqual([self.module.is_quiet(noon, at) for at in ((11, 59), (13, 29), (13, 30))], [False, True, False])
        self.assertFalse(self.module.is_quiet(None, (3, 0)))


if __name__ == "__main__":
    unittest.main()
