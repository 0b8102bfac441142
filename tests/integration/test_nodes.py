"""A team on several nodes: daemons with folders and ledgers of their own, and one Redis between them."""

import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

import team as wire
from bad_network import BadNetwork
from case import ProcessTest
from daemon import Daemon, alone, hold_still, team_toml, wait_for
from engine import Engine, free_port

HOSTS = """
[cluster]
redis_url = "redis+unix://%s"
id = "farm"
node = "%s"
leaders = ["h1", "h4"]
secret = "%s"
[cluster.members]
h2 = ["w3", "w4"]
h4 = ["w9"]
"""
MEMBERS = {"h1": ("w1", "w2"), "h2": ("w3", "w4"), "h4": ("w9",)}


class Node:
    def __init__(self, test, name, more=""):
        self.name = name
        self.folder = test.folder / name
        self.folder.mkdir()
        self.team = wire.Team(self.folder / "teams", "demo", MEMBERS[name], cwd="/" + name)
        role = "leader" if name in ("h1", "h4") else "follower"
        self.daemon = Daemon(os.environ["INBOX_POLLER"], self.folder,
                             team_toml(self.team, team_more='role = "%s"' % role, more=more + HOSTS % (test.engine.socket, name, test.secrets / ("node-" + name))))
        test.stops.append(self.stop)

    def start(self):
        self.daemon.start()
        return self

    def stop(self):
        if self.daemon.running():
            self.daemon.process.send_signal(signal.SIGCONT)
            self.daemon.stop()

    def status(self):
        return self.daemon.ask("status")["teams"][0]

    def texts(self, member):
        return [e["text"] for e in wire.read_inbox(self.team.inbox(member)) or []]

    def chat(self):
        """What the lead was handed, in order."""
        return [m["text"] for m in self.daemon.cli_lines("recv", "--max", "1000", "--ignore-busy", "--format", "json")]


class HostsTest(ProcessTest):
    def setUp(self):
        super().setUp()
        self.secrets = self.folder / "secrets"
        users = subprocess.run([os.environ["INBOX_POLLER"], "nodes", "acl", "--team", "farm", "--leader", "h1", "--leader", "h4",
                                "--follower", "h2", "--secrets", str(self.secrets)], env=alone(self.folder), capture_output=True,
                               text=True, check=True).stdout
        self.engine = Engine(self.folder / "redis", users=users).start()
        self.stops.append(self.engine.stop)

    def node(self, name, more=""):
        return Node(self, name, more).start()

    def two(self, more=""):
        h1 = self.node("h1")
        wait_for("h1 leads", lambda: h1.status()["role"] == "leader")
        h2 = self.node("h2", more)
        wait_for("each knows the other's members", lambda: h1.team.member("w3") and h2.team.member("w1"))
        return h1, h2


