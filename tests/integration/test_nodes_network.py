"""Three nodes with twelve workers of both client generations, one Redis with a replica over TLS and a network that is slow and loses:
kills of everybody, a failover that loses the tail, an engine that forgets, partitions. Nothing may be lost, nothing done twice, each request
decided once. The network is a proxy (bad_network.py): netem needs a kernel that has it. LONG: fifteen minutes or NETWORK_SECONDS, all
blows by chance; else five of the eight, once each."""

import collections
import datetime
import json
import os
import random
import shutil
import subprocess
import threading
import time
import unittest

import nodes_judge
import ledger
import portion
import team as wire
from bad_network import BadNetwork
from case import ProcessTest
from daemon import Daemon, LIMIT_S, Missing, alone, team_toml, wait_for
from engine import Engine

LONG = os.environ.get("LONG") == "1"
MEMBERS = {"h1": ("w1", "w2", "w3", "w4"), "h2": ("w5", "w6", "w7", "w8"), "h4": ("w9", "w10", "w11", "w12")}
LEADS = ("h1", "h4")
HOSTS = """
[cluster]
redis_url = "rediss://localhost:%d"
ca = "%s"
id = "farm"
node = "%s"
leaders = ["h1", "h4"]
secret = "%s"
[cluster.members]
h1 = ["w1", "w2", "w3", "w4"]
h2 = ["w5", "w6", "w7", "w8"]
h4 = ["w9", "w10", "w11", "w12"]
"""


class Node:
    def __init__(self, test, name):
        self.name, self.test = name, test
        self.folder = test.folder / name
        self.folder.mkdir()
        self.network = BadNetwork(test.engine.port, seed=test.seed)
        test.stops.append(self.network.stop)
        self.team = wire.Team(self.folder / "teams", "demo", MEMBERS[name], cwd="/" + name)
        role = "leader" if name in LEADS else "follower"
        more = HOSTS % (self.network.port, test.engine.folder / "ca.pem", name, test.secrets / ("node-" + name))
        self.daemon = Daemon(os.environ["INBOX_POLLER"], self.folder, team_toml(self.team, team_more='role = "%s"' % role, more=more))
        test.stops.append(lambda: self.daemon.running() and self.daemon.stop())
        self.world = nodes_judge.NodeWorld(self.team, self.daemon.state)
        self.kills = threading.Lock()

    def role(self):
        try:
            return self.daemon.ask("status")["teams"][0]["role"]
        except (OSError, ValueError, KeyError, IndexError):
            return "down"

    def kill(self):
        with self.kills:
            self.daemon.kill()
            self.daemon.start()

    def end(self):
        code = self.daemon.stop()
        self.world.runs.append((code, self.daemon.log_path.read_bytes()))

    def got(self):
        """Chat that the lead was handed here, in order."""
        return [m["text"] for m in self.world.received if m["text"].startswith("chat ")]

    def lead(self, over):
        """What a person and a session do where the lead is: takes chat, approves what is open. On h4 it denies."""
        while not over.is_set():
            try:
                with self.kills:
                    with self.daemon.connect() as control:
                        messages = control.ask("recv", max=1000, ignore_busy=True).get("messages", [])
                        self.world.received += messages
                        self.test.received += messages
                        keys = [m["message_key"] for m in messages]
                        if keys and control.ask("ack", keys=keys)["ok"]:
                            self.world.acknowledged += [(key, len(self.world.received)) for key in keys]
                        for request in control.ask("pending").get("requests", []):
                            control.answer("approve" if self.name == "h1" else "deny", request["request_id"], by="test")
            except (OSError, ValueError, Missing):
                pass
            over.wait(0.3)  # clock: the pace of a lead; nothing is judged by it


