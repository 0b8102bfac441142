"""Odd files where an inbox or a roster should be: each has a named outcome, and no other team notices."""

import os
import shutil
import unittest

import team as wire
from case import ProcessTest
from daemon import team_toml, wait_for


class Files(ProcessTest):
    def setUp(self):
        super().setUp()
        self.odd = self.make_team("odd")
        self.good = self.make_team("good")
        self.make_daemon(team_toml(self.odd), team_toml(self.good)).start()

    def state(self, name="odd"):
        return next(t for t in self.daemon.ask("status")["teams"] if t["team"] == name)

    def the_good_team_is_served(self):
        request = wire.permission_request("ada", "Bash", {"command": "git status"})
        self.good.say("ada", request)
        wait_for("the other team is answered", lambda: self.good.replies("ada", request["request_id"]))

    def served(self):
        request = wire.permission_request("ada", "Bash", {"command": "git status"})
        self.odd.say("ada", request)
        wait_for("the odd team is answered", lambda: self.odd.replies("ada", request["request_id"]))

    def has_state(self, *expected):
        wait_for("the inbox is %s, not %s" % (expected, self.state()["inbox"]), lambda: self.state()["inbox"]["state"] in expected)

    def test_things_that_are_not_regular_files(self):
        inbox = str(self.odd.lead_inbox)
        secret = self.folder / "elsewhere.json"
        secret.write_text(wire.stringify([wire.entry("ada", "from elsewhere")], 2))
        before = secret.read_bytes()

        def fifo():
            os.mkfifo(inbox)

        for make, unmake in ((fifo, os.unlink), (lambda: os.mkdir(inbox), os.rmdir),
                             (lambda: os.symlink(secret, inbox), os.unlink)):
            make()
            self.has_state("not_regular")
            self.the_good_team_is_served()
            unmake(inbox)
            self.served()
            os.unlink(inbox)
        self.assertEqual(secret.read_bytes(), before)
        self.assertTrue(self.daemon.log("inbox.state", team="odd"))

    def test_a_file_of_0_bytes_is_not_an_empty_inbox(self):
        wire.rewrite(self.odd.lead_inbox, "")
        self.has_state("empty", "torn")
        self.the_good_team_is_served()
        self.assertEqual(self.odd.lead_inbox.read_bytes(), b"")
        wire.rewrite(self.odd.lead_inbox, "[]")
        self.served()

    def test_garbage_is_copied_to_quarantine_once_and_left_as_it_is(self):
        for damage in (b"this is not JSON", b'[{"from":"ada","text":"half', b"\xff\xfe\x00", b"{}"):
            with self.subTest(damage):
                before = len(self.daemon.ask("quarantine")["files"])
                self.odd.lead_inbox.write_bytes(damage)
                wait_for("a copy in quarantine", lambda: len(self.daemon.ask("quarantine")["files"]) > before)
                self.the_good_team_is_served()
                self.daemon.polled()
                self.assertEqual(len(self.daemon.ask("quarantine")["files"]), before + 1)
                self.assertEqual(self.odd.lead_inbox.read_bytes(), damage)
        wire.rewrite(self.odd.lead_inbox, "[]")
        self.served()

    def test_complete_entries_before_a_truncated_one_are_not_lost_when_it_is_repaired(self):
        request = wire.permission_request("ada", "Bash", {"command": "git status"})
        text = wire.stringify([wire.entry("ada", wire.stringify(request)), wire.entry("bob", "x" * 200)], 2)
        self.odd.lead_inbox.write_text(text[:-120])
        self.daemon.polled()
        self.odd.lead_inbox.write_text(text)
        wait_for("the request is answered", lambda: self.odd.replies("ada", request["request_id"]))
        self.assertEqual(len(self.odd.replies("ada", request["request_id"])), 1)

    def test_a_bom_crlf_and_a_trailing_newline_are_read_and_kept(self):
        request = wire.permission_request("ada", "Bash", {"command": "git status"})
        text = "\ufeff" + wire.stringify([wire.entry("ada", wire.stringify(request))], 2).replace("\n", "\r\n") + "\r\n"
        self.odd.lead_inbox.write_bytes(text.encode())
        wait_for("the request is answered", lambda: self.odd.replies("ada", request["request_id"]))
        expected = text.replace('"read": false', '"read": true ').encode()
        wait_for("only the flag changed", lambda: self.odd.lead_inbox.read_bytes() == expected)

    def test_a_roster_of_0_bytes_keeps_the_last_good_one(self):
        self.served()
        roster = self.odd.config.read_bytes()
        self.odd.config.write_bytes(b"")
        wait_for("it is noticed", lambda: self.daemon.log("roster.unreadable", team="odd"))
        self.served()
        self.the_good_team_is_served()
        self.odd.config.write_bytes(roster)
        self.served()

    def test_a_new_member_is_known_as_soon_as_the_roster_says_so(self):
        roster = self.odd.roster()
        roster["members"].append(dict(roster["members"][1], name="eve", agentId="eve@odd"))
        self.odd.write_roster(roster)
        request = wire.permission_request("eve", "Bash", {"command": "git status"})
        wait_for("the change is noticed", lambda: any(m["member"] == "eve" for m in self.state()["members"]))
        self.odd.say("eve", request)
        wait_for("eve is answered", lambda: self.odd.replies("eve", request["request_id"]))

    def test_a_held_lock_delays_and_a_stale_one_is_taken_over(self):
        lock = str(self.odd.lead_inbox) + ".lock"
        request = wire.permission_request("ada", "Bash", {"command": "git status"})
        self.odd.say("ada", request)
        os.mkdir(lock)
        wait_for("it is answered, since reading needs no lock", lambda: self.odd.replies("ada", request["request_id"]))
        self.assertTrue(os.path.isdir(lock), "a living lock was taken")
        self.the_good_team_is_served()
        wait_for("the stale lock is taken over and the request marked",
                 lambda: (wire.read_inbox(self.odd.lead_inbox) or [{}])[0].get("read"), pause=0.2)
        self.assertFalse(os.path.exists(lock))

    def test_a_team_that_vanishes_and_comes_back(self):
        shutil.rmtree(self.odd.folder)
        wait_for("it is noticed", lambda: self.daemon.log("roster.vanished", team="odd"))
        self.the_good_team_is_served()
        self.odd = self.make_team("odd")
        self.served()


if __name__ == "__main__":
    unittest.main()
