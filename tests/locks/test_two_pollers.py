"""Two pollers at one team. With the same ledger the second is refused (integration: process). With two, neither can know of the other
but from what it does to the lead's inbox: a leader that sees it stops and says so, and nothing is lost meanwhile; what both took in
before that is delivered twice, once by each. Beside an observer a leader notices nothing, for an observer does nothing.
"""

import collections
import itertools
import signal
import unittest

import oracle
import team as wire
from case import ProcessTest
from daemon import hold_still, team_toml, wait_for
from workload import received


class TwoPollers(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team(members=("ada", "bob"))
        wire.rewrite(self.team.lead_inbox, "[]")
        self.team.lead_inbox.chmod(0o600)
        self.sent, self.numbers = [], itertools.count(1)

    def poller(self, name, role="leader", poll="100ms"):
        """A daemon with a state folder, a socket and a file sink of its own."""
        home, base = self.folder / name, self.folder
        home.mkdir(mode=0o700)
        self.folder = home  # make_daemon() puts it there
        try:
            daemon = self.make_daemon(team_toml(self.team, poll=poll, team_more='role = "%s"\n' % role,
                                                more='\n[delivery]\nfile = "%s"\n' % (home / "lead.jsonl")))
        finally:
            self.folder = base
        daemon.got = lambda: [m["text"] for m in received(home / "lead.jsonl")]
        return daemon.start()

    def role(self, daemon):
        return daemon.ask("status")["teams"][0]["role"]

    def say(self):
        """One message and one request that a rule decides."""
        number = next(self.numbers)
        request = wire.permission_request("ada", "Bash", {"command": "%s %d" % ("git status" if number % 2 else "rm", number)}, "perm-%d" % number)
        self.sent += [self.team.say("bob", "chat %d" % number), self.team.say("ada", request)]

    def requests(self):
        return [e for e in self.sent if wire.as_payload(e["text"])]

    def chat(self):
        return [e["text"] for e in self.sent if not wire.as_payload(e["text"])]

    def answers(self):
        """id -> what was answered to it, in order."""
        found = collections.defaultdict(list)
        for entry in self.team.replies("ada"):
            payload = wire.as_payload(entry["text"])
            found[payload["request_id"]].append(payload["subtype"])
        return found

    def every_request_is_answered_in_one_sense(self):
        def all_there():
            answers = self.answers()
            return all(wire.as_payload(e["text"])["request_id"] in answers for e in self.requests())
        wait_for("every request is answered", all_there)
        for request_id, said in self.answers().items():
            self.assertEqual(set(said), {"success" if int(request_id[5:]) % 2 else "error"})

    def world(self, daemon, sent):
        may_allow = {"perm-%d" % n for n in range(1, 1000, 2)}
        self.assertEqual(daemon.stop(), 0)
        return oracle.World(self.team, daemon.state, sent=sent, may_allow=may_allow,
                            received=received(daemon.folder / "lead.jsonl"), runs=[(0, daemon.log_path.read_bytes())])

    def test_two_leaders_with_two_ledgers(self):
        first, second = self.poller("first"), self.poller("second")

        def one_has_stopped():
            self.say()
            return "paused" in (self.role(first), self.role(second))

        wait_for("one of them stops", one_has_stopped, pause=0.03)
        first.polled()
        second.polled()
        stopped = [d for d in (first, second) if self.role(d) == "paused"]
        for daemon in stopped:
            self.assertEqual(daemon.log("inbox.role")[-1]["new"], "paused")
            self.assertTrue(daemon.log("inbox.competing_consumer", level="warn"))
            self.assertIn("another program consumes", daemon.cli("status").stdout)
        before = len(self.sent)
        # The end of it, as the log says: one of them is ended, the other goes on.
        gone, stays = (first, second) if first in stopped else (second, first)
        self.assertEqual(gone.stop(), 0)
        if self.role(stays) == "paused":
            stays.cli("resume")
        for _ in range(5):
            self.say()
        chat = self.chat()
        wait_for("what came later is delivered", lambda: set(stays.got()) >= set(chat[before // 2:]))
        wait_for("all is marked", lambda: all(e["read"] for e in wire.read_inbox(self.team.lead_inbox) or [{"read": False}]))
        self.every_request_is_answered_in_one_sense()
        self.assertEqual(set(first.got()) | set(second.got()), set(chat))
        for daemon in (first, second):
            self.assertEqual(len(set(daemon.got())), len(daemon.got()), "one of them delivered something twice")
        twice = set(first.got()) & set(second.got())
        answered_twice = sum(len(a) > 1 for a in self.answers().values())
        for daemon in (first, second):
            world = self.world(daemon, [])
            world.sent = [e for e in self.sent if world.read_ledger().recorded(e)]
            # Each alone kept its promise for what it took in. What was read before it looked, the other has told; the other's
            # answers stand beside its own, and the other's marks mean the other's ledger.
            problems = [p for p in oracle.violations(world)
                        if "and never received" not in p and "answers" not in p and not p.startswith("I5")]
            self.assertEqual(problems, [])
        print("\nafter %d entries %d of the two had stopped; %d messages reached both leads, %d requests have both answers" % (
            before, len(stopped), len(twice), answered_twice))

    def test_a_leader_beside_an_observer_notices_nothing(self):
        leader, observer = self.poller("leader"), self.poller("observer", role="observer")
        hold_still(leader.process.pid)  # until the observer has seen something unread: it cannot be too late then
        for _ in range(20):
            self.say()
        wait_for("the observer saw what is unread", lambda: observer.ask("status")["teams"][0]["seen"]["waiting"] > 0)
        leader.process.send_signal(signal.SIGCONT)
        self.every_request_is_answered_in_one_sense()
        wait_for("all is delivered", lambda: leader.got() == self.chat())
        wait_for("all is marked", lambda: all(e["read"] for e in wire.read_inbox(self.team.lead_inbox) or [{"read": False}]))
        wait_for("the observer saw that all was taken", lambda: (lambda seen: seen["waiting"] == 0 and seen["consumed"] > 0)(
            observer.ask("status")["teams"][0]["seen"]))
        self.assertEqual((self.role(leader), self.role(observer)), ("leader", "observer"))
        self.assertEqual((leader.log("inbox.competing_consumer"), observer.got()), ([], []))
        self.assertEqual({len(a) for a in self.answers().values()}, {1})
        observer.stop()
        self.assertEqual(oracle.violations(self.world(leader, self.sent)), [])

    def test_a_leader_beside_a_front_stops_and_loses_nothing(self):
        leader, front = self.poller("leader", poll="500ms"), self.poller("interceptor", role="interceptor", poll="50ms")

        def stopped():
            self.say()
            return self.role(leader) == "paused"

        wait_for("the leader stops", stopped, pause=0.05)
        for _ in range(3):
            self.say()
        self.every_request_is_answered_in_one_sense()
        wait_for("the front has marked what it answered", lambda: all(
            e["read"] for e in wire.read_inbox(self.team.lead_inbox) if wire.as_payload(e["text"])))
        self.assertEqual(front.got(), [])
        self.assertEqual(front.stop(), 0)
        leader.cli("resume")
        wait_for("all is delivered", lambda: leader.got() == self.chat())
        wait_for("all is marked", lambda: all(e["read"] for e in wire.read_inbox(self.team.lead_inbox) or [{"read": False}]))


if __name__ == "__main__":
    unittest.main()
