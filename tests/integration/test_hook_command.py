"""`hook` fails open, `hook wait` wakes an idle session, and `hook install` puts both into the client's settings and takes them out."""

import json
import os
import pathlib
import signal
import socket
import stat
import subprocess
import threading
import time
import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for
from hooks import AT_IT, RULES, Client, HookTest, event, prompt, start, stop, tool

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Failing(HookTest):
    def asks(self):
        return (event("PermissionRequest", self.session, tool_name="Bash", tool_input={"command": "git status"}),
                stop(self.session), prompt(self.session), start(self.session))

    def test_without_a_daemon_the_client_goes_on(self):
        self.start_team(RULES)
        self.daemon.stop()
        for what in self.asks():
            self.assertIsNone(self.hook(what))
        self.assertIn("no daemon answers", self.why(self.asks()[0]))
        self.daemon.socket = "/nonexistent/" + "x" * 200
        self.assertIn("bytes long", self.why(self.asks()[0]))

    def test_a_daemon_that_was_killed_or_does_not_answer_is_not_waited_for(self):
        self.start_team(RULES)
        os.kill(self.daemon.process.pid, signal.SIGSTOP)
        try:
            for what in self.asks():
                self.assertEqual(self.run_hook(what, "--patience", "40ms").stdout, b"")
            self.assertIn("did not answer in time", self.run_hook(self.asks()[1], "--verbose").stderr.decode())
        finally:
            os.kill(self.daemon.process.pid, signal.SIGCONT)
        self.daemon.kill()
        for what in self.asks():
            self.assertIsNone(self.hook(what))

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
            self.assertEqual(self.run_hook(self.asks()[0]).stdout, b"", answer)
        thread.join(10)

    def test_an_input_that_does_not_end_is_not_waited_for(self):
        self.start_team(RULES)
        processes = []
        for command, text in ((["hook"], wire.stringify(self.asks()[0])), (["hook"], ""), (["hook", "wait"], wire.stringify(stop(self.session)))):
            process = subprocess.Popen([self.daemon.program, *command, "--verbose", "--socket", self.daemon.socket], env=dict(self.daemon.env, **AT_IT),
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.stops.append(lambda p=process: p.poll() is None and p.kill())
            process.stdin.write(text.encode())
            process.stdin.flush()
            processes.append(process)
        for process in processes:
            self.assertEqual(process.wait(60), 0)
            self.assertEqual((process.stdout.read(), process.stderr.read()), (b"", b"inbox-poller: the input did not end in time\n"))
            for stream in (process.stdin, process.stdout, process.stderr):
                stream.close()

    def test_a_client_that_does_not_know_a_hook_s_arguments_is_not_blocked(self):
        self.start_team()
        done = subprocess.run([self.daemon.program], env=self.daemon.env, capture_output=True, input=wire.stringify(self.asks()[2]).encode())
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"--help", done.stderr)

    def test_a_wrong_command_line_does_not_block_the_client(self):
        self.start_team()
        for arguments in (["--no-such-option"], ["nonsense"], ["--patience", "soon"], ["wait", "--timeout", "soon"], ["install", "--scope", "x"],
                          ["wait", "wait"], ["--socket"], ["--team"]):
            done = subprocess.run([self.daemon.program, "hook", *arguments], env=self.daemon.env, capture_output=True, input=b"")
            self.assertEqual((done.returncode, done.stdout), (1, b""), arguments)
            self.assertTrue(done.stderr, arguments)
        for arguments in (["--socket", "hook"], ["--no-such-option", "hook"], ["--team", "demo", "hok", "hook"]):
            done = subprocess.run([self.daemon.program, *arguments], env=self.daemon.env, capture_output=True, input=b"")
            self.assertEqual((done.returncode, done.stdout), (1, b""), arguments)


