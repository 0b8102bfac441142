"""A team on several nodes, all of them on this machine with one Redis between: what a message and an answer need from node to node, beside
one node and beside Redis alone; 10,000 at once; and a leader with fifty nodes, whose daemons are played by a writer of their letters.
"""

import hashlib
import json
import sqlite3
import subprocess
import time
import uuid

import team as wire
from daemon import Daemon, alone, team_toml, wait_for
from engine import Engine
from figures import Row, milliseconds, ratio, summary, times
from subjects import Lost, at_rest, cpu_quiet, cpu_seconds, memory
from tools_recv import Socket, timed

BLOCK = 20     # messages on one way, then it is the next one's turn
GAP_S = 0.02
TEXT = "x" * 900
HOSTS = """
[cluster]
redis_url = "redis+unix://%s"
id = "farm"
node = "%s"
leaders = ["h1"]
secret = "%s"
queued = 100000
[cluster.members]
"""
ROOM = "[limits]\nqueued_chat = 1000000\n"


class Farm:
    """A Redis and the nodes at it; `members` by node, h1 leads."""

    def __init__(self, bench, folder, members):
        self.bench, self.folder, self.members = bench, folder, members
        self.daemons = {}
        folder.mkdir(mode=0o700)
        self.secrets = folder / "secrets"
        followers = [part for node in members if node != "h1" for part in ("--follower", node)]
        users = subprocess.run([bench.tools.product, "nodes", "acl", "--team", "farm", "--leader", "h1", *followers, "--secrets", str(self.secrets)],
                               env=alone(folder), capture_output=True, text=True, check=True).stdout
        self.engine = Engine(folder / "redis", users=users).start()

    def client(self):
        return self.engine.client("admin", (self.secrets / "admin").read_text().strip())

    def start(self, node):
        folder = self.folder / node
        folder.mkdir(mode=0o700)
        team = wire.Team(folder / "teams", "demo", self.members[node], wire.ERA2, cwd="/" + node)
        others = "".join("%s = %s\n" % (name, json.dumps(list(of))) for name, of in self.members.items() if name != "h1")
        toml = team_toml(team, poll="500ms", team_more='role = "%s"' % ("leader" if node == "h1" else "follower"),
                         more=ROOM + HOSTS % (self.engine.socket, node, self.secrets / ("node-" + node)) + others)
        daemon = self.daemons[node] = Daemon(self.bench.tools.product, folder, toml)
        daemon.start()
        if node == "h1":
            wait_for("h1 leads", lambda: daemon.ask("status")["teams"][0]["role"] == "leader", 60)
        return daemon, team

    def pids(self):
        return dict({node: daemon.process.pid for node, daemon in self.daemons.items()}, engine=self.engine.process.pid)

    def stop(self):
        try:
            for daemon in self.daemons.values():
                if daemon.running():
                    daemon.stop(60)
        finally:
            for daemon in self.daemons.values():
                if daemon.running():
                    daemon.kill()
            self.engine.stop()


def two(bench, folder):
    farm = Farm(bench, folder, {"h1": ("w1", "w2"), "h2": ("w3", "w4")})
    (first, here), (_, there) = farm.start("h1"), farm.start("h2")
    wait_for("each knows the other's members", lambda: here.member("w3") and there.member("w1"), 60)
    return farm, first, here, there


def through_redis(farm, count):
    """Somebody waits at a stream, somebody else appends 1 KB to it; every append is on the disk before it is read."""
    waiting, writing, samples = farm.client(), farm.client(), []
    for n in range(count):
        last = writing("XADD", "ip:{farm}:floor", "*", "n", n)
        waiting.connection.sendall(words("XREAD", "BLOCK", 60_000, "STREAMS", "ip:{farm}:floor", last))
        time.sleep(GAP_S)
        begun = time.perf_counter_ns()
        writing.connection.sendall(words("XADD", "ip:{farm}:floor", "*", "e", TEXT))
        waiting.reply()
        samples.append(time.perf_counter_ns() - begun)
        writing.reply()
    waiting.close()
    writing.close()
    return samples


def words(*parts):
    encoded = [str(one).encode() for one in parts]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(one), one) for one in encoded)


def asked(team, worker, count):
    """From a request that a rule answers to its answer in the worker's inbox."""
    samples = []
    for _ in range(count):
        time.sleep(GAP_S)
        one = "perm-" + uuid.uuid4().hex[:12]
        said = wire.permission_request(worker, "Bash", {"command": "git status"}, request_id=one)
        said = (said if isinstance(said, str) else json.dumps(said))
        inbox, marker, end = team.inbox(worker), one.encode(), time.monotonic() + 60
        team.say(worker, said)
        begun = time.perf_counter_ns()
        while not (inbox.exists() and marker in inbox.read_bytes()):
            if time.monotonic() > end:
                raise Lost("a request of %s was not answered in a minute" % worker)
            time.sleep(0.0001)
        samples.append(time.perf_counter_ns() - begun)
        wire.replace(inbox, "[]")  # it has read it; a long inbox would be measured otherwise
    return samples


