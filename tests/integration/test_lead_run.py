"""`lead run`: the lead is our child, its input is ours, and its own stream tells when it is idle and what it took."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
import unittest

from case import ProcessTest
from daemon import LIMIT_S, hold_still, wait_for
from stream_lead import LeadRun

REQUEST = {"tool": "Bash", "input": {"command": "echo hello", "n": 1}}
PERMISSIONS = "[lead]\npermissions = true\n"


# A shell with job control, as far as it matters here: `cmd &` in the session of a terminal.
IN_THE_BACKGROUND = """
import os, sys
os.setsid()
terminal = os.open(sys.argv[1], os.O_RDWR)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.dup2(terminal, 0)
    os.execv(sys.argv[2], sys.argv[2:])
os.waitpid(job, 0)
"""


class WithLead(ProcessTest):
    def start_run(self, *options, **more):
        run = LeadRun(self.daemon, self.folder / "lead", *options, **more)
        self.stops.append(run.stop)
        return run

    def apart(self, name):
        """A folder of its own for one of several runs."""
        self.top = getattr(self, "top", self.folder)
        self.folder = self.top / name
        self.folder.mkdir()

    def begin(self, *options, toml_more="", **more):
        self.team = self.make_team()
        self.start_daemon(self.team, toml_more)
        self.lead = self.start_run(*options, **more)

    def chat(self):
        return self.status()["chat"]

    def lead_state(self):
        return self.daemon.ask("lead")["state"]

    def delivered(self, count):
        wait_for("%d messages delivered" % count, lambda: self.chat()["delivered"] == count)

    def wait_took(self, texts):
        wait_for("the lead took %s" % texts, lambda: len(self.lead.took()) >= len(texts))
        self.assertEqual(self.lead.texts(), texts)

    def child_of(self, pid):
        """The one child of this process."""
        table = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        child, = [int(line.split()[0]) for line in table.splitlines() if line.split()[1] == str(pid)]
        return child

    def said(self, words):
        wait_for("it says: " + words, lambda: words in self.lead.errors())


class Messages(WithLead):
    def test_a_message_reaches_the_idle_lead_as_one_line_and_counts_when_it_is_answered(self):
        self.begin()
        self.team.say("ada", "hello\nlead")
        self.wait_took(["hello\nlead"])
        self.delivered(1)
        event = self.lead.events("took")[0]
        self.assertEqual(event["origin"], {"kind": "peer", "from": "inbox-poller"})
        rows = self.daemon.log("delivery.delivered")
        self.assertEqual([(r["method"], r["confirmed"]) for r in rows], [("stdin", "acknowledged")])

    def test_a_busy_lead_gets_nothing_until_its_turn_ends_and_then_one_batch(self):
        self.begin()
        self.lead.order("hold")
        self.team.say("ada", "first")
        self.wait_took(["first"])
        wait_for("it is known to be busy", lambda: self.lead_state() == "busy")
        for n in range(5):
            self.team.say("bob", "later %d" % n)
        wait_for("they wait", lambda: self.chat()["queued"] == 5)
        self.daemon.polled()  # whatever would come too early has come
        self.assertEqual(self.lead.texts(), ["first"])
        self.lead.revoke("hold")
        self.wait_took(["first"] + ["later %d" % n for n in range(5)])
        self.delivered(6)
        self.assertEqual(len(self.lead.events("took")), 2, "five messages are one turn")
        wait_for("it is idle", lambda: self.lead_state() == "idle")

    def test_the_session_is_known_to_the_daemon_and_gone_when_the_lead_is(self):
        self.begin()
        self.team.say("ada", "hello")
        self.delivered(1)
        session = self.lead.events("started")[0]["session"]
        wait_for("its session is known", lambda: self.daemon.ask("lead")["session"] == session)
        self.lead.process.terminate()
        self.lead.wait()
        self.assertEqual(self.lead_state(), "offline")

    def confirmed(self):
        return [r["confirmed"] for r in self.daemon.log("delivery.delivered")]

    def test_what_the_newest_clients_tell_of_their_lines_acknowledges_with_and_without_their_repeats(self):
        for replay in (True, False):
            with self.subTest(replay=replay):
                self.folder = self.folder / "more" if not replay else self.folder
                self.folder.mkdir(exist_ok=True)
                self.begin(replay=replay)
                self.lead.order("hold")
                self.team.say("ada", "hello")
                self.delivered(1)  # before the turn ends
                self.lead.revoke("hold")
                self.assertEqual(self.confirmed(), ["acknowledged"])
                self.assertNotIn("assumed", self.lead.errors())

    def test_a_client_that_repeats_every_line_acknowledges_by_that(self):
        self.begin(generation="replaying")
        self.lead.order("hold")
        self.team.say("ada", "hello")
        self.delivered(1)
        self.assertEqual(self.confirmed(), ["acknowledged"])
        self.lead.revoke("hold")

    def test_a_client_that_is_silent_about_our_lines_leaves_them_assumed_when_the_turn_ends(self):
        for replay in (True, False):
            with self.subTest(replay=replay):
                self.folder = self.folder / "more" if not replay else self.folder
                self.folder.mkdir(exist_ok=True)
                self.begin(generation="old", replay=replay)
                self.lead.order("hold")
                self.team.say("ada", "hello")
                self.wait_took(["hello"])
                self.daemon.polled()
                self.assertEqual(self.chat()["delivered"], 0)
                self.lead.revoke("hold")
                self.delivered(1)
                self.team.say("ada", "again")
                self.delivered(2)
                self.assertEqual(self.confirmed(), ["assumed", "assumed"])
                self.assertEqual(self.lead.took(), [("ada", "hello", False), ("ada", "again", False)])
                self.assertEqual(self.lead.errors().count("does not tell which of our lines it took"), 1)
                self.assertEqual("--replay-user-messages" in self.lead.errors(), not replay, "advice only where it is of use")

    def test_that_it_repeats_other_lines_does_not_make_ours_come_again(self):
        self.begin(generation="old")
        own = {"type": "user", "uuid": "u-1", "message": {"role": "user", "content": "from the wrapper"}}
        for n in range(3):
            self.lead.process.stdin.write((json.dumps(dict(own, uuid="u-%d" % n)) + "\n").encode())
            self.lead.process.stdin.flush()
            wait_for("it is repeated", lambda: len(self.lead.events("repeated")) == n + 1)
            self.team.say("ada", "message %d" % n)
            self.delivered(n + 1)
        self.assertEqual([m for m in self.lead.took()], [("ada", "message %d" % n, False) for n in range(3)])

    def test_lines_of_the_wrapper_go_between_ours(self):
        self.begin()
        own = {"type": "user", "uuid": "u-1", "message": {"role": "user", "content": "from the wrapper"}, "parent_tool_use_id": None}
        self.lead.process.stdin.write((json.dumps(own) + "\n" + json.dumps(dict(own, uuid="u-2"))[:30]).encode())
        self.lead.process.stdin.flush()
        wait_for("it came", lambda: [e for e in self.lead.events("took") if e["uuid"] == "u-1"])
        self.team.say("ada", "in the middle of a line")  # the second line is only half there
        self.delivered(1)
        self.lead.process.stdin.write((json.dumps(dict(own, uuid="u-2"))[30:] + "\n").encode())
        self.lead.process.stdin.close()
        wait_for("the rest came", lambda: [e for e in self.lead.events("took") if e["uuid"] == "u-2"])
        self.team.say("ada", "after the end of the wrapper's input")
        self.delivered(2)
        self.assertEqual(self.lead.texts(), ["in the middle of a line", "after the end of the wrapper's input"])

    def test_in_the_background_a_key_press_does_not_stop_it(self):
        keyboard, terminal = pty.openpty()
        self.begin(before=[sys.executable, "-c", IN_THE_BACKGROUND, os.ttyname(terminal)])
        wait_for("the lead is there", lambda: self.lead.events())
        job = self.child_of(self.lead.process.pid)
        os.write(keyboard, b"x\n")
        self.daemon.polled(4)
        self.team.say("ada", "after a key press")
        self.wait_took(["after a key press"])
        os.kill(job, signal.SIGTERM)
        self.lead.wait()

    def test_the_output_goes_through_byte_for_byte(self):
        self.begin()
        noise = b"no json \xff\xfe\x00\x1b[31m\r\n{\"type\":\n" + b"x" * 300000 + b"\n{\"type\":\"result\"" + b"\n"
        self.lead.order("say", noise)
        self.team.say("ada", "hello")
        self.delivered(1)
        wait_for("the turn has ended", lambda: self.lead.events("turn_ended"))
        self.lead.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.lead.wait(), 128 + signal.SIGTERM)
        self.assertIn(noise, self.lead.out)
        self.assertEqual(self.lead.out, self.lead.wrote())

    def test_a_line_over_16_mib_goes_through_and_the_next_ones_are_understood(self):
        self.begin()
        noise = b"x" * (17 << 20) + b"\n"
        self.lead.order("say", noise)
        self.team.say("ada", "hello")
        self.said("longer than 16 MiB: it was passed through, and not understood")
        wait_for("the turn's end is understood", lambda: self.lead_state() == "idle")
        self.team.say("ada", "again")
        self.delivered(2)
        self.lead.process.terminate()
        self.lead.wait()
        self.assertIn(noise, self.lead.out)

    # clock: a program that says something now and then; nothing is judged by when
    def test_a_lead_that_does_not_read_holds_up_nobody_but_itself(self):
        """Far more than a pipe holds."""
        self.begin("--restart", "1", command=["/bin/sh", "-c", 'if [ -e "$LEAD_LOG" ]; then exec cat; fi; : > "$LEAD_LOG"; '
                                              'while :; do echo tick; sleep 0.1; done'])
        wait_for("it is up", lambda: b"tick" in self.lead.out)
        for n in range(5):
            self.team.say("ada", "message %d " % n + "x" * 100000)
        wait_for("it is offered", lambda: self.chat()["offered"])
        seen = len(self.lead.out)
        wait_for("its output goes through", lambda: len(self.lead.out) > seen + 10)
        self.assertEqual(self.chat()["delivered"], 0)
        self.lead.process.stdin.write(b"from the wrapper\n")
        self.lead.process.stdin.flush()
        self.daemon.cli("lead", "idle")
        os.killpg(self.child_of(self.lead.process.pid), signal.SIGKILL)
        wait_for("the next one gets all", lambda: b"message 4" in self.lead.out and b"from the wrapper" in self.lead.out)
        self.assertIn(b"may be a repeat", self.lead.out)
        self.lead.process.terminate()
        self.assertEqual(self.lead.wait(), 128 + signal.SIGTERM)

    # clock: a program that says something now and then; nothing is judged by when
    def test_a_lead_that_closed_its_input_is_told_of(self):
        self.begin(command=["/bin/sh", "-c", "exec <&-; while :; do echo tick; sleep 0.1; done"])
        wait_for("it is up", lambda: b"tick" in self.lead.out)
        self.team.say("ada", "hello")
        self.said("the lead has closed its standard input")
        self.assertEqual(self.chat()["queued"], 1)

    def test_there_is_one_lead_in_a_team(self):
        self.begin()
        wait_for("the first stands", lambda: self.daemon.ask("lead")["by"] == "stream_opens")
        second = LeadRun(self.daemon, self.folder / "second")
        self.stops.append(second.stop)
        wait_for("the second says why it gets nothing", lambda: "another process holds the lead's stdin" in second.errors())
        self.lead.process.terminate()
        self.lead.wait()
        self.team.say("ada", "for the one that is left")
        wait_for("the second gets it", lambda: second.texts() == ["for the one that is left"])


class Ends(WithLead):
    def test_a_crash_before_the_repeat_brings_the_message_again_and_says_so(self):
        self.begin("--restart", "1")
        self.lead.order("crash_before_replay")
        self.team.say("ada", "precious")
        wait_for("it came twice", lambda: len(self.lead.took()) == 2)
        self.assertEqual(self.lead.took(), [("ada", "precious", False), ("ada", "precious", True)])
        self.delivered(1)
        first, second = self.lead.events("took")
        self.assertNotEqual(first["uuid"], second["uuid"])
        self.assertIn("starting it again (1 of 1 in a row)", self.lead.errors())

    def test_a_crash_between_the_signs_and_the_answer_brings_the_message_again(self):
        for generation in ("newest", "middle", "old", "replaying"):
            with self.subTest(generation):
                self.apart(generation)
                self.begin("--restart", "1", generation=generation)
                self.lead.order("crash_after_replay")
                self.team.say("ada", "precious")
                self.delivered(1)
                self.assertEqual(self.lead.took(), [("ada", "precious", False), ("ada", "precious", True)])

    def test_a_crash_behind_the_answer_does_not(self):
        for generation in ("newest", "middle", "replaying"):
            with self.subTest(generation):
                self.apart(generation)
                self.begin("--restart", "1", generation=generation)
                self.lead.order("crash_after_answer")
                self.team.say("ada", "taken")
                wait_for("it was started again", lambda: len(self.lead.events("started")) == 2)
                self.team.say("ada", "next")
                self.delivered(2)
                self.assertEqual(self.lead.took(), [("ada", "taken", False), ("ada", "next", False)])

    def test_a_turn_without_an_answer_proves_nothing_and_the_message_comes_again_after_a_pause(self):
        for generation in ("newest", "middle", "old", "replaying"):
            for order in ("fail", "refuse"):
                with self.subTest(generation + ", " + order):
                    self.apart(order + "-" + generation)
                    self.begin(generation=generation)
                    self.lead.order(order)
                    self.team.say("ada", "precious")
                    self.delivered(1)
                    self.assertEqual(self.lead.took(), [("ada", "precious", False), ("ada", "precious", True)])
                    self.assertEqual(self.lead.errors().count("ended without an answer of its model"), 1)

    def test_it_is_started_again_with_its_session_and_without_when_told_so(self):
        for options, resumed in ((("--restart", "1"), True), (("--restart", "1", "--no-resume"), False)):
            with self.subTest(options):
                self.folder = self.folder / "again" if resumed is False else self.folder
                self.folder.mkdir(exist_ok=True)
                self.begin(*options)
                self.team.say("ada", "hello")
                self.delivered(1)
                os.kill(self.lead.pid(), signal.SIGKILL)
                wait_for("it was started again", lambda: len(self.lead.events("started")) == 2)
                first, second = self.lead.events("started")
                self.assertEqual(second["argv"], first["argv"] + (["--resume", first["session"]] if resumed else []))

    def test_so_many_failures_in_a_row_end_it_and_a_turn_that_ended_counts_anew(self):
        self.begin("--restart", "1")
        for text, turns in (("one", 1), ("two", 3)):  # the turn of what came again ends too
            self.team.say("ada", text)
            wait_for("the turn ended", lambda: len(self.lead.events("turn_ended")) == turns)
            self.lead.order("exit", b"7")
            self.team.say("ada", "end of " + text)
            wait_for("it was started again", lambda: len(self.lead.events("started")) == (2 if text == "one" else 3))
            wait_for("what it had taken came again", lambda: self.lead.took()[-1] == ("ada", "end of " + text, True))
        wait_for("the turns ended", lambda: len(self.lead.events("turn_ended")) == 4)
        self.lead.order("exit", b"7")
        self.team.say("ada", "end")
        wait_for("it was started again", lambda: len(self.lead.events("started")) == 4)
        self.lead.process.terminate()
        self.lead.wait()

    def test_the_exit_code_is_the_leads(self):
        self.team = self.make_team()
        self.start_daemon(self.team)
        for script, code in (("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("exec >&-; kill -TERM $$", 143)):
            with self.subTest(script):
                run = self.start_run(command=["/bin/sh", "-c", script])
                self.assertEqual(run.wait(), code)
        run = self.start_run("--restart", "2", command=["/bin/sh", "-c", "echo run; exit 3"])
        self.assertEqual(run.wait(), 3)
        self.assertEqual(run.out, b"run\nrun\nrun\n")
        run = self.start_run(command=["/nowhere/at/all"])
        self.assertEqual(run.wait(), 1)
        self.assertIn("/nowhere/at/all", run.errors())

    def test_a_program_that_cannot_be_started_again_counts_as_a_failure(self):
        self.team = self.make_team()
        self.start_daemon(self.team)
        program = self.folder / "lead.sh"
        script = "#!/bin/sh\necho up\nrm \"$0\"\nexit 3\n"
        for back in (False, True):
            with self.subTest(back=back):
                program.write_text(script)
                program.chmod(0o700)
                run = self.start_run("--restart", "4", command=[str(program)])
                if back:  # as when it is being replaced by a newer one
                    wait_for("it is gone", lambda: not program.exists())
                    (self.folder / "new.sh").write_text("#!/bin/sh\nexit 0\n")
                    (self.folder / "new.sh").chmod(0o700)
                    (self.folder / "new.sh").rename(program)
                self.assertEqual(run.wait(), 0 if back else 1)
                self.assertEqual(run.out, b"up\n")
        self.assertIn("starting it again (4 of 4 in a row)", run.errors())

    def test_a_session_of_which_nothing_was_stored_is_given_up(self):
        """As after a kill between its first turn and the client's next write: to resume it would fail for ever."""
        self.begin("--restart", "2")
        self.team.say("ada", "hello")
        self.delivered(1)
        self.lead.order("forget")
        os.kill(self.lead.pid(), signal.SIGKILL)
        wait_for("it was started without it", lambda: len(self.lead.events("started")) == 3)
        first, second, third = self.lead.events("started")
        self.assertEqual(second["argv"], first["argv"] + ["--resume", first["session"]])
        self.assertEqual(third["argv"], first["argv"])
        self.team.say("ada", "precious")
        self.delivered(2)
        self.assertIn("the lead cannot resume session %s: the next start begins a new one" % first["session"], self.lead.errors())

    def test_a_client_that_never_opens_ends_the_restarts_and_loses_nothing(self):
        """It says so in a result, whatever it was given, and leaves."""
        error = json.dumps({"type": "result", "subtype": "error_during_execution", "is_error": True, "session_id": "s-1"})
        self.begin("--restart", "2", command=["/bin/sh", "-c", "read line; echo '%s'; exit 1" % error])
        self.team.say("ada", "precious")
        self.assertEqual(self.lead.wait(), 1)
        self.assertEqual(self.lead.out.count(b"error_during_execution"), 3)
        wait_for("it is queued", lambda: self.chat()["queued"] == 1)
        self.assertEqual(self.chat()["delivered"], 0)

    def test_a_session_id_never_becomes_an_option(self):
        self.team = self.make_team()
        self.start_daemon(self.team)
        for session, resumed in (("s-1", b"--resume s-1"), ("--danger", b""), ("a b", b""), ("x" * 70000, b"")):
            with self.subTest(session[:10]):
                init = json.dumps({"type": "system", "subtype": "init", "session_id": session})
                (self.folder / "init").write_text(init + "\n")
                run = self.start_run("--restart", "1", command=["/bin/sh", "-c", 'cat "$0"; echo "with $*"; exit 3',
                                                                str(self.folder / "init")])
                self.assertEqual(run.wait(), 3)
                self.assertEqual([line for line in run.out.splitlines() if line.startswith(b"with")], [b"with ", b"with " + resumed])

    def test_a_line_of_the_wrapper_that_was_half_written_reaches_the_next_one_whole(self):
        self.team = self.make_team()
        self.start_daemon(self.team)
        run = self.start_run("--restart", "1", command=["/bin/sh", "-c", 'if [ -e "$LEAD_LOG" ]; then exec cat; fi; : > "$LEAD_LOG"; '
                                                        "head -c 1 > /dev/null; exit 3"])
        line = b"<" + b"x" * 500000 + b">\n"
        run.process.stdin.write(line)
        run.process.stdin.close()
        wait_for("it is there, once and whole", lambda: run.out == line)

    def test_it_runs_without_standard_descriptors_and_with_blocked_signals(self):
        self.team = self.make_team()
        self.start_daemon(self.team)
        command = [self.daemon.program, "lead", "run", "--socket", self.daemon.socket, "--", "/bin/sh", "-c",
                   "exec >&-; sleep 0.5; exit 7"]  # clock: its output ends before it does, so its end is known from SIGCHLD only
        for close in ("<&-", "<&- >&-", "<&- >&- 2>&-"):
            with self.subTest(close):
                done = subprocess.run(["/bin/sh", "-c", 'exec "$@" ' + close, "sh", *command], env=self.daemon.env, timeout=LIMIT_S)
                self.assertEqual(done.returncode, 7)
        signals = {signal.SIGCHLD, signal.SIGTERM}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        try:
            process = subprocess.Popen(command, env=self.daemon.env)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.assertEqual(process.wait(LIMIT_S), 7)

    def test_arguments_reach_the_program_as_they_are(self):
        self.team = self.make_team()
        self.start_daemon(self.team)
        arguments = ["[a,b]", "--", "run", "--protocol", "", "a b", "-x", "%%", "{}"]
        run = self.start_run(command=[sys.executable, "-c", "import sys, json; print(json.dumps(sys.argv[1:]))", *arguments])
        self.assertEqual(run.wait(), 0)
        self.assertEqual(json.loads(run.out), arguments)

    def test_signals_go_to_the_leads_whole_group_and_it_is_not_started_again(self):
        self.team = self.make_team()
        self.start_daemon(self.team)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                run = self.start_run("--restart", "5", command=["/bin/sh", "-c", "sleep 1000 & echo up; wait"])
                wait_for("it is up", lambda: run.out == b"up\n")
                run.process.send_signal(number)
                code = run.wait()
                if number != signal.SIGINT:  # a shell's background jobs ignore that one
                    self.assertEqual(code, 128 + number)
                self.assertNotIn("starting it again", run.errors())

    def test_after_a_signal_the_input_is_closed_and_the_leads_own_end_counts(self):
        self.team = self.make_team()
        self.start_daemon(self.team)
        run = self.start_run(command=["/bin/sh", "-c", "trap '' TERM; echo up; cat; exit 5"])
        wait_for("it is up", lambda: run.out == b"up\n")
        run.process.terminate()
        self.assertEqual(run.wait(), 5)

    # clock: a program that says something now and then; nothing is judged by when
    def test_a_closed_output_ends_the_lead(self):
        self.team = self.make_team()
        self.start_daemon(self.team)
        receiver, sink = os.pipe()
        run = self.start_run(stdout=sink, command=["/bin/sh", "-c", "while :; do echo tick; sleep 0.05; done"])
        os.close(sink)
        os.close(receiver)
        self.assertEqual(run.wait(), 128 + signal.SIGTERM)
        self.assertIn("the output was closed", run.errors())


