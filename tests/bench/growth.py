#!/usr/bin/env python3
"""How the daemon grows with what it keeps: a ledger of more and more messages, and one inbox of more and more bytes.

Not a test: it judges nothing. The figures in docs/dev/performance.md come from here:

  cmake --preset release && cmake --build --preset release
  python3 -B tests/bench/growth.py build/release/inbox-poller --messages 10000 100000 1000000
  python3 -B tests/bench/growth.py build/release/inbox-poller --taken 1000000 3000000 10000000
  python3 -B tests/bench/growth.py build/release/inbox-poller --inbox 1 8 64

Of the first ledger all messages wait for the lead, of the second (--taken) the lead has received all: no more than a million may wait.
"""

import argparse
import json
import os
import pathlib
import re
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import team as wire  # noqa: E402
from daemon import Daemon, team_toml, wait_for  # noqa: E402
from jsonl_team import append, line_of  # noqa: E402
from subjects import cpu_quiet, cpu_seconds, memory  # noqa: E402
from systems import Lines  # noqa: E402

LIMITS = "\n[limits]\nqueued_chat = 1000000\ninbox_file = \"128MiB\"\n"
PIECE = 10_000  # messages that are appended at once


def started(program, folder):
    team = wire.Team(folder / "teams", "demo", ("ada", "bob"), wire.ERA2)
    daemon = Daemon(os.path.abspath(program), folder, team_toml(team, poll="500ms", more=LIMITS + "[compaction]\nenabled = false\n"))
    return team, daemon.start()


def written(team, texts):
    entries = [wire.entry("ada", text) for text in texts]
    for entry in entries:
        entry["read"] = False
    wire.replace(team.lead_inbox, json.dumps(entries))


def queued(daemon):
    return daemon.ask("status")["teams"][0]["chat"]["queued"]


def spent(daemon, work):
    """(processor ms of the daemon, ms) of some work."""
    cpu, begun = cpu_seconds(daemon.process.pid), time.monotonic()
    work()
    return (cpu_seconds(daemon.process.pid) - cpu) * 1e3, (time.monotonic() - begun) * 1e3


def timed(work):
    begun = time.monotonic()
    work()
    return (time.monotonic() - begun) * 1e3


class Lead:
    """Receives and acknowledges what waits, in batches of 1,000."""

    def __init__(self, daemon):
        self.control, self.acked = daemon.connect(), None
        self.control.ask("attach", method="socket")

    def take(self, count):
        while count > 0:
            more = {"acked": self.acked} if self.acked else {}
            messages = self.control.ask("recv", wait_ms=60_000, max=1000, ignore_busy=True, block=False, **more)["messages"]
            count -= len(messages)
            self.acked = messages[-1]["message_key"] if messages else self.acked
        self.control.ask("ack", keys=[self.acked])
        self.acked = None


def ledgers(program, folder, sizes, taken=False):
    print("| messages | ledger | RSS | start | one message, CPU | `history`, 100 lines | `trace` | `status` | CPU of the last 10,000 |")
    print("|---|---|---|---|---|---|---|---|---|")
    lines = Lines(folder)
    daemon = Daemon(os.path.abspath(program), folder, lines.toml).start()
    done, last = 0, 0.0
    for size in sorted(sizes):
        lead = Lead(daemon) if taken else None
        while done < size:
            append(lines.team.path("lead"), b"".join(line_of("alice", "%d %s" % (n, "x" * 200)) for n in range(done, done + PIECE)))
            done += PIECE
            arrived = (lambda: lead.take(PIECE)) if lead else lambda: wait_for("all are taken", lambda: queued(daemon) >= done, pause=0.2)
            last = spent(daemon, arrived)[0]
        if lead:
            lead.control.close()
        daemon.stop()
        start = timed(daemon.start)
        cpu_quiet(daemon.process.pid)
        done += 0 if taken else 2
        lines.write("the first after the start")  # the queue is counted once
        wait_for("it is taken", lines.is_empty)
        cpu_quiet(daemon.process.pid)
        cpu, _ = spent(daemon, lambda: (lines.write("one more"), wait_for("it is taken", lines.is_empty), cpu_quiet(daemon.process.pid)))
        key = re.findall(r"[0-9a-f]{32}", str(daemon.ask("history", limit=10)))[0]
        disk = sum(one.stat().st_size for one in daemon.state.glob("ledger.sqlite3*"))
        print("| {:,} | {:.0f} MB | {:.1f} MB | {:.0f} ms | {:.1f} ms | {:.1f} ms | {:.1f} ms | {:.1f} ms | {:.0f} ms |".format(
            done, disk / 1e6, memory(daemon.process.pid)[0] / 1e6, start, cpu,
            spent(daemon, lambda: daemon.ask("history", limit=100))[0], spent(daemon, lambda: daemon.ask("trace", id=key))[0],
            spent(daemon, lambda: daemon.ask("status"))[0], last), flush=True)
    daemon.stop()


def inboxes(program, folder, sizes):
    print("| inbox | taken in after | CPU | RSS, at most | one more message, CPU |")
    print("|---|---|---|---|---|")
    for size in sizes:
        place = folder / ("i%d" % size)
        place.mkdir()
        team, daemon = started(program, place)
        cpu_quiet(daemon.process.pid)
        count = size * 1024  # 1 KiB each, all in all
        written(team, ["%d %s" % (number, "x" * 880) for number in range(count)])
        cpu, took = spent(daemon, lambda: wait_for("all are taken", lambda: queued(daemon) >= count, pause=0.2))
        cpu_quiet(daemon.process.pid)
        more, _ = spent(daemon, lambda: (team.say("ada", "one more"), wait_for("taken", lambda: queued(daemon) > count, pause=0.05),
                                         time.sleep(3.6)))  # clock: until its time stamps are trusted
        print("| {} MiB | {:,.0f} ms | {:,.0f} ms | {:.0f} MB | {:.0f} ms |".format(
            size, took, cpu, memory(daemon.process.pid)[1] / 1e6, more), flush=True)
        daemon.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--messages", type=int, nargs="*", default=[])
    parser.add_argument("--taken", type=int, nargs="*", default=[], help="messages, all of them received by the lead")
    parser.add_argument("--inbox", type=int, nargs="*", default=[], metavar="MIB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ip-") as folder:
        for name, part, sizes in (("m", ledgers, options.messages), ("t", lambda *rest: ledgers(*rest, taken=True), options.taken), ("i", inboxes, options.inbox)):
            if sizes:
                (pathlib.Path(folder) / name).mkdir()
                part(options.program, pathlib.Path(folder) / name, sizes)


main()
