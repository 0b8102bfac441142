#!/usr/bin/env python3
"""A worker of a JSONL team, written from docs/reference/mailboxes.md ("The lines") alone: jsonl_peer.py FOLDER NAME.

Not a fake that tests steer from inside: a process of its own that knows files only. Standard input takes one JSON object a line:

  {"do": "message", "to": NAME, "content": TEXT}     {"do": "broadcast", "content": TEXT}     {"do": "plan", "plan": TEXT}
  {"do": "ask_to_stop"}                              {"do": "refuse", "content": TEXT}: the answer to the next shutdown request

Standard output has one JSON object a line: {"ready": NAME}, {"sent": LINE} and {"received": LINE}. The process exits with 0 when it has
agreed to a shutdown or its standard input ends, and with 1 at a line that it cannot parse, as most programs of this kind do.
"""

import json
import os
import secrets
import select
import sys
import time

LEAD = "lead"
DRAIN_EVERY = 0.05  # seconds


class Peer:
    def __init__(self, folder, name):
        self.folder, self.name, self.refusal = folder, name, None

    def inbox(self, name):
        return os.path.join(self.folder, "inbox", name + ".jsonl")

    def tell(self, **what):
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()

    def roster(self):
        with open(os.path.join(self.folder, "config.json"), encoding="utf-8") as file:
            return json.load(file)

    def set_status(self, status):
        roster = self.roster()
        for member in roster["members"]:
            if member["name"] == self.name:
                member["status"] = status
        with open(os.path.join(self.folder, "config.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(roster, indent=2))

    def send(self, to, kind, content, **more):
        line = {"type": kind, "from": self.name, "content": content, "timestamp": time.time(), **more}
        descriptor = os.open(self.inbox(to), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, (json.dumps(line) + "\n").encode())
        finally:
            os.close(descriptor)
        self.tell(sent=line)

    def drain(self):
        try:
            with open(self.inbox(self.name), encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:
            return []
        if text:
            open(self.inbox(self.name), "w").close()
        return [json.loads(line) for line in text.splitlines() if line]  # cuts at U+2028, too

    def take(self, line):
        """False when the peer is to end."""
        self.tell(received=line)
        if line["type"] != "shutdown_request":
            return True
        refusal, self.refusal = self.refusal, None
        self.send(LEAD, "shutdown_response", refusal or "bye", request_id=line["request_id"], approve=refusal is None)
        if refusal is None:
            self.set_status("shutdown")
        return refusal is not None

    def do(self, order):
        what = order["do"]
        if what == "message":
            self.send(order["to"], "message", order["content"])
        elif what == "broadcast":
            for name in [LEAD] + [member["name"] for member in self.roster()["members"]]:
                if name != self.name:
                    self.send(name, "broadcast", order["content"])
        elif what == "plan":
            self.send(LEAD, "plan_approval_response", "Plan submitted", request_id=secrets.token_hex(4), plan=order["plan"])
        elif what == "ask_to_stop":
            self.send(LEAD, "shutdown_request", "I am done", request_id=secrets.token_hex(4))
        elif what == "refuse":
            self.refusal = order["content"]

    def run(self):
        self.set_status("working")
        self.tell(ready=self.name)
        orders = b""
        while True:
            if select.select([0], [], [], DRAIN_EVERY)[0]:
                more = os.read(0, 65536)
                if not more:
                    return
                *whole, orders = (orders + more).split(b"\n")
                for order in whole:
                    self.do(json.loads(order))
            for line in self.drain():
                if not self.take(line):
                    return


if __name__ == "__main__":
    Peer(*sys.argv[1:3]).run()
