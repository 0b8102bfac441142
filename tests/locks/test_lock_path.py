"""Whatever stands at the path of a lock: who waits, for how long, who takes it over, and what nobody ever removes.

One team for each thing that may stand there, all served by one daemon. It stands at the lock of the lead's inbox and at that of a
worker's, from before the daemon's first look. Reading needs no lock, so all is accepted at once; nothing is marked and nothing is
answered while the thing stands. In the end everything is marked and answered, and the oracle is asked of each team.

A living peer holds its lock for 13 seconds; in the long form (LONG=1) for 60, and the removal of forgotten lock files is waited for.
"""

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import unittest

import oracle
import team as wire
from case import ProcessTest
from daemon import team_toml, wait_for
from workload import received

HELD = 60.0 if os.environ.get("LONG") == "1" else 13.0  # seconds
STALE, PATIENCE, FORGOTTEN = 10.0, 5.0, 30.0  # seconds of the daemon's own clock
EFFECT_GRACE = 30.0                           # after so long a blocked answer holds chat back no longer (poller/delivery/delivery.cpp)
STRANGER = 12345                              # a user that is not us
KILLED = """
import os, sys
sys.path.insert(0, sys.argv[1])
import team as wire
with wire.Lock(sys.argv[2]):
    with open(sys.argv[2], "r+b") as file:
        file.truncate(int(sys.argv[3]))
    os.kill(os.getpid(), 9)
"""


def dead_pid():
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def file_with(content):
    return lambda path: path.write_bytes(content() if callable(content) else content)


def directory(age=0.0, inside=None, uid=None):
    def make(path):
        path.mkdir()
        if inside:
            (path / inside).write_bytes(b"somebody's")
        if uid:
            os.chown(path, uid, uid)
        moment = time.time() - age  # clock: a file is given an age
        os.utime(path, (moment, moment))
    return make


def link_to(target):
    def make(path):
        where = path.parent.parent.parent.parent / target
        if target == "elsewhere":
            where.mkdir(exist_ok=True)
        path.symlink_to(where)
    return make


# What stands there; after how many seconds the daemon may remove it (None: never, a person has to); what is told of it.
THINGS = {
    "abandoned": (directory(age=3600), STALE, "was taken over"),
    "fresh": (directory(), STALE, "was taken over"),
    "hour-ahead": (directory(age=-3600), STALE, "was taken over"),
    "decade-ahead": (directory(age=-10 * 365 * 86400), STALE, "was taken over"),
    "of-another-user": (directory(uid=STRANGER), STALE, "was taken over"),
    "not-empty": (directory(inside="note"), None, "not empty"),
    "empty-file": (file_with(b""), FORGOTTEN, "no process named"),
    "living-file": (file_with(lambda: b"%d\n%d\n" % (os.getpid(), wire.now_ms())), FORGOTTEN, "process %d" % os.getpid()),
    "dead-file": (file_with(lambda: b"%d\n%d\n" % (dead_pid(), wire.now_ms())), PATIENCE, "which is dead"),
    "dead-json": (file_with(lambda: b'{"pid": %d, "ttl_seconds": 30}' % dead_pid()), PATIENCE, "which is dead"),
    "garbage-file": (file_with(b"\x00\xff{pid:"), FORGOTTEN, "no process named"),
    "large-file": (file_with(b"7" * 5000), None, "not a lock"),
    "link-to-folder": (link_to("elsewhere"), None, "symbolic link"),
    "dangling-link": (link_to("nowhere"), None, "symbolic link"),
    "beaten": (directory(), None, None),
    "killed-empty": (None, STALE, "was taken over"),
    "killed-half": (None, STALE, "was taken over"),
}


def identity(path):
    """What stands there; None when nothing does."""
    try:
        facts = path.lstat()
    except FileNotFoundError:
        return None
    return stat.S_IFMT(facts.st_mode), facts.st_ino, facts.st_mtime_ns


