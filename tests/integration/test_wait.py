"""`wait`: until the workers are idle or gone, mail has come, or no request is open; with which exit code it ends, and what a headless
lead makes of it.
"""

import json
import re
import shutil
import signal
import subprocess
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, team_toml, wait_for



class Wait(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.make_daemon(team_toml(self.team), extra=["--log-level", "debug"]).start()
        wait_for("the workers are known", lambda: len(self.status()["members"]) == 2)

    def begin(self, *arguments):
        """A `wait` that is under way: the daemon has its request."""
        before = len(self.daemon.log("control.command", type="wait"))
        process = subprocess.Popen([self.daemon.program, "wait", *arguments, "--socket", self.daemon.socket], env=self.daemon.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.stops.append(lambda: (process.poll() is None and process.kill(), process.stdout.close(), process.stderr.close()))
        wait_for("it waits", lambda: len(self.daemon.log("control.command", type="wait")) > before)
        return process

    def ends(self, process, code=0):
        self.assertEqual(process.wait(LIMIT_S), code)
        return process.stdout.read() + process.stderr.read()

    def idle(self, *names):
        for name in names:
            self.team.say(name, wire.stringify(wire.idle_notification(name)))
        for name in names:
            wait_for(name + " is idle", lambda name=name: self.doing(name) == "idle")

    def doing(self, name):
        return next(m["doing"] for m in self.status()["members"] if m["member"] == name)

    def test_until_all_are_idle_also_after_a_text_was_sent(self):
        waiting = self.begin("--idle")
        self.idle("ada")
        self.assertIsNone(waiting.poll(), "bob still works")
        self.team.say("bob", wire.stringify(wire.idle_notification("bob")))
        self.assertEqual(self.ends(waiting), "no worker is working\n")
        self.assertEqual(self.daemon.cli("wait", "--idle").stdout, "no worker is working\n")  # met at once

        self.daemon.cli("send", "ada", "fix the tests")
        self.assertEqual(self.doing("ada"), "busy")
        over = self.daemon.cli("wait", "--idle", "--timeout", "100ms", expect=5)
        self.assertEqual((over.stdout, over.stderr), ("", "inbox-poller: the time is over: ada is busy, no message waits for the lead\n"))
        waiting = self.begin("--idle")
        self.team.say("ada", wire.stringify(wire.idle_notification("ada")))
        self.ends(waiting)

    def test_until_mail_has_come_or_all_of_several(self):
        either, both = self.begin("--mail", "--idle"), self.begin("--mail", "--idle", "--all")
        self.team.say("ada", "done")
        self.assertEqual(self.ends(either), "1 message waits for the lead\n")
        self.idle("ada")
        self.assertIsNone(both.poll(), "bob still works")
        self.team.say("bob", wire.stringify(wire.idle_notification("bob")))
        self.assertEqual(self.ends(both), "no worker is working, 1 message waits for the lead\n")
        self.daemon.cli("recv")
        self.assertEqual(self.daemon.cli("wait", "--mail", "--timeout", "0s", "--quiet", expect=5).stderr, "")

    def test_until_no_request_is_open(self):
        self.team.say("ada", wire.stringify(wire.permission_request("ada", "Bash", {"command": "make"}, "perm-1")))
        self.pending_id("perm-1")
        waiting = self.begin("--answered", "--json")
        self.daemon.cli("approve", "perm-1")
        told = json.loads(self.ends(waiting))
        self.assertEqual((told["is_met"], told["met"], told["requests"]), (True, ["answered"], 0))

    def test_until_no_worker_is_left(self):
        waiting = self.begin("--exited")
        for name in ("ada", "bob"):
            self.assertIsNone(waiting.poll())
            self.team.remove_member(name)
        self.assertEqual(self.ends(waiting), "no worker is left\n")
        self.assertEqual(self.daemon.cli("wait", "--idle").stdout, "the team has no worker\n")

    def test_a_daemon_that_ends_or_dies_ends_the_wait(self):
        for end in (self.daemon.stop, self.daemon.kill):
            waiting = self.begin("--exited", "--timeout", "1h")
            end()
            self.ends(waiting, 3)
            self.assertEqual(self.daemon.cli("wait", "--idle", "--quiet", expect=3).stdout, "")
            self.daemon.start()

    def calls_of_a_poll(self, polls=40):
        """How many system calls the daemon makes for a poll of its team, the daemon's housekeeping included."""
        trace = self.folder / ("calls-%d" % len(list(self.folder.glob("calls-*"))))
        tracer = subprocess.Popen(["strace", "-qq", "-f", "-o", str(trace), "-p", str(self.daemon.process.pid)], stderr=subprocess.PIPE, text=True)
        self.stops.append(lambda: (tracer.poll() is None and tracer.kill(), tracer.communicate()))
        text = lambda: trace.read_text("utf-8", "replace") if trace.exists() else ""  # noqa: E731
        of_a_poll = lambda: len(re.findall(r'newfstatat\([^,]+, "[^"]*/config.json"', text()))  # noqa: E731
        wait_for("%d polls" % polls, lambda: tracer.poll() is not None or of_a_poll() >= polls, pause=0.1)
        if tracer.poll() is not None:
            self.skipTest("strace cannot attach: " + tracer.communicate()[1])
        tracer.send_signal(signal.SIGINT)
        tracer.wait(LIMIT_S)
        return text().count("\n") / of_a_poll()

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_a_wait_costs_the_daemon_no_system_call(self):
        alone = self.calls_of_a_poll()
        waiting = [self.begin("--exited") for _ in range(20)]
        beside = self.calls_of_a_poll()
        print("figures: %.0f system calls a poll, %.0f with 20 waits" % (alone, beside))
        self.assertLess(beside, alone + 20, "each wait costs a call in each poll")
        for process in waiting:
            self.assertIsNone(process.poll())

    def test_a_stop_hook_that_waits_first_goes_on_with_the_mail(self):
        script = '"%s" wait --idle --mail --timeout 1min --quiet --socket "%s"; exec "%s" hook --socket "%s"' % (
            (self.daemon.program, self.daemon.socket) * 2)
        stop = wire.stringify({"session_id": self.team.roster()["leadSessionId"], "hook_event_name": "Stop", "cwd": "/work",
                               "stop_hook_active": False})
        before = len(self.daemon.log("control.command", type="wait"))
        hook = subprocess.Popen(["sh", "-c", script], env=self.daemon.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        self.stops.append(lambda: (hook.poll() is None and hook.kill(), hook.communicate()))
        hook.stdin.write(stop)
        hook.stdin.close()
        hook.stdin = None
        wait_for("it waits", lambda: len(self.daemon.log("control.command", type="wait")) > before)
        self.team.say("ada", "the tests are green")
        self.assertIn("the tests are green", self.ends(hook))

    def test_what_is_waited_for_has_to_be_said_and_be_known(self):
        self.assertIn("--idle", self.daemon.cli("wait", expect=2).stderr)
        self.daemon.cli("wait", "--idle", "--timeout", "soon", expect=2)
        for until in ([], ["tea"], "idle", None):
            self.assertEqual(self.daemon.ask("wait", until=until)["code"], "request.invalid")
        for limit in (0, 1, 3, 12):
            self.assertFalse(self.daemon.ask("wait", until=["closed"], wait_ms=limit)["is_met"])
        self.assertEqual(self.daemon.ask("wait", until=["idle"], team="nobody")["code"], "team.unknown")


class ChangesWait(ProcessTest):
    """The verb `changes` as its clients use it: long polls by version, over restarts, by the hundred."""

    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.make_daemon(team_toml(self.team)).start()
        wait_for("the workers are known", lambda: len(self.status()["members"]) == 2)

    def settled(self, control):
        """The version when nothing has changed for a while: what a start does is over."""
        version = control.ask("changes")["version"]
        while True:
            answer = control.ask("changes", since=version, wait_ms=1500)
            version = answer["version"]
            if not answer["changed"]:
                return version

    def test_each_change_is_told_once_with_what_it_was_and_a_restart_at_once(self):
        with self.daemon.connect() as control:
            version = self.settled(control)
            self.team.say("ada", wire.stringify(wire.permission_request("ada", "Bash", {"command": "make"}, "perm-1")))
            answer = control.ask("changes", since=version, wait_ms=600_000, of=["requests"])
            self.assertEqual(answer["changed"], ["requests"])
            self.pending_id("perm-1")
            asked = self.settled(control)
            self.daemon.cli("approve", "perm-1")
            self.assertIn("requests", control.ask("changes", since=asked, wait_ms=600_000)["changed"])
            last = self.settled(control)
            self.team.add_member("carol")
            self.assertEqual(control.ask("changes", since=last, wait_ms=600_000, of=["workers"])["changed"], ["workers"])
            last = self.settled(control)
        self.daemon.kill()
        self.daemon.start()
        answer = self.daemon.ask("changes", since=last, wait_ms=3_600_000)
        self.assertEqual(answer["changed"], ["requests", "workers", "chat", "teams", "shutdowns"])
        self.assertGreater(answer["version"], last)

    def test_a_hundred_who_wait_are_told_together_and_the_others_served(self):
        waiting = [self.daemon.connect() for _ in range(100)]
        self.stops.append(lambda: [one.close() for one in waiting])
        version = self.settled(waiting[0])
        for one in waiting:
            one.socket.sendall(b'{"verb":"changes","since":%d,"wait_ms":60000,"of":["chat"]}\n' % version)
        wait_for("all wait", lambda: self.daemon.ask("changes").get("code") == "control.busy")
        self.assertTrue(self.daemon.ask("pending")["ok"])
        self.team.say("ada", "done")
        for one in waiting:
            self.assertEqual(json.loads(one.file.readline())["changed"], ["chat"])
        self.assertTrue(self.daemon.ask("changes")["ok"])

    def test_a_daemon_that_ends_does_not_wait_for_who_waits(self):
        with self.daemon.connect() as control:
            control.socket.sendall(b'{"verb":"changes","since":%d,"wait_ms":3600000}\n' % self.settled(control))
            self.daemon.stop()
            self.assertEqual(json.loads(control.file.readline())["code"], "control.closed")


if __name__ == "__main__":
    unittest.main()
