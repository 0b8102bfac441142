"""A test with real processes: a folder of its own that stays when the test fails, and everything started in it is stopped."""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import log_table
import team as wire
from daemon import Daemon, team_toml, wait_for
from lead import LeadProcess
from tmux import PaneWorker, Tmux
from worker import WorkerProcess

ANSWERS = ("ran", "refused", "interrupted", "sandbox", "plan_approved", "plan_rejected", "failed")


class ProcessTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ip-"))  # short: a socket's path has at most 107 bytes
        self.daemon = None
        self.stops = []
        self.heard = []  # what the lead took, in order
        self.addCleanup(self.stop_all)

    def stop_all(self):
        for stop in reversed(self.stops):
            stop()
        if self.daemon and self.daemon.log_path.exists():
            self.assertEqual(log_table.undocumented(self.daemon.log_path.read_text("utf-8", "replace")), [], "in no row of docs/reference/log-events.md")

    def run(self, result=None):
        self.folder = None
        before = len(result.failures) + len(result.errors)
        super().run(result)  # cleanups included: only now is it known whether it failed
        if self.folder is None:
            return
        if len(result.failures) + len(result.errors) == before:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        print("\nfolder kept: %s" % self.folder, file=sys.stderr)
        if self.daemon:
            print(self.daemon.tail(30), file=sys.stderr)

    def make_team(self, name="demo", members=("ada", "bob"), era=wire.ERA2):
        return wire.Team(self.folder / "teams", name, members, era)

    def make_daemon(self, *tomls, **options):
        self.daemon = Daemon(os.environ["INBOX_POLLER"], self.folder, *tomls, **options)
        self.stops.append(lambda daemon=self.daemon: daemon.running() and daemon.stop())
        return self.daemon

    def start_daemon(self, team, toml_more="", **options):
        return self.make_daemon(team_toml(team, more=toml_more, **options)).start()

    def start_worker(self, team, name, era=wire.ERA2, **options):
        worker = WorkerProcess(team, name, era, **options)
        self.stops.append(worker.stop)
        return worker

    def start_tmux(self):
        """A tmux server of this test's own; the test is skipped where there is no tmux."""
        tmux = Tmux(self.folder)
        self.stops.append(tmux.stop)
        return tmux

    def start_pane_worker(self, tmux, team, name, era=wire.ERA2, **options):
        worker = PaneWorker(tmux, team, name, era, **options)
        self.stops.append(worker.stop)
        return worker

    def start_lead(self, team, era=wire.ERA2, **options):
        lead = LeadProcess(team, era, **options)
        self.stops.append(lead.stop)
        return lead

    def take(self):
        """What waits for the lead, taken and acknowledged."""
        with self.daemon.connect() as control:
            messages = control.ask("recv", max=1000)["messages"]
            control.ask("ack", keys=[m["message_key"] for m in messages])
        self.heard += messages
        return messages

    def assert_heard_in_order(self, senders):
        """Texts are "SENDER NUMBER": each is one message, and first met in its sender's order; a kill shows some again."""
        keys = {}
        for message in self.heard:
            keys.setdefault(message["text"], set()).add(message["message_key"])
        self.assertTrue(all(len(found) == 1 for found in keys.values()))
        for name in senders:
            first_met = list(dict.fromkeys(int(m["text"].split()[1]) for m in self.heard if m["from"] == name))
            self.assertEqual(first_met, sorted(first_met))

    def hears(self, text):
        """The messages with this text that the lead has taken, once there is one."""
        return wait_for("the lead hears %r" % text, lambda: self.take() is not None and [m for m in self.heard if text in m["text"]])

    def status(self, name=None):
        """What `status` says of one team."""
        return next(t for t in self.daemon.ask("status")["teams"] if name in (None, t["team"]))

    def answer(self, worker, request_id):
        """The event with which the worker took the answer; there must be exactly one."""
        found = wait_for("%s took an answer to %s" % (worker.name, request_id), lambda: worker.find(request_id, *ANSWERS))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def pending_id(self, request_id):
        return wait_for("%s is pending" % request_id, lambda: [
            a for a in self.daemon.ask("pending")["requests"] if a["request_id"] == request_id])[0]

    def quarantined(self, count=1):
        return wait_for("%d entries in quarantine" % count, lambda: (
            lambda entries: entries if len(entries) >= count else None)(self.daemon.ask("quarantine")["entries"]))
