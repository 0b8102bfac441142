"""The walks below docs/dev/walks, typed at a pseudo-terminal: each command still prints what the newcomer saw."""

import pathlib
import unittest

from transcript import Terminal, TranscriptTest, steps

WALKS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "dev" / "walks"


class Walks(TranscriptTest):
    def walk(self, name):
        self.begin(Terminal)
        page = WALKS / (name + ".md")
        self.assertEqual(self.follow(page), len(list(steps(page))))
        self.assertGreater(len(list(steps(page))), 6)

    def test_the_first_request_is_answered(self):
        self.walk("first-request")

    def test_only_npm_install_is_allowed(self):
        self.walk("npm-install-only")

    def test_a_dead_lead_at_three_in_the_morning(self):
        self.walk("dead-lead")


if __name__ == "__main__":
    unittest.main()
