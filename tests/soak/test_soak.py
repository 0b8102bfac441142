"""Many workers at the fastest poll for a while, with faults at random; then the oracle, and what it took.

Each team has peers of every manner: both generations, with honest locks, without any, with locks they leave behind, writers that
pause in the middle of a file. Its lead is busy and idle in turn and gets its chat in a file or by `recv`; a person answers some of the
requests; the daemon is killed, stopped for a moment, started again. When all that has ended everything has to come to rest, and the
promise is judged for each team. Then finished rows are pruned, by a clock that is set ahead, and their room is used again.

SOAK_SECONDS=40 SOAK_TEAMS=2 SOAK_WORKERS=4 is the short form, which asserts what is constant and prints the rest; a night takes
SOAK_SECONDS=900 SOAK_TEAMS=8 SOAK_WORKERS=16, with a release build. TEST_SEED=… repeats the moments and the messages, SOAK_RATE=… is
how many of them each team gets a second, SOAK_REPORT=… names a file for the table as JSON.

The slope of memory is asserted where it can be told from noise: when the last life of the daemon was watched for SLOPE_SECONDS, and
then against the lower end of its interval of confidence. It is the slope of what is in use of the heap: what is resident follows the
greatest peak so far, and creeps for hours without a leak; the oracle (I10) has a bound for that. LONG=1 runs valgrind as well, on a short life (a release build, please).
"""

# clock: whole file: a load that goes on for a time, and growth by the hour; no verdict hangs on how quick the machine is

import json
import math
import os
import pathlib
import random
import signal
import struct
import subprocess
import threading
import time
import unittest

import oracle
import portion
import team as wire
from case import ProcessTest
from daemon import LIMIT_S, Daemon, asan_options, hold_still, team_toml, wait_for
from workload import Workload, received

SECONDS = float(os.environ.get("SOAK_SECONDS", "40"))
TEAMS = int(os.environ.get("SOAK_TEAMS", "2"))
WORKERS = int(os.environ.get("SOAK_WORKERS", "4"))
RATE = float(os.environ.get("SOAK_RATE", "4"))
SLOPE_SECONDS = 500
SLOPE_LIMIT = 1024     # KiB an hour
KEPT = 200             # entries that somebody leaves in the lead's inbox when he tidies it up
KEPT_BY_WORKERS = 5    # likewise, in a worker's: what lies in files takes memory, and none of them may grow during a judged minute
BATCHES = 10
STUDENT = 2.31         # of 95 % with so many batches
WAL_LIMIT = 20 << 20   # 2,000 pages of 8 KiB, when it is moved into the database at the latest, and a commit
HOUR = 3_600_000
TOML = """
[delivery]
methods = ["{via}"]
{file}
max_delay = "5s"

[shutdown]
timeout = "10s"

[limits]
retention = "1h"
"""


