"""Peers that keep the lock, of every make, beside the daemon: what each was told to be written is there, in its order, once; and hardly
any of them meets a lock that is ours.

The peers are the lock library of the real clients (proper-lockfile 4.1.2, synchronous without retries as 2.1.50, asynchronous with its
ladder as 2.1.329, with the options of two other tools), this project's stand-in for both generations, and a tool whose lock is a plain
file that names its process. The library comes with CTest's "interop setup".

How polite the daemon is, is measured with one writer an inbox that tries once: whom else could it have met? It polls at 500 ms, and
each writer writes some times a second. At most one write in a thousand may be refused. The long form (LONG=1: 40,000 writes of four
peers, each with ten inboxes) asks for just that, on a machine with nothing beside it. The short one (2,400) prints the share: a machine
that stops the daemon while it holds a lock decides it. LOCK_WRITES=… and LOCK_WRITERS=… set other numbers, LOCK_PAUSE_MS=… another pace.
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time
import unittest

import oracle
import team as wire
from case import ProcessTest
from daemon import LIMIT_S, team_toml, wait_for
from workload import received

PEERS = os.environ.get("INBOX_POLLER_PEERS", "")
WRITER = str(pathlib.Path(__file__).resolve().parent.parent / "interop" / "writer.js")
LONG = os.environ.get("LONG") == "1"
WRITES = int(os.environ.get("LOCK_WRITES", "40000" if LONG else "2400"))
WRITERS = int(os.environ.get("LOCK_WRITERS", "40" if LONG else "24"))
PAUSE_MS = int(os.environ.get("LOCK_PAUSE_MS", "100"))  # between two writes of one writer, on average
MOST = 0.001                                            # of the writes
EACH = 400 if LONG else 40                              # messages of each peer where all share one inbox
HOLD = 12                                               # seconds, longer than a lock may be without a touch


class FileLock:
    """The lock of a tool that writes its process's number and the time into a plain file, and waits up to five seconds."""

    def __init__(self, inbox):
        self.path = str(inbox) + ".lock"

    def __enter__(self):
        until = time.monotonic() + 5  # clock: that tool gives up after five seconds; what it says became of a message counts
        while True:
            try:
                file = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
                break
            except FileExistsError:
                if time.monotonic() > until:  # clock: that tool gives up after five seconds, see above
                    raise wire.Locked(self.path) from None
                time.sleep(0.02)  # clock: the pace of a peer; nothing is judged by it
        os.write(file, b"%d\n%d\n" % (os.getpid(), wire.now_ms()))
        os.close(file)

    def __exit__(self, *_):
        os.unlink(self.path)


