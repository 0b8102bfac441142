"""`rules --try` says what rules make of a call that nobody makes; `rules --suggest` which ones a person's approvals would have been."""

import json
import re
import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for, write_private


class Rules(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.start_daemon(self.team)
        wait_for("the workers are known", lambda: len(self.status()["members"]) == 2)

    def checked(self, lists, expect=0):
        """What `check-config` says of a team file with these lists of rules, on standard error."""
        file = write_private(self.folder / "lists.toml", '[team]\nname = "demo"\nroot = "%s"\n[permissions]\n%s\n' % (self.team.root, lists))
        return self.daemon.cli("check-config", "--config", file, expect=expect).stderr

    def test_a_deny_rule_for_a_field_that_its_tool_lacks_is_a_mistake(self):
        for rule, write in (("Read(path:/etc/**)", "Read(//etc/**)"), ("Write(file:x)", "Edit(x)"),
                            ("WebFetch(url:https://evil.test/*)", "WebFetch(domain:evil.test)")):
            with self.subTest(rule):
                self.assertIn('"%s"' % write, self.checked('deny = ["%s"]' % rule, expect=2))
        self.assertEqual(self.checked('deny = ["Skill(deploy:*)"]'), "")

    def test_a_slip_in_a_fence_is_told_by_check_config_doctor_and_the_start(self):
        told = 'did you mean "Bash(git push:*)"?'
        self.assertIn(told, self.checked('deny = ["Bash(git:push:*)"]'))
        doctor = json.loads(self.daemon.cli("doctor", "--config", str(self.folder / "lists.toml"), "--json", expect=None).stdout)
        found = [one for section in doctor["sections"] for one in section["findings"] if told in one["what"]]
        self.assertEqual([one["severity"] for one in found], ["warning"])
        self.assertNotIn(told, str(self.daemon.log("daemon.warning")))
        write_private(self.daemon.configs[0], (self.folder / "lists.toml").read_text())
        self.daemon.stop()
        self.daemon.start()
        self.assertIn(told, str(self.daemon.log("daemon.warning")))

    def test_a_list_with_lines_that_are_not_understood_holds_otherwise(self):
        self.assertEqual(self.checked('allow = ["Skill(x)", "Skill(x *)", "SlashCommand(/x)", "PowerShell(x)", '
                                      "'Read(//c/Program Files \\(x86\\)/**)']"), "")
        told = self.checked('allow = ["Bash(ls)",\n"Bash(cd x && ls)"]')
        self.assertRegex(told, r'WARNING: .*lists\.toml:6: permissions\.allow: "Bash\(cd x && ls\)" is not a permission rule')
        self.assertIn("this line allows nothing, and the others hold", told)
        for key in ("deny", "ask"):
            self.assertIn("is not a permission rule", self.checked('%s = ["Bash(cd x && ls)"]' % key, expect=2))

    def test_a_deny_rule_that_a_worktree_escapes_is_told_with_the_one_that_holds(self):
        self.assertIn('"Read(//**/.env)" covers both', self.checked('deny = ["Read(.env)"]'))
        self.assertEqual(self.checked('deny = ["Read(//**/.env)"]'), "")

    def decided(self, command, *answer):
        request = self.start_worker(self.team, "ada").ask("permission", tool="Bash", input={"command": command})
        self.pending_id(request)
        self.daemon.cli(*answer[:1], request, *answer[1:])
        wait_for("it is decided", lambda: any(a["request_id"] == request for a in self.daemon.ask("decisions")["decisions"]))

    def test_a_call_is_tried_and_nothing_is_decided(self):
        shown = self.daemon.cli("rules", "--try", "git status -s && git push x; rm -f y\x1b").stdout
        self.assertIn("nothing was decided", shown)
        shown = self.daemon.cli("rules", "--try", "git status -s && git push x", "--worker", "ada").stdout
        self.assertRegex(shown, r"(?m)^team demo, as ada, in /work$")
        self.assertRegex(shown, r"(?m)^  git status -s +allowed by Bash\(git status:\*\)$")
        self.assertRegex(shown, r'(?m)^  git push x +asked: no allow rule covers the command "git push x"$')
        self.assertRegex(shown, r"(?m)^asked: .*\nyou would be asked \(inbox-poller pending\)\nnothing was decided by this$")
        self.assertRegex(self.daemon.cli("rules", "--try", "rm -rf x").stdout, r"(?m)^denied by Bash\(rm:\*\)")
        self.assertRegex(self.daemon.cli("rules", "--try", "echo x").stdout, r"(?m)^allowed by Bash\(echo:\*\)$")
        self.assertIn("asked", self.daemon.cli("rules", "--try", "/work/x", "--tool", "Edit").stdout)
        slip = self.daemon.cli("rules", "--try", "x", "--tool", "Bahs")
        self.assertIn('did you mean "Bash"?', slip.stderr)
        told = json.loads(self.daemon.cli("rules", "--try", "echo x", "--json").stdout)
        self.assertEqual((told["decision"], told["rule"]), ("allow", "Bash(echo:*)"))
        self.assertRegex(self.daemon.cli("rules", "--try", "API.example.com:443", "--domain").stdout, r"(?m)^team demo\nallowed by \*\.example\.com$")
        self.assertRegex(self.daemon.cli("rules", "--try", "x.evil.test", "--domain").stdout, r"(?m)^denied by \*\.evil\.test")
        self.assertIn("you would be asked", self.daemon.cli("rules", "--try", "other.test", "--domain").stdout)
        self.daemon.cli("rules", "--try", "x", "--domain", "--tool", "Read", expect=2)
        self.daemon.cli("rules", "--try", "x", "--worker", "mallory", expect=4)
        self.daemon.cli("rules", "--worker", "ada", expect=2)
        self.assertEqual(self.daemon.ask("pending")["requests"], [])
        self.assertEqual(self.daemon.ask("decisions")["decisions"], [])

    def test_what_was_approved_again_and_again_is_one_rule_that_a_file_takes(self):
        self.assertIn("no approval of yours that a further rule", self.daemon.cli("rules", "--suggest").stdout)
        for _ in range(3):
            self.decided('make "all of it"', "approve")
        self.decided("make clean", "deny", "--reason", "no")
        self.decided("make clean", "approve")
        self.decided("make danger", "approve", "--input", '{"command": "make harmless"}')
        shown = self.daemon.cli("rules", "--suggest", "--since", "1d").stdout
        self.assertIn("3 approvals of yours would be 1 rule,", shown)
        self.assertRegex(shown, r'(?m)^    "Bash\(make \\"all of it\\"\)",  # 3 requests of ada, the last \d+s ago$')
        for never in ("clean", "danger", "harmless"):
            self.assertNotIn(never, shown)
        lines = re.search(r"(?s)allow = \[.*?\n\]\n", shown).group()
        config = self.folder / "more.toml"
        config.write_text('[team]\nname = "demo"\n[permissions]\n' + lines)
        config.chmod(0o600)
        self.daemon.cli("check-config", "--config", str(config), "--daemon-config", self.daemon.daemon_file)
        self.daemon.cli("allow", 'Bash(make "all of it")')
        self.assertIn("no approval of yours that a further rule", self.daemon.cli("rules", "--suggest").stdout)


if __name__ == "__main__":
    unittest.main()
