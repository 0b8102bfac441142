"""What `doctor`, `check-config` and `inbox` look at: the files of the daemon that runs, where none is named; and that they say what it was."""

import json
import unittest

from case import ProcessTest
from daemon import wait_for


class Doctor(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.start_daemon(self.team)
        wait_for("the workers are known", lambda: len(self.status()["members"]) == 2)
        self.file = str(self.daemon.configs[0])

    def findings(self, *arguments):
        told = json.loads(self.daemon.cli("doctor", "--json", *arguments, expect=None).stdout)
        return [one for section in told["sections"] for one in section["findings"]]

    def test_the_files_of_the_running_daemon_are_examined_where_none_is_named(self):
        found = self.findings()
        self.assertNotIn("config.none", [one["check"] for one in found])
        read = [one for one in found if one["check"] == "config"]
        self.assertEqual([one["where"] for one in read], [self.file])
        self.assertIn("of the running daemon: 1 team file", read[0]["what"])
        self.assertIn("roster", [one["check"] for one in found])

    def test_check_config_without_files_is_about_those_of_the_running_daemon(self):
        shown = self.daemon.cli("check-config")
        self.assertIn("team file " + self.file, shown.stdout)
        self.assertIn("what the running daemon reads: " + self.file, shown.stderr)

    def test_inbox_finds_the_team_of_the_running_daemon(self):
        self.assertIn("team demo  %s/demo" % self.team.root, self.daemon.cli("inbox", "list", "--team", "demo").stdout)

    def test_init_says_that_the_running_daemon_reads_other_files(self):
        shown = self.daemon.cli("init", "--team", "other", "--role", "observer", "--yes")
        self.assertIn("does not read", shown.stdout)
        again = self.daemon.cli("init", "--team", "demo", "--role", "observer", "--yes", expect=None)
        self.assertNotIn("inbox-poller reload", again.stdout)

    def test_a_team_that_is_not_there_is_no_all_clear(self):
        found = self.findings("--team", "dmeo")
        self.assertIn(("error", "team.unknown"), [(one["severity"], one["check"]) for one in found])

    def test_each_line_that_is_in_order_says_what_was_looked_at(self):
        found = self.findings()
        self.assertTrue([one for one in found if one["severity"] == "ok"])
        self.assertEqual([one for one in found if one["severity"] == "ok" and not one["where"]], [])
        text = self.daemon.cli("doctor", expect=None).stdout
        for one in found:
            if one["severity"] == "ok":
                self.assertIn(one["where"], text)


if __name__ == "__main__":
    unittest.main()
