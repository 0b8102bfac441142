"""What must be true after any scenario whatever happened in it: the promise as twelve invariants, each a function.

Judged only from what is on the disk and what the peers noted themselves: inbox files, the ledger (read as a plain SQLite file), the
daemon's logs and exit codes, what the lead received, what the workers wrote. Shares no code with the program. Each function returns
sentences, one for each violation; `violations` runs those that hold at that moment.

  I1  nothing is lost                               I7  no file is written where none belongs
  I2  one decision a request, the same bytes for it    I8  nothing is allowed without a rule or a person
  I3  answers stand before chat of their batch      I9  what is refused is recorded once, with its code
  I4  bytes that are not ours stay as they are      I10 memory and descriptors stay bounded
  I5  marked as read means recorded durably         I11 once the fault is over, what waited goes on
  I6  locks are empty directories, and let go       I12 exit code and last line say how it ended
"""

import collections
import dataclasses
import json
import os
import pathlib
import re
import stat

import ledger
import team as wire

REPLY_IDS = {"permission_response": "request_id", "sandbox_permission_response": "requestId", "plan_approval_response": "requestId"}
OWN_FILES = re.compile(r"state/(ledger\.sqlite3(-wal|-shm|-journal|\.lock|\.saved|-wal\.other)?|quarantine(/.*)?)|control\.sock|control\.sock\.lock")
TEAM_FILES = re.compile(r"config\.json|inboxes|inboxes/[A-Za-z0-9_-]{1,200}\.json")
LOCKS = re.compile(r"(config|inboxes/[A-Za-z0-9_-]{1,200})\.json\.lock")
OWN_LINK = re.compile(r"state/control\.sock(\.new)?")  # where a command finds the socket; what it names may be gone
NEW_LEDGER = re.compile(r"state/ledger\.sqlite3\.new(-wal|-shm|-journal)?")  # until it is complete
LEFT = re.compile(r"(inboxes/)?\.[A-Za-z0-9_-]{1,200}\.json\.ip-[0-9-]+\.tmp")
LAST_WORDS = {0: {"daemon.stopped"}, 1: {"daemon.fault"}, 6: {"daemon.stopped"}}


@dataclasses.dataclass
class World:
    """What a scenario knows when it ends, or when the daemon has just been killed."""
    team: wire.Team
    state: pathlib.Path
    sent: list = dataclasses.field(default_factory=list)          # entries that peers wrote into the lead's inbox, as dicts
    before: dict = dataclasses.field(default_factory=dict)        # inbox file name -> its bytes before the daemon saw them
    received: list = dataclasses.field(default_factory=list)      # {"message_key", "from", "text", "attempts"}, in order
    acknowledged: list = dataclasses.field(default_factory=list)  # (key, how many were received when that was confirmed)
    may_allow: set = dataclasses.field(default_factory=set)       # ids that a rule or a person allows
    expects_refusal: set = dataclasses.field(default_factory=set)  # texts that must not be obeyed
    runs: list = dataclasses.field(default_factory=list)          # (exit code, the bytes of its log)
    samples: list = dataclasses.field(default_factory=list)       # (seconds, resident KiB, open descriptors)

    chat_waits_ms: float = float("inf")                           # for an answer that cannot be written: for good, or as documented
    taken: set = dataclasses.field(default_factory=set)           # (worker, id, text) of answers that workers took and deleted

    def __post_init__(self):
        self.rows = collections.defaultdict(list)
        self.rows["by entry"] = collections.defaultdict(list)

    def read_ledger(self):
        """All rows of this team by table, from a copy, so that looking changes nothing."""
        self.rows = collections.defaultdict(list)
        path = self.state / "ledger.sqlite3"
        if not path.exists():
            return self
        copy = self.state.parent / "ledger-seen"
        for suffix in ("", "-wal"):  # the log is part of the database
            source = pathlib.Path(str(path) + suffix)
            target = pathlib.Path(str(copy) + suffix)
            target.unlink(missing_ok=True)
            if source.exists():
                target.write_bytes(source.read_bytes())
        database = ledger.connect(copy)
        try:
            for table in ledger.VIEWS:
                self.rows[table] = [row for row in ledger.rows(database, table) if row["team"] in ("", self.team.name)]
        finally:
            database.close()
            for suffix in ("", "-wal", "-shm"):
                pathlib.Path(str(copy) + suffix).unlink(missing_ok=True)
        self.rows["by entry"] = collections.defaultdict(list)
        for row in self.rows["messages"]:
            self.rows["by entry"][row["sender"], row["timestamp"], str(decoded(row["entry"]).get("text"))].append(row)
        return self

    def recorded(self, entry):
        """The rows of this entry: the same sender, time (none is the same as an empty one) and text."""
        sender = entry.get("from")
        return self.rows["by entry"].get((sender, as_time(entry), str(entry.get("text"))), []) if isinstance(sender, str) else []

    def replies(self):
        """(worker, id, the text as it stands) of each answer in a worker's inbox, or that it took from there."""
        found = []
        for path in sorted(self.team.inboxes.glob("*.json")):
            if path != self.team.lead_inbox:
                for entry in wire.read_inbox(path) or []:
                    payload = wire.as_payload(entry.get("text")) if isinstance(entry, dict) else None
                    if payload and payload["type"] in REPLY_IDS:
                        found.append((path.stem, payload.get(REPLY_IDS[payload["type"]]), entry["text"]))
        return found + sorted(self.taken.difference(found))


