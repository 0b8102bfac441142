"""`hook` fails open, and `hook wait` wakes an idle session."""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
import unittest

import team as wire
from daemon import LIMIT_S, hold_still, wait_for
from hooks import AT_IT, RULES, Client, HookTest, event, prompt, start, stop, tool


class Failing(HookTest):
    def requests(self):
        return (event("PermissionRequest", self.session, tool_name="Bash", tool_input={"command": "git status"}),
                stop(self.session), prompt(self.session), start(self.session))

    def test_without_a_daemon_the_client_goes_on(self):
        self.start_team(RULES)
        self.daemon.stop()
        for what in self.requests():
            self.assertIsNone(self.hook(what))
        self.assertIn("no daemon answers", self.why(self.requests()[0]))
        self.daemon.socket = "/nonexistent/" + "x" * 200
        self.assertIn("bytes long", self.why(self.requests()[0]))

    def test_a_daemon_that_was_killed_or_does_not_answer_is_not_waited_for(self):
        self.start_team(RULES)
        hold_still(self.daemon.process.pid)
        try:
            for what in self.requests():
                self.assertEqual(self.run_hook(what, "--timeout", "40ms").stdout, b"")
            self.assertIn("did not answer in time", self.run_hook(self.requests()[1], "--verbose").stderr.decode())
        finally:
            os.kill(self.daemon.process.pid, signal.SIGCONT)
        self.daemon.kill()
        for what in self.requests():
            self.assertIsNone(self.hook(what))

    def begin_hook(self, what):
        """`hook` with its own patience, given the event."""
        process = subprocess.Popen([self.daemon.program, "hook", "--socket", self.daemon.socket], env=dict(self.hook_env(), **AT_IT),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        process.stdin.write(wire.stringify(what).encode())
        process.stdin.close()
        process.stdin = None  # communicate() would flush it
        return process

    def outlives_a_tools_hook(self, what):
        """What the event's hook prints when the daemon answers only after a tool's hook, begun later, has given up; None when the
        machine was too slow for this question."""
        hold_still(self.daemon.process.pid)
        try:
            began = time.monotonic()  # clock: the hook's own second is the subject; a machine too slow for it is asked again
            process = self.begin_hook(what)
            wait_for("it is connected", lambda: self.daemon.connecting() == 1)
            self.assertEqual(self.begin_hook(tool("PreToolUse", self.session)).communicate()[0], b"")
        finally:
            os.kill(self.daemon.process.pid, signal.SIGCONT)
        out = process.communicate()[0]
        return out if time.monotonic() - began < 0.9 or out else None  # clock: as above, and the question is repeated

    def test_between_turns_a_late_daemon_is_waited_for_and_at_a_tool_it_is_not(self):
        self.start_team('[delivery]\nmethods = ["hook"]\n')
        for what in (prompt(self.session), stop(self.session)):
            with self.subTest(what["hook_event_name"]):
                text, out = "before " + what["hook_event_name"], None
                self.say(text)

                def outlives():
                    nonlocal out
                    wait_for("it waits for a hook", lambda: self.chat()["queued"] == 1)
                    out = self.outlives_a_tools_hook(what)
                    return out is not None

                wait_for("the machine was quick enough", outlives)
                self.assertIn(text, out.decode())
                self.assertNotIn("may be a repeat", out.decode())

    def test_an_impostor_s_answer_is_printed_only_when_it_is_one(self):
        self.start_team()
        self.daemon.stop()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(listener.close)
        listener.bind(self.daemon.socket)
        listener.listen(8)
        answers = [b"", b"\n", b"{\n", b"[]\n", b'{"ok":true}\n', b'{"ok":false,"output":"{}"}\n', b'{"output":"{}"}\n',
                   b'{"ok":true,"output":7,"keys":{}}\n', b'{"ok":true,"output":"half']

        def serve():
            for answer in answers:
                connection, _ = listener.accept()
                connection.recv(65536)
                connection.sendall(answer)
                connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        for answer in answers:
            self.assertEqual(self.run_hook(self.requests()[0]).stdout, b"", answer)
        thread.join(LIMIT_S)

    def test_an_input_that_does_not_end_is_not_waited_for(self):
        self.start_team(RULES)
        processes = []
        for command, text in ((["hook"], wire.stringify(self.requests()[0])), (["hook"], ""), (["hook", "wait"], wire.stringify(stop(self.session)))):
            process = subprocess.Popen([self.daemon.program, *command, "--verbose", "--socket", self.daemon.socket], env=dict(self.daemon.env, **AT_IT),
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.stops.append(lambda p=process: p.poll() is None and p.kill())
            process.stdin.write(text.encode())
            process.stdin.flush()
            processes.append(process)
        for process in processes:
            self.assertEqual(process.wait(LIMIT_S), 0)
            self.assertEqual((process.stdout.read(), process.stderr.read()), (b"", b"inbox-poller: the input did not end in time\n"))
            for stream in (process.stdin, process.stdout, process.stderr):
                stream.close()

    def test_a_client_that_does_not_know_a_hook_s_arguments_is_not_blocked(self):
        self.start_team()
        done = subprocess.run([self.daemon.program], env=self.daemon.env, capture_output=True, input=wire.stringify(self.requests()[2]).encode())
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"--help", done.stderr)

    def test_a_wrong_command_line_does_not_block_the_client(self):
        self.start_team()
        for arguments in (["--no-such-option"], ["nonsense"], ["--timeout", "soon"], ["wait", "--timeout", "soon"], ["install", "--scope", "x"],
                          ["wait", "wait"], ["--socket"], ["--team"]):
            done = subprocess.run([self.daemon.program, "hook", *arguments], env=self.daemon.env, capture_output=True, input=b"")
            self.assertEqual((done.returncode, done.stdout), (1, b""), arguments)
            self.assertTrue(done.stderr, arguments)
        for arguments in (["--socket", "hook"], ["--no-such-option", "hook"], ["--team", "demo", "hok", "hook"]):
            done = subprocess.run([self.daemon.program, *arguments], env=self.daemon.env, capture_output=True, input=b"")
            self.assertEqual((done.returncode, done.stdout), (1, b""), arguments)


class Waiting(HookTest):
    def wait_process(self, what=None, *options, env=None, stderr=subprocess.PIPE):
        process = subprocess.Popen([self.daemon.program, "hook", "wait", *options, "--socket", self.daemon.socket],
                                   env=dict(self.hook_env(), **(AT_IT if env is None else env)),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True)
        self.stops.append(lambda: process.poll() is None and process.kill())
        process.stdin.write(wire.stringify(what or stop(self.session)))
        process.stdin.close()
        process.stdin = None
        return process

    def end_of(self, process):
        out, err = process.communicate(timeout=LIMIT_S)
        self.assertEqual(out, "")
        return process.returncode, err

    def attached(self):
        return {r["method"]: r["available"] for r in self.status()["delivery"]["methods"]}["hook"]

    def start_idle(self, *options, **more):
        self.start_team(**more)
        self.hook(start(self.session))
        process = self.wait_process(None, *options)
        wait_for("it is attached", self.attached)
        return process

    def test_an_idle_session_is_woken_by_exit_code_2_and_the_text_on_the_error_output(self):
        process = self.start_idle()
        self.team.say("ada", "wake up", color="blue")
        self.assertEqual(self.end_of(process), (2, self.block("wake up") + "\n"))
        self.assertEqual((self.chat()["offered"], self.chat()["delivered"], self.lead()["by"]), (1, 0, "batch_pushed"))
        self.hook(prompt(self.session, "woken by: " + self.block("wake up")))
        self.assertEqual(self.chat()["delivered"], 0)
        self.hook(stop(self.session))
        self.assertEqual(self.chat()["delivered"], 1)

    def test_there_is_one_at_a_time(self):
        process = self.start_idle()
        self.assertEqual(self.end_of(self.wait_process()), (0, ""))
        self.assertIsNone(process.poll())
        process.kill()
        process.communicate()
        wait_for("its place is free", lambda: not self.attached())

    def test_a_busy_lead_is_not_woken(self):
        process = self.start_idle()
        self.hook(prompt(self.session))
        self.say("later")
        self.daemon.polled()
        self.assertIsNone(process.poll())
        self.assertIn("later", self.hook(stop(self.session))["reason"])
        self.hook(stop(self.session, active=True))
        self.team.say("ada", "now")
        self.assertEqual(self.end_of(process)[0], 2)

    def test_another_session_does_not_wait_for_the_lead_s_messages(self):
        self.start_team()
        self.hook(start(self.session))
        self.say("for the lead")
        self.assertEqual(self.end_of(self.wait_process(stop("other"))), (0, ""))
        self.assertIn("not the lead's", self.end_of(self.wait_process(stop("other"), "--verbose"))[1])
        process = self.wait_process("not an event")
        self.assertEqual(self.end_of(process), (0, ""))
        self.assertEqual(self.chat()["queued"], 1)

    def test_it_ends_when_its_time_is_over_the_session_is_gone_or_the_daemon_goes_away(self):
        process = self.start_idle("--timeout", "300ms")
        self.assertEqual(self.end_of(process), (0, ""))
        process = self.wait_process()
        wait_for("it is attached", self.attached)
        self.daemon.polled(4)
        self.hook(event("SessionEnd", self.session, reason="other"))
        self.assertEqual(self.end_of(process), (0, ""))
        self.hook(start(self.session))
        process = self.wait_process()
        wait_for("it is attached", self.attached)
        self.daemon.stop()
        self.assertEqual(self.end_of(process), (0, ""))
        self.assertEqual(self.end_of(self.wait_process()), (0, ""))

    def test_what_a_killed_one_had_taken_comes_again(self):
        self.start_team()
        self.hook(start(self.session))
        reader, writer = os.pipe()  # full, so that the hook takes the message and cannot print it
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, bytes(4096))
        os.set_blocking(writer, True)
        process = self.wait_process(stderr=writer)
        self.stops += [lambda: os.close(reader), lambda: os.close(writer)]
        wait_for("it is attached", self.attached)
        self.team.say("ada", "precious", color="blue")
        wait_for("it is lent out", lambda: self.chat()["offered"] == 1)
        process.kill()
        process.communicate()
        wait_for("it is queued again", lambda: self.chat()["queued"] == 1)
        self.assertIn("precious", self.hook(prompt(self.session))["hookSpecificOutput"]["additionalContext"])

    def test_a_message_that_is_too_long_is_pointed_at_and_does_not_wake_for_ever(self):
        process = self.start_idle()
        self.team.say("ada", "x" * 20000)
        code, text = self.end_of(process)
        self.assertEqual(code, 2)
        self.assertIn("inbox-poller recv --ignore-busy --team demo", text)
        self.assertLess(len(text), 300)
        ends = []
        for _ in range(5):
            self.daemon.cli("lead", "idle")
            ends.append(self.end_of(self.wait_process())[0])
        self.assertEqual(ends[-1], 0)
        self.assertLessEqual(ends.count(2), 3)
        wait_for("it is queued", lambda: self.chat()["queued"] == 1)


if __name__ == "__main__":
    unittest.main()
