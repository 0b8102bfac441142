#!/usr/bin/env python3
"""Plants faults into a copy of the product, one at a time, and counts the simulated histories until each is found.

  faults.py               all of them, in a copy below build/sim-faults; prints a table
  faults.py --only NAME…  these
  faults.py --most K      gives a fault up after K histories (default 120)
  faults.py --check       only that every text occurs exactly once: nothing is built

Most faults are mutations of tests/mutation; the others stand here in the same form, with no test of their own. Leaves with
1 if a fault does not fit the source, does not compile, or is not found."""

# clock: whole file: nothing here measures time

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "sim-faults" / "src"
sys.path.insert(0, str(ROOT / "tests" / "mutation"))
from mutations import MUTATIONS, Mutation  # noqa: E402

SHARED = ["commit-before-mark", "memory-first", "append-once", "second-answer", "deny-first", "strangers", "one-sender", "repeat-label",
          "lock-before-rename", "file-before-rename", "control-first", "holder-of-another", "identity-marking"]

OWN = [
    Mutation("delivered-when-offered", "chat is delivered only when the lead has acknowledged it", "poller/ledger/deliveries.cpp",
             "UPDATE deliveries SET state = 'offered', method = ?2", "UPDATE deliveries SET state = 'delivered', method = ?2", None),
    Mutation("attempts-not-counted", "a repeat has a label", "poller/ledger/deliveries.cpp",
             "offered_ms = ?3, attempts = attempts + 1 ", "offered_ms = ?3, attempts = 1 ", None),
    Mutation("kept-at-hang-up", "leases return when their holder goes away", "poller/control/verbs_lead.cpp",
             "{ team->delivery().give_back(team->delivery().leases().leave(holder)); }", "{ static_cast<void>(team), static_cast<void>(holder); }", None),
    Mutation("written-although-not", "a reply is written when it stands in the box", "poller/effects/outbox.cpp",
             "      if (arrived(result.put)) {\n", "      if (arrived(result.put) || row.id > 0) {\n", None),
    Mutation("never-written-again", "a reply that a peer destroyed is written again", "poller/effects/outbox.cpp",
             "ended.emplace_back(std::move(one), Ending::overwritten); break;", "ended.emplace_back(std::move(one), Ending::consumed); break;", None),
    Mutation("ledger-not-synced", "a commit survives a power failure", "poller/ledger/open.cpp",
             "PRAGMA synchronous = FULL;", "PRAGMA synchronous = OFF;", None),
    Mutation("file-not-synced", "a new file is on the disk before its name", "poller/filesystem.cpp",
             "  if (status.ok()) status = files.sync(file);\n", "", None),
    Mutation("stamp-of-the-file-only", "an emptied box is written to even if the clock was set back", "poller/mailbox/arrays/array_appends.cpp",
             "snapshot.settled || (is_odd && stays", "snapshot.settled || (false && stays",
             None),
]


def chosen(names):
    shared = [one for one in MUTATIONS if one.name in SHARED]
    return [one for one in shared + OWN if not names or one.name in names]


def unfit(faults):
    problems = [f"{one.name}: its text does not occur exactly once in {one.file}" for one in faults
                if (ROOT / one.file).read_text("utf-8").count(one.before) != 1]
    missing = set(SHARED) - {one.name for one in MUTATIONS}
    return problems + [f"{name}: tests/mutation has no such mutation" for name in sorted(missing)]


def make_copy():
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], stdout=subprocess.PIPE, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        source, target = ROOT / name, COPY / name
        if not source.is_file() or (target.exists() and target.read_bytes() == source.read_bytes()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def build():
    return subprocess.run(["cmake", "--build", str(COPY / "build" / "dev"), "--target", "simulate"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def program():
    return next(path for path in (COPY / "build" / "dev").rglob("simulate") if path.is_file())


def play(most):
    """How the first `most` histories end: (count until a violation or None, its text)."""
    kept = COPY.parent / "simulate"
    shutil.copy2(program(), kept)
    memory = {"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {}
    done = subprocess.run([str(kept), "--seed", "1", "--histories", str(most)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", env={**os.environ, **memory}, check=False)
    if done.returncode == 0:
        return None, ""
    found = re.search(r"after (\d+) histories", done.stdout)
    first = re.search(r"violated: (.*)", done.stdout)
    return (int(found.group(1)) if found else 0), (first.group(1) if first else "the program ended: " + done.stdout[-200:])


def try_one(fault, most):
    path = COPY / fault.file
    original = path.read_text("utf-8")
    try:
        path.write_text(original.replace(fault.before, fault.after), "utf-8")
        built = build()
        if built.returncode != 0:
            return "does not compile", built.stdout[-1500:]
        count, what = play(most)
    finally:
        path.write_text(original, "utf-8")
    return ("not found" if count is None else str(count)), what


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--most", type=int, default=120)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    faults = chosen(given.only)
    problems = unfit(faults)
    if problems or given.check:
        print("\n".join(problems) or f"{len(faults)} faults fit the source")
        return 1 if problems else 0
    make_copy()
    subprocess.run(["cmake", "--preset", "dev"], cwd=COPY, stdout=subprocess.DEVNULL, check=True)
    bad = 0
    for fault in faults:
        verdict, what = try_one(fault, given.most)
        bad += not verdict.isdigit()
        print(f"| {fault.name} | {fault.protects} | {verdict} | {what[:150]} |", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
