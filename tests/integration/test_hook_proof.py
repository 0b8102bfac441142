"""What a hook printed counts as delivered only when the session shows that its model had it; everything else comes again, labeled."""

import os
import signal
import subprocess
import unittest

import team as wire
from daemon import LIMIT_S, hold_still, wait_for
from hooks import Client, HookTest, event, prompt, start, stop

REPEAT = "[may be a repeat: message"
QUICK = '[delivery]\nassume_busy_for = "2s"\n'


class ProofTest(HookTest):
    def delivered(self, count):
        wait_for("%d are delivered" % count, lambda: self.chat()["delivered"] == count)

    def queued_again(self, count=1):
        wait_for("it is queued again", lambda: self.chat()["queued"] == count)

    def times(self, client, text):
        return sum(seen.count("\n%s\n" % text) for seen in client.seen)

    def trace(self, sender="ada"):
        rows = [m for m in self.daemon.ask("history", full=True)["messages"] if m["sender"] == sender]
        return self.daemon.cli("trace", rows[-1]["message_key"]).stdout


class Headless(ProofTest):
    """`claude -p` as the lead: its hooks beside the session reach no model, and it waits for them."""

    def nothing_is_lost_and_it_ends(self, generation):
        self.start_team()
        self.say("one", "two")
        client = Client(self, generation=generation, mode="p")
        client.start()
        self.daemon.polled()
        client.prompt()
        self.say("three")
        while client.stop():
            pass
        client.collect()
        client.end()  # a hook that keeps the client waiting never ends here
        self.assertEqual([self.times(client, text) for text in ("one", "two", "three")], [1, 1, 1])
        self.delivered(3)

    def test_with_the_newest_client_nothing_is_lost_and_it_ends(self):
        self.nothing_is_lost_and_it_ends("2.1.330")

    def test_with_an_old_client_nothing_is_lost_and_it_ends(self):
        self.nothing_is_lost_and_it_ends("2.1.50")

    def test_a_hook_that_waits_leaves_at_once_and_takes_nothing(self):
        self.start_team()
        client = Client(self, mode="p")
        client.start()
        self.assertEqual(client.waiting[0].wait(LIMIT_S), 0)
        self.say("one")
        self.daemon.polled()
        self.assertEqual((self.chat()["queued"], self.chat()["offered"]), (1, 0))

    def test_a_hook_that_leaves_at_once_has_read_its_event_to_the_end(self):
        # A client that writes to a process that has ended gets an error.
        long = wire.stringify(dict(stop("headless"), last_assistant_message="x" * 200_000))  # no pipe holds so much
        for command in (["hook", "wait"], ["hook"], ["hook", "worker"]):
            hook = subprocess.Popen([os.environ["INBOX_POLLER"], *command, "--socket", self.folder / "none.sock"], stdin=subprocess.PIPE,
                                    env=dict(os.environ, CLAUDE_CODE_ENTRYPOINT="sdk-cli", CLAUDE_CODE_SESSION_ATTENDED="0"))
            with hook.stdin as stream:
                stream.write(long.encode())
            self.assertEqual(hook.wait(LIMIT_S), 0, command)

    def test_where_it_is_not_known_that_somebody_is_there_nobody_waits(self):
        self.start_team()
        client = Client(self)
        for env in ({}, {"CLAUDE_CODE_ENTRYPOINT": "sdk-py"}, {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "0"},
                    {"CLAUDE_CODE_ENTRYPOINT": "something"}):
            client.env = env
            client.start()
            self.assertEqual(client.waiting.pop().wait(LIMIT_S), 0, env)

    def test_a_client_that_would_wait_for_it_is_not_kept_waiting(self):
        # 2.1.50 runs a hook that should run beside the session before the session goes on.
        self.start_team()
        client = Client(self, generation="2.1.50")
        client.start()
        self.assertEqual(client.waiting.pop().wait(LIMIT_S), 0)
        client.turn_of()
        self.assertEqual([p.wait(LIMIT_S) for p in client.waiting], [0] * len(client.waiting))

    def test_a_prompt_of_anybody_makes_no_lead(self):
        self.start_team()
        wire.edit_roster(self.team.config, lambda roster: roster.pop("leadSessionId"))
        wait_for("the roster was read", lambda: "not make it so" in self.why(stop("first")))
        self.say("for the lead")
        stranger = Client(self, "stranger", mode="p")
        stranger.start()
        stranger.turn_of()
        self.assertEqual((stranger.seen, self.lead()["session"], self.chat()["queued"]), ([], "", 1))
        self.assertIn("not make it so", self.why(dict(prompt("elsewhere"), cwd="/elsewhere")))
        mine = Client(self, "mine")
        mine.start()
        self.assertEqual(self.lead()["session"], "mine")


