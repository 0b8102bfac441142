#!/usr/bin/env python3
"""A stand-in for one worker process: asks, waits, and accepts exactly what the real client accepts (docs/reference/protocol.md,
"Payloads"). What the real one would silently ignore, this one ignores too and says so in its log: an answer of the wrong shape therefore
shows as a worker that waits for ever, as in life.

Commands come as JSON lines on standard input, or in a file that grows (--commands); what happened goes as JSON lines to the log,
with "event":
  asked, lost (the lock was held and this era does not retry), ran, refused, interrupted, ignored, plan_approved, plan_rejected,
  shown (a payload reached the model as text), sandbox, mode, rules, no_effect (an order that the newer one drops), allowed (by a
  rule it was given: nobody was asked), stuck, shutdown (the request reached its model), left, chat,
  ran_unasked, stopped_unasked (a hook decided), left_open (no hook did),
  failed (an answer that could not be verified), not_obeyed (a request to shut down, likewise)
A signed worker (--lead-verify-key, as one that a lead of 2.1.329 or newer started) takes answers and requests to shut down only
from whoever has the lead's key: entries with that very value as `lead_sig` here, a signature of their bytes in life.
What an inbox entry caused carries its msg_id.
Python 3.9 or newer, standard library only.
"""

import argparse
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import uuid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import team as wire  # noqa: E402
from daemon import LIMIT_S  # noqa: E402

PLAN_KEYS = {"type", "requestId", "approved", "feedback", "timestamp", "permissionMode"}
SHUTDOWN_KEYS = {"type", "requestId", "from", "reason", "timestamp"}
MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")
# What the model behind the worker makes of a request to shut down. die: the process ends without a word; survive: it agrees and goes
# on; reminded: it only chats, until a plain message repeats the request's id.
SIGNED = ("permission_response", "sandbox_permission_response", "plan_approval_response", "shutdown_request")
VERIFY_KEY = "1795353213018.MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="
NOT_VERIFIED = ("Your team lead's answer to this request could not be verified, so it was not used and the request did not go ahead. If "
                "the team lead restarted, asking again will not help, and the person must start a new teammate.")
MANNERS = ("approve", "prose", "reminded", "reject", "ignore", "die", "survive")


