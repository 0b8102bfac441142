"""Real terminal panes: a tmux server of a test's own, and a worker that lives in one of its panes.

The server's socket lies in the test's folder, so nobody else's sessions are seen or touched. Whatever is started here ends by itself
some minutes after a test that was killed.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import unittest

import team as wire
from daemon import LIMIT_S, wait_for
from worker import Handle, alive

MISSING = shutil.which("tmux") is None


class Tmux:
    def __init__(self, folder):
        if MISSING:
            raise unittest.SkipTest("tmux is not installed")
        self.command = ["tmux", "-S", os.path.join(str(folder), "tmux.sock")]
        self.env = {k: v for k, v in os.environ.items() if k not in ("TMUX", "TMUX_PANE")}
        self.has_session = False

    def run(self, *arguments):
        return subprocess.run([*self.command, "-f", os.devnull, *arguments], env=self.env, check=True, capture_output=True,
                              text=True, timeout=LIMIT_S).stdout.strip()

    def start(self, *argv):
        """Opens a pane in which exactly this runs, without a shell, and returns its id."""
        how = ["new-window", "-d"] if self.has_session else ["new-session", "-d", "-x", "80", "-y", "24"]
        pane = self.run(*how, "-P", "-F", "#{pane_id}", *argv)
        self.has_session = True
        return pane

    def bystander(self, *argv):
        """A pane of somebody else, which nobody may touch."""
        return Bystander(self, self.start(*argv or ("sleep", "300")))

    def panes(self):
        """The first process of every pane, by pane id. Empty when the server has gone."""
        try:
            lines = self.run("list-panes", "-a", "-F", "#{pane_id} #{pane_pid}").splitlines()
        except subprocess.CalledProcessError:
            return {}
        return {pane: int(pid) for pane, pid in (line.split() for line in lines)}

    def stop(self):
        subprocess.run([*self.command, "kill-server"], env=self.env, capture_output=True, timeout=LIMIT_S)


class Bystander:
    def __init__(self, tmux, pane):
        self.tmux = tmux
        self.pane = pane
        self.pid = tmux.panes()[pane]

    def untouched(self):
        return self.tmux.panes().get(self.pane) == self.pid and alive(self.pid)


class PaneProgram:
    """A stand-in for an interactive client in a pane (pane_program.py)."""

    def __init__(self, tmux, folder, brackets=True, old=False):
        self.tmux = tmux
        self.path = os.path.join(str(folder), "typed-%d" % len(os.listdir(folder)))
        argv = [sys.executable, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), "pane_program.py"), self.path]
        self.pane = tmux.start(*argv, *["--no-brackets"] * (not brackets), *["--old"] * old)
        wait_for("the program in %s is ready" % self.pane, lambda: "ready" in self.screen())

    def typed(self):
        """Every byte that reached it."""
        with open(self.path, "rb") as file:
            return file.read()

    def events(self, *kinds):
        with open(self.path + ".log", encoding="utf-8") as file:
            events = [json.loads(line) for line in file if line.endswith("\n")]
        return [e for e in events if not kinds or e["event"] in kinds]

    def submitted(self):
        return [e["text"] for e in self.events("submitted")]

    def order(self, name, text=""):
        with open(self.path + "." + name + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path + "." + name + ".new", self.path + "." + name)
        wait_for("%s is on the screen" % name, lambda: self.drawn(name))

    def drawn(self, name):
        signs = {"dialog": "Do you want to proceed?", "menu": "Select model", "transcript": "Showing detailed transcript", "run": "Thinking"}
        return name not in signs or signs[name] in self.screen()

    def revoke(self, name):
        os.unlink(self.path + "." + name)

    def type(self, text):
        """As a person does."""
        self.tmux.run("send-keys", "-t", self.pane, "-l", text)
        wait_for("it is shown", lambda: text in self.screen())

    def press(self, *keys):
        self.tmux.run("send-keys", "-t", self.pane, *keys)

    def screen(self):
        return self.tmux.run("capture-pane", "-p", "-t", self.pane)


class PaneWorker(Handle):
    """A worker in a pane. With `shell` the pane's first process is a shell that stays when the worker has left, as the real client's
    panes do; without, the pane goes with its worker. "interactive": the command is typed at the prompt of one, as a real lead does."""

    def __init__(self, tmux, team, name, era=wire.ERA2, poll=0.05, on_shutdown="approve", exit_after=1.0, stubborn=False,
                 shell=True, more=(), before="", signed=False):
        super().__init__(team, name, era, None)
        self.tmux = tmux
        self.commands = self.log_path + ".commands"
        self.file = open(self.commands, "ab", buffering=0)
        argv = self.arguments(team, poll, on_shutdown, exit_after, stubborn, more, signed) + [
            "--commands", self.commands, "--until-gone", str(os.getpid())]
        line = before + " ".join(map(shlex.quote, argv))
        if shell == "interactive":
            self.pane = tmux.start("sh", "-i")
            tmux.run("send-keys", "-t", self.pane, line, "Enter")
        else:
            self.pane = tmux.start("sh", "-c", line + "; exec sleep 300") if shell else tmux.start(*argv)
        self.shell_pid = tmux.panes()[self.pane]
        wait_for("%s runs in its pane" % name, lambda: os.path.exists(self.log_path + ".pid") and os.path.getsize(
            self.log_path + ".pid"))
        team.change_member(name, tmuxPaneId=self.pane, backendType="tmux")

    @property
    def pid(self):
        """The worker's own process, not the shell around it."""
        with open(self.log_path + ".pid", encoding="utf-8") as file:
            return int(file.read())

    def runs(self):
        return alive(self.pid)

    def in_pane(self):
        return self.tmux.panes().get(self.pane) == self.shell_pid

    def send(self, line):
        self.file.write(line)

    def stop(self):
        self.file.close()
