"""`nodes acl`: what its users may do, and that everything else is refused, over a Unix socket and over TLS."""

import os
import pathlib
import stat
import subprocess
import unittest

from case import ProcessTest
from daemon import LIMIT_S, alone
from engine import Engine, RedisError

SEND = """redis.call('SET', KEYS[2], redis.call('XADD', KEYS[1], '*', 'e', ARGV[1]))"""


class Access(ProcessTest):
    def acl(self, *arguments, team="demo", expect=0):
        done = subprocess.run([os.environ["INBOX_POLLER"], "nodes", "acl", "--team", team, *arguments, "--secrets", str(self.folder / "secrets")],
                              env=alone(self.folder), capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, expect, done)
        return done.stdout

    def secret(self, user):
        return (self.folder / "secrets" / user).read_text().strip()

    def test_the_list_has_hashes_only_and_is_the_same_again_with_a_host_more(self):
        first = self.acl("--leader", "h1", "--follower", "h2")
        self.assertEqual([line.split()[1] for line in first.splitlines()], ["default", "admin", "node-h1", "node-h2"])
        for user in ("admin", "node-h1", "node-h2"):
            path = self.folder / "secrets" / user
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            self.assertNotIn(self.secret(user), first)
        more = self.acl("--leader", "h1", "--follower", "h2", "--follower", "h3")
        self.assertTrue(more.startswith(first))
        self.acl("--leader", "h1", "--follower", "h1", expect=2)
        self.acl("--leader", "box", expect=2)
        self.acl("--leader", "a b", expect=2)
        self.assertEqual(sorted(p.name for p in pathlib.Path(self.folder / "secrets").iterdir()), ["admin", "node-h1", "node-h2", "node-h3"])

    def test_what_a_script_wrote_is_there_after_a_restart(self):
        """Redis replays its append-only file as the user `default`; one without rights gets an empty Redis."""
        engine = Engine(self.folder / "r", users=self.acl("--leader", "h1")).start()
        self.stops.append(engine.stop)
        leader = ("node-h1", self.secret("node-h1"))
        engine.client(*leader)("EVAL", SEND, 2, "ip:{demo}:in:lead:h1", "ip:{demo}:k:h1:lead:x", "hello")
        engine.stop()
        engine.start()
        self.assertEqual(engine.client(*leader)("EXISTS", "ip:{demo}:in:lead:h1", "ip:{demo}:k:h1:lead:x"), 2)
        for login in ((), ("default", ""), ("default", "x")):
            with self.assertRaises(RedisError):
                engine.client(*login)("PING")

    def test_a_satellite_speaks_as_itself_and_ten_other_things_are_refused_also_over_tls(self):
        engine = Engine(self.folder / "r", tls=True, users=self.acl("--leader", "h1", "--follower", "h2", "--follower", "h3")).start()
        self.stops.append(engine.stop)
        with self.assertRaises(RedisError):
            engine.tls_client()("PING")
        admin = engine.tls_client("admin", self.secret("admin"))
        admin("SET", "ip:{demo}:epoch", "7")
        admin("SET", "ip:{demo}:k:h3:lead:x", "1")
        admin("XGROUP", "CREATE", "ip:{demo}:in:@h3:h1", "g", "0", "MKSTREAM")
        for client in (engine.tls_client("node-h2", self.secret("node-h2")), engine.client("node-h2", self.secret("node-h2"))):
            for what in (("EVAL", SEND, 2, "ip:{demo}:in:lead:h2", "ip:{demo}:k:h2:lead:x", "hello"),
                         ("EVAL", SEND, 2, "ip:{demo}:in:@h3:h2", "ip:{demo}:k:h2:@h3:x", "hello"),
                         ("GET", "ip:{demo}:epoch"), ("SET", "ip:{demo}:node:h2", "{}", "PX", 15000), ("GET", "ip:{demo}:node:h3"),
                         ("SADD", "ip:{demo}:nodes", "h2"), ("SMEMBERS", "ip:{demo}:nodes"), ("INFO", "server")):
                client(*what)
            try:
                client("XGROUP", "CREATE", "ip:{demo}:in:@h2:h1", "g", "0", "MKSTREAM")
            except RedisError as error:
                self.assertIn("BUSYGROUP", str(error))
            client("XREADGROUP", "GROUP", "g", "h2", "COUNT", "10", "STREAMS", "ip:{demo}:in:@h2:h1", ">")
            for name, words in {
                    "as another node": ("XADD", "ip:{demo}:in:lead:h3", "*", "e", "x"),
                    "as the leader": ("XADD", "ip:{demo}:in:@h3:h1", "*", "e", "x"),
                    "by a script": ("EVAL", SEND, 2, "ip:{demo}:in:lead:h3", "ip:{demo}:k:h2:lead:y", "x"),
                    "by a key that no script names": ("EVAL", "redis.call('XADD', 'ip:{demo}:in:lead:h3', '*', 'e', 'x')", 0),
                    "a request decided": ("HSET", "ip:{demo}:request:permission:r1", "answer", "yes"),
                    "the epoch": ("SET", "ip:{demo}:epoch", "99"),
                    "who leads": ("SET", "ip:{demo}:leader", "h2"),
                    "another's mark": ("EVAL", "return redis.call('SET', KEYS[1], 'x')", 1, "ip:{demo}:k:h3:lead:x"),
                    "another's mail": ("XREADGROUP", "GROUP", "g", "h2", "STREAMS", "ip:{demo}:in:@h3:h1", ">"),
                    "a heartbeat of another": ("SET", "ip:{demo}:node:h3", "{}"),
                    "a node forgotten": ("SREM", "ip:{demo}:nodes", "h3"),
                    "its own stream made another thing": ("SET", "ip:{demo}:in:lead:h2", "x"),
                    "everything": ("FLUSHALL",),
                    "the settings": ("CONFIG", "GET", "requirepass"),
                    "the users": ("ACL", "LIST"),
                    "the names of keys": ("KEYS", "*")}.items():
                with self.assertRaises(RedisError, msg=name) as refused:
                    client(*words)
                self.assertRegex(str(refused.exception), "NOPERM|permission|can't run this command|can't access", name)
        self.assertEqual(admin("GET", "ip:{demo}:epoch"), "7")
        self.assertEqual(admin("XLEN", "ip:{demo}:in:lead:h2"), 2)
        leader = engine.tls_client("node-h1", self.secret("node-h1"))
        leader("SET", "ip:{demo}:epoch", "8")
        for words in (("SET", "ip:{other}:epoch", "1"), ("FLUSHALL",), ("CONFIG", "GET", "requirepass")):
            with self.assertRaises(RedisError):
                leader(*words)

    def test_the_program_works_with_these_users_over_tls_and_trusts_nobody_else(self):
        engine = Engine(self.folder / "r", tls=True, users=self.acl("--leader", "h1", "--follower", "h2")).start()
        self.stops.append(engine.stop)

        def box(address):
            return subprocess.run([os.environ["INBOX_POLLER"], "mailbox", "send", "ada", "x", "--root", address, "--actor", "bob"],
                                  env=alone(self.folder), capture_output=True, text=True, timeout=LIMIT_S)

        login = "&user=node-h1&secret=%s" % (self.folder / "secrets" / "node-h1")
        done = box(engine.tls_address(more=login))
        self.assertEqual(done.returncode, 0, done)
        follower = "&user=node-h2&secret=%s" % (self.folder / "secrets" / "node-h2")
        for address, words in ((engine.tls_address(more=follower), "NOPERM|permission|can't run"), (engine.tls_address(), "NOAUTH|NOPERM"),
                               ("rediss://localhost:%d?%s#demo" % (engine.port, login[1:]), "certificate"),
                               ("rediss://127.0.0.1:%d?ca=%s%s#demo" % (engine.port, engine.folder / "ca.pem", login), "certificate has to be for"),
                               (engine.tls_address("other", more=login), "NOPERM|permission|can't")):
            refused = box(address)
            self.assertEqual(refused.returncode, 1, refused)
            self.assertRegex(refused.stderr, words)
            self.assertNotIn(self.secret("node-h1"), refused.stderr)


if __name__ == "__main__":
    unittest.main()
