"""`status`: a line a team where there are many, one team in detail, one line for a prompt. On a terminal it is as wide as that."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import time
import unittest

import team as wire
from case import ProcessTest
from daemon import team_toml, wait_for

TEAMS = 50


class Status(ProcessTest):
    def on_terminal(self, columns, *arguments):
        """What the command prints on a terminal of this width, without colors."""
        outer, inner = pty.openpty()
        try:
            fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            process = subprocess.Popen([self.daemon.program, *arguments, "--socket", self.daemon.socket],
                                       env=dict(self.daemon.env, TERM="xterm"), stdin=subprocess.DEVNULL, stdout=inner)
            os.close(inner)
            said = b""
            try:
                while part := os.read(outer, 65536):
                    said += part
            except OSError:  # how Linux says that nobody is at the other end any more
                pass
            self.assertEqual(process.wait(), 0)
        finally:
            os.close(outer)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode()).replace("\r\n", "\n")

    def test_fifty_teams_are_fifty_lines_and_what_waits_stands_out(self):
        names = ["team-%02d" % n for n in range(TEAMS)]
        teams = [wire.Team(self.folder / "teams", name, ("ada", "bob")) for name in names]
        # Of fifty teams on a busy machine some would be polled late, and status would say so; hints find the mail at once.
        self.make_daemon(team_toml(teams[0], poll="10s").replace('"team-00"', '"team-*"', 1)).start()
        wait_for("all are served", lambda: len(self.daemon.ask("status")["teams"]) == TEAMS)
        nothing = self.daemon.cli("status", "--short", expect=4)
        self.assertEqual((nothing.stdout, nothing.stderr), ("", ""))

        teams[7].say("ada", wire.permission_request("ada", "Bash", {"command": "make"}, "perm-1"))
        teams[9].say("bob", "done")
        wait_for("both came", lambda: self.status("team-07")["requests"]["pending"] and self.status("team-09")["chat"]["queued"])

        lines = self.daemon.cli("status").stdout.splitlines()
        rows = {line.split()[0]: line for line in lines if line.startswith("team-")}
        self.assertEqual(sorted(rows), names)
        self.assertLess(len(lines), TEAMS + 6)
        self.assertRegex(rows["team-07"], r"^team-07  1 \(\d+s\) +-  +1 busy, 1 waiting")
        self.assertRegex(rows["team-09"], r"^team-09  - +1 \(\d+s\) +2 busy +no way to the lead$")
        self.assertRegex(rows["team-00"], r"^team-00  - +- +2 busy +-$")
        self.assertRegex(lines[-1], r"^50 teams: 1 request \d+s, 1 chat \d+s, trouble in 1; ")

        begun = time.monotonic()  # clock: a figure for the reader, compared with nothing
        short = self.daemon.cli("status", "--short").stdout
        # clock: a figure for the reader, compared with nothing
        print("figures: status --short of %d teams in %.0f ms" % (TEAMS, 1000 * (time.monotonic() - begun)))
        self.assertRegex(short, r"^1 request \d+s, 1 chat \d+s, team-09: no way to the lead\n$")
        self.assertTrue(json.loads(self.daemon.cli("status", "--short", "--json").stdout)["waits"])

        one = self.daemon.cli("status", "--team", "team-07").stdout
        self.assertIn("team team-07\n", one)
        self.assertNotIn("team-09", one)
        whole = self.daemon.cli("status", "--long").stdout
        for name in names:
            self.assertIn("team %s\n" % name, whole)
        for columns in (60, 80, 200):
            for arguments in (["status"], ["status", "--team", "team-07"], ["status", "--long"]):
                wide = [line for line in self.on_terminal(columns, *arguments).splitlines() if len(line) > columns]
                self.assertEqual(wide, [], (columns, arguments))

    def test_a_prompt_is_told_when_nobody_serves_it(self):
        self.start_daemon(self.make_team())
        self.daemon.stop()
        gone = self.daemon.cli("status", "--short", expect=3)
        self.assertEqual((gone.stdout, gone.stderr), ("no daemon\n", ""))


if __name__ == "__main__":
    unittest.main()
