"""`hook install` puts our hooks into a client's settings, as every client on the machine can read them, and takes them out again."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEW, OLD = "2.1.330", "2.1.50"
LEAD_EVENTS = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest", "Notification", "Stop", "StopFailure",
               "SessionEnd", "TeammateIdle", "TaskCompleted"}


class SettingsTest(ProcessTest):
    """A home with a settings file, and clients in PATH that say their versions."""

    def setUp(self):
        super().setUp()
        self.home = self.folder / "home"
        self.settings = self.home / ".claude" / "settings.json"
        self.env = dict(os.environ, HOME=str(self.home), PATH=str(self.folder / "bin"))
        self.env.pop("CLAUDE_CONFIG_DIR", None)
        self.home.mkdir()
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "diff").symlink_to(shutil.which("diff"))
        self.program = os.environ["INBOX_POLLER"]

    def client(self, says, folder="bin"):
        """A program called claude, which prints this when it is asked for its version; with !, it runs this."""
        path = self.folder / folder / "claude"
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n" + (says[1:] if says.startswith("!") else '[ "$*" = --version ] && echo "%s"' % says) + "\n")
        path.chmod(0o755)
        return str(path)

    def run_cli(self, *arguments, expect=0, cwd=None, **env):
        done = subprocess.run([self.program, "hook", *arguments], env=dict(self.env, **env), cwd=cwd, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=LIMIT_S)
        self.assertEqual(done.returncode, expect, done)
        return done

    def write(self, text):
        self.settings.parent.mkdir(exist_ok=True)
        self.settings.write_bytes(text)

    def events(self):
        return set(json.loads(self.settings.read_text("utf-8-sig")).get("hooks", {}))


class Installing(SettingsTest):
    def setUp(self):
        super().setUp()
        self.client(NEW + " (Claude Code)")

    def test_a_setting_that_turns_all_hooks_off_is_named(self):
        project = self.folder / "project"
        (project / ".claude").mkdir(parents=True)
        cases = [(self.settings, {"disableAllHooks": True}), (self.settings, {"allowManagedHooksOnly": True}),
                 (project / ".claude" / "settings.json", {"disableAllHooks": True}),
                 (project / ".claude" / "settings.local.json", {"disableAllHooks": True})]
        for path, switch in cases:
            with self.subTest(path=path, switch=switch):
                path.parent.mkdir(exist_ok=True)
                path.write_text(json.dumps(switch))
                said = self.run_cli("install", "--target", "workers", "--yes", cwd=project).stderr
                self.assertIn("WARNING: %s: %s is true" % (path, *switch), said)
                self.assertIn("no hook of ours", said)
                told = json.loads(self.run_cli("install", "--target", "workers", "--yes", "--json", cwd=project).stdout)
                self.assertEqual(len(told["hooks_off"]), 1)
                doctor = subprocess.run([self.program, "doctor", "--json"], env=dict(self.env, XDG_RUNTIME_DIR=str(self.folder)), cwd=project,
                                        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT_S)
                found = [one for section in json.loads(doctor.stdout)["sections"] for one in section["findings"]]
                self.assertEqual([one["where"] for one in found if one["check"] == "settings.hooks_off"], [str(path)])
                self.assertFalse([one for one in found if one["check"] == "settings.hooks"], found)
                path.unlink()
        self.write(json.dumps({"disableAllHooks": True}).encode())
        (project / ".claude" / "settings.local.json").write_text('{"disableAllHooks": false}')  # the file of a higher precedence counts
        self.assertNotIn("WARNING", self.run_cli("install", "--yes", cwd=project).stderr)

    def test_install_and_uninstall_leave_the_same_bytes(self):
        other = '{"matcher":"Bash","hooks":[{"type":"command","command":"./check.sh"}]}'
        for text in (b"", b"{}", b"{}\n", b'{\n  "model": "opus"\n}\n', b'{\r\n\t"model": "opus",\r\n\t"hooks": {}\r\n}\r\n',
                     ('{"hooks":{"Stop":[%s],"PreToolUse":[]},"env":{"A":"1"}}' % other).encode(),
                     ('{\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t%s\n\t\t],\n\t\t"PostToolUse": [ %s, %s ]\n\t}\n}' % (other, other, other)).encode(),
                     '{"text": "ü\\ud800 \u2028", "n": 1e400}'.encode(), b'\xef\xbb\xbf{\r\n  "model": "opus"\r\n}', b" \n"):
            self.write(text)
            ran = self.run_cli("install", "--yes")
            diff = ran.stdout
            self.assertNotIn("WARNING", ran.stderr)
            installed = self.settings.read_bytes()
            self.assertIn("inbox-poller", diff)
            found = json.loads(installed.decode("utf-8-sig"))["hooks"]
            self.assertEqual(set(found), LEAD_EVENTS)
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

    def test_without_the_program_that_shows_differences_it_is_said_that_none_is_shown(self):
        self.write(b"{}")
        (self.folder / "bin" / "diff").unlink()
        done = self.run_cli("install", expect=1)
        self.assertIn("cannot be shown; that needs the program `diff`", done.stdout)
        self.assertEqual(self.settings.read_bytes(), b"{}")
        self.assertTrue(json.loads(self.run_cli("install", "--yes", "--json").stdout)["changed"])

    def test_a_diff_that_shows_nothing_or_fails_shows_nothing_and_the_question_is_asked_all_the_same(self):
        program = self.folder / "bin" / "diff"
        for way in ("exit 0", "exit 1", "exit 2", "echo one line; exit 2", "kill -9 $$"):
            with self.subTest(way):
                self.write(b"{}")
                program.unlink()
                program.write_text("#!/bin/sh\n%s\n" % way)
                program.chmod(0o755)
                done = self.run_cli("install", expect=1)
                self.assertIn("what would change cannot be shown", done.stdout)
                self.assertIn("was not changed; --yes", done.stderr)
                self.assertEqual(self.settings.read_bytes(), b"{}")
                self.run_cli("install", "--yes")
                self.assertEqual(self.events(), LEAD_EVENTS)

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
        self.assertIn("which a settings file never is", self.run_cli("install", "--yes", expect=1).stderr)

    def test_many_at_a_time_leave_one_whole_file(self):
        before = b'{\n  "model": "opus"\n}\n'
        self.write(before)
        for verb in ("install", "uninstall"):
            processes = [subprocess.Popen([self.program, "hook", verb, "--yes"], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True) for _ in range(8)]
            ends = [(p.communicate(timeout=LIMIT_S), p.returncode) for p in processes]
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

    def test_the_fragments_to_copy_are_those_that_are_installed(self):
        folder = ROOT / "deploy" / "claude-code"
        for name, options in (("settings.json", ["--client", OLD]), ("settings-2.1.139.json", ["--client", "2.1.139"]),
                              ("settings-workers.json", ["--target", "workers", "--client", OLD])):
            printed = self.run_cli("install", "--print", *options).stdout
            program = os.path.realpath(self.program)
            self.assertEqual(printed.replace('"' + program, '"/usr/local/bin/inbox-poller'), (folder / name).read_text())


class Versions(SettingsTest):
    """A client skips the whole file for one event that it does not know: what is written is for the oldest that is there."""

    def install(self, *options, **more):
        return json.loads(self.run_cli("install", "--yes", "--json", *options, **more).stdout)

    def commands(self):
        return [h["command"] for groups in json.loads(self.settings.read_text())["hooks"].values() for g in groups for h in g["hooks"]]

    def test_an_old_client_gets_what_it_reads(self):
        self.client(OLD + " (Claude Code)")
        done = self.install()
        self.assertEqual(done["client"], OLD)
        self.assertIn("cannot wake an idle session", done["why"])
        self.assertEqual(self.events(), LEAD_EVENTS - {"StopFailure"})
        text = self.settings.read_text()
        self.assertNotIn("asyncRewake", text)
        self.assertNotIn('"args"', text)
        self.assertEqual(set(self.commands()), {os.path.realpath(self.program) + " hook"})
        self.run_cli("uninstall", "--yes")
        self.assertFalse(self.settings.exists())

    def test_an_update_and_a_downgrade_are_followed_when_it_is_installed_again(self):
        self.write(b'{"permissions": {"allow": ["Bash(make)"]}}')
        for version in (OLD, NEW, OLD):
            self.client(version)
            self.install()
            self.assertEqual("StopFailure" in self.events(), version == NEW)
        self.run_cli("uninstall", "--yes")
        self.assertEqual(self.settings.read_bytes(), b'{"permissions": {"allow": ["Bash(make)"]}}')

    def test_of_several_clients_the_oldest_counts(self):
        self.client(NEW)
        self.client("2.1.80", "elsewhere")
        done = self.install(PATH="%s::relative:%s" % (self.folder / "bin", self.folder / "elsewhere"))
        self.assertEqual(done["client"], "2.1.80")
        self.assertIn("the oldest of 2", done["why"])
        self.assertIn("StopFailure", self.events())
        self.assertNotIn("asyncRewake", self.settings.read_text())

    def test_a_client_that_is_not_there_or_does_not_say_its_version_counts_as_the_oldest(self):
        self.assertIn("no client is in PATH", self.install()["why"])
        for says in ("", "no version", "!exit 3", "!exec yes", "!kill -9 $$"):
            self.client(says)
            done = self.install()
            self.assertEqual(done["client"], OLD)
            self.assertIn("is not known", done["why"])
            self.assertEqual(self.events(), LEAD_EVENTS - {"StopFailure"})

    def test_a_client_that_is_named_has_to_say_its_version(self):
        for named in ("nonsense", self.client("no version", "elsewhere")):
            for options in (["--yes"], ["--print"]):
                done = self.run_cli("install", "--client", named, *options, expect=1)
                self.assertIn("nothing was written: the version of %s is not known" % named, done.stderr)
                self.assertEqual(done.stdout, "")
        self.assertFalse(self.settings.exists())
        self.assertIn("before 2.1.33 it skips the file", self.run_cli("install", "--print", "--client", "2.0.1").stderr)
        self.run_cli("install", "--yes", "--client", "2.0.1", expect=1)
        self.assertFalse(self.settings.exists())

    def test_a_file_that_a_client_here_would_skip_is_not_written(self):
        before = b'{"permissions": {"allow": ["Bash(make)"]}}'
        self.write(before)
        self.client(OLD)
        newer = self.client(NEW, "elsewhere")
        for options in (["--client", NEW], ["--client", newer]):
            done = self.run_cli("install", "--yes", *options, expect=1)
            self.assertIn("does not know the hook event StopFailure", done.stderr)
            self.assertIn("client %s (%s)" % (OLD, self.folder / "bin" / "claude"), done.stderr)
        self.client("2.1.33")
        self.assertIn("is not known; update the client", self.run_cli("install", "--yes", expect=1).stderr)
        self.assertIn("may not know our hooks", self.run_cli("install", "--yes", "--client", newer, expect=1).stderr)
        self.assertEqual(self.settings.read_bytes(), before)
        self.assertEqual([p.name for p in self.settings.parent.iterdir()], ["settings.json"])

    def test_a_shell_runs_the_old_form_with_the_same_words(self):
        """As a client that knows no `args` does, with names that a shell would take apart."""
        self.client(OLD)
        self.install("--team", "it's $HOME")
        line = self.commands()[0]
        shown = subprocess.run(["/bin/sh", "-c", "printf '%s\\n' " + line], capture_output=True, text=True).stdout.splitlines()
        self.assertEqual(shown, [os.path.realpath(self.program), "hook", "--team", "it's $HOME"])

    def test_what_earlier_versions_of_ours_have_installed_is_replaced_and_goes(self):
        """Ten events with `args` for whichever client, as the first release wrote them."""
        before = b'{\n  "model": "opus"\n}\n'
        call = {"type": "command", "command": os.path.realpath(self.program), "args": ["hook"], "timeout": 10}
        wait = {**call, "args": ["hook", "wait", "--timeout", "23h"], "timeout": 86400, "asyncRewake": True}
        first = {event: [{"hooks": [call, wait] if event in ("SessionStart", "Stop") else [call]}] for event in sorted(LEAD_EVENTS - {"Notification"})}
        text = json.dumps({"model": "opus", "hooks": first}, indent=2) + "\n"
        self.write(text.encode())
        self.run_cli("uninstall", "--yes")
        self.assertEqual(self.settings.read_bytes(), before)
        self.write(text.encode())
        self.client(OLD)
        self.install()
        self.assertEqual(self.events(), LEAD_EVENTS - {"StopFailure"})
        self.run_cli("uninstall", "--yes")
        self.assertEqual(self.settings.read_bytes(), before)

    def test_hooks_for_workers_come_and_go_beside_those_of_the_lead(self):
        before = b'{"permissions": {}}'
        self.write(before)
        self.client(NEW)
        self.install("--target", "workers")
        self.assertEqual(self.events(), {"PreToolUse", "Stop"})
        program = os.path.realpath(self.program)
        worker = {"hooks": [{"type": "command", "command": program, "args": ["hook", "worker"], "timeout": 10}]}
        self.assertEqual(json.loads(self.settings.read_text())["hooks"]["PreToolUse"], [worker])
        self.install()
        self.assertEqual(json.loads(self.settings.read_text())["hooks"]["PreToolUse"][0], worker)
        self.run_cli("uninstall", "--target", "lead", "--yes")
        self.assertEqual(self.events(), {"PreToolUse", "Stop"})
        self.install()
        self.run_cli("uninstall", "--yes")
        self.assertEqual(self.settings.read_bytes(), before)


class Doctor(SettingsTest):
    """After an update or a downgrade of a client `doctor` says what is wrong, and its command mends it."""

    def doctor(self, expect=None):
        """What it says of settings files: check -> finding."""
        done = subprocess.run([self.program, "doctor", "--json"], env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_S)
        findings = json.loads(done.stdout)["sections"][0]["findings"]
        found = {f["check"]: f for f in findings if f["check"].startswith(("settings.", "client."))}
        if expect is not None:
            self.assertEqual({check: f["severity"] for check, f in found.items()}, expect, findings)
        return found

    def mend(self, finding):
        """Runs the command that it names, as a person would paste it."""
        self.assertTrue(finding["mend"].endswith(("hook install", "--target workers", "--scope project")), finding)
        line = finding["mend"].replace("inbox-poller", self.program) + " --yes"
        subprocess.run(["/bin/sh", "-c", line], env=self.env, cwd=self.folder, check=True, capture_output=True, stdin=subprocess.DEVNULL)

    def test_an_update_and_a_downgrade_are_seen_and_mended(self):
        self.client(OLD)
        self.run_cli("install", "--yes")
        self.doctor({"settings.hooks": "ok"})
        self.client(NEW)
        self.mend(self.doctor({"settings.missing": "warning"})["settings.missing"])
        self.doctor({"settings.hooks": "ok"})
        self.client(OLD)
        broken = self.doctor({"settings.event": "error"})["settings.event"]
        self.assertIn("does not know the hook event StopFailure and skips the whole file", broken["what"])
        self.assertEqual(broken["where"], str(self.settings))
        self.mend(broken)
        self.doctor({"settings.hooks": "ok"})

    def test_a_client_that_does_not_know_arguments_does_nothing_with_ours(self):
        self.client(NEW)
        for whose in ("lead", "workers"):
            self.run_cli("install", "--yes", "--target", whose)
        self.client("2.1.100")
        self.mend(self.doctor({"settings.arguments": "error"})["settings.arguments"])
        # The one that is told stands for both; the other one is left.
        self.mend(self.doctor()["settings.arguments"])
        self.doctor({"settings.hooks": "ok"})

    def test_what_others_have_written_counts_too(self):
        self.write(b'{"hooks": {"FileChanged": [{"hooks": [{"type": "command", "command": "x"}]}]}}')
        self.client(OLD)
        self.assertIn("take FileChanged out of the file", self.doctor({"settings.event": "error"})["settings.event"]["mend"])
        self.client(NEW)
        self.doctor({})

    def test_the_settings_of_the_folder_that_a_team_works_in_are_looked_at(self):
        project = self.folder / "a project"
        project.mkdir()
        wire.Team(self.home / ".claude" / "teams", "demo", ("ada",), cwd=str(project))
        self.client(NEW)
        self.run_cli("install", "--yes", "--target", "workers", "--scope", "project", cwd=project)
        self.doctor({"settings.hooks": "ok"})
        self.client(OLD)
        finding = self.doctor({"settings.arguments": "error"})["settings.arguments"]
        self.assertEqual(finding["where"], str(project / ".claude" / "settings.json"))
        self.mend(finding)
        self.doctor({"settings.hooks": "ok"})

    def test_no_client_is_started_where_there_is_no_hook(self):
        self.client('!touch "%s"' % (self.folder / "asked"))
        for text in (None, b"{}", b'{"hooks": {}}'):
            if text is not None:
                self.write(text)
            self.doctor({})
        self.assertFalse((self.folder / "asked").exists())
        self.client("no version")
        self.run_cli("install", "--yes")
        self.doctor({"client.version": "note", "settings.hooks": "ok"})


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
