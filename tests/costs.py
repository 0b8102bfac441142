#!/usr/bin/env python3
"""What a run of the tests cost, and how it ended.

costs.py BUILD   reads BUILD/junit.xml (CTest), BUILD/costs.tsv (tests/support/run.py, run-unit) and .ninja_log of the builds

Prints processor and wall seconds by family, the longest entries, what was skipped, and "N passed, N failed, N skipped" at the end.
Leaves with 1 when an entry failed, or was skipped where CI=true, 0 otherwise."""

import collections
import os
import pathlib
import sys
import xml.etree.ElementTree


def family(name):
    """The part before the colon: unit.poller, integration, clients, …"""
    return name.split(":")[0].split(" setup")[0]


def build_seconds(folder):
    """Wall seconds of all compiler and linker calls of one build; with as many jobs as cores about its processor seconds."""
    spent = {}
    for line in (folder / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, *_ = line.split("\t")
        spent[output] = (int(end) - int(start)) / 1000
    return sum(spent.values())


def main():
    build = pathlib.Path(sys.argv[1])
    entries = list(xml.etree.ElementTree.parse(build / "junit.xml").getroot().iter("testcase"))
    wall, count, processor, dear = collections.Counter(), collections.Counter(), collections.Counter(), []
    for entry in entries:
        wall[family(entry.get("name"))] += float(entry.get("time"))
        count[family(entry.get("name"))] += 1
    if (build / "costs.tsv").exists():
        for line in (build / "costs.tsv").read_text().splitlines():
            name, seconds = line.split("\t")
            processor[name.split(" ")[0].replace("unit_", "unit.")] += float(seconds)
            dear.append((float(seconds), name))
    print("\n%-16s %8s %12s %12s" % ("family", "entries", "processor s", "wall s"))
    for name in sorted(wall, key=lambda one: -max(processor[one], wall[one] / 10)):
        print("%-16s %8d %12s %12.0f" % (name, count[name], "%.0f" % processor[name] if processor[name] else "", wall[name]))
    for preset in ("dev", "tsan", "bench"):
        if (build.parent / preset / ".ninja_log").exists():
            print("%-16s %8s %12s %12.0f" % ("build " + preset, "", "", build_seconds(build.parent / preset)))
    print("\nthe longest entries:")
    for entry in sorted(entries, key=lambda one: -float(one.get("time")))[:8]:
        print("%8.0f s  %s" % (float(entry.get("time")), entry.get("name")))
    print("\nwhat took most of the processor:")
    for seconds, name in sorted(dear, reverse=True)[:12]:
        print("%8.0f s  %s" % (seconds, name))
    failed = [e.get("name") for e in entries if e.get("status") == "fail"]
    skipped = [e.get("name") for e in entries if e.get("status") not in ("run", "fail")]
    for word, names in (("SKIPPED", skipped), ("FAILED", failed)):
        for name in names:
            print("%s: %s" % (word, name))
    print("\n%d passed, %d failed, %d skipped" % (len(entries) - len(failed) - len(skipped), len(failed), len(skipped)))
    return 1 if failed or (skipped and os.environ.get("CI") == "true") else 0


if __name__ == "__main__":
    sys.exit(main())
