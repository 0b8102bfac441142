#!/usr/bin/env python3
"""A stand-in for an interactive client in a terminal pane: pane_program.py FILE [--old] [--no-brackets].

It draws what unmodified clients draw (tests/fixtures/screens) and does with keys what they do:
  composer    what is pasted stands in it, from three line ends on as "[Pasted text #1 +3 lines]"; Enter submits all that stands there,
              whoever typed it; C-u erases the row up to its beginning, backspace one sign
  turn        after each submission for a moment, or while FILE.run exists; what is submitted then is queued
  dialog      while FILE.dialog exists: Enter answers it with yes, Escape with no; what is pasted goes nowhere
  list, transcript   while FILE.menu, FILE.transcript exist; Enter chooses
  dialog_on_paste    is made into a dialog as soon as something is pasted, as when a request of a worker comes in that moment
Without --old as 2.1.329 and 2.1.330: on the alternate screen, the composer at its bottom, the cursor in it. With it as 2.1.50: from the
top, the cursor parked below, a suggestion in the empty composer, and C-u stops at the beginning of a line.

Every byte that reaches it is kept in FILE; FILE.log has a JSON line for each submission, approval, denial and choice. FILE.above is
drawn above the composer (what others wrote). Ends by itself after some minutes. Python 3.9 or newer, standard library only.
"""

import json
import os
import re
import select
import signal
import sys
import time
import tty

signal.alarm(300)
PATH = sys.argv[1]
OLD, BRACKETS = "--old" in sys.argv, "--no-brackets" not in sys.argv
START, END = b"\x1b[200~", b"\x1b[201~"
MARK = "\u276f\u00a0"


def order(name):
    return os.path.exists(PATH + "." + name)