def latency(bench):
    farm, first, here, there = two(bench, bench.folder / "nodes-latency")
    found = {"redis": [], "here": [], "across": [], "request here": [], "request across": []}
    try:
        receiver = Socket(first)
        timed(receiver, lambda text: there.say("w3", text), 5)
        for _ in range(bench.pick(3, 15)):  # in turn: what a wait for the disk costs changes from second to second
            found["redis"] += through_redis(farm, BLOCK)
            found["here"] += timed(receiver, lambda text: here.say("w1", text), BLOCK)
            found["across"] += timed(receiver, lambda text: there.say("w3", text), BLOCK)
            found["request here"] += asked(here, "w2", BLOCK)
            found["request across"] += asked(there, "w4", BLOCK)
        receiver.close()
    finally:
        farm.stop()
    found = {name: summary(samples) for name, samples in found.items()}
    bench.keep("hosts_latency", found)
    for name, one in found.items():
        bench.say("  %-10s p50 %s  p90 %s  p99 %s ms" % (name, *(milliseconds(one[p]) for p in ("p50", "p90", "p99"))))
    rows = []
    for name, what in (("across", "written on a node -> at the lead on another, on both disks: p50 / p99"),
                       ("request across", "permission request on a node -> answer readable there, by the leader's rule: p50 / p99")):
        one, same = found[name], found["request here" if "request" in name else "here"]
        row = Row(what, "p50 <= 4 ms" if name == "across" else "for comparison")
        row.result = "%s / %s ms; on one node %s / %s" % tuple(milliseconds(x) for x in (one["p50"], one["p99"], same["p50"], same["p99"]))
        row.floor = "%s / %s" % (times(one["p50"] / found["redis"]["p50"]), times(one["p99"] / found["redis"]["p99"]))
        rows.append(row.judge(one["p50"] <= 4e6) if name == "across" else row)
    return rows


