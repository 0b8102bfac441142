"""The rows of the table of targets: each is a scenario that runs every subject on files of the same bytes, one after the other, and
fails when a message is lost, repeated without need, changed, or not marked.
"""

import concurrent.futures
import itertools
import pathlib
import re
import shutil
import socket
import sqlite3
import time

from figures import Row, milliseconds, percentile, ratio, summary, times
from subjects import LEAD, Floor, Lost, Product, Reference, at_rest, cpu_quiet, cpu_seconds, memory
import team as wire
from nodes import nodes
from systems import systems
from tools_recv import tools

CONNECTIONS = 16   # to fetch what many teams were sent; the control socket takes 64
ENTRY_TEXT = 200   # bytes of an ordinary message
# From one message to the next where CPU time is taken: a file is known by its time stamps two seconds after it was last written (or marked);
# until then each poll reads it, and that belongs to the cost of the message.
POLL_WINDOW_US = 3_600_000


class Place:
    """A fresh folder with one team (or several), for one subject and one run."""

    numbers = itertools.count()

    def __init__(self, bench, teams=1, inboxes=3, history=0, name="demo"):
        self.bench, self.teams = bench, teams
        self.folder = bench.folder / ("p%d" % next(self.numbers))
        self.root = self.folder / "teams"
        self.folder.mkdir(mode=0o700)
        names = ["w%d" % (n + 1) for n in range(max(2, inboxes - 1))]
        self.names = [name] if teams == 1 else ["t%d" % n for n in range(teams)]
        for one in self.names:
            wire.Team(self.root, one, names, wire.ERA2)
        self.fill(history)

    def inboxes(self, team=None):
        return self.root / (team or self.names[0]) / "inboxes"

    def inbox(self):
        return self.inboxes() / (LEAD + ".json")

    def fill(self, history, size=ENTRY_TEXT):
        """The lead's inbox with so many read entries."""
        tools = self.bench.tools
        tools.run(tools.load, "fill", inboxes=self.inboxes(), count=history, size=size)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def checked(result, subject, what):
    """The load generator's findings, or Lost."""
    wrong = []
    if result["missing"]:
        wrong.append("%d of %d messages never arrived, such as %s" % (len(result["missing"]), result["written"], result["missing"][:5]))
    wrong += result["wrong"]
    if result["repeated"]:
        wrong.append("%d messages arrived more than once" % result["repeated"])
    if result["written"] != result["received"] + len(result["missing"]):
        wrong.append("%d written, %d received" % (result["written"], result["received"]))
    if subject.marks and result.get("unread"):
        wrong.append("%d entries are still unread when our patience ends" % result["unread"])
    if not result["written"]:
        wrong.append("nothing was written")
    if wrong:
        raise Lost("%s, %s: %s" % (what, subject.name, "; ".join(wrong)))
    return result


def measured(bench, subject, what, kind, place, settle=True, after=None, **options):
    """One run of the load generator against one subject; `after` looks at the subject while it still runs."""
    try:
        to = subject.start(place)
        if settle and not subject.listens:
            cpu_quiet(subject.pid)
        if options.pop("cpu", False):
            options["cpu_of"] = subject.pid
        result = bench.tools.run(bench.tools.load, kind, inboxes=place.inboxes(), **to, **options)
        checked(result, subject, what)
        if after:
            result["after"] = after(subject)
        subject.stop()
        result["told"] = getattr(subject, "told", {})
        return result
    finally:
        subject.kill()
        place.remove()


def product(bench, **more):
    """As the targets mean it: with the watcher, where there is one."""
    return Product(bench.tools, bench.features, bench.features.watch, **more)


def products(bench):
    """Both ways where the program has a watcher; the way without is what every build can do."""
    return [Product(bench.tools, bench.features, watch) for watch in ((True, False) if bench.features.watch else (False,))]


def best(bench, found):
    """The figures of product()."""
    return found.get("watch on") or found["watch off"]


def no_watch(bench, row):
    if not bench.features.watch:
        row.note = "the watcher is not built yet; these are figures of the timer"


# --- latency ---

