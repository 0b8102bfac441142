#!/usr/bin/env python3
"""Counts of the hot paths beside those of the baseline: instructions and allocations under callgrind, system calls under strace,
and the heap in use afterwards.

  instructions.py BUILD_FOLDER     counts and compares: exits with 1 if a path needs over 3 % more of something

Counts do not depend on how busy the machine is, so a regression shows there, too. They are comparable only where the same compiler
and the same libraries made the program; otherwise that is said and nothing is judged.
"""

import json
import os
import pathlib
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

BASELINE = pathlib.Path(__file__).resolve().parent / "hot_paths_baseline.json"
PATHS = {"scan": "scan of an inbox of 1 MB", "idle": "a poll with nothing new behind 1,000 read entries",
         "take_in": "a poll that takes in one message behind 1,000", "decide": "a permission request decided by rule",
         "request": "a poll that takes in a request and writes its answer", "drain": "a poll that takes in 2,000 messages of 1 KB",
         "hand_over": "an offer with the message before acknowledged",
         "boxes": "a poll that reads 1,000 workers' inboxes for the first time", "rest": "a poll of these 1,000 inboxes with nothing new"}
KINDS = {"instructions": "instructions", "allocations": "allocations", "system_calls": "system calls", "heap": "bytes of heap in use"}
MORE_IS_WORSE = 0.03
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "dev" / "performance.md"
BEGIN, END = "<!-- counts: begin -->", "<!-- counts: end -->"
ALLOCATORS = re.compile(r"^(malloc|calloc|realloc|posix_memalign|aligned_alloc|memalign)(@|$)")
BY_CHANCE = {"futex", "madvise", "epoll_wait", "sched_yield", "restart_syscall"}  # of the threads' turns, and of malloc


def made_by(build):
    """What the counts depend on besides our sources."""
    cache = (pathlib.Path(build) / "CMakeCache.txt").read_text()

    def cached(name):
        found = re.search(r"^%s:[A-Z]+=(.*)$" % name, cache, re.M)
        return found.group(1) if found else ""

    compiler = subprocess.run([cached("CMAKE_CXX_COMPILER"), "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    linked = subprocess.run(["ldd", str(pathlib.Path(build) / "hot_paths")], capture_output=True, text=True).stdout
    boost = re.search(r"libboost_json\.so\.([\d.]+)", linked)
    flags = " ".join(cached(name) for name in ("CMAKE_BUILD_TYPE", "CMAKE_CXX_FLAGS", "CMAKE_CXX_FLAGS_RELEASE")).split()
    vectors = re.search(r"\bavx512f\b|\bavx2\b", pathlib.Path("/proc/cpuinfo").read_text())  # the C library chooses by them
    return {"compiler": compiler, "flags": " ".join(flags), "libc": " ".join(platform.libc_ver()), "sqlite": sqlite3.sqlite_version,
            "boost": boost.group(1) if boost else "", "machine": platform.machine() + (" " + vectors.group() if vectors else "")}


def ran(path, command, folder):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=dict(os.environ, TMPDIR=str(folder)))
    if done.returncode != 0:
        raise RuntimeError("hot_paths %s: %s left with %d\n%s" % (path, command[0], done.returncode, done.stderr[-2000:]))
    return done.stderr, done.stdout


def allocations(text):
    """Calls of the allocator from outside of it, of a file of callgrind."""
    calls = caller = called = 0
    for line in text.splitlines():
        if line.startswith("fn="):
            caller = ALLOCATORS.match(line[3:])
        elif line.startswith("cfn="):
            called = ALLOCATORS.match(line[4:])
        elif line.startswith("calls=") and called and not caller:
            calls += int(line[6:].split()[0])
    return calls


def system_calls(text):
    """Calls between the two marks, of a file of strace; what a call was interrupted by counts once."""
    names = re.findall(r"^\d+ +(\w+)\(", text.partition("/hot-path/begin")[2].partition("/hot-path/end")[0], re.M)
    return sum(1 for name in names[:-1] if name not in BY_CHANCE)  # the last one is the second mark


def count(build, path, folder):
    program, counted, traced = str(pathlib.Path(build) / "hot_paths"), *(pathlib.Path(folder) / (one + path) for one in ("callgrind.", "strace."))
    told, _ = ran(path, ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--compress-strings=no",
                      "--callgrind-out-file=%s" % counted, program, path], folder)
    total = re.search(r"Collected : (\d+)", told)
    if not total or int(total.group(1)) == 0:
        raise RuntimeError("hot_paths %s under callgrind counted nothing\n%s" % (path, told[-2000:]))
    found = {"instructions": int(total.group(1)), "allocations": allocations(counted.read_text(errors="replace"))}
    found["heap"] = int(ran(path, [program, path], folder)[1])
    if shutil.which("strace"):
        ran(path, ["strace", "-f", "-o", str(traced), program, path], folder)
        found["system_calls"] = system_calls(traced.read_text(errors="replace"))
    return found


