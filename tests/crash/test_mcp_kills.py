"""`inbox-poller mcp` and its client, killed at random moments: no message is lost, and what comes again says so."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from mailboxes import Mailboxes

READER = pathlib.Path(__file__).resolve().parent.parent / "support" / "mcp_reader.py"


class McpKills(Mailboxes):
    def test_a_thousand_messages_and_nothing_lost_while_server_and_client_are_killed(self):
        chance = random.Random(11)
        log = self.folder / "got.jsonl"
        total, kills, posted = (1000 if "LONG" in os.environ else 300), 0, 0
        deadline = time.monotonic() + 200 * float(os.environ.get("TEST_PATIENCE", "1"))

        def got():
            lines = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
            return [json.loads(line) for line in lines]

        while len({m["payload"] for m in got()}) < total:
            self.assertLess(time.monotonic(), deadline, "%d of %d after %d kills" % (len({m["payload"] for m in got()}), total, kills))
            reader = subprocess.Popen([sys.executable, "-B", str(READER), self.program, str(self.root), "alice", str(log)], env=self.env,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # it may lose its server
            self.stops.append(lambda one=reader: one.poll() is None and one.kill())
            server = int(reader.stdout.readline())
            for _ in range(min(20, total - posted)):
                posted += 1
                self.post("alice", "message %d" % posted)
                time.sleep(chance.random() * 0.004)
            time.sleep(chance.random() * 0.2)
            try:
                os.kill(chance.choice((server, reader.pid)), signal.SIGKILL)
                kills += 1
            except ProcessLookupError:
                pass
            time.sleep(chance.random() * 0.02)
            reader.kill()
            reader.wait()
            reader.stdout.close()
        self.assertGreater(kills, 10)
        messages = got()
        self.labelled(messages)
        print("%d messages, %d kills, %d repeats, all labelled" % (total, kills, len(messages) - total))