def decoded(raw):
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def as_time(entry):
    value = entry.get("timestamp")
    return value if isinstance(value, str) else ""


def allows(text):
    payload = wire.as_payload(text) or {}
    return payload.get("subtype") == "success" or payload.get("allow") is True or payload.get("approved") is True


def elements(data):
    """The spans of a JSON array's elements as bytes, found by Python's own decoder."""
    text = data.decode("utf-8")
    decoder = json.JSONDecoder(strict=False)
    position = text.index("[") + 1
    found = []
    while True:
        position = re.compile(r"[\s,]*").match(text, position).end()
        if text[position:position + 1] == "]":
            return found
        start, (_, position) = position, decoder.raw_decode(text, position)
        found.append(text[start:position])


ADDED_FLAG = re.compile(r',?\s*"read"\s*:\s*true(?=\s*\}$)')


def own_flag(element):
    """The span of the value of an entry's own `read`, which is not that of an object inside it; None where there is none."""
    decoder = json.JSONDecoder(strict=False)
    space = re.compile(r"[\s,]*")
    span, position = None, 1
    while element.startswith("{"):
        position = space.match(element, position).end()
        if element[position] == "}":
            break
        key, position = decoder.raw_decode(element, position)
        position = re.compile(r"\s*:\s*").match(element, position).end()
        start, (_, position) = position, decoder.raw_decode(element, position)
        span = (start, position) if key == "read" else span
    return span


def without_flag(element, before):
    """An entry's text with its own `read` flag as it was: only that may change in it, or come to its end where there was none."""
    span = own_flag(before)
    if span is None:
        return ADDED_FLAG.sub("", element)
    now = re.compile(r"false|true |true|\"true\"").match(element, span[0])
    return element[:span[0]] + before[span[0]:span[1]] + element[now.end():] if now else element


# --- the invariants ---

def i1_nothing_lost(world):
    problems = []
    received = {m["text"] for m in world.received}
    answered = {(worker, i) for worker, i, _ in world.replies()}
    for entry in world.sent:
        rows = world.recorded(entry)
        if not rows:
            problems.append("not recorded: %s" % entry)
        for row in rows:
            if row["disposition"] == "chat" and entry["text"] not in received:
                problems.append("recorded as %s and never received: %s" % (row["delivery"], entry))
        payload = wire.as_payload(entry["text"]) or {}
        request_id = payload.get("request_id", payload.get("requestId"))
        asker = entry["from"].split("@")[0]
        known = [r for r in world.rows["requests"] if (r["asker"], r["request_id"]) == (asker, request_id)]
        if request_id and entry["text"] not in world.expects_refusal:
            if not known:
                problems.append("a request without a request: %s" % entry)
            elif known[0]["state"] not in ("received", "pending") and (wire.inbox_name(asker), request_id) not in answered:
                problems.append("%s is %s, and its worker has no answer" % (request_id, known[0]["state"]))
    for sender in {e["from"] for e in world.sent}:
        wanted = [e["text"] for e in world.sent if e["from"] == sender and any(r["disposition"] == "chat" for r in world.recorded(e))]
        first = list(dict.fromkeys(m["text"] for m in world.received if m["from"] == sender))
        if [t for t in first if t in wanted] != [t for t in dict.fromkeys(wanted) if t in first]:
            problems.append("chat of %s out of order: %s" % (sender, first))
    return problems