class Place:
    """One team with its thing."""

    def __init__(self, test, name, daemon):
        self.name = name
        self.make, self.patience, self.words = THINGS[name]
        self.team = test.make_team(name)
        self.sink = test.folder / (name + ".jsonl")
        self.locks = [self.team.lead_inbox.with_suffix(".json.lock")]
        if self.make:
            self.locks.append(self.team.inbox("ada").with_suffix(".json.lock"))
        self.request = wire.permission_request("ada", "Bash", {"command": "git status"}, "perm-" + name)
        self.sent = [self.team.say("ada", self.request), self.team.say("bob", "chat in " + name), self.team.say("bob", "more in " + name)]
        self.team.say("bob", "between us", to="ada")
        self.world = oracle.World(self.team, daemon.state, sent=self.sent, may_allow={self.request["request_id"]})
        self.remember()
        self.gone_at = [None] * len(self.locks)
        self.longest_pause = 0.0
        self.problems = []

    def remember(self):
        self.world.before = {p.name: p.read_bytes() for p in (self.team.lead_inbox, self.team.inbox("ada"))}

    def begin(self):
        for path in self.locks:
            if self.make:
                self.make(path)
        if not self.make:  # a peer that is killed inside the lock of the lead's inbox
            keep = 0 if self.name == "killed-empty" else len(self.world.before[self.team.lead_inbox.name]) - 60
            code = subprocess.run([sys.executable, "-B", "-c", KILLED, os.path.dirname(wire.__file__), str(self.team.lead_inbox),
                                   str(keep)], check=False).returncode
            assert code == -signal.SIGKILL, code
        self.things = [identity(path) for path in self.locks]
        self.bytes = [self.team.lead_inbox.read_bytes(), self.team.inbox("ada").read_bytes()]
        self.began = time.monotonic()  # clock: a lower bound; a slow machine only adds to it

    def beat(self):
        for path in self.locks:
            with contextlib.suppress(FileNotFoundError):  # taken, because this process was kept from beating
                os.utime(path)
        self.things = [identity(path) for path in self.locks]

    def look(self):
        """Nothing was written past a thing that stands there. The file is looked at first: what is done after the removal is fine."""
        for number, file in enumerate((self.team.lead_inbox, self.team.inbox("ada"))[:len(self.locks)]):
            if self.gone_at[number] is not None:
                continue
            now = file.read_bytes()
            if identity(self.locks[number]) != self.things[number]:
                self.gone_at[number] = time.monotonic() - self.began  # clock: a lower bound; a slow machine only adds to it
            elif now != self.bytes[number]:
                self.problems.append("%s: %s was written while its lock stood there" % (self.name, file.name))

    def stands(self):
        return None in self.gone_at

    def remove(self):
        """What a person does about it."""
        for path in self.locks:
            if path.is_dir() and not path.is_symlink():
                for inside in path.iterdir():
                    inside.unlink()
                path.rmdir()
            else:
                path.unlink(missing_ok=True)

    def marked(self):
        return all(e["read"] for e in wire.read_inbox(self.team.lead_inbox) or [{"read": False}])

    def told(self, daemon):
        told = [e for name in ("inbox.lock_foreign", "inbox.state", "inbox.unreadable") for e in daemon.log(name, team=self.name)]
        return [e["reason"] for e in told if not self.words or self.words in e.get("reason", "")]


