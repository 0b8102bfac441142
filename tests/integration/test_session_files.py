"""The files that clients keep of their sessions while they live: who leads, what it does, which version it is; and what says nothing."""

import json
import os
import subprocess
import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for
from lead import claim_of

SESSION = "11111111-2222-4333-8444-555555555555"
DEAD = 0x7ffffff0  # beyond any pid


class SessionFiles(ProcessTest):
    """This test's own process stands for the lead's client."""

    def setUp(self):
        super().setUp()
        if not claim_of(os.getpid())["procStart"].isdigit():
            self.skipTest("processes' starts are not told in clock ticks here")
        self.team = self.make_team()
        self.sessions = self.team.config.parents[2] / "sessions"
        self.sessions.mkdir()
        self.roster(leadSessionId=SESSION, createdAt=wire.now_ms())  # after this process began

    def roster(self, **fields):
        wire.edit_roster(self.team.config, lambda roster: roster.update(fields))

    def file(self, pid=None):
        return self.sessions / ("%d.json" % (pid or os.getpid()))

    def says(self, pid=None, **fields):
        pid = pid or os.getpid()
        said = {"pid": pid, "sessionId": SESSION, "procStart": claim_of(os.getpid())["procStart"], "version": "2.1.220", "kind": "interactive",
                "entrypoint": "cli", "status": "idle", **fields}
        self.file(pid).write_text(json.dumps({key: value for key, value in said.items() if value is not None}))

    def role(self, role):
        wait_for("the role is " + role, lambda: self.status()["role"] == role)

    def lead_is(self, state):
        wait_for("the lead is " + state, lambda: self.status()["lead"]["state"] == state)

    def doctor(self):
        done = self.daemon.cli("doctor", "--json", "--config", self.daemon.configs[0], "--daemon-config", self.daemon.daemon_file, expect=None)
        return {finding["check"]: finding for section in json.loads(done.stdout)["sections"] for finding in section["findings"]}

    def test_a_leader_takes_nothing_beside_a_client_that_made_the_team(self):
        self.says()
        self.team.say("bob", "for the lead")
        before = self.team.inbox("team-lead").read_bytes()
        self.start_daemon(self.team)
        self.assertEqual(self.status()["role"], "paused")
        for word in ("process %d (client 2.1.220)" % os.getpid(), "lead's session", "inbox-poller resume"):
            self.assertIn(word, self.status()["role_reason"])
        self.assertEqual(self.team.inbox("team-lead").read_bytes(), before)
        self.assertEqual([e["code"] for e in self.daemon.log("inbox.competing_consumer")], ["lead_session"])
        found = self.doctor()
        self.assertIn("process %d" % os.getpid(), found["lead.alive"]["what"])
        self.assertIn("end process %d" % os.getpid(), found["daemon.paused"]["mend"])
        self.assertIn("reads its inbox itself", self.daemon.cli("status").stdout)
        self.daemon.stop()
        self.daemon.start()
        self.assertEqual(self.status()["role"], "paused")
        self.daemon.cli("resume")
        self.role("leader")
        wait_for("its mail is ours", lambda: self.status()["chat"]["queued"] == 1)
        self.daemon.kill()
        self.daemon.start()  # the person's word holds for that process
        self.assertEqual(self.status()["role"], "leader")

    def test_one_that_appears_later_stops_a_leader_too(self):
        self.start_daemon(self.team)
        self.assertEqual(self.status()["role"], "leader")
        self.says()
        self.role("paused")

    def test_what_proves_no_reader_of_the_inbox_stops_nobody(self):
        self.start_daemon(self.team)
        for fields in (dict(pid=DEAD), dict(procStart="7"), dict(procStart=None), dict(procStart="Wed Nov 25 14:00:00 2026"),
                       dict(sessionId="another"), dict(entrypoint="sdk-cli"), dict(entrypoint=None)):
            with self.subTest(fields=fields):
                self.says(**fields)
                polls = self.status()["polls"]["last_ms"]
                wait_for("it was polled", lambda: self.status()["polls"]["last_ms"] > polls + 100)
                self.assertEqual(self.status()["role"], "leader")
                self.file(fields.get("pid")).unlink()
        elsewhere = self.folder / "elsewhere.json"
        self.says()
        self.file().rename(elsewhere)
        self.file().symlink_to(elsewhere)
        polls = self.status()["polls"]["last_ms"]
        wait_for("it was polled", lambda: self.status()["polls"]["last_ms"] > polls + 100)
        self.assertEqual(self.status()["role"], "leader")
        self.assertEqual(self.daemon.log("inbox.competing_consumer"), [])

    def test_a_lead_that_took_its_session_up_later_is_followed_and_stops_nobody(self):
        self.roster(createdAt=1000)
        self.says(status="busy")
        self.start_daemon(self.team)
        self.lead_is("busy")
        self.assertEqual(self.status()["role"], "leader")
        self.team.say("bob", "waits")
        wait_for("it is queued", lambda: self.status()["chat"]["queued"] == 1)
        self.says(status="waiting")
        with self.daemon.connect() as control:
            self.assertEqual(control.ask("recv", wait_ms=300)["messages"], [], "a dialog stands at the lead")
            self.says(status="idle")
            self.lead_is("idle")
            self.assertEqual([m["text"] for m in control.ask("recv", wait_ms=5000)["messages"]], ["waits"])
        self.assertIn("client 2.1.220 lives", self.daemon.cli("status").stdout)
        self.says(status="busy")
        self.lead_is("busy")
        self.file().unlink()
        self.lead_is("idle")

    def test_a_persons_word_counts_more(self):
        self.roster(createdAt=1000)
        self.says(status="idle")
        self.start_daemon(self.team)
        self.daemon.cli("lead", "busy")
        self.says(status="busy")
        self.says(status="idle")
        wait_for("it was seen", lambda: self.status()["lead"]["session_file"]["status"] == "idle")
        self.assertEqual(self.status()["lead"]["state"], "busy")

    def test_hooks_are_written_for_the_client_that_runs(self):
        home = self.folder / "home"
        (home / ".claude" / "sessions").mkdir(parents=True)
        self.says(version="2.1.141")
        self.file().rename(home / ".claude" / "sessions" / self.file().name)
        done = subprocess.run([os.environ["INBOX_POLLER"], "hook", "install", "--print"], capture_output=True, text=True, timeout=60,
                              env={"HOME": str(home), "PATH": "/nowhere"})
        self.assertIn("written for client 2.1.141", done.stderr)
        self.assertIn("asyncRewake", done.stdout)


if __name__ == "__main__":
    unittest.main()