class Proving(ProofTest):
    def test_the_transcript_proves_it_without_another_event(self):
        self.start_team()
        self.say("one")
        client = Client(self)
        client.prompt(answers=False)
        self.daemon.polled(24)
        self.assertEqual((self.chat()["offered"], self.chat()["delivered"]), (1, 0))
        client.answer()
        self.delivered(1)
        self.assertIn("its session's transcript has it", self.trace())
        self.assertIn("acknowledged", self.trace())

    def test_where_the_transcript_leaves_it_out_the_next_hook_of_the_turn_proves_it(self):
        self.start_team()
        self.say("one")
        client = Client(self, generation="2.1.50")
        client.prompt()
        self.daemon.polled(24)
        self.assertEqual(self.chat()["offered"], 1)
        client.tool()  # perhaps a subagent's: this client does not say
        self.assertEqual(self.chat()["offered"], 1)
        client.stop()
        self.delivered(1)
        self.assertIn("went on to the end of its turn", self.trace())

    def test_a_tool_takes_messages_along_only_where_a_subagent_s_can_be_told(self):
        self.start_team('[delivery]\nurgent = ["ada"]\nurgent_max_delay = "0s"\n')
        cases = (("2.1.50", "a1"), ("2.1.50", ""), ("2.1.68", "a1"), ("2.1.69", "a1"), ("2.1.69", ""))
        for n, (generation, agent) in enumerate(cases):
            client = Client(self, generation=generation)
            client.prompt(answers=False)
            self.say("message %d" % n)
            client.tool(agent)
            takes = generation == "2.1.69" and not agent
            self.assertEqual((self.times(client, "message %d" % n), self.chat()["offered"]), (takes, takes), cases[n])
            client.answer()
            while client.stop():
                pass
            self.delivered(n + 1)
            self.assertEqual(self.times(client, "message %d" % n), 1)

    def test_that_a_hook_ran_proves_nothing(self):
        self.start_team()
        client = Client(self, hears=False)
        self.say("one")
        client.turn_of()
        client.waiting[0].kill()  # it would take what is queued again, at once
        client.waiting.pop().wait()
        self.assertEqual((self.chat()["offered"], self.chat()["delivered"]), (1, 0))
        self.queued_again()
        self.assertIn("transcript lacks it", self.trace())
        client.hears = True
        client.prompt()
        self.assertEqual((self.times(client, "one"), client.seen[0].count(REPEAT)), (1, 1))
        client.stop()
        self.delivered(1)

    def test_an_escape_before_the_answer_takes_it_out_again(self):
        self.start_team()
        self.say("one")
        client = Client(self)
        client.prompt(answers=False)
        client.escape()
        self.daemon.polled()
        self.assertEqual((self.times(client, "one"), self.chat()["delivered"]), (0, 0))
        client.turn_of("another one")
        self.assertEqual(self.times(client, "one"), 1)
        self.assertIn(REPEAT, client.seen[0])
        self.delivered(1)

    def test_an_event_that_is_told_twice_is_one(self):
        self.start_team()
        for what, more in ((prompt(self.session), stop(self.session)), (stop(self.session), stop(self.session, active=True))):
            self.say("one")
            with self.daemon.connect() as control:  # no process in between: it is about a moment
                self.assertIn("one", control.ask("hook", event=what)["output"])
                control.ask("shown", printed=True)
                self.assertNotIn("output", control.ask("hook", event=what))
            self.assertEqual(self.chat()["offered"], 1)
            self.hook(more)
            self.assertEqual(self.chat()["offered"], 0)
        self.assertEqual(self.chat()["delivered"], 2)

    def test_a_session_that_ends_gives_back_what_nothing_proved(self):
        self.start_team()
        self.say("one")
        client = Client(self, writes=False)
        client.prompt()
        self.assertEqual(self.chat()["offered"], 1)
        client.end()
        self.queued_again()
        self.assertIn("its session ended", self.trace())

    def test_after_a_restart_what_was_not_proven_comes_again_labeled(self):
        self.start_team()
        self.say("one")
        client = Client(self)
        client.prompt(answers=False)
        self.daemon.kill()
        self.daemon.start()
        wait_for("it is served again", lambda: self.daemon.ask("status")["teams"] and self.chat()["queued"] == 1)
        client.prompt()
        self.assertIn(REPEAT, client.seen[-1])
        client.stop()
        self.delivered(1)

    def test_no_transcript_can_hold_us_up_or_prove_anything(self):
        self.start_team()
        real = self.folder / "real.jsonl"
        client = Client(self)
        make = (lambda path: os.mkfifo(path), lambda path: path.mkdir(), lambda path: path.symlink_to("/dev/zero"),
                lambda path: (real.write_text(""), path.symlink_to(real)), lambda path: path.write_bytes(b"\xff\x00" * 3_000_000),
                lambda path: path.write_text('{"type":"user","x":' * 200_000), lambda path: path.write_text("[" * 3_000_000 + "\n"))
        for n, form in enumerate(make):
            client.path = self.folder / ("t%d.jsonl" % n)
            form(client.path)
            self.say("message %d" % n)
            text = "Messages from your team, delivered by inbox-poller:\n"
            if n == 3:
                real.write_text(text)
            out = self.run_hook(dict(prompt(self.session), transcript_path=str(client.path))).stdout.decode()
            self.assertIn("message %d" % n, out)
            self.daemon.polled(14)
            self.assertEqual(self.chat()["offered"], 1, n)
            self.run_hook(dict(stop(self.session), transcript_path=str(client.path)))
            self.assertEqual(self.chat()["delivered"], n + 1)
        for path in ("", "relative.jsonl", "/x" * 3000, "/nul\0byte", "/dev/stdin", "/proc/self/mem"):
            self.assertIsNone(self.hook(dict(prompt(self.session), transcript_path=path)))

    def test_a_transcript_that_grows_by_much_is_read_on(self):
        self.start_team()
        self.say("one")
        client = Client(self)
        client.prompt(answers=False)
        with client.path.open("a") as out:
            out.write('{"type":"user","message":{"content":"%s"}}\n' % ("x" * 9_000_000))
        client.answer()
        self.delivered(1)


