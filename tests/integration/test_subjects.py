"""What a request is about, told wherever it is named: the first line of the command, the file with its change, the host, the plan's
title; secrets masked, and all of it where all of it is wanted."""

import json
import unittest

from case import ProcessTest

SECRET = "ghp_0123456789abcdef0123456789abcdef0123"


class Subjects(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.start_daemon(self.team)
        self.worker = self.start_worker(self.team, "ada")

    def ask(self, kind="permission", **fields):
        request = self.worker.ask(kind, **fields)
        self.pending_id(request)
        return request

    def test_decisions_trace_history_status_and_log_say_what_it_was_and_no_secret(self):
        request = self.ask(tool="Bash", input={"command": "# push\nGH_TOKEN=%s git push \x1b[2Jx\nmake" % SECRET, "description": "List files"})
        subject = "Bash: GH_TOKEN=*** git push \x1b[2Jx (+1 lines)"
        printed = "Bash: GH_TOKEN=*** git push \\x1b[2Jx (+1 lines)"
        self.assertEqual(self.pending_id(request)["subject"], subject)
        self.assertEqual(self.status()["requests"]["oldest_subject"], subject)
        self.assertIn("GH_TOKEN=*** git push \\x1b[2Jx", self.daemon.cli("status").stdout)
        quoted = self.daemon.cli("trace", self.ask(tool="Bash", input={"command": "GH_TOKEN=%s git push" % SECRET})).stdout
        self.assertIn('no allow rule covers the command "GH_TOKEN=*** git push"', quoted)
        self.assertNotIn(SECRET, quoted)
        self.assertIn("(%s)" % printed, self.daemon.cli("approve", request).stdout)
        self.answer(self.worker, request)
        for command in (("decisions",), ("trace", request), ("history",)):
            with self.subTest(command=command):
                shown = self.daemon.cli(*command).stdout
                self.assertNotIn(SECRET, shown)
                self.assertNotIn("\x1b", shown)
                self.assertIn(printed, shown)
                self.assertNotIn("about Bash\n", shown)
        for command in (("decisions", "--full"), ("trace", request, "--full"), ("history", "--full")):
            with self.subTest(command=command):
                shown = self.daemon.cli(*command).stdout
                self.assertIn(SECRET, shown)
                self.assertIn("make", shown)
        told = self.daemon.log("request.pending", request_id=request) + self.daemon.log("request.decided", request_id=request)
        self.assertEqual([t["subject"] for t in told], [subject] * 2)
        self.assertNotIn(SECRET, self.daemon.log_path.read_text())

    def test_why_names_every_part_and_marks_what_no_rule_covers_and_the_folder(self):
        request = self.ask(tool="Bash", input={"command": "git status -s && make x; echo done > out"})
        card = self.daemon.cli("pending").stdout
        self.assertIn("  its folder: /work\n", card)
        for line in ("covered      git status -s  by Bash(git status:*)", "NOT COVERED  make x", "covered      echo done  by Bash(echo:*)",
                     "NOT COVERED  > /work/out"):
            self.assertIn("\n    %s\n" % line, card)
        parts = self.pending_id(request)["parts"]
        self.assertEqual([(p["rule"], bool(p["missing"])) for p in parts],
                         [("Bash(git status:*)", False), ("", True), ("Bash(echo:*)", False), ("", True)])

    def test_an_edit_is_a_diff_and_a_host_and_a_plan_have_their_names(self):
        edit = self.ask(tool="Edit", input={"file_path": "/work/a.c", "old_string": "int a;\nint b;", "new_string": "int a;\nlong b;"})
        self.assertEqual(self.pending_id(edit)["subject"], "Edit: /work/a.c +1 -1")
        self.assertIn("    |  int a;\n    | -int b;\n    | +long b;\n", self.daemon.cli("pending").stdout)
        self.daemon.cli("deny", edit, "--reason", "no")
        host = self.ask("sandbox", host="new.test")
        plan = self.ask("plan", plan="# Rewrite the parser\n\nstep by step")
        self.daemon.cli("approve", host)
        self.daemon.cli("approve", plan)
        found = {d["request_id"]: d["subject"] for d in self.daemon.ask("decisions")["decisions"]}
        self.assertEqual(found, {edit: "Edit: /work/a.c +1 -1", host: "new.test", plan: "Rewrite the parser"})
        shown = self.daemon.cli("decisions").stdout
        for subject in found.values():
            self.assertIn(subject, shown)


if __name__ == "__main__":
    unittest.main()
