#!/usr/bin/env python3
"""The table of deploy/coverage: coverage.py FILE [--files ROOM]. FILE is what `gcovr --json` wrote.

Lines and branches by room; the folders of poller/ count by themselves. `--files` lists the files of one room, the least covered first.
Branches that only an exception takes are not in the file. Exits with 1 if nothing was counted.
"""

import argparse
import collections
import json
import sys

ROOMS = ("schema", "config", "handlers", "poller")


class Count:
    def __init__(self):
        self.lines = self.lines_reached = self.branches = self.branches_reached = 0

    def add(self, file):
        for line in file["lines"]:
            if line.get("gcovr/noncode"):
                continue
            self.lines += 1
            self.lines_reached += line["count"] > 0
            taken = [branch["count"] > 0 for branch in line.get("branches", []) if not branch.get("throw")]
            self.branches += len(taken)
            self.branches_reached += sum(taken)

    def row(self, name):
        def share(reached, of):
            return "%5.1f %%" % (100 * reached / of) if of else "      –"

        return "%-24s %s of %6d   %s of %6d" % (name, share(self.lines_reached, self.lines), self.lines,
                                               share(self.branches_reached, self.branches), self.branches)


def room(path):
    """Where a file counts: its room, and in poller/ the folder in it."""
    parts = path.split("/")
    if parts[0] != "poller":
        return parts[0]
    return "/".join(parts[:2]) if len(parts) > 2 else "poller (its ports)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--files", metavar="ROOM")
    options = parser.parse_args()
    counts, files, total = collections.defaultdict(Count), [], Count()
    with open(options.file, encoding="utf-8") as file:
        for entry in json.load(file)["files"]:
            if entry["file"].split("/")[0] not in ROOMS:
                continue
            counts[room(entry["file"])].add(entry)
            total.add(entry)
            if options.files == room(entry["file"]):
                files.append((entry["file"], Count()))
                files[-1][1].add(entry)
    if not total.lines:
        print("%s: no line of the product was counted; build and run the tests of preset coverage first" % options.file, file=sys.stderr)
        return 1
    print("%-24s %s" % ("room", "  lines              branches"))
    if options.files:
        for path, count in sorted(files, key=lambda item: item[1].lines_reached / max(1, item[1].lines)):
            print(count.row(path.split("/", 1)[1]))
        return 0
    for name in sorted(counts, key=lambda name: (ROOMS.index(name.split("/")[0].split(" ")[0]), name)):
        print(counts[name].row(name))
    print(total.row("all"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
