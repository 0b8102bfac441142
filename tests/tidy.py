#!/usr/bin/env python3
"""clang-tidy with the checks of .clang-tidy over the pure rooms (schema, config, handlers).

tidy.py [--most N]        at most N sources (default 10): those that the latest commits touched, most recent first
tidy.py --all             every one of them: the long form
tidy.py FILE…             these
tidy.py --self-test       plants a defect and expects it to be found

Leaves with 0 when nothing was found, 1 otherwise, 77 where there is no clang-tidy (CI has it: then that is a failure, too).
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("schema", "config", "handlers")
FLAGS = ["-std=c++20", "-I%s" % ROOT]
DEFECT = '#include <string>\n#include <utility>\nstd::string f(std::string a) {\n  std::string b = std::move(a);\n  return b + a;\n}\n'


def tidy():
    return shutil.which("clang-tidy") or shutil.which("clang-tidy-14")


def sources():
    return [path.relative_to(ROOT).as_posix() for room in ROOMS for path in sorted((ROOT / room).glob("*.cpp"))]


def recent(most):
    """What was touched last; a header counts as its source. Without a history the first by name."""
    said = subprocess.run(["git", "log", "-60", "--name-only", "--format="], cwd=ROOT, capture_output=True, text=True).stdout
    known, chosen = set(sources()), []
    for name in said.splitlines() + sorted(known):
        source = name.replace(".hpp", ".cpp")
        if source in known and source not in chosen:
            chosen.append(source)
    return chosen[:most]


def look(path, cwd=ROOT):
    done = subprocess.run([tidy(), "--quiet", path, "--", *FLAGS], cwd=cwd, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def self_test():
    with tempfile.TemporaryDirectory(dir=ROOT / "build" if (ROOT / "build").is_dir() else None) as folder:
        shutil.copy(ROOT / ".clang-tidy", folder)
        (pathlib.Path(folder) / "x.cpp").write_text(DEFECT, "utf-8")
        found = look("x.cpp", folder)
    return "" if "bugprone-use-after-move" in found else "a planted defect was not found: %s" % found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--most", type=int, default=10)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if not tidy():
        print("SKIPPED: clang-tidy is not installed")
        return 1 if os.environ.get("CI") == "true" else 77
    if options.self_test:
        said = self_test()
        print(said or "a planted defect is found")
        return 1 if said else 0
    chosen = options.files or (sources() if options.all else recent(options.most))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [said for said in pool.map(look, chosen) if said]
    print("".join(found) or "clang-tidy finds nothing in %d sources" % len(chosen))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