class WithoutDaemon(WithLead):
    def test_the_lead_goes_on_without_a_daemon_and_gets_its_messages_when_it_is_there(self):
        self.team = self.make_team()
        self.start_daemon(self.team)
        self.daemon.stop()
        self.lead = self.start_run()
        own = {"type": "user", "uuid": "u-1", "message": {"role": "user", "content": "from the wrapper"}}
        self.lead.process.stdin.write((json.dumps(own) + "\n").encode())
        self.lead.process.stdin.flush()
        wait_for("it works", lambda: self.lead.events("turn_ended"))
        self.said("no daemon answers")
        self.team.say("ada", "hello")
        self.daemon.start()
        self.delivered(1)
        self.assertEqual(self.lead.took(), [("ada", "hello", False)])
        self.assertEqual(self.lead.errors().count("no daemon answers"), 1)
        self.said("the daemon serves the lead again")

    def test_a_daemon_killed_beneath_a_message_under_way_learns_that_it_was_taken(self):
        self.begin()
        self.lead.order("hold")
        self.team.say("ada", "first")
        self.wait_took(["first"])
        self.delivered(1)
        wait_for("it is known to be busy", lambda: self.lead_state() == "busy")
        self.daemon.kill()
        self.team.say("ada", "second")
        self.daemon.start()
        wait_for("the lead is known again", lambda: self.daemon.ask("lead")["by"] == "stream_works")
        wait_for("it waits", lambda: self.chat()["queued"] == 1)
        self.assertEqual(self.lead.texts(), ["first"])
        self.lead.revoke("hold")
        self.wait_took(["first", "second"])
        self.delivered(2)

    def test_what_was_repeated_while_the_daemon_was_away_does_not_come_again(self):
        self.begin()
        for n in range(3):
            self.lead.order("think")
            self.team.say("ada", "message %d" % n)
            self.wait_took(["message %d" % m for m in range(n + 1)])
            self.daemon.kill()
            self.lead.revoke("think")  # the repeat comes while there is nobody to be told
            wait_for("its turn ends", lambda: len(self.lead.events("turn_ended")) == n + 1)
            self.daemon.start()
            self.delivered(n + 1)
        self.assertEqual(self.lead.took(), [("ada", "message %d" % n, False) for n in range(3)])


