"""The cookbook of docs/how-to/write-rules.md: each row's rules, in a team of their own, allow the calls that it says and no other of it."""

import pathlib
import re
import unittest

import team as wire
from case import ProcessTest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "how-to" / "write-rules.md"
TOOLS = r"(Read|Edit|Write|WebFetch|WebSearch|Agent|mcp__\w+)\b ?(.*)"


def code(cell):
    return re.findall(r"`([^`]*)`", cell)


def rows():
    """(wish, lines of TOML, calls that are allowed, calls that are not)"""
    table = PAGE.read_text("utf-8").split("## Cookbook")[1].split("\n## ")[0]
    for line in re.findall(r"^\| (?!You want|---)(.*) \|$", table, re.M):
        wish, rules, allowed, others = line.split(" | ")
        yield wish, code(rules), code(allowed), code(others)


class Cookbook(ProcessTest):
    def test_each_row_allows_what_it_says_and_no_more(self):
        texts = []
        for n, (wish, rules, _, _) in enumerate(rows()):
            team = wire.Team(self.folder / "teams", "row%d" % n, ("builder",), cwd="/work/project")
            section = "sandbox" if "sandbox" in wish else "permissions"
            texts.append('[team]\nname = "row%d"\nroot = "%s"\n[%s]\n%s\n' % (n, team.root, section, "\n".join(rules)))
        self.make_daemon(*texts).start()
        tried = 0
        for n, (wish, _, allowed, others) in enumerate(rows()):
            for call in allowed + others:
                with self.subTest(wish, call=call):
                    said = self.verdict(n, call, "sandbox" in wish)
                    self.assertEqual(said.startswith("allowed"), call in allowed, said)
                    tried += 1
        self.assertGreater(len(texts), 24)
        self.assertGreater(tried, 100)

    def verdict(self, n, call, is_host):
        tool = re.fullmatch(TOOLS, call)
        more = ["--tool", tool[1]] if tool else ["--domain"] if is_host else []
        line = ["rules", "--team", "row%d" % n, "--worker", "builder", "--try", tool[2] if tool else call, *more]
        done = self.daemon.cli(*line, expect=None)
        return next((said for said in done.stdout.splitlines() if re.match("allowed|asked|denied", said)), done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
