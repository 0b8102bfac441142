"""A new configuration for a running daemon, by SIGHUP and by `inbox-poller reload`: all or nothing, and without losing anything."""

import os
import signal
import unittest

import team as wire
from case import ProcessTest
from daemon import team_toml, wait_for, write_private


class Reload(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team(era=wire.ERA1)
        self.start_daemon(self.team)

    def write(self, toml):
        write_private(self.daemon.configs[0], toml)

    def hang_up(self):
        """SIGHUP, and the line that says what came of it."""
        events = ("daemon.reloaded", "daemon.reload_refused")
        before = [len(self.daemon.log(event)) for event in events]
        self.daemon.process.send_signal(signal.SIGHUP)
        wait_for("the reload is told", lambda: [len(self.daemon.log(event)) for event in events] != before)
        return next(self.daemon.log(event)[-1] for event, count in zip(events, before) if len(self.daemon.log(event)) > count)

    def ask(self, command):
        request = wire.permission_request("ada", "Bash", {"command": command})
        self.team.say("ada", request)
        return request["request_id"]

    def answered(self, command):
        request_id = self.ask(command)
        return wire.as_payload(wait_for("an answer to %s" % command, lambda: self.team.replies("ada", request_id))[0]["text"])

    def test_rules_hold_at_once_and_the_teams_service_has_no_break(self):
        self.pending_id(self.ask("make all"))
        self.team.say("ada", "good morning")
        wait_for("it is queued", lambda: self.status()["chat"]["queued"] == 1)
        self.write(team_toml(self.team).replace('"Bash(echo:*)"', '"Bash(make:*)"'))
        told = self.hang_up()
        self.assertEqual((told["event"], told["count"]), ("daemon.reloaded", 1))
        self.assertIn("changed: demo", told["reason"])
        self.assertEqual(self.answered("make all")["subtype"], "success")
        self.pending_id(self.ask("echo no longer"))
        self.assertEqual(len(self.daemon.log("roster.appeared")), 1)
        self.assertEqual(self.status()["chat"]["queued"], 1)

    def test_a_file_with_mistakes_changes_nothing_and_each_mistake_is_told(self):
        bad = team_toml(self.team).replace("[sandbox]", "[sandboxx]").replace('"Bash(rm:*)"', '"Bash("')
        self.write(bad)
        self.hang_up()
        refused = lambda: [e["reason"] for e in self.daemon.log("daemon.reload_refused")]  # noqa: E731
        reasons = wait_for("both mistakes are told", lambda: refused() if len(refused()) > 1 else None)
        self.assertEqual(len(reasons), 2, reasons)
        for reason in reasons:
            self.assertRegex(reason, r"team-0\.toml:\d+:\d+: ")
        answer = self.daemon.ask("reload")
        self.assertEqual((answer["ok"], answer["code"]), (False, "config.refused"))
        self.assertEqual(answer["message"].splitlines(), reasons)
        shown = self.daemon.cli("reload", expect=None)
        self.assertNotEqual(shown.returncode, 0)
        self.assertIn("sandboxx", shown.stderr)
        self.assertEqual(self.answered("echo still")["subtype"], "success")

        os.remove(self.daemon.configs[0])
        self.assertIn("cannot be opened", self.hang_up()["reason"])
        self.write(team_toml(self.team))
        os.chmod(self.daemon.configs[0], 0o666)  # who can write it could widen his own rules
        self.assertIn("chmod go-w", self.hang_up()["reason"])
        self.assertEqual(self.daemon.log("daemon.reloaded"), [])
        self.assertEqual(self.answered("echo still")["subtype"], "success")
        os.chmod(self.daemon.configs[0], 0o600)
        self.assertEqual(self.hang_up()["event"], "daemon.reloaded")

    def test_teams_are_added_and_removed(self):
        other = self.make_team("other", members=("ada",), era=wire.ERA1)
        self.write(team_toml(other))
        answer = self.daemon.ask("reload")
        self.assertEqual((answer["added"], answer["removed"], answer["changed"]), (["other"], ["demo"], []))
        wait_for("only the other is served", lambda: [t["team"] for t in self.daemon.ask("status")["teams"]] == ["other"])
        waiting = self.ask("git status")
        self.daemon.polled(20)
        self.assertEqual(self.team.replies("ada", waiting), [])

        self.write(team_toml(self.team))
        self.daemon.cli("reload")
        wait_for("what waited is answered", lambda: self.team.replies("ada", waiting))
        self.assertEqual(len(self.team.replies("ada", waiting)), 1)

    def test_the_role_may_change_and_nothing_is_answered_twice(self):
        first = self.ask("git status")
        wait_for("it is answered", lambda: self.team.replies("ada", first))
        self.write(team_toml(self.team, team_more='role = "observer"'))
        self.assertEqual(self.daemon.ask("reload")["changed"], ["demo"])
        wait_for("it observes", lambda: [t["role"] for t in self.daemon.ask("status")["teams"]] == ["observer"])
        second, third = self.ask("git status --short"), self.ask("make deploy")
        wait_for("they are seen", lambda: self.daemon.log(request_id=second) and self.daemon.log(request_id=third))
        self.write(team_toml(self.team))
        self.daemon.ask("reload")
        wait_for("the rules answer what was only seen", lambda: self.team.replies("ada", second))
        self.pending_id(third)  # no rule answers it, so a person does
        self.daemon.cli("approve", third)
        wait_for("a person answers the other", lambda: self.team.replies("ada", third))
        self.assertEqual([len(self.team.replies("ada", one)) for one in (first, second, third)], [1, 1, 1])

    def test_what_holds_only_after_a_restart_is_named_and_the_log_level_is_not_among_it(self):
        self.assertEqual(self.daemon.log("control.command"), [])
        write_private(self.daemon.daemon_file, 'state_dir = "%s"\nsocket = "%s"\n[log]\nlevel = "debug"\n' % (
            self.folder / "elsewhere", self.daemon.socket))
        answer = self.daemon.ask("reload")
        self.assertTrue(answer["ok"], answer)
        self.assertEqual(answer["restart"], ["state_dir"])
        self.daemon.ask("status")
        wait_for("debug lines", lambda: self.daemon.log("control.command"))
        self.assertFalse((self.folder / "elsewhere").exists())
        self.assertIn("holds after a restart: state_dir", self.daemon.log("daemon.reloaded")[-1]["reason"])

    def test_many_hang_ups_under_load_lose_nothing_and_repeat_nothing(self):
        requests = []
        for number in range(40):
            requests.append(self.ask("echo %d" % number))
            if number % 4 == 0:
                lead = 'lead = "team-lead"' if number % 8 else ""
                self.write(team_toml(self.team, team_more=lead))
                self.daemon.process.send_signal(signal.SIGHUP)
        for request_id in requests:
            wait_for("an answer", lambda: self.team.replies("ada", request_id))
        self.daemon.polled()
        self.assertEqual([len(self.team.replies("ada", request_id)) for request_id in requests], [1] * len(requests))
        self.assertEqual(self.daemon.stop(), 0, self.daemon.tail())


if __name__ == "__main__":
    unittest.main()