class Network(ProcessTest):
    def setUp(self):
        super().setUp()
        self.seed = portion.seed()
        self.random = random.Random(self.seed)
        print("figures: seed %d" % self.seed)
        self.secrets = self.folder / "secrets"
        command = [os.environ["INBOX_POLLER"], "nodes", "acl", "--team", "farm", "--leader", "h1", "--leader", "h4", "--follower", "h2",
                   "--secrets", str(self.secrets)]
        users = subprocess.run(command, env=alone(self.folder), capture_output=True, text=True, check=True).stdout
        self.password = (self.secrets / "admin").read_text().strip()
        self.users = users
        self.engine = Engine(self.folder / "redis", tls=True, users=users).start()
        self.stops.append(lambda: self.engine.stop())
        client = self.engine.client("node-h2", (self.secrets / "node-h2").read_text().strip())
        for i in range(0, 3000, 500):  # a hostile follower may write there; who is read is said by the configuration alone
            client("SADD", "ip:{farm}:nodes", *["a%d" % n for n in range(i, i + 500)])
        client.close()
        self.replicas = 0
        self.wrote = collections.defaultdict(list)  # (writer, to): texts, in each writer's order
        self.sent, self.received = [], []           # entries of chat for the lead; what leads got, on whichever node
        self.requests = []

    def admin(self, engine, *words):
        client = engine.client("admin", self.password)
        try:
            return client(*words)
        finally:
            client.close()

    # --- what is done to them

    def fail_over(self):
        """The primary dies; who takes its place had not got the last second."""
        self.replicas += 1
        folder = self.folder / ("redis%d" % self.replicas)
        between = BadNetwork(self.engine.port)
        self.stops.append(between.stop)
        replica = Engine(folder, tls=True, users=self.users)
        for name in ("ca.pem", "ca.key", "cert.pem", "key.pem"):  # nodes know one authority
            shutil.copy(self.engine.folder / name, folder / name)
        replica.start("replicaof", "127.0.0.1 %d" % between.port, "tls-replication", "yes", "masteruser", "admin", "masterauth", self.password)
        self.stops.append(replica.stop)
        wait_for("the replica follows", lambda: "master_link_status:up" in self.admin(replica, "INFO", "replication"))
        between.part()
        time.sleep(1)  # clock: the network is parted for a while; any length will do
        self.engine.kill()
        self.admin(replica, "REPLICAOF", "NO", "ONE")
        self.admin(replica, "CONFIG", "SET", "appendonly", "yes")
        self.engine = replica
        for node in self.nodes.values():
            node.network.target = replica.port
            node.network.cut()

    def kill_engine(self):
        self.engine.kill()
        self.engine.start()

    def empty(self):
        self.admin(self.engine, "FLUSHALL")

    def kill_leader(self):
        self.leader().kill()

    def kill_follower(self):
        self.nodes["h2"].kill()

    def kill_standby(self):
        next(h for h in (self.nodes[n] for n in LEADS) if h is not self.leader()).kill()

    def part_leader(self):
        """Until the other one leads."""
        was = self.leader()
        other = next(self.nodes[n] for n in LEADS if n != was.name)
        was.network.part()
        wait_for("%s leads instead" % other.name, lambda: other.role() == "leader")
        was.network.heal()
        was.network.cut()

    def part_follower(self):
        self.nodes["h2"].network.part()
        time.sleep(3)  # clock: the network is parted for a while; any length will do
        self.nodes["h2"].network.heal()

    def leader(self):
        return wait_for("somebody leads", lambda: next((h for h in self.nodes.values() if h.role() == "leader"), None))

    # --- what they write

    def write_some(self, count):
        for name, node in self.nodes.items():
            for member in MEMBERS[name]:
                for _ in range(count):
                    text = "chat %s %d" % (member, len(self.wrote[member, "team-lead"]))
                    self.wrote[member, "team-lead"].append(text)
                    self.sent.append(node.team.say(member, text))
            writer = self.random.choice(MEMBERS[name])
            reader = self.random.choice([m for n in MEMBERS if n != name for m in MEMBERS[n]])
            text = "between %s %s %d" % (writer, reader, len(self.wrote[writer, reader]))
            self.wrote[writer, reader].append(text)
            node.team.say(writer, text, to=reader)

    def ask_some(self):
        for name in self.nodes:
            worker = self.workers[self.random.choice(MEMBERS[name])]
            command = self.random.choice(["git status", "make deploy", "rm x"])
            request = worker.ask("permission", tool="Bash", input={"command": command})
            self.requests.append((worker, request))
            if command != "rm x":  # that is denied by a rule
                for one in self.nodes.values():
                    one.world.may_allow.add(request)

    def test_nothing_is_lost_and_no_request_decided_twice_whatever_becomes_of_them(self):
        began = time.monotonic()  # clock: how long the blows go on in the long form; nothing is judged by it
        self.nodes = {}
        self.nodes = {name: Node(self, name) for name in MEMBERS}
        self.nodes["h1"].daemon.start()
        wait_for("h1 leads", lambda: self.nodes["h1"].role() == "leader")
        for name in ("h2", "h4"):
            self.nodes[name].daemon.start()
        self.workers = {}
        for name, node in self.nodes.items():
            for i, member in enumerate(MEMBERS[name]):
                self.workers[member] = self.start_worker(node.team, member, wire.ERA1 if i % 2 else wire.ERA2, poll=0.5)
        wait_for("every node knows all", lambda: all(h.team.member(m) for h in self.nodes.values() for ms in MEMBERS.values() for m in ms))
        over = threading.Event()
        leads = [threading.Thread(target=self.nodes[name].lead, args=(over,), daemon=True) for name in LEADS]
        for one in leads:
            one.start()
        self.stops.append(over.set)
        for node in self.nodes.values():
            node.network.delay, node.network.loss = 0.05, 0.02
        blows = [self.kill_follower, self.fail_over, self.kill_leader, self.part_leader, self.empty]
        if LONG:
            blows += [self.kill_engine, self.kill_standby, self.part_follower]
        struck = collections.Counter()
        until = began + float(os.environ.get("NETWORK_SECONDS", "840" if LONG else "0"))
        while not struck or time.monotonic() < until:  # clock: how long the blows go on in the long form; nothing is judged by it
            if LONG:
                self.random.shuffle(blows)
            for blow in blows:
                self.write_some(1)
                self.ask_some()
                blow()
                struck[blow.__name__] += 1
                self.write_some(1)
                self.ask_some()
        for node in self.nodes.values():
            node.network.delay = node.network.loss = 0
        outcomes = self.await_all()
        over.set()
        for one in leads:
            one.join(LIMIT_S)
        for node in sorted(self.nodes.values(), key=lambda node: node.role() == "leader"):  # else the standby takes the lead at the end
            node.end()
        worlds = {name: node.world for name, node in self.nodes.items()}
        self.assertEqual(nodes_judge.violations(worlds, self.sent, self.received, outcomes), [])
        # clock: how long the blows go on in the long form; nothing is judged by it
        print("figures: %d s; blows %s; %d requests, %d chat" % (time.monotonic() - began, dict(struck), len(self.requests), sum(map(len, self.wrote.values()))))

    # --- what came of it

    def await_all(self):
        """Until all has come to where it goes. Whether the worker went on, by the id of its request."""
        to_lead = {text for (_, to), texts in self.wrote.items() if to == "team-lead" for text in texts}
        got = lambda: [text for name in LEADS for text in self.nodes[name].got()]
        try:
            wait_for("the lead has all chat", lambda: to_lead <= set(got()))
        except Missing:
            self.fail("the lead was never handed: %s" % sorted(to_lead - set(got())))
        for name in LEADS:  # what one lead had and could not tell may come to the other one, and never to the same again
            mine = collections.Counter(self.nodes[name].got())
            self.assertEqual([t for t, count in mine.items() if count > 1], [], name)
        print("figures: %d at both leads" % sum(count > 1 for count in collections.Counter(got()).values()))
        again = []
        for (writer, reader), texts in self.wrote.items():
            if reader == "team-lead":
                continue
            worker = self.workers[reader]
            heard = lambda: [e["text"] for e in worker.events("chat") if e["text"].startswith("between %s " % writer)]
            wait_for("%s has all of %s: %s of %s" % (reader, writer, heard(), texts), lambda: set(heard()) >= set(texts))
            once = [text for before, text in zip([None] + heard(), heard()) if text != before]
            self.assertEqual(once, texts)
            again += [(reader, text) for text, count in collections.Counter(heard()).items() if count > 1]
        # Written, taken out by its reader, and its node killed before it had recorded that: it cannot know, and writes again.
        self.assertEqual([one for one in again if not self.host_was_killed_behind(*one)], [])
        print("figures: %d heard again behind a kill" % len(again))
        outcomes = {}
        for worker, request in self.requests:
            found = wait_for("%s has an answer to %s" % (worker.name, request), lambda: worker.find(request, "ran", "refused", "failed"))
            self.assertEqual(len(found), 1, found)
            self.assertNotEqual(found[0]["event"], "failed")
            outcomes[request] = found[0]["event"] == "ran"
        allowed = next(iter(self.nodes.values())).world.may_allow
        self.assertEqual([request for request, ran in outcomes.items() if ran and request not in allowed], [])
        wait_for("what was told to the lead is settled everywhere", self.at_rest, pause=1)
        return outcomes

    def host_was_killed_behind(self, reader, text):
        """Whether the daemon of this worker's node was started anew right behind the arrival of this letter."""
        node = next(one for one in self.nodes.values() if reader in MEMBERS[one.name])
        database = ledger.connect(node.daemon.state / "ledger.sqlite3")
        arrivals = [ms for ms, in database.execute(
            "SELECT m.created_ms FROM node_mail AS m JOIN node_entries AS e ON e.mail_id = m.id WHERE m.direction = 'in' AND m.inbox = ? "
            "AND instr(e.entry, ?) > 0", (reader, json.dumps(text).encode()))]
        starts = [datetime.datetime.fromisoformat(e["ts"].replace("Z", "+00:00")).timestamp() * 1000
                  for e in node.daemon.log("daemon.started")]
        return any(0 <= start - arrived < 10_000 for arrived in arrivals for start in starts)

    def at_rest(self):
        """Nothing waits, and nothing can come back: a node takes up again what the lead elsewhere has not confirmed when it leads itself."""
        for node in self.nodes.values():
            node.world.read_ledger()
        unconfirmed = [row for node in self.nodes.values() for row in node.world.letters
                       if row["direction"] == "out" and row["node"] == "lead" and row["state"] in ("waiting", "put", "there")]
        waits = [row for node in self.nodes.values() for row in node.world.rows["messages"] if row["delivery"] in ("queued", "offered")]
        owed = [row for node in self.nodes.values() for row in node.world.rows["outbox"] if row["state"] == "pending"]
        return not waits and not owed and not unconfirmed


if __name__ == "__main__":
    unittest.main()