class AcrossHosts(HostsTest):
    def test_requests_are_answered_and_chat_arrives_in_files_on_every_host(self):
        h1, h2 = self.two()
        self.daemon = h1.daemon
        for name, era in (("w3", wire.ERA1), ("w4", wire.ERA2)):
            with self.subTest(era=era):
                worker = self.start_worker(h2.team, name, era)
                request = worker.ask("permission", tool="Bash", input={"command": "git status"})
                self.assertEqual(self.answer(worker, request)["event"], "ran")
                request = worker.ask("permission", tool="Bash", input={"command": "make deploy"})
                shown = wait_for("it is open", lambda: h1.daemon.ask("pending")["requests"])[0]
                self.assertEqual((shown["request_id"], shown["member"]), (request, name))
                self.assertIn("requests of team demo wait on the node that leads (node h1 leads)", h2.daemon.cli("pending").stdout)
                for id in (request, shown["message_key"][:8]):
                    self.assertIn("is answered there", h2.daemon.cli("approve", id, expect=1).stderr)
                self.assertIn("not led from this node", h2.daemon.cli("send", name, "hello", expect=1).stderr)
                self.assertIn("not led from this node", h2.daemon.cli("wait", "--answered", "--timeout", "1s", expect=1).stderr)
                self.assertIn("permission_request from %s to team-lead" % name, h2.daemon.cli("trace", request).stdout)
                h1.daemon.cli("approve", request)
                self.assertEqual(self.answer(worker, request)["input"], {"command": "make deploy"})
        for i in range(20):
            h2.team.say("w3", "to w1 %d" % i, to="w1")
            h2.team.say("w4", "to the lead %d" % i)
            h1.team.say("w2", "to w3 %d" % i, to="w9")
        wait_for("w1 has all", lambda: len(h1.texts("w1")) == 20)
        self.assertEqual(h1.texts("w1"), ["to w1 %d" % i for i in range(20)])
        got = []
        wait_for("the lead has all", lambda: got.extend(h1.chat()) or len(got) >= 20)
        self.assertEqual(got, ["to the lead %d" % i for i in range(20)])
        # Of what waits for a node that is away it is told where it is, and since when.
        shown = h1.daemon.cli("nodes").stdout
        self.assertIn("this node, h1", shown)
        self.assertIn("for node h4: ", shown)
        self.assertIn("w3, w4", shown)
        self.assertIn("node h1 leads", h2.status()["role_reason"])
        self.assertIn("this node, h1", self.doctor(h1)["cluster.leader"])
        h4 = self.node("h4")
        wait_for("w9 has all", lambda: len(h4.texts("w9")) == 20)
        self.assertEqual(h4.texts("w9"), ["to w3 %d" % i for i in range(20)])
        key = h4.daemon.log("replication.received", inbox="w9")[0]["message_key"]
        self.assertIn("came from node h1", h4.daemon.cli("trace", key).stdout)
        wait_for("h1 knows", lambda: "is on node h4" in h1.daemon.cli("trace", key).stdout)
        self.history(h1, h2, h4, key)
        for node in (h1, h2, h4):
            wait_for("a round trip was measured", lambda: node.status()["cluster"]["round_trip_us"] > 0)
        self.assertIn(" ms for a round trip", h1.daemon.cli("nodes").stdout)
        self.assertRegex(h1.daemon.cli("metrics").stdout, r'(?m)^inbox_poller_cluster_round_trip_seconds\{team="demo"\} \S*[1-9]')
        self.engine.kill()
        wait_for("doctor says that the engine is gone", lambda: "cluster.redis_url" in self.doctor(h1))
        self.assertIn("waits in this node's ledger", self.doctor(h1)["cluster.redis_url"])
        self.engine.start()
        wait_for("doctor says that it works again", lambda: "cluster.redis_url" not in self.doctor(h1))

    def history(self, h1, h2, h4, key):
        """Letters stand in the list of either node as messages do, with where they are; what filters those filters these."""
        told = lambda node, *more: json.loads(node.daemon.cli("history", "--json", *more).stdout)["messages"]  # noqa: E731
        sent = told(h1, "--from", "w2")
        self.assertEqual([m["text"] for m in sent], ["to w3 %d" % i for i in range(20)])
        self.assertEqual({(m["disposition"], m["inbox"], m["node_message"]["direction"], m["node_message"]["node"]) for m in sent}, {("relayed", "w9", "out", "@h4")})
        self.assertEqual([m["text"] for m in told(h1, "--from", "w2", "--limit", "3")], ["to w3 %d" % i for i in (17, 18, 19)])
        self.assertEqual(len(told(h4, "--from", "w2")), 20)
        # What came for the lead is a message here, and stands there once; on the follower it is a letter.
        came = told(h1, "--from", "w4", "--type", "chat")
        self.assertEqual([m["text"] for m in came], ["to the lead %d" % i for i in range(20)])
        self.assertEqual({(m["disposition"], m["node_message"]["direction"], m["node_message"]["node"]) for m in came}, {("chat", "in", "h2")})
        requests = told(h2, "--type", "permission_request")
        self.assertEqual([(m["sender"], m["node_message"]["node"], m["subject"]) for m in requests],
                         [(name, "lead", "Bash: " + what) for name in ("w3", "w4") for what in ("git status", "make deploy")])
        times = [m["received_ms"] for m in told(h1)]
        self.assertEqual(times, sorted(times))
        self.assertEqual([(m["message_key"], m["text"]) for m in told(h1, key)], [(key, "to w3 0")])
        self.assertIn("it is on node h4, for w9, not read yet, for ", h1.daemon.cli("history", key).stdout)
        table = h1.daemon.cli("history").stdout
        self.assertRegex(table, r"w2 to w9 +chat +is on h4 \S+ ")
        self.assertRegex(table, r"w4@h2 +chat +delivered ")
        self.assertRegex(h4.daemon.cli("history").stdout, r"w2@h1 to w9 +chat +is here \S+ ")

    def test_what_keeps_a_host_out_of_the_engine_is_told_before_its_daemon_is_started(self):
        said = lambda node: node.daemon.cli("check-config", "--daemon-config", node.daemon.daemon_file, "--config", node.daemon.configs[0]).stderr  # noqa: E731
        good, bad = Node(self, "h1"), Node(self, "h2")
        self.assertNotIn("cluster.redis_url", said(good))
        secret = self.secrets / "node-h2"
        secret.chmod(0o644)
        self.assertIn("chmod 600", said(bad))
        secret.unlink()
        self.assertIn("cannot be read (No such file or directory)", said(bad))
        secret.touch(mode=0o600)
        secret.write_text("wrong")
        self.assertRegex(said(bad), "as node-h2: Redis says: WRONGPASS .* -> name the file of user node-h2 in `cluster.secret`")
        bad.start()
        logged = wait_for("it is told", lambda: bad.daemon.log("cluster.degraded"))[0]["reason"]
        self.assertEqual(logged.count("redis+unix:"), 1, logged)
        self.engine.stop()
        self.assertIn("is not reached", said(good))

    def test_an_engine_that_is_slow_to_answer_is_told(self):
        port = free_port()
        self.engine.client("admin", (self.secrets / "admin").read_text().strip())("CONFIG", "SET", "port", port)
        network = BadNetwork(port)
        self.stops.append(network.stop)
        h1 = Node(self, "h1")
        config = pathlib.Path(h1.daemon.configs[0])
        config.write_text(config.read_text().replace("redis+unix://%s" % self.engine.socket, "redis://127.0.0.1:%d" % network.port))
        h1.start()
        wait_for("it leads", lambda: h1.status()["role"] == "leader")
        network.delay = 0.2
        wait_for("it is told", lambda: "cluster.slow" in self.doctor(h1), pause=1)
        self.assertRegex(h1.daemon.cli("status").stdout, r"slow: \d+ ms for a round trip")
        self.assertEqual(h1.status()["role"], "leader")

    def doctor(self, node):
        """What is said of the nodes, by check."""
        told = node.daemon.cli("doctor", "--json", "--daemon-config", node.daemon.daemon_file, "--config", node.daemon.configs[0], expect=None)
        sections = json.loads(told.stdout)["sections"]
        return {f["check"]: f["what"] for s in sections for f in s["findings"] if f["check"].startswith("cluster.")}

    def test_nothing_is_lost_or_doubled_over_kills_of_everybody_and_an_engine_that_forgets(self):
        h1, h2 = self.two()
        to_lead, to_w1, to_w3, got = [], [], [], []
        password = (self.secrets / "admin").read_text().strip()

        def kill(node):
            node.daemon.kill()
            node.start()

        def kill_engine():
            self.engine.kill()
            self.engine.start()

        blows = [lambda: kill(h2), kill_engine, lambda: kill(h1), lambda: self.engine.client("admin", password)("FLUSHALL"), lambda: kill(h2),
                 lambda: kill(h1)]
        for blow in blows:
            for i in range(15):
                to_lead.append("lead %d" % len(to_lead))
                h2.team.say("w3", to_lead[-1])
                to_w1.append("w1 %d" % len(to_w1))
                h2.team.say("w4", to_w1[-1], to="w1")
                to_w3.append("w3 %d" % len(to_w3))
                h1.team.say("w2", to_w3[-1], to="w3")
                if i == 7:
                    blow()
            asked = wire.permission_request("w4", "Bash", {"command": "echo %d" % len(to_lead)}, "perm-%d" % len(to_lead))
            h2.team.say("w4", wire.stringify(asked) if not isinstance(asked, str) else asked)
        wait_for("w1 has all", lambda: len(h1.texts("w1")) >= len(to_w1))
        wait_for("w3 has all", lambda: len(h2.texts("w3")) >= len(to_w3))
        wait_for("every request is answered", lambda: len(h2.texts("w4")) >= len(blows))
        wait_for("the lead has all", lambda: got.extend(h1.chat()) or len(set(got)) >= len(to_lead))
        self.assertEqual(h1.texts("w1"), to_w1)
        self.assertEqual(h2.texts("w3"), to_w3)
        self.assertEqual([t for i, t in enumerate(got) if t not in got[:i]], to_lead)
        ids = [json.loads(t)["request_id"] for t in h2.texts("w4")]
        self.assertEqual(sorted(ids), sorted(set(ids)))
        self.assertEqual(len(ids), len(blows))


