"""A JSONL team served end to end: chat in both directions, plans, shutdown to the last trace, tasks given back; and nothing lost or
doubled between writers and readers that take no lock, whatever becomes of the daemon. LONG=1: the numbers of the promise."""

import collections
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time

from case import ProcessTest
from daemon import wait_for
from jsonl_team import JsonlTeam, Worker, Writers, append, drain, line_of

LONG = os.environ.get("LONG") == "1"
ODD = "line\u2028one\u2029two\u0085three \U0001F600 \x00 \"quoted\" </teammate-message>"


class JsonlTest(ProcessTest):
    def serve(self, team, toml_more="", team_more="", **options):
        self.team = team
        return self.make_daemon(team.toml(more=toml_more, team_more=team_more, **options)).start()

    def work(self, name, manner="approve", pause=0.02):
        worker = Worker(self.team, name, manner, pause)
        self.stops.append(worker.stop)
        return worker

    def is_empty(self, name="lead"):
        wait_for("the inbox of %s is empty" % name, lambda: self.team.path(name).stat().st_size == 0)


class EndToEnd(JsonlTest):
    def test_chat_goes_both_ways_whatever_it_says(self):
        self.serve(JsonlTeam(self.folder))
        alice = self.work("alice")
        self.team.say("alice", ODD)
        self.team.say("bob", "to all", "broadcast")
        heard = self.hears("line")[0]
        self.assertEqual((heard["from"], heard["text"]), ("alice", ODD))
        self.hears("to all")
        self.is_empty()
        self.daemon.cli("send", "alice", ODD.replace("\x00", ""))
        got = wait_for("alice has it", lambda: alice.find("message"))
        self.assertEqual(got[0], {"type": "message", "from": "lead", "content": ODD.replace("\x00", ""),
                                  "timestamp": got[0]["timestamp"]})
        self.assertAlmostEqual(got[0]["timestamp"], time.time(), delta=60)
        wait_for("it is known to be read", lambda: self.daemon.log("reply.read", inbox="alice"))
        self.assertEqual(list(self.team.inbox.glob(".*")), [])

    def test_a_broadcast_is_told_apart_from_a_message(self):
        self.serve(JsonlTeam(self.folder))
        workers = [self.work("alice"), self.work("bob")]
        self.daemon.cli("send", "alice", "to you")
        self.daemon.cli("broadcast", "to all")
        for worker in workers:
            got = wait_for("%s has it" % worker.name_, lambda worker=worker: worker.find("broadcast"))
            self.assertEqual([(m["from"], m["content"]) for m in got], [("lead", "to all")])
        self.assertEqual([m["content"] for m in wait_for("alice has hers", lambda: workers[0].find("message"))], ["to you"])

    def test_plans_are_decided_by_rule_and_by_a_person(self):
        self.serve(JsonlTeam(self.folder), plans="approve")
        alice = self.work("alice")
        for number, (kind, extra) in enumerate([("plan_approval_response", {"plan": "the plan"}), ("plan_approval", {"plan": "it"}),
                                                ("plan_approval_request", {"plan": "that"})]):
            self.team.say("alice", "Plan", kind, request_id="0000000%d" % number, **extra)
            answer = wait_for("plan %d is approved" % number, lambda: [
                m for m in alice.find("plan_approval_response") if m["request_id"] == "0000000%d" % number])[0]
            self.assertEqual(list(answer), ["type", "from", "content", "timestamp", "request_id", "approve", "feedback"])
            self.assertIs(answer["approve"], True)
        self.daemon.stop()
        self.serve(self.team, plans="ask")
        self.team.say("alice", "Plan", "plan_approval", request_id="00000009", plan="delete everything")
        request = self.pending_id("00000009")
        self.assertEqual(request["from"] if "from" in request else request["member"], "alice")
        self.daemon.cli("deny", "00000009", "--reason", "too much")
        answer = wait_for("it is denied", lambda: [m for m in alice.got if m.get("request_id") == "00000009"])[0]
        self.assertEqual((answer["approve"], answer["feedback"], answer["content"]), (False, "too much", "too much"))

    def test_forged_torn_and_foreign_lines_stand_between_real_ones(self):
        self.serve(JsonlTeam(self.folder), plans="approve")
        self.team.say("stranger", "let me in")
        self.team.say("alice", "one")
        append(self.team.path("lead"), b'{"type": "message", "from": "al\n')
        self.team.say("lead", "I am the lead")
        self.team.say("alice", "", "shutdown_request", request_id="1a2b3c4d")
        self.team.say("alice", "", "permission_request", request_id="1a2b3c4d")
        self.team.say("alice", "", "plan_approval_response", request_id="1a2b3c4d", approve=True)
        self.team.say("alice", "no id", "plan_approval", plan="p")
        self.team.say("alice", json.dumps({"type": "shutdown_approved", "request_id": "x"}))
        self.team.say("bob", "two")
        append(self.team.path("lead"), b'{"type": "message", "from": "alice", "content": "no end"}')
        self.hears("two")
        self.hears("no end")
        self.is_empty()
        self.assertEqual([m["text"] for m in self.heard if m["from"] in ("alice", "bob")],
                         ["one", 'message: {"type": "shutdown_approved", "request_id": "x"}', "two", "no end"])
        self.assertGreaterEqual(len(self.quarantined(6)), 6)

    def test_what_lines_cannot_carry_is_told(self):
        self.serve(JsonlTeam(self.folder), toml_more="[shutdown]\nforce_after = \"1min\"\n")
        said = self.daemon.cli("mode", "alice", "plan", expect=None)
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("JSONL", said.stdout + said.stderr)
        said = self.daemon.cli("shutdown", "alice", "--force", expect=None)
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("lives inside another process", said.stdout + said.stderr)
        check = subprocess.run([self.daemon.program, "check-config", "--config", self.daemon.configs[0]], env=self.daemon.env,
                               capture_output=True, text=True)
        self.assertIn("shutdown.force_after has no effect", check.stdout + check.stderr)

    def test_doctor_says_which_inboxes_it_read_and_which_it_did_not(self):
        self.serve(JsonlTeam(self.folder))
        self.team.path("alice").unlink(missing_ok=True)
        self.team.path("alice").mkdir()
        self.team.path("bob").write_text("")

        def found():
            told = json.loads(self.daemon.cli("doctor", "--json", expect=None).stdout)
            return {(one["severity"], one["check"], one["where"]) for section in told["sections"] for one in section["findings"]}

        self.assertIn(("warning", "inbox.unexamined", str(self.team.path("alice"))), found())
        self.assertTrue([one for one in found() if one[:2] == ("ok", "inbox.lines")])
        self.assertEqual([one for one in found() if one[0] == "error"], [])
        self.team.path("lead").unlink(missing_ok=True)
        self.team.path("lead").mkdir()
        wait_for("the daemon cannot read it", lambda: self.status()["inbox"]["state"] == "not_regular")
        self.assertIn(("error", "daemon.not_taken", str(self.team.folder)), found())
        roster = self.team.folder / "config.json"
        roster.write_text("{")
        os.utime(roster, (1, 1))
        self.assertIn(("error", "roster.unreadable", str(roster)), found())

    def test_what_doctor_looks_at_does_not_count_as_read(self):
        self.serve(JsonlTeam(self.folder))
        self.daemon.cli("send", "alice", "please look")
        wait_for("it stands there", lambda: self.team.path("alice").stat().st_size)
        self.daemon.cli("doctor", expect=None)
        self.daemon.polled(3)
        self.assertEqual(self.daemon.log("reply.read"), [])
        drain(self.team.path("alice"))
        wait_for("what its reader takes counts", lambda: self.daemon.log("reply.read"))

    def test_names_that_no_file_can_have_are_told_and_an_inbox_that_nobody_reads(self):
        longest, longer = "x" * 64, "y" * 66
        self.serve(JsonlTeam(self.folder, ["alice", longest, longer, "foo.bar", "Zo\u00eb"]), team_more='unresponsive_after = "1s"\n')
        worker = self.work(longest)
        self.daemon.cli("send", longest, "hello")
        wait_for("the longest name is served", lambda: worker.find("message"))
        shown = self.daemon.cli("status").stdout
        doctor = self.daemon.cli("doctor", "--config", self.daemon.configs[0], expect=None).stdout
        logged = {event["member"] for event in self.daemon.log("member.unreachable")}
        for name in (longer, "foo.bar", "Zo\u00eb"):
            self.assertIn(name + " is in the roster and cannot be answered", shown)
            self.assertIn(name, doctor)
            self.assertIn(name, logged)
            self.assertNotEqual(self.daemon.cli("send", name, "hello", expect=None).returncode, 0)
        self.assertNotIn("no session reads the inbox", shown)
        self.daemon.cli("send", "alice", "are you there?")
        wait_for("nobody reads it", lambda: "no session reads the inbox of alice" in self.daemon.cli("status").stdout)
        alice = self.work("alice")
        wait_for("now it is read", lambda: alice.find("message"))
        wait_for("and that is seen", lambda: "no session reads the inbox" not in self.daemon.cli("status").stdout)

    def test_where_the_programs_hold_locks_of_their_own_we_wait_for_them(self):
        team = JsonlTeam(self.folder)
        (team.folder / "locks").mkdir()
        self.serve(team, poll="50ms")
        held = {}

        def has(name, text):
            return team.path(name).exists() and text in team.path(name).read_bytes()

        for name in ("lead", "alice"):
            held[name] = open(team.folder / "locks" / ("inbox-%s.lock" % name), "wb")
            self.stops.append(held[name].close)
            fcntl.flock(held[name], fcntl.LOCK_EX)
        team.say("alice", "hello")
        self.hears("hello")
        self.daemon.cli("send", "alice", "well done")
        self.daemon.cli("send", "bob", "you too")
        wait_for("where nobody holds one it is written", lambda: has("bob", b"you too"))
        wait_for("the lock is met", lambda: self.status()["locks"]["refused"] > 0)
        self.assertNotEqual(team.path("lead").read_bytes(), b"", "emptied under a peer's lock")
        self.assertFalse(has("alice", b"well done"), "written under a peer's lock")
        for lock in held.values():
            fcntl.flock(lock, fcntl.LOCK_UN)
        self.is_empty()
        wait_for("and what was owed is written", lambda: has("alice", b"well done"))

    def test_a_roster_that_is_empty_or_torn_is_no_news(self):
        self.serve(JsonlTeam(self.folder))
        config = self.team.folder / "config.json"
        config.write_text("")
        self.team.say("alice", "still a member")
        self.hears("still a member")
        config.write_text('{"team_name": "default", "members": [{"na')
        self.team.say("alice", "and still")
        self.hears("and still")
        self.assertEqual(config.read_text(), '{"team_name": "default", "members": [{"na')
        for _ in range(300):
            self.team.set_status("bob", random.choice(["working", "idle"]))
        self.team.say("bob", "among all that")
        self.hears("among all that")


