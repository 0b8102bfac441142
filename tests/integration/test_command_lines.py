"""The four ways of README.md run whole, and in all documents each command and each option that is named is one of ours.

`claude` and `my-lead` are stand-ins found first in PATH. What builds, tests or measures the project is only looked for, since it runs
these tests. All other lines of README.md, docs/how-to and docs/reference are typed by test_documents_run.py, the recipes of
docs/how-to/deliver-to-your-lead.md once more by test_leads_doc.py.
"""

import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, alone, wait_for
from typed import without_comment

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

CLAUDE = """#!/bin/sh
[ "$1" = --version ] && { echo '2.1.330 (Claude Code)'; exit; }
exec %s -B %s "$@"
""" % (sys.executable, SUPPORT / "stream_lead.py")
READER = """#!%s
import os, sys
with open(os.environ["GOT"], "a") as got:
    for line in sys.stdin:
        got.write(line)
        got.flush()
""" % sys.executable


def blocks(path):
    """(what a comment before it says of it, its lines) of each shell block."""
    text = path.read_text("utf-8")
    for found in re.finditer(r"(?:<!-- ([a-z]+): (\S+) -->\n(?:```toml\n.*?```\n\n)?)?```sh\n(.*?)```", text, re.S):
        lines = [line.strip() for line in found[3].splitlines() if line.strip() and not line.startswith("#")]
        yield (found[1], found[2]), lines


