#!/usr/bin/env python3
"""Takes out each protection of mutations.py, one at a time, and sees a test fail that passed before.

  run.py               all of them, in a copy of this checkout below build/mutation
  run.py --only NAME…  these
  run.py --list        what there is
  run.py --check       only that every text occurs exactly once and every test exists: seconds, nothing is built
  run.py --commit REV  of this commit instead of the files as they are

The copy is built as `dev` is, with the compiler cache's help. Leaves with 1 when a mutation survives, does not compile, or no longer
fits the source. A test that cannot run here (another user's connection needs root) is told as skipped."""

# clock: whole file: figures for the reader; a mutation that hangs is killed after minutes

import argparse
import io
import os
import pathlib
import re
import signal
import subprocess
import sys
import tarfile
import time

from mutations import MUTATIONS, Script, Unit

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "mutation" / "src"
BUILD = COPY / "build" / "dev"
PATIENCE = 180  # seconds for one test; without its protection it may wait for ever


def shown(test):
    return f'unit.{test.room}: {test.name}' if isinstance(test, Unit) else f"{test.file}: {test.name}"


def read_tree(commit):
    """The files that git knows, by name: bytes and whether they may be run."""
    git = ["git", "-C", ROOT]
    if commit:
        archive = subprocess.run([*git, "archive", commit], stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            return {one.name: (tar.extractfile(one).read(), one.mode & 0o777) for one in tar if one.isfile()}
    listed = subprocess.run([*git, "ls-files", "-z"], stdout=subprocess.PIPE, check=True).stdout
    paths = {os.fsdecode(name): ROOT / os.fsdecode(name) for name in listed.split(b"\0") if name}
    return {name: (path.read_bytes(), path.stat().st_mode & 0o777) for name, path in paths.items() if path.is_file()}


def test_exists(test, tree):
    if isinstance(test, Script):
        return test.file in tree and f"def {test.name.split('.')[-1]}(".encode() in tree[test.file][0]
    folders = (f"tests/unit/{test.room}/",) + (("tests/conformance/",) if test.room == "poller" else ())
    sources = b"".join(content for name, (content, _) in tree.items() if name.startswith(folders))
    return f'"{test.name}"'.encode() in re.sub(rb'"\s*\n\s*"', b"", sources)  # a long name stands in several pieces


def check(mutations, tree):
    """What does not fit any more, a line each."""
    problems = []
    for mutation in mutations:
        count = tree.get(mutation.file, (b"", 0))[0].count(mutation.before.encode())
        if count != 1:
            problems.append(f"{mutation.name}: its text occurs {count} times in {mutation.file}, expected once")
        if not test_exists(mutation.test, tree):
            problems.append(f"{mutation.name}: there is no test {shown(mutation.test)}")
    names = [mutation.name for mutation in mutations]
    problems += [f"{name}: the name is given twice" for name in set(names) if names.count(name) > 1]
    return problems


def make_copy(tree):
    """Writes what differs, and nothing else: what has not changed is not built again."""
    for name, (content, mode) in tree.items():
        target = COPY / name
        if name == "tests/CMakeLists.txt":  # the same command lines as in the checkout, for the compiler cache
            content = content.replace(b'INBOX_POLLER_SOURCE="${CMAKE_SOURCE_DIR}"',
                                      b'INBOX_POLLER_SOURCE="' + os.fsencode(ROOT) + b'"')
        if target.exists() and target.read_bytes() == content:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(mode)
    for folder, folders, files in os.walk(COPY):
        if pathlib.Path(folder) == COPY:
            folders[:] = [name for name in folders if name != "build"]
        for file in files:
            path = pathlib.Path(folder, file)
            if str(path.relative_to(COPY)) not in tree:
                path.unlink()


def build(target):
    return subprocess.run(["cmake", "--build", str(BUILD), "--target", target], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, errors="replace", check=False)


def target_of(test):
    return f"unit_{test.room}" if isinstance(test, Unit) else "inbox-poller"


def run_test(test):
    """'passed', 'failed' or 'skipped', and what it printed."""
    environment = dict(os.environ)
    if isinstance(test, Unit):
        command = [BUILD / target_of(test), re.sub(r"([,\[\]\\])", r"\\\1", test.name)]
    else:
        command = [sys.executable, "-B", COPY / "tests/support/run.py", COPY / test.file, test.name]
        environment.update(INBOX_POLLER=str(BUILD / "inbox-poller"), INBOX_POLLER_SHIMS=str(BUILD / "tests/shim"),
                           INBOX_POLLER_PEERS=str(BUILD / "peers"))
        environment.pop("CI", None)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", env=environment,
                          start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # what it has started, too
            process.communicate()
            return "failed", f"did not end within {PATIENCE} s"
    if "No test cases matched" in output or "No tests ran" in output:
        return "missing", output
    if process.returncode == 77 or (process.returncode == 0 and "SKIPPED: " in output):
        return "skipped", output
    return ("passed" if process.returncode == 0 else "failed"), output


def try_one(mutation):
    """The verdict: 'killed', 'SURVIVED', 'BROKEN' or 'skipped', and what tells more."""
    before, output = run_test(mutation.test)
    if before != "passed":
        return ("skipped" if before == "skipped" else "BROKEN"), f"without the mutation its test has {before}\n{output[-2000:]}"
    path = COPY / mutation.file
    original = path.read_text()
    try:
        path.write_text(original.replace(mutation.before, mutation.after))
        built = build(target_of(mutation.test))
        if built.returncode != 0:
            return "BROKEN", "it does not compile\n" + built.stdout[-3000:]
        after, output = run_test(mutation.test)
    finally:
        path.write_text(original)
    return ("killed", "") if after == "failed" else ("SURVIVED", output[-2000:])


def run(mutations, tree):
    COPY.mkdir(parents=True, exist_ok=True)
    make_copy(tree)
    begin = time.monotonic()
    subprocess.run(["cmake", "--preset", "dev"], cwd=COPY, stdout=subprocess.DEVNULL, check=True)
    for target in sorted({target_of(mutation.test) for mutation in mutations}):
        built = build(target)
        if built.returncode != 0:
            sys.exit(built.stdout[-5000:])
    print(f"the copy is built: {time.monotonic() - begin:.0f} s", flush=True)
    stale = None  # the target that was built last with a mutation in it
    counts = {}
    begin = time.monotonic()
    for mutation in mutations:
        start = time.monotonic()
        if stale:
            build(stale)
        verdict, more = try_one(mutation)
        stale = target_of(mutation.test)
        counts[verdict] = counts.get(verdict, 0) + 1
        print(f"{verdict:9}{time.monotonic() - start:5.0f} s  {mutation.name}: {mutation.protects}\n"
              f"{'':18}{shown(mutation.test)}", flush=True)
        if more and verdict != "skipped":
            print(more, flush=True)
    if stale:
        build(stale)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())) +
          f", in {time.monotonic() - begin:.0f} s")
    return 1 if counts.get("SURVIVED") or counts.get("BROKEN") else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--commit", metavar="REV")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[])
    arguments = parser.parse_args()
    unknown = set(arguments.only) - {mutation.name for mutation in MUTATIONS}
    if unknown:
        parser.error("no such mutation: " + ", ".join(sorted(unknown)))
    mutations = [mutation for mutation in MUTATIONS if not arguments.only or mutation.name in arguments.only]
    if arguments.list:
        for mutation in mutations:
            print(f"{mutation.name:22} {mutation.protects}\n{'':23}{mutation.file}; {shown(mutation.test)}")
        return 0
    tree = read_tree(arguments.commit)
    problems = check(mutations, tree)
    for problem in problems:
        print(problem)
    if problems or arguments.check:
        return 1 if problems else 0
    return run(mutations, tree)


if __name__ == "__main__":
    sys.exit(main())
