"""deploy/claude-code/plugin: its script finds the program, and is silent without one; `doctor` knows the plugin."""

import json
import os
import pathlib
import subprocess
import unittest

from case import ProcessTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "deploy" / "claude-code" / "plugin"
TELLS = '#!/bin/sh\nprintf "<%s>" "$@"\necho; echo trouble >&2\nexit 3\n'


class Script(ProcessTest):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "user"
        self.bin = self.folder / "programs"
        self.bin.mkdir(parents=True)
        self.home.mkdir()

    def program(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "inbox-poller"
        path.write_text(TELLS)
        path.chmod(0o755)
        return path

    def run_script(self, *arguments, line="", **env):
        return subprocess.run([str(PLUGIN / "bin" / "inbox-poller-plugin"), *arguments], input=line, text=True, capture_output=True, cwd=self.folder,
                              env={"PATH": "%s:/usr/bin:/bin" % self.bin, "HOME": str(self.home), **env}, timeout=60)

    def test_without_a_program_hooks_are_silent_and_commands_tell_how_to_get_it(self):
        for call in (("hook",), ("hook", "wait", "--timeout", "23h"), ("hook", "worker"), ()):
            done = self.run_script(*call, line="{}")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), call)
            hook = subprocess.Popen([str(PLUGIN / "bin" / "inbox-poller-plugin"), *call], stdin=subprocess.PIPE, env={"PATH": "/usr/bin:/bin"})
            with hook.stdin as stream:
                stream.write(b" " * 200_000)  # raises if the script ends before it has read it
            self.assertEqual(hook.wait(60), 0, call)
        done = self.run_script("say", "pending", line="\n")
        self.assertEqual((done.returncode, done.stdout.count("\n"), done.stderr), (0, 1, ""))
        self.assertIn("docs/how-to/install.md", done.stdout)

    def test_the_program_takes_the_place_of_the_script(self):
        self.program(self.bin)
        done = self.run_script("hook", "wait", "--timeout", "23h")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "<hook><wait><--timeout><23h>\n", "trouble\n"))
        self.assertEqual(self.run_script().stdout, "", "a client that leaves the arguments out")

    def test_the_settings_of_the_plugin_reach_hooks_and_commands(self):
        self.program(self.bin)
        odd = "/run/a b/$(touch x)*.sock"
        done = self.run_script("hook", "wait", CLAUDE_PLUGIN_OPTION_SOCKET=odd, CLAUDE_PLUGIN_OPTION_TEAM="demo")
        self.assertEqual(done.stdout, "<--socket><%s><--team><demo><hook><wait>\n" % odd)
        self.assertEqual(self.run_script("hook", CLAUDE_PLUGIN_OPTION_SOCKET="").stdout, "<hook>\n")
        self.assertEqual(self.run_script("say", "pending", line=odd + "\n${user_config.team}\n--list\n").stdout, "<--socket><%s><pending><--list>\ntrouble\n" % odd)
        self.assertEqual(self.run_script("say", "pending", line="${user_config.socket}\ndemo\n\n").stdout, "<--team><demo><pending>\ntrouble\n")
        self.assertFalse((self.folder / "x").exists())

    def test_the_program_is_found_in_the_folders_of_npm_and_of_the_user(self):
        for folder, env in ((".npm-global/bin", {}), (".local/bin", {}), ("nvm/bin", {"NVM_BIN": str(self.home / "nvm/bin")}),
                            ("npm/bin", {"npm_config_prefix": str(self.home / "npm")})):
            path = self.program(self.home / folder)
            self.assertEqual(self.run_script("hook", **env).stdout, "<hook>\n", folder)
            path.unlink()

    def test_no_program_of_the_project_is_run(self):
        for folder in (".", "bin", "node_modules/.bin"):
            self.program(self.folder / folder)
        self.assertEqual(self.run_script("hook").returncode, 0)
        self.assertEqual(self.run_script("hook", CLAUDE_PROJECT_DIR=str(self.folder)).stdout, "")

    def test_a_command_takes_its_arguments_from_a_line_and_no_shell_reads_them(self):
        self.program(self.bin)
        for words, line, given in (("pending", "", "<pending>"), ("pending", " --member  ada * \n", "<pending><--member><ada><*>"),
                                   ("approve", "perm-1 $(touch x)\n", "<approve><perm-1><$(touch><x)>"),
                                   ("deny", "perm-1 don't; ask $HOME \"later\"  on\n", "<deny><--reason><don't; ask $HOME \"later\"  on><perm-1>"),
                                   ("deny", "perm-1\n", "<deny><perm-1>"), ("shutdown", "ada we are done\n", "<shutdown><--reason><we are done><ada>")):
            done = self.run_script("say", words, line="${user_config.socket}\n${user_config.team}\n" + line)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, given + "\ntrouble\n", ""))
        self.assertFalse((self.folder / "x").exists())


