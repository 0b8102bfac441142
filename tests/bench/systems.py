"""The other mailbox systems: a line or a letter on its way to the lead, a full inbox emptied, and many that rest.

A drain begins when the daemon, stopped meanwhile, goes on: what is there was put there by its writer's own appends or renames.
The format asks one rename of whoever reads a letter, from new/ to cur/: so many of them alone, and nothing else, are measured
before each drain, of the same letters beside it.
"""

import os
import random
import signal
import statistics
import subprocess
import sys
import time

from figures import Row, milliseconds, percentile, ratio, summary, times
from subjects import Lost, at_rest, cpu_quiet, cpu_seconds
from daemon import Daemon, wait_for
from jsonl_team import JsonlTeam, append, line_of
from maildir_team import MaildirTeam
from tools_recv import Socket, timed

TEXT = "x" * 900
SETTLED_S = 75  # in the first minute of a team all of its inboxes are looked at each time (adr 31)
# One wake, one fsync, one wake: what anybody needs who is told of a message and may not lose it.
FLOOR = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
while os.read(0, 1):
    os.write(file, b"x" * 512)
    os.fdatasync(file)
    os.write(1, b".")
"""


class Lines:
    what, backend = "line", "jsonl"

    def __init__(self, folder, name="crew", members=("alice",)):
        self.team = JsonlTeam(folder, members, name=name)
        self.team.folder.chmod(0o700)
        self.toml = self.team.toml(poll="500ms")
        for member in ("lead", *members):
            self.team.path(member).touch()

    def write(self, text):
        self.team.say("alice", text)

    def prepare(self, count):
        self.data = b"".join(line_of("alice", "%d %s" % (n, TEXT)) for n in range(count))

    def renames(self, count):
        return None

    def put(self):
        append(self.team.path("lead"), self.data)

    def is_empty(self):
        return self.team.path("lead").stat().st_size == 0


class Letters:
    what, backend = "letter", "maildir"

    def __init__(self, folder, name="pair", members=("ada",)):
        self.team = MaildirTeam(folder, members)
        self.toml = self.team.toml().replace('name = "pair"', 'name = "%s"' % name).replace('"50ms"', '"500ms"')
        for below in ("new", "cur"):
            (self.team.root / "boss" / below).mkdir(parents=True)
        self.new = self.team.root / "boss" / "new"
        self.writer = next(iter(self.team.stores.values()))

    def write(self, text):
        self.writer.send("boss", "message", text)

    def prepare(self, count):
        self.staged = self.team.root / "tmp" / "staged"
        self.stage(self.staged, count)

    def stage(self, folder, count):
        folder.mkdir()
        for n in range(count):
            (folder / ("%020d-%032x.json" % (n, n))).write_text(
                '{"from": "ada", "id": "%032x", "payload": "%d %s", "to": "boss", "ts": %d.5, "type": "message"}' % (
                    n, n, TEXT, 1_780_000_000 + n))

    def renames(self, count):
        """What the renames of so many alone cost; nanoseconds, and of these CPU."""
        alone = self.team.root.parent / "alone"
        for below in (alone, alone / "new", alone / "cur"):
            below.mkdir()
        self.stage(alone / "staged", count)
        move_all(alone / "staged", alone / "new")
        return move_all(alone / "new", alone / "cur")

    def put(self):
        move_all(self.staged, self.new)

    def is_empty(self):
        with os.scandir(self.new) as entries:
            return next(entries, None) is None


def move_all(source, target):
    """By open folders, in the order of their names."""
    names, here, there = sorted(os.listdir(source)), os.open(source, os.O_DIRECTORY), os.open(target, os.O_DIRECTORY)
    try:
        begun, spent = time.perf_counter_ns(), time.process_time_ns()
        for name in names:
            os.rename(name, name, src_dir_fd=here, dst_dir_fd=there)
        return time.perf_counter_ns() - begun, time.process_time_ns() - spent
    finally:
        os.close(here)
        os.close(there)


def started(bench, folder, *tomls):
    folder.mkdir(mode=0o700, exist_ok=True)
    daemon = Daemon(bench.tools.product, folder, *tomls)
    daemon.start()
    wait_for("all teams are looked at", lambda: len(daemon.ask("status")["teams"]) >= len(tomls) and all(
        team["inbox"]["state"] != "not polled yet" for team in daemon.ask("status")["teams"]), 300, pause=0.2)
    return daemon


def floor(folder, count):
    samples = []
    process = subprocess.Popen([sys.executable, "-c", FLOOR, str(folder / "floor")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    try:
        for _ in range(count):
            time.sleep(0.02)
            begun = time.perf_counter_ns()
            process.stdin.write(b".")
            process.stdout.read(1)
            samples.append(time.perf_counter_ns() - begun)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
    return samples


def latency(bench, kind):
    folder = bench.folder / ("late-" + kind.backend)
    folder.mkdir(mode=0o700)
    system = kind(folder)
    daemon = started(bench, folder / "d", system.toml)
    try:
        receiver = Socket(daemon)
        timed(receiver, system.write, 5)
        samples, bottom = [], []
        for _ in range(bench.pick(2, 10)):  # in turn: what a wait for the disk costs changes from second to second
            samples += timed(receiver, system.write, bench.pick(10, 30))
            bottom += floor(folder, bench.pick(10, 30))
        receiver.close()
        daemon.stop()
    finally:
        if daemon.running():
            daemon.kill()
    found, low = summary(samples), summary(bottom)
    bench.keep("latency_" + kind.backend, dict(found, floor=low))
    row = Row("%s written -> at the lead, commit included: p50 / p99" % kind.what, "as for arrays (<= 3x the wait for the disk and the wakes)")
    row.result = "%s / %s ms" % (milliseconds(found["p50"]), milliseconds(found["p99"]))
    row.floor = "%s / %s" % (times(found["p50"] / low["p50"]), times(found["p99"] / low["p99"]))
    return row.judge(found["p50"] <= 3 * low["p50"])


def drain(bench, kind):
    count, tries = bench.pick(1000, 10_000), []
    for number in range(bench.pick(1, 5)):
        folder = bench.folder / ("drain-%s-%d" % (kind.backend, number))
        folder.mkdir(mode=0o700)
        system = kind(folder)
        daemon = started(bench, folder / "d", system.toml)
        try:
            system.prepare(count)
            cpu_quiet(daemon.process.pid)
            time.sleep(random.random() * 0.5)  # no timer is met in step
            daemon.process.send_signal(signal.SIGSTOP)
            renames = system.renames(count)
            system.put()
            cpu = cpu_seconds(daemon.process.pid)
            begun = time.perf_counter_ns()
            daemon.process.send_signal(signal.SIGCONT)
            wait_for("the inbox is empty", system.is_empty, 240, pause=0.002)
            took, cpu = time.perf_counter_ns() - begun, cpu_seconds(daemon.process.pid) - cpu
            queued = daemon.ask("status")["teams"][0]["chat"]["queued"]
            if queued != count:
                raise Lost("drain of %d %ss: %d are queued for the lead" % (count, kind.what, queued))
            daemon.stop()
        finally:
            if daemon.running():
                daemon.kill()
        tries.append({"all": took, "cpu": cpu * 1e9})
        if renames is not None:
            tries[-1].update(renames=renames[0], renames_cpu=renames[1])
        bench.say("  %5d %ss taken after %s ms, CPU %s ms%s" % (
            count, kind.what, milliseconds(took), milliseconds(cpu * 1e9), "" if renames is None else
            ", renames alone %s ms, CPU %s ms" % (milliseconds(renames[0]), milliseconds(renames[1]))))
    mine = {what: statistics.median(one[what] for one in tries) for what in tries[0]}
    renames = mine.get("renames")
    if renames is not None:
        mine["ratio"] = mine["all"] / renames
        bench.say("  medians: %s ms; renames alone %s ms: %s" % (milliseconds(mine["all"]), milliseconds(renames),
                                                              times(mine["ratio"])))
    bench.keep("drain_" + kind.backend, dict(mine, tries=tries))
    row = Row("drain of {:,} {}s (1 KB): committed and taken".format(count, kind.what),
              "<= 150 ms" if renames is None else "<= 1.5x their renames alone")
    row.result = "%s ms; CPU %.1f us each" % (milliseconds(mine["all"]), mine["cpu"] / count / 1000)
    if renames is not None:
        row.result += "; renames alone %s ms" % milliseconds(renames)
        row.floor = ratio(mine["all"], renames)
    if bench.quick:
        row.note = "a smaller number than the target's: --quick"
        return row
    return row.judge(mine["all"] <= (150e6 if renames is None else 1.5 * renames))


def idle(bench, kind):
    teams, seconds = bench.pick(10, 100), bench.pick(2, 20)
    folder = bench.folder / ("idle-" + kind.backend)
    folder.mkdir(mode=0o700)
    members, tomls = ["w%d" % n for n in range(9)], []
    for number in range(teams):
        (folder / ("t%d" % number)).mkdir(mode=0o700)
        tomls.append(kind(folder / ("t%d" % number), "t%d" % number, members).toml)
    daemon, begun = started(bench, folder / "d", *tomls), time.monotonic()
    try:
        time.sleep(max(0.0, bench.pick(0, SETTLED_S) - (time.monotonic() - begun)))
        cpu_quiet(daemon.process.pid, share=0.2, seconds=20, window=2.0)
        spent, rss = at_rest(daemon.process.pid, seconds)
        daemon.stop()
    finally:
        if daemon.running():
            daemon.kill()
    bench.keep("idle_" + kind.backend, {"cpu_s_per_min": spent, "rss": rss, "inboxes": teams * 10})
    bench.say("  %d boxes of %ss: %.2f CPU s/min, RSS %.1f MB" % (teams * 10, kind.what, spent, rss / 1e6))
    row = Row("{:,} boxes of {}s idle".format(teams * 10, kind.what), "for comparison with arrays")
    row.result = "%.2f CPU s/min; RSS %.1f MB" % (spent, rss / 1e6)
    return row


def systems(bench):
    rows = []
    for part in (latency, drain, idle):
        for kind in (Lines, Letters):
            rows.append(part(bench, kind))
    return rows
