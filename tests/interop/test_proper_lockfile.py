"""Real peers' lock library (proper-lockfile 4.1.2) against the poller: eight writers, one inbox, the poller marking and answering.

Every message whose writer was told "written" is delivered exactly once. With eight of them they mostly meet each other, and how
often one gives up depends on the machine: it is printed. What our own share of the lock costs is counted in tests/locks/test_peers.py.
"""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import time
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, wait_for

WRITERS, MESSAGES, PAUSE_MS, ASK_EVERY = 8, 100, 40, 20
PEERS = os.environ.get("INBOX_POLLER_PEERS", "")
HERE = pathlib.Path(__file__).resolve().parent


@unittest.skipUnless(shutil.which("node"), "node is not installed")
@unittest.skipUnless(os.path.isdir(os.path.join(PEERS, "node_modules", "proper-lockfile")), "proper-lockfile is not installed")
class ProperLockfile(ProcessTest):
    def write(self, team, style):
        env = dict(os.environ, NODE_PATH=os.path.join(PEERS, "node_modules"))
        started = time.monotonic()  # clock: a figure for the reader, compared with nothing
        writers = [subprocess.Popen(["node", str(HERE / "writer.js"), str(team.lead_inbox), member, str(MESSAGES), str(PAUSE_MS),
                                     style, str(ASK_EVERY)], env=env, stdout=subprocess.PIPE, text=True)
                   for member in self.members]
        lines = [json.loads(line) for writer in writers for line in writer.communicate(timeout=LIMIT_S)[0].splitlines()]
        self.assertEqual([w.returncode for w in writers], [0] * WRITERS)
        self.assertEqual(len(lines), WRITERS * MESSAGES)
        return lines, time.monotonic() - started  # clock: a figure for the reader, compared with nothing

    def story(self, style):
        self.members = ["worker-%d" % i for i in range(WRITERS)]
        team = self.make_team(members=self.members)
        delivered = self.folder / "delivered.jsonl"
        self.start_daemon(team, '[delivery]\nfile = "%s"\n' % delivered, poll="100ms")
        lines, seconds = self.write(team, style)
        written = [line["entry"]["text"] for line in lines if line["ok"]]
        refused = len(lines) - len(written)
        requests = [text for text in written if text.startswith("{")]
        chat = [text for text in written if not text.startswith("{")]

        def arrived():
            if not delivered.exists():
                return []
            return [json.loads(line)["text"] for line in delivered.read_text("utf-8").split("\n") if line]

        wait_for("all chat in the file sink", lambda: len(arrived()) >= len(chat))
        wait_for("all requests answered", lambda: sum(len(team.replies(m)) for m in self.members) >= len(requests))
        wait_for("every entry marked read", lambda: all(
            e["read"] for e in wire.read_inbox(team.lead_inbox) or [{"read": False}]))
        self.daemon.polled()  # anything delivered or answered a second time has come
        locks = self.daemon.ask("status")["teams"][0]["locks"]
        print("\n%s: %d written, %d refused by the lock (%.2f %%), %.1f s; the poller's lock: %s" % (
            style, len(written), refused, 100.0 * refused / len(lines), seconds, locks))

        self.assertEqual(collections.Counter(arrived()), collections.Counter(chat))
        for member in self.members:
            mine = [json.loads(text)["request_id"] for text in requests if json.loads(text)["agent_id"] == member]
            answered = [json.loads(e["text"])["request_id"] for e in team.replies(member)]
            self.assertEqual(collections.Counter(answered), collections.Counter(mine))

    def test_writers_that_replace_the_file_by_rename(self):
        self.story("replace")

    def test_writers_that_rewrite_the_file_in_place(self):
        self.story("rewrite")


if __name__ == "__main__":
    unittest.main()
