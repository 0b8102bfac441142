"""`box` and `tasks`: agents that share a folder, beside a stand-in for the public store, with kills at any moment."""

import collections
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest

from case import ProcessTest
from daemon import LIMIT_S, alone, asan_options, wait_for
from maildir_peer import Store
from portion import LONG

PEER = pathlib.Path(__file__).parent.parent / "support" / "maildir_peer.py"


def watches_folders(pid):
    """Whether the process has set up what the kernel wakes it with. Descriptors come and go meanwhile."""
    found = ""
    for fd in pathlib.Path("/proc/%d/fd" % pid).iterdir():
        try:
            found += os.readlink(fd)
        except FileNotFoundError:
            pass
    return "inotify" in found


class Box(ProcessTest):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "shared"
        self.root.mkdir(mode=0o700)

    def command(self, actor, *arguments):
        return [os.environ["INBOX_POLLER"], "mailbox", *arguments, "--root", str(self.root), "--actor", actor, "--json"]

    def box(self, actor, *arguments, expect=0, **options):
        done = subprocess.run(self.command(actor, *arguments), env=alone(self.folder), capture_output=True, text=True, timeout=LIMIT_S, **options)
        self.assertEqual(done.returncode, expect, done)
        return json.loads(done.stdout)

    def tasks(self, *arguments, expect=0):
        done = subprocess.run([os.environ["INBOX_POLLER"], "tasks", *arguments, "--root", str(self.root), "--json"],
                              env=alone(self.folder), capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, expect, done)
        return json.loads(done.stdout)

    def start(self, command, traced=False, **options):
        env = dict(alone(self.folder), ASAN_OPTIONS=asan_options("detect_leaks=0")) if traced else alone(self.folder)  # a traced process cannot look for leaks
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

        def stop():
            if process.poll() is None:
                process.kill()
            process.communicate()

        self.stops.append(stop)
        return process

    def files(self, below):
        return sorted((self.root / below).glob("*.json")) if (self.root / below).is_dir() else []

    # --- mail

    def test_two_agents_write_and_answer_and_nothing_is_left_in_tmp(self):
        sent = self.box("ada", "send", "bob", '{"task": "review", "n": [1, 2.5]}', "--type", "handoff")["message"]
        got = self.box("bob", "recv", "--timeout", "10min")["message"]
        self.assertEqual(got, sent)
        self.assertEqual(got["payload"], {"task": "review", "n": [1, 2.5]})
        self.box("ada", "send", "bob", "something else")
        self.box("bob", "send", "ada", "chatter")
        answer = self.box("bob", "send", "ada", "fine \u2028 \U0001f600", "--in-reply-to", sent["id"])["message"]
        self.assertEqual(self.box("ada", "recv", "--reply-to", sent["id"], "--timeout", "10min")["message"], answer)
        self.assertEqual(self.box("ada", "recv", "--timeout", "10min")["message"]["payload"], "chatter")
        self.assertEqual(list((self.root / "tmp").iterdir()), [])
        self.assertEqual(self.box("bob", "inbox")["unread"], 1)

    def test_a_message_to_nobody_makes_the_mailbox_and_says_who_may_be_meant(self):
        sent = self.box("ada", "send", "bob", "hello")
        self.assertIs(sent["new_mailbox"], True)
        self.assertIn('"bob" had no mailbox yet', sent["note"])
        self.assertEqual({p.name for p in (self.root / "bob").iterdir()}, {"new", "cur"})  # where peers write and rename to
        self.assertEqual(set(self.box("ada", "send", "bob", "again")), {"ok", "version", "message"})
        self.assertIn('did you mean "bob"?', self.box("ada", "send", "bbo", "a slip")["note"])
        self.assertEqual(self.box("bob", "recv", "--timeout", "10min")["message"]["payload"], "hello")
        done = subprocess.run([a for a in self.command("ada", "send", "eve", "x") if a != "--json"], env=alone(self.folder),
                              capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn('"eve" had no mailbox yet', done.stderr)
        self.assertIn("payload:\n  x\n", done.stdout)
        strict = dict(alone(self.folder), COLLAB_KNOWN_ACTORS="bob,carl")
        for to, code in (("dora", 1), ("carl", 0), ("bob", 0), ("ada", 0)):
            done = subprocess.run(self.command("ada", "send", to, "x"), env=strict, capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual(done.returncode, code, done)
        self.assertFalse((self.root / "dora").exists())

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_a_waiting_receiver_is_woken_by_the_folder_and_makes_few_calls_meanwhile(self):
        self.box("bob", "try-recv", expect=4)
        store, woken, made = Store(self.root, "ada"), 0, 0
        for i in range(5):
            trace = self.folder / ("calls-%d" % i)
            waits = self.start(["strace", "-qq", "-f", "-y", "-o", str(trace), *self.command("bob", "recv", "--timeout", "10min")], traced=True)
            calls = lambda: trace.read_text("utf-8", "replace").split("\n")  # noqa: E731
            wait_for("it waits", lambda: trace.exists() and "inotify_add_watch" in "\n".join(calls()) and "epoll_wait" in calls()[-1])
            before = len(calls())
            if i == 0:
                time.sleep(1.5)  # clock: a longer wait makes a few calls more; the limit is a hundredth of what a loop would make
                made = len(calls()) - before
                self.assertLess(made, 1000, "it does not wait")
            store.send("bob", "note", i)
            self.assertEqual(json.loads(waits.stdout.readline())["message"]["payload"], i)
            waits.wait(LIMIT_S)
            woken += any(re.search(r"read\(\d+<anon_inode:inotify>.*= [1-9]", call) for call in calls()[before - 1:])
        print("figures: %d system calls in a wait of 1.5 s; the folder woke %d of 5" % (made, woken))
        self.assertGreater(woken, 0, "the timer woke it, not the folder")

    def test_the_public_store_and_ours_exchange_everything_each_once(self):
        peer = Store(self.root, "eve")
        expected = []
        for i in range(30):
            peer.send("bob", "note", {"i": i, "text": "\u2028é\x00" * 3})
            expected.append(i)
        got = [self.box("bob", "recv", "--timeout", "10min")["message"]["payload"] for _ in expected]
        self.assertEqual([g["i"] for g in got], expected)
        self.assertTrue(all(g["text"] == "\u2028é\x00" * 3 for g in got))
        for i in range(10):
            self.box("bob", "send", "eve", str(i))
        self.assertEqual([peer.try_recv()["payload"] for _ in range(10)], list(range(10)))
        self.assertIsNone(peer.try_recv())

    def test_a_closed_output_takes_nothing(self):
        self.box("ada", "send", "ada", "precious")
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = subprocess.run(self.command("ada", "recv"), env=alone(self.folder), stdout=write_end, stderr=subprocess.PIPE, timeout=LIMIT_S)
        os.close(write_end)
        self.assertEqual(done.returncode, 1)
        with open("/dev/full", "w") as full:
            self.assertEqual(subprocess.run(self.command("ada", "recv"), env=alone(self.folder), stdout=full,
                                            stderr=subprocess.DEVNULL, timeout=LIMIT_S).returncode, 1)
            text = subprocess.run([a for a in self.command("ada", "recv") if a != "--json"], env=alone(self.folder),
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=LIMIT_S)
        self.assertEqual(text.returncode, 0)
        self.assertRegex(text.stdout, r"attempts +3 \(you may have it already\)")
        self.assertIn("precious", text.stdout)

    def test_receivers_killed_at_random_moments_lose_nothing_and_label_what_they_may_have_shown(self):
        store, chance = Store(self.root, "ada"), random.Random(7)
        Store(self.root, "bob")
        sent = {store.send("bob", "note", i)["id"]: i for i in range(40)}
        shown, unlabeled = collections.Counter(), []
        for i in range(600):
            process = subprocess.Popen(self.command("bob", "try-recv"), env=alone(self.folder), stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL)
            if chance.random() < 0.7:
                time.sleep(chance.uniform(0, 0.03))  # clock: a kill at any moment; each moment has to end well
                process.kill()
            out = process.communicate()[0]
            if process.returncode == 4:
                break
            if out.endswith(b"\n"):
                message = json.loads(out)["message"]
                if message is None:  # killed after it had said that nothing is left
                    break
                if shown[message["id"]] and message.get("attempts", 1) < 2:
                    unlabeled.append(message)
                shown[message["id"]] += 1
        self.assertEqual(set(shown), set(sent))
        self.assertEqual(unlabeled, [])
        self.assertEqual(len(self.files("bob/cur")), len(sent))
        self.assertEqual(self.files("bob/new"), [])

    def test_many_writers_and_several_readers_of_one_actor_each_message_once(self):
        for name in ("bob", "ada"):
            Store(self.root, name)
        done = threading.Event()

        def write(n):
            store = Store(self.root, "w%d" % n)
            for i in range(60):
                store.send("bob", "note", [n, i])

        writers = [threading.Thread(target=write, args=(n,)) for n in range(3)]
        got, lock = [], threading.Lock()

        def read():
            while True:
                finished = done.is_set()
                result = subprocess.run(self.command("bob", "try-recv"), env=alone(self.folder), capture_output=True, text=True, timeout=LIMIT_S)
                if result.returncode == 4 and finished:
                    return
                if result.returncode == 0:
                    with lock:
                        got.append(tuple(json.loads(result.stdout)["message"]["payload"]))

        readers = [threading.Thread(target=read) for _ in range(3)]
        for thread in writers + readers:
            thread.start()
        for thread in writers:
            thread.join()
        done.set()
        for thread in readers:
            thread.join()
        self.assertEqual(sorted(got), sorted((n, i) for n in range(3) for i in range(60)))

    def test_what_is_wrong_is_said_in_words(self):
        for arguments, code, words in (
                (("send", "bbo", "x", "--known-actors", "bob"), 1, 'did you mean "bob"?'), (("send", "../x", "x"), 2, "cannot be an actor's name"),
                (("send", "bob", "x", "--known-actors", "bob,../x"), 2, "--known-actors"),
                (("complete", "none", "x"), 4, "`mailbox inbox` shows what you hold"),
                (("complete", "", "x"), 2, "which task?"), (("claim", "--lease", "0s"), 2, "from 1ms to 30d"),
                (("claim", "--lease", "100000000d"), 2, "--lease"), (("post", "x", "--priority", "nan"), 2, "--priority"),
                (("post", "x", "--priority", "inf"), 2, "--priority"), (("send", "bob"), 2, "PAYLOAD")):
            done = subprocess.run([os.environ["INBOX_POLLER"], "mailbox", *arguments, "--root", str(self.root), "--actor", "ada"],
                                  env=alone(self.folder), capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual(done.returncode, code, done)
            self.assertIn(words, done.stderr)
        done = subprocess.run([os.environ["INBOX_POLLER"], "mailbox", "inbox", "--actor", "ada"], env=alone(self.folder),
                              capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual((done.returncode, "COLLAB_ROOT" in done.stderr), (2, True))
        environment = {**alone(self.folder), "COLLAB_ROOT": str(self.root), "COLLAB_ACTOR": "ada"}
        done = subprocess.run([os.environ["INBOX_POLLER"], "mailbox", "inbox"], env=environment, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done)

    # --- tasks

    def test_the_example_of_two_assistants_runs_as_it_is_shipped(self):
        script = pathlib.Path(__file__).parents[2] / "deploy" / "examples" / "two-assistants.sh"
        path = str(pathlib.Path(os.environ["INBOX_POLLER"]).parent) + ":" + os.environ["PATH"]
        done = subprocess.run([str(script), str(self.root)], env={**alone(self.folder), "PATH": path}, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual([t["place"] for t in self.tasks()["tasks"]], ["done", "done"])
        self.assertIn("two remarks in the diff", done.stdout)

    def test_a_task_is_posted_claimed_beaten_completed_and_shown(self):
        posted = self.box("ada", "post", '{"branch": "x"}')["task"]
        urgent = self.box("ada", "post", "now", "--priority", "5", "--type", "docs")["task"]
        self.assertEqual(self.box("bob", "claim")["task"]["id"], urgent["id"])
        claimed = self.box("bob", "claim", "--type", "task", "--lease", "10min")["task"]
        self.assertEqual(claimed["id"], posted["id"])
        self.box("bob", "claim", expect=4)
        self.assertGreater(self.box("bob", "heartbeat", posted["id"], "--lease", "20min")["task"]["lease_expires_at"],
                           claimed["lease_expires_at"])
        self.assertEqual(self.box("bob", "inbox")["tasks"]["mine"], [urgent["id"], posted["id"]][::-1])
        self.box("bob", "complete", posted["id"][:12], '{"merged": true}')
        self.box("bob", "abandon", urgent["id"], "no time")
        places = {t["id"]: t["place"] for t in self.tasks()["tasks"]}
        self.assertEqual(places, {posted["id"]: "done", urgent["id"]: "open"})
        self.assertEqual(self.tasks("show", posted["id"][:10])["tasks"][0]["result"], {"merged": True})
        self.assertEqual(self.box("ada", "complete", posted["id"], "late", expect=1)["code"], "task.done")
        self.assertEqual([t["status"] for t in self.tasks("--dead")["tasks"]], ["late"])

    def test_a_lease_that_is_over_is_swept_in_one_command_and_dead_after_three(self):
        task = self.box("ada", "post", "x")["task"]
        for attempt in range(3):
            self.assertEqual(self.box("bob", "claim", "--lease", "5ms")["task"]["attempts"], attempt + 1)
            time.sleep(1.1)  # clock: the lease of 5 ms ends, and a second counts as its grace; more time does no harm
            self.assertEqual([t["id"] for t in self.box("ada", "sweep")["tasks"]], [task["id"]])
        self.assertIn("3 times", self.tasks("--dead")["tasks"][0]["dead_reason"])
        self.box("bob", "claim", expect=4)
        self.tasks("requeue", task["id"][:8])
        self.assertEqual(self.box("bob", "claim")["task"]["attempts"], 1)
        self.tasks("show", "nonsense", expect=4)

    def test_eight_claimers_of_two_implementations_short_leases_two_sweepers_and_kills(self):
        store = Store(self.root, "ada")
        tasks = {store.post(i)["id"] for i in range(600 if LONG else 60)}
        kept, done_by_us, late = collections.Counter(), collections.Counter(), collections.Counter()
        stop, lock, chance = threading.Event(), threading.Lock(), random.Random(3)
        peers = []
        self.stops.append(lambda: [p.kill() or p.wait() for p in peers])

        def ours(n):
            actor = "ours%d" % n
            lease = "5ms" if n % 2 else "5s"  # a program under sanitizers never ends within five milliseconds
            while not stop.is_set():
                claimed = subprocess.run(self.command(actor, "claim", "--lease", lease), env=alone(self.folder), capture_output=True)
                if claimed.returncode != 0:
                    continue
                task = json.loads(claimed.stdout)["task"]["id"]
                process = subprocess.Popen(self.command(actor, "complete", task, json.dumps([actor])), env=alone(self.folder),
                                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                if chance.random() < 0.2:
                    time.sleep(chance.uniform(0, 0.01))  # clock: a kill at any moment; each moment has to end well
                    process.kill()
                out = process.communicate()[0]
                with lock:
                    if process.returncode == 0:
                        done_by_us[task] += 1
                    elif process.returncode == 1 and out and "kept in" in json.loads(out)["message"]:
                        late[task] += 1

        def sweeper():
            while not stop.is_set():
                subprocess.run([os.environ["INBOX_POLLER"], "mailbox", "sweep", "--root", str(self.root), "--actor", "boss"],
                               env=alone(self.folder), capture_output=True)

        threads = [threading.Thread(target=ours, args=(n,)) for n in range(4)] + [threading.Thread(target=sweeper)]
        for thread in threads:
            thread.start()
        try:
            # The peers would have done all of it before a program under sanitizers has begun.
            wait_for("one is done by us", lambda: done_by_us)
            peers += [subprocess.Popen([sys.executable, "-B", str(PEER), str(self.root), "peer%d" % n, "claimer", "0.005"],
                                       stdout=subprocess.DEVNULL) for n in range(4)]
            peers.append(subprocess.Popen([sys.executable, "-B", str(PEER), str(self.root), "peersweeper", "sweeper"]))
            for _ in range(200 if LONG else 40):  # a claim of a killed peer comes back after four minutes: not waited for
                states = {t["id"]: t for t in self.tasks()["tasks"] if t["place"] == "done"}
                dead = {t["id"] for t in self.tasks("--dead")["tasks"] if t["status"] == "dead"}
                if set(states) | dead >= tasks:
                    break
                for one in dead - set(states):
                    self.tasks("requeue", one, expect=0)
                peers[chance.randrange(4)].kill()  # and its claim stays
                dead_peer = next(i for i, p in enumerate(peers) if p.poll() is not None or i == 3)
                peers[dead_peer].kill()
                peers[dead_peer].wait()
                peers[dead_peer] = subprocess.Popen([sys.executable, "-B", str(PEER), str(self.root), "peer%d" % dead_peer, "claimer", "0.005"],
                                                    stdout=subprocess.DEVNULL)
                time.sleep(0.3)  # clock: the pace of the kills; nothing is judged by it
        finally:
            stop.set()
            for thread in threads:
                thread.join()
            for peer in peers:
                peer.kill()
                peer.wait()
        self.assertTrue(done_by_us)
        self.assertTrue(self.files("tasks/done"))
        everything = json.dumps(self.tasks()["tasks"] + self.tasks("--dead")["tasks"])
        for task in tasks:
            self.assertIn(task, everything, "lost")
        self.assertEqual([t for t, n in done_by_us.items() if n > 1], [])
        for one in self.tasks("--dead")["tasks"]:
            kept[one["id"]] += one["status"] == "late"
        for task, count in late.items():
            self.assertGreaterEqual(kept[task], count, task)
        print("figures: %d tasks, none lost, %d done by us, none of them twice, %d late results kept" % (
            len(tasks), len(done_by_us), sum(late.values())))


if __name__ == "__main__":
    unittest.main()