def i2_one_decision(world):
    problems = []
    decided = collections.Counter(h["message_key"] or h["request_id"] for h in world.rows["history"] if h["event"] == "request.decided")
    problems += ["%s was decided %d times" % item for item in decided.items() if item[1] > 1]
    texts = collections.defaultdict(set)
    for row in world.rows["outbox"]:
        payload = wire.as_payload(decoded(row["entry"]).get("text")) or {}
        if row["request_id"] and payload.get("type") in REPLY_IDS:
            texts[row["inbox"], row["request_id"]].add(decoded(row["entry"])["text"])
    written = collections.Counter()
    used_twice = {(wire.inbox_name(m["sender"]), m["request_id"]) for m in world.rows["messages"] if m["code"] == "request.id_reused"}
    for worker, request_id, text in world.replies():
        payload = wire.as_payload(text) or {}
        if (worker, request_id) in used_twice and not (payload.get("subtype") == "success" or payload.get("allow") or payload.get("approved")):
            continue  # what a worker is told that used an id twice: no answer to the first of the two
        texts[worker, request_id].add(text)
        written[worker, request_id] += 1
    problems += ["%d different answers to %s: %s" % (len(t), i, sorted(t)) for i, t in texts.items() if len(t) > 1]
    problems += ["%d answers in %s's inbox to %s" % (n, *who) for who, n in written.items() if n > 1]
    seen = set()
    confirmed = {key: moment for key, moment in world.acknowledged}
    for number, message in enumerate(world.received):
        key = message["message_key"]
        if key in seen and message["attempts"] < 2:
            problems.append("received again without a label: %s" % message)
        if key in confirmed and number >= confirmed[key]:
            problems.append("received after its acknowledgment was confirmed: %s" % message)
        seen.add(key)
    return problems


def i3_answers_first(world):
    """A batch's answers are on the disk before its chat is offered, or have been tried for as long as chat waits."""
    times, after = {}, float("inf")
    for row in reversed(world.rows["history"]):
        after = min(after, row["at_ms"])  # what was recorded later was later, whatever somebody did to the clock in between
        times[row["event"], row["message_key"]] = after
    owed = [(row["batch"], times.get(("reply.written", row["key"]), float("inf")), row) for row in world.rows["outbox"]
            if wire.as_payload(decoded(row["entry"]).get("text"))]
    problems = []
    for message in world.rows["messages"]:
        if message["attempts"] == 0 or message["disposition"] != "chat":
            continue
        # The first time: a line, where it was offered again since. What was owed later than that is from before the clock was put back.
        offered = times.get(("delivery.offered", message["key"]), message["offered_ms"])
        late = [row for batch, written, row in owed if batch <= message["batch"] and row["created_ms"] <= offered < written and
                row["created_ms"] > offered - world.chat_waits_ms]
        problems += ["chat %s went out before the answer to %s" % (message["key"], row["request_id"]) for row in late]
    return problems


def i4_foreign_bytes(world):
    problems = []
    for name, before in world.before.items():
        path = world.team.inboxes / name
        if not path.exists():
            problems.append("%s is gone" % name)
            continue
        try:
            old, new = elements(before), elements(path.read_bytes())
        except (ValueError, IndexError) as problem:
            problems.append("%s does not parse any more: %s" % (name, problem))
            continue
        kept = new[:len(old)]
        wrong = [(o, n) for o, n in zip(old, kept) if without_flag(n, o) != o]
        if wrong or len(kept) < len(old):
            problems.append("%s: entries changed, or are gone: %s" % (name, wrong or "%d of %d left" % (len(kept), len(old))))
        if path != world.team.lead_inbox and kept != old:
            problems.append("%s: a worker's entries were marked" % name)
        if path == world.team.lead_inbox and len(new) > len(old):
            problems.append("%s: we wrote into the lead's inbox" % name)
        if any(o.count("true") > n.count("true") for o, n in zip(old, kept)):
            problems.append("%s: a read flag was taken back" % name)
    return problems


def i5_read_means_recorded(world):
    before = world.before.get(world.team.lead_inbox.name)
    was_read = [bool(decoded(e).get("read")) for e in elements(before)] if before else []
    problems = []
    for number, entry in enumerate(wire.read_inbox(world.team.lead_inbox) or []):
        if not isinstance(entry, dict) or entry.get("read") is not True or (number < len(was_read) and was_read[number]):
            continue
        bare = {k: v for k, v in entry.items() if k != "read"}
        if not world.recorded(entry) and not any(bare == {k: v for k, v in decoded(r["entry"]).items() if k != "read"}
                                                 for r in world.rows["messages"] if r["disposition"] == "malformed"):
            problems.append("marked as read, and not recorded: %s" % entry)
    return problems


def i6_locks(world, over=True):
    problems = []
    for folder in (world.team.folder, world.team.inboxes):
        for path in folder.glob("*.lock"):
            if not stat.S_ISDIR(path.lstat().st_mode) or list(path.iterdir()):
                problems.append("%s is not an empty directory" % path)
            elif over:
                problems.append("%s is still held" % path)
    return problems


