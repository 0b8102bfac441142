"""Texts of the command line: the help of each command follows one template, and each mistake is told in one shape."""

import os
import re
import subprocess
import unittest

from case import ProcessTest
from test_command_lines import ROOT

MOST = 70  # characters of a summary
# first words of a summary that are no imperatives, and words that a message does not need (docs/dev/style.md)
BAD_FIRST = re.compile(r"(What|Who|Whether|How|The|A|An|Of|Mail|It)\b")
BAD_WORDS = re.compile(r"\b(nobody|somebody|whoever|anew|likewise|who are you|there is no|is no [a-z]+|has none|as may|as it takes)\b")
CODES = re.compile(r"\n(Exit codes:\n +0|The exit code is the lead's)")
ID = "no-such-id"
WRONG = [  # (words, exit code, the place and the fault, what to do): asked with a daemon that serves team demo
    ("statsu", 2, 'unknown command "statsu"', 'did you mean "status"?'),
    ("inbox", 2, "inbox: missing command", "--help"),
    ("status --lnog", 2, "unknown option --lnog", 'did you mean "--long"?'),
    ("run extra", 2, 'unexpected word "extra"', "--help"),
    ("lead bsy", 2, 'STATE: unknown value "bsy"', 'did you mean "busy"? (busy, idle, offline)'),
    ("recv --format xml", 2, '--format: unknown value "xml"', "(json, text)"),
    ("history --limit abc", 2, '--limit: "abc" is not a number', "from 1 to 10000"),
    ("mode ada Plan", 2, 'MODE: unknown permission mode "Plan"', 'did you mean "plan"?'),
    ("send", 2, "TO: missing", "--help"),
    ("approve %s" % ID, 4, ID, "`inbox-poller pending --list`"),
    ("pending --team dmo", 4, "dmo", "demo"),
    ("shutdown adda", 4, "adda", 'did you mean "ada"?'),
    ("check-config --config /nonexistent.toml", 2, "/nonexistent.toml: ", "No such file"),
]


def commands():
    """The words of each command, by the tables that are made from the program's own."""
    found = []
    for page in ("commands.md", "commands-inbox.md"):
        for line in (ROOT / "docs" / "reference" / page).read_text("utf-8").splitlines():
            row = re.match(r"\| `([a-z][^`]*)` \|", line)
            if row:
                found.append([word for word in row[1].split() if re.fullmatch(r"[a-z][a-z-]*", word)])
    return found


class Help(unittest.TestCase):
    def test_each_command_has_all_parts(self):
        self.assertGreater(len(commands()), 50)
        for words in commands():
            with self.subTest(" ".join(words)):
                done = subprocess.run([os.environ["INBOX_POLLER"], *words, "--help"], capture_output=True, text=True, check=True)
                summary, usage, rest = done.stdout.split("\n", 2)
                self.assertLessEqual(len(summary), MOST)
                self.assertRegex(summary, r"^[A-Z].*[^.]$")
                self.assertNotRegex(summary, BAD_FIRST)
                self.assertTrue(usage.startswith("Usage: inbox-poller " + " ".join(words)), usage)
                self.assertIn("\nOptions:\n", "\n" + rest)
                self.assertRegex(rest, r"\nExamples?:\n(  .*\n)*?  .*inbox-poller ")
                self.assertRegex(rest, CODES)
                self.assertLess(rest.index("Example"), CODES.search(rest).start())


class Mistakes(ProcessTest):
    def test_a_message_names_the_place_the_fault_and_what_to_do(self):
        self.start_daemon(self.make_team())
        for line, code, fault, remedy in WRONG:
            with self.subTest(line):
                said = self.daemon.cli(*line.split(), expect=code).stderr
                self.assertIn(fault, said)
                self.assertIn(remedy, said)
                self.assertLess(said.index(fault), said.rindex(remedy))
                self.assertNotRegex(said, BAD_WORDS)
                self.assertTrue(said.startswith("inbox-poller: ") or line.startswith("check-config"), said)
                self.assertNotIn("?", re.sub(r'did you mean "[^"]*"\?', "", said))


if __name__ == "__main__":
    unittest.main()
