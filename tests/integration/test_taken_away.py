"""Whatever the daemon opened once is taken away while it runs, besides its ledger (tests/fault/test_ledger_gone.py): the control socket and
the log file are made again, folders of the team are found again, and what cannot be mended is told.
"""

import json
import pathlib
import shutil
import subprocess
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, team_toml, wait_for


class TakenAway(ProcessTest):
    def begin(self, folder="."):
        self.team = self.make_team()
        daemon = self.make_daemon(team_toml(self.team))
        (self.folder / folder).mkdir(mode=0o700, exist_ok=True)
        daemon.socket = str(self.folder / folder / "c.sock")
        self.log = self.folder / folder / "log.jsonl"
        settings = pathlib.Path(daemon.daemon_file)
        settings.write_text('state_dir = "%s"\nsocket = "%s"\n' % (daemon.state, daemon.socket))
        return settings

    def ask(self, request_id, team=None):
        (team or self.team).say("ada", wire.permission_request("ada", "Bash", {"command": "git status"}, request_id))

    def answered(self, request_id, team=None):
        wait_for("%s is answered" % request_id, lambda: (team or self.team).replies("ada", request_id))

    def answers(self):
        try:
            return self.daemon.ask("status")["ok"]
        except OSError:
            return False

    def test_the_socket_is_made_again_when_it_is_removed(self):
        self.begin()
        self.daemon.start()
        with self.daemon.connect() as before:
            pathlib.Path(self.daemon.socket).unlink()
            wait_for("it answers again", self.answers)
            self.assertTrue(before.ask("status")["ok"], "an open connection ended")
        self.assertEqual([e["code"] for e in self.daemon.log("control.problem")], ["control.replaced"])

    def test_the_socket_is_made_again_when_its_folder_is_moved(self):
        self.begin(folder="run")
        self.daemon.start()
        (self.folder / "run").rename(self.folder / "elsewhere")
        wait_for("it answers again", self.answers)
        self.assertEqual([e["code"] for e in self.daemon.log("control.problem")], ["control.replaced"])

    def test_another_thing_in_the_sockets_place_stays_and_is_told_once(self):
        self.begin()
        self.daemon.start()
        path = pathlib.Path(self.daemon.socket)
        path.unlink()
        path.write_text("mine")
        (line,) = wait_for("it is told", lambda: self.daemon.log("control.problem"))
        self.assertIn("no command reaches this daemon", line["reason"])
        self.assertIn(str(path), line["reason"])
        self.ask("perm-1")
        self.answered("perm-1")
        path.unlink()
        wait_for("it answers again", self.answers)
        self.daemon.polled(5)
        self.assertEqual([e["code"] for e in self.daemon.log("control.problem")], [line["code"], "control.replaced"])

    def test_the_log_goes_on_in_a_new_file_when_it_is_removed_or_moved(self):
        settings = self.begin()
        settings.write_text(settings.read_text() + '[log]\nfile = "%s"\n' % self.log)
        self.daemon.start()
        for number, take in enumerate((lambda: self.log.unlink(), lambda: self.log.rename(self.folder / "log.1"))):
            take()
            wait_for("there is a new log", lambda: self.log.exists() and self.log.stat().st_size)
            self.ask("perm-%d" % number)
            self.answered("perm-%d" % number)
            events = [json.loads(line) for line in self.log.read_text().splitlines()]
            self.assertEqual([e["event"] for e in events if e["level"] == "warn"], ["daemon.warning"])
            self.assertIn("request.decided", [e["event"] for e in events])

    def test_a_log_whose_folder_is_gone_is_told_once_and_goes_on(self):
        settings = self.begin(folder="logs")
        self.daemon.socket = str(self.folder / "c.sock")
        settings.write_text('state_dir = "%s"\nsocket = "%s"\n[log]\nfile = "%s"\n' % (self.daemon.state, self.daemon.socket, self.log))
        self.daemon.start()
        shutil.rmtree(self.folder / "logs")
        errors = self.folder / "daemon.log"  # its standard error
        wait_for("it is told", lambda: "the log file is gone" in errors.read_text())
        self.ask("perm-1")
        self.answered("perm-1")
        self.assertEqual(errors.read_text().count("the log file is gone"), 1)
        (self.folder / "logs").mkdir(mode=0o700)
        wait_for("there is a new log", lambda: self.log.exists() and self.log.stat().st_size)

    def test_a_start_that_fails_is_told_in_the_log_and_to_whoever_started_it(self):
        settings = self.begin()
        settings.write_text(settings.read_text() + '[log]\nfile = "%s"\n' % self.log)
        self.daemon.start()
        done = subprocess.run(self.daemon.command(), env=self.daemon.env, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 1)
        (told,) = [e["reason"] for e in map(json.loads, self.log.read_text().splitlines()) if e["event"] == "daemon.fault"]
        self.assertEqual(done.stderr, "inbox-poller: %s\n" % told)

    def test_inboxes_that_are_replaced_are_served(self):
        self.begin()
        self.daemon.start()
        self.ask("perm-1")
        self.answered("perm-1")
        self.team.inboxes.rename(self.folder / "old")
        self.team.inboxes.mkdir(mode=0o700)
        self.ask("perm-2")
        self.answered("perm-2")

    def test_a_team_folder_that_is_replaced_is_served(self):
        self.begin()
        self.daemon.start()
        self.ask("perm-1")
        self.answered("perm-1")
        self.team.folder.rename(self.folder / "old-team")
        again = self.make_team()
        self.ask("perm-2", again)
        self.answered("perm-2", again)


if __name__ == "__main__":
    unittest.main()