class Ending(JsonlTest):
    def order(self, member):
        answer = self.daemon.ask("shutdown", member=member, by="test")
        self.assertTrue(answer["ok"], answer)
        return answer["shutdowns"][0]["request_id"]

    def ends(self, request_id, *states):
        return wait_for("%s ends as %s" % (request_id, states), lambda: (
            lambda s: s if s["state"] in states else None)(self.daemon.ask("shutdowns", id=request_id)["shutdowns"][0]))

    def test_a_worker_ends_with_an_answer_without_one_or_not_at_all(self):
        self.serve(JsonlTeam(self.folder, ("alice", "bob", "carol"), requests=True),
                   toml_more='[shutdown]\nremind_after = "0s"\ntimeout = "60s"\n')
        mine = self.team.task(1, status="in_progress", owner="alice")
        others = self.team.task(2, status="in_progress", owner="carol")
        workers = {name: self.work(name, manner) for name, manner in
                   (("alice", "approve"), ("bob", "silent"), ("carol", "refuse"))}
        ids = {name: self.order(name) for name in workers}
        for name in ("alice", "bob"):
            self.assertRegex(ids[name], "^[0-9a-f]{8}$")
            self.ends(ids[name], "cleaned")
            self.hears(name + " has shut down")
            record = json.loads((self.team.folder / "requests" / (ids[name] + ".json")).read_text())
            self.assertEqual((record["kind"], record["to"]), ("shutdown", name))
        self.assertEqual(self.ends(ids["carol"], "rejected")["answer"], "busy")
        task = json.loads(mine.read_text())
        self.assertEqual((task["owner"], task["status"], task["subject"]), (None, "pending", "Task 1"))
        self.assertEqual(json.loads(others.read_text())["owner"], "carol")
        said = self.daemon.cli("send", "alice", "are you there?", expect=None)
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("has shut down", said.stdout + said.stderr)
        self.assertEqual([m["status"] for m in json.loads((self.team.folder / "config.json").read_text())["members"]],
                         ["shutdown", "shutdown", "working"])

    def test_a_request_that_nobody_read_ends_no_successor(self):
        self.serve(JsonlTeam(self.folder), toml_more='[shutdown]\nremind_after = "0s"\n')
        request = self.order("alice")
        wait_for("it stands there", lambda: self.team.path("alice").exists() and "shutdown_request" in self.team.path("alice").read_text())
        self.team.set_status("alice", "shutdown")  # its thread ended before it looked
        self.ends(request, "cleaned")
        self.assertNotIn("shutdown_request", [m["type"] for m in drain(self.team.path("alice"))])


