"""Workers of a JSONL team that were written from the documents alone, one in Python and one for node, led by the daemon."""

import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import unittest

from case import ProcessTest
from daemon import wait_for

HERE = pathlib.Path(__file__).resolve().parent
ODD = "line\u2028one\u2029two\u0085three\ttab \r\n\U0001F600 e\u0301 \u00e9 \\u0041 \x7f \"quoted\" '</teammate-message>' {\"type\": \"x\"}"
TOML = """
[team]
name = "crew"
backend = "jsonl"
folder = "{folder}"
poll_interval = "50ms"

[plans]
decision = "ask"
timeout = "10min"
"""


class Peer:
    def __init__(self, test, name, *command):
        self.name, self.bytes, self.events = name, b"", []
        self.errors = test.folder / (name + ".err")
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([*command, str(test.team), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        test.stops.append(self.stop)
        wait_for("the peer %s is ready" % name, lambda: self.find("ready"))

    def do(self, what, **order):
        self.process.stdin.write((json.dumps(dict(order, do=what)) + "\n").encode())
        self.process.stdin.flush()

    def find(self, event, kind=None, **keys):
        """What the peer reported so far under this event, of this type and with these keys."""
        while select.select([self.process.stdout], [], [], 0)[0]:
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                break
            *whole, self.bytes = (self.bytes + more).split(b"\n")
            self.events += [json.loads(line) for line in whole]
        found = [line[event] for line in self.events if event in line]
        return [line for line in found if kind is None or (line["type"] == kind and all(line.get(k) == v for k, v in keys.items()))]

    def wait(self, event, kind, count=1, **keys):
        found = wait_for("%s %s %d of %s; its errors: %s" % (self.name, event, count, kind, self.errors.read_text("utf-8", "replace")),
                         lambda: (lambda lines: lines if len(lines) >= count else None)(self.find(event, kind, **keys)))
        return found[-1]

    def left(self):
        wait_for("%s left" % self.name, lambda: self.process.poll() is not None)
        return self.process.returncode

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Case(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.folder / ".team"
        (self.team / "inbox").mkdir(parents=True)
        members = [{"name": name, "role": "coder", "status": "idle"} for name in ("ada", "bob")]
        (self.team / "config.json").write_text(json.dumps({"team_name": "default", "members": members}, indent=2), "utf-8")
        self.make_daemon(TOML.format(folder=self.team)).start()

    def start_python(self, name):
        return Peer(self, name, sys.executable, "-B", str(HERE / "jsonl_peer.py"))

    def start_node(self, name):
        if shutil.which("node") is None:
            self.skipTest("node is not installed; run deploy/install-deps test")
        return Peer(self, name, "node", str(HERE / "jsonl_peer.js"))

    def is_empty(self, name):
        wait_for("the inbox of %s is empty" % name, lambda: (self.team / "inbox" / (name + ".jsonl")).stat().st_size == 0)

    def shutdown(self, request_id):
        return next(s for s in self.daemon.ask("shutdowns")["shutdowns"] if s["request_id"] == request_id)


class EachPeer:
    """The cases; the classes below say which peer goes through them."""

    def test_chat_arrives_unchanged_in_both_directions(self):
        ada = self.start("ada")
        ada.do("message", to="lead", content=ODD)
        self.assertEqual([(m["from"], m["text"]) for m in self.hears("line")], [("ada", ODD)])
        self.is_empty("lead")
        self.daemon.cli("send", "ada", ODD)
        got = ada.wait("received", "message")
        self.assertEqual((got["from"], got["content"], sorted(got)), ("lead", ODD, ["content", "from", "timestamp", "type"]))
        self.assertIsInstance(got["timestamp"], float)
        self.is_empty("ada")
        wait_for("the daemon records that ada read it", lambda: self.daemon.log("reply.read", inbox="ada"))
        self.assertEqual(len(ada.find("received")), 1)

    def test_a_plan_is_approved_and_another_rejected_with_the_reason(self):
        ada = self.start("ada")
        ada.do("plan", plan="1. read\n2. write")
        first = ada.wait("sent", "plan_approval_response")["request_id"]
        self.assertEqual(self.pending_id(first)["member"], "ada")
        self.daemon.cli("approve", first)
        got = ada.wait("received", "plan_approval_response", request_id=first)
        self.assertIs(got["approve"], True)
        ada.do("plan", plan="rm -rf everything")
        second = ada.wait("sent", "plan_approval_response", 2)["request_id"]
        self.pending_id(second)
        self.daemon.cli("deny", second, "--reason", ODD)
        got = ada.wait("received", "plan_approval_response", request_id=second)
        self.assertEqual((got["approve"], got["feedback"], got["content"]), (False, ODD, ODD))
        self.assertEqual(len(ada.find("received")), 2)

    def test_a_shutdown_is_refused_then_agreed_to_and_the_peer_has_left(self):
        ada = self.start("ada")
        ada.do("refuse", content="not yet \u2028 really")
        self.daemon.cli("shutdown", "ada", "--reason", "the work is done")
        got = ada.wait("received", "shutdown_request")
        self.assertEqual((got["from"], got["content"]), ("lead", "the work is done"))
        self.assertRegex(got["request_id"], "^[0-9a-f]{8}$")
        wait_for("the refusal is recorded", lambda: self.shutdown(got["request_id"])["state"] == "rejected")
        self.assertIn("not yet", json.dumps(self.shutdown(got["request_id"])))
        self.assertIsNone(ada.process.poll())
        self.daemon.cli("shutdown", "ada")
        again = ada.wait("received", "shutdown_request", 2)
        self.assertNotEqual(again["request_id"], got["request_id"])
        self.assertEqual(ada.left(), 0)
        wait_for("its end is recorded", lambda: self.shutdown(again["request_id"])["state"] == "cleaned")

    def test_a_request_to_stop_is_no_business_of_a_worker(self):
        ada = self.start("ada")
        ada.do("ask_to_stop")
        sent = ada.wait("sent", "shutdown_request")
        entry = self.quarantined()[0]
        self.assertEqual((json.loads(entry["entry"]), entry["code"]), (sent, "line.direction"))
        self.assertEqual(self.daemon.ask("pending")["requests"], [])
        ada.do("message", to="lead", content="still here")
        self.hears("still here")


class PythonPeer(EachPeer, Case):
    def start(self, name):
        return self.start_python(name)


class NodePeer(EachPeer, Case):
    def start(self, name):
        return self.start_node(name)


class BothPeers(Case):
    def test_a_broadcast_reaches_everybody_once(self):
        ada, bob = self.start_python("ada"), self.start_node("bob")
        self.daemon.cli("broadcast", "from the lead " + ODD)
        for peer in (ada, bob):
            got = wait_for("%s received it" % peer.name, lambda: [m for m in peer.find("received") if m["from"] == "lead"])
            self.assertEqual([(m["type"], m["content"]) for m in got], [("broadcast", "from the lead " + ODD)])
        for peer, other in ((ada, bob), (bob, ada)):
            text = "from %s \U0001F600 \u00e9" % peer.name  # a raw U+2028 of the other one would end the Python peer
            peer.do("broadcast", content=text)
            got = wait_for("%s received it" % other.name, lambda: [m for m in other.find("received") if m["from"] == peer.name])
            self.assertEqual([(m["type"], m["content"]) for m in got], [("broadcast", text)])
            self.assertEqual([m["from"] for m in self.hears("from %s" % peer.name)], [peer.name])
        for peer in (ada, bob):
            self.assertEqual(len(peer.find("received")), 2)


if __name__ == "__main__":
    unittest.main()
