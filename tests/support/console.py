"""A person at the console (`top`, `pending --watch`) in a real terminal: a tmux pane, its keys, and what it shows."""

import os
import shlex
import signal
import time
import unicodedata

import team as wire
from case import ProcessTest
from daemon import wait_for


def cells(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class ConsoleTest(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.start_daemon(self.team)
        self.tmux = self.start_tmux()

    def begin(self, *words, columns=100, rows=20, environment=("LC_ALL=C.UTF-8",)):
        """`top`, or the command of these words, begun by carol from a shell that says how it left and lives on."""
        command = [*(words if words and not words[0].startswith("-") else ("top", *words)), "--socket", self.daemon.socket]
        line = shlex.join(["env", "USER=carol", *environment, self.daemon.program, *command])
        self.pane = self.tmux.start("sh", "-c", "trap : INT; cd %s; stty -g > before; %s; echo left $?; stty -g > after; sleep 300" % (
            shlex.quote(str(self.folder)), line))
        self.tmux.run("resize-window", "-t", self.pane, "-x", str(columns), "-y", str(rows))
        self.shows("[1:requests")

    def screen(self):
        return self.tmux.run("capture-pane", "-p", "-t", self.pane)

    def shows(self, *parts):
        wait_for("the screen shows %r" % (parts,), lambda: all(part in self.screen() for part in parts))
        return self.screen()

    def press(self, *keys):
        """One after the other, with nothing in between: they are there before the program has drawn."""
        self.tmux.run("send-keys", "-t", self.pane, *keys)

    def type(self, text):
        self.tmux.run("send-keys", "-t", self.pane, "-l", text)

    def answer_by(self, key, *parts):
        """A key that answers, as somebody presses it who reads first; once more where it was too soon. Where it was heard it is no
        key any more."""
        def pressed():
            time.sleep(0.45)  # clock: a person who reads first; a key that was too soon all the same is pressed again
            self.press(key)
            for _ in range(100):  # looks; a key that was thrown away shows nothing, and is pressed again
                if all(part in self.screen() for part in parts):
                    return True
                if "too soon" in self.screen():
                    return False
            return False
        wait_for("%s shows %r" % (key, parts), pressed)
        return self.screen()

    def has_read_all(self):
        """What was typed until now was taken for keys, or thrown away: the help is on the screen, and gone again. It does not open
        over a question or a text."""
        self.press("?")
        self.shows("Pages: 1 requests")
        self.press("Escape")
        wait_for("the help is gone", lambda: "Pages: 1 requests" not in self.screen())

    def process(self):
        """The program's id."""
        shell = self.tmux.panes()[self.pane]
        with open("/proc/%d/task/%d/children" % (shell, shell), encoding="ascii") as children:
            return int(children.read().split()[0])

    def stop_with(self, number, state):
        """Sends a signal that stops, and waits until it has."""
        program = self.process()
        os.kill(program, number)

        def stopped():
            with open("/proc/%d/stat" % program, encoding="utf-8") as file:
                return file.read().rpartition(")")[2].split()[0] == state
        wait_for("it is stopped", stopped)
        return program

    def is_restored(self):
        """The terminal is as it was before: its modes, its screen, its cursor."""
        if self.tmux.run("display-message", "-p", "-t", self.pane, "#{alternate_on} #{cursor_flag}") != "0 1":
            return False
        before = (self.folder / "before").read_text("ascii")
        device = self.tmux.run("display-message", "-p", "-t", self.pane, "#{pane_tty}")
        return os.popen("stty -g < %s" % device).read() == before

    def left(self, code=0):
        self.shows("left %d" % code)
        self.assertTrue(self.is_restored())

    def selected(self):
        return next((line for line in self.screen().splitlines() if line.startswith(">")), "")

    def ask(self, number, command):
        self.team.say("ada", wire.permission_request("ada", "Bash", {"command": command}, "perm-%d" % number))

    def asked(self, number, command):
        """The same, and it is open."""
        self.ask(number, command)
        self.pending_id("perm-%d" % number)

    def is_open(self, number):
        return any(a["request_id"] == "perm-%d" % number for a in self.daemon.ask("pending")["requests"])

    def states(self):
        return {d["request_id"]: (d["state"], d["decided_by"]) for d in self.daemon.ask("decisions", limit=1000)["decisions"]}

    def continue_it(self, program):
        os.kill(program, signal.SIGCONT)