class Worker:
    def __init__(self, options):
        self.folder = os.path.join(options.root, options.team)
        self.team_name = options.team
        self.name = options.name
        self.era = options.era
        self.old = options.era == wire.ERA1
        self.poll = options.poll
        self.verify_key = options.lead_verify_key
        self.manner = options.on_shutdown
        self.exit_after = options.exit_after
        self.leaves_roster_empty = options.leaves_roster_empty
        self.log_file = open(options.log, "a", encoding="utf-8", buffering=1)
        with open(options.log + ".pid", "w", encoding="utf-8") as file:
            file.write(str(os.getpid()))
        self.session_id = str(uuid.uuid4())
        self.cause = {}        # the msg_id of the entry that is being taken
        self.permissions = {}  # request id -> tool input that waits
        self.answered = set()
        self.sandboxes = {}
        self.plan = None
        self.mode = "default"
        self.rules = []  # {"toolName", "ruleContent"}, given by the lead
        self.stuck = False
        self.shutdown_id = None  # the last that it was asked
        self.shutdown_is_new = False
        self.leave_at = None

    def inbox(self, member):
        return os.path.join(self.folder, "inboxes", wire.inbox_name(member) + ".json")

    def log(self, event, **fields):
        self.log_file.write(wire.stringify(dict(event=event, at_ms=wire.now_ms(), **self.cause, **fields)) + "\n")

    # --- what it writes ---

    def write(self, payload, to="team-lead", patient=True, **envelope):
        text = payload if isinstance(payload, str) else wire.stringify(payload)
        new = wire.entry(self.name, text, self.era, **envelope)
        try:
            wire.append(self.inbox(to), new, self.era, wire.PATIENT if patient else None, lambda: self.log("met_lock"))
            return True
        except wire.Locked:
            return False

    def do(self, command):
        what = command.pop("do")
        patient = command.pop("patient", True)  # False: as its client is with a held lock, which loses messages
        if what == "permission":
            self.ask_permission(command, patient)
        elif what == "sandbox":
            payload = wire.sandbox_request(self.name, self.team_name, command["host"], command.get("id"))
            self.sandboxes[payload["requestId"]] = command["host"]
            self.report_request(payload["requestId"], self.write(payload, patient=patient, color="blue"))
        elif what == "plan":
            payload = wire.plan_request(self.name, self.team_name, command["plan"], command.get("id"))
            self.plan = payload["requestId"]
            self.report_request(payload["requestId"], self.write(payload, patient=patient))
        elif what == "stop":  # its model used the shutdown tool on the lead: that is how a worker says it wants to stop
            payload = wire.shutdown_request("team-lead", command.get("id"), sender=self.name)
            payload["reason"] = command.get("reason", payload["reason"])
            self.report_request(payload["requestId"], self.write(payload, patient=patient, color="blue"))
        elif what == "say":
            sent = self.write(command["text"], command.get("to", "team-lead"), patient, summary=command.get("summary"),
                              color="blue")
            self.log("said" if sent else "lost", text=command["text"])
        elif what == "idle":
            self.write(wire.idle_notification(self.name), patient=patient, color="blue")
        elif what == "raw":  # a payload exactly as given, under this worker's name
            sent = self.write(command["text"], command.get("to", "team-lead"), patient)
            self.log("said" if sent else "lost", text=command["text"])
        elif what == "call":
            self.call_tool(command, patient)
        elif what == "exit":
            self.leave()
        elif what == "tool":
            self.log("tool", pid=start_tool(command.get("session", False)))
        else:
            raise ValueError("unknown command " + what)

    def ask_permission(self, command, patient):
        payload = wire.permission_request(self.name, command["tool"], command["input"], command.get("id"),
                                          command.get("suggestions", ()), command.get("description"))
        payload["tool_use_id"] = command.get("tool_use_id", payload["tool_use_id"])
        request_id = payload["request_id"]
        if self.stuck:
            return self.log("stuck", id=request_id)
        rule = next((r for r in self.rules if covers(r, command["tool"], command["input"])), None)
        if rule:
            return self.log("allowed", id=request_id, rule=rule)
        self.permissions[request_id] = payload["input"]
        return self.report_request(request_id, self.write(payload, patient=patient, color="blue"))

    def call_tool(self, command, patient):
        """A tool call from its beginning: the PreToolUse hooks of the settings first, and only what they leave open is asked."""
        event = dict({"session_id": self.session_id, "transcript_path": "/t/%s.jsonl" % self.session_id, "cwd": os.getcwd(),
                      "permission_mode": "default", "agent_type": "general-purpose", "hook_event_name": "PreToolUse",
                      "tool_name": command["tool"], "tool_input": command["input"], "tool_use_id": command["id"]}, **command.get("event", {}))
        decisions = [d for d in run_hooks(command["settings"], event, command.get("nested")) if d]
        decision = next((d for d in decisions if d["permissionDecision"] == "deny"), decisions[0] if decisions else None)
        if decision:
            ran = decision["permissionDecision"] == "allow"
            return self.log("ran_unasked" if ran else "stopped_unasked", id=command["id"], reason=decision["permissionDecisionReason"])
        self.log("left_open", id=command["id"])
        if command.get("request", True):
            self.ask_permission({"tool": command["tool"], "input": command["input"], "id": "perm-" + command["id"],
                                 "tool_use_id": command["id"]}, patient)

    def report_request(self, request_id, sent):
        self.log("asked" if sent else "lost", id=request_id)

    def leave(self):
        if self.old:
            self.write(wire.idle_notification(self.name), color="blue")
        if self.leaves_roster_empty:
            empty_roster(self.folder)
        self.log("left")
        os._exit(0)

    # --- what it accepts ---

    def receive(self, envelope):
        text = envelope.get("text")
        payload = wire.as_payload(text)
        handlers = {"permission_response": self.on_permission, "sandbox_permission_response": self.on_sandbox,
                    "plan_approval_response": self.on_plan, "mode_set_request": self.on_mode,
                    "team_permission_update": self.on_rules, "shutdown_request": self.on_shutdown}
        handler = handlers.get(payload["type"]) if payload else None
        if handler and self.verify_key and payload["type"] in SIGNED and envelope.get("lead_sig") != self.verify_key:
            return self.not_verified(payload, text)
        if handler:
            return handler(payload, envelope.get("from"), text)
        self.log("chat", sender=envelope.get("from"), text=text)
        if self.manner == "reminded" and self.shutdown_id and self.shutdown_id in str(text):
            self.agree()

    def not_verified(self, payload, text):
        """The request fails, whatever the answer said. What becomes of a plan was never seen; here it fails as well."""
        request_id = payload.get("request_id") or payload.get("requestId")
        if payload["type"] == "shutdown_request":
            return self.log("not_obeyed", id=request_id, text=text)
        if self.permissions.pop(request_id, None) is None and self.sandboxes.pop(request_id, None) is None:
            if request_id != self.plan:
                return self.ignore("unknown request id", text)
            self.plan = None
        self.answered.add(request_id)
        return self.log("failed", id=request_id, error=NOT_VERIFIED, text=text)

    def ignore(self, why, text):
        self.log("ignored", why=why, text=text)

    def shown_or_dropped(self, why, text):
        """A payload of the wrong shape: text for the older client's model, nothing for the newer."""
        return self.log("shown", text=text) if self.old else self.ignore(why, text)

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
            updates = response.get("permission_updates") or []
            self.rules += [r for u in updates if u.get("type") == "addRules" and u.get("behavior") == "allow" for r in u["rules"]]
            return self.log("ran", id=request_id, input=original if updated is None else updated, original=original,
                            updates=updates, text=text)
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
            return self.shown_or_dropped("plan answer of the wrong shape", text)
        if self.plan is None or (payload["requestId"] != self.plan and not self.old):
            return self.ignore("did not match", text)
        self.plan = None
        if payload["approved"]:
            self.mode = payload.get("permissionMode", "default")
            if not self.old:
                self.write_mode()
            return self.log("plan_approved", id=payload["requestId"], mode=self.mode, text=text)
        return self.log("plan_rejected", id=payload["requestId"], feedback=payload.get("feedback"), text=text)

    def on_mode(self, payload, sender, text):
        if not self.old:
            return self.log("no_effect", text=text)
        if sender != "team-lead":
            return self.ignore("not from the lead", text)
        if payload.get("mode") not in MODES:
            return self.log("shown", text=text)
        self.mode = payload["mode"]
        self.write_mode()
        return self.log("mode", mode=self.mode, text=text)

    def write_mode(self):
        def change(roster):
            for member in roster["members"]:
                if member["name"] == self.name:
                    member["mode"] = self.mode
        try:
            wire.edit_roster(os.path.join(self.folder, "config.json"), change, self.era)
        except (OSError, ValueError):
            pass  # a roster that is not there or damaged keeps nobody from working

    def on_rules(self, payload, _, text):
        update = payload.get("permissionUpdate")
        rules = update.get("rules") if isinstance(update, dict) else None
        if not self.old:
            return self.log("no_effect", text=text)
        if not isinstance(rules, list) or not isinstance(update.get("behavior"), str):
            return self.ignore("rules of the wrong shape", text)
        self.stuck = self.stuck or any("toolName" not in rule for rule in rules)
        if update["behavior"] == "allow":
            self.rules += rules
        return self.log("rules", rules=rules, text=text)

    def on_shutdown(self, payload, sender, text):
        # That the sender has to be the lead was not observed; it is the stricter reading.
        well_formed = (set(payload) <= SHUTDOWN_KEYS and isinstance(payload.get("requestId"), str) and sender == "team-lead"
                       and payload.get("from") == sender and isinstance(payload.get("timestamp"), str))
        if not well_formed:
            return self.shown_or_dropped("shutdown request of the wrong shape", text)
        self.shutdown_id = payload["requestId"]
        self.shutdown_is_new = True
        return self.log("shutdown", id=self.shutdown_id, text=text)

    def answer_shutdown(self):
        """The model's turn; it does not come while a permission is waited for."""
        if not self.shutdown_is_new or self.permissions:
            return
        self.shutdown_is_new = False
        if self.manner == "die":
            self.log("left")
            os._exit(1)
        elif self.manner in ("prose", "reminded"):
            self.write("Ok, shutting down now.", color="blue")
        elif self.manner == "reject":
            self.write(wire.shutdown_rejected(self.name, self.shutdown_id, "task 3 is still running"), color="blue")
        elif self.manner in ("approve", "survive"):
            self.agree()

    def agree(self):
        with open(os.path.join(self.folder, "config.json"), encoding="utf-8") as file:
            mine = next((m for m in json.load(file)["members"] if m["name"] == self.name), {})
        self.write(wire.shutdown_approved(self.name, self.shutdown_id, mine.get("tmuxPaneId", ""), mine.get("backendType", "")), color="blue")
        if self.manner != "survive":
            self.leave_at = time.monotonic() + self.exit_after  # clock: the pace of a worker; nothing is judged by it

    # --- its life ---

    def tick(self):
        try:
            for envelope in wire.consume(self.inbox(self.name), self.era):
                self.cause = {"msg_id": envelope.get("msg_id")}
                self.receive(envelope)
                self.cause = {}
        except wire.Locked:
            pass  # the next poll is soon
        self.answer_shutdown()
        if self.leave_at and time.monotonic() >= self.leave_at:  # clock: the pace of a worker, see agree()
            self.leave()

    # clock: the pace of a worker; nothing is judged by it
    def run(self, commands):
        next_poll = time.monotonic()
        for lines in commands(lambda: max(0.0, next_poll - time.monotonic())):
            for line in lines:
                self.do(json.loads(line))
            if time.monotonic() >= next_poll:
                next_poll = time.monotonic() + self.poll
                self.tick()


