"""Commands for a team whose folder comes a moment later: followers wait for it, orders wait with --wait, and all say so."""

import os
import select
import subprocess
import unittest

import team as wire
from case import ProcessTest
from daemon import team_toml, wait_for


class AbsentTeam(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.folder_of_team = self.team.lead_inbox.parents[1]
        os.rename(self.folder_of_team, self.folder / "later")
        self.make_daemon(team_toml(self.team)).start()
        self.children = []

    def comes(self):
        os.rename(self.folder / "later", self.folder_of_team)

    def start(self, *arguments):
        """The command, once it has said on stderr that it waits."""
        errors = self.folder / ("errors-%d" % len(self.children))
        with open(errors, "wb") as file:
            child = subprocess.Popen([self.daemon.program, *arguments, "--socket", self.daemon.socket], env=self.daemon.env,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=file, text=True)
        self.children.append(child)
        self.stops.append(lambda: child.poll() is None and (child.kill(), child.wait()))
        self.addCleanup(child.stdout.close)
        said = wait_for("it says what it waits for, or ends", lambda: errors.read_text() or child.poll() is not None)
        self.assertIsNone(child.poll(), "%s ended: %s" % (arguments, errors.read_text()))
        self.assertIn("waits for a config.json below", said)
        return child, errors

    def test_followers_wait_for_the_team_and_say_so_once(self):
        follower, errors = self.start("recv", "--follow", "--format", "json")
        receiver, _ = self.start("recv", "--wait", "--format", "json", "--max", "1")
        self.comes()
        wait_for("the team is served", lambda: self.daemon.ask("status")["teams"])
        # Whoever asks first takes what is there, so mail goes on coming until each of the two has some.
        waiting = {receiver.stdout: receiver, follower.stdout: follower}
        while waiting:
            self.team.say("ada", "hello")
            for stdout in select.select(list(waiting), [], [], 0.1)[0]:
                self.assertIn('"from":"ada"', stdout.readline().replace('": "', '":"'))
                del waiting[stdout]
        self.assertEqual(errors.read_text().count("waits for a config.json"), 1)

    def test_a_watch_and_a_wait_begin_before_the_team(self):
        watch, _ = self.start("status", "--watch=100ms", "--team", "demo")
        wait, _ = self.start("wait", "--mail", "--timeout", "1h")
        self.comes()
        self.assertTrue(watch.stdout.readline())
        self.team.say("ada", "hello")
        self.assertEqual(wait.wait(), 0)

    def test_an_order_says_how_to_wait_and_waits(self):
        for order in (("send", "ada", "hello"), ("broadcast", "hello"), ("shutdown", "--all"), ("mode", "--all", "plan"),
                      ("allow", "Bash(ls)"), ("assign", "1", "ada")):
            self.assertIn("a command with --wait waits", self.daemon.cli(*order, expect=4).stderr)
        self.assertIn("did not come in time", self.daemon.cli("send", "--wait=0s", "ada", "hello", expect=5).stderr)
        send, _ = self.start("send", "ada", "hello", "--wait")
        cast, _ = self.start("broadcast", "to all", "--wait=1h")
        self.comes()
        self.assertEqual((send.wait(), cast.wait()), (0, 0))
        wait_for("both are written", lambda: len(wire.read_inbox(self.team.inbox("ada")) or []) == 2)

    def test_a_worker_who_joins_later_is_waited_for(self):
        self.comes()
        wait_for("the team is served", lambda: self.daemon.ask("status")["teams"])
        self.assertIn("carol", self.daemon.cli("send", "carol", "hello", expect=4).stderr)
        errors = self.folder / "waits"
        with open(errors, "wb") as file:
            send = subprocess.Popen([self.daemon.program, "send", "carol", "hello", "--wait", "--socket", self.daemon.socket],
                                    env=self.daemon.env, stdout=subprocess.DEVNULL, stderr=file)
        self.stops.append(lambda: send.poll() is None and (send.kill(), send.wait()))
        wait_for("it says that it waits", lambda: "waits for it" in errors.read_text())
        self.team.add_member("carol")
        self.assertEqual(send.wait(), 0)
        wait_for("it is written", lambda: wire.read_inbox(self.team.inbox("carol")))

    def test_a_team_that_nobody_configured_is_no_team_to_wait_for(self):
        self.assertIn('team "dmo" is not served; served are: none', self.daemon.cli(
            "send", "ada", "x", "--wait", "--team", "dmo", expect=4).stderr)


if __name__ == "__main__":
    unittest.main()