class Tools(WithLead):
    def ask(self, request=None):
        self.lead.order("ask", request or REQUEST)
        self.team.say("ada", "work")

    def answer(self):
        wait_for("the request is answered", lambda: self.lead.events("answer"))
        return self.lead.events("answer")[-1]["line"]["response"]["response"]

    def pending(self):
        return wait_for("the request is pending", lambda: self.daemon.ask("pending")["requests"])[0]

    def never_answered(self):
        wait_for("it asks", lambda: b"can_use_tool" in self.lead.out)
        if self.daemon.running():
            self.daemon.polled(14)
        else:
            time.sleep(0.7)  # clock: more time finds more; there is no daemon that could count polls
        self.assertEqual(self.lead.events("answer"), [])

    def test_rules_allow_with_the_input_as_it_was_asked(self):
        self.begin(toml_more=PERMISSIONS)
        self.ask()
        self.assertEqual(self.answer(), {"behavior": "allow", "updatedInput": REQUEST["input"]})
        event = wait_for("it is in the log", lambda: self.daemon.log("lead.permission"))[0]
        self.assertEqual((event["type"], event["action"], event["rule"]), ("Bash", "allow", "Bash(echo:*)"))

    def test_rules_deny_and_say_which(self):
        self.begin(toml_more=PERMISSIONS)
        self.ask({"tool": "Bash", "input": {"command": "rm -rf /"}})
        answer = self.answer()
        self.assertEqual(answer["behavior"], "deny")
        self.assertIn("Bash(rm:*)", answer["message"])

    def test_what_the_rules_leave_open_a_person_decides(self):
        self.begin(toml_more=PERMISSIONS)
        self.ask({"tool": "Bash", "input": {"command": "make"}})
        request = self.pending()
        self.assertEqual((request["member"], request["subject"], json.loads(request["body"])), ("team-lead", "Bash: make", {"command": "make"}))
        self.assertTrue(request["request_id"].startswith("lead-"))
        self.daemon.cli("approve", request["request_id"])
        self.assertEqual(self.answer(), {"behavior": "allow", "updatedInput": {"command": "make"}})
        self.assertEqual(self.chat()["queued"], 0, "the lead gets no message about it")

    def test_a_person_may_change_the_input(self):
        self.begin(toml_more=PERMISSIONS)
        self.ask({"tool": "Bash", "input": {"command": "make"}})
        self.daemon.answer("approve", self.pending()["request_id"], by="mona", input='{\n"command": "make -n"\n}')
        self.assertEqual(self.answer(), {"behavior": "allow", "updatedInput": {"command": "make -n"}})

    def test_a_persons_denial_is_told_with_its_reason(self):
        self.begin(toml_more=PERMISSIONS)
        self.ask({"tool": "Bash", "input": {"command": "make"}})
        self.daemon.cli("deny", self.pending()["request_id"], "--reason", "not today")
        self.assertEqual(self.answer(), {"behavior": "deny", "message": "not today"})

    def test_nobody_answering_is_a_denial(self):
        self.team = self.make_team()
        self.start_daemon(self.team, PERMISSIONS, timeout="1s")
        self.lead = self.start_run()
        self.ask({"tool": "Bash", "input": {"command": "make"}})
        self.assertEqual(self.answer()["behavior"], "deny")

    def test_without_permissions_nothing_is_answered_but_by_the_wrapper(self):
        self.begin()
        self.ask()
        self.never_answered()
        self.assertEqual(self.daemon.log("lead.permission"), [])
        response = {"type": "control_response", "response": {"subtype": "success", "request_id": "req-1", "response": {
            "behavior": "allow", "updatedInput": {}}}}
        self.lead.process.stdin.write((json.dumps(response) + "\n").encode())
        self.lead.process.stdin.flush()
        self.assertEqual(self.answer(), {"behavior": "allow", "updatedInput": {}})

    def test_an_answer_of_the_wrapper_withdraws_ours(self):
        self.begin(toml_more=PERMISSIONS)
        self.ask({"tool": "Bash", "input": {"command": "make"}})
        request_id = self.pending()["request_id"]
        response = {"type": "control_response", "response": {"subtype": "success", "request_id": "req-1", "response": {
            "behavior": "deny", "message": "no"}}}
        self.lead.process.stdin.write((json.dumps(response) + "\n").encode())
        self.lead.process.stdin.flush()
        wait_for("the request is withdrawn", lambda: not self.daemon.ask("pending")["requests"])
        self.daemon.cli("approve", request_id, expect=1)
        self.assertEqual(len(self.lead.events("answer")), 1)

    def test_a_cancelled_ask_is_withdrawn(self):
        self.begin(toml_more=PERMISSIONS)
        self.ask({"tool": "Bash", "input": {"command": "make"}})
        self.pending()
        self.lead.order("cancel")
        wait_for("it is withdrawn", lambda: not self.daemon.ask("pending")["requests"])
        self.assertEqual(self.lead.events("answer"), [])

    def test_a_request_of_a_lead_that_died_is_withdrawn_and_its_id_is_free_for_the_next(self):
        self.begin("--restart", "3", toml_more=PERMISSIONS)
        self.ask({"tool": "Bash", "input": {"command": "make"}})
        first = self.pending()["request_id"]
        os.kill(self.lead.pid(), signal.SIGKILL)
        wait_for("it is withdrawn", lambda: not self.daemon.ask("pending")["requests"])
        self.ask({"tool": "Bash", "input": {"command": "make other"}})
        second = self.pending()
        self.assertNotEqual(second["request_id"], first)
        self.assertEqual(json.loads(second["body"]), {"command": "make other"})

    def test_the_loss_of_the_daemon_allows_nothing_and_the_request_stands_when_it_is_back(self):
        self.begin(toml_more=PERMISSIONS)
        self.ask({"tool": "Bash", "input": {"command": "make"}})
        request_id = self.pending()["request_id"]
        self.daemon.kill()
        self.never_answered()
        self.daemon.start()
        self.assertEqual(self.pending()["request_id"], request_id)
        self.daemon.cli("approve", request_id)
        self.assertEqual(self.answer()["behavior"], "allow")

    def test_a_daemon_that_stops_in_good_order_is_asked_again_too(self):
        self.begin(toml_more=PERMISSIONS)
        self.ask({"tool": "Bash", "input": {"command": "make"}})
        self.pending()
        self.daemon.stop()
        self.never_answered()
        self.daemon.start()
        self.daemon.cli("approve", self.pending()["request_id"])
        self.assertEqual(self.answer()["behavior"], "allow")

    def test_what_is_decided_while_nobody_listens_is_not_lost(self):
        self.begin(toml_more=PERMISSIONS)
        self.ask({"tool": "Bash", "input": {"command": "make"}})
        request_id = self.pending()["request_id"]
        hold_still(self.lead.process.pid)
        self.daemon.kill()
        self.daemon.start()
        self.daemon.cli("deny", request_id, "--reason", "never")
        os.kill(self.lead.process.pid, signal.SIGCONT)
        self.assertEqual(self.answer(), {"behavior": "deny", "message": "never"})

    def test_what_cannot_be_judged_is_denied(self):
        self.begin(toml_more=PERMISSIONS)
        self.ask({"tool": "Bash", "input": {"command": "echo " + "x" * 100000}})
        answer = self.answer()
        self.assertEqual(answer["behavior"], "deny")
        self.assertIn("could not be", answer["message"])
        self.ask({"tool": "Bash", "input": ["echo hello"]})
        wait_for("the second is answered", lambda: len(self.lead.events("answer")) == 2)
        self.assertEqual(self.answer()["behavior"], "deny")


