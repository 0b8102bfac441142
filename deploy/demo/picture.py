#!/usr/bin/env python3
"""Draws what a terminal shows as SVG: the picture of the demo in README.md.

picture.py --program build/release/inbox-poller > docs/pictures/demo.svg     runs the demo in a terminal of its own, and draws
picture.py < recording > picture.svg                                          draws what was recorded before
--chapters 1-3 chooses chapters; escape sequences other than colors are dropped.
"""

import argparse
import os
import pathlib
import pty
import re
import subprocess
import sys
from xml.sax.saxutils import escape

COLUMNS, CELL, ROW = 118, 7.8, 17
STYLES = {"1": "b", "2": "d", "32": "g", "36": "c", "31": "r"}
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" role="img">
<title>%s</title>
<style>text { fill: #d0d7de; white-space: pre } .b { fill: #ffffff; font-weight: 600 } .d { fill: #8b949e } .g { fill: #3fb950 } .c { fill: #58a6ff } .r { fill: #f85149 }</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
"""
COLOR = re.compile(r"\x1b\[([0-9;]*)m")
OTHER = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[^\[])|[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f]")


def recorded(program):
    """All that the demo writes to a terminal."""
    outer, inner = pty.openpty()
    demo = pathlib.Path(__file__).with_name("demo.py")
    process = subprocess.Popen([sys.executable, "-B", str(demo), "--program", program, "--fast"], stdin=subprocess.DEVNULL, stdout=inner,
                               stderr=inner, env={k: v for k, v in os.environ.items() if k != "NO_COLOR"})
    os.close(inner)
    said = []
    while True:
        try:
            part = os.read(outer, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        said.append(part)
    os.close(outer)
    if process.wait() != 0:
        raise SystemExit(b"".join(said).decode("utf-8", "replace") + "\nthe demo failed")
    return b"".join(said).decode("utf-8")


def chapters(text, first, last):
    """The lines of these chapters; a chapter begins with its number."""
    lines, number = [], 0
    for line in text.replace("\r", "").split("\n"):
        head = re.match(r"\s*(\d+)\. ", COLOR.sub("", line))
        number = int(head[1]) if head and int(head[1]) == number + 1 else number
        if first <= number <= last:
            lines.append(line)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def spans(line):
    """(style, text) of a line, cut to the width of the terminal."""
    style, room = "", COLUMNS
    parts = COLOR.split(line)
    for place, part in enumerate(parts):
        if place % 2:
            style = STYLES.get(part, "")
            continue
        text = OTHER.sub("", part)[:room]
        room -= len(text)
        if text:
            yield style, text


def drawn(lines, title):
    out = [HEAD % (COLUMNS * CELL + 30, len(lines) * ROW + 26, escape(title))]
    for row, line in enumerate(lines):
        cells = "".join('<tspan class="%s">%s</tspan>' % (style, escape(text)) if style else escape(text) for style, text in spans(line))
        if cells:
            out.append('<text x="15" y="%d" xml:space="preserve">%s</text>\n' % (row * ROW + 25, cells))
    return "".join(out) + "</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", help="the inbox-poller to show; without it a recording is read")
    parser.add_argument("--chapters", default="1-3", metavar="FIRST-LAST")
    options = parser.parse_args()
    first, last = (int(number) for number in options.chapters.split("-"))
    text = recorded(os.path.abspath(options.program)) if options.program else sys.stdin.read()
    lines = chapters(re.sub(r"(inbox-poller-demo)-\w+", r"\1", text), first, last)
    if not lines:
        raise SystemExit("there is no such chapter")
    sys.stdout.write(drawn(lines, "inbox-poller demo, chapters %s" % options.chapters))


if __name__ == "__main__":
    main()
