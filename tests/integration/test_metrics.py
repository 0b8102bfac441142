"""`metrics`: well-formed text with bounded labels; the alert rules and the dashboard name only what is in it. `doctor --quick`."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import team as wire
from case import ProcessTest
from daemon import hold_still, wait_for

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "metrics"
NAME = re.compile(r"\binbox_poller_[a-z0-9_]+")
SAMPLE = re.compile(r'(inbox_poller_[a-z0-9_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\.)*",?)+)\})? (-?[0-9.e+-]+)$')


def read(text):
    """{(name, labels): value}; whatever is no OpenMetrics text is an error."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""], lines[-2:]
    samples, names = {}, []
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:]
            assert (kind == "counter") == name.endswith("_total"), line
            names = [name + part for part in ("_bucket", "_sum", "_count")] if kind == "histogram" else [name]
        elif not line.startswith("# HELP "):
            name, labels, value = SAMPLE.match(line).groups()
            assert name in names and (name, labels) not in samples, line
            samples[name, labels or ""] = float(value)
    return samples


class Metrics(ProcessTest):
    def promtool(self, *arguments, **options):
        program = shutil.which("promtool") or shutil.which(os.environ.get("INBOX_POLLER_PROMTOOL", ""))
        if not program:
            print("SKIPPED: no promtool in PATH (Debian: prometheus): %s was not checked by it" % arguments[1], file=sys.stderr)
            return
        done = subprocess.run([program, *arguments], capture_output=True, text=True, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_waits_is_counted_and_every_label_is_one_that_is_bounded(self):
        team = self.make_team()
        self.start_daemon(team)
        team.say("ada", wire.stringify(wire.permission_request("ada", "Bash", {"command": "make secret"}, "perm-1")))
        team.say("bob", "hello")
        wait_for("both came", lambda: self.status()["requests"]["pending"] and self.status()["chat"]["queued"])
        text = self.daemon.cli("metrics").stdout
        samples = read(text)
        mine = lambda name, more="": samples["inbox_poller_" + name, 'team="demo"' + more]  # noqa: E731
        self.assertEqual((mine("requests_open"), mine("chat_queued"), mine("ledger_fault"), mine("inbox_readable")), (1, 1, 0, 1))
        self.assertEqual((mine("workers", ',state="waiting"'), mine("workers", ',state="busy"')), (1, 1))
        self.assertEqual((mine("role", ',role="leader"'), mine("role", ',role="paused"')), (1, 0))
        self.assertEqual(samples["inbox_poller_teams", ""], 1)
        for _, labels in samples:
            self.assertLessEqual(set(re.findall(r'(\w+)="', labels)), {"team", "state", "role", "version", "kind", "outcome", "by", "le"})
        for never in ('"ada"', '"bob"', "perm-1", "secret", str(self.folder)):
            self.assertNotIn(never, text)
        self.promtool("check", "metrics", input=text)

        there = set(re.findall(r"^# TYPE (\S+)", text, re.M)) | {name for name, _ in samples}
        for file in ("rules.yml", "dashboard.json"):
            named = set(NAME.findall((DEPLOY / file).read_text("utf-8")))
            self.assertGreater(len(named), 6)
            self.assertEqual(named - there, set(), file)
            # Each value of these labels is always there, as 0 or more.
            asked = re.findall(r'(inbox_poller_\w+)\{(role|state)=~?\\*"([^"\\]+)', (DEPLOY / file).read_text("utf-8"))
            for name, label, values in asked:
                for value in values.split("|"):
                    self.assertTrue([key for key in samples if key[0] == name and '%s="%s"' % (label, value) in key[1]], (file, name, value))
            self.assertTrue(asked or file != "rules.yml")
        self.assertEqual(len(json.loads((DEPLOY / "dashboard.json").read_text("utf-8"))["panels"]), 10)
        self.promtool("check", "rules", str(DEPLOY / "rules.yml"))
        self.promtool("test", "rules", str(DEPLOY / "rules_test.yml"))

    def test_decisions_are_counted_by_outcome_and_by_whom_and_what_waited_is_measured(self):
        team = self.make_team()
        self.start_daemon(team)
        worker = self.start_worker(team, "ada")
        for command in ("git status", "rm -rf x", "make a", "make b"):
            worker.ask("permission", tool="Bash", input={"command": command})
        wait_for("two wait", lambda: len(self.daemon.ask("pending")["requests"]) == 2)
        for one, verb in zip(self.daemon.ask("pending")["requests"], ("approve", "deny")):
            self.daemon.answer(verb, one["request_id"], by='x"y\n', reason="no")
        text = self.daemon.cli("metrics").stdout
        samples = read(text)
        decided = {labels: value for (name, labels), value in samples.items() if name == "inbox_poller_decisions_total"}
        self.assertEqual(decided, {'team="demo",kind="permission",outcome="%s",by="%s"' % (outcome, by): 1
                                   for outcome in ("approved", "denied") for by in ("rule", "person")})
        self.assertEqual(samples["inbox_poller_request_wait_seconds_count", 'team="demo"'], 2)
        buckets = [value for (name, labels), value in samples.items() if name == "inbox_poller_request_wait_seconds_bucket"]
        self.assertEqual((buckets, buckets[-1], len(buckets)), (sorted(buckets), 2, 7))
        self.assertGreater(samples["inbox_poller_accept_seconds_count", 'team="demo"'], 0)
        self.promtool("check", "metrics", input=text)

    def test_a_poll_that_began_late_is_told_by_status_doctor_metrics_and_the_series_of_the_alert(self):
        self.start_daemon(self.make_team())
        polls = lambda: self.status()["polls"]  # noqa: E731
        before = wait_for("it is polled", lambda: polls()["last_ms"] and polls())["late"]
        hold_still(self.daemon.process.pid)
        wait_for("it is stopped", lambda: os.waitid(os.P_PID, self.daemon.process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT))
        time.sleep(2.2)  # clock: more than four intervals of 500 ms, so that the next poll is late; more time does no harm
        self.daemon.process.send_signal(signal.SIGCONT)
        late = wait_for("a late poll is counted", lambda: polls()["late"] > before and polls())
        self.assertGreater(late["latest_ms"], 2000)
        self.assertIn("began more than four poll_intervals late", self.daemon.cli("status").stdout)
        self.assertIn("polled late", self.daemon.cli("doctor", "--quick", expect=1).stdout)
        examined = self.daemon.cli("doctor", "--json", "--config", self.daemon.configs[0], "--daemon-config", self.daemon.daemon_file, expect=None)
        findings = [f for section in json.loads(examined.stdout)["sections"] for f in section["findings"]]
        told = [f for f in findings if f["check"] == "daemon.polls_late"]
        self.assertEqual([f["severity"] for f in told], ["warning"])
        self.assertIn("more than four poll_intervals late", told[0]["what"])
        expression = re.search(r"alert: InboxPollerPollsLate\n +expr: (.*)", (DEPLOY / "rules.yml").read_text("utf-8")).group(1)
        series = next(name for name in NAME.findall(expression) if name.endswith("_total"))
        self.assertGreater(read(self.daemon.cli("metrics").stdout)[series, 'team="demo"'], before)

    def test_a_health_check_asks_the_daemon_only(self):
        team = self.make_team()
        self.start_daemon(team, poll="5s")  # so that no machine is so slow that a poll is late
        wait_for("the team is polled", lambda: self.status()["inbox"]["state"] == "missing")
        self.assertEqual(self.daemon.cli("doctor", "--quick").stdout, "ok\n")
        team.say("mallory", wire.stringify(wire.permission_request("mallory", "Bash", {"command": "x"}, "perm-2")))
        self.quarantined()
        self.assertEqual(self.daemon.cli("doctor", "--quick", expect=1).stdout, "demo: 1 refused\n")
        self.daemon.stop()
        self.assertIn("control.sock", self.daemon.cli("doctor", "--quick", expect=2).stdout)
        self.assertEqual(self.daemon.cli("metrics", expect=3).stdout, "")


if __name__ == "__main__":
    unittest.main()