class Peers:
    """All peers of one team in one thread: what they write comes from a workload, how they write it from chance."""

    def __init__(self, test, number, seed):
        self.test, self.choose = test, random.Random(seed + number)
        self.names = ["w%d" % n for n in range(WORKERS)]
        self.team = wire.Team(test.folder / "teams", "team%d" % number, self.names)
        self.workload = Workload(seed + number, self.team, test.folder / "state", 0, self.names)
        self.workload.number = number * 1_000_000  # ids that no other team has
        self.world = self.workload.world
        self.world.chat_waits_ms = 30_000  # a lock that is left behind and two deaths while it is watched take longer
        self.sink = test.folder / ("lead-%d.jsonl" % number) if number % 2 == 0 else None
        self.via = "file" if self.sink else "socket"
        self.left, self.confirmed, self.deferred = [], set(), 0
        self.versions = {}  # of a worker's inbox: what was there when it was last consumed

    def toml(self):
        return team_toml(self.team, timeout="5s", team_more='on_competing_consumer = "ignore"\n', more=TOML.format(
            via=self.via, file='file = "%s"' % self.sink if self.sink else ""))

    # --- writing ---

    def write(self, raws):
        manner = self.choose.choice(("honest", "honest", "honest", "in place", "no lock", "torn"))
        path = self.team.lead_inbox
        if manner == "no lock":
            return self.put(path, raws, in_place=False)
        with wire.Lock(path, wire.PATIENT):
            return self.put(path, raws, in_place=manner != "honest", torn=manner == "torn")

    def put(self, path, raws, in_place, torn=False):
        """Adds these to the file as they are spelled; a file that grows is shortened by what was read long ago."""
        old = oracle.elements(path.read_bytes()) if path.exists() else []
        read = [n for n, e in enumerate(old) if e.startswith("{") and oracle.decoded(e).get("read") is True]
        if len(old) > 2 * KEPT:
            gone = set(read[:KEPT])
            old = [e for n, e in enumerate(old) if n not in gone]
        text = "[\n  " + ",\n  ".join(old + raws) + "\n]"
        if not in_place:
            return wire.replace(path, text)
        with open(path, "w", encoding="utf-8") as file:
            if torn:
                file.write(text[:len(text) // 2])
                file.flush()
                time.sleep(self.choose.uniform(0.0, 0.2))
                file.write(text[len(text) // 2:])
            else:
                file.write(text)

    # --- what workers do with their own inboxes ---

    def consume(self):
        for number, name in enumerate(self.names):
            path = self.team.inbox(name)
            try:
                version = path.stat().st_mtime_ns
            except FileNotFoundError:
                continue
            if self.versions.get(name) == version:
                continue
            era = wire.ERA1 if number % 2 else wire.ERA2
            try:
                taken = wire.consume(path, era)
                for entry in taken if era == wire.ERA2 else self.tidied(path):
                    payload = wire.as_payload(entry.get("text"))
                    if payload and payload["type"] in oracle.REPLY_IDS:
                        self.world.taken.add((name, payload.get(oracle.REPLY_IDS[payload["type"]]), entry["text"]))
            except wire.Locked:
                continue
            self.versions[name] = path.stat().st_mtime_ns

    def tidied(self, path):
        """An older client never removes anything; somebody does it for it. Returns what is gone."""
        entries = wire.read_inbox(path) or []
        if len(entries) <= 2 * KEPT_BY_WORKERS:
            return []
        with wire.Lock(path, wire.ONCE):
            entries = wire.read_inbox(path)
            old = [n for n, entry in enumerate(entries) if entry["read"]][:-KEPT_BY_WORKERS]
            wire.rewrite(path, wire.stringify([entry for n, entry in enumerate(entries) if n not in old], indent=2))
        return [entries[n] for n in old]

    def leave_a_lock(self):
        """Dies while it holds the lock of a worker's inbox."""
        path = pathlib.Path(str(self.team.inbox(self.choose.choice(self.names))) + ".lock")
        try:
            path.mkdir()
        except FileExistsError:
            return
        self.left.append(path)

    # --- their lives ---

    def live(self):
        next_message = time.monotonic()
        next_lock = time.monotonic() + self.choose.uniform(5, 15)
        while not self.test.quiet.is_set():
            now = time.monotonic()
            if now >= next_message:
                raws = self.workload.one_more()
                if raws:
                    self.write(raws)
                next_message += self.choose.expovariate(RATE)
            if now >= next_lock:
                self.leave_a_lock()
                next_lock = now + self.choose.uniform(15, 40)
            self.consume()
            time.sleep(0.02)
        while not self.test.over.is_set():
            self.consume()
            time.sleep(0.1)

    def receive(self):
        """The lead that takes its chat by `recv`; now and then it goes away with what it got."""
        choose = random.Random(self.choose.random())
        while not self.test.over.is_set():
            try:
                with self.test.daemon.connect() as control:
                    while not self.test.over.is_set():
                        messages = control.ask("recv", team=self.team.name, wait_ms=500)["messages"]
                        self.world.received += messages
                        if messages and choose.random() < 0.1:
                            break
                        keys = [m["message_key"] for m in messages]
                        if keys and control.ask("ack", team=self.team.name, keys=keys)["ok"]:
                            self.world.acknowledged += [(key, len(self.world.received)) for key in keys]
            except (OSError, ValueError, KeyError):
                time.sleep(0.05)

    def decide(self):
        """A person who answers some of the requests, and a lead that is busy and idle."""
        choose = random.Random(self.choose.random())
        passed_over = set()
        while not self.test.over.is_set():
            try:
                with self.test.daemon.connect() as control:
                    state = "idle" if self.test.quiet.is_set() else choose.choice(("busy", "idle", "idle"))
                    control.ask("lead", team=self.team.name, state=state, for_ms=3000)
                    for request in control.ask("pending", team=self.team.name)["requests"]:
                        request_id = request["request_id"]
                        if request_id in passed_over or choose.random() < 0.5:
                            passed_over.add(request_id)
                            continue
                        # What a person says of a host holds for the session; then nobody could tell why the next was allowed.
                        verb = "deny" if request_id.startswith("sandbox") else choose.choice(("approve", "deny"))
                        if verb == "approve":
                            self.world.may_allow.add(request_id)
                        control.answer(verb, request_id, team=self.team.name, by="person")
            except (OSError, ValueError, KeyError):
                pass
            self.test.over.wait(choose.uniform(0.5, 2.0))

    def at_rest(self):
        """Nothing waits; nor is a request open, whose deadline would owe an answer again."""
        self.world.read_ledger()
        is_open = any(r["state"] in ("received", "pending") for r in self.world.rows["requests"])
        return not is_open and not oracle.i11_goes_on(self.world)


class Soak(ProcessTest):
    def setUp(self):
        super().setUp()
        self.seed = portion.seed()
        self.choose = random.Random(self.seed)
        self.quiet, self.over = threading.Event(), threading.Event()
        self.samples, self.failures, self.threads, self.shown = [], [], [], {}
        self.stops.append(self.join)

    def join(self):
        self.quiet.set()
        self.over.set()
        for thread in self.threads:
            thread.join()

    def start_thread(self, work):
        def guarded():
            try:
                work()
            except Exception as problem:  # a thread that dies must fail the test, not silence its team
                self.failures.append("%s: %r" % (work, problem))
                raise
        self.threads.append(threading.Thread(target=guarded))
        self.threads[-1].start()

    def configure(self, peers):
        """One daemon for all teams, with a log of its own that it rotates, and a clock that can be set."""
        self.clock = self.folder / "clock"
        self.clock.write_bytes(bytes(16))
        self.make_daemon(*(p.toml() for p in peers))
        self.log = self.folder / "log.jsonl"
        with open(self.daemon.daemon_file, "a", encoding="utf-8") as file:
            file.write('\n[log]\nfile = "%s"\n' % self.log)
        # What is freed is kept for a while by the sanitizer: little of it, or its growth would be all that is seen.
        self.daemon.env["ASAN_OPTIONS"] = asan_options("verify_asan_link_order=0", "quarantine_size_mb=4")
        shims = pathlib.Path(os.environ["INBOX_POLLER_SHIMS"])
        self.heap = self.folder / "heap"
        self.daemon.env.update(LD_PRELOAD="%s:%s" % (shims / "clock.so", shims / "heap.so"), CLOCK_FILE=str(self.clock),
                               HEAP_FILE=str(self.heap))

    # --- what is measured ---

    def size(self, path):
        try:
            return path.stat().st_size
        except FileNotFoundError:
            return 0

    def heap_in_use(self):
        """KiB, as the daemon itself told just now; nothing when it has not yet."""
        try:
            pid, in_use = map(int, self.heap.read_text().split())
        except (FileNotFoundError, ValueError):  # it is being written
            return None
        return in_use >> 10 if pid == self.daemon.process.pid else None

    def sample(self):
        pid = self.daemon.process.pid
        status = dict(line.split(":\t", 1) for line in pathlib.Path("/proc/%d/status" % pid).read_text().splitlines())
        fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
        ledger = self.daemon.state / "ledger.sqlite3"
        return {"at": time.monotonic(), "rss_kib": int(status["VmRSS"].split()[0]), "heap_kib": self.heap_in_use(), "threads": int(status["Threads"]),
                "fds": len(os.listdir("/proc/%d/fd" % pid)), "ledger": self.size(ledger),
                "wal": self.size(pathlib.Path(str(ledger) + "-wal")), "log": sum(map(self.size, self.folder.glob("log.jsonl*"))),
                "cpu": (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
                "messages": sum(len(p.world.sent) for p in self.peers)}

    def watch_until(self, end, pause):
        """Samples; stops the daemon for a moment now and then."""
        next_stop = time.monotonic() + self.choose.uniform(3, 10)
        while time.monotonic() < end:
            self.samples.append(self.sample())
            if time.monotonic() >= next_stop:
                hold_still(self.daemon.process.pid)
                time.sleep(self.choose.uniform(0.1, 1.5))
                self.daemon.process.send_signal(signal.SIGCONT)
                next_stop = time.monotonic() + self.choose.uniform(5, 15)
            time.sleep(pause)
            self.assertTrue(self.daemon.running(), self.daemon.tail())
            self.assertEqual(self.failures, [])

    # --- the run ---

    def test_under_load_and_faults_nothing_is_lost_and_nothing_grows_without_bound(self):
        self.peers = [Peers(self, n, self.seed) for n in range(TEAMS)]
        self.configure(self.peers)
        self.daemon.start()
        for peers in self.peers:
            self.start_thread(peers.live)
            self.start_thread(peers.decide)
            if not peers.sink:
                self.start_thread(peers.receive)
        began = time.monotonic()
        kills = 0
        while time.monotonic() - began < SECONDS / 3:  # the first third is for deaths; the last life is watched
            time.sleep(SECONDS / 3 / max(3, SECONDS / 90) * self.choose.uniform(0.5, 1.1))
            self.daemon.kill()
            kills += 1
            self.daemon.start()
        self.watch_until(began + SECONDS, min(3.0, SECONDS / 45))
        self.quiet.set()
        settled = time.monotonic()
        for peers in self.peers:
            for path in peers.left:  # by now abandoned for good, or taken over by the daemon
                if path.exists() and time.time() - path.stat().st_mtime > wire.STALE_SECONDS:
                    path.rmdir()
        wait_for("all come to rest", lambda: all(peers.at_rest() for peers in self.peers), pause=0.5)
        settled = time.monotonic() - settled
        self.join()
        for path in (p for peers in self.peers for p in peers.left if p.exists()):
            path.rmdir()
        last = self.sample()
        code = self.daemon.stop()
        violations = self.judge(kills, code)
        table = self.table(kills, settled, last, violations)
        self.show(table)
        self.assertEqual((code, violations, self.failures), (0, [], []))
        self.show(self.prune())
        self.check_bounds()

    def judge(self, kills, code):
        found = []
        for peers in self.peers:
            world = peers.world
            if peers.sink:
                world.received = received(peers.sink)
            world.runs = [(137, b"")] * kills + [(code, self.log.read_bytes())]
            if SECONDS >= SLOPE_SECONDS:
                world.samples = [(s["at"], s["rss_kib"], s["fds"]) for s in self.samples]
            found += ["%s: %s" % (peers.team.name, problem) for problem in oracle.violations(world)]
        return found

    def prune(self):
        """Two hours later by the clock nothing of this is in an inbox any more: its rows go, and what comes next uses their room."""
        ledger = self.daemon.state / "ledger.sqlite3"
        for peers in self.peers:
            wire.replace(peers.team.lead_inbox, wire.stringify([wire.entry("w0", "after the load")]))
        self.clock.write_bytes(struct.pack("=qq", 2 * HOUR, 2 * HOUR))
        rows = sum(len(p.world.rows["messages"]) for p in self.peers)
        before = self.size(ledger)
        self.daemon.start()
        wait_for("old rows are pruned", lambda: self.log.read_text("utf-8").count('"ledger.pruned"') >= len(self.peers), pause=0.2)
        for peers in self.peers:
            for number in range(50):
                peers.put(peers.team.lead_inbox, [wire.stringify(wire.entry("w0", "again %d %s" % (number, "x" * 500)))], in_place=False)
            wait_for("it is recorded", lambda: all(
                e["read"] for e in wire.read_inbox(peers.team.lead_inbox) or [{"read": False}]), pause=0.1)
        self.assertEqual(self.daemon.stop(), 0)
        left = len(oracle.World(self.peers[0].team, self.daemon.state).read_ledger().rows["messages"])
        self.assertLessEqual(left, 60, "rows that nobody needs any more stay")
        after = self.size(ledger)
        self.assertLessEqual(after, before * 1.05 + 65536, "the room of what was pruned is not used again")
        return {"rows before": rows, "ledger before": before, "ledger after": after}

    # --- the table ---

    def slope(self, column):
        """(a unit an hour, half of its 95 % interval) by least squares over the samples after a first quarter. Neighbors are not
        independent of each other (an inbox fills up for minutes), so the interval is that of the means of a few batches."""
        points = [(s["at"] / 3600, s[column]) for s in self.samples[len(self.samples) // 4:] if s[column] is not None]
        if len(points) < 2 * BATCHES:
            return 0.0, math.inf
        size = len(points) / BATCHES
        batches = [points[round(n * size):round((n + 1) * size)] for n in range(BATCHES)]
        points = [(sum(x for x, _ in b) / len(b), sum(y for _, y in b) / len(b)) for b in batches]
        n = len(points)
        mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
        spread = sum((x - mean_x) ** 2 for x, _ in points)
        slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
        rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
        return slope, STUDENT * math.sqrt(rest / (n - 2) / spread)

    def table(self, kills, settled, last, violations):
        first, samples = self.samples[0], self.samples
        seconds = last["at"] - first["at"]
        resident, heap = self.slope("rss_kib"), self.slope("heap_kib")
        messages = last["messages"]
        middle = samples[len(samples) // 2]
        new = max(1, last["messages"] - middle["messages"])
        return {
            "seed": self.seed, "teams": TEAMS, "workers a team": WORKERS, "seconds": SECONDS, "kills": kills,
            "messages": messages, "requests": sum(len(p.world.rows["requests"]) for p in self.peers),
            "received by leads": sum(len(p.world.received) for p in self.peers), "violations": len(violations),
            "seconds to rest": round(settled, 1), "watched seconds": round(seconds),
            "resident MiB first, last": [round(s["rss_kib"] / 1024, 1) for s in (first, samples[-1])],
            "resident KiB an hour": "%.0f +- %.0f" % resident,
            "heap in use KiB an hour": "%.0f +- %.0f" % heap,
            "descriptors least, most": [min(s["fds"] for s in samples), max(s["fds"] for s in samples)],
            "threads least, most": [min(s["threads"] for s in samples), max(s["threads"] for s in samples)],
            "ledger bytes a message": round(last["ledger"] / max(1, messages)),
            "ledger bytes a message, second half": round((last["ledger"] - middle["ledger"]) / new),
            "log bytes a message": round((last["log"] - middle["log"]) / new), "log bytes": last["log"],
            "largest WAL": max(s["wal"] for s in samples),
            "CPU of a core": "%.1f %%" % (100 * (samples[-1]["cpu"] - first["cpu"]) / max(1, samples[-1]["at"] - first["at"])),
        }

    def show(self, table):
        self.shown.update(table)
        for what, value in table.items():
            print("%-36s %s" % (what, " ".join(map(str, value)) if isinstance(value, list) else value), flush=True)
        if "SOAK_REPORT" in os.environ:
            pathlib.Path(os.environ["SOAK_REPORT"]).write_text(json.dumps(dict(self.shown, samples=self.samples), indent=1), "utf-8")

    def check_bounds(self):
        samples = self.samples
        self.assertEqual(len({s["threads"] for s in samples}), 1, "threads come or go")
        # Ours come and go: a connection for each thread that speaks to it, a file at a time.
        self.assertLessEqual(max(s["fds"] for s in samples[-5:]), min(s["fds"] for s in samples) + 2 * TEAMS + 4)
        self.assertLessEqual(max(s["wal"] for s in samples), WAL_LIMIT)
        if samples[-1]["at"] - samples[0]["at"] >= SLOPE_SECONDS:
            slope, noise = self.slope("heap_kib")
            self.assertLess(noise, 4 * SLOPE_LIMIT, "too much noise to tell whether memory grows")
            self.assertLess(slope - noise, SLOPE_LIMIT, "memory grows")


class Leaks(ProcessTest):
    """One short life, whose end is looked at by the sanitizer it was built with, or else by valgrind."""

    def live(self, *, preload=None, messages=24):
        """The exit code of a life that takes in so many entries of every kind, and what it said."""
        program = os.environ["INBOX_POLLER"]
        team = wire.Team(self.folder / "teams", "demo", ("w0", "w1"))
        sink = self.folder / "lead.jsonl"
        daemon = Daemon(program, self.folder, team_toml(team, more='\n[delivery]\nmethods = ["file"]\nfile = "%s"\n' % sink), polls=20)
        world = Workload(23, team, daemon.state, messages, ("w0", "w1")).write()
        if preload:
            daemon.env["LD_PRELOAD"] = str(pathlib.Path(os.environ["INBOX_POLLER_SHIMS"]) / preload)
        daemon.env["ASAN_OPTIONS"] = asan_options("verify_asan_link_order=0", "detect_leaks=1")
        checked = b"__asan_init" in pathlib.Path(program).read_bytes()
        wrapper = [] if checked else ["valgrind", "-q", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=99"]
        done = subprocess.run(wrapper + daemon.command(), env=daemon.env, capture_output=True, timeout=LIMIT_S)
        world.received = received(sink)
        world.runs = [(done.returncode, done.stderr)]
        return done.returncode, done.stderr, world

    def test_a_leak_is_seen_when_the_daemon_ends(self):
        code, said, _ = self.live(preload="leak.so")
        self.assertNotEqual(code, 0)
        self.assertRegex(said, rb"LeakSanitizer|definitely lost")

    if os.environ.get("LONG") == "1":
        def test_two_hundred_messages_lose_no_memory(self):
            code, said, world = self.live(messages=200)
            self.assertEqual(code, 0, said[-3000:])
            self.assertEqual(oracle.violations(world), [])


if __name__ == "__main__":
    unittest.main()
