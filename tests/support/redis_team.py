"""A team whose mail is in a Redis, with a daemon that delivers the mail of one of them; the others write and read what stands in
docs/how-to/redis.md with a client of the test's own."""

import json
import time
import uuid

from engine import RedisError

REDIS_TOML = """
[team]
name = "pair"
backend = "redis"
redis_url = "{address}"
lead = "boss"
poll_interval = "50ms"
{team_more}
[limits]
queued_chat = 1000000
"""


class Agent:
    """One actor, on a connection of its own; calls that fail by the engine's end are the caller's to repeat."""

    def __init__(self, team, name):
        self.team, self.name, self.client = team, name, None

    def redis(self, *words):
        if self.client is None:
            self.client = self.team.engine.client()
        try:
            return self.client(*words)
        except OSError:
            self.client = None
            raise

    def send(self, to, text, kind="message", message_id=None, **more):
        """Appended once for each id, in one step, as every writer does it."""
        message = dict({"id": message_id or uuid.uuid4().hex, "from": self.name, "to": to, "type": kind, "payload": text,
                        "ts": time.time()}, **more)
        script = """if redis.call('GET', KEYS[1]) then return 0 end
            redis.call('SADD', KEYS[3], ARGV[1], ARGV[2])
            redis.call('SET', KEYS[1], redis.call('XADD', KEYS[2], '*', 'k', ARGV[3], 'f', ARGV[2], 'y', ARGV[4], 'e', ARGV[5]), 'PX', 604800000)
            return 1"""
        keys = [self.team.key("k:box:%s:%s" % (to, message["id"])), self.team.stream(to), self.team.key("boxes")]
        self.redis("EVAL", script, 3, *keys, to, self.name, message["id"], kind, json.dumps(message))
        return message

    def try_recv(self):
        """What is oldest, taken; what an earlier call was handed and did not take comes first."""
        stream = self.team.stream(self.name)
        try:
            self.redis("XGROUP", "CREATE", stream, "g", "0", "MKSTREAM")
        except RedisError:
            pass  # it is there
        for behind in ("0", ">"):
            found = self.redis("XREADGROUP", "GROUP", "g", self.name, "COUNT", 1, "STREAMS", stream, behind)
            if found and found[0][1]:
                entry, fields = found[0][1][0]
                self.redis("XACK", stream, "g", entry)
                return json.loads(dict(zip(fields[::2], fields[1::2]))["e"])
        return None


class RedisTeam:
    def __init__(self, engine, actors=("ada", "bob"), team="shared", more=""):
        self.engine, self.team, self.more = engine, team, more
        self.agents = {name: Agent(self, name) for name in actors}

    def toml(self, team_more="", more="", engine=None):
        return REDIS_TOML.format(address=engine or self.engine.address(self.team, self.more), team_more=team_more) + more

    def key(self, name):
        return "ip:{%s}:%s" % (self.team, name)

    def stream(self, actor):
        return self.key("in:%s:box" % actor)

    def unread(self, actor):
        """Entries that nobody took."""
        client = self.engine.client()
        try:
            for group in client("XINFO", "GROUPS", self.stream(actor)):
                facts = dict(zip(group[::2], group[1::2]))
                rest = client("XRANGE", self.stream(actor), "(" + facts["last-delivered-id"], "+")
                return facts["pending"] + len(rest)
            return client("XLEN", self.stream(actor))
        except RedisError:
            return 0
        finally:
            client.close()