class Waiting(HookTest):
    def wait_process(self, what=None, *options, env=None):
        process = subprocess.Popen([self.daemon.program, "hook", "wait", *options, "--socket", self.daemon.socket],
                                   env=dict(self.hook_env(), **(AT_IT if env is None else env)),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.stops.append(lambda: process.poll() is None and process.kill())
        process.stdin.write(wire.stringify(what or stop(self.session)))
        process.stdin.close()
        process.stdin = None
        return process

    def end_of(self, process, seconds=60):
        out, err = process.communicate(timeout=seconds)
        self.assertEqual(out, "")
        return process.returncode, err

    def attached(self):
        return {r["rung"]: r["available"] for r in self.status()["delivery"]["via"]}["hook"]

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
        self.hook(tool("PreToolUse", self.session))
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
        time.sleep(0.5)
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
        time.sleep(0.2)
        self.hook(event("SessionEnd", self.session, reason="other"))
        self.assertEqual(self.end_of(process), (0, ""))
        self.hook(start(self.session))
        process = self.wait_process()
        wait_for("it is attached", self.attached)
        self.daemon.stop()
        self.assertEqual(self.end_of(process), (0, ""))
        self.assertEqual(self.end_of(self.wait_process()), (0, ""))

    def test_what_a_killed_one_had_taken_comes_again(self):
        process = self.start_idle()
        os.kill(process.pid, signal.SIGSTOP)
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
        self.assertIn("inbox-poller recv --even-busy --team demo", text)
        self.assertLess(len(text), 300)
        ends = []
        for _ in range(5):
            self.daemon.cli("lead", "idle")
            ends.append(self.end_of(self.wait_process())[0])
        self.assertEqual(ends[-1], 0)
        self.assertLessEqual(ends.count(2), 3)
        wait_for("it is queued", lambda: self.chat()["queued"] == 1)


class Installing(ProcessTest):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "home"
        self.settings = self.home / ".claude" / "settings.json"
        self.env = dict(os.environ, HOME=str(self.home))
        self.env.pop("CLAUDE_CONFIG_DIR", None)
        self.home.mkdir()
        self.program = os.environ["INBOX_POLLER"]

    def run_cli(self, *arguments, expect=0, cwd=None, **env):
        done = subprocess.run([self.program, "hook", *arguments], env=dict(self.env, **env), cwd=cwd, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60)
        self.assertEqual(done.returncode, expect, done)
        return done

    def write(self, text):
        self.settings.parent.mkdir(exist_ok=True)
        self.settings.write_bytes(text)

    def test_install_and_uninstall_leave_the_same_bytes(self):
        other = '{"matcher":"Bash","hooks":[{"type":"command","command":"./check.sh"}]}'
        for text in (b"", b"{}", b"{}\n", b'{\n  "model": "opus"\n}\n', b'{\r\n\t"model": "opus",\r\n\t"hooks": {}\r\n}\r\n',
                     ('{"hooks":{"Stop":[%s],"PreToolUse":[]},"env":{"A":"1"}}' % other).encode(),
                     ('{\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t%s\n\t\t],\n\t\t"PostToolUse": [ %s, %s ]\n\t}\n}' % (other, other, other)).encode(),
                     '{"text": "ü\\ud800 \u2028", "n": 1e400}'.encode(), b'\xef\xbb\xbf{\r\n  "model": "opus"\r\n}'):
            self.write(text)
            diff = self.run_cli("install", "--yes").stdout
            installed = self.settings.read_bytes()
            self.assertIn("inbox-poller", diff)
            found = json.loads(installed.decode("utf-8-sig"))["hooks"]
            self.assertEqual(set(found), {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest", "Stop",
                                          "StopFailure", "SessionEnd", "TeammateIdle", "TaskCompleted"})
            self.assertIn("nothing to change", self.run_cli("install", "--yes").stdout)
            self.assertEqual(self.settings.read_bytes(), installed)
            self.run_cli("uninstall", "--yes")
            self.assertEqual(self.settings.read_bytes(), text)
            self.assertIn("nothing to change", self.run_cli("uninstall").stdout)

    def test_a_file_that_was_not_there_goes_again(self):
        self.run_cli("install", "--yes")
        self.assertEqual(stat.S_IMODE(self.settings.stat().st_mode), 0o600)
        self.assertEqual(self.settings.read_text(), self.run_cli("install", "--print").stdout)
        self.run_cli("uninstall", "--yes")
        self.assertFalse(self.settings.exists())

    def test_nothing_is_written_without_a_yes(self):
        self.write(b"{}")
        done = self.run_cli("install", expect=1)
        self.assertIn("+", done.stdout)
        self.assertIn("--yes", done.stderr)
        self.assertEqual([p.name for p in self.settings.parent.iterdir()], ["settings.json"])
        self.assertEqual(self.settings.read_bytes(), b"{}")

    def test_the_diff_is_one_that_patch_takes(self):
        before = '{\n  "model": "opus",\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  },\n  "env": {}\n}'
        self.write(before.encode())
        diff = json.loads(self.run_cli("install", "--yes", "--json").stdout)
        self.assertEqual((diff["ok"], diff["changed"], diff["path"]), (True, True, str(self.settings)))
        self.assertEqual(patched(before, diff["diff"]), self.settings.read_text())
        self.assertEqual(json.loads(self.run_cli("install", "--yes", "--json").stdout)["changed"], False)

    def test_what_is_not_json_is_refused_with_the_line(self):
        for text, line in ((b'{\n  // mine\n  "a": 1\n}', "line 2"), (b"{\n,}", "line 2"), (b"[]", "line 1"), (b'{"hooks": 1}', "line 1")):
            self.write(text)
            for verb in ("install", "uninstall"):
                done = self.run_cli(verb, "--yes", expect=1)
                self.assertIn(str(self.settings), done.stderr)
                if verb == "install":
                    self.assertIn(line, done.stderr)
            self.assertEqual(self.settings.read_bytes(), text)

    def test_a_link_is_followed_the_mode_stays_and_what_was_there_is_kept_beside_it(self):
        real = self.folder / "dotfiles" / "claude.json"
        real.parent.mkdir()
        real.write_text('{"model": "opus"}')
        real.chmod(0o640)
        self.settings.parent.mkdir()
        self.settings.symlink_to(real)
        self.run_cli("install", "--yes")
        self.assertTrue(self.settings.is_symlink())
        self.assertIn("inbox-poller", real.read_text())
        self.assertEqual(stat.S_IMODE(real.stat().st_mode), 0o640)
        self.assertEqual((real.parent / "claude.json.inbox-poller-backup").read_text(), '{"model": "opus"}')
        real.unlink()
        self.assertIn("leads nowhere", self.run_cli("install", "--yes", expect=1).stderr)

    def test_what_is_no_ordinary_file_is_refused(self):
        self.settings.parent.mkdir()
        for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("settings.json", path), lambda path: os.symlink("/dev/null", path)):
            make(self.settings)
            for verb in ("install", "uninstall"):
                self.assertIn("/", self.run_cli(verb, "--yes", expect=1).stderr)  # which file
            self.assertEqual([p.name for p in self.settings.parent.iterdir()], ["settings.json"])
            (os.rmdir if make is os.mkdir else os.unlink)(self.settings)
        self.settings.write_bytes(b'{"a": "%s"}' % (b"x" * (5 << 20)))
        self.assertIn("no settings file", self.run_cli("install", "--yes", expect=1).stderr)

    def test_many_at_a_time_leave_one_whole_file(self):
        before = b'{\n  "model": "opus"\n}\n'
        self.write(before)
        for verb in ("install", "uninstall"):
            processes = [subprocess.Popen([self.program, "hook", verb, "--yes"], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True) for _ in range(8)]
            ends = [(p.communicate(timeout=60), p.returncode) for p in processes]
            self.assertIn(0, [code for _, code in ends])
            for (_, err), code in ends:
                if code != 0:
                    self.assertEqual(code, 1, err)
                    self.assertIn("in the meantime", err)
            self.assertIn("nothing to change", self.run_cli(verb, "--yes").stdout)
            self.assertEqual(sorted(p.name for p in self.settings.parent.iterdir()), ["settings.json", "settings.json.inbox-poller-backup"])
        self.assertEqual(self.settings.read_bytes(), before)

    def test_a_program_by_another_name_would_not_know_its_hooks_again(self):
        other = self.folder / "poller"
        try:
            os.link(os.path.realpath(self.program), other)
        except OSError:
            self.skipTest("the program cannot be linked from another file system")
        self.program = str(other)
        self.assertIn("call it inbox-poller", self.run_cli("install", "--yes", expect=1).stderr)
        self.assertFalse(self.settings.exists())

    def test_scopes_and_what_the_hooks_are_called_with(self):
        project = self.folder / "project"
        project.mkdir()
        self.run_cli("install", "--scope", "project", "--yes", cwd=project)
        self.assertTrue((project / ".claude" / "settings.json").exists())
        self.run_cli("install", "--yes", "--team", "demo", "--socket", "/run/x.sock", CLAUDE_CONFIG_DIR=str(self.folder / "cc"))
        hooks = json.loads((self.folder / "cc" / "settings.json").read_text())["hooks"]
        options = ["--socket", "/run/x.sock", "--team", "demo"]
        program = os.path.realpath(self.program)
        self.assertEqual(hooks["PreToolUse"], [{"hooks": [
            {"type": "command", "command": program, "args": ["hook"] + options, "timeout": 10}]}])
        self.assertEqual(hooks["Stop"], [{"hooks": [
            {"type": "command", "command": program, "args": ["hook"] + options, "timeout": 10},
            {"type": "command", "command": program, "args": ["hook", "wait", "--timeout", "23h"] + options, "timeout": 86400,
             "asyncRewake": True}]}])
        self.assertFalse(self.settings.exists())

    def test_the_fragment_to_copy_is_the_one_that_is_installed(self):
        printed = self.run_cli("install", "--print").stdout
        fragment = (ROOT / "deploy" / "claude-code" / "settings.json").read_text()
        self.assertEqual(printed.replace(json.dumps(os.path.realpath(self.program)), '"/usr/local/bin/inbox-poller"'), fragment)


def patched(before, diff):
    """The text with a unified diff applied to it; every line that the diff says is there must be."""
    old, new, at = before.split("\n"), [], 0
    lines = diff.split("\n")[2:-1]
    for line in lines:
        if line.startswith("@@"):
            begin = int(line.split("-")[1].split(",")[0]) - 1
            new += old[at:begin]
            at = begin
        elif line.startswith("\\"):
            continue
        elif line[0] == "+":
            new.append(line[1:])
        else:
            assert old[at] == line[1:], (old[at], line)
            if line[0] == " ":
                new.append(line[1:])
            at += 1
    return "\n".join(new + old[at:])


if __name__ == "__main__":
    unittest.main()
