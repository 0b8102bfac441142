"""The page's process over raw HTTP: who is let in, what is refused, that an answer is for one open request, and what it reports."""

import http.client
import pathlib
import re
import select
import socket
import stat
import subprocess
import types
import unittest

from case import ProcessTest
from daemon import LIMIT_S, wait_for
from page import Page


class Web(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.start_daemon(self.team)

    def page(self, *arguments, **options):
        return Page(self, *arguments, **options)

    def ask(self, worker, command="make deploy"):
        return self.pending_id(worker.ask("permission", tool="Bash", input={"command": command}))

    def answer(self, page, request, verdict="approve", **more):
        body = {"key": request["message_key"], "team": "demo", "kind": request["kind"], "verdict": verdict}
        body.update(more)
        return page.json("POST", "/api/answer", body)

    # --- who is let in ---

    def test_a_name_that_is_not_ours_is_answered_nothing(self):
        page = self.page("--server-name", "Box.example.com")
        page.enter()
        for host in ("evil.test", "evil.test:%d" % page.port, "127.0.0.1", "127.0.0.1:1", "localhost.evil.test:%d" % page.port, "", None):
            for method, path in (("GET", "/"), ("GET", "/metrics"), ("GET", "/api/decisions"), ("POST", "/api/answer")):
                with self.subTest(host=host, path=path):
                    self.assertEqual(page.request(method, path, Host=host, Origin="http://%s" % host)[0], 421)
        for host in (page.host, "localhost:%d" % page.port, "[::1]:%d" % page.port, "box.example.com", "LOCALHOST:%d" % page.port):
            with self.subTest(host=host):
                self.assertEqual(page.request("GET", "/", Host=host)[0], 200)

    def test_a_token_lets_one_browser_in_and_is_gone_then(self):
        page = self.page()
        token = page.link.partition("token=")[2]
        self.assertEqual(page.request("GET", "/api/decisions")[0], 401)
        self.assertEqual(page.request("GET", "/api/events")[0], 401)
        for wrong in (None, "", token[:-1], token[:-1] + ("0" if token[-1] != "0" else "1"), token + "0"):
            self.assertEqual(page.request("POST", "/api/session", {}, X_Inbox_Poller_Token=wrong)[0], 403, wrong)
        status, headers, _ = page.request("POST", "/api/session", {}, X_Inbox_Poller_Token=token)
        self.assertEqual(status, 200)
        self.assertRegex(headers["Set-Cookie"], r"^inbox-poller-%d=[0-9a-f]{64}; HttpOnly; SameSite=Strict; Path=/$" % page.port)
        self.assertEqual(page.request("POST", "/api/session", {}, X_Inbox_Poller_Token=token)[0], 403)
        link = page.next_link()
        self.assertNotIn(token, link)
        page.cookie = headers["Set-Cookie"].partition(";")[0]
        self.assertEqual(page.request("GET", "/api/decisions")[0], 200)
        name, _, secret = page.cookie.partition("=")
        for cookie in (name + "=" + secret[:-1], "inbox-poller-1=" + secret, name + "=", secret, name + "=" + "0" * 64):
            self.assertEqual(page.request("GET", "/api/decisions", Cookie=cookie)[0], 401, cookie)
        self.assertEqual(page.request("GET", "/api/decisions", Cookie="other=1; " + page.cookie)[0], 200)
        file = pathlib.Path(page.env["XDG_RUNTIME_DIR"]) / ("inbox-poller-web-%d.link" % page.port)
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        self.assertEqual(file.read_text("utf-8").split(), [link])
        self.assertEqual(page.stop(), 0)
        self.assertFalse(file.exists())
        again = self.page(port=page.port)
        again.cookie = page.cookie
        self.assertEqual(again.request("GET", "/api/decisions")[0], 401, "a session of an earlier start")

    def test_other_sites_and_other_pages_are_refused(self):
        page = self.page()
        page.enter()
        request = self.ask(self.start_worker(self.team, "ada"))
        body = {"key": request["message_key"], "team": "demo", "kind": "permission", "verdict": "approve"}
        for origin in (None, "null", "http://evil.test", "http://127.0.0.1:1", "http://" + page.host + ".evil.test", "http://localhost:%d" % page.port):
            self.assertEqual(page.request("POST", "/api/answer", body, Origin=origin)[0], 403, origin)
        for site in ("cross-site", "same-site", "x"):
            self.assertEqual(page.request("POST", "/api/answer", body, Sec_Fetch_Site=site)[0], 403, site)
            self.assertEqual(page.request("GET", "/api/decisions", Sec_Fetch_Site=site)[0], 403, site)
            self.assertEqual(page.request("GET", "/metrics", Sec_Fetch_Site=site)[0], 403, site)
            self.assertEqual(page.request("GET", "/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="iframe")[0], 403, site)
        self.assertEqual(page.request("GET", "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document")[0], 200)
        for kind in (None, "text/plain", "application/x-www-form-urlencoded"):
            self.assertEqual(page.request("POST", "/api/answer", body, Content_Type=kind)[0], 415, kind)
        for method in ("PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"):
            self.assertEqual(page.request(method, "/")[0], 405, method)
        self.assertEqual(len(self.daemon.ask("pending")["requests"]), 1)

    def test_every_answer_says_that_nothing_is_kept_framed_or_loaded_from_elsewhere(self):
        page = self.page()
        page.enter()
        for path, status, kind in (("/", 200, "text/html; charset=utf-8"), ("/app.js", 200, "text/javascript"), ("/uplot.js", 200, "text/javascript"),
                                   ("/licenses/htm.txt", 200, "text/plain; charset=utf-8"), ("/api/decisions", 200, "application/json"), ("/nothing", 404, "application/json")):
            with self.subTest(path):
                answer, headers, text = page.request("GET", path)
                self.assertEqual((answer, headers["Content-Type"]), (status, kind))
                self.assertRegex(headers["Content-Security-Policy"], r"^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$")
                self.assertEqual((headers["X-Content-Type-Options"], headers["Cache-Control"], headers["X-Frame-Options"]), ("nosniff", "no-store", "DENY"))
                self.assertIsNone(headers["Access-Control-Allow-Origin"])
                self.assertIsNone(headers["Server"])
        events = page.events()
        self.addCleanup(events.close)
        self.assertIn("frame-ancestors 'none'", events.answer.headers["Content-Security-Policy"])
        served = page.request("GET", "/")[2] + page.request("GET", "/app.js")[2]
        self.assertEqual(re.findall(r"https?://", served), [], "the page loads nothing from elsewhere")

    def test_what_is_too_much_is_refused_and_others_are_answered(self):
        page = self.page()
        page.enter()
        self.assertEqual(page.request("POST", "/api/answer", b"x" * (65 << 10))[0], 413)
        self.assertEqual(page.request("GET", "/", X_Long="x" * (17 << 10))[0], 431)
        self.assertEqual(page.request("POST", "/api/answer", b"{")[0], 400)
        with socket.create_connection(("127.0.0.1", page.port), timeout=LIMIT_S) as raw:
            raw.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
            self.assertTrue(raw.recv(100).startswith(b"HTTP/1.1 400 "))
        with socket.create_connection(("127.0.0.1", page.port), timeout=LIMIT_S) as twice:
            twice.sendall(("GET / HTTP/1.1\r\nHost: %s\r\nHost: evil.test\r\nConnection: close\r\n\r\n" % page.host).encode())
            self.assertTrue(twice.recv(100).startswith(b"HTTP/1.1 421 "))

    def test_idle_connections_without_a_session_keep_nobody_out(self):
        page = self.page()
        page.enter()
        events = page.events()
        self.addCleanup(events.close)
        events.next("requests")
        mine = http.client.HTTPConnection("127.0.0.1", page.port, timeout=LIMIT_S)  # kept open, with the session

        def ask_again():
            mine.request("GET", "/api/decisions", headers={"Host": page.host, "Cookie": page.cookie})
            return mine.getresponse().read()

        first = ask_again()
        idle = []
        for number in range(600):
            idle.append(socket.create_connection(("127.0.0.1", page.port), timeout=LIMIT_S))
            self.addCleanup(idle[-1].close)
            if number % 2:
                idle[-1].sendall(b"GET / HTTP/1.1\r\nHost:")
            if number % 100 == 99:
                self.assertEqual(page.request("GET", "/healthz", Cookie=None)[0], 200)
                self.assertEqual(page.request("GET", "/")[0], 200)
                self.assertEqual(ask_again(), first)
        self.assertEqual(idle[0].recv(1), b"", "the oldest goes first")
        request = self.ask(self.start_worker(self.team, "ada"))
        self.assertEqual(events.next("requests", lambda told: told["put"])["put"][0]["key"], request["message_key"])
        self.assertEqual(self.answer(page, request)[1]["state"], "approved")
        self.assertEqual(ask_again()[:10], first[:10])
        mine.close()

    # --- requests and answers ---

    def test_a_request_appears_with_everything_and_its_answer_reaches_the_worker(self):
        page = self.page()
        page.enter()
        events = page.events()
        self.addCleanup(events.close)
        self.assertEqual(events.next("requests"), {"all": True, "put": [], "gone": []})
        worker = self.start_worker(self.team, "ada")
        odd = self.ask(worker, "make \u202e# <img src=x onerror=alert(1)>")
        row = events.next("requests", lambda told: told["put"])["put"][0]
        self.assertEqual(row["key"], odd["message_key"])
        self.assertIn("<U+202E>", row["content"])
        self.assertNotIn("\u202e", row["content"] + row["subject"])
        self.assertIn("<img src=x onerror=alert(1)>", row["content"])
        request = self.ask(worker, "git status && make deploy")
        row = events.next("requests", lambda told: told["put"])["put"][0]
        self.assertEqual((row["key"], row["member"], row["team"], row["kind"]), (request["message_key"], "ada", "demo", "permission"))
        self.assertEqual([bool(part["rule"]) for part in row["parts"]], [True, False])
        self.assertTrue(row["why"])
        status, told = self.answer(page, request)
        self.assertEqual((status, told["ok"], told["state"]), (200, True, "approved"))
        self.assertEqual(ProcessTest.answer(self, worker, request["request_id"])["event"], "ran")
        gone = events.next("requests", lambda told: told["gone"])["gone"][0]
        self.assertEqual((gone["key"], gone["state"], gone["by"]), (request["message_key"], "approved", "carol"))
        later = page.events()
        self.addCleanup(later.close)
        later.next("teams", lambda told: any(team["decided"] == 1 for team in told["put"]))

    def test_an_answer_is_for_a_request_that_is_open_as_it_was_shown(self):
        page = self.page()
        page.enter()
        worker = self.start_worker(self.team, "ada")
        request = self.ask(worker)
        status, told = self.answer(page, request, key="0" * 64)
        self.assertEqual((status, told["ok"]), (409, False))
        self.assertEqual(self.answer(page, request, "deny")[0], 400, "a denial says why")
        self.assertEqual(self.answer(page, request, "maybe")[0], 400)
        self.assertEqual(self.answer(page, request, team="")[0], 400)
        self.assertEqual(self.answer(page, request, kind="sandbox")[0], 409)
        self.assertEqual(len(self.daemon.ask("pending")["requests"]), 1)
        self.daemon.answer("deny", request["request_id"], by="bert", reason="no")
        status, told = self.answer(page, request)
        self.assertEqual((status, told["code"]), (409, "request.already_decided"))
        self.assertIn("already denied by bert", told["message"])
        again = self.ask(worker, "make again")
        self.assertEqual(self.answer(page, again, "deny", reason="not on a Friday")[1]["state"], "denied")
        self.assertEqual(ProcessTest.answer(self, worker, again["request_id"])["event"], "refused")

    def test_always_makes_the_rule_that_was_shown_or_none(self):
        page = self.page()
        page.enter()
        worker = self.start_worker(self.team, "ada")
        request = self.ask(worker, "make deploy")
        status, made = page.json("GET", "/api/rule?id=%s&team=demo&kind=permission" % request["message_key"])
        self.assertEqual((status, made["covers"]), (200, ["Bash: make deploy"]))
        status, told = self.answer(page, request, rule="Bash(*)")
        self.assertEqual((status, told["code"]), (409, "request.changed"))
        self.assertEqual(len(self.daemon.ask("pending")["requests"]), 1)
        status, told = self.answer(page, request, rule=made["rule"])
        self.assertEqual((status, told["rule_added"]), (200, made["rule"]))

    def test_looking_up_and_a_daemon_that_goes_and_comes(self):
        page = self.page()
        page.enter()
        events = page.events()
        self.addCleanup(events.close)
        self.team.say("bob", "hello <b>\u200b</b>")
        events.next("teams", lambda told: any(team["chat"]["queued"] for team in told["put"]))
        status, chat = page.json("GET", "/api/history?team=demo")
        self.assertEqual((status, chat["rows"][0]["sender"], chat["rows"][0]["text"]), (200, "bob", "hello <b><U+200B></b>"))
        self.team.say("bob", "once more")
        wait_for("both are there", lambda: len(page.json("GET", "/api/history")[1]["rows"]) == 2)
        for limit, rows in (("1", 1), ("0", 1), ("x", 2), ("1000", 2)):
            self.assertEqual(len(page.json("GET", "/api/history?limit=" + limit)[1]["rows"]), rows, limit)
        status, way = page.json("GET", "/api/trace?id=" + chat["rows"][0]["message_key"][:12])
        self.assertEqual(status, 200)
        self.assertIn("from bob", way["text"])
        self.assertEqual(page.request("GET", "/api/trace?id=none")[0] // 100, 4)
        self.assertEqual(page.request("GET", "/healthz")[:1] + page.request("GET", "/healthz")[2:], (200, "ok\n"))
        wait_for("it is ready", lambda: page.request("GET", "/readyz")[0] == 200)
        status, headers, text = page.request("GET", "/metrics", Cookie=None)
        self.assertEqual((status, headers["Content-Type"].partition(";")[0]), (200, "application/openmetrics-text"))
        self.assertIn('inbox_poller_chat_queued{team="demo"} 2\n', text)
        self.daemon.kill()
        self.assertFalse(events.next("daemon", lambda told: not told["up"])["up"])
        self.assertEqual([page.request("GET", path)[0] for path in ("/healthz", "/readyz", "/metrics", "/api/decisions")], [503] * 4)
        self.daemon.start()
        self.assertTrue(events.next("daemon", lambda told: told["up"])["up"])

    def test_the_socket_may_be_opened_by_a_service_manager(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            port = listener.getsockname()[1]
            wrapper = self.folder / "activate"  # as a service manager does: the socket is descriptor 3
            wrapper.write_text('#!/bin/sh\nexport LISTEN_FDS=1 LISTEN_PID=$$\nexec "$@" 3<&%d\n' % listener.fileno(), "utf-8")
            wrapper.chmod(0o755)
            page = self.page(through=[str(wrapper)], pass_fds=[listener.fileno()])
            self.assertEqual(page.port, port)
            self.assertEqual(page.request("GET", "/")[0], 200)

    def test_the_link_of_a_page_that_a_service_manager_starts_when_somebody_comes(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            place = "127.0.0.1:%d" % listener.getsockname()[1]
            wrapper = self.folder / "activate"
            wrapper.write_text('#!/bin/sh\nexport LISTEN_FDS=1 LISTEN_PID=$$\nexec "$@" 3<&%d\n' % listener.fileno(), "utf-8")
            wrapper.chmod(0o755)
            asked = subprocess.Popen([self.daemon.program, "web", "--link", "--listen", place, "--socket", self.daemon.socket],
                                     env=self.daemon.env, stdout=subprocess.PIPE, text=True)
            self.stops.append(lambda: (asked.poll() is None and asked.kill(), asked.communicate()))
            wait_for("somebody knocks", lambda: select.select([listener], [], [], 0)[0])
            page = self.page(through=[str(wrapper)], pass_fds=[listener.fileno()])
            said = asked.communicate(timeout=LIMIT_S)[0]
            self.assertEqual((asked.returncode, said.strip()), (0, page.link))  # nobody has used it yet

    def test_a_page_may_be_there_before_the_first_daemon_ever(self):
        daemon, folder = self.daemon, self.folder / "state" / "inbox-poller"
        self.stops.append(lambda: setattr(self, "daemon", daemon))
        self.daemon = types.SimpleNamespace(program=daemon.program, socket=str(folder / "control.sock"),
                                            env={name: value for name, value in daemon.env.items() if name != "XDG_RUNTIME_DIR"})
        page = self.page()
        self.assertEqual(page.request("GET", "/readyz")[0], 503)
        self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)
        self.assertIn("token=", page.next_link())

    def test_a_wrong_place_is_named(self):
        refused = self.daemon.cli("web", "--listen", "8474", expect=2)
        self.assertIn("127.0.0.1:8474", refused.stderr)
        for beyond in ("0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.com:80"):
            self.assertIn("of this machine alone", self.daemon.cli("web", "--listen", beyond, expect=2).stderr)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            refused = self.daemon.cli("web", "--listen", "127.0.0.1:%d" % taken.getsockname()[1], expect=1)
        self.assertIn("--listen takes another port", refused.stderr)
        self.assertIn("start one with", self.daemon.cli("web", "--link", "--listen", "127.0.0.1:1", expect=3).stderr)


if __name__ == "__main__":
    unittest.main()
