"""docs/how-to/deliver-to-your-lead.md, recipe by recipe: what a person copies from there brings a worker's message to that kind of lead.

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
from daemon import LIMIT_S, wait_for, write_private
from hooks import AT_IT
from tmux import PaneProgram

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
    for part in re.split(r"<!-- recipe: ", (ROOT / "docs" / "how-to" / "deliver-to-your-lead.md").read_text("utf-8"))[1:]:
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
        self.stops.append(lambda: (os.killpg(run.pid, signal.SIGTERM) if run.poll() is None else None, run.wait(LIMIT_S)))
        return run

    def comes(self, text="The build is green."):
        self.team.say("ada", text)
        wait_for("the lead reads it", lambda: text in self.got.read_text("utf-8"))
        chat = lambda: self.status()["chat"]  # noqa: E731
        wait_for("it is delivered", lambda: (chat()["delivered"], chat()["queued"], chat()["offered"]) == (1, 0, 0))

    def chosen(self):
        return [r["method"] for r in self.status()["delivery"]["methods"] if r["chosen"]]

    def test_stream(self):
        self.begin()
        self.program("claude", '#!/bin/sh\nexec %s -B %s "$@"\n' % (sys.executable, SUPPORT / "stream_lead.py"))
        orders = self.folder / "orders"
        orders.mkdir()
        self.env.update(LEAD_LOG=str(self.got), LEAD_ORDERS=str(orders))
        self.start_command()
        wait_for("the lead is there", lambda: self.chosen() == ["stdin"])
        self.comes()

    def test_hook(self):
        self.begin()
        self.program("claude", "#!/bin/sh\necho '2.1.330 (Claude Code)'\n")
        subprocess.run(["bash", "-c", self.command + " --yes"], env=self.env, cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL)
        self.settings = json.loads((pathlib.Path(self.env["HOME"]) / ".claude" / "settings.json").read_text("utf-8"))
        self.fire("SessionStart", source="startup")
        self.fire("UserPromptSubmit", prompt="go on")
        self.team.say("ada", "The build is green.")
        wait_for("it is queued", lambda: self.status()["chat"]["queued"] == 1)
        answer, _ = self.fire("Stop", stop_hook_active=False)
        self.assertEqual(answer["decision"], "block")
        self.assertIn("The build is green.", answer["reason"])
        answer, waiting = self.fire("Stop", stop_hook_active=True)
        self.assertIsNone(answer)
        wait_for("it is delivered", lambda: self.status()["chat"]["delivered"] == 1)
        self.team.say("ada", "The tests are green.")
        codes = [process.wait(LIMIT_S) for process in waiting]
        self.assertEqual(codes, [2])
        said = waiting[0].stderr.read()
        self.assertIn("The tests are green.", said)
        self.fire("UserPromptSubmit", prompt=said)
        self.fire("Stop", stop_hook_active=False)
        wait_for("it is delivered", lambda: self.status()["chat"]["delivered"] == 2)

    def fire(self, name, **more):
        """What the client does at an event: it runs each hook. The answer, and the processes that it would be woken by."""
        event = json.dumps(dict(session_id=self.team.roster()["leadSessionId"], transcript_path="/t", cwd=str(self.folder),
                                permission_mode="default", hook_event_name=name, **more))
        answer, waiting = None, []
        for group in self.settings["hooks"][name]:
            for handler in group["hooks"]:
                argv = [handler["command"], *handler["args"]]
                if handler.get("asyncRewake") and name == "Stop" and more["stop_hook_active"]:
                    waiting.append(self.start_waiting(argv, event))
                elif not handler.get("asyncRewake"):
                    done = subprocess.run([*argv, "--timeout", "5min"], env=self.env, input=event, text=True,
                                          capture_output=True, timeout=LIMIT_S)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    answer = json.loads(done.stdout) if done.stdout else answer
        return answer, waiting

    def start_waiting(self, argv, event):
        process = subprocess.Popen(argv, env=dict(self.env, **AT_IT), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.stops.append(lambda: (process.poll() is None and process.kill(), process.wait(), process.stderr.close()))
        process.stdin.write(event)
        process.stdin.close()
        return process

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
        lead = PaneProgram(tmux, self.folder)
        command = ", ".join(json.dumps(word) for word in tmux.command)
        self.begin(**{'pane = "%3"': 'pane = "%s"\ncommand = [%s]' % (lead.pane, command)})
        self.team.say("ada", "The build is green.")
        line, = wait_for("the lead reads how to get it", lead.submitted)
        self.assertNotIn("green", line)
        told = line[line.index("inbox-poller recv"):].split("\n")[0]
        done = subprocess.run(["bash", "-c", told], env=self.env, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertIn("The build is green.", done.stdout, done.stderr)

    def test_asking(self):
        self.begin(**{"/usr/bin/logger": str(self.folder / "bin" / "my-lead")})
        worker = self.start_worker(self.team, "ada")
        request = worker.ask("permission", tool="Bash", input={"command": "make deploy"})
        wait_for("the person's program is told", lambda: "make deploy" in self.got.read_text("utf-8"))
        told = wait_for("the lead is asked too", lambda: self.daemon.cli("recv", expect=None).stdout)
        self.assertIn(request, told)
        done = subprocess.run(["bash", "-c", self.command], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 2, "no terminal here: %s" % done.stderr)
        self.daemon.cli("approve", request)
        self.assertEqual(self.answer(worker, request)["event"], "ran")

    def test_nothing_is_left_out(self):
        tested = {name[len("test_"):] for name in dir(self) if name.startswith("test_")} - {"nothing_is_left_out"}
        self.assertEqual(tested, set(self.recipes))


if __name__ == "__main__":
    unittest.main()