class LockPath(ProcessTest):
    def setUp(self):
        super().setUp()
        self.over = threading.Event()
        self.stops.append(self.over.set)

    def heartbeat(self, place):
        """A living peer, as the lock library keeps its lock: touched every five seconds."""
        last = time.monotonic()  # clock: a lower bound; a slow machine only adds to it
        while not self.over.wait(0.05) and time.monotonic() - place.began < HELD:  # clock: how long a peer holds its lock is the subject
            if time.monotonic() - last >= 5.0:  # clock: a lower bound; a slow machine only adds to it
                with self.looking:
                    place.look()
                    place.beat()
                pause = time.monotonic() - last  # clock: says whether this machine let the peer beat
                last, place.longest_pause = last + pause, max(place.longest_pause, pause)
        self.look(place)

    def look(self, place):
        with self.looking:
            place.look()

    def test_each_thing_that_may_stand_there(self):
        self.looking = threading.Lock()
        self.make_daemon()
        names = [n for n in THINGS if n != "of-another-user" or os.geteuid() == 0]
        if len(names) < len(THINGS):
            print("\nnot tried: the lock of another user (only root can make one)")
        places = {name: Place(self, name, self.daemon) for name in names}
        self.make_daemon(*(team_toml(p.team, poll="200ms", more='\n[delivery]\nfile = "%s"\n' % p.sink) for p in places.values()))
        for place in places.values():
            place.begin()
        beater = threading.Thread(target=self.heartbeat, args=(places["beaten"],))
        beater.start()
        self.daemon.start()
        for place in places.values():
            if place.make:
                wait_for("accepting needs no lock: " + place.name, lambda p=place: sum(
                    self.status(p.name)["chat"][state] for state in ("queued", "offered", "delivered")) == 2)

        removable = [p for p in places.values() if p.patience and (p.patience < FORGOTTEN or HELD > FORGOTTEN)]

        def settled():
            for place in places.values():
                if place.name != "beaten":  # its owner looks, and may be done already
                    self.look(place)
            return not beater.is_alive() and not any(p.stands() for p in removable)

        wait_for("every abandoned lock was taken over", settled, pause=0.05)
        beater.join()
        if (pause := places["beaten"].longest_pause) >= STALE:
            print("\nNOT JUDGED: whether a beaten lock stays. The machine kept its owner from beating for %.1f s." % pause)
            places["beaten"].gone_at = [None] * len(places["beaten"].locks)
        for place in places.values():
            for gone_at in place.gone_at:
                # What nobody waited for is gone as well where the machine took so long.
                if place in removable or (place.patience and gone_at is not None):
                    self.assertGreaterEqual(gone_at, place.patience, place.name)
                else:
                    self.assertIsNone(gone_at, place.name)
            self.assertEqual(place.problems, [])
            if place.words:
                wait_for("it is told of " + place.name, lambda p=place: p.told(self.daemon))
        print("\nfigures: %d things at a lock's path; removed after (s): %s" % (
            len(places), ", ".join("%s %.1f" % (p.name, min(p.gone_at)) for p in removable)))

        for place in places.values():
            if place not in removable:
                replies = place.team.replies("ada")
                # The peer that beat its lock is done. On a slow machine the lock is abandoned by now, and taken over.
                if place.name != "beaten" or all(os.path.lexists(path) for path in place.locks):
                    self.assertEqual(replies, [])
                place.remove()
        self.mend_what_the_killed_left(places)
        for place in places.values():
            wait_for("all is marked: " + place.name, place.marked)
            wait_for("the request is answered: " + place.name, lambda p=place: p.team.replies("ada"))
            wait_for("chat is there: " + place.name, lambda p=place: len(received(p.sink)) >= 2)
        self.assertEqual(self.daemon.stop(), 0)
        self.judge(places)

    def mend_what_the_killed_left(self, places):
        """The file was not written by us: it is as the killed peer left it, until its next writer comes."""
        half = places["killed-half"]
        wait_for("half a file is copied aside", lambda: self.daemon.log("inbox.quarantined", team=half.name))
        for place in (half, places["killed-empty"]):
            self.assertEqual(place.team.lead_inbox.read_bytes(), place.bytes[0])
            wire.replace(place.team.lead_inbox, place.world.before[place.team.lead_inbox.name].decode())

    def judge(self, places):
        log = self.daemon.log_path.read_bytes()
        for place in places.values():
            with self.subTest(place.name):
                place.world.received = received(place.sink)
                place.world.runs = [(0, log)]
                held_back = HELD > EFFECT_GRACE and place.patience in (None, FORGOTTEN)
                problems = oracle.violations(place.world)
                self.assertEqual([p for p in problems if not (held_back and p.startswith("I3"))], [])
                texts = [m["text"] for m in place.world.received]
                self.assertEqual(texts, ["chat in " + place.name, "more in " + place.name])
        quarantined = [e["team"] for e in self.daemon.log("inbox.quarantined")]
        self.assertEqual(quarantined, ["killed-half"])
        told = {name: len(self.daemon.log("inbox.lock_foreign", team=name)) + len(self.daemon.log("reply.deferred", team=name))
                for name in places}
        print("lines in the log about both locks: %s" % told)
        self.assertLessEqual(max(told.values()), 8, "a lock that stays fills the log")


if __name__ == "__main__":
    unittest.main()