def compare(counts, baseline, maker):
    """[(path, kind, count, before or None, change or None, flagged)], and why nothing was compared (or an empty text)."""
    if not baseline:
        why = "no baseline yet: --update-baseline writes one"
    elif baseline["made_by"] != maker:
        differs = [key for key in maker if baseline["made_by"].get(key) != maker[key]]
        why = "cannot be compared with the baseline: other %s" % ", ".join(
            "%s (%s, then %s)" % (key, maker[key], baseline["made_by"].get(key)) for key in differs)
    else:
        why = ""
    rows = []
    for path, found in counts.items():
        for kind, now in found.items():
            before = None if why else baseline.get(kind, {}).get(path)
            change = (now - before) / before if before else None
            rows.append((path, kind, now, before, change, before is not None and now > before * (1 + MORE_IS_WORSE)))
    return rows, why


def markdown(rows, why):
    lines = ["| hot path | counted | now | baseline | change |", "|---|---|---|---|---|"]
    for path, kind, now, before, change, flagged in rows:
        lines.append("| %s | %s | %s | %s | %s |" % (PATHS[path], KINDS[kind], "{:,}".format(now), "-" if before is None else "{:,}".format(before),
                                                   "-" if change is None else "%+.2f %%%s" % (change * 100, " **more**" if flagged else "")))
    return "\n".join(lines) + ("\n\n" + why[0].upper() + why[1:] + "." if why else "")


def write_page(kinds):
    """The table of the baseline in docs/dev/performance.md; tests/documents.py compares the two."""
    lines = ["| Path | Work | " + " | ".join(name[0].upper() + name[1:] for name in KINDS.values()) + " |", "|---|---|" + "---|" * len(KINDS)]
    for path, work in PATHS.items():
        cells = ["{:,}".format(kinds[kind][path]) if path in kinds[kind] else "-" for kind in KINDS]
        lines.append("| `%s` | %s | %s |" % (path, work, " | ".join(cells)))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.partition(END)[2])


def run(build, folder, update):
    """(table, plain values, what is too much of which path)."""
    if not shutil.which("valgrind"):
        return "valgrind is not installed: no counts.", {"skipped": "no valgrind"}, []
    maker = made_by(build)
    counts = {path: count(build, path, folder) for path in PATHS}
    if update:
        kinds = {kind: {path: found[kind] for path, found in counts.items() if kind in found} for kind in KINDS}
        BASELINE.write_text(json.dumps({"made_by": maker, **kinds}, indent=2) + "\n")
        write_page(kinds)
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else None
    rows, why = compare(counts, baseline, maker)
    return markdown(rows, why), {"made_by": maker, **counts, "not_compared": why,
                                 "changes": {"%s, %s" % row[:2]: row[4] for row in rows}}, [
                                     "%s of \"%s\"" % (KINDS[row[1]], row[0]) for row in rows if row[5]]


def main():
    if not shutil.which("valgrind"):
        print("valgrind is not installed: nothing is counted (deploy/install-deps test)")
        return 77
    with tempfile.TemporaryDirectory(prefix="ip-") as folder:
        table, _, flagged = run(sys.argv[1], folder, "--update-baseline" in sys.argv[2:])
    print(table)
    for one in flagged:
        print("hot_paths_baseline.json: %s grew by over %g %%; make the path cheaper, or accept it: "
              "./deploy/bench --only instructions --update-baseline" % (one, 100 * MORE_IS_WORSE), file=sys.stderr)
    return 1 if flagged else 0


if __name__ == "__main__":
    sys.exit(main())
