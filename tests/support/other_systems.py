"""What peers of the other mailbox systems may have written before anybody looked, and what must be true of it after whatever happened:
JSONL lines (Lines) and letters of a maildir (Letters), for the same sweeps as the arrays' (sweep.py).

What an array's file says of a reader has no counterpart here, so the invariants are judged from other traces, and named as in oracle.py:
what is gone from an inbox stands in the ledger (I5), what stood there is recorded once for each time that it stood there (I1), nobody
else's bytes change (I4). Those of the ledger, the lead and the log are the same functions.
"""

import collections
import dataclasses
import json
import os
import random
import re

import oracle
from daemon import Daemon
from jsonl_team import JsonlTeam, line_of
from maildir_team import MaildirTeam
from sweep import POLLS, Scenario
from workload import received

ODD = ("", "", "\u2028cut \u0085 \u2029", " 😀 \u202e", "\n</teammate-message>\n", "x" * 3000)
SINK = '\n[delivery]\nmethods = ["file"]\nfile = "%s"\n'


@dataclasses.dataclass
class Expected:
    """One thing that a peer wrote: its bytes, and how its row in the ledger is known."""
    raw: bytes
    column: str  # of `mail`
    value: str
    disposition: str = "chat"


class OtherWorld(oracle.World):
    """The world of a sweep over another system; `expected` has everything that was written, in its order."""

    def __post_init__(self):
        super().__post_init__()
        self.expected = []

    def rows_of(self, one):
        rows = self.rows["messages"]
        if one.column == "raw":
            return [row for row in rows if bytes(row["raw"] or b"").rstrip(b"\n") == one.raw.rstrip(b"\n")]
        return [row for row in rows if row[one.column] == one.value]


def recorded_once(world, over):
    """As often as it stood there, and never more; when all is over, not less."""
    wanted = collections.Counter((one.column, one.value, one.raw if one.column == "raw" else b"") for one in world.expected)
    problems = []
    for one in world.expected:
        rows = world.rows_of(one)
        count = wanted[one.column, one.value, one.raw if one.column == "raw" else b""]
        if len(rows) > count or (over and len(rows) < count):
            problems.append("%d rows of what stood there %d times: %r" % (len(rows), count, one.raw[:200]))
        problems += ["%s, and should be %s: %r" % (row["disposition"], one.disposition, one.raw[:200]) for row in rows
                     if row["disposition"] != one.disposition]
    if len(world.rows["messages"]) > len(world.expected):
        problems.append("%d rows of %d things that were written" % (len(world.rows["messages"]), len(world.expected)))
    return problems


def chat_received(world):
    texts = {m["text"] for m in world.received}
    return ["recorded as %s and never received: %s" % (row["delivery"], row["text"][:100]) for row in world.rows["messages"]
            if row["disposition"] == "chat" and row["text"] not in texts]


def goes_on(world):
    """oracle.i11_goes_on() without its look into an array."""
    return (["still %s: %s" % (r["delivery"], r["key"]) for r in world.rows["messages"] if r["delivery"] in ("queued", "offered")] +
            ["still owed to %s: %s" % (r["inbox"], r["key"]) for r in world.rows["outbox"] if r["state"] == "pending"])


def ledger_and_lead(world, over):
    """What is judged in every system alike."""
    # What the ledger says of an answer is spelt anew for each system: only what stands in inboxes is compared.
    answers = dataclasses.replace(world)
    answers.rows = collections.defaultdict(list, dict(world.rows, outbox=[]))
    answers.replies = world.replies
    problems = ["I2 " + p for p in oracle.i2_one_decision(answers)] + ["I3 " + p for p in oracle.i3_answers_first(world)]
    problems += ["I1 " + p for p in recorded_once(world, over)]
    if over:
        problems += ["I1 " + p for p in chat_received(world)] + ["I9 " + p for p in oracle.i9_refusals(world)]
        problems += ["I11 " + p for p in goes_on(world)] + ["I12 " + p for p in oracle.i12_last_words(world)]
    return problems


def strangers(world, folder, allowed, over, left):
    """Files where none belongs."""
    base = world.state.parent
    own = re.compile(oracle.OWN_FILES.pattern + r"|state/jsonl(/[a-z]+\.json)?")
    ours = [(p, own) for p in sorted(world.state.rglob("*")) if not p.is_symlink()]
    theirs = [(p, allowed) for p in sorted(folder.rglob("*"))]
    problems = []
    for path, names in ours + theirs:
        name = path.relative_to(base).as_posix()
        if names.fullmatch(name) or (not over and (left.fullmatch(name) or oracle.NEW_LEDGER.fullmatch(name))):
            continue
        problems.append("I7 a file that belongs to nobody: %s" % path)
    return problems


# --- lines ---

LINE_FILES = re.compile(r"\.team(/config\.json|/inbox|/inbox/(lead|alice|bob)\.jsonl)?")
LINE_LEFT = re.compile(r"\.team/inbox/\.lead\.\d+\.inbox-poller|state/jsonl/.*")


