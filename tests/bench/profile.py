#!/usr/bin/env python3
"""What each row of the table costs in instructions, calls of the allocator and system calls, counted in the daemon as it runs.

Counts hardly depend on how busy the machine is. The profile is the first thing to take before a row is made cheaper:

  cmake --preset bench && cmake --build --preset bench
  python3 -B tests/bench/profile.py build/bench/inbox-poller            # all rows
  python3 -B tests/bench/profile.py build/bench/inbox-poller request    # one row
"""

import argparse
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import team as wire  # noqa: E402
from daemon import Daemon, team_toml, wait_for  # noqa: E402
from systems import Letters, Lines  # noqa: E402
from tools_recv import Socket  # noqa: E402

MORE = "[limits]\nqueued_chat = 1000000\n[compaction]\nenabled = false\n"
ALLOCATORS = re.compile(r"^(malloc|calloc|realloc|operator new\(.*\)|_Znwm|_Znam|posix_memalign|aligned_alloc)")
WARM = 5


class Arrays:
    """A team of the array format with two workers."""

    def __init__(self, folder):
        self.team = wire.Team(folder / "teams", "demo", ("ada", "bob"), wire.ERA2)
        self.toml = team_toml(self.team, poll="500ms", more=MORE)

    def write(self, text):
        self.team.say("ada", text)

    def prepare(self, count):
        self.entries = [wire.entry("ada", "%d %s" % (n, "x" * 900)) for n in range(count)]

    def put(self):
        wire.replace(self.team.lead_inbox, json.dumps(self.entries))

    def is_empty(self):
        text = self.team.lead_inbox.read_text()
        return '"read": false' not in text and '"read":false' not in text


class Messages:
    """Messages to a receiver that waits, one after the other; each is acknowledged with the next call."""

    def __init__(self, kind, count):
        self.kind, self.count = kind, count

    def begin(self, folder):
        self.system = self.kind(folder)
        return self.system.toml

    def warm(self, daemon):
        self.receiver = Socket(daemon)
        for n in range(WARM):
            self.one("warm %d" % n)

    def one(self, text):
        self.receiver.begin()
        time.sleep(0.02)  # clock: the receiver waits by then; no verdict
        self.system.write(text)
        assert self.receiver.end() == text

    def work(self, _):
        for n in range(self.count):
            self.one("message %d" % n)
        return self.count

    def end(self):
        self.receiver.close()


class Requests:
    """Permission requests that a rule allows, until the worker has its answer."""

    def __init__(self, count):
        self.count = count

    def begin(self, folder):
        self.system = Arrays(folder)
        return self.system.toml

    def warm(self, _):
        for n in range(WARM):
            self.one("warm-%d" % n)

    def one(self, name):
        team = self.system.team
        said = wire.permission_request("ada", "Bash", {"command": "git status"}, request_id=name)
        team.say("ada", said if isinstance(said, str) else json.dumps(said))
        wait_for("the answer stands there", lambda: team.replies("ada", name), pause=0.005)
        wire.consume(team.inbox("ada"))

    def work(self, _):
        for n in range(self.count):
            self.one("perm-%d" % n)
        return self.count

    def end(self):
        pass


class Drain:
    """A full inbox: committed and marked. The daemon stands still while it is filled."""

    def __init__(self, kind, count):
        self.kind, self.count = kind, count

    def begin(self, folder):
        self.system = self.kind(folder)
        self.system.prepare(self.count)
        return self.system.toml

    def warm(self, daemon):
        self.system.write("the first")
        wait_for("the first was taken", lambda: daemon.ask("status")["teams"][0]["chat"]["queued"] == 1)

    def work(self, daemon):
        self.system.put()
        wait_for("all were taken", lambda: self.queued(daemon) >= self.count, pause=0.2)
        wait_for("the inbox is empty", self.system.is_empty, pause=0.05)
        return self.count

    def queued(self, daemon):
        return daemon.ask("status")["teams"][0]["chat"]["queued"]

    def end(self):
        pass


class Received(Drain):
    """A full inbox with a receiver that takes a hundred at a time; the answer to a larger one is late under callgrind."""

    def warm(self, daemon):
        super().warm(daemon)
        self.receiver, self.acked = daemon.connect(), None
        self.receiver.ask("attach", method="socket")
        self.take()

    def take(self):
        more = {"acked": self.acked} if self.acked else {}
        messages = self.receiver.ask("recv", wait_ms=60_000, max=100, ignore_busy=True, block=False, **more)["messages"]
        self.acked = messages[-1]["message_key"] if messages else self.acked
        return len(messages)

    def work(self, _):
        self.system.put()
        left = self.count
        while left > 0:
            left -= self.take()
        self.receiver.ask("ack", keys=[self.acked])
        wait_for("the inbox is empty", self.system.is_empty, pause=0.05)
        return self.count


class Rest:
    """A team at rest for so many seconds; counted for each second."""

    def __init__(self, seconds):
        self.seconds = seconds

    def begin(self, folder):
        return Arrays(folder).toml

    def warm(self, _):
        time.sleep(3)  # clock: what is measured is a time; no verdict

    def work(self, _):
        time.sleep(self.seconds)  # clock: what is measured is a time; no verdict
        return self.seconds

    def end(self):
        pass