class Options(WithLead):
    """What the client's own command line lacks is added, and said."""

    def argv(self):
        return wait_for("it is started", lambda: self.lead.events("started"))[0]["argv"]

    def run_with(self, *argv, toml_more=PERMISSIONS):
        from stream_lead import __file__ as program
        self.begin(command=[sys.executable, "-B", program, *argv], toml_more=toml_more)

    def test_the_option_for_prompts_is_added_with_lead_permissions_and_the_rules_decide(self):
        self.begin(requests=False, toml_more=PERMISSIONS)
        self.lead.order("ask", REQUEST)
        self.team.say("ada", "work")
        wait_for("the rules answer", lambda: self.lead.events("answer"))
        self.assertEqual(self.lead.events("refused"), [])
        self.assertEqual(self.argv()[-2:], ["--permission-prompt-tool", "stdio"])
        self.assertIn("--permission-prompt-tool stdio", self.lead.errors())

    def test_without_lead_permissions_it_is_not(self):
        self.begin(requests=False)
        self.lead.order("ask", REQUEST)
        self.team.say("ada", "work")
        wait_for("the client decides by itself", lambda: self.lead.events("refused"))
        self.assertEqual(self.lead.errors(), "")

    def test_without_a_daemon_at_the_start_it_is_said_as_soon_as_that_is_known(self):
        self.team = self.make_team()
        self.start_daemon(self.team, PERMISSIONS)
        self.daemon.stop()
        self.lead = self.start_run(requests=False)
        self.assertNotIn("--permission-prompt-tool", self.argv())
        self.daemon.start()
        self.said("[lead] permissions is set, and the lead was started without --permission-prompt-tool stdio")

    def test_what_stream_json_needs_is_added_too_and_nothing_twice(self):
        self.run_with("-p", "--input-format=stream-json", "--output-format=stream-json")
        self.assertEqual(self.argv()[3:], ["--verbose", "--replay-user-messages", "--permission-prompt-tool", "stdio"])
        self.team.say("ada", "hello")
        self.delivered(1)
        self.assertEqual(self.lead.errors().count("added to the lead's command line"), 1)

    def test_a_prompt_tool_of_somebody_else_stays_and_is_spoken_of(self):
        argv = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--replay-user-messages",
                "--permission-prompt-tool", "mcp__other__ask")
        self.run_with(*argv)
        self.assertEqual(self.argv(), list(argv))
        self.said("mcp__other__ask")

    def test_a_program_that_does_not_say_that_it_speaks_stream_json_is_left_as_it_is(self):
        self.run_with("-p", "--verbose")
        self.assertEqual(self.argv(), ["-p", "--verbose"])
        self.assertNotIn("added", self.lead.errors())

    def test_nothing_is_added_behind_two_dashes(self):
        argv = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--", "prompt")
        self.run_with(*argv)
        self.assertEqual(self.argv(), list(argv))
        self.said("add to the lead's command line, in front of --: --replay-user-messages --permission-prompt-tool stdio")


