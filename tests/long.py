#!/usr/bin/env python3
"""The long form of the checks: every point instead of some, minutes instead of seconds. One night on two cores, or less.

long.py [--list] [--only TEXT] [--skip TEXT…] [--jobs N]      called by `deploy/test --long`, which builds what it needs

Jobs run side by side, one a core. Each writes build/long/<name>.log; at the end a table shows what was tried, and
build/long/summary.json has the same with machine and commit. Leaves with 0 when all passed. A test tells its figures in lines
"figures: …"; they are what the table shows.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "long"
DEV = ROOT / "build" / "dev"
RELEASE = ROOT / "build" / "release"
FUZZ = ROOT / "build" / "fuzz"


@dataclasses.dataclass
class Job:
    name: str
    command: list
    env: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Outcome:
    name: str
    code: int
    seconds: float
    figures: list


def process_test(name, path, program=DEV, **env):
    env = dict(env, INBOX_POLLER=str(program / "inbox-poller"), INBOX_POLLER_PEERS=str(DEV / "peers"),
               INBOX_POLLER_SHIMS=str(DEV / "tests" / "shim"), INBOX_POLLER_JUDGE=str(DEV / "judge_lines"), LONG="1", CI="true",
               TEST_PATIENCE="3")  # two jobs a core, each with several daemons
    return Job(name, [sys.executable, "-B", "tests/support/run.py", "tests/" + path], env)


def client_flows():
    """Real clients between the two that the usual run has, and the newest one where `deploy/test --newest-client` asked for it."""
    listed = []
    newest = ["newest"] if os.environ.get("INBOX_NEWEST_CLIENT") else []
    script = ('program=$1 folder=$2 version=$3; shift 3; tests/clients/install-client "$folder" "$version" || exit 1; failed=0; '
              'for file; do "$program" -B tests/support/run.py "$file" || failed=1; done; exit $failed')
    full = {"FLOW_LOAD": "1", "STREAM_MESSAGES": "60", "STREAM_KILLS": "20"}  # beside busy loops, one more than cores
    for version, name, more in ([(version, "clients-" + version, {}) for version in ["2.1.141", "2.1.220", *newest]] +
                                [(version, "clients-%s-loaded" % version, full) for version in ["2.1.50", "2.1.141", "2.1.220", "2.1.331", *newest]]):
        folder = DEV / "clients" / version
        listed.append(Job(name, ["sh", "-c", script, "sh", sys.executable, str(folder), version, *flows_of(version)], {
            "INBOX_POLLER": str(DEV / "inbox-poller"), "INBOX_PINNED_CLIENT": str(folder / "claude"), "CI": "true", "TEST_PATIENCE": "3", **more}))
    return listed


def flows_of(version):
    """As tests/CMakeLists.txt lists them: a file says in a line of its own since which client there is something to test."""
    def parts(text):
        return [int(part) for part in text.split(".")]

    for path in sorted((ROOT / "tests" / "clients").glob("test_*.py")):
        since = re.search(r"^# clients: since ([0-9.]+)$", path.read_text("utf-8"), re.M)
        if version == "newest" or not since or parts(version) >= parts(since.group(1)):
            yield str(path.relative_to(ROOT))


def jobs():
    """The longest first: two cores then end at about the same time."""
    listed = [Job("mutation", [sys.executable, "-B", "tests/mutation/run.py"], {"TEST_PATIENCE": "3"}),
              process_test("soak", "soak/test_soak.py", RELEASE, SOAK_SECONDS="900", SOAK_TEAMS="8", SOAK_WORKERS="16")]
    for shard in ("1/2", "2/2"):
        part = shard[0]
        listed.append(process_test("fault-every-call-" + part, "fault/test_call_errors.py", FAULT_POINTS="all", SHARD=shard))
        listed.append(process_test("kill-before-every-call-" + part, "crash/test_every_call.py", CRASH_POINTS="all", SHARD=shard))
    listed.append(process_test("power-loss", "power/test_power_loss.py", POWER_STATES="all"))
    for folder in ("crash", "fault", "hostile", "locks", "power"):
        done = {job.command[-1] for job in listed}
        for path in sorted((ROOT / "tests" / folder).glob("test_*.py")):
            if "tests/%s/%s" % (folder, path.name) not in done:
                listed.append(process_test(path.stem[5:].replace("_", "-"), "%s/%s" % (folder, path.name)))
    # The usual run has these with the program as it is shipped; deploy/test configured this build to check them.
    listed.append(Job("flows", ["ctest", "--test-dir", str(DEV), "--output-on-failure", "-L", "integration|interop|demo|web", "-LE", "clients"],
                      {"TEST_PATIENCE": "3", "CI": "true"}))
    listed.append(Job("clang-tidy", [sys.executable, "-B", "tests/tidy.py", "--all"]))
    listed.append(Job("calls-in-python", [sys.executable, "-B", "tests/python.py", "--all"]))
    listed.append(Job("macos", ["deploy/check-macos", "--all"], {"CI": "true", "CMAKE_BUILD_PARALLEL_LEVEL": "1"}))
    listed += client_flows()
    listed.append(process_test("package", "package/test_bare.py", RELEASE))
    listed.append(process_test("arm64", "package/test_arm64.py", RELEASE))
    listed.append(process_test("systemd", "package/test_systemd.py", RELEASE))
    listed.append(process_test("jsonl", "integration/test_jsonl.py"))
    listed.append(process_test("nodes-network", "integration/test_nodes_network.py"))
    listed.append(process_test("claimers", "integration/test_box.py"))
    fuzz = subprocess.run(["ctest", "--test-dir", str(FUZZ), "-N", "--show-only=json-v1"], capture_output=True, check=True)
    for test in json.loads(fuzz.stdout)["tests"]:
        if not test["name"].startswith("fuzz: "):
            continue  # all tests are known there, and none but these are built
        listed.append(Job(test["name"].replace(": ", "-").replace(" ", "-"),
                          ["ctest", "--test-dir", str(FUZZ), "--output-on-failure", "-FS", ".", "-R", "^%s$" % test["name"]]))
    listed.append(process_test("memory", "soak/test_memory.py", RELEASE))
    return listed


def run(job):
    log = OUT / (job.name + ".log")
    print("%s  started  %s" % (time.strftime("%H:%M:%S"), job.name), flush=True)
    start = time.monotonic()  # clock: a figure for the reader, compared with nothing
    with open(log, "wb") as out:
        code = subprocess.run(["nice", *job.command], cwd=ROOT, env=dict(os.environ, **job.env), stdout=out, stderr=out,
                              stdin=subprocess.DEVNULL).returncode
    lines = log.read_text("utf-8", "replace").splitlines()
    figures = [line.split("figures: ", 1)[1] for line in lines if "figures: " in line]
    outcome = Outcome(job.name, code, time.monotonic() - start, figures)  # clock: a figure for the reader, compared with nothing
    print("%s  %s  %s, %d s%s" % (time.strftime("%H:%M:%S"), "passed " if code == 0 else "FAILED ", job.name, outcome.seconds,
                                  "" if code == 0 else " (%s)" % log), flush=True)
    return outcome


def table(outcomes):
    for outcome in outcomes:
        print("%-32s %-7s %6d s  %s" % (outcome.name, "passed" if outcome.code == 0 else "FAILED", outcome.seconds,
                                       ("\n" + 52 * " ").join(outcome.figures)))


def summary(outcomes, seconds):
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return {"commit": commit, "machine": platform.platform(), "cores": os.cpu_count(), "seconds": round(seconds),
            "jobs": [dataclasses.asdict(outcome) for outcome in outcomes]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="what would run")
    parser.add_argument("--only", default="", help="jobs whose name contains this")
    parser.add_argument("--skip", action="append", default=[], help="jobs whose name contains this are left out, and named as such")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at once (default: one a core)")
    options = parser.parse_args()
    wanted = [job for job in jobs() if options.only in job.name]
    chosen = [job for job in wanted if not any(text in job.name for text in options.skip)]
    if options.list:
        print("\n".join(job.name for job in chosen))
        return 0
    if not chosen:
        print("no job is called so; --list shows them", file=sys.stderr)
        return 2
    OUT.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()  # clock: a figure for the reader, compared with nothing
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(run, chosen))
    seconds = time.monotonic() - start  # clock: a figure for the reader, compared with nothing
    (OUT / "summary.json").write_text(json.dumps(summary(outcomes, seconds), indent=1) + "\n", "utf-8")
    print("\n%d jobs in %d min:\n" % (len(outcomes), seconds // 60))
    table(outcomes)
    left_out = [job.name for job in wanted if job not in chosen]
    if left_out:
        print("\nNOT RUN: " + ", ".join(left_out))
    failed = [outcome.name for outcome in outcomes if outcome.code != 0]
    print("\nall passed" if not failed else "\nFAILED: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