ROWS = {"message": lambda: Messages(Arrays, 50), "request": lambda: Requests(50), "line": lambda: Messages(Lines, 50),
        "letter": lambda: Messages(Letters, 50), "drain": lambda: Drain(Arrays, 5000), "received": lambda: Received(Arrays, 2000), "drain-lines": lambda: Drain(Lines, 5000),
        "drain-letters": lambda: Drain(Letters, 5000), "rest": lambda: Rest(20)}


class Counted(Daemon):
    """A daemon under callgrind, which counts only while told to."""

    out = None

    def command(self):
        return ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=%s" % self.out, "--compress-strings=no",
                "--compress-pos=no", *super().command()]

    def counting(self, on):
        subprocess.run(["callgrind_control", "-i", "on" if on else "off", str(self.process.pid)], check=True, env=self.env,
                       capture_output=True)


def served(row, folder, kind=Daemon):
    (folder / "w").mkdir()
    daemon = kind(row.program, folder, row.begin(folder / "w"))
    daemon.out = folder / "callgrind.out"
    daemon.env["TMPDIR"] = str(folder)
    os.environ["TMPDIR"] = str(folder)
    daemon.start()
    wait_for("the team is looked at", lambda: daemon.ask("status")["teams"][0]["inbox"]["state"] != "not polled yet")
    row.warm(daemon)
    return daemon


def by_object(path):
    """Instructions by library, and calls by function, of a file of callgrind."""
    spent, calls, thing, called, skip = collections.Counter(), collections.Counter(), "", "", False
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith("ob="):
            thing = os.path.basename(line[3:])
        elif line.startswith("cfn="):
            called = line[4:]
        elif line.startswith("calls="):
            calls[called] += int(line[6:].split()[0])
            skip = True
        elif re.fullmatch(r"\d+ \d+", line):
            if not skip:
                spent[thing] += int(line.split()[1])
            skip = False
    return spent, calls


def instructions(row, folder):
    daemon = served(row, folder, Counted)
    try:
        daemon.counting(True)
        number = row.work(daemon)
        daemon.counting(False)
        row.end()
        daemon.stop()
    finally:
        if daemon.running():
            daemon.kill()
    spent, calls = by_object(daemon.out)
    if row.keep:
        row.keep.write_bytes(daemon.out.read_bytes())
    return number, spent, calls


def system_calls(row, folder):
    daemon = served(row, folder)
    out = folder / "strace"
    try:
        tracer = subprocess.Popen(["strace", "-f", "-c", "-o", str(out), "-p", str(daemon.process.pid)], stderr=subprocess.PIPE)
        tracer.stderr.readline()  # "attached"
        number = row.work(daemon)
        tracer.send_signal(signal.SIGINT)
        tracer.communicate()
        row.end()
        daemon.stop()
    finally:
        if daemon.running():
            daemon.kill()
    found = collections.Counter()
    for line in out.read_text().splitlines():
        words = line.split()
        if len(words) >= 5 and re.fullmatch(r"[\d.]+", words[0]) and words[-1] != "total":
            found[words[-1]] = int(words[3])
    return number, found


def share(spent, wanted):
    return sum(count for name, count in spent.items() if wanted(name))


def report(name, program, keep):
    def fresh():
        row = ROWS[name]()
        row.program, row.keep = program, keep and pathlib.Path(keep) / ("callgrind." + name)
        return row

    with tempfile.TemporaryDirectory(prefix="ip-") as folder:
        (pathlib.Path(folder) / "a").mkdir()
        number, calls = system_calls(fresh(), pathlib.Path(folder) / "a")
    with tempfile.TemporaryDirectory(prefix="ip-") as folder:
        (pathlib.Path(folder) / "b").mkdir()
        _, spent, functions = instructions(fresh(), pathlib.Path(folder) / "b")
    total = sum(spent.values())
    sqlite = share(spent, lambda one: "sqlite" in one)
    ours = share(spent, lambda one: one == os.path.basename(program))
    allocated = sum(count for function, count in functions.items() if ALLOCATORS.match(function))
    steps, prepared = functions["sqlite3_step"], functions["sqlite3_prepare_v2"] + functions["sqlite3_prepare_v3"]
    top = ", ".join("%s %.1f" % (one, count / number) for one, count in calls.most_common(6))
    print("| %s | %s | %.0f %% / %.0f %% / %.0f %% | %.1f | %.1f / %.1f | %.1f | %s |" % (
        name, "{:,.0f}".format(total / number), 100 * ours / total, 100 * sqlite / total, 100 * (total - ours - sqlite) / total,
        allocated / number, steps / number, prepared / number, sum(calls.values()) / number, top), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []], metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--keep", metavar="FOLDER", help="keep callgrind's files there")
    options = parser.parse_args()
    print("| row | instructions each | ours / SQLite / libraries | allocations | SQL steps / prepared | system calls | of them |")
    print("|---|---|---|---|---|---|---|")
    for name in options.rows or ROWS:
        report(name, os.path.abspath(options.program), options.keep)


main()