def from_stdin(pause):
    """Lists of lines, an empty one when pause() is over; ends with the input."""
    buffered = b""
    while True:
        if select.select([0], [], [], pause())[0]:
            data = os.read(0, 65536)
            if not data:
                return
            *lines, buffered = (buffered + data).split(b"\n")
            yield lines
        else:
            yield []


def from_file(path, until_gone):
    """The same from a file that somebody else extends; ends with the process that does."""
    def read(pause):
        with open(path, "rb") as file:
            buffered = b""
            while not until_gone or alive(until_gone):
                *lines, buffered = (buffered + file.read()).split(b"\n")
                yield lines
                time.sleep(pause())  # clock: the pace of a peer; nothing is judged by it
    return read


def alive(pid):
    """True while the process runs; one that ended and was not waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return not os.path.isdir("/proc/self")  # gone meanwhile, or a system without /proc


# What 2.1.50 does as it ends, or while somebody looks for it.

def empty_roster(folder):
    """It rewrites the roster in place as it exits, and is gone before the new bytes are written."""
    with wire.Lock(os.path.join(folder, "config.json"), wire.PATIENT):
        os.truncate(os.path.join(folder, "config.json"), 0)


def overwrite_arguments(title=b"claude"):
    """What others see of its command line is a title of its own; where the arguments lie, only the system can tell."""
    with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
        start, end = map(int, file.read().rpartition(")")[2].split()[45:47])
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, title, len(title))


def start_tool(own_session):
    """A tool that nothing but KILL ends; its pid. In a session of its own no hangup of the terminal reaches it."""
    code = ("import signal, sys, time; [signal.signal(s, signal.SIG_IGN) for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]; "
            "print('up', flush=True); time.sleep(300)")
    tool = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            start_new_session=own_session)
    tool.stdout.readline()
    return tool.pid


def covers(rule, tool, tool_input):
    """Whether a rule that the worker was given speaks about this call, as far as the tests need it."""
    if rule.get("toolName") != tool:
        return False
    content = rule.get("ruleContent")
    if content is None:
        return True
    if tool == "Bash":
        command = tool_input.get("command", "")
        prefix = content[:-2] if content.endswith(":*") else None
        return command == content or prefix is not None and (command + " ").startswith(prefix + " ")
    return content.endswith("/**") and str(tool_input.get("file_path", "")).startswith(content[1:-2])


def run_hooks(settings, event, nested=False):
    """What the PreToolUse hooks of a settings file decide, run as clients do: with `args` without a shell, otherwise by one. With
    `nested` by a client that this one runs, which is somebody else."""
    with open(settings, encoding="utf-8") as file:
        groups = json.load(file).get("hooks", {}).get("PreToolUse", [])
    found = []
    for hook in (hook for group in groups for hook in group["hooks"]):
        command = [hook["command"], *hook["args"]] if "args" in hook else ["/bin/sh", "-c", hook["command"]]
        if nested:
            command = [sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)", *command]
        done = subprocess.run(command, input=stringified(event), capture_output=True, timeout=hook["timeout"])
        assert done.returncode == 0 and not done.stderr, done
        found.append(json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else None)
    return found


def stringified(value):
    return wire.stringify(value).encode("utf-8", "surrogatepass")


class Handle:
    """A test's handle on one worker, however it runs: what it may be told, and what its log says."""

    def __init__(self, team, name, era, log):
        self.name = name
        self.era = era
        self.log_path = str(log or team.root.parent / ("worker-%s.log" % name))

    def arguments(self, team, poll, on_shutdown, exit_after, stubborn, more=(), signed=False):
        """The command line; like the real one's it says who runs there, and whose answers it takes. `more`: switches of the command line below."""
        # Processes are looked for on the whole machine: a signed "ada@demo" counts for every other test's ada.
        assert not signed or team.name != "demo", "a signed worker's team has a name of its own"
        return [sys.executable, "-B", os.path.abspath(__file__), "--agent-id", "%s@%s" % (self.name, team.name),
                "--root", str(team.root), "--team", team.name, "--name", self.name, "--era", self.era, "--log", self.log_path,
                "--poll", str(poll), "--on-shutdown", on_shutdown, "--exit-after", str(exit_after),
                *(["--stubborn"] if stubborn else []), *(["--lead-verify-key", VERIFY_KEY] if signed else []), *more]

    def send(self, line):
        raise NotImplementedError

    def do(self, what, **fields):
        self.send((wire.stringify(dict(do=what, **fields)) + "\n").encode())

    def ask(self, what, **fields):
        """Sends a request under an id of ours and returns the id."""
        if "id" not in fields:
            stem = {"permission": "perm-%d-%s", "sandbox": "sandbox-%d-%s", "plan": "plan_approval-%d%s@" + self.name + "@team",
                    "stop": "shutdown-%d%.0s@team-lead"}[what]
            fields["id"] = stem % (wire.now_ms(), wire.short_id())
        self.do(what, **fields)
        return fields["id"]

    def events(self, *kinds):
        try:
            with open(self.log_path, encoding="utf-8") as file:
                events = [json.loads(line) for line in file.read().split("\n")[:-1]]
        except FileNotFoundError:
            return []
        return [e for e in events if not kinds or e["event"] in kinds]

    def find(self, request_id, *kinds):
        return [e for e in self.events(*kinds) if e.get("id") == request_id]


