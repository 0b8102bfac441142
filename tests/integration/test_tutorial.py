"""docs/tutorial.md, typed line by line into one shell: each command prints what the page shows, but for times, keys and the home folder."""

import os
import pathlib
import re
import subprocess
import unittest

from case import ProcessTest
from daemon import LIMIT_S, Missing, alone, wait_for

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
LOOKS = ("pending", "status", "inbox show", "decisions", "recv", "rules")  # may be asked for again until the daemon has seen all
DONE = "-- done --"


def steps():
    """(command, what it prints) of each console block."""
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), re.S):
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


class Tutorial(ProcessTest):
    def setUp(self):
        super().setUp()
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "inbox-poller").symlink_to(os.path.abspath(os.environ["INBOX_POLLER"]))
        env = dict(alone(self.folder), HOME=str(home), USER="ann", LC_ALL="C.UTF-8", PATH="%s:%s" % (programs, os.environ["PATH"]))
        for name in ("TMUX", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "CLAUDE_CONFIG_DIR"):
            env.pop(name, None)
        self.home = home
        self.shell = subprocess.Popen(["bash"], env=env, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.stops.append(self.end)

    def end(self):
        self.shell.stdin.close()  # the shell of a kept daemon ends it
        self.shell.stdout.close()
        self.shell.wait(LIMIT_S)

    def type(self, command):
        self.shell.stdin.write("%s\necho '%s'\n" % (command, DONE))
        self.shell.stdin.flush()
        said = ""
        for line in self.shell.stdout:
            if line.strip() == DONE:
                return said
            said += line
        raise AssertionError("the shell ended at %r: %s" % (command, said))

    def agrees(self, command, pattern, said):
        """Whether what it said last is on the page; else it is asked again."""
        if re.fullmatch(pattern, said[-1]):
            return True
        said.append(self.type(command))
        return False

    def test_each_command_prints_what_the_page_shows(self):
        self.type("trap 'kill %1 2>/dev/null' EXIT")
        ran = 0
        for command, output in steps():
            with self.subTest(command):
                pattern, said = shown(output, self.home), [self.type(command)]
                if command.startswith("inbox-poller run"):
                    wait_for("it answers", lambda: "no daemon" not in self.type("inbox-poller status"))
                elif any(command.startswith("inbox-poller " + look) for look in LOOKS):
                    try:
                        wait_for("what the page shows", lambda: self.agrees(command, pattern, said))
                    except Missing:
                        self.assertRegex(said[-1], "^(?:%s)$" % pattern)
                elif not command.startswith("kill"):
                    self.assertRegex(said[-1], "^(?:%s)$" % pattern)
                ran += 1
        self.assertGreater(ran, 18)
        self.assertFalse((self.home / ".claude" / "teams" / "first").exists())


if __name__ == "__main__":
    unittest.main()
