#!/usr/bin/env python3
"""What it costs the daemon that a hundred clients wait for changes (`changes`): at rest, and while messages and requests come.

Not a test: it judges nothing. The figures in docs/dev/performance.md come from here. Use a release build on a quiet machine:

  cmake --preset release && cmake --build --preset release
  python3 -B tests/bench/watchers.py build/release/inbox-poller
"""

import argparse
import json
import os
import pathlib
import select
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import team as wire  # noqa: E402
from daemon import Daemon, team_toml, wait_for  # noqa: E402
from figures import percentile  # noqa: E402
from subjects import cpu_quiet, cpu_seconds, memory  # noqa: E402

AT_REST_S, MESSAGES, GAP_S = 20, 300, 0.05


class Watchers:
    """So many clients in one thread, each of which asks again as soon as it was answered."""

    def __init__(self, daemon, count):
        self.answers, self.over = 0, False
        self.clients = {control.socket.fileno(): control for control in (daemon.connect() for _ in range(count))}
        for control in self.clients.values():
            control.version = control.ask("changes")["version"]
            self.wait(control)
        self.poll = select.poll()
        for number in self.clients:
            self.poll.register(number, select.POLLIN)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    @staticmethod
    def wait(control):
        control.socket.sendall(b'{"verb":"changes","wait_ms":3600000,"since":%d}\n' % control.version)

    def run(self):
        while not self.over:
            for number, _ in self.poll.poll(50):
                control = self.clients[number]
                control.version = json.loads(control.file.readline())["version"]
                self.answers += 1
                self.wait(control)

    def stop(self):
        self.over = True
        self.thread.join()
        for control in self.clients.values():
            control.close()


def measure(program, folder, count):
    team = wire.Team(folder / "teams", "demo", ("ada", "bob"), wire.ERA2)
    daemon = Daemon(os.path.abspath(program), folder, team_toml(team, poll="500ms")).start()
    try:
        wait_for("the team is served", lambda: daemon.ask("status")["teams"])
        pid = daemon.process.pid
        watchers = Watchers(daemon, count)
        cpu_quiet(pid)
        before, begun = cpu_seconds(pid), time.monotonic()
        time.sleep(AT_REST_S)
        rest = (cpu_seconds(pid) - before) / (time.monotonic() - begun) * 60

        lead, samples, acked = daemon.connect(), [], {}
        lead.ask("attach", method="socket")
        answers, before = watchers.answers, cpu_seconds(pid)
        for n in range(MESSAGES):
            lead.socket.sendall((wire.stringify(dict(verb="recv", wait_ms=60_000, max=1, ignore_busy=True, block=False, **acked)) + "\n").encode())
            time.sleep(GAP_S)
            begun = time.perf_counter_ns()
            team.say("ada", "message %d" % n)
            message = json.loads(lead.file.readline())["messages"][0]
            samples.append((time.perf_counter_ns() - begun) / 1e6)
            acked = {"acked": message["message_key"]}
        spent = (cpu_seconds(pid) - before) / MESSAGES * 1000
        time.sleep(0.2)
        print("%3d watchers: at rest %.3f CPU s/min, RSS %.1f MB; a message %.2f ms of CPU, written -> received p50 %.2f p99 %.2f ms, %.1f answers a watcher" % (
            count, rest, memory(pid)[0] / 1e6, spent, percentile(samples, 50), percentile(samples, 99),
            (watchers.answers - answers) / max(1, count)))
        lead.close()
        watchers.stop()
    finally:
        daemon.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--watchers", type=int, nargs="*", default=[0, 1, 100])
    options = parser.parse_args()
    for count in options.watchers:
        with tempfile.TemporaryDirectory() as folder:
            measure(options.program, pathlib.Path(folder), count)


main()
