"""The units of the deb under a real systemd, in a bare Debian that is booted for it: the daemon reports when it is ready and what it does, a worker's
request is answered through the sandbox, a mistaken configuration is refused by `reload` and ends no daemon, what is killed or hangs is started again,
a mistake at the start is not tried for ever, and the page is started by whoever asks for it.

Only in the long form (tests/support/bare_debian.py says what it needs).
"""

import contextlib
import json
import os
import unittest

import team as wire
from bare_debian import USER, BareDebian
from daemon import wait_for

RULES = '''[team]
name = "demo"

[permissions]
allow = ["Bash(make test)"]
'''


@contextlib.contextmanager
def as_user(number):
    """What is written meanwhile is that user's, as everything is that her own programs write."""
    os.setegid(number)
    os.seteuid(number)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


class Systemd(BareDebian):
    def unit(self, *words, name="inbox-poller", expect=0):
        done = self.as_ann("systemctl", "--user", "--no-pager", *words, name, expect=None)
        if expect is not None:
            self.assertEqual(done.returncode, expect, done.stderr + self.journal())
        return done

    def journal(self):
        return self.booted("journalctl", "--no-pager", "-o", "cat").stdout[-6000:]

    def shown(self, what, name="inbox-poller"):
        return self.unit("show", "--value", "--property", what, name=name).stdout.strip()

    def configure(self, text):
        with as_user(USER):
            folder = self.home / ".config" / "inbox-poller" / "teams.d"
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = folder / "demo.toml"
            path.write_text(text, "utf-8")
            path.chmod(0o600)

    def started_again(self, what, before):
        wait_for("the daemon %s is started again" % what, lambda: self.shown("NRestarts") != before and self.shown("ActiveState") == "active")
        self.as_ann("inbox-poller", "status")

    def test_the_units_live_as_the_manual_says(self):
        self.make_root()
        self.boot()
        self.install_deb()
        with as_user(USER):
            team = wire.Team(self.home / ".claude" / "teams", "demo", ("ada",))
        self.configure(RULES)
        self.booted("loginctl", "enable-linger", "ann")
        wait_for("ann's manager", lambda: self.as_ann("systemctl", "--user", "is-system-running", expect=None).stdout.strip() == "running")

        self.unit("enable", "--now")  # returns when the daemon said READY=1
        self.assertEqual(self.shown("ActiveState"), "active")
        wait_for("it says what it serves", lambda: self.shown("StatusText") == "1 team served")
        self.a_request_is_answered(team)
        self.exposure()
        self.reload_with_a_mistake()
        self.killed_and_hung(team)
        self.the_page()

        self.unit("stop")
        self.assertEqual((self.shown("ActiveState"), self.shown("Result")), ("inactive", "success"))
        self.configure("[team]\nname = 7\n")
        self.unit("start", expect=None)
        wait_for("a mistake is no reason to try again", lambda: self.shown("ActiveState") == "failed")
        self.assertEqual(self.shown("ExecMainStatus"), "2")
        self.assertIn("demo.toml", self.journal())

    def install_deb(self):
        (self.root / "root" / self.deb.name).write_bytes(self.deb.read_bytes())
        self.inside("apt-get", "install", "-y", "--no-install-recommends", "/root/" + self.deb.name)

    def a_request_is_answered(self, team, number="perm-1-systemd"):
        with as_user(USER):
            team.say("ada", wire.stringify(wire.permission_request("ada", "Bash", {"command": "make test"}, number)))
        wait_for("%s is answered" % number, lambda: team.replies("ada", number))

    def exposure(self):
        """What an attacker could still reach, as systemd itself counts it: 10 is everything."""
        for name, most in (("inbox-poller.service", 2.0), ("inbox-poller-web.service", 2.0)):
            said = json.loads(self.as_ann("systemd-analyze", "--user", "--json=short", "security", "--no-pager", name, expect=None).stdout or "[]")
            self.assertTrue(said, name)
            overall = self.as_ann("systemd-analyze", "--user", "security", "--no-pager", name, expect=None).stdout.splitlines()[-1]
            figure = float(overall.split(":")[1].split()[0])
            print("figures: exposure of %s: %.1f" % (name, figure))
            self.assertLessEqual(figure, most, overall)

    def reload_with_a_mistake(self):
        process = self.shown("MainPID")
        self.configure(RULES.replace("allow", "alow"))
        self.assertNotEqual(self.unit("reload", expect=None).returncode, 0)
        self.assertEqual((self.shown("ActiveState"), self.shown("MainPID")), ("active", process))
        self.assertIn("alow", self.journal())
        self.configure(RULES)
        self.unit("reload")
        self.assertEqual(self.shown("MainPID"), process)

    def killed_and_hung(self, team):
        before = self.shown("NRestarts")
        self.unit("kill", "--signal=KILL")
        self.started_again("that was killed", before)
        self.a_request_is_answered(team, "perm-2-systemd")
        before = self.shown("NRestarts")
        self.unit("kill", "--signal=STOP")
        self.started_again("that hung", before)  # WatchdogSec=30, and what it takes to end the old one
        self.a_request_is_answered(team, "perm-3-systemd")

    def the_page(self):
        self.unit("enable", "--now", name="inbox-poller-web.socket")
        self.assertEqual(self.shown("ActiveState", "inbox-poller-web.service"), "inactive")
        link = self.as_ann("inbox-poller", "web", "--link").stdout.strip()
        self.assertRegex(link, r"^http://127\.0\.0\.1:8474/#token=[0-9a-f]{64}$")
        self.assertEqual(self.shown("ActiveState", "inbox-poller-web.service"), "active")


if __name__ == "__main__":
    unittest.main()
