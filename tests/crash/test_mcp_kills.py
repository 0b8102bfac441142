"""`inbox-poller mcp` and its client, killed at random moments: no message is lost, and what comes again says so."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import portion
from daemon import wait_for
from mailboxes import Mailboxes

READER = pathlib.Path(__file__).resolve().parent.parent / "support" / "mcp_reader.py"


class McpKills(Mailboxes):
    def test_a_thousand_messages_and_nothing_lost_while_server_and_client_are_killed(self):
        chance = random.Random(portion.seed())
        log = self.folder / "got.jsonl"
        total, kills, posted, rounds = (1000 if portion.LONG else 200), 0, 0, 0

        def got():
            lines = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
            return [json.loads(line) for line in lines]

        def progress():
            return len({m["payload"] for m in got()})

        while progress() < total:
            before, rounds = progress(), rounds + 1
            reader = subprocess.Popen([sys.executable, "-B", str(READER), self.program, str(self.root), "alice", str(log)], env=self.env,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # it may lose its server
            self.stops.append(lambda one=reader: one.poll() is None and one.kill())
            server = int(reader.stdout.readline())
            for _ in range(min(20, total - posted)):
                posted += 1
                self.post("alice", "message %d" % posted)
            if rounds % 4:  # otherwise the kill comes while both begin
                wanted = min(total, before + chance.randint(1, 20))
                wait_for("message %d" % wanted, lambda: progress() >= wanted or reader.poll() is not None, pause=0.005)
            time.sleep(chance.random() * 0.02)  # clock: a kill at any moment; each moment has to end well
            try:
                os.kill(chance.choice((server, reader.pid)), signal.SIGKILL)
                kills += 1
            except ProcessLookupError:
                pass
            time.sleep(chance.random() * 0.02)  # clock: the other one lives on for a moment; each moment has to end well
            reader.kill()
            reader.wait()
            reader.stdout.close()
        self.assertGreater(kills, 10)
        messages = got()
        self.labeled(messages)
        print("%d messages, %d kills, %d repeats, all labeled" % (total, kills, len(messages) - total))
