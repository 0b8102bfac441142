"""The last resort: pasting into the lead's terminal. A real tmux server, and in the pane a stand-in for an interactive client, which
answers dialogs and submits drafts as the real one does, and keeps every byte."""

import json
import os
import signal
import unittest

from case import ProcessTest
from daemon import wait_for
from tmux import PaneProgram

START, END, ENTER = b"\x1b[200~", b"\x1b[201~", b"\r"
POINTER = b"%d message%s of your team wait%s. Read %s with: inbox-poller recv --ignore-busy --team demo"


def pointer(count):
    return POINTER % ((count, b"", b"s", b"it") if count == 1 else (count, b"s", b"", b"them"))


def block(text, sender="ada", color="blue"):
    """As it is pasted: of four lines at least, so that a client shows its sign for a pasted text."""
    whole = '<teammate-message teammate_id="%s" color="%s">\n%s\n</teammate-message>' % (sender, color, text)
    return (whole + "\n" * (3 - whole.count("\n"))).encode()


class WithPane(ProcessTest):
    OLD = False

    def setUp(self):
        super().setUp()
        self.tmux = self.start_tmux()
        self.team = self.make_team()

    def program(self, brackets=True):
        return PaneProgram(self.tmux, self.folder, brackets, self.OLD)

    def serve(self, pane, payload=True, settle="50ms", via=("tmux",), more=""):
        lines = ["[delivery]", "methods = %s" % json.dumps(list(via)), 'assume_busy_for = "5s"', more, "[delivery.tmux]",
                 "payload = %s" % json.dumps(payload), "command = %s" % json.dumps(self.tmux.command), 'settle = "%s"' % settle]
        if pane:
            lines.append("pane = %s" % json.dumps(pane))
        return self.start_daemon(self.team, "\n".join(lines) + "\n")

    def chat(self):
        return self.status()["chat"]

    def delivered(self, count):
        wait_for("%d delivered" % count, lambda: self.chat()["delivered"] == count)
        self.assertEqual(self.tmux.run("list-buffers"), "")  # what carried the text is gone

    def refused(self, said):
        """The reason why it cannot go now, as the log has it."""
        wait_for("refused: %s" % said, lambda: [e for e in self.daemon.log("delivery.failed") if said in e["reason"]])
        self.assertEqual(self.chat()["delivered"], 0)
        self.assertEqual(self.tmux.run("list-buffers"), "")

    def arrives(self, lead, expected):
        """Exactly this was typed. tmux answers before the program has read it."""
        wait_for("%d bytes" % len(expected), lambda: len(lead.typed()) >= len(expected))
        self.assertEqual(lead.typed(), expected)


