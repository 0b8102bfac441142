#!/usr/bin/env python3
"""A stand-in for a real lead session that consumes the lead's inbox beside the program under test.

It polls as the real one does: the older client marks everything read and keeps it, the newer deletes it; both before anything is
done about it. With --answer-after it also answers permission requests, as the person at its dialog would after that many seconds.
With --claim it says in the roster, as leads of the newest generation do, which process leads the team; with --sign its answers carry
what signed workers (worker.py) want to see.
What it took goes as JSON lines to its log, with "event": took (sender, text, timestamp), looked, answered (id), claimed.
Python 3.9 or newer, standard library only.
"""

import argparse
import json
import os
import select
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import team as wire  # noqa: E402
import worker  # noqa: E402
from daemon import LIMIT_S, wait_for  # noqa: E402


def claim_of(pid):
    """`leadProcess` as 2.1.330 writes it: the process, told apart by its start, and by the host and the process numbers that it is of."""
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
        started = file.read().rpartition(")")[2].split()[19]
    return {"pid": pid, "pidSpace": "%s#%s" % (socket.gethostname(), os.readlink("/proc/%d/ns/pid" % pid)), "claimedAt": wire.now_ms(),
            "procStart": started}


class Lead:
    def __init__(self, options):
        self.inboxes = os.path.join(options.root, options.team, "inboxes")
        self.era = options.era
        self.poll = options.poll
        self.answer_after = options.answer_after
        self.verdict = options.verdict
        self.reads_first = options.reads_first
        self.signs = options.sign
        self.log_file = open(options.log, "a", encoding="utf-8", buffering=1)
        self.due = []  # (when, asker, request)
        if options.claim:
            wire.edit_roster(os.path.join(options.root, options.team, "config.json"),
                             lambda roster: roster.update(leadProcess=claim_of(os.getpid())))
            self.log("claimed")

    def log(self, event, **fields):
        self.log_file.write(wire.stringify(dict(event=event, at_ms=wire.now_ms(), **fields)) + "\n")

    def take(self):
        if self.reads_first:
            return self.take_what_it_read()
        try:
            taken = wire.consume(os.path.join(self.inboxes, "team-lead.json"), self.era)
        except wire.Locked:
            return
        for entry in taken:
            self.log("took", sender=entry.get("from"), text=entry.get("text"), timestamp=entry.get("timestamp"))
            payload = wire.as_payload(entry.get("text"))
            if payload and payload["type"] == "permission_request" and self.answer_after is not None:
                # clock: the pace of a lead; nothing is judged by it
                self.due.append((time.monotonic() + self.answer_after, entry["from"], payload))

    def take_what_it_read(self):
        """2.1.50 looks without the lock; then it takes it, marks all and writes all, whatever somebody marked in between."""
        path = os.path.join(self.inboxes, "team-lead.json")
        unread = [e for e in wire.read_inbox(path) or [] if not e.get("read")]
        if not unread:
            return
        self.log("looked")
        wait_for("it may go on", lambda: os.path.exists(self.reads_first))
        with wire.Lock(path, wire.PATIENT):
            wire.rewrite(path, wire.stringify([dict(e, read=True) for e in wire.read_inbox(path)], 2))
        for entry in unread:
            self.log("took", sender=entry.get("from"), text=entry.get("text"), timestamp=entry.get("timestamp"))

    def answer(self):
        for item in [i for i in self.due if i[0] <= time.monotonic()]:  # clock: the pace of a lead; nothing is judged by it
            self.due.remove(item)
            _, asker, request = item
            text = wire.stringify(wire.permission_answer(request, self.verdict == "allow"))
            entry = wire.entry("team-lead", text, self.era)
            if self.signs:
                entry["lead_sig"] = worker.VERIFY_KEY
            wire.append(os.path.join(self.inboxes, asker + ".json"), entry, self.era, wire.PATIENT)
            self.log("answered", id=request["request_id"])

    def run(self):
        while not select.select([0], [], [], self.poll)[0]:  # standard input ends with the test
            self.take()
            self.answer()


class LeadProcess:
    """The test's handle on it."""

    def __init__(self, team, era=wire.ERA2, poll=1.0, answer_after=None, verdict="allow", reads_first=None, claim=False, sign=False):
        self.log_path = str(team.root.parent / "lead.log")
        command = [sys.executable, "-B", os.path.abspath(__file__), "--root", str(team.root), "--team", team.name, "--era", era,
                   "--log", self.log_path, "--poll", str(poll), "--verdict", verdict]
        if reads_first is not None:
            command += ["--reads-first", str(reads_first)]
        if answer_after is not None:
            command += ["--answer-after", str(answer_after)]
        command += ["--claim"] * claim + ["--sign"] * sign
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE)
        if claim:
            wait_for("the lead has claimed its team", lambda: [e for e in self.events() if e["event"] == "claimed"])

    def took(self):
        """Everything it consumed so far, in order."""
        return [e for e in self.events() if e["event"] == "took"]

    def events(self):
        try:
            with open(self.log_path, encoding="utf-8") as file:
                return [json.loads(line) for line in file.read().split("\n")[:-1]]
        except FileNotFoundError:
            return []

    def stop(self):
        self.process.stdin.close()
        self.process.wait(LIMIT_S)


def main():
    parser = argparse.ArgumentParser()
    for option in ("root", "team", "log"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--era", default=wire.ERA2)
    parser.add_argument("--poll", type=float, default=1.0)
    parser.add_argument("--answer-after", type=float)
    parser.add_argument("--reads-first", metavar="FILE", help="looks as an old client, without a lock, and locks once this file is there")
    parser.add_argument("--claim", action="store_true")
    parser.add_argument("--sign", action="store_true")
    parser.add_argument("--verdict", choices=("allow", "deny"), default="allow")
    Lead(parser.parse_args()).run()


if __name__ == "__main__":
    main()