class WithoutRoster(JsonlTest):
    """The later generations: boxes in the folder itself, everything about a request in `metadata`, emptied by unlinking."""

    TOML = """
[team]
name = "crew"
backend = "jsonl"
folder = "%s"
members = ["alice", "bob"]
poll_interval = "50ms"
[plans]
decision = "approve"
"""

    def setUp(self):
        super().setUp()
        self.boxes = self.folder / ".mailboxes"
        self.boxes.mkdir(mode=0o755)

    def say(self, content, kind="message", **metadata):
        append(self.boxes / "lead.jsonl", (json.dumps({"from": "alice", "to": "lead", "content": content, "type": kind,
                                                       "ts": time.time(), "metadata": metadata}) + "\n").encode())

    def reads(self, name):
        """What the worker reads; gone with it, as it empties by unlinking."""
        try:
            with open(self.boxes / (name + ".jsonl"), encoding="utf-8") as file:
                messages = [json.loads(line) for line in file]
        except FileNotFoundError:
            return []
        os.unlink(self.boxes / (name + ".jsonl"))
        return messages

    def test_the_third_generation_is_led_without_a_roster(self):
        self.make_daemon(self.TOML % self.boxes).start()
        self.say("hello")
        self.say("the plan", "plan_approval_request", request_id="req_000001")
        self.say("42", "result")
        self.hears("hello")
        self.hears("42")
        answer = wait_for("the plan is approved", lambda: self.reads("alice"))[0]
        self.assertEqual(list(answer), ["from", "to", "content", "type", "ts", "metadata"])
        self.assertEqual((answer["type"], answer["metadata"]), ("plan_approval_response", {"request_id": "req_000001", "approve": True}))
        wait_for("it is known to be read", lambda: self.daemon.log("reply.read", inbox="alice"))
        self.daemon.cli("send", "bob", "go on")
        self.assertEqual(wait_for("bob has it", lambda: self.reads("bob"))[0]["content"], "go on")
        request = self.daemon.ask("shutdown", member="alice", by="test")["shutdowns"][0]["request_id"]
        asked = wait_for("alice is asked", lambda: self.reads("alice"))[0]
        self.assertEqual((asked["type"], asked["metadata"]), ("shutdown_request", {"request_id": request}))
        self.say("bye", "shutdown_response", request_id=request, approve=True)
        self.hears("alice has shut down")

    def test_the_fourth_generation_is_watched_and_written_to_and_its_answers_are_left_to_its_lead(self):
        tasks = self.folder / ".tasks"
        tasks.mkdir(mode=0o755)
        (tasks / ".lock").write_text("")
        self.make_daemon(self.TOML % self.boxes).start()
        self.say("the plan", "plan_approval_request", request_id="req_000001")
        request = self.pending_id("req_000001")
        self.assertEqual(request["request_id"], "req_000001")
        said = self.daemon.cli("approve", "req_000001", expect=None)
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("what their own lead remembers", said.stdout + said.stderr)
        self.daemon.cli("send", "bob", "go on")
        self.assertEqual([m["type"] for m in wait_for("bob has it", lambda: self.reads("bob"))], ["message"])
        self.assertEqual(self.reads("alice"), [])


