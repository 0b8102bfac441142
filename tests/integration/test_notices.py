"""deploy/notify: what reaches a person of open requests, through a stand-in server and a stand-in notify-send."""

import http.server
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import stat
import subprocess
import sys
import threading
import unittest

from case import ProcessTest
from daemon import LIMIT_S, alone, wait_for

NOTIFY = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "notify"
HOSTILE = "Bash: curl \u202e<b>&amp; `x` @everyone \x1b[2J " + "long " * 40


def request(key="a" * 32, subject="Bash: make deploy", **fields):
    return dict({"message_key": key, "subject": subject, "member": "ada", "team": "demo", "asked_ms": 0, "deadline_ms": 0,
                 "body": "the whole secret command"}, **fields)


class Server(http.server.ThreadingHTTPServer):
    """Keeps what it was sent."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.got, self.refuse = [], ()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return "http://127.0.0.1:%d/requests" % self.server_port

    def end(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        headers = {name.lower(): value.encode("latin-1").decode() for name, value in self.headers.items()}
        self.server.got.append((self.command, self.path, headers, body))
        self.send_response(405 if self.command in self.server.refuse else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_DELETE = answer

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


class Looks(unittest.TestCase):
    """What watch tells, and when: without a clock."""

    def setUp(self):
        loader = importlib.machinery.SourceFileLoader("notify_watch", str(NOTIFY / "watch"))
        spec = importlib.util.spec_from_loader(loader.name, loader)
        sys.dont_write_bytecode = True
        self.module = importlib.util.module_from_spec(spec)
        loader.exec_module(self.module)
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

    def test_hours(self):
        night = self.module.hours_of("22:00-07:00")
        self.assertEqual([self.module.is_quiet(night, at) for at in ((21, 59), (22, 0), (3, 0), (6, 59), (7, 0))], [False, True, True, True, False])
        noon = self.module.hours_of("12:00-13:30")
        self.assertEqual([self.module.is_quiet(noon, at) for at in ((11, 59), (13, 29), (13, 30))], [False, True, False])
        self.assertFalse(self.module.is_quiet(None, (3, 0)))


if __name__ == "__main__":
    unittest.main()
