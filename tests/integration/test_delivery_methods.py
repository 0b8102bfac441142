"""The ladder of ways to the lead: which one is used, what makes it another, what is said of that, and what becomes of a message meanwhile."""

import json
import os
import re
import signal
import subprocess
import sys
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, team_toml, wait_for
from fake_clock import FakeClock
from hooks import AT_IT
from follower import Follower
from stream_lead import LeadRun, messages_in
from tmux import PaneProgram

# clock: the pause between two checks of a condition, in the program of the text below
# A program for delivery.exec. It adds what it gets to FOLDER/got, and obeys files in FOLDER: broken (it fails), hang (it waits).
PROGRAM = """
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
text = sys.stdin.read()
(folder / "calls").open("a").write(text + "\\n")
while (folder / "hang").exists():
    time.sleep(0.05)
if (folder / "broken").exists():
    sys.exit(7)
(folder / "got").open("a").write(text + "\\n")
"""


class LadderTest(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.box = self.folder / "box"  # everything that is pushed ends here
        self.box.mkdir()
        self.mail = self.box / "mail.jsonl"
        (self.folder / "program.py").write_text(PROGRAM)

    def serve(self, *via, toml="", tmux=""):
        """Starts the daemon with these ways; exec and file are set up."""
        return self.start_daemon(self.team, "\n".join([
            "[delivery]", "methods = %s" % json.dumps(via), 'assume_busy_for = "1s"',
            "exec = %s" % json.dumps([sys.executable, str(self.folder / "program.py"), str(self.folder)]) if "exec" in via else "",
            "file = %s" % json.dumps(str(self.mail)) if "file" in via else "", toml, tmux, ""]))

    # --- what is asked of the daemon ---

    def ladder(self):
        return self.status()["delivery"]["methods"]

    def chosen(self):
        return next((r["method"] for r in self.ladder() if r["chosen"]), None)

    def stands_on(self, method):
        wait_for("the way is %s" % method, lambda: self.chosen() == method)

    def reason(self, method):
        return next(r["reason"] for r in self.ladder() if r["method"] == method)

    def chat(self, **counts):
        wait_for("chat is %s" % counts, lambda: all(self.status()["chat"][name] == n for name, n in counts.items()))

    def falls(self):
        """What the log says about the way, in order."""
        return [(e["old"], e["new"]) for e in self.daemon.log("delivery.method")]

    def way_without_retries(self):
        """The ways in order. A way that failed is tried again after a pause; on a slow machine a test may go on for so long that such a
        try, and its end, are in the log as well: A B A B is A B."""
        ways = [new for _, new in self.falls()]
        at = 0
        while at + 3 < len(ways):
            if ways[at:at + 2] == ways[at + 2:at + 4]:
                del ways[at:at + 2]
            else:
                at += 1
        return ways

    def message(self, key):
        """As `trace --json` has it."""
        return json.loads(self.daemon.cli("trace", key, "--json").stdout)["messages"][0]

    # --- what is done, and where it arrives ---

    def say(self, *texts, sender="ada"):
        for text in texts:
            self.team.say(sender, text)

    def goes(self, text, sink):
        """Says this, and it arrives on this way. Returns the message as `trace` shows it."""
        before = self.status()["chat"]["delivered"]
        self.say(text)
        self.chat(delivered=before + 1, queued=0)
        key = self.daemon.log("delivery.delivered")[-1]["message_key"]
        found = self.message(key)
        self.assertEqual((found["method"], json.loads(found["entry"])["text"]), (sink, text))
        return found

    def lines(self):
        """The messages in the file."""
        return [json.loads(x) for x in self.mail.read_text("utf-8").split("\n") if x] if self.mail.exists() else []

    def wait_lines(self, texts):
        wait_for("the file has %s" % texts, lambda: len(self.lines()) >= len(texts))
        self.assertEqual([m["text"] for m in self.lines()], texts)
        return self.lines()

    def got(self, name="got"):
        """The messages that the program took (or, with "calls", was given): (sender, text, labeled as a possible repeat)."""
        path = self.folder / name
        return messages_in(path.read_text("utf-8")) if path.exists() else []

    def order(self, name):
        (self.folder / name).touch()

    def revoke(self, name):
        (self.folder / name).unlink()

    def follow(self, *options):
        follower = Follower(self, *options)
        wait_for("the follower is there", lambda: next(r for r in self.ladder() if r["method"] == "socket")["available"])
        return follower

    def start_lead_run(self):
        run = LeadRun(self.daemon, self.folder / "lead-run")
        self.stops.append(run.stop)
        return run

    def tell(self, event, **more):
        """What `inbox-poller hook` passes on."""
        transcript = self.folder / "transcript.jsonl"
        if not transcript.exists():
            transcript.write_text('{"type":"user","version":"2.1.69"}\n')
        fields = dict({"session_id": self.team.roster()["leadSessionId"], "hook_event_name": event, "cwd": "/work",
                       "transcript_path": str(transcript)}, **more)
        answer = self.daemon.ask("hook", event=fields)
        self.assertTrue(answer["ok"], answer)

    def wakes(self, waits, text):
        """It leaves with the message, and the client begins a turn with that."""
        said = waits.communicate(timeout=LIMIT_S)[1].decode()
        self.assertEqual((waits.returncode, text in said), (2, True))
        self.tell("UserPromptSubmit", prompt=said)
        self.tell("PreToolUse", tool_name="Bash", tool_input={})

    def hook_wait(self):
        process = subprocess.Popen([self.daemon.program, "hook", "wait", "--socket", self.daemon.socket], env=dict(self.daemon.env, **AT_IT),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.stops.append(lambda: (process.poll() is None and process.kill(), process.communicate()))
        process.stdin.write(wire.stringify({"session_id": self.team.roster()["leadSessionId"], "hook_event_name": "Stop",
                                            "cwd": "/work", "stop_hook_active": False}).encode())
        process.stdin.close()
        process.stdin = None
        wait_for("it waits", lambda: next(r for r in self.ladder() if r["method"] == "hook")["available"])
        return process


class Choice(LadderTest):
    def test_the_first_available_way_is_used_and_status_says_why_not_the_better_ones(self):
        self.serve("stdin", "hook", "socket", "exec", "tmux", "file", toml="[delivery.tmux]\npane = \"\"")
        self.assertEqual([(r["method"], r["available"], r["chosen"]) for r in self.ladder()], [
            ("stdin", False, False), ("hook", False, False), ("socket", False, False), ("exec", True, True), ("tmux", False, False),
            ("file", True, False)])
        self.goes("hello", "exec")
        for method, words in (("stdin", "lead run"), ("hook", "no hook of the lead's session was heard"),
                            ("socket", "recv --follow"), ("exec", ""), ("tmux", "no pane of the lead is known"), ("file", "")):
            self.assertIn(words, self.reason(method))
            self.assertEqual(bool(words), bool(self.reason(method)), method)
        self.assertRegex(self.daemon.cli("status").stdout,
                         r"delivery +exec, as no receiver is at stdin, hook, socket \(--long says more\); the last messages went through exec\n")
        shown = self.daemon.cli("status", "--long").stdout
        self.assertRegex(shown, r"delivery +exec; the last messages went through exec\n")
        for method in ("stdin", "hook", "socket"):
            self.assertRegex(shown, r"\n +not %s: %s" % (method, self.reason(method)))
        self.assertNotIn("not tmux", shown)  # below the one in use
        self.assertEqual(self.falls(), [("none", "exec")])
        self.assertIn("socket: no program follows", self.daemon.log("delivery.method")[0]["reason"])

    def test_with_no_way_at_all_messages_wait_and_status_says_so(self):
        self.serve("stdin", "socket")
        self.say("hello")
        self.chat(queued=1)
        self.assertIsNone(self.chosen())
        self.assertRegex(self.daemon.cli("status").stdout, r"delivery +nothing is available \(--long says why\)\n")
        shown = self.daemon.cli("status", "--long").stdout
        self.assertIn("not stdin: ", shown)
        self.assertIn("not socket: ", shown)
        self.assertEqual(self.falls(), [])
        self.follow().wait_texts(["hello"])
        self.assertEqual(self.falls(), [("none", "socket")])


class Falls(LadderTest):
    """Each way is left, and taken again. Two messages on each: a fall is told once, not once for each message."""

    def both(self, sink, name):
        for n in (1, 2):
            self.goes("%s %d" % (name, n), sink)

    def test_a_lead_that_was_started_by_us_leaves_and_comes_again(self):
        self.serve("stdin", "file")
        run = self.start_lead_run()
        self.stands_on("stdin")
        self.both("stdin", "run")
        self.assertEqual(run.process.poll(), None)
        run.process.terminate()
        run.wait()
        self.stands_on("file")
        self.assertIn("lead run", self.reason("stdin"))
        self.say("to nobody")  # the lead has gone, and another way does not bring it back
        self.chat(queued=1)
        self.daemon.polled()
        self.assertEqual(self.lines(), [])
        self.daemon.cli("lead", "idle")
        self.wait_lines(["to nobody"])
        self.both("file", "alone")
        again = self.start_lead_run()
        self.stands_on("stdin")
        self.both("stdin", "again")
        self.assertEqual(again.texts()[-2:], ["again 1", "again 2"])
        self.assertEqual(self.falls(), [("none", "stdin"), ("stdin", "file"), ("file", "stdin")])
        self.assertEqual(self.daemon.log("delivery.method")[-1]["reason"], "the first of delivery.methods")

    def test_a_hook_that_waits_ends_and_another_begins(self):
        self.serve("hook", "file")
        self.tell("SessionStart", source="startup")
        waits = self.hook_wait()
        self.stands_on("hook")
        self.say("wake up")
        self.wakes(waits, "wake up")
        self.chat(delivered=1)
        self.stands_on("hook")  # busy now: its next hook takes messages along
        self.tell("Stop", stop_hook_active=False)
        self.stands_on("file")
        self.assertIn("the lead is idle, and no `hook wait` is there to wake it", self.reason("hook"))
        self.both("file", "idle")
        waits = self.hook_wait()
        self.stands_on("hook")
        self.say("again")
        self.wakes(waits, "again")
        self.chat(queued=0, offered=0)
        self.assertEqual(self.falls(), [("none", "hook"), ("hook", "file"), ("file", "hook")])

    def test_a_receiver_is_killed_and_another_comes(self):
        self.serve("socket", "file")
        follower = self.follow()
        self.both("socket", "first")
        follower.end(signal.SIGKILL)
        self.stands_on("file")
        self.assertIn("no program follows", self.reason("socket"))
        self.both("file", "alone")
        again = self.follow()
        self.both("socket", "again")
        again.wait_texts(["again 1", "again 2"])
        self.assertEqual(self.falls(), [("none", "socket"), ("socket", "file"), ("file", "socket")])

    def test_a_program_fails_and_works_again(self):
        self.serve("exec", "file")
        self.both("exec", "works")
        self.order("broken")
        def says_why():
            """After each failure, until the way is tried again: a slow machine may look too late, and says something more."""
            self.goes("broken", "file")
            return re.search("ended with exit code 7", self.reason("exec")) and re.search(
                r"delivery +file; .*\n +not exec: .*ended with exit code 7", self.daemon.cli("status").stdout)

        wait_for("status says why", says_why)
        for n in (2, 3, 4):
            self.goes("broken %d" % n, "file")
        self.revoke("broken")
        self.stands_on("exec")  # after a pause it is tried again
        self.both("exec", "works again")
        self.assertEqual(self.way_without_retries(), ["exec", "file", "exec"])
        self.assertEqual(len(self.daemon.log("delivery.failed")), 1, "the same reason again is no news")

    def test_a_folder_that_cannot_be_written_and_a_pane_that_dies(self):
        tmux = self.start_tmux()
        pane = PaneProgram(tmux, self.folder)
        tmux.run("set-option", "-g", "remain-on-exit", "on")
        self.serve("file", "tmux", "exec", tmux="[delivery.tmux]\npane = %s\ncommand = %s\nsettle = \"50ms\"\npayload = true\n" % (
            json.dumps(pane.pane), json.dumps(tmux.command)))
        self.both("file", "works")
        os.rename(self.box, self.folder / "elsewhere")
        if os.geteuid() != 0:  # nothing is forbidden to root
            self.box.mkdir(mode=0o500)
        self.goes("no folder 1", "tmux")
        self.assertIn(str(self.mail), self.daemon.log("delivery.failed", method="file")[-1]["reason"])
        wait_for("the turn that it began is over", lambda: len(pane.submitted()) == 1 and "Thinking" not in pane.screen())
        self.goes("no folder 2", "tmux")
        wait_for("it was typed", lambda: pane.typed().count(b"\r") == 2)
        os.kill(tmux.panes()[pane.pane], signal.SIGKILL)
        wait_for("the pane is dead", lambda: tmux.run("display", "-p", "-t", pane.pane, "#{pane_dead}") == "1")
        self.goes("no pane", "exec")
        self.assertEqual([message[:2] for message in self.got()], [("ada", "no pane")])
        self.assertIn("is dead", self.daemon.log("delivery.failed", method="tmux")[-1]["reason"])
        if self.box.exists():
            self.box.rmdir()
        os.rename(self.folder / "elsewhere", self.box)
        self.stands_on("file")
        self.both("file", "works again")
        self.assertEqual(self.way_without_retries(), ["file", "tmux", "exec", "file"])
        self.assertEqual({e["method"] for e in self.daemon.log("delivery.failed")}, {"file", "tmux"})


class Repeats(LadderTest):
    """No way is tried in the hope that another did not work: what one gave up comes on the next under the same id, labeled."""

    def test_what_a_killed_receiver_had_comes_on_the_next_way_with_its_id(self):
        self.serve("socket", "file")
        follower = self.follow("--ack-from-stdin")
        self.say("one", "two", "three")
        messages = follower.wait_texts(["one", "two", "three"])
        follower.acknowledge(messages[0]["message_key"])
        self.chat(delivered=1, offered=2)
        follower.end(signal.SIGKILL)
        again = self.wait_lines(["two", "three"])
        self.assertEqual([(m["message_key"], m["attempts"]) for m in again], [(m["message_key"], 2) for m in messages[1:]])
        self.say("new")
        self.assertEqual(self.wait_lines(["two", "three", "new"])[2]["attempts"], 1)

    def test_what_a_program_failed_with_comes_on_the_next_way_with_its_id(self):
        self.serve("exec", "file")
        self.order("broken")
        self.say("hello")
        message = self.wait_lines(["hello"])[0]
        self.assertEqual(message["attempts"], 2)
        self.assertEqual(self.got("calls"), [("ada", "hello", False)])
        history = json.loads(self.daemon.cli("trace", message["message_key"], "--json").stdout)["history"]
        self.assertEqual([e["event"] for e in history if e["event"].startswith("delivery.")],
                         ["delivery.offered", "delivery.requeued", "delivery.offered", "delivery.delivered"])

    def test_a_lead_that_crashes_in_the_middle_of_a_message_gets_it_on_the_next_way_labeled(self):
        self.serve("stdin", "exec")
        run = self.start_lead_run()
        self.stands_on("stdin")
        run.order("crash_before_replay")
        self.say("precious")
        wait_for("it had it", lambda: run.took() == [("ada", "precious", False)])
        run.wait()
        self.daemon.cli("lead", "idle")
        wait_for("it came again", lambda: self.got() == [("ada", "precious", True)])
        self.chat(delivered=1, queued=0, offered=0)

    def test_after_a_kill_of_the_daemon_a_program_gets_the_same_message_labeled(self):
        self.serve("exec")
        self.order("hang")
        self.say("hello")
        wait_for("the program has it", lambda: self.got("calls"))
        key = self.daemon.log("delivery.offered")[0]["message_key"]
        self.daemon.kill()
        self.revoke("hang")
        self.daemon.start()
        self.chat(delivered=1, offered=0, queued=0)
        self.assertEqual(self.got("calls"), [("ada", "hello", False), ("ada", "hello", True)])
        label = "[may be a repeat: message %s was offered before]" % key
        self.assertEqual((self.folder / "calls").read_text().count(label), 1)
        self.assertEqual(self.message(key)["attempts"], 2)

    def test_after_a_kill_of_the_daemon_the_file_gets_nothing_twice_without_a_label(self):
        self.serve("file")
        said = []
        for round_number in range(5):
            said += ["%d.%d" % (round_number, n) for n in range(4)]
            self.say(*said[-4:])
            self.daemon.kill()
            self.daemon.start()
        self.chat(queued=0, offered=0, delivered=20)
        first = {}
        for message in self.lines():
            same = first.setdefault(message["text"], message)
            self.assertEqual(message["message_key"], same["message_key"])
            self.assertTrue(message is same or message["attempts"] > same["attempts"], message)
        self.assertEqual(list(first), said)


class States(LadderTest):
    """Every message has a state that can be seen, with its time and its way."""

    def test_queued_offered_and_delivered_by_an_acknowledgment(self):
        self.serve("socket")
        self.daemon.cli("lead", "busy")
        self.say("hello")
        self.chat(queued=1)
        key = self.daemon.log("message.accepted")[-1]["message_key"]
        queued = self.message(key)
        self.assertEqual((queued["delivery"], queued["method"], queued["attempts"]), ("queued", "", 0))
        self.assertEqual((queued["offered_ms"], queued["delivered_ms"]), (0, 0))
        self.assertIn("waits for the lead: team-lead is busy", self.daemon.cli("trace", key).stdout)
        follower = self.follow("--ack-from-stdin")
        self.daemon.cli("lead", "idle")
        follower.wait_texts(["hello"])
        offered = self.message(key)
        self.assertEqual((offered["delivery"], offered["method"], offered["attempts"]), ("offered", "socket", 1))
        self.assertGreaterEqual(offered["offered_ms"], queued["received_ms"])
        self.assertEqual(offered["delivered_ms"], 0)
        self.assertIn("was handed out through socket", self.daemon.cli("trace", key).stdout)
        follower.acknowledge(key)
        self.chat(delivered=1)
        delivered = self.message(key)
        self.assertEqual((delivered["delivery"], delivered["confirmed"], delivered["method"]), ("delivered", "acknowledged", "socket"))
        self.assertGreaterEqual(delivered["delivered_ms"], offered["offered_ms"])
        self.assertIn("acknowledged", self.daemon.cli("trace", key).stdout)

    def test_delivered_by_a_file_is_assumed_and_by_a_program_acknowledged(self):
        self.serve("exec", "file")
        self.assertEqual(self.goes("by exit code 0", "exec")["confirmed"], "acknowledged")
        self.order("broken")
        found = self.goes("by being written", "file")
        self.assertEqual((found["delivery"], found["confirmed"]), ("delivered", "assumed"))
        self.assertIn("assumed", self.daemon.cli("trace", found["message_key"]).stdout)
        self.assertEqual(self.status()["chat"]["assumed"], 1)

    def test_what_nobody_took_in_time_expires_and_what_is_handed_out_does_not(self):
        self.make_daemon(team_toml(self.team, more='[delivery]\nmethods = ["socket"]\nexpire_after = "1min"\n'))
        clock = FakeClock(self.daemon, self.folder / "clock")
        self.daemon.start()
        follower = self.follow("--ack-from-stdin")
        self.say("handed out")
        kept = follower.wait_texts(["handed out"])[0]["message_key"]
        self.daemon.cli("lead", "busy")
        self.say("too late")
        self.chat(queued=1)
        key = self.daemon.log("message.accepted")[-1]["message_key"]
        self.daemon.polled()
        self.assertEqual(self.status()["chat"]["expired"], 0)
        clock.pass_over(61_000)
        wait_for("it expired, after a minute", lambda: self.status()["chat"]["expired"] == 1)
        gone = self.message(key)
        self.assertEqual((gone["delivery"], gone["method"]), ("expired", ""))
        self.assertGreaterEqual(gone["delivered_ms"] - gone["received_ms"], 60000)
        self.assertIn("was given up", self.daemon.cli("trace", key).stdout)
        self.assertRegex(self.daemon.cli("status").stdout, r"chat .*, 1 given up")
        self.assertEqual(self.message(kept)["delivery"], "offered")
        self.daemon.cli("lead", "idle")
        self.say("next")
        follower.wait_texts(["handed out", "next"])
        follower.acknowledge(kept)
        self.chat(delivered=1, offered=1)


class Waiting(LadderTest):
    """What a busy lead gets, and in which order."""

    def test_a_busy_lead_gets_what_waited_too_long_and_not_before(self):
        self.serve("file", toml='max_delay = "3s"')
        self.daemon.cli("lead", "busy")
        self.say("one")
        message = self.wait_lines(["one"])[0]
        found = self.message(message["message_key"])
        self.assertGreaterEqual(found["offered_ms"] - found["received_ms"], 3000)
        self.assertEqual(self.daemon.ask("lead")["state"], "busy")

    def test_urgent_ones_do_not_wait_for_a_busy_lead_and_take_along_what_their_sender_wrote_before(self):
        self.serve("file", toml='urgent_max_delay = "0s"\nurgent = ["bob"]')
        self.daemon.cli("lead", "busy")
        self.say("in no hurry", "and more")
        self.chat(queued=2)
        self.say("at once", sender="bob")
        self.wait_lines(["at once"])
        self.team.say("ada", wire.idle_notification("ada", "failed"))
        lines = wait_for("ada's failure came", lambda: self.lines() if len(self.lines()) == 4 else None)
        self.assertEqual([m["text"] for m in lines[:3]], ["at once", "in no hurry", "and more"])
        self.assertEqual(json.loads(lines[3]["text"])["idleReason"], "failed")
        self.say("in no hurry again")
        self.chat(queued=1)
        self.daemon.polled()
        self.assertEqual(len(self.lines()), 4)

    def test_urgent_overtakes_others_and_never_what_the_same_sender_wrote_before(self):
        self.serve("file", toml='urgent = ["bob"]')
        self.daemon.cli("lead", "busy")
        self.say("ada 1", "ada 2")
        self.say("bob 1", sender="bob")
        self.say("ada 3")
        self.say("bob 2", sender="bob")
        self.chat(queued=5)
        self.daemon.cli("lead", "idle")
        self.wait_lines(["bob 1", "bob 2", "ada 1", "ada 2", "ada 3"])

    def test_a_lead_that_has_gone_gets_nothing_however_urgent_and_however_long(self):
        self.serve("exec", "file", toml='max_delay = "1s"\nurgent_max_delay = "0s"\nurgent = ["bob"]')
        self.daemon.cli("lead", "offline")
        self.say("chat")
        self.say("urgent", sender="bob")
        self.chat(queued=2)
        self.daemon.polled(40)
        self.assertEqual((self.got("calls"), self.lines()), ([], []))
        self.assertEqual(self.status()["chat"]["queued"], 2)
        self.daemon.cli("lead", "idle")
        wait_for("both came", lambda: self.got() == [("bob", "urgent", False), ("ada", "chat", False)])


class Digests(LadderTest):
    def idle(self, count, sender="ada"):
        for n in range(count):
            self.team.say(sender, wire.idle_notification(sender, "available", "[to bob] step %d" % n))

    def test_a_digest_goes_along_with_the_next_chat(self):
        self.serve("file", toml='idle = "digest"\ndigest_after = "1h"')
        self.idle(5)
        self.idle(3, "bob")
        self.chat(digest=8)
        self.daemon.polled()
        self.assertEqual(self.lines(), [])
        self.say("by the way")
        lines = wait_for("both came", lambda: self.lines() if len(self.lines()) == 2 else None)
        self.assertEqual([m["type"] for m in lines], ["chat", "digest"])
        self.assertEqual(lines[1]["text"].splitlines(), [
            "Status of the team since the last digest (8 messages):", "- ada: 5 times idle; last: [to bob] step 4",
            "- bob: 3 times idle; last: [to bob] step 2"])
        self.chat(digest=0, queued=0)
        summed = self.daemon.log("message.accepted", type="idle_notification")[0]["message_key"]
        self.assertIn("was summed up in a digest for the lead", self.daemon.cli("trace", summed).stdout)
        self.say("nothing new")
        self.wait_lines([m["text"] for m in lines] + ["nothing new"])

    def test_a_digest_goes_alone_after_a_while_and_a_thousand_idle_notices_are_one(self):
        self.serve("file", toml='idle = "digest"\ndigest_after = "5s"')
        notices = [wire.entry("ada", wire.stringify(wire.idle_notification("ada", "available", "[to bob] step %d" % n)))
                   for n in range(1000)]
        for n, notice in enumerate(notices):
            notice["timestamp"] = "2026-02-07T15:20:%02d.%03dZ" % (n // 1000, n % 1000)
        wire.replace(self.team.lead_inbox, wire.stringify(notices))
        line = wait_for("it came", self.lines)[0]
        self.assertEqual(line["type"], "digest")
        self.assertIn("since the last digest (1000 messages):\n- ada: 1000 times idle; last: [to bob] step 999", line["text"])
        self.daemon.polled()
        self.assertEqual(len(self.lines()), 1)

    def test_a_busy_lead_is_not_disturbed_by_a_digest(self):
        self.serve("file", toml='idle = "digest"\ndigest_after = "1s"')
        self.daemon.cli("lead", "busy")
        self.idle(2)
        self.chat(digest=2)
        self.daemon.polled(40)
        self.assertEqual(self.lines(), [])
        self.daemon.cli("lead", "idle")
        wait_for("it came", self.lines)


if __name__ == "__main__":
    unittest.main()
