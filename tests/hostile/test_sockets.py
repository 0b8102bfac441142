"""Attacks on the control socket of a running daemon: what stands at its path, who connects, and what they send.

Parts of it are in tests/unit/poller/control/control_server_test.cpp; this is the whole of it, with other clients at work meanwhile. A hook's answer of
at most 10,000 characters, and what it makes of odd inputs, is in tests/integration/test_hooks.py (test_no_answer_is_longer_than_the_client_takes,
test_never_an_allow_when_anything_is_odd), a hook without a daemon or with a false one in test_hook_command.py (test_without_a_daemon_the_client_goes_on,
test_a_daemon_that_was_killed_or_does_not_answer_is_not_waited_for, test_an_impostor_s_answer_is_printed_only_when_it_is_one).
"""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
import unittest

import team as wire
from case import ProcessTest
from daemon import Control, Daemon, LIMIT_S, asan_options, team_toml, wait_for, write_private

STRANGER = 12345
MOST_REQUEST = 64 * 1024


class SocketAttacks(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()

    def serve(self):
        return self.start_daemon(self.team)

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.daemon.process.pid))

    def connect(self):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(peer.close)
        peer.settimeout(LIMIT_S)
        peer.connect(self.daemon.socket)
        return peer

    def settles(self, before):
        wait_for("as many descriptors as before (%d)" % before, lambda: self.descriptors() <= before)

    def is_served(self):
        request = wire.permission_request("ada", "Bash", {"command": "git status"})
        self.team.say("ada", request)
        wait_for("a worker is answered", lambda: self.team.replies("ada", request["request_id"]))

    def beside(self, attack):
        """Runs an attack while another client asks again and again; every question of that one has to be answered."""
        answered, failed, stop = [0], [], threading.Event()

        def neighbor():
            try:
                with Control(self.daemon.socket) as control:
                    while not stop.is_set():
                        self.assertTrue(control.ask("status")["ok"])
                        answered[0] += 1
                        stop.wait(0.01)  # clock: the pace of a peer; nothing is judged by it
            except (OSError, ValueError, AssertionError) as problem:
                failed.append(repr(problem))

        thread = threading.Thread(target=neighbor)
        thread.start()
        try:
            wait_for("the neighbor is served", lambda: answered[0] or failed)
            before = answered[0]
            attack()
            wait_for("the neighbor is still served", lambda: answered[0] > before or failed)
        finally:
            stop.set()
            thread.join()
        self.assertEqual(failed, [])

    # --- the place ---

    def test_the_socket_is_for_its_user_alone(self):
        self.make_daemon(team_toml(self.team))
        self.daemon.socket = str(self.folder / "made" / "by-us" / "control.sock")
        write_private(self.daemon.daemon_file, 'state_dir = "%s"\nsocket = "%s"\n' % (self.daemon.state, self.daemon.socket))
        mask = os.umask(0)
        try:
            self.daemon.start()
        finally:
            os.umask(mask)
        self.assertEqual(stat.S_IMODE(os.stat(self.daemon.socket).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(self.folder / "made" / "by-us").st_mode), 0o700)

    def test_a_path_that_no_socket_can_have_is_refused_in_a_sentence(self):
        self.make_daemon(team_toml(self.team))
        long = "/" + "x" * 60 + "/" + "y" * 46  # 108 bytes
        done = subprocess.run([*self.daemon.command(), "--socket", long], env=self.daemon.env, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("108 bytes long, a Unix socket's may be 107", done.stderr)
        self.assertIn("--socket PATH", done.stderr)
        write_private(self.daemon.daemon_file, 'state_dir = "%s"\nsocket = "%s"\n' % (self.daemon.state, long))
        done = subprocess.run(self.daemon.command(), env=self.daemon.env, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("is 108 characters long; a socket's path may have 107", done.stderr)

    def test_a_socket_that_a_killed_daemon_left_is_replaced(self):
        self.serve().kill()
        self.assertTrue(os.path.exists(self.daemon.socket))
        self.daemon.start()
        self.is_served()

    def test_what_is_not_ours_at_the_path_stays_and_is_told(self):
        self.make_daemon(team_toml(self.team))
        path = self.daemon.socket
        elsewhere = str(self.folder / "elsewhere.sock")

        def listener(at):
            listening = socket.socket(socket.AF_UNIX)
            self.addCleanup(listening.close)
            listening.bind(at)
            listening.listen(1)

        def link():
            listener(elsewhere)
            os.symlink(elsewhere, path)

        def file():
            write_private(path, "precious")

        for name, make, unmake in (("file", file, os.unlink), ("folder", lambda: os.mkdir(path), os.rmdir),
                                   ("FIFO", lambda: os.mkfifo(path), os.unlink), ("link", link, os.unlink),
                                   ("living listener", lambda: listener(path), os.unlink)):
            with self.subTest(name):
                make()
                before = os.lstat(path)
                done = subprocess.run(self.daemon.command(), env=self.daemon.env, capture_output=True, text=True, timeout=LIMIT_S)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(path, done.stderr)
                self.assertRegex(done.stderr, "something else has this name|another daemon answers")
                self.assertEqual(os.lstat(path).st_ino, before.st_ino)
                unmake(path)
        self.daemon.start()

    def test_of_two_daemons_that_find_the_same_stale_socket_one_gets_it_and_keeps_it(self):
        """The first is stopped between its failed connect and its removal of the stale socket. Each has a ledger of its own, so that only
        the socket is disputed."""
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")
        self.make_daemon(team_toml(self.team))
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(self.daemon.socket)
        stale.close()
        first, second = (Daemon(self.daemon.program, self.folder, team_toml(self.team)) for _ in range(2))
        for name, rival in (("first", first), ("second", second)):
            rival.log_path = self.folder / (name + ".log")
            rival.daemon_file = write_private(self.folder / (name + ".toml"), 'state_dir = "%s"\nsocket = "%s"\n' % (
                self.folder / name, rival.socket))
            rival.env["ASAN_OPTIONS"] = asan_options("verify_asan_link_order=0", "detect_leaks=0")
        command = first.command()
        first.command = lambda: ["strace", "-qq", "-o", "/dev/null", "-e", "trace=connect", "-e", "inject=connect:signal=STOP:when=1", *command]
        first.spawn()
        children = "/proc/%d/task/%d/children" % (first.process.pid, first.process.pid)

        looks = []  # strace holds the process at each call: it has stopped only where it has not gone on for a while

        def stopped():
            with open(children, encoding="ascii") as file:
                pids = file.read().split()
            if not pids:
                return None
            with open("/proc/%s/status" % pids[0], encoding="utf-8") as file:
                looks.append([line for line in file if line.startswith(("State:", "voluntary_ctxt_switches:"))])
            stands = len(looks) > 25 and "stop" in looks[-1][0] and all(look == looks[-1] for look in looks[-25:])
            return int(pids[0]) if stands and (self.folder / "first" / "ledger.sqlite3").exists() else None

        pid = wait_for("the first stands still", stopped)
        self.stops.append(lambda: first.running() and os.kill(pid, signal.SIGKILL))
        self.stops.append(lambda: second.running() and second.stop())
        second.spawn()
        left = wait_for("the second has left, or serves", lambda: not second.running() or second.log("daemon.started"))
        os.kill(pid, signal.SIGCONT)
        wait_for("the first serves", lambda: first.log("daemon.started"))
        self.assertEqual((left, second.process.poll()), (True, 1), second.tail(3))  # or the first has removed a living one's socket
        self.assertIn("another daemon is starting", second.tail(3))
        self.assertEqual(first.ask("status")["pid"], pid)

    # --- who connects ---

    def as_stranger(self, work):
        """What a process of another user gets to see; the folder is opened for it on purpose."""
        os.chmod(self.folder, 0o711)
        self.addCleanup(os.chmod, self.folder, 0o700)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(read)
                os.setgroups([])
                os.setgid(STRANGER)
                os.setuid(STRANGER)
                os.write(write, work())
            except OSError as problem:
                os.write(write, repr(problem).encode())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            said = pipe.read()
        os.waitpid(child, 0)
        return said

    def test_another_user_is_refused_even_where_the_modes_would_let_him_in(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.serve()
        request = wire.permission_request("ada", "Bash", {"command": "make"})
        self.team.say("ada", request)
        self.pending_id(request["request_id"])

        def approve():
            peer = socket.socket(socket.AF_UNIX)
            peer.settimeout(LIMIT_S)
            peer.connect(self.daemon.socket)
            try:
                peer.sendall(json.dumps({"verb": "approve", "id": request["request_id"], "by": "stranger"}).encode() + b"\n")
            except BrokenPipeError:
                pass
            return peer.recv(4096)

        self.assertIn(b"PermissionError", self.as_stranger(approve))  # mode 0600
        os.chmod(self.daemon.socket, 0o666)
        answer = json.loads(self.as_stranger(approve))
        self.assertEqual((answer["ok"], answer["code"]), (False, "control.foreign_peer"))
        self.pending_id(request["request_id"])
        self.assertEqual(self.team.replies("ada"), [])
        self.assertIn(str(STRANGER), self.daemon.log("control.problem", code="control.foreign_peer")[0]["reason"])

    def test_a_client_does_not_believe_a_listener_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.make_daemon(team_toml(self.team))
        place = self.folder / "place"
        place.mkdir()
        os.chmod(place, 0o777)
        self.daemon.socket = str(place / "control.sock")
        read, write = os.pipe()
        os.chmod(self.folder, 0o711)
        child = os.fork()
        if child == 0:
            try:
                os.setgid(STRANGER)
                os.setuid(STRANGER)
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(self.daemon.socket)
                listener.listen(4)
                os.write(write, b"x")
                listener.settimeout(LIMIT_S)
                peer, _ = listener.accept()
                peer.sendall(b'{"ok":true,"decision":"allow","output":"{\\"hookSpecificOutput\\":{\\"permissionDecision\\":\\"allow\\"}}"}\n')
                os.read(peer.fileno(), 1)  # until the daemon or the command has gone
                signal.pause()
            finally:
                os._exit(0)
        self.addCleanup(lambda: (os.kill(child, 9), os.waitpid(child, 0)))
        os.read(read, 1)
        done = self.daemon.cli("status", expect=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("belongs to another user", done.stderr)
        event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "x"}, "cwd": "/"}
        done = self.daemon.cli("hook", expect=0, stdin=json.dumps(event))
        self.assertEqual(done.stdout, "")

    # --- what they send ---

    def test_unknown_verbs_and_half_an_id_change_nothing(self):
        self.serve()
        request = wire.permission_request("ada", "Bash", {"command": "make"}, "perm-1-whole")
        self.team.say("ada", request)
        self.pending_id(request["request_id"])
        self.team.say("ada", dict(request, request_id="perm-1-other"))
        self.pending_id("perm-1-other")
        for verb in ("", "APPROVE", "approve ", "exec", "eval", "shutdown\n", "../approve", "allow_all", "\u0000approve"):
            answer = self.daemon.answer(verb, request["request_id"], by="x", rule="Bash(*)")
            self.assertEqual((answer["ok"], answer["code"]), (False, "verb.unknown"), verb)
        for verb in ("approve", "deny"):
            for part in ("perm", "perm-1", "perm-1-"):  # of two open requests
                answer = self.daemon.answer(verb, part, by="x", reason="x")
                self.assertEqual((answer["ok"], answer["code"]), (False, "request.ambiguous"), part)
            for part in ("", "per", "perm-1-whole ", "PERM-1-WHOLE", "%", "perm%", "*", "perm-1-whole\u0000x"):
                answer = self.daemon.answer(verb, part, by="x", reason="x")
                self.assertEqual((answer["ok"], answer["code"]), (False, "request.unknown"), part)
            done = self.daemon.cli(verb, "perm-1", *(["--reason", "x"] if verb == "deny" else []), expect=None)
            self.assertNotEqual(done.returncode, 0)
        for wrong in ({"ids": "perm-1-whole"}, {"ids": None}, {"ids": {"0": "perm-1-whole"}}, {"ids": 1}, {"ids": []}, {"ids": [1]},
                      {"ids": ["perm-1-whole", 1]}, {"ids": [["perm-1-whole"]]}, {"id": "perm-1-whole"}):
            self.assertFalse(self.daemon.ask("approve", by="x", **wrong)["ok"])
        self.pending_id(request["request_id"])
        self.assertEqual(self.team.replies("ada"), [])
        self.assertTrue(self.daemon.answer("approve", "perm-1-whole", by="x")["ok"])

    def test_garbage_is_refused_line_by_line_and_a_line_over_64_KiB_ends_the_connection(self):
        self.serve()
        before = self.descriptors()

        def attack():
            for garbage in (b"\x00\xff\xfe", b"[]", b"null", b'{"verb":', b"GET / HTTP/1.1", b"[" * 60000, b'{"verb":"status"}{"verb":"x"}',
                            b'{"verb":"\xc3\x28"}', b'{"verb":7}', b"\xef\xbb\xbf{}"):
                with Control(self.daemon.socket) as control:
                    control.socket.sendall(garbage + b"\n")
                    answer = json.loads(control.file.readline())
                    self.assertFalse(answer["ok"], garbage[:20])
                    self.assertTrue(control.ask("status")["ok"])  # the connection goes on
            with Control(self.daemon.socket) as control:
                control.socket.sendall(b'{"verb":"status","x":"' + b"x" * (MOST_REQUEST - 24) + b'"}\n')
                self.assertTrue(json.loads(control.file.readline())["ok"])
                try:
                    control.socket.sendall(b"x" * (4 * MOST_REQUEST))
                except (BrokenPipeError, ConnectionResetError):
                    pass
                self.assertEqual(json.loads(control.file.readline())["code"], "request.too_long")
                try:
                    self.assertEqual(control.file.readline(), b"")
                except ConnectionResetError:
                    pass

        self.beside(attack)
        self.settles(before)

    def test_many_idle_connections_and_half_lines_keep_nobody_out_and_are_given_back(self):
        self.serve()
        before = self.descriptors()

        def attack():
            idle = []
            for number in range(600):
                idle.append(self.connect())
                if number % 2:
                    idle[-1].sendall(b'{"verb":"sta')  # half a line, and then nothing
            for _ in range(3):
                self.assertTrue(self.daemon.ask("status")["ok"])  # a person gets in while all places are taken
            for peer in idle[:600 - 128:2]:
                self.assertIn(b"control.busy", peer.recv(4096))  # the oldest went
            self.is_served()  # files do not wait for sockets
            for peer in idle:
                peer.close()

        self.beside(attack)
        self.settles(before)
        self.assertEqual(len(self.daemon.log("control.problem", code="control.busy")), 1)  # said once
        self.assertTrue(self.daemon.ask("status")["ok"])

    def test_a_line_that_comes_byte_by_byte_is_given_ten_seconds_in_all(self):
        self.serve()
        before = self.descriptors()

        def attack():
            slow, half_open = self.connect(), self.connect()
            half_open.sendall(b'{"verb":"status"}\n{"verb":"st')
            half_open.shutdown(socket.SHUT_WR)
            self.assertTrue(json.loads(half_open.makefile("rb").readline())["ok"])
            started = time.monotonic()  # clock: a lower bound; a slow machine only adds to it
            try:
                for _ in range(10_000):
                    slow.sendall(b"{")
                    time.sleep(0.2)  # clock: the pace of a peer; each byte comes long before the ten seconds are over
                self.fail("it was never cut off")
            except (BrokenPipeError, ConnectionResetError):
                pass
            self.assertGreater(time.monotonic() - started, 9)  # clock: a lower bound; a slow machine only adds to it
            slow.close()
            half_open.close()

        self.beside(attack)
        self.settles(before)

    def test_ten_thousand_commands_at_once_are_answered_in_order_while_others_are_served(self):
        self.serve()
        before = self.descriptors()
        count = 10_000

        def attack():
            peer = self.connect()
            half = json.dumps({"verb": "trace", "id": "none"}).encode() + b"\n"
            other = json.dumps({"verb": "nonsense"}).encode() + b"\n"
            sender = threading.Thread(target=lambda: peer.sendall((half + other) * (count // 2)))
            sender.start()
            lines = peer.makefile("rb")
            codes = [json.loads(lines.readline())["code"] for _ in range(count)]
            sender.join()
            self.assertEqual(codes, ["request.unknown", "verb.unknown"] * (count // 2))
            peer.close()

        self.beside(attack)
        self.is_served()
        self.settles(before)

    def test_a_storm_of_connections_leaves_nothing_open(self):
        self.serve()
        before = self.descriptors()

        def storm(rounds):
            for number in range(rounds):
                peer = socket.socket(socket.AF_UNIX)
                try:
                    peer.connect(self.daemon.socket)
                    if number % 3 == 1:
                        peer.sendall(b'{"verb":"status"}\n')
                    if number % 3 == 2:
                        peer.sendall(b'{"verb":"recv","wait_ms":60000}\n')  # waits at our side when it goes
                except OSError:
                    pass  # as many as are taken are there
                peer.close()

        def attack():
            threads = [threading.Thread(target=storm, args=(300,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        self.beside(attack)
        self.is_served()
        self.settles(before)

    def test_a_hook_with_an_input_of_ten_megabytes_is_over_soon_and_allows_nothing(self):
        self.start_daemon(self.team, "[lead]\npermissions = true\n")
        event = {"hook_event_name": "PermissionRequest", "session_id": self.team.roster()["leadSessionId"], "cwd": "/", "tool_name": "Bash",
                 "tool_input": {"command": "git status"}}
        patience = ("--timeout", "5min")
        allowed = self.daemon.cli("hook", *patience, stdin=json.dumps(event))
        self.assertIn('"allow"', allowed.stdout)  # so the same with 10 MB more says something
        for event in (dict(event, pad="x" * 10_000_000), dict(event, tool_input={"command": "git status " + "x" * 10_000_000})):
            self.assertEqual(self.daemon.cli("hook", *patience, stdin=json.dumps(event)).stdout, "")
        self.is_served()

    def test_a_taker_that_is_gone_gives_back_what_it_was_lent(self):
        self.serve()
        for number in range(5):
            self.team.say("ada", "message %d" % number)
        wait_for("all are queued", lambda: self.status()["chat"]["queued"] == 5)
        peer = self.connect()
        peer.sendall(b'{"verb":"recv"}\n')
        self.assertTrue(json.loads(peer.makefile("rb").readline())["messages"])
        peer.close()
        wait_for("they are queued again", lambda: self.status()["chat"]["queued"] == 5)


if __name__ == "__main__":
    unittest.main()
