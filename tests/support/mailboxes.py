"""A folder that agents share, with mailboxes and tasks, and what other programs do in it."""

import json
import os
import time

from case import ProcessTest
from daemon import alone
from mcp import McpClient


class Mailboxes(ProcessTest):
    def setUp(self):
        super().setUp()
        self.program = os.environ["INBOX_POLLER"]
        self.env = alone(self.folder)
        self.root = self.folder / "mail"
        for part in ("tmp", "alice/new", "alice/cur", "bob/new", "bob/cur", "tasks/open", "tasks/claimed", "tasks/done"):
            (self.root / part).mkdir(parents=True)

    def connect(self, actor="alice", *arguments, start=True):
        client = McpClient(self.program, "--root", self.root, "--actor", actor, *arguments, env=self.env)
        self.stops.append(client.stop)
        if start:
            client.start()
            client.hold_to_schemas()
        return client

    def post(self, to, payload, type="note", sender="carol"):
        """A message as other programs write one."""
        self.posted = getattr(self, "posted", 0) + 1
        name = "%020d-%032x.json" % (time.time_ns(), self.posted)
        message = {"from": sender, "id": "%032x" % self.posted, "payload": payload, "to": to, "ts": time.time(), "type": type}
        (self.root / "tmp" / name).write_text(json.dumps(message, indent=2, sort_keys=True))
        os.rename(self.root / "tmp" / name, self.root / to / "new" / name)

    def unread(self, actor="alice"):
        return sorted(p.name for p in (self.root / actor / "new").iterdir())

    def labeled(self, messages):
        """Whatever came before says so."""
        seen = set()
        for message in messages:
            if message["payload"] in seen:
                self.assertGreater(message.get("attempts", 1), 1, "a repeat without its label: %s" % message)
            seen.add(message["payload"])