class Judge(ProcessTest):
    """The verb itself, as any program may use it."""

    def judge(self, control, **more):
        return control.ask("evaluate", **dict({"tool": "Bash", "input": '{"command": "make"}', "id": "a", "wait": True}, **more))

    def test_the_same_id_gets_the_same_decision_and_another_call_under_it_none(self):
        team = self.make_team()
        self.start_daemon(team, PERMISSIONS)
        waiting = self.daemon.connect()
        waiting.socket.sendall(b'{"verb":"evaluate","tool":"Bash","input":"{\\"command\\": \\"make\\"}","id":"a","wait":true}\n')
        self.pending_id("lead-a")
        self.assertEqual(self.daemon.ask("evaluate", tool="Bash", input='{"command": "rm x"}', id="a", wait=True)["code"],
                         "request.id_reused")
        self.daemon.cli("approve", "lead-a")
        self.assertEqual(json.loads(waiting.file.readline())["decision"], "allow")
        with self.daemon.connect() as control:
            self.assertEqual(self.judge(control)["decision"], "allow")
        waiting.close()

    def test_without_wait_or_without_the_setting_a_request_is_only_said(self):
        team = self.make_team()
        self.start_daemon(team, PERMISSIONS)
        with self.daemon.connect() as control:
            self.assertEqual(self.judge(control, wait=False)["decision"], "ask")
            for bad in ({"tool": ""}, {"id": "a b"}, {"id": ""}, {"input": "[]"}, {"input": ""}):
                self.assertFalse(self.judge(control, **bad)["ok"], bad)
            self.assertEqual(control.ask("pending")["requests"], [])
        self.daemon.stop()
        self.start_daemon(self.make_team("other"))
        with self.daemon.connect() as control:
            for command in ("make", "echo hello", "rm x"):
                self.assertEqual(self.judge(control, input=json.dumps({"command": command}), team="other")["decision"], "ask")
            self.assertEqual(control.ask("pending")["requests"], [])


