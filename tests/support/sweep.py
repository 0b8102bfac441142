"""One short run of the daemon, again and again, with something else happening at another system call each time.

A run takes in a workload that lies there complete (workload.py), answers, marks and delivers it to a file, and ends by itself after some
polls. It is traced once; every call of it that touches the run's folder is a point. At each point a copy of the same folder is run with
that call disturbed (strace's own injection), what must hold at every moment is judged, then a daemon runs on what is left with nothing in
its way, and everything is judged (oracle.py).

Most of a run is waiting (for polls, for strace), so several points are tried at once, each in a folder of its own: JOBS=… says how many.
SHARD=1/2 and SHARD=2/2 give two processes half of the points each. The folders lie in memory where that can be had: a process that is
killed loses nothing that it has written, so there is nothing to see of a disk but the time that it takes.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import fcntl
import os
import pathlib
import queue
import re
import shutil
import subprocess
import tempfile
import unittest

import oracle
import team as wire
from daemon import LIMIT_S, Daemon, asan_options, team_toml, wait_for
from workload import WORKERS, Workload, received

POLLS = 3
CALL = re.compile(r"(\d+)\s+(\w+)\((.*)")
STALE_POLLS = 250  # more than the ten seconds after which a lock is taken over
JOBS = int(os.environ.get("JOBS", "4"))
MEMORY = "/dev/shm"


@dataclasses.dataclass(frozen=True)
class Point:
    call: str
    number: int   # of the calls of that name in the main thread, which is how strace counts
    about: str    # the beginning of its arguments, for a reader

    def __str__(self):
        return "%s #%d (%s)" % (self.call, self.number, self.about)


class Scenario:
    """A folder with a workload in it, made once."""

    needs = "strace"
    parts = ("state", "teams", "lead.jsonl")  # of the folder: all that a run changes

    def __init__(self, seed, size=24):
        if self.needs and not shutil.which(self.needs):
            raise unittest.SkipTest("%s is not installed" % self.needs)
        self.seed, self.size = seed, size
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ip-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))

    def stage(self):
        """The world before the daemon's first look, in the same folder each time: paths are part of what is traced."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)
        self.world = self.fill().write()
        self.daemon.env["ASAN_OPTIONS"] = asan_options("detect_leaks=0")  # a traced process cannot look for leaks
        return self

    def fill(self):
        """The daemon, and what it will find; another mailbox system has another (other_systems.py)."""
        team = wire.Team(self.folder / "teams", "demo", WORKERS)
        sink = self.folder / "lead.jsonl"
        self.daemon = Daemon(os.environ["INBOX_POLLER"], self.folder, team_toml(
            team, more='\n[delivery]\nmethods = ["file"]\nfile = "%s"\n' % sink), polls=POLLS)
        return Workload(self.seed, team, self.daemon.state, self.size)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, wrapper=(), polls=POLLS, seconds=LIMIT_S, is_patient=True, more=()):
        """Runs the daemon to its end, or to its death; the exit code as a shell tells it. Who is not patient kills it after that time, as
        a watchdog does; otherwise to last longer is an error."""
        log = self.folder / ("run-%d.log" % len(self.world.runs))
        self.daemon.extra = ["--polls", str(polls), *more]
        with open(log, "wb") as out:
            process = subprocess.Popen([*wrapper, *self.daemon.command()], env=self.daemon.env, stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=out, start_new_session=True)
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                code = process.wait()
                wait_for("what it traced is dead as well", self.ledger_is_free)
                if is_patient:
                    raise AssertionError("it did not end within %.0f s:\n%s" % (seconds, log.read_text("utf-8", "replace")[-2000:]))
        code = 128 - code if code < 0 else code
        self.world.runs.append((code, log.read_bytes()))
        self.world.received = received(self.folder / "lead.jsonl")
        return code

    def ledger_is_free(self):
        """Nobody holds its lock: who was killed takes a moment to die when there is much memory to give back."""
        with open(self.daemon.state / "ledger.sqlite3.lock", "ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    def points(self):
        """Every call of one undisturbed run that names something in the folder, in order."""
        self.stage()
        trace = self.folder / "trace"
        code = self.run(["strace", "-qq", "-f", "-y", "-s", "40", "-o", str(trace)])
        assert code == 0, "the undisturbed run left with %d" % code
        found, counts, main = [], collections.Counter(), None
        for line in trace.read_text("utf-8", "replace").splitlines():
            call = CALL.match(line)
            if not call:
                continue
            main = main or call[1]
            if call[1] != main:
                continue
            counts[call[2]] += 1
            if str(self.folder) in call[3] and call[2] != "execve":
                about = call[3].replace(str(self.folder) + "/", "")
                found.append(Point(call[2], counts[call[2]], about[:60]))
        return found

    def put_back(self):
        """After other files were put in place of the scenario's: what the real disk would have kept of them besides their bytes."""

    def judge(self, over):
        return oracle.violations(self.world, over)

    def disturbed(self, point, injection, persistent=False, **patience):
        """Runs on what is there, with this call disturbed."""
        when = "%d%s" % (point.number, "+" if persistent else "")
        # With a filter in the kernel only the calls of that name stop: half the time. At such a stop a signal has no effect.
        quick = [] if injection.startswith("signal=") else ["--seccomp-bpf"]
        return self.run(["strace", "-qq", "-f", *quick, "-o", "/dev/null", "-e", "trace=" + point.call, "-e",
                         "inject=%s:%s:when=%s" % (point.call, injection, when)], **patience)

    def recover(self, waits_for_locks=False, polls=POLLS):
        """A daemon with nothing in its way. A lock that the dead one left is waited out, or removed as any peer would after ten seconds."""
        left = [p for folder in (self.world.team.folder, self.world.team.inboxes) for p in folder.glob("*.lock")]
        if not waits_for_locks:
            for path in left:
                path.rmdir()
        code = self.run(polls=STALE_POLLS if left and waits_for_locks else polls)
        for path in left:
            if path.exists():  # nobody needed it; the next peer who does takes it over
                path.rmdir()
        return code


class Plain(Scenario):
    """The same for what needs no strace."""

    needs = None


class Preloaded(Plain):
    """The same without ptrace: a library is put between the daemon and the C library (tests/shim/calls.cpp)."""

    # The sanitizer wants to be first; it works behind a library that calls what comes after it.
    LIBRARY = {"ASAN_OPTIONS": asan_options("detect_leaks=0", "verify_asan_link_order=0")}

    def run_with(self, **options):
        """Runs with these variables for the library; the exit code."""
        library = str(pathlib.Path(os.environ["INBOX_POLLER_SHIMS"]) / "calls.so")
        before = self.daemon.env
        self.daemon.env = dict(before, **self.LIBRARY, LD_PRELOAD=library, **{k: str(v) for k, v in options.items()})
        try:
            return self.run()
        finally:
            self.daemon.env = before

    def calls(self):
        """(number, name, path) of an undisturbed run's calls that touch the folder."""
        self.stage()
        trace = self.folder / "trace"
        code = self.run_with(CALLS_TRACE=trace)
        assert code == 0, "the undisturbed run left with %d" % code
        lines = [line.split(" ", 2) for line in trace.read_text("utf-8", "replace").splitlines()]
        return [(int(number), name, place) for number, name, place in lines if str(self.folder) in place]

    def told(self):
        """What a run made of the workload, without what differs from run to run: each message's fate, each request's, and each answer."""
        rows = self.world.rows
        return ([(r["sender"], r["type"], r["disposition"], r["code"], r["delivery"]) for r in rows["messages"]],
                [(r["request_id"], r["state"]) for r in rows["requests"]], self.world.replies(),
                [(m["from"], m["text"]) for m in self.world.received])


def each(test, items, work, make):
    """work(scenario, item) for every item of this shard, JOBS at a time, with as many scenarios from make(); a list of what it returned.
    What fails is told together with its item."""
    shard, shards = (int(n) for n in os.environ.get("SHARD", "1/1").split("/"))
    idle, done = queue.SimpleQueue(), []

    def one(item):
        scenario = idle.get()
        try:
            return work(scenario, item)
        finally:
            idle.put(scenario)

    with contextlib.ExitStack() as stack:
        for _ in range(JOBS):
            idle.put(make())
        stack.callback(lambda: [idle.get().remove() for _ in range(JOBS)])
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(JOBS))
        running = [(item, pool.submit(one, item)) for item in items[shard - 1::shards]]
        for item, result in running:
            with test.subTest(str(item)):
                done.append(result.result())
    return done
