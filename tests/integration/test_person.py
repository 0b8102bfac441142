"""A person at a terminal: `pending --watch` with its keys, what it does not take for a key, and the terminal afterwards."""

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

from case import ProcessTest
from daemon import wait_for


class Watching:
    """`inbox-poller pending --watch` on a pseudo-terminal of its own."""

    def __init__(self, test, rows=24, columns=80):
        self.outer, self.inner = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.inner)
        env = dict(test.daemon.env, USER="carol", TERM="xterm")
        self.process = subprocess.Popen([test.daemon.program, "pending", "--watch", "--socket", test.daemon.socket], env=env,
                                        stdin=self.inner, stdout=self.inner, stderr=self.inner, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.bytes = b""
        test.stops.append(self.stop)

    def resize(self, rows, columns):
        fcntl.ioctl(self.inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self.outer], [], [], 0)[0]:
            self.bytes += os.read(self.outer, 65536)
        return self.bytes

    def screen(self):
        """What was drawn last, without colours."""
        whole = self.read().decode("utf-8", "replace")
        drawn = whole.rpartition("\x1b[J")[0].rpartition("\x1b[H")[2]
        return re.sub(r"\r+\n", "\n", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn))

    def shows(self, *parts, seconds=20):
        wait_for("the screen shows %r" % (parts,), lambda: all(part in self.screen() for part in parts), seconds)
        return self.screen()

    def type(self, keys):
        time.sleep(0.2)  # a person has to read first; what was typed while the frame was being drawn is thrown away
        os.write(self.outer, keys.encode())

    def is_restored(self):
        return termios.tcgetattr(self.inner) == self.before and self.read().endswith(b"\x1b[?1049l")

    def end(self, seconds=20):
        return self.process.wait(seconds)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.outer)
        os.close(self.inner)