@unittest.skipUnless(shutil.which("node"), "node is not installed")
@unittest.skipUnless(os.path.isdir(os.path.join(PEERS, "node_modules", "proper-lockfile")), "proper-lockfile is not installed")
class Peers(ProcessTest):
    def node(self, inboxes, sender, count, pause, kind, ask_every=0):
        process = subprocess.Popen(
            ["node", WRITER, ",".join(str(i) for i in inboxes), sender, str(count), str(pause), kind, str(ask_every)],
            env=dict(os.environ, NODE_PATH=os.path.join(PEERS, "node_modules")), stdout=subprocess.PIPE, text=True)
        self.stops.append(lambda: (process.kill(), process.stdout.close(), process.wait()))
        return process

    def lines(self, process, code=0):
        lines = [json.loads(line) for line in process.communicate(timeout=LIMIT_S)[0].splitlines()]
        self.assertEqual(process.returncode, code)
        return lines

    def sink(self, team):
        return self.folder / (team.name + ".jsonl")

    def toml(self, team, poll):
        return team_toml(team, poll=poll, more='\n[delivery]\nfile = "%s"\n[limits]\nqueued_chat = 100000\n' % self.sink(team))

    def settle(self, team, sent):
        chat = sum(wire.as_payload(e["text"]) is None for e in sent)
        wait_for("all chat is delivered", lambda: len(received(self.sink(team))) >= chat, pause=0.1)
        requests = len(sent) - chat
        wait_for("all requests are answered", lambda: sum(len(team.replies(m)) for m in {e["from"] for e in sent}) >= requests, pause=0.1)
        wait_for("all is marked", lambda: all(e["read"] for e in wire.read_inbox(team.lead_inbox) or [{"read": False}]), pause=0.1)

    def judge(self, team, sent):
        """After the daemon has left. `sent`: the entries whose writers were told that they stand there."""
        standing = wire.read_inbox(team.lead_inbox)
        for sender in {e["from"] for e in sent}:
            wanted = [dict(e, read=True) for e in sent if e["from"] == sender]
            self.assertEqual([e for e in standing if e["from"] == sender], wanted)
        got = received(self.sink(team))
        self.assertEqual(len({m["message_key"] for m in got}), len(got), "something was delivered twice")
        world = oracle.World(team, self.daemon.state, sent=sent, received=got, runs=[(0, self.daemon.log_path.read_bytes())])
        world.may_allow = {wire.as_payload(e["text"])["request_id"] for e in sent if wire.as_payload(e["text"])}
        self.assertEqual(oracle.violations(world), [])

    # --- all on one inbox ---

    def stand_in(self, team, name, era):
        """Messages through this project's stand-in for a worker; what it says became of each, in order."""
        worker = self.start_worker(team, name, era, poll=5.0)
        for number in range(EACH):
            worker.do("say", text="message %d of %s" % (number, name), patient=False)
            time.sleep(random.uniform(0, 0.1))  # clock: the pace of a peer; nothing is judged by it
        wait_for("all is said", lambda: len(worker.events("said", "lost")) == EACH)
        self.said[name] = [(e["text"], e["event"] == "said") for e in worker.events("said", "lost")]

    def file_locker(self, team, name):
        said = []
        for number in range(EACH):
            entry = wire.entry(name, "message %d of %s" % (number, name))
            try:
                with FileLock(team.lead_inbox):
                    wire.replace(team.lead_inbox, wire.stringify(wire.read_inbox(team.lead_inbox) + [entry], 2))
                said.append((entry["text"], True))
            except wire.Locked:
                said.append((entry["text"], False))
            time.sleep(random.uniform(0, 0.1))  # clock: the pace of a peer; nothing is judged by it
        self.said[name] = said

    def test_every_make_of_peer_on_one_inbox(self):
        kinds = {"old": "2.1.50", "new": "2.1.329", "controller": "controller", "qwen": "qwen", "patient": "patient"}
        team = self.make_team(members=[*kinds, "stand-old", "stand-new", "filer"])
        team.lead_inbox.write_text("[]")
        team.lead_inbox.chmod(0o600)
        self.make_daemon(self.toml(team, "100ms")).start()
        self.said = {}
        threads = [threading.Thread(target=self.stand_in, args=(team, "stand-old", wire.ERA1)),
                   threading.Thread(target=self.stand_in, args=(team, "stand-new", wire.ERA2)),
                   threading.Thread(target=self.file_locker, args=(team, "filer"))]
        for thread in threads:
            thread.start()
        processes = {name: self.node([team.lead_inbox], name, EACH, 50, kind, 10) for name, kind in kinds.items()}
        lines = {name: self.lines(process) for name, process in processes.items()}
        for thread in threads:
            thread.join()
        sent = [line["entry"] for told in lines.values() for line in told if line["ok"]]
        standing = {(e["from"], e["text"]): e for e in wire.read_inbox(team.lead_inbox)}
        for name, said in self.said.items():
            self.assertEqual([text for text, ok in said if ok], [t for s, t in standing if s == name])
            sent += [{k: v for k, v in standing[name, text].items()} for text, ok in said if ok]
        self.assertEqual(len(standing), len(sent))
        self.settle(team, sent)
        self.assertEqual(self.daemon.stop(), 0)
        self.judge(team, sent)
        refused = {name: sum(not line["ok"] for line in told) for name, told in lines.items()}
        refused.update({name: sum(not ok for _, ok in said) for name, said in self.said.items()})
        print("\nfigures: %d written by eight kinds of peers, all there, once; refused (nearly all by each other): %s" % (
            len(sent), {k: v for k, v in refused.items() if v}))

    # --- one writer an inbox ---

    def test_hardly_any_write_is_refused_because_of_us(self):
        teams = [self.make_team("team-%d" % n, members=["worker", "holder"]) for n in range(WRITERS)]
        held, killed = self.make_team("held", members=["worker"]), self.make_team("killed", members=["worker"])
        for team in [*teams, held, killed]:
            team.lead_inbox.write_text("[]")
            team.lead_inbox.chmod(0o600)
        waiting = wire.entry("worker", "waits for its mark")  # for which the daemon wants the lock that another holds
        wire.rewrite(held.lead_inbox, wire.stringify([waiting], 2))
        holder = self.node([held.lead_inbox], "worker", HOLD, 0, "hold")
        wait_for("the lock is held", held.lead_inbox.with_suffix(".json.lock").exists)
        self.make_daemon(*(self.toml(t, "500ms") for t in [*teams, held, killed])).start()
        dying = self.node([killed.lead_inbox], "worker", 1, 0, "die")
        began = time.monotonic()  # clock: a figure for the reader, compared with nothing
        writers = [self.node([t.lead_inbox for t in teams[number::4]], "worker", WRITES // WRITERS, PAUSE_MS, kind, 20)
                   for number, kind in enumerate(("2.1.50", "once", "once in place", "once anywhere"))]
        lines = [line for writer in writers for line in self.lines(writer)]
        seconds = time.monotonic() - began  # clock: a figure for the reader, compared with nothing
        refused = [line for line in lines if not line["ok"]]
        self.assertEqual({line["error"] for line in refused} - {"ELOCKED"}, set())
        # What our share of the time makes likely, were the writes spread evenly over it.
        states = [t for t in self.daemon.ask("status")["teams"] if t["team"].startswith("team-")]
        locks = [t["locks"] for t in states]
        busy = sum(l["acquired"] * l["median_us"] for l in locks) / 1e6 / WRITERS / seconds
        print("\nfigures: %d writes of %d writers in %.0f s, %d refused because of us (%.3f %%); our locks: %d, p50 %d us, p99 %d us "
              "(the worst inbox %d us); held for %.3f %% of the time" % (
                  len(lines), WRITERS, seconds, len(refused), 100.0 * len(refused) / len(lines), sum(l["acquired"] for l in locks),
                  sorted(l["median_us"] for l in locks)[WRITERS // 2], sorted(l["p99_us"] for l in locks)[WRITERS // 2],
                  max(l["p99_us"] for l in locks), 100 * busy), flush=True)
        if LONG:
            self.assertLessEqual(len(refused), MOST * len(lines))

        sent = {str(t.lead_inbox): [] for t in teams}
        for line in lines:
            if line["ok"]:
                sent[line["inbox"]].append(line["entry"])
        self.look_at_the_held(held, waiting, holder)
        self.look_at_the_killed(killed, dying)
        for team in teams:
            self.settle(team, sent[str(team.lead_inbox)])
        self.assertEqual(self.daemon.stop(), 0)
        for team in teams:
            self.judge(team, sent[str(team.lead_inbox)])

    def look_at_the_held(self, team, waiting, holder):
        """Its library never found its lock touched by somebody else, and the message that it wrote after twelve seconds is there."""
        told = self.lines(holder)
        self.assertEqual([line["ok"] for line in told], [True], told)
        self.settle(team, [waiting, told[0]["entry"]])
        locks = self.status("held")["locks"]
        self.assertEqual(locks["stale_taken"], 0)
        self.assertGreater(locks["refused"], 10, "the daemon never wanted the lock")

    def look_at_the_killed(self, team, dying):
        """Killed in the middle of its write, under its lock: the lock is taken over, the file is copied aside and left as it is."""
        self.lines(dying, -9)
        wait_for("half a file is copied aside", lambda: self.daemon.log("inbox.quarantined", team="killed"))
        self.assertTrue(self.status("killed")["locks"]["stale_taken"])
        wait_for("the lock is given back", lambda: not team.lead_inbox.with_suffix(".json.lock").exists())
        self.assertIsNone(wire.read_inbox(team.lead_inbox))


if __name__ == "__main__":
    unittest.main()
