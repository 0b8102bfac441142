#!/usr/bin/env python3
"""clang-tidy with the checks of .clang-tidy over the product: schema, config, handlers, poller and poller/cli.

tidy.py [--most N]        at most N sources (default 8): those that the latest commits touched, most recent first
tidy.py --all             every source: the long form
tidy.py FILE…             these sources
tidy.py --self-test       plants defects and expects each of them to be found

Nine tenths of the time go into the headers of Boost. So up to 32 sources of one room are checked as one text, and what is found gets
its own name and line again. A source that does not compile beside the others is checked apart from them.

Exits with 0 when nothing was found, 1 otherwise, 77 where clang-tidy is missing (1 if CI=true).
"""

import argparse
import collections
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("schema", "config", "handlers", "poller")
FLAGS = ["-std=c++20", "-I%s" % ROOT, "-DBOOST_ASIO_NO_DEPRECATED", "-DBOOST_ASIO_SEPARATE_COMPILATION", "-DINBOX_POLLER_REDIS",
         "-DINBOX_POLLER_CURSES", '-DINBOX_POLLER_VERSION="0"', '-DINBOX_POLLER_LIBRARIES="0"']
LINTER = ("clang-tidy", "clang-tidy-14")
# The macros of curses rename what neighbors use; Asio's and Beast's own sources are the slowest and gain nothing.
ALONE = ("poller/asio_impl.cpp", "poller/cli/top/curses_screen.cpp", "poller/cli/web/http.cpp")
# One text has the includes of all its sources, so this check would see each header twice.
NOT_IN_A_TEXT = "--checks=-readability-duplicate-include"
BATCH = 32
INCLUDE = re.compile(r"^#include\s+(\S+)", re.MULTILINE)


def linter():
    return next((found for found in map(shutil.which, LINTER) if found), None)


def sources():
    return [path.relative_to(ROOT).as_posix() for room in ROOMS for path in sorted((ROOT / room).rglob("*.cpp"))]


def recent(most):
    """What was touched last; a header counts as its source. Without a history the first by name."""
    said = subprocess.run(["git", "log", "-60", "--name-only", "--format="], cwd=ROOT, capture_output=True, text=True).stdout
    known, chosen = set(sources()), {}
    for name in said.splitlines() + sorted(known):
        source = re.sub(r"\.hpp$", ".cpp", name)
        if source in known and len(chosen) < most:
            chosen[source] = None
    return list(chosen)


def texts(chosen):
    """The sources by room, at most BATCH of them together, the slow ones by themselves."""
    rooms = collections.OrderedDict()
    for source in chosen:
        room = "poller/cli" if source.startswith("poller/cli/") else source.split("/")[0]
        rooms.setdefault(source if source in ALONE else room, []).append(source)
    return [group[n:n + BATCH] for group in rooms.values() for n in range(0, len(group), BATCH)]


def duplicates(source, text):
    seen, found = set(), ""
    for match in INCLUDE.finditer(text):
        if match.group(1) in seen:
            found += "%s:%d: error: %s is included twice; delete one of the two lines [readability-duplicate-include]\n" % (
                source, text.count("\n", 0, match.start()) + 1, match.group(1))
        seen.add(match.group(1))
    return found


class Check:
    def __init__(self, folder, root=ROOT):
        self.folder, self.root = pathlib.Path(folder), root
        (self.folder / "commit.hpp").write_text('#define INBOX_POLLER_COMMIT "0"\n', "utf-8")  # a build makes the real one

    def look(self, group):
        """What is wrong with these sources: a text for a person, empty when nothing is."""
        whole, found, lines = "", "", [""]
        for source in group:
            text = (self.root / source).read_text("utf-8")
            found += duplicates(source, text)
            whole += text + "\n"
            lines += ["%s:%d" % (source, n + 1) for n in range(text.count("\n") + 1)]
        path = self.folder / "text.cpp"
        path.write_text(whole, "utf-8")
        done = subprocess.run([linter(), "--quiet", "--config-file=%s" % (ROOT / ".clang-tidy"), NOT_IN_A_TEXT, str(path), "--", *FLAGS,
                               "-I%s" % self.folder], cwd=self.root, capture_output=True, text=True)
        said = re.sub(re.escape(str(path)) + r":(\d+)", lambda match: lines[int(match.group(1))], done.stdout + done.stderr)
        clashing = set(re.findall(r"^(\S+?):\d+:\d+: error: .*\[clang-diagnostic-error\b", said, re.MULTILINE))
        if clashing and len(group) > 1:
            apart = [source for source in group if source in clashing]
            if len(apart) in (0, len(group)):
                apart = group[len(group) // 2:]
            return self.look([source for source in group if source not in apart]) + self.look(apart)
        return found + ("" if done.returncode == 0 else said)


PLANTED = {
    # Found in the second of two sources, under its own name and line.
    "a.cpp": "#include <string>\n",
    "b.cpp": "#include <string>\n#include <utility>\nstd::string f(std::string a) {\n  std::string b = std::move(a);\n  return b + a;\n}\n",
    # Two sources that do not compile side by side: each is checked by itself.
    "c.cpp": "#include <string>\n#include <string>\nnamespace {\nint same = 1;\n}\nint c() { return same; }\n",
    "d.cpp": "namespace {\nint same = 2;\n}\nint d(int n) { return same + (n == n); }\n",
}
EXPECTED = ("b.cpp:5:14: error: 'a' used after it was moved [bugprone-use-after-move", "c.cpp:2: error: <string> is included twice",
            "d.cpp:4:33: error: both sides of operator are equivalent [misc-redundant-expression")


def self_test():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as planted:
        for name, text in PLANTED.items():
            (pathlib.Path(planted) / name).write_text(text, "utf-8")
        check = Check(folder, pathlib.Path(planted))
        found = check.look(["a.cpp", "b.cpp"]) + check.look(["c.cpp", "d.cpp"])
    missing = [text for text in EXPECTED if text not in found]
    return "".join("planted, but not found: %s\n" % text for text in missing) + (found if missing else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--most", type=int, default=8)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if not linter():
        print("SKIPPED: clang-tidy is missing; run deploy/install-deps test")
        return 1 if os.environ.get("CI") == "true" else 77
    if options.self_test:
        said = self_test()
        print(said or "each planted defect is found")
        return 1 if said else 0
    known = sources()
    chosen = [os.path.relpath(os.path.abspath(name), ROOT) for name in options.files] or (known if options.all else recent(options.most))
    unknown = [name for name in chosen if name not in known]
    if unknown:
        print("".join("%s: not a source of %s; name a .cpp file there\n" % (name, ", ".join(ROOMS)) for name in unknown), end="")
        return 1
    found = ""
    with tempfile.TemporaryDirectory() as folder:
        check = Check(folder)
        for group in texts(chosen):
            said = check.look(group)
            print(said, end="", flush=True)
            found += said
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # clock: a figure for the reader, compared with nothing
    print("figures: %d sources, %d findings, %.0f processor seconds" % (
        len(chosen), len(set(re.findall(r"^\S+:\d+:.* error: .*$", found, re.MULTILINE))), used.ru_utime + used.ru_stime))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