class TmuxDelivery(WithPane):
    # --- what arrives, byte by byte ---

    def test_only_a_line_is_pasted_that_says_how_to_get_the_messages(self):
        lead = self.program()
        self.serve(lead.pane, payload=False)
        self.team.say("ada", "not a word of this\n\x1b[201~\rrm -rf /")
        wait_for("the line is there", lambda: lead.typed().endswith(ENTER))
        line = START + pointer(1) + END + ENTER
        self.arrives(lead, line)
        self.team.say("ada", "more")
        wait_for("both wait", lambda: self.chat()["queued"] == 2)
        self.daemon.polled()
        self.arrives(lead, line)  # not again while nobody has read
        self.assertIn("not a word of this", self.daemon.cli("recv").stdout)
        self.team.say("ada", "later")
        self.arrives(lead, line + line)  # whoever read hears of what came afterwards

    def test_the_messages_themselves_are_pasted_where_that_is_configured(self):
        lead = self.program()
        self.serve(lead.pane)
        self.team.say("ada", "hello\nworld;\t$(id) `id` #{pid} grüße 😀 C-c Enter")
        self.delivered(1)
        expected = START + block("hello\nworld;\t$(id) `id` #{pid} grüße 😀 C-c Enter") + END + ENTER
        self.arrives(lead, expected)
        self.assertEqual(self.chat()["assumed"], 1)  # no hooks, so nobody confirms
        self.team.say("bob", "and another;")
        self.delivered(2)
        self.arrives(lead, expected + START + block("and another;", "bob", "green") + END + ENTER)

    def test_without_brackets_newlines_are_newlines_and_only_the_last_byte_submits(self):
        lead = self.program(brackets=False)
        self.serve(lead.pane)
        self.team.say("ada", "one\ntwo\nthree")
        self.delivered(1)
        self.arrives(lead, block("one\ntwo\nthree") + ENTER)

    def test_what_would_end_the_paste_or_type_a_key_is_not_pasted(self):
        lead = self.program()
        self.serve(lead.pane)
        self.team.say("ada", "a\x1b[201~\rrm -rf /\r\x9b201~\x03\x04\x7fb\u202ec")
        self.delivered(1)
        self.arrives(lead, START + block("a[201~rm -rf /201~bc") + END + ENTER)

    def test_a_thousand_lines_and_a_hundred_kilobytes_arrive_whole_and_once(self):
        lead = self.program()
        self.serve(lead.pane)
        text = "\n".join("line %04d %s" % (n, "x" * 95) for n in range(1000))
        self.assertGreater(len(text), 100_000)
        self.team.say("ada", text)
        self.delivered(1)
        self.arrives(lead, START + block(text) + END + ENTER)

    # --- when nothing may be pasted ---

    def test_copy_mode_is_left_alone_and_the_message_comes_when_it_ends(self):
        lead = self.program()
        self.tmux.run("copy-mode", "-t", lead.pane)
        self.serve(lead.pane)
        self.team.say("ada", "later")
        self.refused("copy mode")
        self.assertEqual(lead.typed(), b"")
        self.assertIn("copy mode", self.status()["delivery"]["methods"][0]["reason"])
        self.tmux.run("send-keys", "-t", lead.pane, "-X", "cancel")
        self.delivered(1)
        self.arrives(lead, START + block("later") + END + ENTER)  # not labeled: it was never pasted before

    def test_a_shell_in_front_gets_nothing(self):
        self.tmux.start("sleep", "300")
        shell = self.tmux.start("sh", "-i")
        self.serve(shell)
        self.team.say("ada", "touch here")
        self.refused("sh is in front in the pane " + shell)
        self.assertNotIn("touch here", self.tmux.run("capture-pane", "-p", "-t", shell))

    def test_a_pane_that_shares_its_input_gets_nothing_for_its_neighbors_would(self):
        lead = self.program()
        other = os.path.join(str(self.folder), "neighbor")
        self.tmux.run("split-window", "-d", "-t", lead.pane, "cat >" + other)
        self.tmux.run("set-option", "-w", "-t", lead.pane, "synchronize-panes", "on")
        self.serve(lead.pane)
        self.team.say("ada", "for the lead")
        self.refused("shares its input")
        self.assertEqual(os.path.getsize(other), 0)
        self.tmux.run("set-option", "-w", "-t", lead.pane, "synchronize-panes", "off")
        self.delivered(1)
        self.assertEqual(os.path.getsize(other), 0)

    def test_a_pane_without_input_a_dead_one_and_none_are_told_apart(self):
        lead = self.program()
        self.tmux.run("set-option", "-g", "remain-on-exit", "on")
        self.tmux.run("select-pane", "-d", "-t", lead.pane)
        self.serve(lead.pane)
        self.team.say("ada", "for the lead")
        self.refused("takes no input")
        os.kill(self.tmux.panes()[lead.pane], signal.SIGKILL)
        self.refused("is dead")
        self.tmux.bystander()
        self.tmux.run("kill-pane", "-t", lead.pane)
        self.refused("tmux does not know pane " + lead.pane)
        self.assertEqual(lead.typed(), b"")

    def test_another_server_with_the_same_pane_id_gets_nothing(self):
        lead = self.program()
        self.serve(lead.pane)
        self.team.say("ada", "first")
        self.delivered(1)
        self.tmux.stop()
        wait_for("the server has gone", lambda: not self.tmux.panes())
        self.tmux.has_session = False
        other = self.program()
        self.assertEqual(other.pane, lead.pane)
        self.team.say("ada", "second")
        wait_for("it is refused", lambda: [e for e in self.daemon.log("delivery.failed") if "another one than at first" in e["reason"]])
        self.assertEqual(other.typed(), b"")
        self.assertEqual(self.chat()["delivered"], 1)

    def test_another_program_started_in_the_pane_gets_nothing(self):
        lead = self.program()
        self.serve(lead.pane)
        self.team.say("ada", "first")
        self.delivered(1)
        self.tmux.run("respawn-pane", "-k", "-t", lead.pane, "exec sleep 300")
        self.team.say("ada", "second")
        wait_for("it is refused", lambda: [e for e in self.daemon.log("delivery.failed") if "another one than at first" in e["reason"]])
        self.assertEqual(self.chat()["delivered"], 1)

    def test_a_paste_that_could_not_be_submitted_says_so_and_comes_again_as_a_possible_repeat(self):
        lead = self.program()
        self.serve(lead.pane, settle="5s")
        self.team.say("ada", "hello")
        wait_for("it is pasted", lambda: END in lead.typed())
        self.tmux.run("copy-mode", "-t", lead.pane)
        self.refused("copy mode")
        self.arrives(lead, START + block("hello") + END)
        self.tmux.run("send-keys", "-t", lead.pane, "-X", "cancel")
        self.delivered(1)
        text, = wait_for("it is submitted", lead.submitted)
        self.assertEqual(text.count("<teammate-message "), 1, "what stood there was taken back first")
        self.assertEqual(text.count("\n[may be a repeat: "), 1)
        self.assertEqual(lead.typed().count(ENTER), 1)

    # --- with the lead's hooks ---

    def tell(self, event, pane="", **more):
        """What `inbox-poller hook` passes on."""
        event = dict({"session_id": self.team.roster()["leadSessionId"], "hook_event_name": event, "cwd": "/work"}, **more)
        answer = self.daemon.ask("hook", event=event, pane=pane)
        self.assertTrue(answer["ok"], answer)

    def test_the_lead_s_hooks_tell_its_pane_and_confirm_what_was_pasted(self):
        lead = self.program()
        self.serve("")
        self.team.say("ada", "hello:\n\tlead")
        wait_for("it waits", lambda: self.chat()["queued"] == 1)
        self.assertIn("no pane of the lead is known", self.status()["delivery"]["methods"][0]["reason"])
        self.tell("SessionStart", pane=lead.pane, source="startup")
        wait_for("it is pasted", lambda: lead.typed().endswith(ENTER))
        self.assertEqual(self.chat()["delivered"], 0)
        typed = lead.typed()[len(START):-len(END + ENTER)].decode()
        self.assertIn("\t", typed)
        self.tell("UserPromptSubmit", pane=lead.pane, prompt=typed.replace("\t", "    "))  # as its composer shows tabs
        self.delivered(1)
        self.assertEqual(self.chat()["assumed"], 0)

    def test_a_paste_that_no_hook_confirms_comes_again_as_a_possible_repeat(self):
        lead = self.program()
        self.serve(lead.pane)
        self.tell("SessionStart", pane=lead.pane, source="startup")
        self.team.say("ada", "hello")
        wait_for("it is pasted twice", lambda: lead.typed().count(ENTER) == 2)
        first, second = lead.typed().split(ENTER)[:2]
        self.assertEqual(first, START + block("hello") + END)
        self.assertIn(b"\n[may be a repeat: ", second)
        self.assertEqual(self.chat()["delivered"], 0)