class WorkerProcess(Handle):
    """A worker without a pane: a process of the test's own."""

    def __init__(self, team, name, era=wire.ERA2, poll=0.05, log=None, on_shutdown="approve", exit_after=1.0, stubborn=False,
                 signed=False):
        super().__init__(team, name, era, log)
        self.process = subprocess.Popen(self.arguments(team, poll, on_shutdown, exit_after, stubborn, signed=signed), stdin=subprocess.PIPE,
                                        bufsize=0)
        self.lock = threading.Lock()

    @property
    def pid(self):
        return self.process.pid

    def runs(self):
        return self.process.poll() is None

    def send(self, line):
        with self.lock:
            self.process.stdin.write(line)

    def stop(self):
        self.process.stdin.close()  # its end, if it had none yet
        self.process.wait(LIMIT_S)


def main():
    parser = argparse.ArgumentParser()
    for option in ("root", "team", "name", "log"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--agent-id", help="read by nobody here; tells whose process it is, as the real one's does")
    parser.add_argument("--lead-verify-key", help="take answers only from whoever has this key")
    parser.add_argument("--era", default=wire.ERA2)
    parser.add_argument("--poll", type=float, default=1.0)
    parser.add_argument("--on-shutdown", choices=MANNERS, default="approve")
    parser.add_argument("--exit-after", type=float, default=1.0, help="seconds from agreeing to the end")
    parser.add_argument("--stubborn", action="store_true", help="ignore SIGTERM and SIGHUP")
    parser.add_argument("--leaves-roster-empty", action="store_true", help="as 2.1.50 sometimes does when it ends")
    parser.add_argument("--overwrites-arguments", action="store_true", help="as 2.1.50 does: nothing names the agent any more")
    parser.add_argument("--commands", help="a file that grows, instead of standard input")
    parser.add_argument("--until-gone", type=int, default=0, help="end with this process")
    o = parser.parse_args()
    if o.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if o.overwrites_arguments:
        overwrite_arguments()
    Worker(o).run(from_file(o.commands, o.until_gone) if o.commands else from_stdin)


if __name__ == "__main__":
    main()