class Files(unittest.TestCase):
    def test_a_command_is_for_a_person_and_passes_its_arguments_unread(self):
        files = sorted((PLUGIN / "commands").glob("*.md"))
        self.assertEqual([path.stem for path in files], ["approve", "deny", "pending", "shutdown", "status", "trace"])
        for path in files:
            text = path.read_text()
            self.assertIn("\ndisable-model-invocation: true\n", text, path)
            self.assertIn('inbox-poller-plugin say %s <<"END OF ARGUMENTS"\n${user_config.socket}\n${user_config.team}\n$ARGUMENTS\nEND OF ARGUMENTS\n'
                          % path.stem, text)
            self.assertEqual(text.count("$ARGUMENTS"), 1)

    def test_the_marketplace_lists_every_plugin(self):
        market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
        listed = {one["source"]: (one["name"], one["description"]) for one in market["plugins"]}
        for path in sorted((ROOT / "deploy" / "claude-code").glob("*/.claude-plugin/plugin.json")):
            manifest = json.loads(path.read_text())
            self.assertEqual(listed.pop("./" + str(path.parents[1].relative_to(ROOT))), (manifest["name"], manifest["description"]))
        self.assertEqual(listed, {})


class Doctor(ProcessTest):
    def findings(self):
        done = subprocess.run([os.environ["INBOX_POLLER"], "doctor", "--json"], text=True, capture_output=True, cwd=self.folder, timeout=60,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder)})
        return {one["check"]: one for section in json.loads(done.stdout)["sections"] for one in section["findings"] if "settings" in one["check"]}

    def write(self, **settings):
        (self.folder / ".claude").mkdir(exist_ok=True)
        (self.folder / ".claude" / "settings.json").write_text(json.dumps(settings))

    def test_hooks_in_the_settings_and_in_the_plugin_are_reported(self):
        ours = {"Stop": [{"hooks": [{"type": "command", "command": "inbox-poller hook"}]}]}
        theirs = {"Stop": [{"hooks": [{"type": "command", "command": "other hook"}]}]}
        self.write(hooks=theirs)
        self.assertFalse({"settings.plugin", "settings.twice"} & set(self.findings()))
        self.write(hooks=theirs, enabledPlugins={"inbox-poller@inbox-poller": True})
        self.assertEqual(self.findings()["settings.plugin"]["severity"], "ok")
        self.assertNotIn("settings.twice", self.findings())
        self.write(hooks=ours, enabledPlugins={"inbox-poller@fork": True, "other@inbox-poller": True})
        twice = self.findings()["settings.twice"]
        self.assertEqual((twice["severity"], twice["mend"]), ("warning", "inbox-poller hook uninstall"))
        self.write(hooks=ours, enabledPlugins={"inbox-poller@inbox-poller": False, "inbox-poller-mail-tools@inbox-poller": True})
        self.assertFalse({"settings.plugin", "settings.twice"} & set(self.findings()))


if __name__ == "__main__":
    unittest.main()