class LinesWorld(OtherWorld):
    def replies(self):
        found = []
        for path in sorted(self.team.inbox.glob("*.jsonl")):
            if path.stem != "lead":
                for line in path.read_bytes().split(b"\n"):
                    said = oracle.decoded(line)
                    if said.get("type") == "plan_approval_response" and said.get("from") == "lead":
                        found.append((path.stem, said["request_id"], line.decode()))
        return found


def judge_lines(world, over):
    world.read_ledger()
    problems = ledger_and_lead(world, over)
    standing = [line for path in world.team.inbox.iterdir() if "lead" in path.name for line in path.read_bytes().split(b"\n")]
    there = collections.Counter(standing)
    wanted = collections.Counter(one.raw for one in world.expected)
    for one in world.expected:
        if there[one.raw.rstrip(b"\n")] + len(world.rows_of(one)) < wanted[one.raw]:
            problems.append("I5 gone from the inbox and not recorded: %r" % one.raw[:200])
    for name, before in world.before.items():
        now = world.team.path(name).read_bytes()
        if not now.startswith(before):
            problems.append("I4 somebody else's lines in %s changed" % name)
        if any(not oracle.decoded(line) for line in now[len(before):].split(b"\n") if line):
            problems.append("I4 a line of ours in %s that nobody can read: %r" % (name, now[-200:]))
    answered = {i for _, i, _ in world.replies()}
    problems += ["I8 approved by no rule: %s" % i for i in answered - world.may_allow]
    if over:
        problems += ["I1 no answer to %s" % r["request_id"] for r in world.rows["requests"] if r["request_id"] not in answered]
    return problems + strangers(world, world.team.folder, LINE_FILES, over, LINE_LEFT)


class LinesWorkload:
    def __init__(self, seed, team, state, size):
        self.choose = random.Random(seed)
        self.world = LinesWorld(team, state)
        self.number = 0
        self.lines = []
        for _ in range(size):
            self.choose.choice((self.chat, self.chat, self.plan, self.plan, self.repeat, self.broken, self.order, self.unknown))()

    def put(self, raw, column, value, disposition="chat"):
        self.lines.append(raw)
        self.world.expected.append(Expected(raw, column, value, disposition))

    def say(self, content, kind="message", sender=None, **extra):
        return line_of(sender or self.choose.choice(("alice", "bob")), content, kind, **extra)

    def next(self, prefix):
        self.number += 1
        return "%s-%d" % (prefix, self.number)

    def chat(self):
        text = self.next("chat") + self.choose.choice(ODD)
        self.put(self.say(text, self.choose.choice(("message", "broadcast"))), "text", text)

    def plan(self):
        request_id = "%08x" % (self.number + 0x1000)
        self.number += 1
        self.world.may_allow.add(request_id)
        self.put(self.say("", "plan_approval_response", request_id=request_id, plan="1. " + self.next("step")), "request_id", request_id,
                 "control")

    def repeat(self):
        """Two equal lines are two messages."""
        said = [one for one in self.world.expected if one.disposition == "chat"]
        if said:
            one = self.choose.choice(said)
            self.put(one.raw, one.column, one.value)

    def broken(self):
        self.put(self.choose.choice((b"17", b'{"type": "message", "from": "al', b"[]", b"\xff\xfe no text")) + b"%d\n" % len(self.lines),
                 "raw", "", "malformed")

    def order(self):
        """What only a lead may say."""
        self.put(self.say(self.next("order"), "shutdown_request", request_id="%08x" % len(self.lines)), "raw", "", "malformed")

    def unknown(self):
        self.put(self.say(self.next("future"), "from_the_future"), "raw", "", "chat")

    def write(self):
        team = self.world.team
        team.path("lead").write_bytes(b"".join(self.lines))
        other = line_of("bob", "between us", to="alice")
        team.path("alice").write_bytes(other)
        self.world.before = {"alice": other}
        return self.world


class Lines(Scenario):
    parts = ("state", ".team", "lead.jsonl")

    def fill(self):
        team = JsonlTeam(self.folder)
        team.folder.chmod(0o700)
        team.inboxes = team.inbox  # what sweeps that know arrays look into
        self.daemon = Daemon(os.environ["INBOX_POLLER"], self.folder,
                             team.toml(plans="approve", more=SINK % (self.folder / "lead.jsonl")), polls=POLLS)
        return LinesWorkload(self.seed, team, self.daemon.state, self.size)

    def put_back(self):
        """An inbox that was not emptied has the number and the change time that the daemon's record of it names."""
        for path in (self.folder / "state" / "jsonl").glob("*.json"):
            try:
                records = json.loads(path.read_bytes())
            except ValueError:
                continue  # torn; that is what is tried
            for name, record in records.items():
                mark, inbox = record.get("emptying"), self.world.team.path(name)
                if mark and inbox.exists() and inbox.stat().st_size == mark["size"]:
                    mark.update(inode=inbox.stat().st_ino, ctime_ns=inbox.stat().st_ctime_ns)
            path.write_text(json.dumps(records))

    def judge(self, over):
        return judge_lines(self.world, over)


# --- letters ---

