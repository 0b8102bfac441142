"""A lead's inbox as a hostile peer leaves it, entry by entry, and what became of each: one run of the daemon judges a whole table.

A case is an entry with its name and its expected end. The entries are written in one go, the daemon runs for some polls and ends by
itself, and the ledger's rows are compared with the cases one by one, in the order of the file, bytes included. Beside that the
oracle judges the whole run. Every case has a time stamp of its own, so that none is another's duplicate.
"""

import dataclasses
import os
import re

import ledger
import oracle
import team as wire
from daemon import LIMIT_S, Daemon, team_toml
from workload import received

CHAT, STATUS, BAD = ("chat", ""), ("status", ""), ("malformed", "entry.field")
LONE = re.compile("[\ud800-\udfff]")


def refused(code):
    return ("rejected", code)


@dataclasses.dataclass
class Case:
    name: str
    raw: bytes             # the entry as it stands in the file
    ends: tuple            # (disposition, code); of a request ("control", state of the request)
    text: str = None       # what the lead must read of it, None if nobody looks
    entry: dict = None     # the same for the oracle, None where Python cannot hold it


class Attack:
    """The cases for one team."""

    def __init__(self, folder, name="demo", members=("ada", "bob"), **toml):
        self.team = wire.Team(folder / "teams", name, members)
        self.sink = folder / ("lead-%s.jsonl" % name)
        toml["more"] = toml.get("more", "") + '\n[delivery]\nmethods = ["file"]\nfile = "%s"\n' % self.sink
        self.toml = team_toml(self.team, **toml)
        self.cases = []
        self.may_allow = set()

    def time(self):
        seconds, rest = divmod(len(self.cases), 1000)
        return "2026-02-%02dT%02d:%02d:%02d.%03dZ" % (1 + seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60, seconds % 60, rest)

    def say(self, name, sender, payload, ends, allowed=None, **envelope):
        """A well-formed entry around this text or payload; `allowed` is the id that this may allow."""
        text = payload if isinstance(payload, str) else wire.stringify(payload)
        entry = dict(wire.entry(sender, text, timestamp=self.time()), **envelope)
        self.cases.append(Case(name, wire.stringify(entry).encode(), ends, LONE.sub("\ufffd", text) if ends == CHAT else None, entry))
        if allowed:
            self.may_allow.add(allowed)

    def raw(self, name, raw, ends, text=None):
        """An entry's bytes; @ stands for the place of the time stamp."""
        raw = raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass")
        self.cases.append(Case(name, raw.replace(b"@", self.time().encode()), ends, text))

    def write(self):
        self.before = b"[\n  " + b",\n  ".join(case.raw for case in self.cases) + b"\n]"
        self.team.lead_inbox.write_bytes(self.before)
        self.team.lead_inbox.chmod(0o600)

    def world(self, state):
        world = oracle.World(self.team, state)
        world.sent = [case.entry for case in self.cases if case.entry]
        world.expects_refusal = {case.entry["text"] for case in self.cases if case.entry and case.ends[0] == "rejected"}
        world.may_allow = self.may_allow
        world.received = received(self.sink)
        return world


def run(test, folder, *attacks, polls=3):
    """Runs the daemon over all of them; its exit code must be 0. Returns it with its log."""
    for attack in attacks:
        attack.write()
    test.daemon = Daemon(os.environ["INBOX_POLLER"], folder, *(a.toml for a in attacks), polls=polls)
    code = test.daemon.spawn().process.wait(LIMIT_S)
    test.assertEqual(code, 0, test.daemon.tail())
    return test.daemon


def only_flags_changed(test, attack):
    """I4 in bytes, for no reader of Python's takes everything that stands there: the file is as it was but for its entries' own flags."""
    after = attack.team.lead_inbox.read_bytes()
    position = 4
    for case in attack.cases:
        added = case.raw[:-1] + (b"," if len(case.raw) > 2 else b"") + b'"read":true}'
        flags = [case.raw[:m.start(1)] + true + case.raw[m.end(1):] for true in (b"true ", b"true") for m in re.finditer(rb'"read"\s*:\s*(false|null|17|"false"|[{][}]|\[\])', case.raw)]
        now = next((v for v in (case.raw, added, *flags) if after[position:].startswith((v + b",\n", v + b"\n]"))), None)
        test.assertIsNotNone(now, "%s became %r" % (case.name, after[position:position + 300]))
        position += len(now) + 4
    test.assertEqual(len(after), position - 2)


def compare(test, attack, world):
    """Every case has ended as it should: recorded once, in its order, with its bytes, code and, if chat, its words."""
    rows = [r for r in world.rows["messages"] if r["team"] == attack.team.name and r["inbox"] == attack.team.lead
            and not (r["disposition"] == "chat" and r["type"].endswith("_requested"))]  # what the lead is asked is our own
    test.assertEqual(len(rows), len(attack.cases), "a row for each entry")
    states = {(r["kind"], r["request_id"]): r["state"] for r in world.rows["requests"] if r["team"] == attack.team.name}
    texts = {m["message_key"]: m["text"] for m in world.received}
    for case, row in zip(attack.cases, rows):
        with test.subTest(case.name):
            ends = (row["disposition"], row["code"])
            if ends[0] == "control":
                ends = ("control", next((s for (_, i), s in states.items() if i == row["request_id"]), None))
            test.assertEqual(ends, case.ends, row["reason"])
            if ends[0] in ("rejected", "malformed"):
                test.assertEqual(bytes(row["raw"]), case.raw)
            else:
                test.assertTrue(ledger.says_all_of(row, case.raw), case.raw)
            if ends[0] in ("rejected", "malformed"):
                test.assertTrue(row["reason"])
                test.assertLess(len(row["reason"]), 1500)
            if case.text is not None:
                test.assertEqual(texts.get(row["key"]), case.text)
    owed_to = {r["inbox"] for r in world.rows["outbox"] if r["team"] == attack.team.name}
    members = {wire.inbox_name(m["name"]) for m in attack.team.roster()["members"]}
    test.assertLessEqual(owed_to, members, "nothing is written to who is no member")
    test.assertLessEqual({p.stem for p in attack.team.inboxes.glob("*.json")}, members)
