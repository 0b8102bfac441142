"""The wall clock is set while the daemon runs, while it is down, and again and again; the machine sleeps; the daemon is stopped for
a while. Cadence, deadlines, retries, patience and stale locks follow the monotonic clock; a deadline that has to survive a restart is
never longer than it was at first; the order of messages is the file's, whatever their timestamps say.

The clock is set by a library between the daemon and the C library (tests/shim/clock.cpp); the times of files stay the kernel's. Each
class of moments is lived through by one daemon for each shift, all at the same time: what is waited for is mostly time itself. A limit
from below is exact, because it is measured from before the cause; one from above is generous.
"""

import concurrent.futures
import json
import os
import pathlib
import signal
import threading
import time
import unittest

import oracle
import team as wire
from case import ProcessTest
from daemon import Daemon, hold_still, team_toml, wait_for
from fake_clock import FakeClock
from workload import WORKERS, Workload, received

HOUR = 3_600_000
YEAR = 365 * 24 * HOUR
SHIFTS = {"an hour ahead": HOUR, "an hour back": -HOUR, "ten years ahead": 10 * YEAR, "ten years back": -10 * YEAR}
LATE = 30  # seconds in which a slow machine does what takes parts of one
STALE = 10
TOML = """
[delivery]
methods = ["file"]
file = "%s"
max_delay = "3s"
expire_after = "1min"
idle = "digest"
digest_after = "3s"

[modes]
apply_timeout = "2s"

[shutdown]
remind_after = "1s"
timeout = "4s"

[limits]
retention = "1h"
"""


class Life:
    """A daemon under a clock of its own, its team, and everything that was written to it."""

    def __init__(self, folder, timeout="3s", team_more="", more=TOML):
        folder.mkdir(mode=0o700)
        self.folder = folder
        self.team = wire.Team(folder / "teams", "demo", WORKERS)
        self.sink = folder / "lead.jsonl"
        self.daemon = Daemon(os.environ["INBOX_POLLER"], folder, team_toml(
            self.team, timeout=timeout, team_more=team_more, more=more % self.sink))
        self.clock = FakeClock(self.daemon, folder / "clock")
        self.world = oracle.World(self.team, self.daemon.state)

    def set_clock(self, wall_ms, slept_ms=0):
        self.clock.set(wall_ms, slept_ms)

    def say(self, sender, text, **envelope):
        self.world.sent.append(self.team.say(sender, text, **envelope))
        return time.monotonic()  # clock: a lower bound; a slow machine only adds to it

    def permission(self, worker, command, request_id):
        return self.say(worker, wire.permission_request(worker, "Bash", {"command": command}, request_id))

    def hold(self, worker):
        """A peer's lock on a worker's inbox."""
        path = pathlib.Path(str(self.team.inbox(worker)) + ".lock")
        path.mkdir()
        return path

    def ask(self, verb, **fields):
        answer = self.daemon.ask(verb, by="test", **fields)
        if not answer["ok"]:
            raise AssertionError(answer)
        return answer

    # --- what became of it ---

    def texts(self):
        return [m["text"] for m in received(self.sink)]

    def wait(self, what, condition):
        return wait_for("%s: %s" % (self.folder.name, what), condition, pause=0.05)

    def delivered(self, text):
        self.wait("%s is delivered" % text, lambda: text in self.texts())
        return time.monotonic()  # clock: a lower bound; a slow machine only adds to it

    def pending(self):
        return {a["request_id"] for a in self.ask("pending")["requests"]}

    def asked(self, request_id):
        self.wait("%s is pending" % request_id, lambda: request_id in self.pending())

    def answered(self, worker, request_id):
        self.wait("%s is answered" % request_id, lambda: self.team.replies(worker, request_id))
        return time.monotonic()  # clock: a lower bound; a slow machine only adds to it

    def logged(self, event, **fields):
        self.wait("%s %s" % (event, fields), lambda: self.daemon.log(event, **fields))
        return time.monotonic()  # clock: a lower bound; a slow machine only adds to it

    def kill(self):
        self.daemon.kill()
        self.world.runs.append((137, self.daemon.log_path.read_bytes()))
        self.daemon.log_path = self.folder / ("daemon-%d.log" % len(self.world.runs))

    def end(self, test):
        """Stops it, and judges all that happened."""
        code = self.daemon.stop()
        self.world.runs.append((code, self.daemon.log_path.read_bytes()))
        self.world.received = received(self.sink)
        test.assertEqual((code, oracle.violations(self.world)), (0, []), self.folder.name)


