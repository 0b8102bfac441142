#!/usr/bin/env python3
"""A stand-in for one worker process: asks, waits, and accepts exactly what the real client accepts (docs/protocol.md, "What a
worker accepts"). What the real one would silently ignore, this one ignores too and says so in its log: an answer of the wrong
shape therefore shows as a worker that waits for ever, as in life.

Commands come as JSON lines on standard input; what happened goes as JSON lines to the log, with "event":
  asked, lost (the lock was held and this era does not retry), ran, refused, interrupted, ignored, plan_approved, plan_rejected,
  shown (a payload reached the model as text), sandbox, mode, chat
Python 3.9 or newer, standard library only.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import team as wire  # noqa: E402

PLAN_KEYS = {"type", "requestId", "approved", "feedback", "timestamp", "permissionMode"}


class Worker:
    def __init__(self, team_root, team_name, name, era, log, poll):
        self.folder = os.path.join(team_root, team_name)
        self.team_name = team_name
        self.name = name
        self.era = era
        self.old = era == wire.ERA1
        self.poll = poll
        self.log_file = open(log, "a", encoding="utf-8", buffering=1)
        self.permissions = {}  # request id -> tool input that waits
        self.answered = set()
        self.sandboxes = {}
        self.plan = None
        self.mode = "default"

    def inbox(self, member):
        return os.path.join(self.folder, "inboxes", member + ".json")

    def log(self, event, **fields):
        self.log_file.write(wire.stringify(dict(event=event, at_ms=wire.now_ms(), **fields)) + "\n")

    # --- what it writes ---

    def write(self, payload, to="team-lead", patient=False, **envelope):
        text = payload if isinstance(payload, str) else wire.stringify(payload)
        new = wire.entry(self.name, text, self.era, **envelope)
        try:
            wire.append(self.inbox(to), new, self.era, wire.PATIENT if patient else None)
            return True
        except wire.Locked:
            return False

    def do(self, command):
        what = command.pop("do")
        patient = command.pop("patient", False)
        if what == "permission":
            payload = wire.permission_request(self.name, command["tool"], command["input"], command.get("id"),
                                              command.get("suggestions", ()), command.get("description"))
            self.permissions[payload["request_id"]] = payload["input"]
            self.report_ask(payload["request_id"], self.write(payload, patient=patient, color="blue"))
        elif what == "sandbox":
            payload = wire.sandbox_request(self.name, self.team_name, command["host"], command.get("id"))
            self.sandboxes[payload["requestId"]] = command["host"]
            self.report_ask(payload["requestId"], self.write(payload, patient=patient, color="blue"))
        elif what == "plan":
            payload = wire.plan_request(self.name, self.team_name, command["plan"], command.get("id"))
            self.plan = payload["requestId"]
            self.report_ask(payload["requestId"], self.write(payload, patient=patient))
        elif what == "say":
            sent = self.write(command["text"], command.get("to", "team-lead"), patient, summary=command.get("summary"),
                              color="blue")
            self.log("said" if sent else "lost", text=command["text"])
        elif what == "idle":
            self.write(wire.idle_notification(self.name), patient=patient, color="blue")
        elif what == "raw":  # a payload exactly as given, under this worker's name
            sent = self.write(command["text"], command.get("to", "team-lead"), patient)
            self.log("said" if sent else "lost", text=command["text"])
        else:
            raise ValueError("unknown command " + what)

    def report_ask(self, request_id, sent):
        self.log("asked" if sent else "lost", id=request_id)

    # --- what it accepts ---

    def receive(self, envelope):
        text = envelope.get("text")
        payload = wire.as_payload(text)
        handlers = {"permission_response": self.on_permission, "sandbox_permission_response": self.on_sandbox,
                    "plan_approval_response": self.on_plan, "mode_set_request": self.on_mode}
        handler = handlers.get(payload["type"]) if payload else None
        if handler:
            handler(payload, envelope.get("from"), text)
        else:
            self.log("chat", sender=envelope.get("from"), text=text)

    def ignore(self, why, text):
        self.log("ignored", why=why, text=text)

    def on_permission(self, payload, sender, text):
        request_id = payload.get("request_id")
        if not isinstance(request_id, str):
            return self.ignore("no request_id", text)
        if request_id not in self.permissions:
            return self.ignore("answered before" if request_id in self.answered else "unknown request_id", text)
        if sender != "team-lead" and not self.old:
            return self.ignore("not from the lead", text)
        subtype = payload.get("subtype")
        if subtype == "success":
            response = payload.get("response")
            response = {} if response is None else response
            if not self.old and any(k in response and response[k] is None for k in ("updated_input", "permission_updates")):
                return self.ignore("null inside the response", text)
            original = self.permissions.pop(request_id)
            updated = response.get("updated_input")
            self.answered.add(request_id)
            return self.log("ran", id=request_id, input=original if updated is None else updated, original=original,
                            updates=response.get("permission_updates") or [], text=text)
        if subtype == "error" and isinstance(payload.get("error"), str) and payload["error"]:
            self.permissions.pop(request_id)
            self.answered.add(request_id)
            return self.log("refused", id=request_id, error=payload["error"], text=text)
        if self.old:
            self.permissions.pop(request_id)
            return self.log("interrupted", id=request_id, text=text)
        return self.ignore("no usable subtype", text)

    def on_sandbox(self, payload, sender, text):
        request_id = payload.get("requestId")
        if request_id not in self.sandboxes:
            return self.ignore("unknown requestId", text)
        if not (payload.get("host") == self.sandboxes[request_id] and isinstance(payload.get("allow"), bool)
                and isinstance(payload.get("timestamp"), str)):
            return self.ignore("sandbox answer of the wrong shape", text)
        if sender != "team-lead" and not self.old:
            return self.ignore("not from the lead", text)
        host = self.sandboxes.pop(request_id)
        return self.log("sandbox", id=request_id, host=host, allow=payload["allow"], text=text)

    def on_plan(self, payload, sender, text):
        well_formed = (set(payload) <= PLAN_KEYS and isinstance(payload.get("requestId"), str)
                       and isinstance(payload.get("approved"), bool) and isinstance(payload.get("timestamp"), str))
        if not well_formed or sender != "team-lead":
            return self.log("shown", text=text) if self.old else self.ignore("plan answer of the wrong shape", text)
        if self.plan is None or (payload["requestId"] != self.plan and not self.old):
            return self.ignore("did not match", text)
        self.plan = None
        if payload["approved"]:
            self.mode = payload.get("permissionMode", "default")
            return self.log("plan_approved", id=payload["requestId"], mode=self.mode, text=text)
        return self.log("plan_rejected", id=payload["requestId"], feedback=payload.get("feedback"), text=text)

    def on_mode(self, payload, sender, text):
        if sender == "team-lead" and self.old:
            self.mode = payload.get("mode")
            return self.log("mode", mode=self.mode)
        return self.ignore("mode change without effect", text)

    # --- its life ---

    def run(self):
        buffered = b""
        next_poll = time.monotonic()
        while True:
            ready, _, _ = select.select([0], [], [], max(0.0, next_poll - time.monotonic()))
            if ready:
                data = os.read(0, 65536)
                if not data:
                    return
                buffered += data
                *lines, buffered = buffered.split(b"\n")
                for line in lines:
                    self.do(json.loads(line))
            if time.monotonic() >= next_poll:
                next_poll = time.monotonic() + self.poll
                try:
                    for envelope in wire.consume(self.inbox(self.name), self.era):
                        self.receive(envelope)
                except wire.Locked:
                    pass  # the next poll is soon


class WorkerProcess:
    """The test's handle on one worker process: sends commands, reads its log."""

    def __init__(self, team, name, era=wire.ERA2, poll=0.05, log=None):
        self.name = name
        self.era = era
        self.log_path = str(log or team.root.parent / ("worker-%s.log" % name))
        self.process = subprocess.Popen(
            [sys.executable, "-B", os.path.abspath(__file__), "--root", str(team.root), "--team", team.name, "--name", name,
             "--era", era, "--log", self.log_path, "--poll", str(poll)], stdin=subprocess.PIPE)
        self.lock = threading.Lock()

    def do(self, what, **fields):
        with self.lock:
            self.process.stdin.write((wire.stringify(dict(do=what, **fields)) + "\n").encode())
            self.process.stdin.flush()

    def ask(self, what, **fields):
        """Sends an ask under an id of ours and returns the id."""
        if "id" not in fields:
            stem = {"permission": "perm-%d-%s", "sandbox": "sandbox-%d-%s"}.get(what)
            fields["id"] = stem % (wire.now_ms(), wire.short_id()) if stem else "plan_approval-%d%s@%s@team" % (
                wire.now_ms(), wire.short_id(), self.name)
        self.do(what, **fields)
        return fields["id"]

    def events(self):
        try:
            with open(self.log_path, encoding="utf-8") as file:
                return [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def find(self, request_id, *kinds):
        return [e for e in self.events() if e.get("id") == request_id and (not kinds or e["event"] in kinds)]

    def stop(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(10)


def main():
    parser = argparse.ArgumentParser()
    for option in ("root", "team", "name", "log"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--era", default=wire.ERA2)
    parser.add_argument("--poll", type=float, default=1.0)
    o = parser.parse_args()
    Worker(o.root, o.team, o.name, o.era, o.log, o.poll).run()


if __name__ == "__main__":
    main()