class Person(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.start_daemon(self.team)
        self.worker = self.start_worker(self.team, "ada")

    def ask(self, command="make deploy"):
        ask = self.worker.ask("permission", tool="Bash", input={"command": command})
        self.pending_id(ask)
        return ask

    def decision(self, ask):
        return next((d for d in self.daemon.ask("decisions")["decisions"] if d["request_id"] == ask), None)

    def is_open(self, ask):
        return any(a["request_id"] == ask for a in self.daemon.ask("pending")["asks"])

    def test_approve_by_key_tells_the_result_and_who_it_was(self):
        ask = self.ask()
        watching = Watching(self)
        watching.shows("permission " + ask, "| make deploy", "1 open, this is 1", "a approve")
        watching.type("a")
        watching.shows("is approved by you")
        self.assertEqual(self.answer(self.worker, ask)["event"], "ran")
        self.assertEqual((self.decision(ask)["state"], self.decision(ask)["decided_by"]), ("approved", "carol"))
        watching.type("q")
        self.assertEqual(watching.end(), 0)
        self.assertTrue(watching.is_restored())
        listed = self.daemon.cli("decisions").stdout
        self.assertRegex(listed, r"demo +permission +%s +ada +Bash: make deploy +approved +carol" % ask)
        self.daemon.cli("decisions", "--asker", "nobody", expect=4)

    def test_always_adds_a_rule_and_says_which(self):
        ask = self.ask("make test")
        watching = Watching(self, columns=160)
        watching.shows("permission " + ask)
        watching.type("A")
        watching.shows("is approved by you", "from now on in this session: Bash(make test)")
        again = self.worker.ask("permission", tool="Bash", input={"command": "make test"})
        self.assertEqual(self.answer(self.worker, again)["event"], "ran")

    def test_deny_sends_the_reason_and_escape_sends_nothing(self):
        ask = self.ask()
        watching = Watching(self)
        watching.shows("permission " + ask)
        watching.type("d")
        watching.shows("reason (Enter denies, Escape cancels)")
        watching.type("no, q and a are letters here")
        watching.shows("q and a are letters here_")
        watching.type("\x1b")
        watching.shows("nothing was sent")
        self.assertTrue(self.is_open(ask))
        watching.type("dnot on a Friday\r")
        watching.shows("is denied by you")
        event = self.answer(self.worker, ask)
        self.assertEqual(event["event"], "refused")
        self.assertIn("not on a Friday", event["error"])

    def test_next_and_previous_go_round_and_a_key_holds_for_what_is_shown(self):
        asks = [self.ask("make step%d" % n) for n in range(3)]
        watching = Watching(self)
        watching.shows("permission " + asks[0], "3 open, this is 1")
        watching.type("n")
        watching.shows("permission " + asks[1], "| make step1")
        watching.type("a")
        watching.shows("permission %s is approved by you" % asks[1])
        self.assertEqual([self.is_open(a) for a in asks], [True, False, True])
        watching.type("p")
        watching.shows("permission " + asks[0])
        watching.type("p")
        watching.shows("permission " + asks[2])

    def test_keys_typed_before_the_ask_was_on_the_screen_are_thrown_away(self):
        watching = Watching(self)
        watching.shows("nothing is waiting for an answer")
        watching.process.send_signal(signal.SIGSTOP)
        watching.type("aaaaaa")  # they wait in the terminal
        ask = self.ask()
        watching.process.send_signal(signal.SIGCONT)
        watching.shows("permission " + ask)
        time.sleep(1.5)
        self.assertTrue(self.is_open(ask))
        second = self.ask("make other")
        watching.shows("2 open")
        watching.type("naaa")  # one burst: the a's were typed for a card that was not there yet
        watching.shows("permission " + second)
        time.sleep(0.5)
        self.assertTrue(self.is_open(ask) and self.is_open(second))
        watching.type("a")
        watching.shows("permission %s is approved by you" % second)

    def test_when_somebody_else_is_faster_it_tells_who_and_takes_no_answer(self):
        ask, second = self.ask(), self.ask("make other")
        watching = Watching(self)
        watching.shows("permission " + ask)
        self.daemon.cli("deny", ask, "--by", "bob", "--reason", "no deployments")
        watching.shows("is denied by bob", "no deployments")
        watching.type("a")
        watching.shows("it is not open any more")
        self.assertEqual(self.decision(ask)["decided_by"], "bob")
        self.assertTrue(self.is_open(second))
        watching.shows("permission " + second, seconds=20)  # by itself, after a while

    def test_a_key_pressed_before_the_screen_could_tell_gets_a_clear_answer(self):
        ask = self.ask()
        watching = Watching(self)
        watching.shows("permission " + ask)
        self.daemon.cli("deny", ask, "--by", "bob", "--reason", "no")
        watching.type("a")  # within the second until it looks again
        watching.shows("is denied by bob")
        self.assertEqual(self.answer(self.worker, ask)["event"], "refused")

    def test_what_was_not_shown_to_its_end_is_not_approved(self):
        ask = self.ask("\n".join("make %d" % n for n in range(1, 61)) + "\ndd if=/dev/zero")
        watching = Watching(self)
        shown = watching.shows("permission " + ask, "| make 1\n")
        self.assertNotIn("dd if", shown)
        watching.type("a")
        watching.shows("not all of it was shown: s")
        self.assertTrue(self.is_open(ask))
        pages = ""
        for _ in range(20):
            pages += watching.screen()
            if "  asked " in watching.screen():
                break
            before = watching.screen()
            watching.type("s")
            wait_for("another page", lambda: watching.screen() != before)
        self.assertIn("| dd if=/dev/zero", pages)
        self.assertIn("NOT COVERED  dd if=/dev/zero", pages)
        watching.type("a")
        watching.shows("is approved by you")

    def test_hostile_text_moves_nothing_on_the_screen(self):
        ask = self.ask("echo '\x1b[2J\x1b]0;owned\x07\u202e' \r\n    | fake")
        watching = Watching(self)
        shown = watching.shows("permission " + ask)
        self.assertIn("\\x1b[2J\\x1b]0;owned\\x07<U+202E>", shown)
        self.assertNotIn(b"\x1b]0", watching.bytes)
        self.assertNotIn(b"\x1b[2J", watching.bytes)

    def test_a_narrow_screen_shows_all_of_it_too_and_a_tiny_one_says_so(self):
        ask = self.ask("make " + "漢" * 100 + " end")
        watching = Watching(self, rows=12, columns=34)
        watching.shows("permission")
        seen = watching.screen()
        for _ in range(20):
            if " end\n" in seen:
                break
            watching.type("s")
            time.sleep(0.2)
            seen += watching.screen()
            self.assertLessEqual(len(watching.screen().split("\n")), 12)
        self.assertEqual(seen.count("漢") >= 100, True)
        watching.resize(4, 20)
        watching.shows("too small")
        watching.type("a")
        watching.resize(24, 80)
        watching.shows("permission " + ask)
        self.assertTrue(self.is_open(ask))

    def test_the_terminal_is_restored_on_every_way_out(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, None):
            with self.subTest(signal=number):
                watching = Watching(self)
                watching.shows("nothing is waiting")
                self.assertNotEqual(termios.tcgetattr(watching.inner), watching.before)
                if number is None:
                    watching.type("\x03")  # Ctrl-C at the keyboard
                else:
                    watching.process.send_signal(number)
                self.assertEqual(watching.end(), 0)
                self.assertTrue(watching.is_restored())

    def test_it_can_be_stopped_and_goes_on_where_it_was(self):
        ask = self.ask()
        watching = Watching(self)
        watching.shows("permission " + ask)
        watching.process.send_signal(signal.SIGTSTP)
        wait_for("the terminal is back", watching.is_restored)
        wait_for("it is stopped", lambda: os.waitid(os.P_PID, watching.process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT))
        watching.type("a")  # typed at the shell
        drawn = len(watching.read())
        watching.process.send_signal(signal.SIGCONT)
        wait_for("it is drawn again", lambda: b"permission" in watching.read()[drawn:])
        time.sleep(0.3)
        self.assertTrue(self.is_open(ask))
        watching.type("a")
        watching.shows("is approved by you")
        watching.type("q")
        self.assertEqual(watching.end(), 0)
        self.assertTrue(watching.is_restored())

    def test_a_daemon_that_goes_away_and_comes_back_is_told_and_found(self):
        ask = self.ask()
        watching = Watching(self)
        watching.shows("permission " + ask)
        self.daemon.kill()
        watching.shows("no daemon answers")
        watching.type("a")
        watching.shows("nothing was done")
        self.daemon.start()
        wait_for("it is found", lambda: "no daemon answers" not in watching.screen(), 20)
        watching.type("a")
        watching.shows("is approved by you")

    def test_without_a_terminal_it_is_refused_and_names_what_a_program_uses(self):
        refused = self.daemon.cli("pending", "--watch", expect=2)
        self.assertIn("pending --json", refused.stderr)


class Narrow(ProcessTest):
    """What is printed on a terminal fits it, cell by cell; what goes into a pipe is one line a row, as ever."""

    def shown(self, columns, *arguments):
        """What the command prints on a terminal of this width, without colours."""
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
        ask = self.start_worker(team, "ada").ask("permission", tool="Bash", input={"command": "make " + "word " * 60})
        self.pending_id(ask)
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