def i7_files(world, over=True):
    problems = []
    base = world.state.parent
    for path in sorted(world.team.folder.rglob("*")):
        name = path.relative_to(world.team.folder).as_posix()
        is_left = not over and LEFT.fullmatch(name)  # of a process that was killed just then
        if not (TEAM_FILES.fullmatch(name) or is_left or LOCKS.fullmatch(name)):
            problems.append("a file that belongs to nobody: %s" % path)
    for path in sorted(world.state.rglob("*")):
        name = path.relative_to(base).as_posix()
        if path.is_symlink() and OWN_LINK.fullmatch(name):
            continue
        if not (OWN_FILES.fullmatch(name) or (not over and NEW_LEDGER.fullmatch(name))):
            problems.append("a file that belongs to nobody: %s" % path)
        elif path.stat().st_mode & 0o077:
            problems.append("others may read %s" % path)
    return problems


def i8_no_allow(world):
    return ["%s was allowed, by no rule and no person: %s" % (i, text) for _, i, text in world.replies()
            if allows(text) and i not in world.may_allow]


def i9_refusals(world):
    problems = []
    told = collections.Counter(h["message_key"] for h in world.rows["history"] if h["event"] in ("message.rejected", "message.malformed"))
    for row in world.rows["messages"]:
        refused = row["disposition"] in ("rejected", "malformed")
        if refused and (not row["code"] or not row["reason"]):
            problems.append("refused without a code or a reason: %s" % row["key"])
        if told[row["key"]] != (1 if refused else 0):
            problems.append("%s is %s, and %d events tell a refusal" % (row["key"], row["disposition"], told[row["key"]]))
    for entry in world.sent:
        if entry["text"] in world.expects_refusal and any(r["disposition"] not in ("rejected", "duplicate") for r in world.recorded(entry)):
            problems.append("obeyed, or handed on: %s" % entry)
    return problems


def i10_bounded(world):
    """Descriptors do not grow; memory may for a first quarter, then by no more than a tenth and 4 MiB."""
    settled = world.samples[len(world.samples) // 4:]
    if len(settled) < 8:
        return []
    half = len(settled) // 2
    early, late = settled[:half], settled[half:]
    problems = []
    median = lambda values: sorted(values)[len(values) // 2]  # noqa: E731
    for what, column, room in (("KiB resident", 1, 4096), ("descriptors", 2, 4)):
        first, then = (median([s[column] for s in part]) for part in (early, late))
        if then > first * 1.1 + room:
            problems.append("%s grew from %d to %d" % (what, first, then))
    return problems


def i11_goes_on(world):
    problems = ["still unread: %s" % e for e in wire.read_inbox(world.team.lead_inbox) or []
                if isinstance(e, dict) and e.get("read") is False]
    problems += ["still %s: %s" % (r["delivery"], r["key"]) for r in world.rows["messages"] if r["delivery"] in ("queued", "offered")]
    problems += ["still owed to %s: %s" % (r["inbox"], r["request_id"] or r["key"]) for r in world.rows["outbox"] if r["state"] == "pending"]
    return problems


def i12_last_words(world):
    problems = []
    for code, log in world.runs:
        if code < 0 or code == 137:
            continue  # killed: nobody could say anything
        lines = [line for line in log.split(b"\n") if line]
        if code == 2 and lines and re.match(rb"/[^:]+: ", lines[-1]):
            continue  # the command line's own words: which file or folder, and what about it
        try:
            last = json.loads(lines[-1]).get("event") if lines else None
        except ValueError:
            last = lines[-1]
        if last not in LAST_WORDS.get(code, set()):
            problems.append("left with %d, and its last line is %r" % (code, lines[-1:]))
    return problems


def violations(world, over=True):
    """Every violation, named by its invariant. `over`: the daemon has ended in good order and nothing is in its way any more; otherwise
    it was killed just now, and only what holds at every moment is judged."""
    world.read_ledger()
    always = {"I2": i2_one_decision, "I3": i3_answers_first, "I4": i4_foreign_bytes, "I5": i5_read_means_recorded,
              "I6": lambda w: i6_locks(w, over), "I7": lambda w: i7_files(w, over), "I8": i8_no_allow}
    at_end = {"I1": i1_nothing_lost, "I9": i9_refusals, "I10": i10_bounded, "I11": i11_goes_on, "I12": i12_last_words}
    judges = dict(always, **at_end) if over else always
    return ["%s %s" % (name, problem) for name, judge in judges.items() for problem in judge(world)]
