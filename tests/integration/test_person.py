"""A person at a terminal: what `pending --watch` takes for a key and what it does not, the terminal afterwards, and lines that fit."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

import team as wire
from case import ProcessTest
from console import ConsoleTest, cells
from daemon import wait_for


class Person(ConsoleTest):
    """The same console as `top`, opened on the requests."""

    def watch(self, *words, **how):
        self.begin("pending", "--watch", *words, **how)

    def work(self):
        self.worker = self.start_worker(self.team, "ada")

    def request(self, command="make deploy"):
        request = self.worker.ask("permission", tool="Bash", input={"command": command})
        self.pending_id(request)
        return request

    def test_approve_by_key_tells_the_result_and_who_it_was(self):
        self.work()
        request = self.request()
        self.watch()
        self.shows("[1:requests 1]", "> " + request, "a approve")
        self.answer_by("a", "permission " + request, "| make deploy", "denied in", "y yes, n no")
        self.answer_by("y", "approved: Bash: make deploy of ada", "nothing is waiting for an answer")
        self.assertEqual(self.answer(self.worker, request)["event"], "ran")
        self.assertEqual(self.states()[request], ("approved", "carol"))
        self.press("q")
        self.left()
        listed = self.daemon.cli("decisions").stdout
        self.assertRegex(listed, r"demo +permission +%s +ada +Bash: make deploy +approved +carol" % request)
        self.daemon.cli("decisions", "--asker", "nobody", expect=4)

    def test_always_adds_a_rule_and_says_which(self):
        self.work()
        request = self.request("make test")
        self.watch(columns=160)
        self.shows("> " + request)
        self.answer_by("A", "from now on in this session: Bash(make test)", "and always what the rule covers?")
        self.answer_by("y", "approved: ", "from now on: Bash(make test)")
        again = self.worker.ask("permission", tool="Bash", input={"command": "make test"})
        self.assertEqual(self.answer(self.worker, again)["event"], "ran")

    def test_deny_sends_the_reason_and_escape_sends_nothing(self):
        self.work()
        request = self.request()
        self.watch()
        self.shows("> " + request)
        self.answer_by("D", "reason (Enter goes on, Escape cancels)")
        self.type("no, q and a are letters here: é")
        self.shows("q and a are letters here: é_")
        self.press("M-q")  # with Alt it is neither Escape nor that key
        self.press("C-u")
        self.shows("cancels): _")
        self.press("Escape")
        self.shows("nothing was sent", "> " + request)
        self.answer_by("D", "reason (")
        self.press("Enter")
        self.shows("say what to do instead")
        self.type("not on a Fridayy")
        self.press("BSpace")
        self.press("Enter")
        self.shows("the reason: not on a Friday", "deny permission %s?" % request)
        self.answer_by("y", "denied: Bash: make deploy of ada")
        event = self.answer(self.worker, request)
        self.assertEqual(event["event"], "refused")
        self.assertIn("not on a Friday", event["error"])

    def test_next_and_previous_show_all_of_a_request_and_a_key_holds_for_what_is_shown(self):
        for number in range(3):
            self.asked(number, "make step%d" % number)
        self.watch()
        self.shows("[1:requests 3]", "> perm-0")
        self.press("Enter")
        self.shows("permission perm-0", "| make step0")
        self.press("n")
        self.shows("permission perm-1", "| make step1")
        self.answer_by("a", "approve permission perm-1?")
        self.answer_by("y", "approved: Bash: make step1")
        self.assertEqual([self.is_open(n) for n in range(3)], [True, False, True])
        self.answer_by("Enter", "permission perm-2")  # the list may still show the one that was approved
        self.press("n")
        self.shows("there is none behind it")
        self.press("p")
        self.shows("permission perm-0")

    def test_keys_typed_before_the_request_was_on_the_screen_are_thrown_away(self):
        self.watch("--team", "demo")
        self.shows("nothing is waiting for an answer")
        program = self.stop_with(signal.SIGSTOP, "T")
        self.press("a", "y", "a", "y")  # they wait in the terminal
        self.asked(1, "make one")
        self.continue_it(program)
        self.shows("> perm-1")
        self.has_read_all()
        self.asked(2, "make two")
        self.shows("[1:requests 2]")
        self.press("j", "y", "a")  # typed for a row that was not selected yet
        self.shows("> perm-2", "too soon")
        self.assertEqual(self.states(), {})
        self.answer_by("a", "approve permission perm-2?")
        self.answer_by("y", "approved: Bash: make two")

    def test_when_somebody_else_is_faster_it_tells_who_and_takes_no_answer(self):
        for number in range(4):
            self.asked(number, "make step%d" % number)
        self.watch()
        self.shows("> perm-0")
        self.press("Enter")
        self.shows("| make step0")
        self.daemon.cli("deny", "perm-0", "--by", "bob", "--reason", "no deployments")
        self.shows("permission perm-0 is denied by bob", "no deployments", "| make step0")
        self.answer_by("a", "it is not open any more")
        self.press("n")
        self.shows("permission perm-1", "| make step1")
        self.answer_by("D", "reason (")
        self.type("please")
        self.daemon.cli("approve", "perm-1", "--by", "bob")
        self.shows("permission perm-1 is approved by bob", "the reason will not be sent")
        self.type(" ask bob, naq")
        self.press("Enter")
        self.shows("it is not open any more: nothing was done")
        self.press("Escape")
        self.shows("> perm-2")
        self.answer_by("a", "approve permission perm-2?")
        self.daemon.cli("deny", "perm-2", "--by", "bob", "--reason", "no")
        self.shows("permission perm-2 is denied by bob", "nothing was done", "> perm-3")
        self.daemon.cli("deny", "perm-3", "--by", "bob", "--reason", "no")
        self.shows("permission perm-3 is denied by bob", "nothing is waiting for an answer")
        self.assertEqual({by for _, by in self.states().values()}, {"bob"})

    def test_the_options_choose_what_is_listed(self):
        self.asked(1, "make one")
        self.team.say("bob", wire.permission_request("bob", "Bash", {"command": "make two"}, "perm-2"))
        self.pending_id("perm-2")
        self.watch("--member", "bob", "--kind", "permission", "--since", "10min")
        self.shows("[1:requests 1]", "> perm-2")
        self.asked(3, "make three")
        self.has_read_all()
        self.assertNotIn("perm-3", self.screen())

    def test_every_line_of_a_wide_request_comes_to_a_narrow_screen_and_a_tiny_one_takes_no_key(self):
        self.asked(1, "make " + "漢" * 100 + " end")
        self.watch(rows=12, columns=34)
        self.shows("[1:requests 1")
        self.press("Enter")
        self.shows("permission perm-1")
        seen = self.screen()
        for _ in range(40):
            if "  asked 20" in self.screen():
                break
            before = self.screen()
            self.press("j")
            wait_for("more of it", lambda before=before: self.screen() != before)
            self.assertLessEqual(max(map(cells, self.screen().splitlines())), 34)
            seen += self.screen()
        self.assertGreaterEqual(seen.count("漢"), 100)
        self.press("Escape")
        self.answer_by("a", "approve permission perm-1?")
        self.tmux.run("resize-window", "-t", self.pane, "-x", "20", "-y", "4")
        self.shows("too small")
        self.press("y")
        self.tmux.run("resize-window", "-t", self.pane, "-x", "100", "-y", "24")
        self.shows("approve permission perm-1?")
        self.press("n")
        self.shows("nothing was done")
        self.assertTrue(self.is_open(1))

    def test_the_terminal_is_restored_on_every_way_out(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, None):
            with self.subTest(signal=number):
                self.watch()
                self.shows("nothing is waiting")
                self.assertFalse(self.is_restored())
                if number is None:
                    self.press("C-c")
                else:
                    os.kill(self.process(), number)
                self.left()

    def stopped_with_a_key_for_the_shell(self):
        program = self.stop_with(signal.SIGTSTP, "T")
        self.assertTrue(self.is_restored())
        self.type("ayay")  # typed at the shell
        self.shows("ayay")  # its echo: a terminal passes bytes on later
        return program

    def test_it_can_be_stopped_and_goes_on_where_it_was_and_what_the_shell_was_told_is_no_key(self):
        self.asked(1, "make one")
        self.watch()
        self.shows("> perm-1")
        self.continue_it(self.stopped_with_a_key_for_the_shell())
        self.shows("> perm-1")
        self.has_read_all()
        self.assertTrue(self.is_open(1))
        self.answer_by("a", "approve permission perm-1?")
        self.answer_by("y", "approved: Bash: make one")
        self.press("q")
        self.left()
        self.asked(2, "make two")
        self.begin("top", "--no-confirm")
        self.shows("make two")
        self.press("Enter")
        self.shows("| make two")
        time.sleep(0.6)  # clock: a person who reads first; from now on one key approves, and more time does no harm
        self.continue_it(self.stopped_with_a_key_for_the_shell())
        self.shows("| make two")
        self.has_read_all()
        self.assertTrue(self.is_open(2))

    def test_pasted_text_is_no_keys(self):
        self.asked(1, "make one")
        self.watch()
        self.shows("> perm-1")
        time.sleep(0.6)  # clock: a person who reads first; from now on keys count, and more time does no harm
        self.tmux.run("set-buffer", "ayq")
        self.tmux.run("paste-buffer", "-p", "-t", self.pane)
        self.shows("pasted text is not taken for keys")
        self.answer_by("D", "reason (")
        self.tmux.run("paste-buffer", "-p", "-t", self.pane)
        self.shows("cancels): ayq_")
        self.assertTrue(self.is_open(1))

    def test_without_a_terminal_it_is_refused_and_names_what_a_program_uses(self):
        self.assertIn("pending --json", self.daemon.cli("pending", "--watch", expect=2).stderr)


class Narrow(ProcessTest):
    """What is printed on a terminal fits it, cell by cell; what goes into a pipe is one line a row, as ever."""

    def shown(self, columns, *arguments):
        """What the command prints on a terminal of this width, without colors."""
        outer, inner = pty.openpty()
        try:
            fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            process = subprocess.Popen([self.daemon.program, *arguments], env=dict(self.daemon.env, TERM="xterm"), stdin=subprocess.DEVNULL,
                                       stdout=inner, stderr=subprocess.PIPE, text=True)
            said = b""
            while process.poll() is None or select.select([outer], [], [], 0)[0]:
                if select.select([outer], [], [], 0.05)[0]:
                    said += os.read(outer, 65536)
            with process.stderr:
                self.assertEqual((process.returncode, process.stderr.read()), (0, ""))
        finally:
            os.close(outer)
            os.close(inner)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode()).replace("\r\n", "\n")

    def test_rules_pending_check_config_and_status_fit_the_terminal_and_leave_nothing_out(self):
        team = self.make_team()
        self.start_daemon(team)
        socket = ["--socket", self.daemon.socket]
        configs = [part for path in self.daemon.configs for part in ("--config", path)]
        rule = "Bash(npm run test:integration -- --filter 'a name that takes more than one line of eighty columns' *)"
        self.daemon.cli("allow", rule)
        request = self.start_worker(team, "ada").ask("permission", tool="Bash", input={"command": "make " + "word " * 60})
        self.pending_id(request)
        for command in (["rules", *socket], ["pending", *socket], ["status", *socket], ["check-config", *configs, "--daemon-config", self.daemon.daemon_file]):
            with self.subTest(command[0]):
                piped = subprocess.run([self.daemon.program, *command], env=self.daemon.env, capture_output=True, text=True, check=True).stdout
                self.assertGreater(max(map(len, piped.splitlines())), 80, "the test needs a long line")
                for columns in (80, 60):
                    lines = self.shown(columns, *command).splitlines()
                    long = [line for line in lines if len(line) > columns and not line.startswith("    inbox-poller ")]
                    self.assertEqual(long, [], "wider than %d" % columns)
        whole = re.sub(r"\s", "", self.shown(80, "rules", *socket))
        for word in rule.split():
            self.assertIn(word[:8], whole)


if __name__ == "__main__":
    unittest.main()