class TimeTest(ProcessTest):
    def life(self, name, **options):
        life = Life(self.folder / name.replace(" ", "-"), **options)
        self.stops.append(lambda: life.daemon.running() and life.daemon.kill())
        return life

    def all_at_once(self, live, names):
        """live(name, …) for each, side by side."""
        with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
            for future in [pool.submit(live, name) for name in names]:
                future.result()

    def not_before(self, life, what, moment, seconds):
        self.assertGreaterEqual(moment, seconds, "%s: %s came too early" % (life.folder.name, what))


class WhileItRuns(TimeTest):
    """The clock is set under a daemon that has everything open that waits for a time."""

    def test_nothing_comes_early_and_nothing_waits_for_ever(self):
        self.all_at_once(self.live, [*SHIFTS, "back at each poll"])

    def live(self, name):
        life = self.life(name)
        life.daemon.start()
        life.ask("lead", state="busy", for_ms=10 * 60_000)
        lock = life.hold("bob")
        since = {"lock": time.monotonic()}  # clock: a lower bound; a slow machine only adds to it
        since["owed"] = life.permission("bob", "git status", "perm-owed")  # a rule allows it; its reply has to wait for the lock
        life.world.may_allow.add("perm-owed")
        since["chat"] = life.say("ada", "before the jump")
        life.say("cleo", wire.idle_notification("cleo"))
        since["request"] = life.permission("ada", "make", "perm-open")
        life.asked("perm-open")
        since["mode"] = time.monotonic()  # clock: a lower bound; a slow machine only adds to it
        life.ask("mode", member="cleo", mode="plan")
        since["shutdown"] = time.monotonic()  # clock: a lower bound; a slow machine only adds to it
        shutdown = life.ask("shutdown", member="cleo")["shutdowns"][0]["request_id"]
        over = threading.Event()
        back = threading.Thread(target=self.set_back, args=(life, over))
        try:
            if name in SHIFTS:
                life.set_clock(SHIFTS[name])
            else:
                back.start()
            life.say("bob", "after the jump")
            self.wait_for_all(life, since, shutdown)
            self.assertTrue(life.daemon.running())
        finally:
            over.set()
        self.assertFalse(lock.exists())
        later = life.say("bob", "later")  # three seconds old at last
        self.not_before(life, "later", life.delivered("later") - later, 3)
        life.ask("lead", state="idle")
        life.wait("the digest is delivered", lambda: [t for t in life.texts() if "cleo" in t and "idle" in t])
        life.end(self)

    def set_back(self, life, over):
        offset = 0
        while not over.wait(0.05):  # clock: the pace at which the clock is set
            offset -= 60_000
            life.set_clock(offset)

    def wait_for_all(self, life, since, shutdown):
        self.not_before(life, "the reminder", life.logged("shutdown.reminded", request_id=shutdown) - since["shutdown"], 1)
        self.not_before(life, "not adopted", life.logged("setting.not_applied") - since["mode"], 2)
        self.not_before(life, "the deadline", life.answered("ada", "perm-open") - since["request"], 3)
        self.not_before(life, "chat for a busy lead", life.delivered("before the jump") - since["chat"], 3)
        life.delivered("after the jump")
        life.logged("shutdown.state", request_id=shutdown, new="timed_out")
        # clock: a lower bound; a slow machine only adds to it
        self.not_before(life, "the end of the shutdown", time.monotonic() - since["shutdown"], 4)
        self.not_before(life, "taking over the lock", life.answered("bob", "perm-owed") - since["lock"], STALE)


class OverARestart(TimeTest):
    """The clock is set while the daemon is down."""

    def test_a_deadline_is_never_longer_than_it_was_and_never_an_allow(self):
        self.all_at_once(self.live, SHIFTS)

    def live(self, name):
        life = self.life(name, more=TOML.replace('expire_after = "1min"\n', ""))  # it would be right to use it
        life.daemon.start()
        life.ask("lead", state="busy", for_ms=10 * 60_000)
        life.permission("ada", "git status", "perm-done")
        life.world.may_allow.add("perm-done")
        life.answered("ada", "perm-done")
        lock = life.hold("bob")
        life.permission("bob", "make", "perm-open")
        life.say("ada", "before the jump")
        life.asked("perm-open")
        shutdown = life.ask("shutdown", member="cleo")["shutdowns"][0]["request_id"]
        life.wait("the request is written", lambda: wire.read_inbox(life.team.inbox("cleo")))
        life.kill()
        lock.rmdir()
        life.set_clock(SHIFTS[name])
        life.daemon.start()
        life.permission("ada", "git status", "perm-done")  # the same request in another envelope: the same answer, not another decision
        life.answered("bob", "perm-open")
        life.logged("shutdown.state", request_id=shutdown, new="timed_out")
        life.wait("it is known again", lambda: life.daemon.log("request.repeated", request_id="perm-done"))
        life.delivered("before the jump")
        life.set_clock(0)
        life.say("ada", "at the end")
        life.delivered("at the end")
        life.end(self)


