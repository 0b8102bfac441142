"""What is measured side by side, each as a process that takes messages out of an inbox and hands them to the load generator's consumer:
the floor, the product (with and without its watcher, with and without compaction) and the reference.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from daemon import Daemon, alone, wait_for, write_private  # noqa: E402

LEAD = "team-lead"


class Lost(Exception):
    """A message did not arrive, arrived changed, or was not marked: what was measured means nothing."""


class Tools:
    """The programs of one build folder."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.product, self.load, self.floor = (str(self.build / name) for name in ("inbox-poller", "bench_load", "bench_floor"))
        self.peers = str(self.build / "peers" / "node_modules")

    def run(self, program, kind, limit=900, **options):
        done = subprocess.run([program, kind, *flags(options)], stdout=subprocess.PIPE, timeout=limit)
        if done.returncode != 0:
            raise Lost("%s %s left with %d" % (os.path.basename(program), kind, done.returncode))
        return json.loads(done.stdout)


def flags(options):
    return [part for name, value in options.items() for part in ("--" + name.replace("_", "-"), str(value))]


def cpu_seconds(pid):
    """CPU time of another process and its threads so far, by its own clock (clock_getcpuclockid(3)): nanoseconds, not ticks."""
    return time.clock_gettime((~pid << 3) | 2)


def cpu_quiet(pid, share=0.05, seconds=60.0, window=0.5):
    """Waits until the process is at rest. Not every one ever is (the reference reads on); then it returns when the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = cpu_seconds(pid)
        time.sleep(window)
        if cpu_seconds(pid) - before < share * window:
            return True
    return False


def memory(pid):
    """(RSS now, RSS at most), bytes."""
    text = pathlib.Path("/proc/%d/status" % pid).read_text()
    return tuple(int(re.search(name + r":\s+(\d+) kB", text).group(1)) * 1024 for name in ("VmRSS", "VmHWM"))


def at_rest(pid, seconds):
    before, begin = cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / (time.monotonic() - begin) * 60, memory(pid)[0]


class Features:
    """What this build of the product can be told to do: asked of the program itself, by check-config."""

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, pathlib.Path(folder)
        settings = {one["key"]: json.dumps(one["value"]) for one in json.loads(self.check({}).stdout)["teams"][0]["settings"]}
        self.watch = "team.watch" in settings
        self.compaction_off, self.compaction_soon = self.compaction({k: v for k, v in settings.items() if "compact" in k})

    def check(self, more):
        path = write_private(self.folder / "probe.toml", toml(more, name="demo", root=self.folder))
        return subprocess.run([self.tools.product, "check-config", "--json", "--config", path], capture_output=True, text=True,
                              env=alone(self.folder))

    def first_accepted(self, key, values):
        return next((value for value in values if self.check({key: value}).returncode == 0), None)

    def compaction(self, settings):
        """({setting: value} that turns compaction off, or None when this build has none; the same for "as soon as may be")."""
        off, soon = None, {}
        for key, value in sorted(settings.items()):
            if re.fullmatch(r'"\d+(ms|s|min|h|d)"', value):
                least = self.first_accepted(key, ('"0s"', '"1s"', '"1min"', '"1h"'))
                soon.update({key: least} if least else {})
            elif off is None:
                least = self.first_accepted(key, ("false",) if value in ("true", "false") else ("false", '"off"', "0"))
                off = {key: least} if least else None
        return off, soon


def toml(settings, name, root):
    """A team's file; `settings` maps "table.key" to a TOML value."""
    tables = {}
    for key, value in dict({"team.name": '"%s"' % name, "team.root": '"%s"' % root}, **settings).items():
        tables.setdefault(key.rpartition(".")[0], []).append("%s = %s" % (key.rpartition(".")[2], value))
    return "\n".join("[%s]\n%s\n" % (table, "\n".join(lines)) for table, lines in tables.items())


class Product:
    """`inbox-poller run` as a user runs it: default poll interval, a log in JSON. Compaction is off unless it is what is measured: it
    would change the files that are compared."""

    marks, listens = True, False

    def __init__(self, tools, features, watch, compaction=None):
        self.tools, self.watch, self.name = tools, watch, "watch on" if watch else "watch off"
        self.settings = {"permissions.allow": '["Bash(git status:*)"]', "limits.queued_chat": "1000000"}
        if features.watch:
            self.settings["team.watch"] = "true" if watch else "false"
        if compaction is not None:
            self.name += ", compaction " + ("on" if compaction else "off")
        self.settings.update((features.compaction_soon if compaction else features.compaction_off) or {})

    def start(self, place, name="demo"):
        self.daemon = Daemon(self.tools.product, place.folder, toml(self.settings, name, place.root))
        self.daemon.start()
        self.pid = self.daemon.process.pid
        wait_for("all teams are served and their inboxes looked at", lambda: self.serves(place.teams), 300, pause=0.2)
        return {"consumer": "control", "socket": self.daemon.socket, "team": "demo"}

    def status(self):
        return self.daemon.ask("status")["teams"]

    def serves(self, teams):
        try:
            found = self.status()
        except OSError as problem:  # while it takes in what many teams have, an answer may take longer than the connection lives
            if not self.daemon.running():
                raise Lost("the daemon has left: %s\n%s" % (problem, self.daemon.tail()))
            return False
        return len(found) >= teams and all(team["inbox"]["state"] != "not polled yet" for team in found)

    def locks(self):
        found = self.status()[0]["locks"]
        return {"p50": found["median_us"] * 1000, "p99": found["p99_us"] * 1000, "count": found["acquired"]}

    def slow_polls(self):
        return [int(event["latency_ms"]) for event in self.daemon.log("poll.slow")]

    def stop(self):
        if self.daemon.stop() != 0:
            raise Lost("the daemon left with %d:\n%s" % (self.daemon.process.returncode, self.daemon.tail()))

    def kill(self):
        if hasattr(self, "daemon") and self.daemon.running():
            self.daemon.kill()


class Piped:
    """A process that prints one JSON object when it ends."""

    marks, listens = True, True

    def spawn(self, command, **env):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=dict(os.environ, **env))
        self.pid = self.process.pid

    def kill(self):
        if hasattr(self, "process") and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def finish(self, seconds=30):
        try:
            text, _ = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Lost("%s did not end" % self.name)
        if self.process.returncode != 0:
            raise Lost("%s left with %d" % (self.name, self.process.returncode))
        self.told = json.loads(text)


class Reference(Piped):
    name = "reference"

    def __init__(self, tools, allow=False):
        self.tools, self.allow = tools, allow

    def start(self, place, inboxes=None):
        socket = str(place.folder / "c.sock")
        self.spawn(["node", str(HERE / "reference.js"), socket, "allow" if self.allow else "-", *map(str, inboxes or [place.inbox()])],
                   NODE_PATH=self.tools.peers)
        return {"consumer": "listen", "socket": socket}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.finish()


class Floor(Piped):
    name, marks = "floor", False

    def __init__(self, tools):
        self.tools = tools

    def start(self, place):
        socket, bell = str(place.folder / "c.sock"), str(place.folder / "bell")
        os.mkfifo(bell)
        self.spawn([self.tools.floor, "serve", "--notify", bell, "--inbox", str(place.inbox()), "--consumer", socket,
                    "--db", str(place.folder / "floor.db")])
        return {"consumer": "listen", "socket": socket, "notify": bell}

    def stop(self):
        self.finish()