class Screens(WithPane):
    """What the lead's screen shows decides."""

    def waits_until(self, lead, said, end, answered=("approved", "denied", "chosen")):
        """Nothing is typed, and the status says why; when that has ended, the line comes once and alone."""
        self.serve(lead.pane, payload=False)
        before = lead.typed()
        self.team.say("ada", "hello")
        self.refused(said)
        self.assertIn(said, self.status()["delivery"]["methods"][0]["reason"])
        self.daemon.polled(30)  # the composer is checked again
        self.assertEqual(lead.typed(), before)
        self.assertEqual(lead.events(*answered), [])
        end()
        wait_for("it is submitted", lead.submitted)
        self.assertEqual(lead.submitted(), [pointer(1).decode()])
        self.assertEqual(lead.typed().count(ENTER), 1)
        self.assertEqual(lead.events(*answered), [])

    def test_an_open_dialog_is_answered_by_nobody_but_a_person(self):
        lead = self.program()
        lead.order("dialog")
        self.waits_until(lead, "a dialog is open", lambda: lead.revoke("dialog"))

    def test_a_draft_of_a_person_is_neither_sent_nor_touched(self):
        lead = self.program()
        lead.type("half a thought")
        self.waits_until(lead, "its composer holds text", lambda: lead.press("C-u"))

    def test_a_lead_at_work_a_list_and_the_transcript_are_left_alone(self):
        lead = self.program()
        lead.order("run")
        self.serve(lead.pane, payload=False)
        self.team.say("ada", "hello")
        for before, name, said in (("", "run", "the lead is working"), ("run", "transcript", "it shows the transcript"),
                                   ("transcript", "menu", "a list is open")):
            if before:
                lead.order(name)
                lead.revoke(before)
            self.refused(said)
            self.daemon.polled()
            self.assertEqual(lead.typed(), b"")

    def test_what_others_wrote_above_a_dialog_is_no_composer(self):
        lead = self.program()
        rule = "\u2500" * 80
        lead.order("above", "\n".join((rule, "\u276f\u00a0\x1b[7m \x1b[0m", rule, "  ? for shortcuts")))
        lead.order("dialog")
        self.waits_until(lead, "a dialog is open", lambda: lead.revoke("dialog"))

    def test_a_dialog_that_comes_in_the_moment_of_the_paste_gets_no_enter(self):
        lead = self.program()
        lead.order("dialog_on_paste")
        self.serve(lead.pane)
        self.team.say("ada", "hello")
        self.refused("Enter was not pressed")
        self.daemon.polled()
        self.assertEqual(lead.events(), [])
        self.assertNotIn(ENTER, lead.typed())
        lead.revoke("dialog")
        self.delivered(1)
        text, = wait_for("it is submitted", lead.submitted)
        self.assertEqual(text.count("hello"), 1)

    def test_what_a_person_types_behind_the_paste_is_left_to_the_person(self):
        lead = self.program()
        self.serve(lead.pane, payload=False, settle="1s")
        self.team.say("ada", "hello")
        wait_for("it is pasted", lambda: END in lead.typed())
        lead.type("wait!")
        self.refused("does not show what was pasted and nothing else")
        self.assertEqual(lead.events(), [])
        self.assertIn("wait!", lead.screen())
        for _ in range(4):
            lead.press("C-u")
        wait_for("it is submitted", lead.submitted)
        self.assertEqual(lead.submitted(), ["[may be a repeat] " + pointer(1).decode()])

    def test_a_paste_that_cannot_be_submitted_is_taken_back(self):
        lead = self.program()
        self.serve(lead.pane, payload=False, settle="1s")
        self.team.say("ada", "hello")
        wait_for("it is pasted", lambda: END in lead.typed())
        lead.order("run")
        self.refused("taken back")
        self.assertEqual(lead.events(), [])
        self.assertNotIn("messages of your team", lead.screen())
        lead.revoke("run")
        wait_for("it is submitted", lead.submitted)
        self.assertEqual(lead.submitted(), [pointer(1).decode()])

    def test_what_cannot_be_pasted_goes_the_next_way(self):
        lead = self.program()
        lead.order("dialog")
        path = os.path.join(str(self.folder), "out.jsonl")
        self.serve(lead.pane, via=("tmux", "file"), more="file = %s\n" % json.dumps(path))
        self.team.say("ada", "hello")
        wait_for("it is in the file", lambda: os.path.exists(path) and os.path.getsize(path))
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.loads(file.read())["attempts"], 1)
        self.assertEqual(lead.typed(), b"")


class OldScreens(Screens):
    OLD = True


if __name__ == "__main__":
    unittest.main()