def latency(bench, history, count, rounds, both=True):
    samples, refused = {}, {}
    for number in range(rounds):
        subjects = [Floor(bench.tools), *(products(bench) if both else [product(bench)]), Reference(bench.tools)]
        for subject in subjects[number % len(subjects):] + subjects[:number % len(subjects)]:
            place = Place(bench, history=history)
            result = measured(bench, subject, "latency", "chat", place, count=count // rounds, gap_us=40_000, gap_to_us=100_000, size=ENTRY_TEXT)
            samples.setdefault(subject.name, []).extend(result["latency_ns"])
            refused[subject.name] = refused.get(subject.name, 0) + result["refused"]
            bench.say("  %-10s %4d messages  p50 %s  p99 %s ms" % (subject.name, result["received"], milliseconds(percentile(result["latency_ns"], 50)),
                                                            milliseconds(percentile(result["latency_ns"], 99))))
    return {name: dict(summary(values), samples=values, refused_to_old_writers=refused[name]) for name, values in samples.items()}


def pair(found):
    return "%s / %s ms" % (milliseconds(found["p50"]), milliseconds(found["p99"]))


def compare(row, found, floor, reference):
    row.result = pair(found)
    row.floor = "%s / %s" % (times(found["p50"] / floor["p50"]), times(found["p99"] / floor["p99"]))
    row.reference = "%s faster / %s" % (times(reference["p50"] / found["p50"]), times(reference["p99"] / found["p99"]))


def message_latency(bench):
    found = latency(bench, 0, bench.pick(60, 720), bench.pick(1, 3))
    bench.keep("latency", found)
    rows = []
    for name in ("watch on", "watch off"):
        if name not in found:
            continue
        row = Row("written -> handed over, commit included, %s: p50 / p99" % name,
                  "<= 3x floor; >= 100x faster than the reference at p50" if name == "watch on" else "the timer alone; for comparison")
        compare(row, found[name], found["floor"], found["reference"])
        if name == "watch on":
            row.judge(found[name]["p50"] <= 3 * found["floor"]["p50"]).judge(found[name]["p99"] <= 3 * found["floor"]["p99"])
            row.judge(found["reference"]["p50"] >= 100 * found[name]["p50"])
        rows.append(row)
    if not bench.features.watch:
        row = Row("written -> handed over, commit included, watch on: p50 / p99", "<= 3x floor; >= 100x faster than the reference at p50")
        row.note = "the watcher is not built yet"
        rows.insert(0, row)
    return rows


def latency_with_history(bench):
    found = latency(bench, 5000, bench.pick(40, 420), bench.pick(1, 2), both=not bench.quick)
    bench.keep("latency_5000", found)
    row = Row("the same with 5,000 read entries in the file", "<= 2x the empty case")
    compare(row, best(bench, found), found["floor"], found["reference"])
    empty = bench.kept.get("latency")
    if empty:
        grown = best(bench, found)["p50"] / best(bench, empty)["p50"]
        row.result += " (%.2fx)" % grown
        row.judge(grown <= 2)
    no_watch(bench, row)
    return [row]


def permission(bench):
    found = {}
    for subject in [*bench.pick([product(bench)], products(bench)), Reference(bench.tools, allow=True)]:
        place = Place(bench, inboxes=5)
        # A worker asks when it has had its answer: with a pause as long as a poll, it does not fall into step with the polls.
        result = measured(bench, subject, "permission", "request", place, count=bench.pick(24, 300), writers=4, gap_us=20_000, gap_to_us=540_000)
        found[subject.name] = dict(summary(result["latency_ns"]), samples=result["latency_ns"], refused_to_old_writers=result["refused"])
        bench.say("  %-10s %s" % (subject.name, pair(found[subject.name])))
    bench.keep("permission", found)
    row = Row("permission request -> answer readable at the worker, by rule: p50 / p99", "order of 3 ms / 15 ms")
    mine = best(bench, found)
    floor = bench.kept.get("latency", {}).get("floor")
    row.result = pair(mine)
    if floor:
        row.floor = "%s / %s" % (times(mine["p50"] / floor["p50"]), times(mine["p99"] / floor["p99"]))
    row.reference = "%s faster / %s" % (times(found["reference"]["p50"] / mine["p50"]), times(found["reference"]["p99"] / mine["p99"]))
    row.judge(mine["p50"] <= 6e6).judge(mine["p99"] <= 30e6)  # "order of": twice
    no_watch(bench, row)
    return [row]


# --- many at once ---

def drain(bench):
    rows = []
    for count in bench.pick((1000,), (1000, 10_000)):
        found = {}
        for subject in [Floor(bench.tools), product(bench), Reference(bench.tools)]:
            tries = []
            for phase_us in bench.pick(range(1), range(0, 500_000, 100_000)):  # or all would meet a timer at one moment
                place = Place(bench)
                result = measured(bench, subject, "drain of %d" % count, "drain", place, settle=False, count=count, size=1000,
                                  marks=int(subject.marks), cpu=True, patience_s=240, settle_us=1_000_000 + phase_us)
                tries.append({"all": max(result["delivered_ns"], result["marked_ns"]), "delivered": result["delivered_ns"],
                              "marked": result["marked_ns"], "cpu": result["drain_cpu_ns"], "told": result["told"]})
                bench.say("  %5d, %-10s all after %s ms, CPU %s ms" % (count, subject.name, milliseconds(tries[-1]["all"]), milliseconds(tries[-1]["cpu"])))
                if tries[-1]["all"] > 20e9:
                    break  # once is enough to see that; the others have their time, too
            tries.sort(key=lambda one: one["all"])
            found[subject.name] = dict(tries[len(tries) // 2], tries=[{k: v for k, v in one.items() if k != "told"} for one in tries])
        bench.keep("drain_%d" % count, found)
        mine, floor, reference = best(bench, found), found["floor"], found["reference"]
        commit = floor["told"]["commit_ns"][0]
        beyond = (mine["all"] - commit) / count / 1000
        row = Row("drain of {:,} unread (1 KB): committed, delivered, marked".format(count),
                  ">= 3x faster than the reference; <= 3 us per message beyond the commit")
        row.result = "%s ms; %.1f us per message beyond the commit (CPU %.1f us)" % (milliseconds(mine["all"]), beyond, mine["cpu"] / count / 1000)
        row.floor, row.reference = ratio(mine["all"], floor["all"]), "%s faster (CPU %s)" % (times(reference["all"] / mine["all"]), times(reference["cpu"] / mine["cpu"]))
        row.judge(mine["all"] * 3 <= reference["all"]).judge(beyond <= 3)
        no_watch(bench, row)
        rows.append(row)
    return rows


# --- history ---

def history(bench):
    sizes, messages = bench.pick((0, 10_000), (0, 1000, 10_000, 50_000)), bench.pick(1, 3)
    found, idle_us = {}, bench.pick(POLL_WINDOW_US // 3, POLL_WINDOW_US)
    for size in sizes:
        place = Place(bench, history=size)
        read = bench.tools.run(bench.tools.floor, "read", path=place.inbox(), times=bench.pick(10, 30))["read_cpu_ns"]
        found.setdefault("plain read", {})[size] = {"cpu": percentile(read, 50)}
        place.remove()
        compactions = (False, True) if bench.features.compaction_off else (None,)
        subjects = [product(bench, compaction=c) for c in compactions] + [Reference(bench.tools)]
        for subject in subjects:
            place = Place(bench, history=size)
            result = measured(bench, subject, "history", "chat", place, count=messages, writers=1, style="replace", size=ENTRY_TEXT, cpu=True,
                              lead_us=1_000_000, gap_us=POLL_WINDOW_US, idle_us=idle_us)
            at_rest_share = result["idle_cpu_ns"] / (idle_us * 1000)
            cost = percentile([max(0, cpu - at_rest_share * window) for cpu, window in result["cpu_ns"]], 50)
            at_rest_cpu = at_rest_share * POLL_WINDOW_US * 1000
            found.setdefault(subject.name, {})[size] = {"cpu": cost, "idle": at_rest_cpu, "busy": cost + at_rest_cpu,
                                                        "latency": percentile(result["latency_ns"], 50)}
            bench.say("  behind %6d, %-26s CPU %s ms (at rest %s), latency %s ms" % (size, subject.name, *(
                milliseconds(found[subject.name][size][k]) for k in ("busy", "idle", "latency"))))
    bench.keep("history", found)
    return history_rows(bench, found, sizes)


def history_rows(bench, found, sizes):
    def costs(name, key="cpu"):
        return " / ".join(milliseconds(found[name][size][key]) for size in sizes)

    first, last, rows = sizes[0], sizes[-1], []
    names = [name for name in found if name.startswith("watch")]
    for name in names:
        off = "compaction on" not in name
        label = "compaction off" if off else "compaction on"
        row = Row("one new message behind %s read entries (%s), CPU" % (" / ".join("{:,}".format(s) for s in sizes), label),
                  "grows by less than the plain read" if off else "flat")
        row.result = "%s ms; plain read %s ms" % (costs(name), costs("plain read"))
        mine = found[name]
        # In front of the product's cost stand its looks at the file while it is young; the reference's are its polls, which never end.
        row.reference = "%s less (behind the most)" % times(found["reference"][last]["busy"] / max(1, mine[last]["busy"]))
        row.floor = ratio(mine[last]["cpu"], found["plain read"][last]["cpu"])
        grown = mine[last]["cpu"] - mine[first]["cpu"]
        below_a_read = grown <= found["plain read"][last]["cpu"] - found["plain read"][first]["cpu"]
        # A message costs less than its difference from a time at rest tells for certain, so a half more of next to nothing is flat, too.
        row.judge(below_a_read or not off and mine[last]["cpu"] <= 1.5 * mine[first]["cpu"])
        rows.append(row)
    if bench.features.compaction_off is None:
        row = Row("the same (compaction on)", "flat")
        row.note = "not built yet"
        rows.append(row)
    return rows


# --- many inboxes ---

def idle(bench):
    teams, seconds = bench.pick(10, 100), bench.pick(2, 20)
    rows, found, looks = [], {}, {}
    for entries in (0, 1000):
        for subject in (product(bench), Reference(bench.tools)):
            place = Place(bench, teams=teams, inboxes=10)
            text = pathlib.Path(place.inbox()).read_bytes()
            if entries:
                place.fill(entries)
                text = pathlib.Path(place.inbox()).read_bytes()
            for team in place.names:
                for name in [LEAD] + ["w%d" % (n + 1) for n in range(9)]:
                    target = place.inboxes(team) / (name + ".json")
                    target.write_bytes(text)
            try:
                spent, rss = idle_cpu(bench, subject, place, seconds)
                if entries not in looks:
                    looks[entries] = bench.tools.run(bench.tools.floor, "look", root=place.root, times=seconds * 2)
            finally:
                subject.kill()
                place.remove()
            found.setdefault(subject.name.split(",")[0], {})[entries] = {"cpu_s_per_min": spent, "rss": rss, "inboxes": teams * 10}
            bench.say("  %d inboxes with %4d entries, %-10s %.2f CPU s/min, RSS %.1f MB" % (teams * 10, entries, subject.name, spent, rss / 1e6))
    bench.keep("idle", dict(found, floor=looks))
    for entries in (0, 1000):
        mine, other, floor = best(bench, found)[entries], found["reference"][entries], looks[entries]
        looking = floor["cpu_ns"] / floor["ns"] * 60
        bench.say("  %d inboxes with %4d entries, only the looks %.2f CPU s/min" % (floor["inboxes"], entries, looking))
        row = Row("{:,} inboxes idle, {}".format(teams * 10, "empty" if not entries else "1,000 entries each"), "<= 0.2 CPU s per minute; RSS <= 20 MB")
        row.result = "%.2f CPU s/min; RSS %.1f MB" % (mine["cpu_s_per_min"], mine["rss"] / 1e6)
        row.floor = ratio(mine["cpu_s_per_min"], looking)
        row.reference = "%s less CPU; %s less memory" % (times(other["cpu_s_per_min"] / max(mine["cpu_s_per_min"], 1e-4)), times(other["rss"] / mine["rss"]))
        if teams == 100:
            row.judge(mine["cpu_s_per_min"] <= 0.2).judge(mine["rss"] <= 20e6)
        else:
            row.note = "a smaller number than the target's: --quick"
        rows.append(row)
    return rows


# In the first minute of a team all of its inboxes are looked at each time (adr 31); at rest is what comes after it.
SETTLED_S = 75


def idle_cpu(bench, subject, place, seconds):
    """CPU seconds a minute and RSS at rest."""
    if isinstance(subject, Reference):
        with socket.socket(socket.AF_UNIX) as listener:  # nothing will come
            listener.bind(str(place.folder / "c.sock"))
            listener.listen()
            subject.start(place, [place.inboxes(team) for team in place.names])
            peer, _ = listener.accept()
            time.sleep(1)
            spent, rss = at_rest(subject.pid, seconds)
            subject.stop()
            peer.close()
        return spent, rss
    begin = time.monotonic()
    subject.start(place, name="t*")
    cpu_quiet(subject.pid, share=0.2, seconds=bench.pick(20, 90), window=2.0)
    time.sleep(max(0.0, bench.pick(0, SETTLED_S) - (time.monotonic() - begin)))
    spent, rss = at_rest(subject.pid, seconds)
    subject.stop()
    return spent, rss


def locks(bench):
    found = {}
    for subject in (product(bench), Reference(bench.tools)):
        place = Place(bench, history=10_000)
        result = measured(bench, subject, "locks", "chat", place, count=bench.pick(60, 400), writers=1, style="replace", gap_us=20_000,
                          gap_to_us=50_000, size=ENTRY_TEXT, watch_lock=1,
                          after=lambda s: s.locks() if isinstance(s, Product) else None)
        own = result["after"] or dict(summary(result["told"]["lock_ns"]))
        outside = summary(result["lock_ns"])
        found[subject.name.split(",")[0]] = {"own": own, "outside": outside}
        bench.say("  %-10s held %s, by its own account; %d times, p50 %s ms seen from outside" % (
            subject.name, pair(own), outside["count"], milliseconds(outside.get("p50", 0))))
    bench.keep("locks", found)
    mine, other = best(bench, found), found["reference"]
    row = Row("lock held per marking, 10,000 entries in the file: p50 / p99", "<= 0.3 ms / 1 ms")
    row.result = "%s (%d locks)" % (pair(mine["own"]), mine["own"]["count"]) + ("; from outside " + "%s (%d seen)" % (pair(mine["outside"]), mine["outside"]["count"]) if mine["outside"]["count"] else "")
    row.reference = "%s shorter / %s" % (times(other["own"]["p50"] / mine["own"]["p50"]), times(other["own"]["p99"] / mine["own"]["p99"]))
    return [row.judge(mine["own"]["p50"] <= 0.3e6).judge(mine["own"]["p99"] <= 1e6)]


def scale(bench):
    """Every team once a second. When a message was taken in is read from the ledger afterwards: no consumer holds 1,000 connections."""
    teams, seconds = bench.pick(50, 1000), bench.pick(3, 30)
    place = Place(bench, teams=teams, inboxes=10)
    empty_inboxes(place)
    subject = product(bench)
    try:
        subject.start(place, name="t*")
        cpu_quiet(subject.pid, share=0.3, seconds=30, window=1.0)
        result = bench.tools.run(bench.tools.load, "scale", root=place.root, teams=teams, seconds=seconds, cpu_of=subject.pid)
        late = taken_in(bench, subject, result, place)
        slow = subject.slow_polls()
        rss = memory(subject.pid)[1]
        subject.stop()
    finally:
        subject.kill()
        place.remove()
    place = Place(bench, teams=teams, inboxes=10)
    empty_inboxes(place)
    reference = Reference(bench.tools)
    try:
        to = reference.start(place, [place.inboxes(team) for team in place.names])
        other = checked(bench.tools.run(bench.tools.load, "scale", root=place.root, teams=teams, seconds=seconds, cpu_of=reference.pid, **to),
                        reference, "scale")
        reference.stop()
    finally:
        reference.kill()
        place.remove()
    cores, other_cores = result["load_cpu_ns"] / result["took_ns"], other["load_cpu_ns"] / other["took_ns"]
    counts = ("written", "planned", "refused")
    found = {"product": dict(summary(late), cores=cores, rss=rss, slow_polls=slow, **{key: result[key] for key in counts}),
             "reference": dict(summary(other["latency_ns"]), cores=other_cores, **{key: other[key] for key in counts})}
    bench.keep("scale", found)
    bench.say("  %d teams: product latest %s ms, %.2f cores; reference latest %s ms, %.2f cores" % (
        teams, milliseconds(max(late)), cores, milliseconds(max(other["latency_ns"])), other_cores))
    row = Row("{:,} teams, {:,} inboxes, 1 message per second each team".format(teams, teams * 10), "no poll later than 1 s, CPU reported")
    row.result = "written -> taken in: p50 %s, latest %s ms; %.2f cores; RSS %.0f MB; %d slow polls" % (
        milliseconds(percentile(late, 50)), milliseconds(max(late)), cores, rss / 1e6, len(slow))
    row.reference = "latest %s earlier; %s less CPU" % (times(max(other["latency_ns"]) / max(late)), times(other_cores / cores))
    for name, one in (("product", result), ("reference", other)):
        if one["written"] + one["refused"] < one["planned"]:
            row.result += "; beside the %s only %d of %d messages could be written in time" % (name, one["written"], one["planned"])
    if teams == 1000:
        row.judge(max(late) <= 1e9 and not slow and result["written"] == result["planned"])
    else:
        row.note = "fewer teams than the target's: --quick"
    return [row]


def empty_inboxes(place):
    for team in place.names:
        for name in [LEAD] + ["w%d" % (n + 1) for n in range(9)]:
            target = place.inboxes(team) / (name + ".json")
            target.write_bytes(b"[]")


def taken_in(bench, subject, result, place):
    """Nanoseconds from written to taken in, of every message; Lost unless the ledger has each exactly once and all can be received."""
    written = dict(result["complete_utc_ns"])
    if result["wrong"] and any("failed" in one for one in result["wrong"]):
        raise Lost("scale: " + "; ".join(result["wrong"]))
    ledger = "file:%s?mode=ro" % (subject.daemon.state / "ledger.sqlite3")

    def rows():
        with sqlite3.connect(ledger, uri=True, timeout=10) as database:
            return database.execute("SELECT text, received_ms FROM messages WHERE type = 'chat'").fetchall()

    end = time.monotonic() + 120
    found = rows()
    while len(found) < len(written) and time.monotonic() < end:
        time.sleep(0.5)
        found = rows()
    seen = {}
    for said, received_ms in found:
        text = re.match(r"bench (\d+) ", said)
        if not text or int(text.group(1)) in seen:
            raise Lost("scale: the ledger has an entry that nobody wrote, or one twice: %r" % said[:120])
        # The ledger's times are whole milliseconds, rounded down.
        seen[int(text.group(1))] = (received_ms + 1) * 1_000_000
    if set(seen) != set(written):
        raise Lost("scale: %d messages written, %d of them in the ledger" % (len(written), len(set(seen) & set(written))))
    received_all(subject, place, set(written))
    return [seen[number] - at for number, at in written.items()]


def received_all(subject, place, wanted):
    """Every team's messages are handed out, each once. They are not acknowledged: nothing is measured any more."""
    def received(teams):
        got = []
        with subject.daemon.connect() as control:
            for team in teams:
                answer = control.ask("recv", team=team, max=1000, ignore_busy=True)
                if not answer["ok"]:
                    raise Lost("scale: recv: %s" % answer["message"])
                got += [int(message["text"].split()[1]) for message in answer["messages"]]
        return got

    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        got = [number for part in pool.map(received, [place.names[n::CONNECTIONS] for n in range(CONNECTIONS)]) for number in part]
    if sorted(got) != sorted(wanted):
        raise Lost("scale: %d messages were handed out, %d expected" % (len(got), len(wanted)))


SCENARIOS = [("latency", message_latency), ("latency-5000", latency_with_history), ("permission", permission), ("drain", drain),
             ("history", history), ("idle", idle), ("locks", locks), ("scale", scale), ("tools", tools), ("systems", systems), ("nodes", nodes)]