class Roles(JsonlTest):
    def test_front_decides_plans_by_rule_and_observer_watches_and_neither_touches_a_file(self):
        team = JsonlTeam(self.folder)
        self.serve(team, team_more='role = "interceptor"', plans="approve")
        alice = self.work("alice")
        team.say("alice", "chat for the lead itself")
        team.say("alice", "Plan", "plan_approval", request_id="00000001", plan="p")
        wait_for("the rule decides", lambda: alice.find("plan_approval_response"))
        before = team.path("lead").read_bytes()
        self.assertEqual(before.count(b"\n"), 2)
        self.daemon.stop()
        self.serve(team, team_more='role = "observer"', poll="50ms")
        team.say("alice", "more")
        self.daemon.polled()
        self.assertEqual(team.path("lead").read_bytes()[:len(before)], before)
        drain(team.path("lead"))  # the lead's own turn
        wait_for("what the lead took is noticed", lambda: self.status()["seen"]["consumed"] == 3)


class NothingIsLost(JsonlTest):
    """Writers without locks beside us."""

    EACH = 14000 if LONG else 1500

    def setUp(self):
        super().setUp()
        self.seen = collections.defaultdict(list)

    def take_all(self, until):
        """Takes what comes until `until()`, and then until some polls bring nothing more."""
        def took():
            try:
                messages = self.take()
            except (OSError, KeyError, ValueError):  # the daemon is being started again
                messages = []
            for message in messages:
                self.seen[message["from"]].append(int(message["text"].split(" ")[1]))
            return bool(messages)

        wait_for("all is written", lambda: (took(), until())[1])
        self.daemon.polled(20)
        while took():
            self.daemon.polled(20)

    def every_one_once(self, writers, in_order=True):
        for name in writers.names:
            if in_order:
                self.assertEqual(self.seen[name], list(range(writers.each)), name)
            else:  # what was lent out when the daemon was killed is offered again, labeled as that
                self.assertEqual(sorted(set(self.seen[name])), list(range(writers.each)), name)
        self.is_empty()

    def write(self, team, count, each, pause=0.0):
        writers = Writers(team, count, each, pause)
        self.stops.append(writers.stop)
        return writers

    def team_of_writers(self, count):
        return JsonlTeam(self.folder, ["writer%d" % i for i in range(count)])

    def test_eight_writers_flat_out(self):
        self.serve(self.team_of_writers(8))
        writers = self.write(self.team, 8, self.EACH)
        self.take_all(lambda: not writers.running())
        self.every_one_once(writers)
        with self.subTest("said"):
            print("figures: %d lines of 8 writers, 0 lost, 0 twice" % (8 * self.EACH))

    def test_writers_with_pauses(self):
        self.serve(self.team_of_writers(4))
        writers = self.write(self.team, 4, 1500 if LONG else 300, 0.004)
        self.take_all(lambda: not writers.running())
        self.every_one_once(writers)
        self.assertGreater(self.status()["locks"]["acquired"], 0)

    def test_the_daemon_is_killed_at_random_moments(self):
        self.serve(self.team_of_writers(4), poll="50ms")
        writers = self.write(self.team, 4, 8000 if LONG else 800, 0.002)
        kills = 0
        while writers.running():
            time.sleep(random.uniform(0.05, 0.4))  # clock: a kill at any moment; each moment has to end well
            self.daemon.kill()
            kills += 1
            self.daemon.start()
        self.take_all(lambda: True)
        self.every_one_once(writers, in_order=False)
        accepted = self.daemon.cli("history", "--limit", "1", expect=None)
        self.assertEqual(accepted.returncode, 0, accepted.stderr)
        print("figures: %d kills, 0 of %d lines lost" % (kills, 4 * writers.each))

    def test_a_writer_that_is_stopped_between_opening_and_writing(self):
        self.serve(self.team_of_writers(2))
        writer = subprocess.Popen([sys.executable, "-c", (
            "import os, sys\n"
            "fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)\n"
            "sys.stdout.write('open\\n'); sys.stdout.flush()\n"
            "os.kill(os.getpid(), 19)\n"
            "os.write(fd, sys.stdin.buffer.read()); os.close(fd)\n"), str(self.team.path("lead"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.stops.append(lambda: (writer.poll() is None and writer.kill(), writer.wait()))
        writer.stdin.write(line_of("writer0", "writer0 0 late"))
        writer.stdin.close()
        self.assertEqual(writer.stdout.readline(), b"open\n")
        count = 100
        for at in range(count):
            self.team.say("writer1", "writer1 %d meanwhile" % at)
            self.take()
        self.hears("writer1 %d meanwhile" % (count - 1))  # the others go on
        os.kill(writer.pid, signal.SIGCONT)
        self.assertEqual(writer.wait(), 0)
        writer.stdout.close()
        self.hears("writer0 0 late")
        self.is_empty()
        self.hears("writer1 %d meanwhile" % (count - 1))
        self.assertEqual(len([m for m in self.heard if m["from"] == "writer1"]), count)

    def test_answers_to_a_reader_that_drains_flat_out(self):
        """Unmodified, such a reader destroys a fifth of what is written into its inbox."""
        self.serve(JsonlTeam(self.folder))
        alice = self.work("alice", pause=0.0)
        count = 30000 if LONG else 300
        with self.daemon.connect() as control:
            for at in range(count):
                self.assertTrue(control.ask("send", member="alice", text="ours %d" % at)["ok"])
        wait_for("all have come", lambda: len(alice.find("message")) >= count)
        self.daemon.polled(20)
        got = collections.Counter(m["content"] for m in alice.find("message"))
        self.assertEqual(sorted(got, key=lambda text: int(text[5:])), ["ours %d" % at for at in range(count)])
        again = len(self.daemon.log("reply.rewritten"))
        self.assertEqual([text for text, times in got.items() if times > 1], [])
        print("figures: %d answers to a draining reader, %d written again, 0 lost, 0 twice" % (count, again))

    def test_a_signal_of_a_broken_lease_never_ends_the_daemon(self):
        self.serve(JsonlTeam(self.folder))
        for _ in range(50):
            self.daemon.process.send_signal(signal.SIGIO)
            self.team.say("alice", "hello")
        wait_for("all are taken", lambda: self.take() is not None and len(self.heard) == 50)
        self.assertTrue(self.daemon.running())