class BeforeItStarts(TimeTest):
    """The clock was always wrong, and so are the timestamps in the inbox."""

    TIMES = ("2026-02-07T15:20:11.000Z", "9999-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z", "yesterday", "", "-1",
             "99999999999999999999", "2026-02-30T99:99:99Z", "+275760-09-13T00:00:00.000Z")
    NO_TIMES = (1_770_000_000_000, -5, 1e300, True, ["2026"], {})

    def test_a_workload_is_taken_in_as_with_the_right_time(self):
        self.all_at_once(self.live, SHIFTS)

    def live(self, name):
        life = self.life(name, timeout="10min", more='\n[delivery]\nmethods = ["file"]\nfile = "%s"\n')
        workload = Workload(17, life.team, life.daemon.state)
        for number, moment in enumerate((*self.TIMES, *reversed(self.TIMES))):
            entry = dict(wire.entry("ada", "odd time %d" % number, wire.ERA1), timestamp=moment)
            workload.entries.append(wire.stringify(entry))
            workload.world.sent.append(entry)
        for number, moment in enumerate(self.NO_TIMES):
            entry = dict(wire.entry("bob", "no time %d" % number, wire.ERA1), timestamp=moment)
            workload.entries.append(wire.stringify(entry))
            workload.world.sent.append(entry)
        for without in ({"from": "bob", "text": "null", "timestamp": None, "read": False}, {"from": "bob", "text": "none", "read": False}):
            workload.entries.append(json.dumps(without))
            workload.world.sent.append(without)
        life.world = workload.write()
        life.set_clock(SHIFTS[name])
        life.daemon.start()
        life.wait("all is marked", lambda: all(
            e.get("read") is not False for e in wire.read_inbox(life.team.lead_inbox) if isinstance(e, dict)))
        chat = [e["text"] for e in life.world.sent if e["text"].startswith("odd time")]
        life.delivered(chat[-1])
        self.assertEqual([t for t in life.texts() if t.startswith("odd time")], chat)
        life.delivered("none")
        life.end(self)
        without = [r for r in life.world.rows["messages"] if b'"no time' in bytes(r["entry"])]
        self.assertEqual([r["disposition"] for r in without], ["chat"] * len(self.NO_TIMES))


class Asleep(TimeTest):
    """The machine sleeps (the wall clock jumps, the monotonic one stands still), or the daemon is stopped while others go on."""

    def test_what_waited_goes_on_and_nobody_is_robbed(self):
        self.all_at_once(self.live, ("suspended", "stopped"))

    def live(self, name):
        life = self.life(name)
        life.daemon.start()
        lock = life.hold("bob")
        since = life.permission("bob", "git status", "perm-owed")
        life.world.may_allow.add("perm-owed")
        life.logged("reply.deferred", request_id="perm-owed")  # so it has seen the lock
        life.permission("ada", "make", "perm-open")
        life.asked("perm-open")
        asleep = time.monotonic()  # clock: a figure for the reader, compared with nothing
        hold_still(life.daemon.process.pid)
        if name == "suspended":
            life.set_clock(8 * HOUR, slept_ms=8 * HOUR)
        time.sleep(1 if name == "suspended" else STALE + 1)  # clock: so long it is stopped; more time does no harm
        life.say("ada", "while it slept")
        life.daemon.process.send_signal(signal.SIGCONT)
        # Its holder slept as well, and touches it when it comes to that. The daemon's first poll would break a lock that it took for stale.
        life.answered("ada", "perm-open")
        self.assertTrue(lock.exists(), "%s: a lock was broken that was watched for %.1f s" % (name, asleep - since))
        os.utime(lock)
        lock.rmdir()
        life.answered("bob", "perm-owed")
        life.delivered("while it slept")
        life.world.chat_waits_ms = 30_000  # and a sleep is time
        life.end(self)


if __name__ == "__main__":
    unittest.main()
