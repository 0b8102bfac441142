"""The daemon as a process: configuration errors, one daemon a ledger, signals, its log, its socket, the service manager."""

import json
import os
import signal
import socket
import stat
import subprocess
import unittest

import team as wire
from case import ProcessTest
from daemon import Daemon, LIMIT_S, team_toml, wait_for, write_private


class Process(ProcessTest):
    def test_mistakes_in_the_configuration_are_named_all_at_once_and_exit_with_2(self):
        team = self.make_team()
        bad = team_toml(team).replace("[sandbox]", "[sandboxx]").replace('timeout = "10min"', 'timeout = "soon"', 1)
        daemon = self.make_daemon(bad + '[limits]\nmessage = 7\n')
        for command in (daemon.command(), [daemon.program, "check-config", "--config", daemon.configs[0]]):
            done = subprocess.run(command, env=daemon.env, capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual(done.returncode, 2, done.stderr)
            text = done.stdout + done.stderr
            self.assertRegex(text, r"team-0\.toml:\d+:\d+: .*soon")
            self.assertRegex(text, r"team-0\.toml:\d+:\d+: .*sandboxx")
            self.assertRegex(text, r"team-0\.toml:\d+:\d+: .*message")
        self.assertEqual(subprocess.run([daemon.program, "run", "--no-such-option"], env=daemon.env, capture_output=True,
                                        timeout=LIMIT_S).returncode, 2)

    def test_a_configuration_that_others_may_write_is_refused(self):
        team = self.make_team()
        daemon = self.make_daemon(team_toml(team))
        os.chmod(daemon.configs[0], 0o666)
        done = subprocess.run(daemon.command(), env=daemon.env, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 2)
        self.assertIn("team-0.toml", done.stderr)

    def test_check_config_says_where_each_value_comes_from(self):
        team = self.make_team()
        daemon = self.make_daemon(team_toml(team))
        done = subprocess.run([daemon.program, "check-config", "--config", daemon.configs[0]], env=daemon.env, capture_output=True,
                              text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"poll_interval.*50ms.*team-0\.toml:\d+")
        self.assertRegex(done.stdout, r"busy_timeout.*default")

    def test_check_config_names_a_program_that_cannot_be_run(self):
        program = self.folder / "to-the-lead"
        daemon = self.make_daemon(team_toml(self.make_team(), more='[delivery]\nexec = ["%s"]\n' % program))
        command = [daemon.program, "check-config", "--config", daemon.configs[0]]
        done = subprocess.run(command, env=daemon.env, capture_output=True, text=True, timeout=LIMIT_S)
        reason = "team-0.toml: delivery.exec: cannot run %s: No such file or directory" % program
        self.assertIn(reason, " ".join(done.stderr.split()))
        told = subprocess.run([*command, "--json"], env=daemon.env, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertIn(reason, json.loads(told.stdout)["warnings"][0])
        program.write_text("#!/bin/sh\n")
        program.chmod(0o700)
        done = subprocess.run(command, env=daemon.env, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_without_a_daemon_every_command_says_so_and_exits_with_3(self):
        daemon = self.make_daemon(team_toml(self.make_team()))
        for command in (["status"], ["pending"], ["approve", "x"], ["deny", "x", "--reason", "y"], ["recv"], ["lead"],
                        ["send", "ada", "x"], ["broadcast", "x"], ["trace", "x"], ["quarantine"], ["ack", "x"]):
            with self.subTest(command[0]):
                done = daemon.cli(*command, expect=3)
                self.assertIn("daemon", done.stderr)

    def test_a_second_daemon_on_the_same_ledger_is_refused(self):
        team = self.make_team()
        self.start_daemon(team)
        second = Daemon(self.daemon.program, self.folder, team_toml(team))
        second.socket = str(self.folder / "other.sock")
        second.log_path = self.folder / "second.log"
        second.daemon_file = write_private(self.folder / "second.toml", 'state_dir = "%s"\nsocket = "%s"\n' % (
            second.state, second.socket))
        second.spawn()
        self.assertEqual(second.process.wait(LIMIT_S), 1, second.tail())
        self.assertIn(str(second.state), second.tail())
        self.assertTrue(self.daemon.ask("status")["ok"])

    def test_a_second_daemon_on_the_same_socket_is_refused(self):
        team = self.make_team()
        self.start_daemon(team)
        second = Daemon(self.daemon.program, self.folder, team_toml(team))
        second.log_path = self.folder / "second.log"
        second.daemon_file = write_private(self.folder / "second.toml", 'state_dir = "%s"\nsocket = "%s"\n' % (
            self.folder / "state2", second.socket))
        second.spawn()
        self.assertEqual(second.process.wait(LIMIT_S), 1, second.tail())
        self.assertTrue(self.daemon.ask("status")["ok"])

    def test_sigterm_and_sigint_finish_the_work_and_exit_with_0(self):
        team = self.make_team(era=wire.ERA1)
        for number in (signal.SIGTERM, signal.SIGINT):
            self.start_daemon(team)
            requests = [wire.permission_request("ada", "Bash", {"command": "git status"}) for _ in range(10)]
            for request in requests:
                team.say("ada", request)
            self.assertEqual(self.daemon.stop(number), 0, self.daemon.tail())
            self.assertFalse(os.path.exists(self.daemon.socket))
            self.assertFalse(os.path.exists(str(team.lead_inbox) + ".lock"))
            self.assertTrue(self.daemon.log("daemon.stopped"))
            self.daemon.start()  # whatever was not taken in before the signal is served now, once
            for request in requests:
                wait_for("an answer", lambda: team.replies("ada", request["request_id"]))
                self.assertEqual(len(team.replies("ada", request["request_id"])), 1)
            self.daemon.stop()

    def test_once_and_polls_serve_what_is_there_and_leave(self):
        team = self.make_team(era=wire.ERA1)
        request = wire.permission_request("ada", "Bash", {"command": "git status"})
        team.say("ada", request)
        daemon = self.make_daemon(team_toml(team), extra=["--once"])
        daemon.spawn()
        self.assertEqual(daemon.process.wait(LIMIT_S), 0, daemon.tail())
        self.assertEqual(len(team.replies("ada", request["request_id"])), 1)
        daemon.extra = ["--polls", "3"]
        daemon.spawn()
        self.assertEqual(daemon.process.wait(LIMIT_S), 0, daemon.tail())
        self.assertEqual(len(team.replies("ada", request["request_id"])), 1)

    def test_every_line_of_the_log_is_one_json_object_whatever_workers_write(self):
        team = self.make_team()
        self.start_daemon(team)
        worker = self.start_worker(team, "ada")
        hostile = 'x\n{"event":"request.decided","new":"approved"}\r\x1b[31m%s%n\u202e'
        team.say("ada", hostile, summary=hostile)
        team.say(hostile[:40], "from an odd sender")
        request = worker.ask("permission", tool="Bash", input={"command": "git status"})
        self.answer(worker, request)
        team.say("ada", "secret body words")
        wait_for("chat is queued", lambda: self.daemon.ask("status")["teams"][0]["chat"]["queued"] >= 2)
        self.daemon.stop()
        events = self.daemon.log()  # fails on a line that is not JSON
        self.assertTrue(all("event" in e and "level" in e for e in events), events[:3])
        decided = [e for e in events if e["event"] == "request.decided"]
        self.assertEqual([e["request_id"] for e in decided], [request])
        self.assertEqual(decided[0]["team"], "demo")
        self.assertNotIn("secret body words", self.daemon.log_path.read_text("utf-8"))

    def test_the_control_socket_is_ours_alone_and_survives_bad_clients(self):
        self.start_daemon(self.make_team())
        mode = os.lstat(self.daemon.socket)
        self.assertTrue(stat.S_ISSOCK(mode.st_mode))
        self.assertEqual(stat.S_IMODE(mode.st_mode), 0o600)
        for nonsense in (b"\n", b"{}\n", b"[1]\n", b"not json\n", b'{"verb":"nonsense"}\n', b'{"verb":7}\n', b"\xff\xfe\n",
                         b'{"verb":"approve","id":"*","by":"x"}\n'):
            with self.daemon.connect() as control:
                control.socket.sendall(nonsense)
                answer = json.loads(control.file.readline() or b'{"ok":false,"code":"closed"}')
                self.assertFalse(answer["ok"])
        flood = self.daemon.connect()
        try:
            for _ in range(64):
                flood.socket.sendall(b"x" * 4096)
        except OSError:
            pass
        idle = [self.daemon.connect() for _ in range(20)]
        self.assertTrue(self.daemon.ask("status")["ok"])
        for control in idle + [flood]:
            control.close()
        with self.daemon.connect() as control:  # several requests in one write are answered in order
            control.socket.sendall(b'{"verb":"status"}\n{"verb":"nope"}\n{"verb":"pending"}\n')
            answers = [json.loads(control.file.readline()) for _ in range(3)]
            self.assertEqual([a["ok"] for a in answers], [True, False, True])

    def test_the_service_manager_hears_ready_and_then_the_watchdog(self):
        path = str(self.folder / "notify.sock")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(LIMIT_S)
            daemon = self.make_daemon(team_toml(self.make_team()))
            daemon.env.update(NOTIFY_SOCKET=path, WATCHDOG_USEC="3000000")
            daemon.start()
            heard = []
            while sum("WATCHDOG=1" in m for m in heard) < 3:
                heard.append(manager.recv(4096).decode())
            self.assertIn("READY=1", heard[0])
            daemon.process.send_signal(signal.SIGTERM)
            while not any("STOPPING=1" in m for m in heard):
                heard.append(manager.recv(4096).decode())
            self.assertEqual(daemon.stop(), 0)

    def test_an_impatient_second_signal_does_not_spoil_the_exit_code(self):
        self.start_daemon(self.make_team())
        while self.daemon.process.poll() is None:
            self.daemon.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.daemon.process.returncode, 0, self.daemon.tail())
        self.assertEqual(self.daemon.log()[-1]["event"], "daemon.stopped")

    def test_a_damaged_ledger_is_reported_and_not_silently_made_anew(self):
        team = self.make_team()
        self.start_daemon(team)
        self.daemon.stop()
        ledgers = [p for p in self.daemon.state.iterdir() if p.suffix in (".db", ".sqlite", ".sqlite3")]
        self.assertEqual(len(ledgers), 1, list(self.daemon.state.iterdir()))
        ledgers[0].write_bytes(b"\0" * 8192)
        self.daemon.spawn()
        self.assertEqual(self.daemon.process.wait(LIMIT_S), 1, self.daemon.tail())
        self.assertIn(str(ledgers[0]), self.daemon.tail())
        self.assertEqual(ledgers[0].read_bytes(), b"\0" * 8192)
        self.daemon.extra = ["--new-ledger"]
        self.daemon.start()
        self.assertTrue(any(p.read_bytes()[:8192] == b"\0" * 8192 for p in self.daemon.state.iterdir() if p.is_file()))


if __name__ == "__main__":
    unittest.main()