def pipelined(farm, count):
    """The same bytes, a hundred appends in one flight, each flight on the disk before its replies."""
    client = farm.client()
    flight = b"".join(words("XADD", "ip:{farm}:floor", "*", "e", TEXT) for _ in range(100))
    begun = time.perf_counter_ns()
    for _ in range(count // 100):
        client.connection.sendall(flight)
        for _ in range(100):
            client.reply()
    took = time.perf_counter_ns() - begun
    client.close()
    return took


def many(bench):
    count, tries = bench.pick(1000, 10_000), []
    for number in range(bench.pick(1, 5)):
        farm, first, here, there = two(bench, bench.folder / ("nodes-many-%d" % number))
        try:
            entries = [wire.entry("w3", "%d %s" % (n, TEXT)) for n in range(count)]
            data, pids = json.dumps(entries, indent=1), farm.pids()
            for pid in pids.values():
                cpu_quiet(pid)
            floor = pipelined(farm, count)
            ledger = sqlite3.connect("file:%s?mode=ro" % (first.state / "ledger.sqlite3"), uri=True, timeout=10)
            before = {name: cpu_seconds(pid) for name, pid in pids.items()}
            begun = time.perf_counter_ns()
            wire.replace(there.lead_inbox, data)
            # The ledger is asked, and only for its last row: what the daemon would count for a status is not its work here.
            wait_for("all are in the leader's ledger", lambda: ledger.execute("SELECT coalesce(max(id), 0) FROM messages").fetchone()[0] >= count,
                     240, pause=0.002)
            took = time.perf_counter_ns() - begun
            wait_for("all are marked", lambda: b'"read": false' not in there.lead_inbox.read_bytes(), 240, pause=0.05)
            for pid in pids.values():
                cpu_quiet(pid)
            cpu = {name: cpu_seconds(pid) - before[name] for name, pid in pids.items()}
            queued = first.ask("status")["teams"][0]["chat"]["queued"]
            if queued != count:
                raise Lost("%d messages across nodes: %d are queued for the lead" % (count, queued))
        finally:
            farm.stop()
        tries.append({"all": took, "floor": floor, "cpu": cpu})
        bench.say("  %d across after %s ms, Redis alone %s; CPU %s" % (count, milliseconds(took), milliseconds(floor), ", ".join(
            "%s %.0f ms" % (name, spent * 1000) for name, spent in cpu.items())))
    tries.sort(key=lambda one: one["all"])
    mine = tries[len(tries) // 2]
    bench.keep("hosts_many", dict(mine, tries=tries))
    row = Row("{:,} messages (1 KB) from a node's inbox to the leader's ledger".format(count), "<= 600 ms")
    row.result = "%s ms; CPU a message: %s" % (milliseconds(mine["all"]), ", ".join(
        "%s %.0f us" % (name, spent / count * 1e6) for name, spent in mine["cpu"].items()))
    row.floor = ratio(mine["all"], mine["floor"])
    if bench.quick:
        row.note = "a smaller number than the target's: --quick"
        return [row]
    return [row.judge(mine["all"] <= 600e6)]


class Player:
    """What the daemon of another node would put, and no daemon: its beat, and letters of its members."""

    def __init__(self, farm, node):
        self.client, self.node, self.members = farm.client(), node, farm.members[node]
        self.prefix, self.number, self.owed = "ip:{farm}:", 0, 0
        self.beat()

    def beat(self):
        self.settle()
        told = {"version": "0", "leads": False, "queued": 0, "oldest_ms": 0, "members": [
            {"name": name, "agentId": name + "@demo", "cwd": "/" + self.node, "joinedAt": 1} for name in self.members]}
        self.client("SET", self.prefix + "node:" + self.node, json.dumps(told), "PX", 60_000)
        self.client("SADD", self.prefix + "nodes", self.node)

    def settle(self):
        for _ in range(self.owed):
            self.client.reply()
        self.owed = 0

    def say(self, member):
        if self.owed > 20:
            self.settle()
        self.number += 1
        text = "%s %d %s" % (member, self.number, TEXT)
        entry = json.dumps(wire.entry(member, text))
        key = hashlib.sha256(text.encode()).hexdigest()[:KEY]
        self.client.connection.sendall(words("XADD", self.prefix + "in:lead:" + self.node, "*", "k", key, "o", "team-lead", "f", member, "y",
                                             "plain_text", "q", "", "e", entry, "n", self.number, "p", 0, "t", wire.now_ms(), "a", 0))
        self.owed += 1


KEY = 32  # hexadecimal digits of a message's key


def fifty(bench):
    nodes, workers, seconds = bench.pick(5, 50), 20, bench.pick(3, 20)
    members = dict({"h1": ("w1",)}, **{"s%d" % h: tuple("s%dw%d" % (h, w) for w in range(workers)) for h in range(nodes)})
    farm = Farm(bench, bench.folder / "nodes-fifty", members)
    try:
        first, here = farm.start("h1")
        players = [Player(farm, node) for node in members if node != "h1"]
        wait_for("the leader knows all of them", lambda: len(here.roster()["members"]) == nodes * workers + 2, 120, pause=0.5)
        pids = farm.pids()
        for pid in pids.values():
            cpu_quiet(pid)
        rest, rss = at_rest(pids["h1"], bench.pick(2, 10))
        before, begun, count = {name: cpu_seconds(pid) for name, pid in pids.items()}, time.monotonic(), 0
        beaten = 0
        while time.monotonic() - begun < seconds:
            due = int((time.monotonic() - begun) * nodes * workers)
            while count < due:
                player = players[count % nodes]
                player.say(player.members[count // nodes % workers])
                count += 1
            if time.monotonic() - begun > (beaten + 1) * seconds / 2 / nodes and beaten < nodes:
                players[beaten].beat()
                beaten += 1
            time.sleep(0.001)
        took = time.monotonic() - begun
        cpu = {name: (cpu_seconds(pid) - before[name]) / took for name, pid in pids.items()}
        wait_for("all are in the leader's ledger", lambda: first.ask("status")["teams"][0]["chat"]["queued"] >= count, 120, pause=0.2)
        queued = first.ask("status")["teams"][0]["chat"]["queued"]
        if queued != count:
            raise Lost("of %d messages of %d nodes %d are queued for the lead" % (count, nodes, queued))
        rss = max(rss, memory(pids["h1"])[0])
        engine = memory(pids["engine"])[0]
        for player in players:
            player.client.close()
    finally:
        farm.stop()
    bench.keep("hosts_fifty", {"cores": cpu, "rss": rss, "engine_rss": engine, "rest_cpu_s_per_min": rest, "messages": count, "seconds": took})
    row = Row("a leader with {:,} workers on {} nodes, a message a second each".format(nodes * workers, nodes), "<= 0.7 cores")
    row.result = "%.2f cores, RSS %.0f MB; at rest %.2f CPU s/min; the engine %.2f cores, RSS %.0f MB" % (
        cpu["h1"], rss / 1e6, rest, cpu["engine"], engine / 1e6)
    bench.say("  " + row.result)
    if bench.quick:
        row.note = "fewer than the target's: --quick"
        return [row]
    return [row.judge(cpu["h1"] <= 0.7)]


def nodes(bench):
    return latency(bench) + many(bench) + fifty(bench)