class Client:
    def __init__(self):
        tty.setraw(0)
        self.out = os.open(PATH, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.log_file = open(PATH + ".log", "a", encoding="utf-8")
        self.text = []  # characters, and pasted texts as (sign, whole)
        self.pastes = 0
        self.pasting = None
        self.turn_ends = 0.0
        self.pending = b""
        self.drawn = None

    def log(self, event, **fields):
        self.log_file.write(json.dumps(dict(event=event, **fields)) + "\n")
        self.log_file.flush()

    def shown(self):
        return "".join(part if isinstance(part, str) else part[0] for part in self.text)

    # --- the screen ---

    def state(self):
        for name in ("dialog", "menu", "transcript"):
            if order(name):
                return name
        # clock: the length of a fake client's turn; nothing is judged by it
        return "running" if order("run") or time.monotonic() < self.turn_ends else "idle"

    def composer(self, width, state):
        """Rows, and where the cursor stands in them."""
        rule = "\x1b[38;5;244m" + "\u2500" * width + "\x1b[39m"
        mark = "\x1b[38;5;246m" + MARK + "\x1b[39m" if state == "running" else MARK
        if not self.text:
            suggestion = "\x1b[7mT\x1b[0;2mry\x1b[0m \x1b[2m\"fix it\"\x1b[0m" if OLD and state == "idle" else "\x1b[7m \x1b[0m"
            return [rule, mark + suggestion, rule], (2, 1)
        rows = []
        for line in self.shown().split("\n"):
            rows += [line[i:i + width - 3] for i in range(0, len(line), width - 3)] or [""]
        cursor = (2 + len(rows[-1]), len(rows))
        rows[-1] += "\x1b[7m \x1b[0m"
        return [rule, mark + rows[0]] + ["  " + row for row in rows[1:]] + [rule], cursor

    def rows(self, width, state):
        above = open(PATH + ".above", encoding="utf-8").read().split("\n") if order("above") else []
        head = ["", " stand-in, ready", ""] + above + [""]
        if state == "dialog":
            return head + ["\u2500" * width, " Bash command", "", "   mkdir x", "", " Do you want to proceed?", " \u276f 1. Yes", "   2. No", "",
                           " Esc to cancel \u00b7 Tab to amend"], (1, len(head) + 6)
        if state == "menu":
            return head + ["\u2500" * width, " Select model", "", " \u276f 1. Default", "   2. Other", "", " Enter to confirm \u00b7 Esc to exit"], (1, 9)
        if state == "transcript":
            return head + ["\u2500" * width, "  Showing detailed transcript \u00b7 ctrl+o to toggle"], (0, len(head) + 1)
        if state == "running":
            head += ["\x1b[38;5;174m\u273b\x1b[39m Thinking\u2026", ""]
        rows, (column, row) = self.composer(width, state)
        hints = "  esc to interrupt" if state == "running" and not self.text else "  ? for shortcuts"
        return head + rows + [hints], (column, len(head) + row)

    def draw(self):
        width, height = os.get_terminal_size(0)
        rows, (column, row) = self.rows(width, self.state())
        if OLD:
            picture = "\x1b[H\x1b[2J" + "\r\n".join(rows[:height - 1]) + "\r\n"
        else:
            cut = max(0, len(rows) - height)
            rows, row = rows[cut:], row - cut
            empty = height - len(rows)
            rows, row = rows[:3 - cut if cut < 3 else 0] + [""] * empty + rows[3 - cut if cut < 3 else 0:], row + empty
            picture = "\x1b[H\x1b[2J" + "\r\n".join(rows) + "\x1b[%d;%dH" % (row + 1, column + 1)
        if picture != self.drawn:
            self.drawn = picture
            data = ("\x1b[?25l" + picture).encode()
            while data:
                data = data[os.write(1, data):]

    # --- keys ---

    def paste(self, text):
        if order("dialog_on_paste"):
            os.rename(PATH + ".dialog_on_paste", PATH + ".dialog")
        elif self.state() in ("idle", "running"):
            text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
            lines = text.count("\n")
            if lines > 2 or len(text) > 800:
                self.pastes += 1
                self.text.append(("[Pasted text #%d%s]" % (self.pastes, " +%d lines" % lines if lines else ""), text))
            else:
                self.text += text

    def enter(self):
        state = self.state()
        if state in ("dialog", "menu"):
            os.unlink(PATH + "." + state)
            return self.log("approved" if state == "dialog" else "chosen")
        if state != "transcript" and self.text:
            self.log("submitted", text="".join(part if isinstance(part, str) else part[1] for part in self.text), queued=state == "running")
            self.text = []
            self.turn_ends = time.monotonic() + 0.1  # clock: the length of a fake client's turn; nothing is judged by it

    def key(self, c):
        if c == "\r":
            return self.enter()
        if c == "\x1b" and order("dialog"):
            os.unlink(PATH + ".dialog")
            return self.log("denied")
        if self.state() not in ("idle", "running"):
            return None
        if c == "\x7f":
            self.text = self.text[:-1]
        elif c == "\x15":
            if not OLD and self.text[-1:] == ["\n"]:
                self.text.pop()
            row = os.get_terminal_size(0)[0] - 3
            line = len("".join(part if isinstance(part, str) else part[0] for part in self.text).split("\n")[-1])
            gone = line % row or min(line, row)
            while gone > 0:
                part = self.text.pop()
                gone -= len(part if isinstance(part, str) else part[0])
        elif c == "\n" or c >= " ":
            self.text.append(c)
        return None

    def take(self, data):
        os.write(self.out, data)
        data = self.pending + data
        self.pending = b""
        while data:
            if data.startswith(START) and BRACKETS:
                end = data.find(END)
                if end < 0:
                    self.pending = data
                    return
                self.paste(data[len(START):end].decode("utf-8", "replace"))
                data = data[end + len(END):]
            elif START.startswith(data[:6]) and len(data) > 1 and len(data) < 6:
                self.pending = data
                return
            else:
                size = len(re.match(rb"[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*|.", data, re.S).group())
                self.key(data[:size].decode("utf-8", "replace"))
                data = data[size:]

    def run(self):
        os.write(1, (b"" if OLD else b"\x1b[?1049h") + (b"\x1b[?2004h" if BRACKETS else b""))
        while True:
            self.draw()
            if select.select([0], [], [], 0.01)[0]:
                data = os.read(0, 65536)
                if not data:
                    return
                self.take(data)


Client().run()