class Ends(HostsTest):
    def test_a_worker_elsewhere_is_ended_by_its_own_host_and_does_not_come_back(self):
        tmux = self.start_tmux()
        bystander = tmux.bystander()
        h1, h2 = self.two(more='[shutdown]\ngrace = "1s"\ntmux = ["%s"]\n' % '", "'.join(tmux.command))
        h2.team.change_member("w4", tmuxPaneId="")
        worker = self.start_pane_worker(tmux, h2.team, "w3", on_shutdown="survive", stubborn=True)
        task = h2.team.add_task(7, owner="w3", status="in_progress")
        wait_for("h2 has told", lambda: (h1.team.member("w3") or {}).get("cwd"))
        joined = h2.team.member("w3")["joinedAt"]
        ended = h1.daemon.ask("shutdown", member="w3", by="test")
        self.assertTrue(ended["ok"], ended)
        asked = ended["shutdowns"][0]["request_id"]

        def state(node):
            found = node.daemon.ask("shutdowns", id=asked).get("shutdowns") or [{"state": "none"}]
            return found[0]["state"]

        wait_for("h1 has seen its end", lambda: state(h1) == "cleaned")
        self.assertEqual(state(h2), "cleaned")
        self.assertFalse(worker.runs())
        self.assertFalse(worker.in_pane())
        self.assertTrue(bystander.untouched())
        self.assertNotIn("w3", h2.team.task_path(7).read_text())
        self.assertIn("w3", task.decode() if isinstance(task, bytes) else str(task))
        told = wait_for("the lead is told", lambda: [t for t in h1.chat() if "teammate_terminated" in t])
        self.assertEqual(len(told), 1)
        self.assertIn("w3 has shut down", told[0])
        self.assertIn("7", told[0])
        # An older copy of its own node's roster lists it again: it stays out. As somebody who joined at another time it is in.
        for node in (h1, h2):
            self.assertIsNone(node.team.member("w3"))
        h1.daemon.kill()
        h2.team.add_member("w3", cwd="/h2", joinedAt=joined)
        h1.start()
        wait_for("h1 leads again", lambda: h1.status()["role"] == "leader")
        wait_for("h2 lists it", lambda: "w3" in [m for one in h1.status()["cluster"]["nodes"] for m in one["members"]])
        self.assertIsNone(h1.team.member("w3"))
        self.assertNotIn("w3", [m["member"] for m in h1.status()["members"] if m["present"]])
        h2.team.change_member("w3", joinedAt=wire.now_ms() + 1000)
        wait_for("it is in again", lambda: h1.team.member("w3"))

    def test_what_a_leader_orders_ends_nothing_that_is_not_on_record_on_the_workers_host(self):
        tmux = self.start_tmux()
        pane = tmux.bystander()  # older than the worker that the roster gives it to
        time.sleep(0.1)  # clock: a process starts in an earlier clock tick than the worker; more time does no harm
        h1, h2 = self.two(more='[shutdown]\ngrace = "1s"\ntimeout = "8s"\ntmux = ["%s"]\n' % '", "'.join(tmux.command))
        # Its agent id is its own: a worker process of that id lives in another test, and is looked for on the whole machine.
        h2.team.change_member("w4", agentId="w4-%d@demo" % os.getpid(), tmuxPaneId=pane.pane, backendType="tmux",
                              joinedAt=wire.now_ms() + 600_000)
        h1.team.change_member("w4", tmuxPaneId=pane.pane)
        wait_for("h2 is heard", lambda: any(one["node"] == "h2" for one in h1.status()["cluster"]["nodes"]))
        asked = h1.daemon.ask("shutdown", member="w4", by="test", force=True)
        self.assertTrue(asked["ok"], asked)
        ended = lambda: h1.daemon.ask("shutdowns", id=asked["shutdowns"][0]["request_id"])["shutdowns"][0]
        wait_for("it is over", lambda: ended()["state"] in ("cleaned", "timed_out"))
        self.assertTrue(pane.untouched())


