"""docs/leads.md, recipe by recipe: what a person copies from there brings a worker's message to that kind of lead.

The programs that a recipe names (`claude`, `my-lead`) are stand-ins found first in PATH; everything else runs as it is written.
"""

import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import unittest

from case import ProcessTest
from daemon import wait_for, write_private

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"

# Writes every line that it reads into the file GOT; as `claude -p --continue` it reads to the end, like any such client.
READER = """#!%s
import os, sys
with open(os.environ["GOT"], "a") as got:
    for line in sys.stdin:
        got.write(line)
        got.flush()
"""


def recipes():
    """name -> (toml, command or None), in the order of the document."""
    found = {}
    for part in re.split(r"<!-- recipe: ", (ROOT / "docs" / "leads.md").read_text("utf-8"))[1:]:
        name, rest = part.split(" -->", 1)
        rest = rest.split("\n## ")[0]
        toml = re.search(r"```toml\n(.*?)```", rest, re.S).group(1)
        command = re.search(r"```sh\n(.*?)```", rest, re.S)
        found[name] = (toml, command.group(1).strip() if command else None)
    return found


class Recipes(ProcessTest):
    def setUp(self):
        super().setUp()
        self.recipes = recipes()
        self.used = self.id().rsplit("test_", 1)[1]

    def begin(self, **replaced):
        """A team, a daemon with the recipe's own file, and an environment in which its command finds both."""
        toml, self.command = self.recipes[self.used]
        self.team = self.make_team("my-team")
        for old, new in replaced.items():
            self.assertIn(old, toml)
            toml = toml.replace(old, new)
        self.make_daemon(toml.replace('name = "my-team"', 'name = "my-team"\nroot = "%s"\npoll_interval = "100ms"' % self.team.root))
        settings = pathlib.Path(self.daemon.env["XDG_CONFIG_HOME"]) / "inbox-poller"
        settings.mkdir(mode=0o700)
        write_private(settings / "daemon.toml", 'socket = "%s"\n' % self.daemon.socket)
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "inbox-poller").symlink_to(self.daemon.program)
        self.got = self.folder / "got"
        self.got.touch()
        self.env = dict(self.daemon.env, PATH="%s:%s" % (programs, os.environ["PATH"]), GOT=str(self.got))
        self.daemon.env.update(PATH=self.env["PATH"], GOT=str(self.got))
        self.program("my-lead", READER % sys.executable)
        self.daemon.start()

    def program(self, name, text):
        path = self.folder / "bin" / name
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def start_command(self):
        run = subprocess.Popen(["bash", "-c", self.command], env=self.env, cwd=self.folder, stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, start_new_session=True)
        self.stops.append(lambda: (os.killpg(run.pid, signal.SIGTERM) if run.poll() is None else None, run.wait(20)))
        return run

    def comes(self, text="The build is green."):
        self.team.say("ada", text)
        wait_for("the lead reads it", lambda: text in self.got.read_text("utf-8"), 30)
        chat = lambda: self.status()["chat"]  # noqa: E731
        wait_for("it is delivered", lambda: (chat()["delivered"], chat()["queued"], chat()["offered"]) == (1, 0, 0), 30)

    def chosen(self):
        return [r["rung"] for r in self.status()["delivery"]["via"] if r["chosen"]]

    def test_stream(self):
        self.begin()
        self.program("claude", '#!/bin/sh\nexec %s -B %s "$@"\n' % (sys.executable, SUPPORT / "stream_lead.py"))
        self.env["STREAM_LEAD_LOG"] = str(self.got)
        self.start_command()
        wait_for("the lead is there", lambda: self.chosen() == ["stdin"])
        self.comes()

    def test_hook(self):
        self.begin()
        subprocess.run(["bash", "-c", self.command + " --yes"], env=self.env, cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL)
        settings = json.loads((pathlib.Path(self.env["HOME"]) / ".claude" / "settings.json").read_text("utf-8"))
        event = {"session_id": "s-1", "transcript_path": "/t", "cwd": str(self.folder), "permission_mode": "default"}
        self.hook(settings, dict(event, hook_event_name="SessionStart", source="startup"))
        self.hook(settings, dict(event, hook_event_name="UserPromptSubmit", prompt="go on"))
        self.team.say("ada", "The build is green.")
        wait_for("it is queued", lambda: self.status()["chat"]["queued"] == 1)
        answer = self.hook(settings, dict(event, hook_event_name="Stop", stop_hook_active=False))
        self.assertEqual(answer["decision"], "block")
        self.assertIn("The build is green.", answer["reason"])
        wait_for("it is delivered", lambda: self.status()["chat"]["delivered"] == 1)

    def hook(self, settings, event):
        """What the client does: runs each hook of the event. The one that may wait for hours is left out."""
        answer = None
        for group in settings["hooks"][event["hook_event_name"]]:
            for handler in group["hooks"]:
                argv = [handler["command"], *handler.get("args", [])]
                if handler.get("asyncRewake") or "wait" in argv:
                    continue
                done = subprocess.run([*argv, "--patience", "20s"], env=self.env, input=json.dumps(event), text=True,
                                      capture_output=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                if done.stdout:
                    answer = json.loads(done.stdout)
        return answer

    def test_socket(self):
        self.begin()
        self.start_command()
        wait_for("it follows", lambda: self.chosen() == ["socket"])
        self.comes()

    def test_lines(self):
        self.begin()
        self.start_command()
        wait_for("it is started", lambda: self.chosen() == ["stdin"])
        self.comes()

    def test_exec(self):
        self.begin(**{"/usr/local/bin/claude": str(self.folder / "bin" / "claude")})
        self.program("claude", READER % sys.executable)
        self.comes()

    def test_file(self):
        self.begin(**{"~/my-team.jsonl": str(self.folder / "got")})
        self.comes()

    def test_tmux(self):
        tmux = self.start_tmux()
        pane = tmux.start(sys.executable, "-c", "import sys\nwith open(%r, 'a') as got:\n for line in sys.stdin:\n"
                          "  got.write(line); got.flush()" % str(self.folder / "got"))
        command = ", ".join(json.dumps(word) for word in tmux.command)
        self.begin(**{'pane = "%3"': 'pane = "%s"\ncommand = [%s]' % (pane, command)})
        self.team.say("ada", "The build is green.")
        wait_for("the lead reads how to get it", lambda: "inbox-poller recv" in self.got.read_text("utf-8"), 30)
        line = self.got.read_text("utf-8")
        self.assertNotIn("green", line)
        told = line[line.index("inbox-poller recv"):].split("\n")[0]
        done = subprocess.run(["bash", "-c", told], env=self.env, capture_output=True, text=True, timeout=60)
        self.assertIn("The build is green.", done.stdout, done.stderr)

    def test_asking(self):
        self.begin(**{"/usr/bin/logger": str(self.folder / "bin" / "my-lead")})
        worker = self.start_worker(self.team, "ada")
        ask = worker.ask("permission", tool="Bash", input={"command": "make deploy"})
        wait_for("the person's program is told", lambda: "make deploy" in self.got.read_text("utf-8"), 30)
        told = wait_for("the lead is asked too", lambda: self.daemon.cli("recv", expect=None).stdout)
        self.assertIn(ask, told)
        done = subprocess.run(["bash", "-c", self.command], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 2, "no terminal here: %s" % done.stderr)
        self.daemon.cli("approve", ask)
        self.assertEqual(self.answer(worker, ask)["event"], "ran")

    def test_nothing_is_left_out(self):
        tested = {name[len("test_"):] for name in dir(self) if name.startswith("test_")} - {"nothing_is_left_out"}
        self.assertEqual(tested, set(self.recipes))


if __name__ == "__main__":
    unittest.main()