class Stopping(ProofTest):
    def stands_once_in_the_context(self, generation):
        self.start_team()
        client = Client(self, generation=generation)
        client.prompt()
        self.say("one")
        self.assertTrue(client.stop())
        self.say("two")
        self.assertTrue(client.stop())
        self.assertFalse(client.stop())
        self.assertEqual([self.times(client, text) for text in ("one", "two")], [1, 1])
        self.delivered(2)

    def test_a_message_stands_once_in_the_context_of_the_newest_client_s_model(self):
        self.stands_once_in_the_context("2.1.330")

    def test_a_message_stands_once_in_the_context_of_an_old_client_s_model(self):
        self.stands_once_in_the_context("2.1.50")

    def test_a_client_of_an_unknown_version_gets_what_all_know(self):
        self.start_team()
        client = Client(self, writes=False, knows_context=False)
        client.prompt()
        self.say("one")
        self.assertTrue(client.stop())
        self.assertGreater(self.times(client, "one"), 0)
        client.stop()
        self.delivered(1)


class Waking(ProofTest):
    def idle(self, client):
        client.start()
        wait_for("it waits", lambda: {r["method"]: r["available"] for r in self.status()["delivery"]["methods"]}["hook"])

    def test_what_woke_a_session_is_delivered_with_its_answer(self):
        self.start_team()
        client = Client(self)
        self.idle(client)
        self.team.say("ada", "wake up", color="blue")
        wait_for("it has woken", lambda: client.waiting[0].poll() == 2)
        self.assertEqual(self.chat()["delivered"], 0)
        client.collect()
        self.delivered(1)
        self.assertEqual(self.times(client, "wake up"), 1)

    def test_what_the_client_dropped_comes_again(self):
        self.start_team(QUICK)
        client = Client(self, drops_async=True)
        self.idle(client)
        self.team.say("ada", "wake up", color="blue")
        wait_for("it has spoken", lambda: client.waiting[0].poll() == 2)
        client.collect()
        self.queued_again()
        self.assertEqual((client.seen, self.chat()["delivered"]), ([], 0))
        client.prompt()
        self.assertEqual((self.times(client, "wake up"), client.seen[0].count(REPEAT)), (1, 1))
        client.stop()
        self.delivered(1)

    def test_a_newer_session_s_hook_takes_the_older_one_s_place(self):
        self.start_team()
        first = Client(self)
        self.idle(first)
        self.assertEqual(first.fire("SessionEnd", reason="clear"), {})
        second = Client(self, "second")
        second.beside(dict(start("second", "clear"), transcript_path=str(second.path)))
        self.hook(start("second", "clear"))
        self.assertEqual(first.waiting[0].wait(LIMIT_S), 0)
        self.daemon.polled()
        self.assertIsNone(second.waiting[0].poll())
        self.team.say("ada", "wake up")
        self.assertEqual(second.waiting[0].wait(LIMIT_S), 2)

    def test_a_hook_of_the_same_session_takes_nobody_s_place(self):
        self.start_team()
        first = Client(self)
        first.start()
        wait_for("it waits", lambda: {r["method"]: r["available"] for r in self.status()["delivery"]["methods"]}["hook"])
        again = Client(self)
        again.beside(dict(stop(self.session), transcript_path=str(again.path)))
        self.assertEqual(again.waiting[0].wait(LIMIT_S), 0)
        self.assertIsNone(first.waiting[0].poll())

    def test_it_ends_with_its_client_also_when_a_shell_stands_between(self):
        self.start_team()
        self.hook(start(self.session))
        for shell in (False, True):
            with self.subTest(shell=shell):
                pid_file = self.folder / "pid"
                command = '%s hook wait --socket %s < %s & echo $! > %s; wait' % (
                    self.daemon.program, self.daemon.socket, self.folder / "event", pid_file)
                (self.folder / "event").write_text(wire.stringify(stop(self.session)))
                argv = ["sh", "-c", command] if shell else [self.daemon.program, "hook", "wait", "--socket", self.daemon.socket]
                code = ("import subprocess,sys,time\n"
                        "p=subprocess.Popen(%r,stdin=open(%r))\nopen(%r,'a').write('') if %r else open(%r,'w').write(str(p.pid))\n"
                        "time.sleep(600)\n") % (argv, str(self.folder / "event"), str(pid_file), shell, str(pid_file))
                client = subprocess.Popen(["python3", "-c", code], env=dict(self.hook_env(), CLAUDE_CODE_ENTRYPOINT="cli",
                                                                           CLAUDE_CODE_SESSION_ATTENDED="1"))
                self.stops.append(lambda c=client: c.poll() is None and c.kill())
                pid = int(wait_for("it runs", lambda: pid_file.exists() and pid_file.read_text().strip()))
                self.assertTrue(wait_for("it waits", lambda: {r["method"]: r["available"] for r in self.status()["delivery"]["methods"]}["hook"]))
                client.kill()
                client.wait()
                wait_for("it has ended", lambda: not alive(pid))
                pid_file.unlink()


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Late(ProofTest):
    def test_what_a_late_hook_never_printed_is_no_repeat(self):
        self.start_team()
        self.hook(prompt(self.session))
        self.say("one")
        hold_still(self.daemon.process.pid)
        try:
            self.assertEqual(self.run_hook(stop(self.session), "--timeout", "40ms").stdout, b"")
        finally:
            os.kill(self.daemon.process.pid, signal.SIGCONT)
        wait_for("the daemon has heard of it", lambda: self.lead()["by"] == "turn_stops")
        self.assertEqual(self.chat()["queued"], 1)
        text = self.hook(prompt(self.session))["hookSpecificOutput"]["additionalContext"]
        self.assertEqual((text.count("one"), text.count("repeat")), (1, 0))
        self.assertIn("before it printed them", self.trace())

    def test_a_stop_that_came_too_late_is_told_by_the_hook_that_waits(self):
        self.start_team()
        client = Client(self)
        self.hook(prompt(self.session))
        client.beside(dict(stop(self.session), transcript_path=str(client.path)))
        wait_for("the turn has ended", lambda: (self.lead()["state"], self.lead()["by"]) == ("idle", "turn_stops"))

    def test_a_stop_that_went_on_is_not_ended_by_the_hook_that_waits(self):
        self.start_team()
        client = Client(self)
        client.prompt()
        self.say("one")
        client.stop()
        self.daemon.polled(40)
        self.assertEqual(self.lead()["state"], "busy")


class Interrupted(ProofTest):
    def test_an_interruption_that_the_transcript_tells_makes_the_lead_idle(self):
        self.start_team()
        for generation in ("2.1.330", "2.1.50"):
            client = Client(self, generation=generation)
            client.prompt()
            client.tool()
            self.assertEqual(self.lead()["state"], "busy")
            client.escape()
            wait_for("it is idle", lambda: (self.lead()["state"], self.lead()["by"]) == ("idle", "turn_interrupted"))
            client.prompt("and now")
            self.daemon.polled(20)
            self.assertEqual(self.lead()["state"], "busy")

    def test_a_prompt_that_waits_for_a_person_makes_it_idle(self):
        self.start_team()
        self.hook(prompt(self.session))
        self.hook(event("Notification", self.session, message="x", notification_type="permission_prompt"))
        self.assertEqual(self.lead()["state"], "busy")
        self.hook(event("Notification", self.session, message="x", notification_type="idle_prompt"))
        self.assertEqual((self.lead()["state"], self.lead()["by"]), ("idle", "prompt_waits"))


if __name__ == "__main__":
    unittest.main()