class WhoLeads(HostsTest):
    def test_a_leader_that_was_stopped_is_followed_by_another_and_decides_nothing(self):
        h1, h2 = self.two()
        h4 = self.node("h4")
        wait_for("h4 stands by", lambda: h4.status()["role"] == "standby")
        request = wire.permission_request("w3", "Bash", {"command": "make deploy"}, "perm-1")
        h2.team.say("w3", wire.stringify(request) if not isinstance(request, str) else request)
        wait_for("it is open on h1", lambda: h1.daemon.ask("pending")["requests"])
        hold_still(h1.daemon.process.pid)
        wait_for("h4 leads", lambda: h4.status()["role"] == "leader")
        wait_for("it is open on h4", lambda: h4.daemon.ask("pending")["requests"])
        h1.daemon.process.send_signal(signal.SIGCONT)
        wait_for("h1 stands by", lambda: h1.status()["role"] == "standby")
        self.assertFalse(h1.daemon.cli("deny", "perm-1", expect=None).returncode == 0)
        h4.daemon.cli("approve", "perm-1")
        answers = wait_for("the answer", lambda: h2.team.replies("w3", "perm-1"))
        self.assertEqual(len(answers), 1)
        self.assertIn('"success"', answers[0]["text"])
        self.assertIn("node h4", h1.daemon.cli("status").stdout)


if __name__ == "__main__":
    unittest.main()