PROGRAM = """
import json, os, sys
log = open(os.environ["LEAD_LOG"], "a", buffering=1)
for line in sys.stdin:
    message = json.loads(line)
    log.write(json.dumps({"event": "line", "from": message["from"], "text": message["text"], "attempts": message["attempts"]}) + "\\n")
    print("got " + message["text"], flush=True)
    if message["text"] == "die": os.kill(os.getpid(), 9)
"""


class Lines(WithLead):
    def test_any_program_that_reads_lines_gets_each_message_as_one(self):
        self.begin("--protocol", "lines", "--restart", "1", command=[sys.executable, "-c", PROGRAM])
        texts = ["one\ntwo", "three", "vier ü", "die", "after"]
        for text in texts[:4]:
            self.team.say("ada", text)
        self.delivered(4)
        wait_for("it was started again", lambda: "starting it again" in self.lead.errors())
        self.team.say("ada", texts[4])
        self.delivered(5)
        wait_for("all are read", lambda: len(self.lead.events("line")) >= 5)
        self.assertEqual([(e["from"], e["text"], e["attempts"]) for e in self.lead.events("line")], [("ada", t, 1) for t in texts])
        self.assertIn(b"got three\n", self.lead.out)
        self.assertEqual({r["confirmed"] for r in self.daemon.log("delivery.delivered")}, {"assumed"})

    def test_it_may_say_itself_that_it_is_busy(self):
        self.begin("--protocol", "lines", command=[sys.executable, "-c", PROGRAM])
        wait_for("it stands", lambda: self.daemon.ask("lead")["by"] == "stream_opens")
        self.daemon.cli("lead", "busy")
        self.team.say("ada", "later")
        wait_for("it waits", lambda: self.chat()["queued"] == 1)
        self.daemon.polled()
        self.assertEqual(self.lead.events("line"), [])
        self.daemon.cli("lead", "idle")
        self.delivered(1)


if __name__ == "__main__":
    unittest.main()
