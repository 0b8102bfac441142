"""Pages that are typed: their console blocks go line by line into one shell, and each command prints what the page shows, but for times,
keys and the home folder. A page may be typed at a pseudo-terminal.

Python 3.9 or newer, standard library only.
"""

import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import termios

from case import ProcessTest
from daemon import LIMIT_S, Missing, alone, wait_for
from typed import ESCAPES

LOOKS = ("pending", "status", "inbox show", "decisions", "recv", "rules", "trace", "history", "doctor")  # asked again until the daemon has seen all
DONE = "-- done --"


def steps(page):
    """(command, what it prints) of each console block. The mark of a line that goes on is `>`, also of an answer to a question."""
    for block in re.findall(r"```console\n(.*?)```", page.read_text("utf-8"), re.S):
        for found in re.finditer(r"^\$ (.*\n(?:> ?.*\n)*)((?:(?!\$ ).*\n)*)", block, re.M):
            yield re.sub(r"^> ?", "", found[1], flags=re.M).rstrip("\n"), found[2]


def shown(text, home):
    """What the page shows, as a pattern: a line of `…` is any lines, `…` in a line anything; times, ages and keys are others each time."""
    pattern = ""
    for line in text.splitlines():
        if line == "…":
            pattern += r"(?:.*\n)*"
            continue
        one = re.escape(line.replace("/home/ann", str(home))).replace("…", ".*")
        one = re.sub(r"\d{4}\\-\d\d\\-\d\d", r"\\d{4}-\\d\\d-\\d\\d", one)
        one = re.sub(r"\d\d:\d\d:\d\d", r"\\d\\d:\\d\\d:\\d\\d", one)
        one = re.sub(r"\b[0-9a-f]{8,12}\b", "[0-9a-f]+", one)
        one = re.sub(r"\b\d+(m\\ \d+)?s\b", r"[\\dms ]+s", one)
        one = re.sub(r"(\\ )+", " +", one)
        pattern += one + r"\s*\n"
    return pattern


class Pipe:
    """A shell without a terminal."""

    def __init__(self, env, folder):
        self.shell = subprocess.Popen(["bash"], env=env, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def type(self, command):
        self.shell.stdin.write("%s\necho '%s'\n" % (command, DONE))
        self.shell.stdin.flush()
        said = ""
        for line in self.shell.stdout:
            if line.strip() == DONE:
                return said
            said += line
        raise AssertionError("the shell ended at %r: %s" % (command, said))

    def end(self):
        self.shell.stdin.close()  # the shell of a kept daemon ends it
        self.shell.stdout.close()
        self.shell.wait(LIMIT_S)


class Terminal:
    """A shell at a terminal of 110 columns, which shows no prompt and not what is typed."""

    def __init__(self, env, folder):
        self.screen, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 110, 0, 0))
        modes = termios.tcgetattr(theirs)
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        self.shell = subprocess.Popen(["bash", "--norc", "--noprofile", "--noediting", "-i"], env=dict(env, TERM="xterm", PS1="", PS2=""), cwd=folder,
                                      stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)

    def type(self, command):
        os.write(self.screen, ("%s\necho '%s'\n" % (command, DONE)).encode())
        raw = b""

        def is_done():
            nonlocal raw
            while select.select([self.screen], [], [], 0)[0]:
                raw += os.read(self.screen, 65536)
            return DONE.encode() in raw

        wait_for("the end of %r" % command, is_done)
        return ESCAPES.sub("", raw.decode("utf-8", "replace")).split(DONE)[0]

    def end(self):
        os.write(self.screen, b"exit\nexit\n")
        self.shell.wait(LIMIT_S)
        os.close(self.screen)


class TranscriptTest(ProcessTest):
    def begin(self, shell):
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "inbox-poller").symlink_to(os.path.abspath(os.environ["INBOX_POLLER"]))
        env = dict(alone(self.folder), HOME=str(home), USER="ann", LC_ALL="C.UTF-8", PATH="%s:/usr/bin:/bin" % programs)
        for name in ("TMUX", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "CLAUDE_CONFIG_DIR"):
            env.pop(name, None)
        self.home, self.shell = home, shell(env, home)
        self.stops.append(self.shell.end)
        self.shell.type("trap 'kill %1 2>/dev/null' EXIT")

    def agrees(self, command, pattern, said):
        """Whether what it said last is on the page; else it is asked again."""
        if re.fullmatch(pattern, said[-1]):
            return True
        said.append(self.shell.type(command))
        return False

    def follow(self, page):
        """Types the page; returns how many commands there were."""
        ran = 0
        for command, output in steps(pathlib.Path(page)):
            with self.subTest(command):
                pattern, said = shown(output, self.home), [self.shell.type(command)]
                if command.startswith("inbox-poller run"):
                    wait_for("it answers", lambda: "no daemon" not in self.shell.type("inbox-poller status"))
                elif any(command.startswith("inbox-poller " + look) for look in LOOKS):
                    try:
                        wait_for("what the page shows", lambda: self.agrees(command, pattern, said))
                    except Missing:
                        self.assertRegex(said[-1], "^(?:%s)$" % pattern)
                elif not command.startswith("kill"):
                    self.assertRegex(said[-1], "^(?:%s)$" % pattern)
                ran += 1
        return ran
