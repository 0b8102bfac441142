"""docs/tutorial.md, typed line by line into one shell: each command prints what the page shows, but for times, keys and the home folder."""

import pathlib
import unittest

from transcript import Pipe, TranscriptTest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"


class Tutorial(TranscriptTest):
    def test_each_command_prints_what_the_page_shows(self):
        self.begin(Pipe)
        self.assertGreater(self.follow(PAGE), 18)
        self.assertFalse((self.home / ".claude" / "teams" / "first").exists())


if __name__ == "__main__":
    unittest.main()
