"""`statusline`: one line for the status line of a client, and nothing where no daemon answers at once."""

import json
import os
import signal
import subprocess
import unittest

import team as wire
from daemon import hold_still, team_toml, wait_for
from hooks import HookTest, prompt, start

NO_WAY = '[delivery]\nmethods = ["hook"]\n'


class Statusline(HookTest):
    def line(self, given="", locale="C.UTF-8", *options):
        done = subprocess.run([self.daemon.program, "statusline", "--socket", self.daemon.socket, *options], input=given, text=True, capture_output=True,
                              env={**self.daemon.env, "LC_ALL": "", "LC_CTYPE": "", "LANG": locale}, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def shows(self, wanted, *given, **more):
        """On a busy machine a line may stay empty, because the command gives the daemon little time."""
        wait_for("the line is %r" % wanted, lambda: self.line(*given, **more) == wanted)

    def two_wait_and_three_mails(self):
        self.start_team(NO_WAY)
        self.hook(start(self.session))
        self.hook(prompt(self.session))
        for number in ("perm-1", "perm-2"):
            self.team.say("ada", wire.permission_request("ada", "Bash", {"command": "make " + number}, number))
        self.say("pearl", "quartz", "ruby")
        wait_for("all is known", lambda: len(self.daemon.ask("pending")["requests"]) == 2 and self.chat()["queued"] == 3)

    def test_requests_lead_and_mail_stand_in_one_line(self):
        self.two_wait_and_three_mails()
        self.shows("2 wait · lead busy · 3 mails\n")
        for locale in ("C", "", "de_DE.ISO-8859-1"):
            self.shows("2 wait | lead busy | 3 mails\n", locale=locale)
        told = wait_for("it waits", lambda: (lambda one: one["waits"] and one)(json.loads(self.line("", "C", "--json"))))
        self.assertEqual(told["line"], "2 wait | lead busy | 3 mails")

    def test_an_input_that_does_not_end_or_is_no_json_is_not_waited_for(self):
        self.two_wait_and_three_mails()
        self.shows("2 wait · lead busy · 3 mails\n", "no JSON")
        wait_for("it prints although nobody closed the input", lambda: "2 wait" in self.line_with_an_open_input())

    def line_with_an_open_input(self):
        process = subprocess.Popen([self.daemon.program, "statusline", "--socket", self.daemon.socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=self.daemon.env, text=True)
        try:
            text = process.stdout.read()
            self.assertEqual(process.wait(60), 0)
            return text
        finally:
            process.kill()
            process.stdin.close()
            process.stdout.close()

    def test_the_session_chooses_the_team_that_it_leads(self):
        self.two_wait_and_three_mails()
        self.make_second_team()
        both = wait_for("a line about both", lambda: self.line() or None)
        self.assertIn("2 wait", both)
        self.assertNotIn("lead", both)
        self.shows("2 wait · lead busy\n", json.dumps({"session_id": self.session, "cwd": "/", "model": {"id": "x"}}))
        self.shows(both, json.dumps({"session_id": "another"}))
        other = wait_for("a line about the other", lambda: self.line("", "C.UTF-8", "--team", "other") or None)
        self.assertTrue(other.startswith("lead "), other)

    def make_second_team(self):
        other = self.make_team("other", ("cyd",))
        self.daemon.stop()
        self.daemon = self.make_daemon(team_toml(self.team, more=NO_WAY), team_toml(other, more=NO_WAY)).start()
        self.hook(start(self.session))
        self.hook(prompt(self.session))  # takes the mail along
        wait_for("both are served", lambda: len(self.daemon.ask("status")["teams"]) == 2)

    def test_nothing_is_printed_where_no_daemon_answers(self):
        self.two_wait_and_three_mails()
        hold_still(self.daemon.process.pid)
        try:
            self.assertEqual(self.line(), "")
        finally:
            os.kill(self.daemon.process.pid, signal.SIGCONT)
        self.daemon.stop()
        self.assertEqual(self.line(), "")
        self.assertFalse(json.loads(self.line("", "C", "--json"))["waits"])


if __name__ == "__main__":
    unittest.main()