class World(ProcessTest):
    """A person's HOME with a team and clients, and a bash in it."""

    def setUp(self):
        super().setUp()
        self.furnish()

    def furnish(self):
        self.env = dict(alone(self.folder), LC_ALL="C.UTF-8")
        self.env.pop("TMUX", None)
        home = self.folder / "home"
        self.team = wire.Team(home / ".claude" / "teams", "my-team", ("ada", "builder"))
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "inbox-poller").symlink_to(os.path.abspath(os.environ["INBOX_POLLER"]))
        for name, text in (("claude", CLAUDE), ("my-lead", READER)):
            (programs / name).write_text(text, "utf-8")
            (programs / name).chmod(stat.S_IRWXU)
        self.got, orders = self.folder / "got", self.folder / "orders"
        self.got.touch()
        orders.mkdir()
        self.env.update(PATH="%s:%s" % (programs, os.environ["PATH"]), GOT=str(self.got), LEAD_LOG=str(self.got), LEAD_ORDERS=str(orders))

    def sh(self, line, codes=(0,)):
        done = subprocess.run(["bash", "-c", line], env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT_S)
        self.assertIn(done.returncode, codes, "%s\n%s%s" % (line, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def behind(self, line):
        """One that goes on: as `&` would start it."""
        with open(self.folder / "behind", "ab") as out:
            process = subprocess.Popen(["bash", "-c", line], env=self.env, cwd=self.folder, stdin=subprocess.PIPE, stdout=out, stderr=out,
                                       start_new_session=True)
        self.stops.append(lambda: (process.poll() is None and os.killpg(process.pid, signal.SIGTERM), process.wait(LIMIT_S),
                                   process.stdin.close()))
        if line == "inbox-poller run":
            wait_for("it serves", lambda: "my-team" in self.sh("inbox-poller status", (0, 3)))
        return process

    def lines(self, lines, codes=()):
        """Runs them in order; what each said, by its line."""
        said = {}
        for line in map(without_comment, lines):
            if line.endswith("&"):
                self.behind(line[:-1].strip())
            else:
                said[line] = self.sh(line, dict(codes).get(line, (0,)))
        return said


class Ways(World):
    def way(self, name, codes=()):
        found = {of[1]: lines for of, lines in blocks(ROOT / "README.md") if of[0] == "way"}
        self.assertEqual(len(found[name]), 5)
        return self.lines(found[name], codes)

    def requests(self):
        worker = self.start_worker(self.team, "ada")
        request = worker.ask("permission", tool="Bash", input={"command": "git status --short"})
        self.assertEqual(self.answer(worker, request)["event"], "ran")

    def test_tmux(self):
        said = self.way("tmux", {"inbox-poller decisions": (0, 4)})
        self.assertIn("interceptor", said["inbox-poller status"])
        self.assertIn('"worker"', (self.folder / "home/.claude/settings.json").read_text("utf-8"))
        self.requests()
        wait_for("it is on record", lambda: "git status" in self.sh("inbox-poller decisions", (0, 4)))

    def test_headless(self):
        self.way("headless", {"inbox-poller pending --list": (0, 4)})
        self.requests()
        self.team.say("ada", "The build is green.")
        wait_for("the lead reads it", lambda: "The build is green." in self.got.read_text("utf-8"))

    def test_own(self):
        self.way("own")
        inbox = self.team.inbox("ada")
        wait_for("ada is told", lambda: inbox.exists() and "how far you are" in inbox.read_text("utf-8"))
        self.team.say("ada", "The build is green.")
        wait_for("the lead reads it", lambda: "The build is green." in self.got.read_text("utf-8"))

    def test_look(self):
        self.team.say("ada", wire.permission_request("ada", "Bash", {"command": "make"}))
        before = {path: path.read_bytes() for path in sorted(self.team.root.rglob("*")) if path.is_file()}
        said = self.way("look", {"inbox-poller decisions": (0, 4), "inbox-poller history --limit 5": (0, 4), "inbox-poller doctor": (0, 1)})
        self.assertIn("observer", said["inbox-poller status --long"])
        self.assertEqual({path: path.read_bytes() for path in sorted(self.team.root.rglob("*")) if path.is_file()}, before)

    def test_nothing_is_left_out(self):
        tested = {name[len("test_"):] for name in dir(self) if name.startswith("test_")} - {"nothing_is_left_out"}
        self.assertEqual(tested, {of[1] for of, _ in blocks(ROOT / "README.md") if of[0] == "way"})


class Mentions(unittest.TestCase):
    """What is only looked for: what builds and tests the project, and each command and each option that is named."""

    def test_what_builds_and_tests_the_project_is_there(self):
        for path in DOCUMENTS:
            for of, lines in blocks(path):
                for line in map(without_comment, lines):
                    words = line.replace("./", "").split()
                    if words[0].startswith("deploy/"):
                        program = ROOT / words[0]
                        self.assertTrue(os.access(program, os.X_OK), line)
                        texts = [program, ROOT / "deploy/demo/demo.py", ROOT / "tests/bench/bench.py", ROOT / "tests/long.py",
                                 ROOT / "tests/CMakeLists.txt"]  # how a unit program is called
                        known = "".join(text.read_text("utf-8") for text in texts)
                        for word in words[1:]:
                            self.assertTrue(not word.startswith("--") or '"%s"' % word in known or word + " " in known, line)
                    if words[0] == "python3":
                        self.assertTrue((ROOT / next(word for word in words[1:] if not word.startswith("-"))).is_file(), line)

    def test_every_command_and_option_that_is_named_is_one_of_ours(self):
        program = os.environ["INBOX_POLLER"]
        known = {}

        def offered(*words):
            if words not in known:
                done = subprocess.run([program, "__complete", *words], capture_output=True, text=True, timeout=LIMIT_S,
                                      env=dict(os.environ, XDG_RUNTIME_DIR="/nonexistent", XDG_STATE_HOME="/nonexistent"))
                known[words] = {line.split("\t")[0] for line in done.stdout.splitlines()}
            return known[words]

        wrong, seen = [], 0
        for path in DOCUMENTS:
            if path.parent.name == "adr":
                continue  # what was decided then
            text = path.read_text("utf-8")
            named = [line for _, lines in blocks(path) for line in lines]
            named += re.findall(r"`(inbox-poller [^`]*)`", re.sub(r"```.*?```", "", text, flags=re.S).replace("\n", " "))
            for line in named:
                for part in re.findall(r"(?:^|[;|&] *(?:exec )?)inbox-poller ([^;|&]*)", without_comment(line)):
                    words = re.sub(r" -- .*", "", part).split()
                    here = ()
                    while words and words[0] in offered(*here, ""):
                        here += (words.pop(0),)
                    seen += 1
                    if not here and not words[0].startswith("-") and words[0].isascii():
                        wrong.append("%s: no command: %s" % (path.name, line))
                    wrong += ["%s: no option %s: %s" % (path.name, word, line) for word in words
                              if re.fullmatch(r"--[a-z-]+", word) and word not in offered(*here, "--") | {"--version", "--help"}]
        self.assertEqual(wrong, [])
        self.assertGreater(seen, 60)
        table = re.findall(r"^\| (.*?) \|", (ROOT / "docs" / "reference" / "commands.md").read_text("utf-8"), re.M)
        told = {word for cell in table for word in re.findall(r"`([a-z-]+)", cell)}
        self.assertEqual(offered("") - told, set(), "commands that docs/reference/commands.md leaves out")


if __name__ == "__main__":
    unittest.main()
