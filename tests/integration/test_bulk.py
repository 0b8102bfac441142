"""Three hundred requests: listed in one line each at any width, chosen, and answered by one command."""

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import unicodedata
import unittest

import team as wire
from case import ProcessTest
from daemon import team_toml, wait_for, write_private

SECRET = "ghp_0123456789abcdef0123456789abcdef0123"


def cells(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class Bulk(ProcessTest):
    def begin(self, members=("ada", "bob"), limit=400):
        self.team = self.make_team(members=list(members))
        self.start_daemon(self.team, '[limits]\npending_per_worker = %d\n' % limit)

    def say(self, asker, command, number):
        """One request; nobody has to wait for its answer."""
        request = wire.permission_request(asker, "Bash", {"command": command}, request_id="perm-%d-%s" % (number, asker if asker.isascii() else "x"))
        self.team.say(asker, request if isinstance(request, str) else json.dumps(request))

    def pending(self, count):
        return wait_for("%d requests" % count, lambda: (lambda requests: requests if len(requests) == count else None)(
            self.daemon.ask("pending")["requests"]))

    def states(self):
        return {d["request_id"]: (d["state"], d["decided_by"]) for d in self.daemon.ask("decisions", limit=1000)["decisions"]}

    def on_terminal(self, columns, *arguments, answer=None):
        """What a command writes on a terminal of that width, and its exit code."""
        outer, inner = pty.openpty()
        self.addCleanup(os.close, outer)
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        process = subprocess.Popen([self.daemon.program, *arguments, "--socket", self.daemon.socket],
                                   env=dict(self.daemon.env, USER="carol", NO_COLOR="1"), stdin=inner, stdout=inner, stderr=inner)
        os.close(inner)
        written = b""
        while True:
            if answer and answer[0].encode() in written:
                os.write(outer, answer[1].encode())
                answer = None
            select.select([outer], [], [], 30)
            try:
                part = os.read(outer, 65536)
            except OSError:  # the other end is closed
                part = b""
            if not part:
                return written.decode().replace("\r\n", "\n"), process.wait()
            written += part

    def test_three_hundred_fit_every_width_and_are_answered_by_one_command(self):
        self.begin(members=("ada", "bob", "星星星星星星"))
        names = ("ada", "bob", "星星星星星星")
        for number in range(300):
            self.say(names[number % 3], "make 目标%d # GH=%s \x1b[2J\u202e %s" % (number, SECRET, "x" * (number % 90)), number)
        self.pending(300)
        for columns in (60, 80, 200):
            with self.subTest(columns=columns):
                shown, code = self.on_terminal(columns, "pending", "--list")
                lines = shown.splitlines()
                self.assertEqual((code, len(lines)), (0, 301))
                self.assertEqual([line for line in lines if cells(line) > columns], [])
                self.assertNotIn("\x1b", shown)
                self.assertNotIn("\u202e", shown)
                self.assertNotIn(SECRET[:12], shown)
                self.assertEqual(sum("Bash: make 目标" in line for line in lines), 300)
        piped = self.daemon.cli("pending", "--list").stdout
        self.assertIn("GH=", piped)
        self.assertNotIn(SECRET, piped)
        ids = [line.split()[0] for line in piped.splitlines()[1:]]
        self.assertEqual(len(set(ids)), 300)
        # Each that was shown has its own outcome; where one of several was typed that is not open, nothing is answered.
        key = self.daemon.ask("pending")["requests"][0]["message_key"]
        self.daemon.cli("approve", ids.pop(0))
        self.daemon.cli("approve", key, *ids, expect=1)
        self.assertEqual(len(self.states()), 1)
        told = self.daemon.ask("approve", ids=[key, ids[0], "perm-none"], shown=True, by="carol")
        self.assertEqual([one.get("code") for one in told["answers"]], ["request.already_decided", "request.unknown", "request.unknown"])
        done = self.daemon.cli("approve", *ids)
        self.assertTrue(done.stdout.endswith("299 of 299 answered\n"), done.stdout[-200:])
        self.assertEqual(set(state for state, _ in self.states().values()), {"approved"})
        self.assertEqual(len(self.states()), 300)
        self.assertEqual(self.daemon.cli("pending", "--list").stdout, "nothing is waiting for an answer\n")

    def test_conditions_choose_and_the_oldest_stands_first(self):
        self.begin()
        for number, asker in enumerate(("bob", "ada", "bob")):
            self.say(asker, "make %d" % number, number)
            self.pending(number + 1)
        lines = self.daemon.cli("pending", "--list").stdout.splitlines()
        self.assertEqual([line.split("Bash: ")[1] for line in lines[1:]], ["make 0", "make 1", "make 2"])
        only = json.loads(self.daemon.cli("pending", "--list", "--member", "bob", "--since", "1h", "--json").stdout)["requests"]
        self.assertEqual([a["subject"] for a in only], ["Bash: make 0", "Bash: make 2"])
        self.assertTrue(all(a["message_key"].startswith(a["short_id"]) for a in only))
        self.assertEqual(self.daemon.cli("pending", "--kind", "plan").stdout, "no open request fits; without conditions 3 do\n")
        self.daemon.cli("pending", "--kind", "wish", expect=2)

    def test_one_uncertain_id_answers_nothing(self):
        self.begin()
        for number in (17, 18):
            self.say("ada", "make %d" % number, number)
        first, second = self.pending(2)
        done = self.daemon.cli("approve", "perm-1", expect=1)
        self.assertIn(first["message_key"], done.stderr)
        self.assertIn(second["message_key"], done.stderr)
        self.daemon.cli("deny", second["message_key"][:8], "perm-1", "--reason", "no", expect=1)
        self.daemon.cli("deny", second["message_key"][:8], "perm-99", "--reason", "no", expect=4)
        self.daemon.cli("approve", second["message_key"][:3], expect=4)
        self.daemon.cli("approve", expect=2)
        self.daemon.cli("approve", "perm-17-ada", "perm-18-ada", "--input", "{}", expect=2)
        self.assertEqual(self.states(), {})
        self.daemon.cli("approve", "perm-17")
        self.assertEqual(list(self.states()), ["perm-17-ada"])
        # The beginning stays that of the decided one: who gives it may have meant that.
        self.say("ada", "make again", 171)
        self.pending(2)
        self.assertIn("several requests begin with", self.daemon.cli("approve", "perm-17", expect=1).stderr)
        self.assertEqual(list(self.states()), ["perm-17-ada"])

    def test_an_id_that_is_the_beginning_of_an_older_ones_is_not_taken(self):
        self.begin()
        self.say("ada", "make x", 1)
        older = self.pending(1)[0]
        request = wire.permission_request("bob", "Bash", {"command": "evil"}, request_id=older["message_key"][:8])
        self.team.say("bob", request if isinstance(request, str) else json.dumps(request))
        self.pending(2)
        done = self.daemon.cli("approve", older["message_key"][:8], expect=1)
        self.assertIn(older["message_key"], done.stderr)
        self.assertEqual(self.states(), {})

    def test_like_shows_what_the_rule_covers_asks_and_answers_that(self):
        self.begin()
        for number in range(6):
            self.say("ada" if number % 2 else "bob", "make check" if number < 4 else "make other", number)
        self.pending(6)
        refused = self.daemon.cli("approve", "--similar-to", "perm-0-bob", expect=2)
        self.assertIn("4 open requests are covered by Bash(make check)", refused.stdout)
        self.assertIn("--yes", refused.stderr)
        self.assertEqual(self.states(), {})
        shown, code = self.on_terminal(80, "approve", "--similar-to", "perm-0-bob", answer=("approve these 4? [y/N] ", "n\n"))
        self.assertEqual((code, self.states()), (2, {}), shown)
        shown, code = self.on_terminal(80, "approve", "--similar-to", "perm-0-bob", answer=("approve these 4? [y/N] ", "y\n"))
        self.assertEqual(code, 0, shown)
        self.assertEqual(set(self.states().values()), {("approved", "carol")})
        self.assertEqual(len(self.pending(2)), 2)
        self.daemon.cli("approve", "--similar-to", "perm-4-bob", "--always", expect=2)
        told = json.loads(self.daemon.cli("deny", "--similar-to", "perm-4-bob", "--reason", "no", "--yes", "--json").stdout)
        self.assertEqual([a["state"] for a in told["answers"]], ["denied", "denied"])
        self.team.say("ada", wire.plan_request("ada", self.team, "# Plan", request_id="plan-1"))
        self.pending(1)
        self.daemon.cli("approve", "--similar-to", "plan-1", "--yes", expect=1)

    def by_rule(self, *numbers):
        """Who decided these: the rule, or nobody yet."""
        decided = {d["request_id"]: "%s %s %s" % (d["state"], d["decided_by"], d["rule"])
                   for d in self.daemon.ask("decisions", limit=1000)["decisions"]}
        return [decided.get("perm-%d-ada" % n, "open") for n in numbers]

    def test_a_rule_that_comes_later_answers_the_requests_that_it_covers_and_no_other(self):
        self.begin()
        for number, command in enumerate(("make one", "make two", "make three && dd x", "ls", "ls", "dd y")):
            self.say("ada", command, number)
        self.pending(6)
        asked = self.daemon.cli("allow", "Bash(make:*)", expect=2).stderr
        self.assertIn("Bash(make:*) covers 2 open requests:\n", asked)
        self.assertEqual(self.by_rule(0), ["open"])
        told = self.daemon.cli("allow", "Bash(make:*)", "--yes").stdout
        self.assertIn("2 open requests are answered by the rules as they are now:\n", told)
        self.assertIn("  approved: permission perm-1-ada of ada (Bash: make two), by Bash(make:*)\n", told)
        allowed = "approved rule Bash(make:*)"
        self.assertEqual(self.by_rule(*range(6)), [allowed, allowed, "open", "open", "open", "open"])
        for number in (0, 1):
            wait_for("its answer", lambda number=number: self.team.replies("ada", "perm-%d-ada" % number))
        self.assertNotIn("answered", self.daemon.cli("allow", "Bash(make:*)").stdout)

        told = self.daemon.cli("approve", "perm-3-ada", "perm-4-ada", "--always").stdout
        self.assertEqual(told.count("from now on in this session: Bash(ls)\n"), 1)
        self.assertTrue(told.endswith("2 of 2 answered\n"), told)
        self.assertEqual(self.by_rule(3, 4), ["approved root "] * 2)  # each was named

        self.daemon.kill()  # what was decided so stands
        self.daemon.start()
        self.pending(2)
        write_private(self.daemon.configs[0], open(self.daemon.configs[0]).read().replace(
            "deny = [", 'deny = ["Bash(dd:*)", ', 1))
        told = self.daemon.cli("reload").stdout
        self.assertIn("  denied: permission perm-5-ada of ada (Bash: dd y), by Bash(dd:*)\n", told)
        self.assertEqual(self.by_rule(0, 2, 5), [allowed, "denied rule Bash(dd:*)", "denied rule Bash(dd:*)"])

    def test_a_default_that_comes_with_a_reload_answers_nobody_who_waits(self):
        self.begin()
        self.say("ada", "make one", 1)
        self.pending(1)
        write_private(self.daemon.configs[0], team_toml(self.team, team_more='accept_risks = ["default-allow"]\n').replace(
            "[permissions]\n", '[permissions]\ndefault = "allow"\n', 1))
        self.daemon.cli("reload")
        self.say("ada", "make two", 2)
        wait_for("the next one is answered", lambda: self.by_rule(2) != ["open"])
        self.assertEqual(self.by_rule(1), ["open"])

    def test_an_id_means_the_team_that_is_served_where_another_with_it_is_not(self):
        self.begin()
        other = self.make_team("other", members=("ada",))
        path = str(self.folder / "other.toml")
        write_private(path, team_toml(other))
        self.daemon.stop()
        self.daemon.configs.append(path)
        self.daemon.start()
        for team in (self.team, other):
            request = wire.permission_request("ada", "Bash", {"command": "make it"}, request_id="perm-7-ada")
            team.say("ada", request if isinstance(request, str) else json.dumps(request))
        self.pending(2)
        self.assertIn("several requests have this id", self.daemon.cli("approve", "perm-7-ada", expect=1).stderr)
        os.rename(str(other.folder), str(self.folder / "gone"))
        wait_for("it is let go", lambda: len(self.daemon.ask("status")["teams"]) == 1)
        self.assertIn("approved: permission perm-7-ada of ada", self.daemon.cli("approve", "perm-7-ada").stdout)
        again = self.daemon.cli("approve", "perm-7-ada", expect=1).stderr
        self.assertIn("is already approved", again)
        self.assertNotIn("not served", again)
        self.assertIn("not served", self.daemon.cli("approve", "perm-7-ada", "--team", "other", expect=4).stderr)


if __name__ == "__main__":
    unittest.main()
