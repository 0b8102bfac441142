"""`inbox-poller top` in a real terminal (tmux): what stays selected, what asks back, what is answered, and at which size."""

import re
import shlex
import time
import unittest

import team as wire
from console import ConsoleTest, cells
from daemon import wait_for


class Console(ConsoleTest):
    def test_a_request_is_answered_once_by_whoever_said_yes_to_what_would_run(self):
        self.begin()
        self.shows("nothing is waiting for an answer")
        for number, command in enumerate(("make deploy", "ls -l")):
            self.ask(number, command)
            self.pending_id("perm-%d" % number)
        self.shows("> perm-0", "Bash: ls -l")  # by itself
        self.press("j")
        self.shows("> perm-1")
        self.answer_by("a", "| ls -l", "approve permission perm-1?")
        self.press("n")
        self.shows("nothing was done", "> perm-1")
        self.answer_by("a", "approve permission perm-1?")
        self.answer_by("y", "approved: Bash: ls -l of ada", "[1:requests 1]")
        self.assertEqual(self.states(), {"perm-1": ("approved", "carol")})
        self.answer_by("d", "deny permission perm-0?")
        self.daemon.cli("deny", "perm-0", "--by", "bob", "--reason", "not today")
        self.shows("nothing was done", "nothing is waiting")
        self.press("y", "5")
        self.shows("[5:log]", "bob")
        self.assertEqual(self.states()["perm-0"], ("denied", "bob"))
        self.press("q")
        self.shows("left 0")
        self.assertNotIn("[5:log]", self.screen())

    def test_the_selection_stays_while_rows_come_in_above_it(self):
        for number in range(3):
            self.ask(number, "echo %d" % number)  # a rule of the team answers these
        wait_for("they are decided", lambda: len(self.states()) == 3)
        self.begin()
        self.press("5")
        self.shows("Bash: echo 2")
        self.press("j", "j")
        wait_for("the third row", lambda: "echo 0" in self.selected())
        for number in range(3, 33):
            self.ask(number, "echo %d" % number)
        wait_for("they are decided", lambda: len(self.states()) == 33)
        self.press("k")  # not onto the first row, also when the console has not asked again yet: who stands there goes on to the newest
        wait_for("the one above it is still its neighbor", lambda: "echo 1" in self.selected())
        self.press("g")
        wait_for("the newest", lambda: "echo 32" in self.selected())
        self.ask(33, "echo 33")
        wait_for("who looks at the newest sees the next one", lambda: "echo 33" in self.selected())
        self.press("G")
        wait_for("the last row", lambda: "echo 0" in self.selected())

    def test_keys_typed_in_a_hurry_answer_nothing(self):
        self.ask(1, "make one")
        self.pending_id("perm-1")
        self.begin()
        self.shows("> perm-1")
        time.sleep(0.6)  # clock: a person who reads first; the first key then counts, and more time does no harm
        self.press("a", "y", "y", "y")
        self.shows("too soon", "approve permission perm-1?")
        self.press("Escape")
        self.shows("nothing was done")
        self.press("Enter", "a", "y", "a")
        self.shows("too soon", "| make one")
        self.assertEqual(self.states(), {})
        self.assertIn("perm-1", [a["request_id"] for a in self.daemon.ask("pending")["requests"]])

    def test_a_long_or_hostile_command_is_seen_to_its_end_on_a_small_screen_first(self):
        for number, command in enumerate(("make 漢字漢字漢字漢字漢字漢字 → ok", "\x1b[2J\x1b]0;owned\x07\u202e ls",
                                          "".join("make %d\n" % n for n in range(1, 31)) + "dd if=/dev/zero")):
            self.ask(number, command)
            self.pending_id("perm-%d" % number)
        self.begin()
        written = self.folder / "written"
        self.tmux.run("pipe-pane", "-t", self.pane, "cat > " + shlex.quote(str(written)))
        self.tmux.run("resize-window", "-t", self.pane, "-x", "60", "-y", "8")
        shown = self.shows("> perm-0", "漢字", "perm-1", "quit")
        self.assertLessEqual(max(map(cells, shown.splitlines())), 60)
        self.assertLessEqual(len(shown.splitlines()), 8)
        self.press("j")
        self.shows("> perm-1")
        self.press("Enter")
        self.shows("permission perm-1  team")
        self.press("Escape")
        self.shows("> perm-1")
        self.press("G")
        self.shows("> perm-2")
        self.answer_by("a", "approve permission perm-2?", "lines 1 to")
        self.answer_by("y", "not all of it was shown")
        self.shown_to_its_end()
        self.answer_by("y", "approved: Bash: make 1")
        self.assertEqual(self.states(), {"perm-2": ("approved", "carol")})
        raw = written.read_bytes()
        self.assertIn("漢字".encode(), raw)
        self.assertNotIn(b"\x1b]0", raw)
        self.assertNotIn("\u202e".encode(), raw)

    def test_each_key_does_at_every_width_what_the_help_says(self):
        for number in range(30):
            self.ask(number, "make same" if number % 10 == 0 else "make %d" % number)
            self.pending_id("perm-%d" % number)
        self.team.say("bob", "the tests are green")
        self.begin()
        for columns in (60, 80, 200):
            with self.subTest(columns=columns):
                self.tmux.run("resize-window", "-t", self.pane, "-x", str(columns), "-y", "12")
                self.press("1", "g")
                self.shows("[1:requests 30]", "> perm-0", "quit")
                self.keys_of_lists()
                self.keys_of_pages()
                self.assertLessEqual(max(map(cells, self.screen().splitlines())), columns)
        for number in (0, 10, 20):  # the same command; alike is what one rule covers
            self.assertTrue(self.is_open(number))
        self.press("=")
        self.shows("3 open requests here are covered by Bash(make same) and marked", ">*perm-0")
        self.press("Escape")
        self.shows("> perm-0")
        self.press("=")
        self.shows("and marked")
        self.answer_by("a", "approve these 3 requests?")
        self.shown_to_its_end()
        self.answer_by("y", "3 answered", "[1:requests 27]")
        self.assertEqual(self.states(), {"perm-%d" % n: ("approved", "carol") for n in (0, 10, 20)})

    def shown_to_its_end(self):
        """Space, until the last line is there: "lines 9 to 20 of 20", or nothing where all of it is."""
        place = lambda: re.search(r"lines \d+ to (\d+) of (\d+)", self.screen())  # noqa: E731
        while (now := place()) and now[1] != now[2]:
            self.press("Space")
            wait_for("more of it", lambda now=now: (place() or now)[0] != now[0])

    def keys_of_lists(self):
        at = lambda name: wait_for(name + " is selected", lambda: name in self.selected().split())  # noqa: E731
        for key, name in (("j", "perm-1"), ("Down", "perm-2"), ("k", "perm-1"), ("Up", "perm-0"), ("NPage", "perm-10"), ("PPage", "perm-0"),
                          ("End", "perm-29"), ("Home", "perm-0"), ("G", "perm-29"), ("g", "perm-0")):
            self.press(key)
            at(name)
        self.press("Space")
        self.shows(" *perm-0", "> perm-1")
        self.press("Escape")
        self.shows("  perm-0", "> perm-1")
        self.press("/")
        self.type("make 29")
        self.press("Enter")
        at("perm-29")
        self.press("Escape")
        self.shows("perm-28")
        self.press("g", "Enter")
        self.shows("permission perm-0 ")
        self.press("Left")
        at("perm-0")

    def keys_of_pages(self):
        for keys, page in ((("Tab",), "[2:teams]"), (("l",), "[3:workers]"), (("Right",), "[4:chat]"), (("5",), "[5:log]"), (("h",), "[4:chat]"),
                           (("Left",), "[3:workers]"), (("2",), "[2:teams]"), (("1",), "[1:requests")):
            self.press(*keys)
            self.shows(page)
        self.has_read_all()

    def test_pages_filter_and_a_daemon_that_comes_back(self):
        self.ask(1, "make one")
        self.pending_id("perm-1")
        self.team.say("bob", "the tests are green")
        self.begin(environment=("LC_ALL=C.UTF-8", "NO_COLOR=1"))
        for key, parts in (("2", ("[2:teams]", "demo", "idle")), ("3", ("[3:workers]", "bob")), ("4", ("[4:chat]", "the tests are green"))):
            self.press(key)
            self.shows(*parts)
        self.press("1")
        self.press("/", "z", "z")
        self.shows('none of 1 holds "zz"')
        self.press("Escape")
        self.shows("> perm-1")
        self.assertIsNone(re.search("\x1b\\[[0-9;]*3[0-7]m", self.tmux.run("capture-pane", "-e", "-p", "-t", self.pane)))
        self.daemon.kill()
        self.shows("no daemon answers")
        self.answer_by("a", "nothing was done")
        self.daemon.start()
        wait_for("it is found", lambda: "no daemon answers" not in self.screen())
        self.answer_by("A", "from now on in this session: Bash(make one)", "approve permission perm-1, and always")
        self.answer_by("y", "from now on: Bash(make one)")
        self.assertEqual(self.states(), {"perm-1": ("approved", "carol")})

    def mouse(self, row, column, button=0):
        """What a terminal sends for a press, and for its end: 0 is the left button, 64 and 65 are the wheel."""
        for code in (button, 3) if button == 0 else (button,):
            self.tmux.run("send-keys", "-t", self.pane, "-H", *("%x" % byte for byte in b"\x1b[M" + bytes((32 + code, 33 + column, 33 + row))))

    def test_the_mouse_selects_and_opens_and_a_wide_screen_shows_all_of_the_row(self):
        for number, command in enumerate(("make one", "make two", "make three")):
            self.asked(number, command)
        wire.append(self.team.lead_inbox, wire.entry("bob", wire.stringify(wire.idle_notification("bob", "failed", "it broke"))))
        self.begin(columns=140)
        shown = self.shows("> perm-0", "1 failed", "1 team, ", "unless answered", "| make one")
        colors = self.tmux.run("capture-pane", "-e", "-p", "-t", self.pane).splitlines()
        self.assertRegex(colors[1], "\x1b\\[[0-9;]*31m")  # trouble
        row = next(number for number, line in enumerate(shown.splitlines()) if "  perm-1" in line)
        self.mouse(row, 10)
        self.shows("> perm-1", "| make two")
        self.mouse(row, 10, 65)
        self.shows("> perm-2", "| make three")
        self.mouse(row, 10, 64)
        self.shows("> perm-1")
        self.mouse(row, 10)
        self.shows("permission perm-1  team demo", "Escape back")
        self.press("Escape")
        self.shows("> perm-1")
        self.mouse(0, 20)
        self.shows("[2:teams]")
        self.tmux.run("resize-window", "-t", self.pane, "-x", "100", "-y", "20")
        self.mouse(0, 1)
        wait_for("the list alone", lambda: "[1:requests 3]" in self.screen() and "| make two" not in self.screen())
        self.assertEqual(self.states(), {})
        self.press("q")
        self.left()

    def test_without_a_terminal_it_is_refused_and_an_unknown_one_is_named(self):
        self.assertIn("pending --json", self.daemon.cli("top", expect=2).stderr)
        pane = self.tmux.start("sh", "-c", "TERM=no-such-thing %s top --socket %s; sleep 300" % (
            shlex.quote(self.daemon.program), shlex.quote(self.daemon.socket)))
        wait_for("it says so", lambda: '"no-such-thing" (TERM)' in self.tmux.run("capture-pane", "-J", "-p", "-t", pane))


if __name__ == "__main__":
    unittest.main()