LETTER_FILES = re.compile(r"shared(/tmp|/(boss|ada|bob)(/(new|cur)(/[^/]+\.json)?)?|/tasks(/(open|claimed|done|dead)(/[^/]+)?(/[^/]+\.json)?)?)?")
LETTER_LEFT = re.compile(r"shared/tmp/\.ip-[0-9a-f]+\.tmp")


class LettersWorld(OtherWorld):
    tasks = ()

    def replies(self):
        return []


def judge_letters(world, over):
    world.read_ledger()
    problems = ledger_and_lead(world, over)
    root = world.team.root
    new, cur = ({p.read_bytes(): p for p in (root / "boss" / where).glob("*.json")} for where in ("new", "cur"))
    for one in world.expected:
        if (one.raw in new) == (one.raw in cur):
            problems.append("I4 a letter that stands %s: %r" % ("in both places" if one.raw in new else "nowhere", one.raw[:200]))
        if one.raw in cur and not world.rows_of(one):
            problems.append("I5 taken and not recorded: %r" % one.raw[:200])
        if over and one.raw in new:
            problems.append("I11 still unread: %r" % one.raw[:200])
    for path, before in world.before.items():
        if (root / path).read_bytes() != before:
            problems.append("I4 somebody else's file changed: %s" % path)
    for task in world.tasks:
        places = [p for p in root.glob("tasks/**/*.json") if task.encode() in p.read_bytes()]
        if not places or (over and len(places) > 1):
            problems.append("I1 task %s stands in %s" % (task, [str(p.relative_to(root)) for p in places]))
    return problems + strangers(world, root, LETTER_FILES, over, LETTER_LEFT)


class LettersWorkload:
    def __init__(self, seed, team, state, size):
        self.choose = random.Random(seed)
        self.world = LettersWorld(team, state)
        self.letters = []
        for _ in range(size):
            self.choose.choice((self.chat, self.chat, self.typed, self.resent, self.same_id, self.nobody, self.stranger))()

    def put(self, text, column="text", disposition="chat", says=None, **fields):
        number = len(self.letters) + 1
        letter = {"id": "%032x" % number, "from": self.choose.choice(("ada", "bob")), "to": "boss", "type": "message",
                  "payload": text, "ts": 1_780_000_000.0 + number}
        letter.update(fields)
        letter = {key: value for key, value in letter.items() if value is not None}
        raw = json.dumps(letter, indent=2, sort_keys=True).encode()
        self.letters.append((letter, raw))
        self.world.expected.append(Expected(raw, column, says or text, disposition))
        return letter

    def chat(self):
        self.put("letter-%d" % len(self.letters) + self.choose.choice(ODD))

    def typed(self):
        number = len(self.letters) + 1
        text = "handoff, id %032x: " % number + '{"n":%d}' % number
        self.put({"n": number}, says=text, type="handoff")

    def resent(self):
        """The same message in a file of another name: a store sends again what was not answered."""
        if not self.letters:
            return
        letter, raw = self.choose.choice([one for one in self.letters])
        if letter.get("from") and not any(again.get("resent") == letter["id"] for again, _ in self.letters):
            self.letters.append((dict(letter, resent=letter["id"]), json.dumps(letter, sort_keys=True).encode()))

    def same_id(self):
        """Under an id that another one has, with something else to say."""
        if self.letters:
            self.put("other-%d" % len(self.letters), id="%032x" % 1)

    def nobody(self):
        self.put("from nobody %d" % len(self.letters), column="raw", disposition="malformed", **{"from": None})

    def stranger(self):
        """Whoever writes is a member."""
        self.put("script-%d" % len(self.letters), **{"from": "script"})

    def write(self):
        team, root = self.world.team, self.world.team.root
        for number, (letter, raw) in enumerate(self.letters):
            name = "msg_%s.json" % letter["id"] if number % 5 == 4 and "resent" not in letter else "%020d-%d.json" % (number, number)
            if (root / "boss/new" / name).exists():
                name = "again-%d.json" % number
            (root / "boss/new" / name).write_bytes(raw)
        team.stores["ada"].send("bob", "message", "between us")
        claimed = team.stores["bob"].post("over")
        team.stores["ada"].claim(-60)
        waiting = team.stores["bob"].post("open")
        self.world.tasks = (claimed["id"], waiting["id"])
        self.world.before = {str(p.relative_to(root)): p.read_bytes() for p in root.glob("bob/new/*.json")}
        return self.world


class Letters(Scenario):
    parts = ("state", "shared", "lead.jsonl")

    def fill(self):
        team = MaildirTeam(self.folder)
        team.folder, team.inboxes = team.root, team.root / "boss"
        for where in ("new", "cur"):
            (team.inboxes / where).mkdir(parents=True)
        self.daemon = Daemon(os.environ["INBOX_POLLER"], self.folder, team.toml(more=SINK % (self.folder / "lead.jsonl")), polls=POLLS)
        return LettersWorkload(self.seed, team, self.daemon.state, self.size)

    def judge(self, over):
        return judge_letters(self.world, over)


OTHERS = {"lines": Lines, "letters": Letters}
