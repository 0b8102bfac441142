"""A team's mail in a Redis Cluster of three nodes: all keys of a team lie in one slot, and the team is served at the node that has it."""

from case import ProcessTest
from daemon import wait_for
from engine import Engine, free_port
from redis_team import RedisTeam

SLOTS = 16384


def cluster(test):
    """Three nodes of one cluster, each with a third of the slots."""
    engines = []
    for name in "abc":
        port, bus = free_port(), free_port()
        engine = Engine(test.folder / name, "port", str(port), "bind", "127.0.0.1", "cluster-enabled", "yes", "cluster-port", str(bus),
                        "cluster-node-timeout", "60000")
        engine.port, engine.bus = port, bus
        engines.append(engine.start())
        test.stops.append(engine.stop)
    clients = [engine.client() for engine in engines]
    test.stops += [client.close for client in clients]
    bounds = [SLOTS * number // 3 for number in range(4)]
    for number, client in enumerate(clients):
        client("CLUSTER", "ADDSLOTSRANGE", str(bounds[number]), str(bounds[number + 1] - 1))
        client("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
    for engine in engines[1:]:
        clients[0]("CLUSTER", "MEET", "127.0.0.1", str(engine.port), str(engine.bus))
    wait_for("the cluster is whole at each node", lambda: all(
        b"cluster_state:ok" in info and b"cluster_known_nodes:3" in info for info in (as_bytes(c("CLUSTER", "INFO")) for c in clients)))
    return engines, clients


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode()


class Cluster(ProcessTest):
    def setUp(self):
        super().setUp()
        self.engines, self.clients = cluster(self)

    def owner(self, team):
        """The number of the node that has the team's slot."""
        slot = self.clients[0]("CLUSTER", "KEYSLOT", "ip:{%s}:x" % team)
        return next(number for number in range(3) if slot < SLOTS * (number + 1) // 3)

    def test_all_keys_of_a_team_lie_in_one_slot_and_the_team_is_served_there(self):
        owners = set()
        for number, name in enumerate(("shared", "falcon", "crew", "team-4"), 1):
            owner = self.owner(name)
            owners.add(owner)
            team = RedisTeam(self.engines[owner], team=name)
            daemon = self.make_daemon(team.toml()).start()
            team.agents["ada"].send("boss", "from ada in " + name)
            self.hears("from ada in " + name)
            daemon.cli("send", "ada", "hello " + name)
            self.assertEqual(wait_for("ada has it", team.agents["ada"].try_recv)["payload"], "hello " + name)
            # The ledger is the same for all of them: an answer that is not known to be read would follow to the next Redis.
            wait_for("it is known to be read", lambda: len(daemon.log("reply.read", inbox="ada")) == number)
            daemon.stop()
            keys = [key for key in self.clients[owner]("KEYS", "*") if name in str(key)]
            self.assertGreater(len(keys), 2)
            self.assertEqual(len({self.clients[0]("CLUSTER", "KEYSLOT", key) for key in keys}), 1, keys)
            self.heard.clear()
        self.assertGreater(len(owners), 1, "the teams lie on several nodes")

    def test_a_node_without_the_teams_slot_is_named_and_nothing_is_lost(self):
        owner = self.owner("shared")
        team, other = RedisTeam(self.engines[owner]), RedisTeam(self.engines[(owner + 1) % 3])
        team.agents["ada"].send("boss", "waits")
        daemon = self.make_daemon(other.toml()).start()
        told = wait_for("the fault is shown", lambda: "MOVED" in str(daemon.ask("status")["teams"][0]) and daemon.ask("status"))
        self.assertIn(":%d" % self.engines[owner].port, str(told))  # the node to name instead
        self.assertEqual(team.unread("boss"), 1)
        daemon.stop()
        self.make_daemon(team.toml()).start()
        self.hears("waits")
