"""What a run of the daemon left on the disk at some moment, to be put back with a fault in it; and what must never come of that."""

import collections
import re
import shutil
import sqlite3

import oracle

PARTS = ("state", "teams")
SINK = "lead.jsonl"


class Moment:
    """What a run left at some moment: the bytes of all its files."""

    def __init__(self, scenario, end=None, whole=False):
        scenario.stage()
        code = scenario.run_with(**({"CALLS_END": end} if end else {}))
        assert code == (137 if end else 0), "it left with %d" % code
        ledger = scenario.daemon.state / "ledger.sqlite3"
        if whole:
            with sqlite3.connect(ledger) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            database.close()
        for path in scenario.folder.rglob("*.lock"):
            path.rmdir() if path.is_dir() else None
        self.files = {path.relative_to(scenario.folder): path.read_bytes() for part in (*PARTS, SINK)
                      for path in [scenario.folder / part, *(scenario.folder / part).rglob("*")] if path.is_file()}
        self.world = scenario.world  # ids in it are new each time it is staged
        self.parts = [p for p in self.files if p.name in ("ledger.sqlite3", "ledger.sqlite3-wal") and self.files[p]]

    def put(self, scenario, flipped=None, byte=0, bit=0):
        """In place of what is there, with that bit of that file the other way round."""
        for what in ("sent", "before", "may_allow", "expects_refusal"):
            setattr(scenario.world, what, getattr(self.world, what))
        for part in PARTS:
            shutil.rmtree(scenario.folder / part, ignore_errors=True)
        (scenario.folder / SINK).unlink(missing_ok=True)
        for path, data in self.files.items():
            if path == flipped:
                data = data[:byte] + bytes([data[byte] ^ 1 << bit]) + data[byte + 1:]
            target = scenario.folder / path
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.write_bytes(data)
            target.chmod(0o600)


def wrongs(world, may_repeat=False):
    """What must never be, by what workers and the lead can read; the ledger itself is no witness here. `may_repeat`: what was decided is
    forgotten, so the same may be decided and told once more."""
    texts, told = collections.defaultdict(set), collections.Counter()
    for worker, request_id, text in world.replies():
        texts[request_id].add(re.sub(r'"timestamp":"[^"]*"', "", text) if may_repeat else text)
        told[worker, request_id] += not may_repeat
    problems = ["different answers to %s: %s" % (i, sorted(t)) for i, t in texts.items() if len(t) > 1]
    problems += ["%d answers to %s" % (n, who) for who, n in told.items() if n > 1]
    payloads = [oracle.wire.as_payload(e["text"]) or {} for e in world.sent]
    asked = {p.get("request_id", p.get("requestId")) for p in payloads}
    problems += ["an answer to %s, which nobody asked" % i for i in texts if i not in asked]
    said = {e["text"] for e in world.sent}
    problems += ["nobody wrote %r" % m["text"] for m in world.received if m["text"] not in said]
    return problems + oracle.i8_no_allow(world) + oracle.i4_foreign_bytes(world)
