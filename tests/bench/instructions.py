"""Instruction counts of the hot paths under callgrind, beside those of the baseline: a regression shows on a busy machine, too.

They are comparable only where the same compiler and the same libraries made the program; otherwise that is said and nothing is judged.
"""

import json
import os
import pathlib
import platform
import re
import shutil
import sqlite3
import subprocess

BASELINE = pathlib.Path(__file__).resolve().parent / "hot_paths_baseline.json"
PATHS = {"scan": "scan of an inbox of 1 MB", "idle": "a poll with nothing new behind 1,000 read entries",
         "take_in": "a poll that takes in one message behind 1,000", "decide": "a permission request decided by rule"}
MORE_IS_WORSE = 0.03


def made_by(build):
    """What instruction counts depend on besides our sources."""
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


def count(build, path, folder):
    out = pathlib.Path(folder) / ("callgrind." + path)
    done = subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=%s" % out,
                           str(pathlib.Path(build) / "hot_paths"), path], capture_output=True, text=True, timeout=600,
                          env=dict(os.environ, TMPDIR=str(folder)))
    total = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not total or int(total.group(1)) == 0:
        raise RuntimeError("hot_paths %s under callgrind: exit code %d\n%s" % (path, done.returncode, done.stderr[-2000:]))
    return int(total.group(1))


def compare(counts, baseline, maker):
    """[(path, count, before or None, change or None, flagged)], and why nothing was compared (or an empty text)."""
    if not baseline:
        why = "no baseline yet: --update-baseline writes one"
    elif baseline["made_by"] != maker:
        differs = [key for key in maker if baseline["made_by"].get(key) != maker[key]]
        why = "cannot be compared with the baseline: other %s" % ", ".join(
            "%s (%s, then %s)" % (key, maker[key], baseline["made_by"].get(key)) for key in differs)
    else:
        why = ""
    rows = []
    for path, now in counts.items():
        before = None if why else baseline["instructions"].get(path)
        change = (now - before) / before if before else None
        rows.append((path, now, before, change, change is not None and change > MORE_IS_WORSE))
    return rows, why


def markdown(rows, why):
    lines = ["| hot path | instructions | baseline | change |", "|---|---|---|---|"]
    for path, now, before, change, flagged in rows:
        lines.append("| %s | %s | %s | %s |" % (PATHS[path], "{:,}".format(now), "{:,}".format(before) if before else "-",
                                              "-" if change is None else "%+.2f %%%s" % (change * 100, " **more**" if flagged else "")))
    return "\n".join(lines) + ("\n\n" + why[0].upper() + why[1:] + "." if why else "")


def run(build, folder, update):
    """(table, plain values, paths with too many instructions)."""
    if not shutil.which("valgrind"):
        return "valgrind is not installed: no instruction counts.", {"skipped": "no valgrind"}, []
    maker = made_by(build)
    counts = {path: count(build, path, folder) for path in PATHS}
    if update:
        BASELINE.write_text(json.dumps({"made_by": maker, "instructions": counts}, indent=2) + "\n")
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else None
    rows, why = compare(counts, baseline, maker)
    return markdown(rows, why), {"made_by": maker, "instructions": counts, "not_compared": why,
                                 "changes": {row[0]: row[3] for row in rows}}, [row[0] for row in rows if row[4]]
