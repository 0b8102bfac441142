"""A team's folder as its peers keep it: roster, inboxes, locks, entries. The second, independent reading of docs/reference/protocol.md.

Nothing here shares code or constants with the program under test; where the two disagree, one of them is wrong.
Python 3.9 or newer, standard library only.
"""

import datetime
import json
import os
import pathlib
import random
import re
import string
import time
import uuid

ERA1 = "2.1.50"   # flags entries as read, rewrites in place, one attempt at the lock
ERA2 = "2.1.329"  # deletes what it consumed, replaces by rename, retries the lock

ONCE = ()                                                       # 2.1.50: a held lock loses the message
LADDER = (5, 10, 20, 40, 80, 100, 100, 100, 100, 100)           # 2.1.329, milliseconds
PATIENT = LADDER + (100,) * 250                                 # a test's own writer that must not lose anything
STALE_SECONDS = 10.0


def now_iso():
    now = datetime.datetime.now(datetime.timezone.utc)
    return now.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (now.microsecond // 1000)


def now_ms():
    return int(time.time() * 1000)


def stringify(value, indent=None):
    """JSON.stringify: non-ASCII as it is, a lone surrogate as its escape."""
    separators = (",", ": ") if indent else (",", ":")
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", lambda m: "\\u%04x" % ord(m.group()), text)


def inbox_name(member):
    """What clients make of a name: each UTF-16 unit that is none of these becomes a hyphen."""
    return re.sub("[^A-Za-z0-9_-]", lambda m: "-" * (len(m.group().encode("utf-16-le", "surrogatepass")) // 2), member)


def short_id():
    return "".join(random.choices(string.ascii_lowercase + string.digits, k=7))


class Locked(Exception):
    """ELOCKED: somebody else holds the lock, and our attempts are used up."""


class Lock:
    """proper-lockfile's protocol: a directory made by mkdir, stale after ten seconds without a new mtime, nothing inside."""

    def __init__(self, path, retries=LADDER, met=lambda: None):
        self.path = str(path) + ".lock"
        self.retries = retries
        self.met = met  # called when somebody else holds it

    def _attempt(self):
        for _ in range(2):
            try:
                os.mkdir(self.path)
                return True
            except FileExistsError:
                try:
                    age = time.time() - os.stat(self.path).st_mtime  # clock: a peer's rule for a stale lock is an age
                except FileNotFoundError:
                    continue
                if age <= STALE_SECONDS:
                    return False
                try:
                    os.rmdir(self.path)
                except FileNotFoundError:
                    pass
        return False

    def __enter__(self):
        for pause in (0,) + tuple(self.retries):
            time.sleep(pause / 1000)  # clock: the pauses between the tries of the peers' lock library
            if self._attempt():
                return self
            self.met()
        raise Locked(self.path)

    def __exit__(self, *_):
        try:
            os.rmdir(self.path)
        except FileNotFoundError:
            pass


def entry(sender, text, era=ERA2, summary=None, color=None, timestamp=None):
    """One envelope with its keys in the order the real client writes them."""
    result = {"from": sender, "text": text}
    if summary:
        result["summary"] = summary
    result["timestamp"] = timestamp or now_iso()
    if color:
        result["color"] = color
    if era != ERA1:
        result.update({"msgV": 1, "msg_id": str(uuid.uuid4()), "type": "message"})
    result["read"] = False
    return result


def replace(path, text):
    """2.1.329's way to write: a temporary file beside it, then rename. Readers never see half a file."""
    temporary = "%s.tmp.%08x" % (path, random.getrandbits(32))
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(temporary, path)


def rewrite(path, text):
    """2.1.50's way: truncate and write. A reader may meet an empty or half file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read_inbox(path):
    """The entries, or None while the file does not parse (a writer at work, or damage)."""
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except FileNotFoundError:
        return []
    except ValueError:
        return None
    return value if isinstance(value, list) else None


def append(path, new_entry, era=ERA2, retries=None, met=lambda: None):
    """Appends under the lock as a client of this era does. Raises Locked when the message was not written."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        rewrite(path, "[]")
    except FileExistsError:
        pass
    if retries is None:
        retries = ONCE if era == ERA1 else LADDER
    with Lock(path, retries, met):
        entries = read_inbox(path)
        for _ in range(5):
            if entries is not None:
                break
            time.sleep(0.02)  # clock: the pause between two tries of a reader; they are counted
            entries = read_inbox(path)
        text = stringify((entries or []) + [new_entry], indent=2)
        (rewrite if era == ERA1 else replace)(path, text)


def consume(path, era=ERA2):
    """Takes what is unread, as a worker of this era does. Raises Locked when era 1 meets a held lock."""
    entries = read_inbox(path)
    if not entries:
        return []
    with Lock(path, ONCE if era == ERA1 else LADDER):
        entries = read_inbox(path)
        if not entries:
            return []
        taken = [e for e in entries if isinstance(e, dict) and not e.get("read")]
        if era == ERA1:
            if taken:
                for e in taken:
                    e["read"] = True
                rewrite(path, stringify(entries, indent=2))
        else:
            replace(path, "[]")
            taken = [e for e in taken if valid_for_era2(e)]
        return taken


def edit_roster(config, change, era=ERA2, retries=PATIENT):
    """Changes config.json under its lock as a client of this era does: the older in place, the newer by rename."""
    with Lock(config, retries):
        with open(config, encoding="utf-8") as file:
            roster = json.load(file)
        change(roster)
        (rewrite if era == ERA1 else replace)(config, stringify(roster, indent=2))


def valid_for_era2(e):
    return all(isinstance(e.get(k), str) for k in ("from", "text", "timestamp")) and e.get("read") is not None


class Team:
    """Builds and reads one team's folder."""

    def __init__(self, root, name="demo", members=("worker-1",), era=ERA2, lead="team-lead", cwd="/work"):
        self.root = pathlib.Path(root)
        self.name = name
        self.lead = lead
        self.era = era
        self.folder = self.root / name
        self.inboxes = self.folder / "inboxes"
        self.inboxes.mkdir(parents=True, mode=0o700, exist_ok=True)
        self.config = self.folder / "config.json"
        created = now_ms()
        colors = ("blue", "green", "yellow", "purple", "orange", "pink", "cyan", "red")
        roster = {"name": name}
        if era == ERA1:
            roster["description"] = "A team made by a test"
        roster.update({"createdAt": created, "leadAgentId": lead + "@" + name, "leadSessionId": str(uuid.uuid4())})
        first = {"agentId": lead + "@" + name, "name": lead, "agentType": "team-lead"}
        if era == ERA1:
            first["model"] = "opus"
        first.update({"joinedAt": created, "tmuxPaneId": "" if era == ERA1 else "leader", "cwd": cwd, "subscriptions": []})
        roster["members"] = [first] + [
            {"agentId": m + "@" + name, "name": m, "agentType": "general-purpose", "model": "sonnet",
             "prompt": "You are " + m, "color": colors[i % len(colors)], "planModeRequired": False, "joinedAt": created,
             "tmuxPaneId": "%%%d" % i, "cwd": cwd, "subscriptions": [], "backendType": "tmux", "isActive": True}
            for i, m in enumerate(members)]
        self.write_roster(roster)

    def write_roster(self, roster):
        replace(self.config, stringify(roster, indent=2))

    def roster(self):
        """The roster as it is; waits out a writer that rewrites in place."""
        for _ in range(50):
            try:
                return json.loads(self.config.read_text("utf-8"))
            except ValueError:
                time.sleep(0.02)  # clock: the pause between two tries of a reader; they are counted
        raise ValueError("%s does not parse" % self.config)

    def member(self, name):
        """This member's roster entry, or None."""
        return next((m for m in self.roster()["members"] if m["name"] == name), None)

    def add_member(self, name, pane="%0", backend="tmux", **more):
        new = {"agentId": name + "@" + self.name, "name": name, "agentType": "general-purpose", "model": "sonnet",
               "prompt": "You are " + name, "color": "blue", "planModeRequired": False, "joinedAt": now_ms(),
               "tmuxPaneId": pane, "cwd": "/work", "subscriptions": [], "backendType": backend, "isActive": True}
        edit_roster(self.config, lambda roster: roster["members"].append(dict(new, **more)))

    def change_member(self, name, **fields):
        edit_roster(self.config, lambda roster: [m.update(fields) for m in roster["members"] if m["name"] == name])

    def remove_member(self, name):
        def remove(roster):
            roster["members"] = [m for m in roster["members"] if m["name"] != name]
        edit_roster(self.config, remove)

    # --- the task list, beside the teams' folder ---

    @property
    def tasks(self):
        return self.root.parent / "tasks" / self.name

    def task_path(self, number):
        return self.tasks / ("%s.json" % number)

    def add_task(self, number, owner=None, status="pending", subject=None, **more):
        """Writes a task as the client does and returns its bytes. The lock's target is a file that stays, `.lock`."""
        self.tasks.mkdir(parents=True, mode=0o700, exist_ok=True)
        task = {"id": str(number), "subject": subject or "Task %s" % number, "description": "What is to be done: grüße 😀",
                "activeForm": "Doing it"}
        if owner:
            task["owner"] = owner
        task.update({"status": status, "blocks": [], "blockedBy": [], "metadata": {}}, **more)
        (self.tasks / ".lock").touch(mode=0o600)
        with Lock(self.tasks / ".lock", PATIENT):
            replace(self.task_path(number), stringify(task, indent=2))
        return self.task_path(number).read_bytes()

    def task(self, number):
        return json.loads(self.task_path(number).read_text("utf-8"))

    def inbox(self, member):
        return self.inboxes / (inbox_name(member) + ".json")

    @property
    def lead_inbox(self):
        return self.inbox(self.lead)

    def say(self, sender, text, to=None, era=None, retries=PATIENT, **envelope):
        """Appends one entry to an inbox, the lead's unless told otherwise, and returns it."""
        era = era or self.era
        new = entry(sender, text if isinstance(text, str) else stringify(text), era, **envelope)
        append(self.inbox(to or self.lead), new, era, retries)
        return new

    def replies(self, member, request_id=None):
        """The entries in a member's inbox that answer this request (or any), in file order."""
        found = []
        for e in read_inbox(self.inbox(member)) or []:
            payload = as_payload(e.get("text"))
            if payload and payload["type"].endswith("_response") and (
                    request_id is None or request_id in (payload.get("request_id"), payload.get("requestId"))):
                found.append(e)
        return found


def as_payload(text):
    """The object inside a text, if it is one that says its type."""
    try:
        value = json.loads(text)
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("type"), str) else None


# What a worker asks, key for key as 2.1.50 and 2.1.329 write it.

def permission_request(worker, tool, tool_input, request_id=None, suggestions=(), description=None):
    return {"type": "permission_request", "request_id": request_id or "perm-%d-%s" % (now_ms(), short_id()),
            "agent_id": worker, "tool_name": tool, "tool_use_id": "toolu_" + uuid.uuid4().hex[:24],
            "description": description or "Run a command", "input": tool_input,
            "permission_suggestions": list(suggestions)}


def sandbox_request(worker, team, host, request_id=None, color="blue"):
    return {"type": "sandbox_permission_request", "requestId": request_id or "sandbox-%d-%s" % (now_ms(), short_id()),
            "workerId": worker + "@" + team, "workerName": worker, "workerColor": color,
            "hostPattern": {"host": host}, "createdAt": now_ms()}


def plan_request(worker, team, plan, request_id=None):
    return {"type": "plan_approval_request", "from": worker, "timestamp": now_iso(),
            "planFilePath": "/home/user/.claude/plans/%s.md" % worker, "planContent": plan,
            "requestId": request_id or "plan_approval-%d@%s@%s" % (now_ms(), worker, team)}


def shutdown_approved(worker, request_id, pane="%0", backend="tmux"):
    return {"type": "shutdown_approved", "requestId": request_id, "from": worker, "timestamp": now_iso(), "paneId": pane,
            "backendType": backend}


def shutdown_rejected(worker, request_id, reason):
    return {"type": "shutdown_rejected", "requestId": request_id, "from": worker, "reason": reason, "timestamp": now_iso()}


# What a real lead writes.

def permission_answer(request, allowed=True):
    answer = {"type": "permission_response", "request_id": request["request_id"]}
    if allowed:
        return dict(answer, subtype="success", response={"updated_input": request["input"], "permission_updates": []})
    return dict(answer, subtype="error", error="Permission denied")


def shutdown_request(worker, request_id=None, sender="team-lead", id_key="requestId"):
    return {"type": "shutdown_request", id_key: request_id or "shutdown-%d@%s" % (now_ms(), worker), "from": sender,
            "reason": "the work is done", "timestamp": now_iso()}


def mode_set_request(mode, sender="team-lead"):
    return {"type": "mode_set_request", "mode": mode, "from": sender}


def team_permission_update(tool, content=None, directory="/repo", named=True):
    rule = {"toolName": tool} if named else {}
    if content is not None:
        rule["ruleContent"] = content
    return {"type": "team_permission_update",
            "permissionUpdate": {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"},
            "directoryPath": directory, "toolName": tool}


def idle_notification(worker, reason="available", summary=None):
    payload = {"type": "idle_notification", "from": worker, "timestamp": now_iso(), "idleReason": reason}
    if summary:
        payload["summary"] = summary
    return payload
