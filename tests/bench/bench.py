#!/usr/bin/env python3
"""Measures the product beside the floor and the reference, in one run, on files of the same bytes (docs/dev/performance.md says how to read it).

Leaves with 1 when a message was lost or changed, when a part could not be run, or when a hot path needs over 3 % more
of anything that is counted than the baseline; a missed target alone is a finding, not a failure.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

import figures
import instructions
import plots
from scenarios import SCENARIOS
from subjects import Features, Lost, Tools

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
PARTS = [name for name, _ in SCENARIOS] + ["pure", "instructions"]


class Bench:
    def __init__(self, options, folder):
        self.quick, self.folder = options.quick, pathlib.Path(folder)
        self.tools = Tools(options.build)
        self.features = Features(self.tools, self.folder)
        self.kept, self.started = {}, time.monotonic()

    def pick(self, quick, full):
        return quick if self.quick else full

    def keep(self, name, found):
        self.kept[name] = found

    def say(self, text):
        print("%5.0f s %s" % (time.monotonic() - self.started, text), file=sys.stderr, flush=True)


def output(*command):
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def machine(folder):
    cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())
    return {"cpu": cpu.group(1) if cpu else platform.processor(), "cores": len(os.sched_getaffinity(0)),
            "memory_mb": int(memory.group(1)) // 1024, "kernel": platform.release(), "file_system": output("stat", "-f", "-c", "%T", str(folder)),
            "node": output("node", "--version"), "load_before": os.getloadavg()[0]}


def pure(bench):
    """Google Benchmark's own report: the pure parts and a commit."""
    done = subprocess.run([str(bench.tools.build / "pure_bench"), "--benchmark_format=json", "--benchmark_min_time=%s" % bench.pick("0.05", "0.5")],
                          capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise Lost("pure_bench left with %d: %s" % (done.returncode, done.stderr[-500:]))
    found = json.loads(done.stdout)
    if any(one.get("error_occurred") for one in found["benchmarks"]):
        raise Lost("pure_bench: %s" % [one["error_message"] for one in found["benchmarks"] if one.get("error_occurred")])
    bench.keep("pure", found["benchmarks"])
    lines = ["| part | time | CPU |", "|---|---|---|"]
    for one in found["benchmarks"]:
        scale = {"ns": 1e-3, "us": 1.0, "ms": 1e3}[one["time_unit"]]
        lines.append("| %s | %.3g us | %.3g us |" % (one["name"].replace("/real_time", ""), one["real_time"] * scale, one["cpu_time"] * scale))
    return "\n".join(lines)


def orientation(bench):
    """What the disk itself needs, so that absolute figures can be read on another machine."""
    found = bench.tools.run(bench.tools.floor, "sync", path=bench.folder / "sync", times=bench.pick(50, 300))["sync_ns"]
    bench.keep("write_and_fdatasync", figures.summary(found))
    return "512 bytes appended and fdatasync on this disk: p50 %s ms, p99 %s ms." % (
        figures.milliseconds(figures.percentile(found, 50)), figures.milliseconds(figures.percentile(found, 99)))


def draw(bench, folder):
    """The plots whose scenarios were run."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, title in (("latency", "From written to handed over"), ("latency_5000", "The same behind 5,000 read entries")):
        if name in bench.kept:
            (folder / (name + ".svg")).write_text(plots.latency_plot(bench.kept[name], title))
            drawn.append(name + ".svg")
    if "history" in bench.kept:
        (folder / "history.svg").write_text(plots.history_plot(bench.kept["history"], "One new message behind history"))
        drawn.append("history.svg")
    return drawn


def run(bench, options):
    rows, tables, failed = [], [], []
    wanted = options.only or PARTS
    for name, scenario in SCENARIOS:
        if name not in wanted:
            continue
        bench.say(name)
        try:
            rows += scenario(bench)
        except Exception as problem:  # the other scenarios are worth their results; the run as a whole has failed
            failed.append("%s: %s" % (name, problem))
            row = figures.Row(name, "")
            row.note = "FAILED: %s" % problem
            rows.append(row)
            bench.say("  FAILED: %s" % problem)
    if rows:
        tables.append(figures.markdown(rows))
    for name, part in (("pure", pure), ("instructions", lambda b: counted(b, options, failed))):
        if name not in wanted:
            continue
        bench.say(name)
        try:
            tables.append(part(bench))
        except Exception as problem:
            failed.append("%s: %s" % (name, problem))
    return rows, tables, failed


def counted(bench, options, failed):
    table, found, flagged = instructions.run(bench.tools.build, bench.folder, options.update_baseline)
    bench.keep("instructions", found)
    failed += ["%s: over %g %% more than in %s; if that is meant: --update-baseline" % (
        one, 100 * instructions.MORE_IS_WORSE, instructions.BASELINE.name) for one in flagged]
    return table


def replace_part(path, text):
    """What stands between the two markers."""
    page = path.read_text()
    begin, end = page.find(BEGIN), page.find(END)
    if begin < 0 or end < begin:
        raise SystemExit("bench: %s has no part between %s and %s" % (path, BEGIN, END))
    path.write_text(page[:begin + len(BEGIN)] + "\n" + text + "\n" + page[end:])


def page(head, notes, tables, drawn, beside):
    images = "\n".join("![%s](%s/%s)" % (name[:-4].replace("_", " "), beside, name) for name in drawn)
    return "\n\n".join(part for part in [head, *tables, notes, images] if part)


def parse():
    parser = argparse.ArgumentParser(prog="deploy/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="about a minute: fewer and smaller samples; targets that need the full size are not judged")
    parser.add_argument("--only", action="append", choices=PARTS, metavar="NAME", help="only this part, may be given again: " + ", ".join(PARTS))
    parser.add_argument("--build", default="build/bench", help="the build folder (default: build/bench)")
    parser.add_argument("--out", default="build/bench/results", help="folder for the JSON and the plots (default: build/bench/results)")
    parser.add_argument("--folder", help="work below this folder: its file system is what is measured (default: the system's for temporary files)")
    parser.add_argument("--markdown", metavar="FILE", help="also replace the part between the two markers in FILE, and put the plots beside it")
    parser.add_argument("--update-baseline", action="store_true", help="write the instruction counts as the new baseline")
    return parser.parse_args()


def main():
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended, what was written is removed
    folder = tempfile.mkdtemp(prefix="ip-", dir=options.folder)
    try:
        bench = Bench(options, folder)
        about = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
                 "commit": output("git", "rev-parse", "--short", "HEAD") + ("+changes" if output("git", "status", "--porcelain", "-uno") else ""),
                 "quick": options.quick, "machine": machine(folder)}
        notes = orientation(bench)
        rows, tables, failed = run(bench, options)
        about["machine"]["load_after"] = os.getloadavg()[0]
        about["seconds"] = round(time.monotonic() - bench.started)
        out = pathlib.Path(options.out)
        drawn = draw(bench, out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    m = about["machine"]
    head = "%s, commit %s, %d cores (%s), %d MB, Linux %s, %s, Node %s; load before %.1f, after %.1f; %s run of %d s." % (
        about["date"], about["commit"], m["cores"], m["cpu"], m["memory_mb"], m["kernel"], m["file_system"], m["node"], m["load_before"],
        m["load_after"], "quick" if options.quick else "full", about["seconds"])
    (out / "bench.json").write_text(json.dumps(dict(about, rows=[row.plain() for row in rows], failed=failed, found=bench.kept), indent=1) + "\n")
    head = textwrap.fill(head, 110)
    print(page(head, notes, tables, [], ""))
    print("\nJSON and plots: %s" % out)
    if options.markdown:
        target = pathlib.Path(options.markdown)
        beside = target.with_suffix("")
        draw(bench, beside)
        replace_part(target, page(head, notes, tables, drawn, beside.name))
    for problem in failed:
        print("FAILED: " + problem, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
