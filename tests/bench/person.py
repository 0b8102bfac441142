#!/usr/bin/env python3
"""What the console (`top`) and the page (`web`) cost at rest: memory and CPU with nothing open, with many requests, and with many
pages open in browsers.

Not a test: it judges nothing. The figures in docs/dev/performance.md come from here:

  cmake --preset release && cmake --build --preset release
  python3 -B tests/bench/person.py build/release/inbox-poller
"""

import argparse
import fcntl
import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import team as wire  # noqa: E402
from daemon import Daemon, team_toml, wait_for  # noqa: E402
from page import Page  # noqa: E402
from subjects import at_rest, cpu_quiet  # noqa: E402

AT_REST_S = 20


class Bench:
    """What Page wants of a test."""

    def __init__(self, daemon):
        self.daemon, self.stops = daemon, []

    def skipTest(self, why):  # noqa: N802
        raise SystemExit(why)


class Console:
    """`top` on a terminal of 100 by 40 that somebody looks at."""

    def __init__(self, daemon):
        self.outer, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.process = subprocess.Popen([daemon.program, "top", "--socket", daemon.socket], env=dict(daemon.env, TERM="xterm"),
                                        stdin=inner, stdout=inner, stderr=inner)
        os.close(inner)
        self.drawn = b""
        threading.Thread(target=self.look, daemon=True).start()

    def look(self):
        while True:
            try:
                self.drawn += os.read(self.outer, 65536)
            except OSError:  # it has left
                return

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        os.close(self.outer)


def told(name, pid):
    cpu_quiet(pid)
    spent, size = at_rest(pid, AT_REST_S)
    print("%-28s %6.1f MB   %7.1f ms CPU a minute" % (name, size / 2**20, spent * 1000), flush=True)


def look_on(pages):
    for one in pages:
        threading.Thread(target=lambda one=one: [None for _ in one.answer], daemon=True).start()


def measure(program, folder, requests, pages):
    team = wire.Team(folder / "teams", "demo", ("ada", "bob"), wire.ERA2)
    limits = "[limits]\npending_per_worker = %d\n" % max(requests, 1)
    daemon = Daemon(os.path.abspath(program), folder, team_toml(team, poll="500ms", timeout="10h", more=limits)).start()
    bench = Bench(daemon)
    try:
        for n in range(requests):
            command = "cd src/part%d && make -j2 target-%d && git push origin work-%d" % (n, n, n)
            team.say("ada", wire.permission_request("ada", "Bash", {"command": command}, "perm-%d" % n))
        wait_for("all are open", lambda: len(daemon.ask("pending")["requests"]) == requests, 300, pause=1)
        console = Console(daemon)
        bench.stops.append(console.stop)
        wait_for("it is drawn", lambda: b"1:requests" in console.drawn, 30)
        told("console, %d requests" % requests, console.process.pid)
        page = Page(bench)
        page.enter()
        for count, more in ((1, 1), (pages, pages - 1)):
            look_on([page.events() for _ in range(more)])
            told("page, %d requests, %d open" % (requests, count), page.process.pid)
        told("daemon beside them", daemon.process.pid)
    finally:
        for stop in reversed(bench.stops):
            stop()
        daemon.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--requests", type=int, nargs="*", default=[0, 1000])
    parser.add_argument("--pages", type=int, default=100)
    arguments = parser.parse_args()
    for requests in arguments.requests:
        with tempfile.TemporaryDirectory(prefix="ip-") as folder:
            measure(arguments.program, pathlib.Path(folder), requests, arguments.pages)


if __name__ == "__main__":
    main()
