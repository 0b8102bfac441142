#!/usr/bin/env python3
"""The JSON Schemas (2020-12) of what each command prints with --json, made from this one description.

make.py          writes one file a command beside this one
make.py --check  leaves with 1 and names those that are not what this description says

Closed: a field that is not described here is an error. A field that may be left out stands in `maybe`. A document is what the
command is asked for, or why that could not be had (`ok` false, `code`, `message`); `version` is that of the program.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
WIDTH = 125  # columns

TEXT, FLAG = {"type": "string"}, {"type": "boolean"}
COUNT = {"type": "integer", "minimum": 0}
NUMBER = {"type": "integer"}
MS = {"description": "milliseconds, since the Unix epoch where it is a moment; 0: none", **NUMBER}
KIND = {"enum": ["permission", "sandbox", "plan", "stop"]}
ACTION = {"enum": ["allow", "deny", "ask"]}
ROLE = {"enum": ["leader", "front", "observer", "stopped", "standby", "satellite"]}
ANYTHING = {}  # what somebody else wrote, as it came
ENVELOPE = {"type": "object", "description": "a message or a task as its writer spelled it: docs/mailboxes.md"}
MAYBE_ENVELOPE = {"anyOf": [{"type": "null"}, ENVELOPE]}


def one_of(*words):
    return {"enum": list(words)}


def many(item):
    return {"type": "array", "items": item}


def closed(fields, maybe=None):
    return {"type": "object", "properties": {**fields, **(maybe or {})}, "required": sorted(fields), "additionalProperties": False}


def part(name):
    return {"$ref": "#/$defs/" + name}


def texts(names):
    return dict.fromkeys(names.split(), TEXT)


def moments(names):
    return dict.fromkeys(names.split(), MS)


def counts(names):
    return dict.fromkeys(names.split(), COUNT)


DONE = {"ok": {"const": True}, "version": TEXT}
NOT_DONE = closed({"ok": {"const": False}, "version": TEXT, "code": TEXT, "message": TEXT})

ASK = {"kind": KIND, **texts("team request_id member subject tool file body description suggestions state decided_by rule reason message_key"),
       **moments("asked_ms deadline_ms decided_ms")}
WORTH = texts("answers answers_reason")
VALUES = {"input": {"type": "object", "description": "of a permission: the value of the text in `body`, whose bytes are what is approved"},
          "suggested": {"type": "array", "description": "of a permission: the value of the text in `suggestions`"}}
SPREAD = closed({"up_to": many(closed({"ms": MS, "count": COUNT})), "count": COUNT, "sum_ms": MS})
SHUTDOWN = {**texts("team request_id member by reason state backend pane_id left_alone answer tasks detail"), "open": FLAG,
            **moments("requested_ms changed_ms nudge_ms nudged_ms force_ms timeout_ms"), "processes": many(NUMBER)}
MESSAGE = {**texts("team inbox sender type disposition code reason message_key request_id delivery sink confirmed"),
           **moments("received_ms offered_ms delivered_ms"), "attempts": COUNT, "priority": NUMBER}
LEAD = {**texts("member state by session pane not_woken"), **moments("since_ms until_ms")}
SESSION = {"session_file": closed({**texts("client status"), "pid": COUNT, "reads_inbox": FLAG})}  # while the lead's client lives
RULE = {"kind": TEXT, "action": TEXT, "rule": TEXT}
GIVEN = {**RULE, "by": TEXT, "at_ms": MS}

PARTS = {
    "ask": closed(ASK, VALUES),
    "ask_part": closed(texts("part rule missing")),
    "open_ask": closed({**ASK, **WORTH, "folder": TEXT, "parts": many(part("ask_part"))}, {**VALUES, "short_id": TEXT}),
    "ruled": closed({"kind": KIND, **texts("team request_id member subject state rule")}),
    "taken": closed({"ok": {"const": True}, "kind": KIND, **texts("team request_id state member subject")}, {"rule_added": TEXT}),
    "refused": closed({"ok": {"const": False}, **texts("code message request_id")}, {"kind": KIND, "team": TEXT, "member": TEXT}),
    "shutdown": closed(SHUTDOWN),
    "effect": closed({**texts("team inbox state last_problem message_key request_id entry"), "attempts": COUNT, **moments("created_ms next_ms")},
                     {"order": closed({**texts("member kind subject by state"), "state_ms": MS})}),
    "line": closed({"at_ms": MS, **texts("team message_key request_id event detail")}),
    "rule": closed(RULE),
    "given": closed(GIVEN),
    "member": closed({**texts("member doing state detail task mode"), "present": FLAG, **moments("last_seen_ms unread_ms"), "pending": COUNT}, WORTH),
    "team": closed(
        {**texts("team source role_reason"), "role": ROLE, "lead": closed(LEAD, SESSION),
         "inbox": closed({**texts("path state detail"), "compacted": COUNT, "compacted_ms": MS}),
         "roster": closed(texts("state detail")), "members": many(part("member")),
         "asks": closed({"pending": COUNT, "oldest_ms": MS, "oldest_subject": TEXT}),
         "chat": closed({**counts("queued offered delivered assumed expired digest"), "oldest_queued_ms": MS}),
         "delivery": closed({"via": many(closed({"rung": TEXT, "available": FLAG, "chosen": FLAG, "reason": TEXT})), "last_sink": TEXT}),
         "effects_owed": COUNT, "quarantined": COUNT, "locks": closed(counts("acquired refused stale_taken median_us p99_us")),
         "rules": many(part("given")),
         "counted": closed({"decisions": many(closed({**texts("kind outcome"), "by": one_of("rule", "person", "lead", "timeout"), "count": COUNT})),
                            "waits": SPREAD, "accepts": SPREAD}),
         "polls": closed({"last_ms": MS, "late": COUNT, "late_ms": MS, "latest_ms": MS}),
         "shutdowns": many(part("shutdown")), "not_adopted": many(closed({**texts("member mode"), "sent_ms": MS})),
         "phantoms": many(closed({"inbox": TEXT, **counts("entries unread")})), "unserved": many(closed(texts("member reason")))},
        {"ledger_fault": TEXT,
         "hosts": closed({**texts("host id engine leader trouble full"), "epoch": COUNT, "leads": FLAG, "trouble_since_ms": MS, "round_trip_us": COUNT,
                          "worries": many(TEXT),
                          "hosts": many(closed({**texts("host version"), "leads": FLAG, "queued": COUNT, **moments("oldest_ms heard_ms"),
                                                "members": many(TEXT)})),
                          "mail": many(closed({"way": one_of("out", "in"), "stream": TEXT, **counts("waiting put there"), "oldest_ms": MS}))}),
         "tasks": {"anyOf": [closed(counts("open claimed done dead")), closed({"problem": TEXT})]},
         "seen": closed({"consumed": COUNT, "waiting": COUNT, **moments("oldest_waiting_ms longest_ms")})}),
    "message": closed({**MESSAGE, "entry": TEXT}),
    "letter": closed({**texts("message_key team host inbox sender type request_id problem"), "way": one_of("out", "in"),
                      "state": one_of("waiting", "put", "there", "read", "refused"), **moments("state_ms created_ms"),
                      "attempts": COUNT}),
    "said": closed({**MESSAGE, **texts("timestamp text"), "is_cut": FLAG}, {**texts("entry subject"), "letter": part("letter")}),
    "for_lead": closed({**texts("message_key from color summary timestamp type text"), "received_ms": MS, "attempts": COUNT}, {"request_id": TEXT}),
    "finding": closed({"severity": one_of("ok", "note", "warning", "error"), **texts("check what where mend")}),
    "setting": closed({"key": TEXT, "value": ANYTHING, "origin": TEXT}),
    "entry": closed({"message_key": TEXT, "read": FLAG, "type": TEXT}, texts("from timestamp summary text problem entry")),
}


def doc(fields, maybe=None):
    return closed({**DONE, **fields}, maybe)


ANSWERS = closed({"ok": FLAG, "version": TEXT, "answers": many({"anyOf": [part("taken"), part("refused")]}), "answered": many(part("ruled"))})
SETTINGS = doc({"path": TEXT, "changed": FLAG, "diff": TEXT}, {**texts("client why allow"), "hooks_off": many(TEXT)})

# command: the documents that it may print when it could do what it was asked for.
DOCUMENTS = {
    "pending": [doc({"asks": many(part("open_ask")),
                     "reused_ids": many(closed({**texts("team member request_id message_key reason"), "received_ms": MS}))})],
    "approve": [ANSWERS],
    "deny": [ANSWERS],
    "allow": [doc({"rule": TEXT, "is_new": FLAG, "told": many(TEXT), "not_told": TEXT, "role": ROLE, "answered": many(part("ruled"))})],
    "revoke": [doc({"rule": TEXT, "keepers": many(TEXT)})],
    "rules": [
        doc({"team": TEXT, "source": TEXT, "configured": many(part("rule")),
             "session": many(closed({**GIVEN, "told": many(TEXT)}, {"not_told": TEXT}))}),
        doc({**texts("team host tool input member folder rule reason answerer source"), "decision": ACTION, "role": ROLE,
             "parts": many(closed({**texts("part rule reason"), "action": ACTION}))}),
        doc({"team": TEXT, "source": TEXT, "looked_at": COUNT,
             "suggestions": many(closed({**texts("kind rule"), "asks": COUNT, "members": many(TEXT), "last_ms": MS}))})],
    "status": [doc({"pid": COUNT, "started_ms": MS, "ledger": TEXT, "teams": many(part("team")),
                    "configuration": closed({"files": many(TEXT), "folder": TEXT, "daemon_file": TEXT})}), doc({"waits": FLAG, "line": TEXT})],
    "wait": [doc({"team": TEXT, "is_met": FLAG, "met": many(one_of("idle", "closed", "mail", "answered")),
                  "working": many(closed(texts("member doing"))), **counts("present asks mail shutdowns")})],
    "trace": [doc({"messages": many(part("message")),
                   "requests": many(closed({**ASK, "effects": many(part("effect"))}, VALUES)),
                   "shutdowns": many(closed({**SHUTDOWN, "effects": many(part("effect"))})),
                   "effects": many(part("effect")),
                   "letters": many(part("letter")),
                   "history": many(part("line"))})],
    "decisions": [doc({"decisions": many(part("ask"))})],
    "history": [doc({"messages": many(part("said"))})],
    "quarantine": [doc({"entries": many(part("message")), "files": many(closed({"path": TEXT, "size": COUNT, "modified_ms": MS}))})],
    "shutdowns": [doc({"shutdowns": many(part("shutdown"))})],
    "shutdown": [doc({"shutdowns": many(part("shutdown")), "refused": many(closed(texts("member code message")))})],
    "metrics": [doc({"text": TEXT})],
    "doctor": [doc({"errors": COUNT, "warnings": COUNT, "sections": many(closed({"title": TEXT, "team": TEXT, "findings": many(part("finding"))}))}),
               doc({"errors": TEXT, "warnings": TEXT})],
    "send": [doc({"member": TEXT, "message_key": TEXT})],
    "broadcast": [doc({"sent": many(closed(texts("member message_key")))})],
    "assign": [doc(texts("task subject member"))],
    "mode": [doc({"sent": many(closed(texts("member mode")))})],
    "resume": [doc({"team": TEXT, "role": ROLE})],
    "reload": [doc({**dict.fromkeys("added removed changed restart".split(), many(TEXT)), "answered": many(part("ruled"))})],
    "lead": [doc({"team": TEXT, **LEAD, "permissions": FLAG, "mcp_tools": FLAG}, SESSION)],
    "ack": [doc({"acknowledged": COUNT})],
    "check-config": [closed({"ok": FLAG, "version": TEXT, "daemon": many(part("setting")), "warnings": many(TEXT), "problems": many(TEXT),
                             "teams": many(closed({"source": TEXT, "settings": many(part("setting")),
                                                   "members": many(closed(texts("team member answers reason")))}))})],
    "inbox list": [doc({**texts("team folder lead"),
                        "inboxes": many(closed({**texts("inbox path whose state detail"), **counts("entries unread bad size"), "oldest_unread_ms": MS,
                                                "lock": {"anyOf": [{"type": "null"}, closed({"is_folder": FLAG, "age_ms": MS})]}}))})],
    "inbox show": [doc({**texts("team inbox path"), "entries": many(part("entry"))})],
    "inbox unread": [doc({**texts("team inbox path"), "entries": many(part("entry"))})],
    "inbox send": [doc(texts("team inbox path message_key"))],
    "inbox mark-read": [doc({**texts("team inbox path"), "count": COUNT})],
    "inbox clear": [doc({**texts("team inbox path"), "count": COUNT})],
    "box send": [doc({"message": ENVELOPE}, {"new_mailbox": {"const": True}, "note": TEXT})],
    "box recv": [doc({"message": MAYBE_ENVELOPE})],
    "box try-recv": [doc({"message": MAYBE_ENVELOPE})],
    "box inbox": [doc({"actor": TEXT, "unread": COUNT, "messages": many(ENVELOPE),
                       "tasks": closed({**counts("open claimed done dead"), "mine": many(TEXT)})},
                      {"unreadable": many(closed(texts("file reason")))})],
    "box post": [doc({"task": ENVELOPE})],
    "box claim": [doc({"task": MAYBE_ENVELOPE})],
    "box heartbeat": [doc({"task": ENVELOPE})],
    "box complete": [doc({"task": ENVELOPE})],
    "box abandon": [doc({"task": ENVELOPE})],
    "box copy": [doc(counts("actors messages tasks were_there"))],
    "hosts acl": [doc(texts("acl secrets"))],
    "box sweep": [closed({"ok": FLAG, "version": TEXT, "tasks": many(ENVELOPE)})],
    "tasks": [doc({"tasks": many(ENVELOPE)})],
    "tasks show": [doc({"tasks": many(ENVELOPE)})],
    "tasks requeue": [doc({"task": ENVELOPE})],
    "hook install": [SETTINGS],
    "hook uninstall": [SETTINGS],
    "mcp install": [SETTINGS],
    "mcp uninstall": [SETTINGS],
    "recv": [part("for_lead")],  # a line for each message
}


def used(schema, found):
    """The names of the parts that a schema refers to, also through others."""
    if isinstance(schema, dict):
        name = schema.get("$ref", "").rpartition("/")[2]
        if name and name not in found:
            found.add(name)
            used(PARTS[name], found)
        schema = list(schema.values())
    if isinstance(schema, list):
        for one in schema:
            used(one, found)
    return found


def schema_of(command):
    documents = DOCUMENTS[command]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "inbox-poller %s --json" % command,
            "anyOf": [*documents, NOT_DONE], "$defs": {name: PARTS[name] for name in sorted(used(documents, set()))}}


def written(value, indent=0, before=""):
    """JSON in which whatever fits into a line stands in one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(before) + len(line) + indent <= WIDTH or not isinstance(value, (dict, list)):
        return line
    is_object = isinstance(value, dict)
    items = [(json.dumps(key) + ": ", one) for key, one in value.items()] if is_object else [("", one) for one in value]
    lines = ",\n".join(" " * (indent + 1) + key + written(one, indent + 1, key) for key, one in items)
    return ("{\n%s\n%s}" if is_object else "[\n%s\n%s]") % (lines, " " * indent)


def files():
    return {HERE / (command.replace(" ", "-") + ".json"): written(schema_of(command)) + "\n" for command in DOCUMENTS}


def main():
    wanted = files()
    there = set(HERE.glob("*.json"))
    wrong = sorted(path.name for path in there | set(wanted) if path not in wanted or path not in there or path.read_text("utf-8") != wanted[path])
    if "--check" in sys.argv[1:]:
        print("\n".join("not as described: " + name for name in wrong) or "%d schemas" % len(wanted))
        return 1 if wrong else 0
    for path in there - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
