"""`lead run` in front of a real client that is killed with -9 between the signs that it gives and its model's call.

What counts as delivered was in a request to the model; what a client is given a second time says that it may be a repeat.
A run kills once at each point, at half of them on a full machine. STREAM_MESSAGES and STREAM_KILLS make it longer, and then every point
has its turn in both; FLOW_LOAD=1 fills the machine for the whole flow.
"""

import collections
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import unittest

from daemon import wait_for
from flow import SECONDS, FlowTest
from load import Load
from model import script
from stream_lead import messages_in

MESSAGES, KILLS = (int(os.environ.get(name, "0")) for name in ("STREAM_MESSAGES", "STREAM_KILLS"))
# (the line behind which the client is killed, whether its model cannot be reached meanwhile)
POINTS = [("started", True), ("init", True), ("retry", True), ("started", False), ("init", False), ("given", False), ("assistant", False),
          ("result", False), ("queued", False), ("completed", False)]
TOLD = ("started", "queued", "completed")  # command_lifecycle
STOPPER = pathlib.Path(__file__).resolve().parent / "stopper.py"


class StreamFlow(FlowTest):
    beside = contextlib.nullcontext  # what runs from a message until its client is killed

    def start_run(self, *options, team_more="", stopper=True):
        self.lead_team(toml_more='[delivery]\nmethods = ["stdin"]\n')
        self.stopper = self.folder / "stopper"
        self.stopper.mkdir()
        command = [self.world.program, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
                   "--replay-user-messages", "--permission-mode", "default"]
        self.run_ = subprocess.Popen(
            [os.environ["INBOX_POLLER"], "lead", "run", "--socket", self.daemon.socket, "--restart", "100", *options, "--", sys.executable, "-B",
             str(STOPPER), *command], cwd=self.world.project,
            env=dict(self.world.env(STOPPER=self.stopper), XDG_RUNTIME_DIR=self.daemon.env["XDG_RUNTIME_DIR"]), stdin=subprocess.PIPE,
            stdout=open(self.folder / "run.out", "wb"), stderr=open(self.folder / "run.err", "wb"))
        self.stops.append(lambda: (self.run_.stdin.close(), self.run_.terminate(), self.run_.wait(SECONDS)))

    def lines(self, name):
        path = self.stopper / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def given(self):
        """(text, labeled as a possible repeat) of every message that the client was given, in order."""
        return [(text, labeled) for line in self.lines("given.jsonl") for _, text, labeled in messages_in(line["message"]["content"])]

    def waiting(self):
        chat = self.chat()
        return chat["queued"] + chat["offered"]

    def all_delivered(self, count, seconds=SECONDS * 3):
        wait_for("%d delivered" % count, lambda: self.chat()["delivered"] == count, seconds, 0.1)

    def check(self, texts):
        """Nothing counts as delivered that the model never saw, and no repeat goes without its label."""
        unseen = [text for text in texts if not self.model.ever_seen(text)]
        times = collections.Counter()
        unlabeled = []
        for text, labeled in self.given():
            times[text] += 1
            if times[text] > 1 and not labeled:
                unlabeled.append(text)
        chat = self.chat()
        print("figures: %s%s, %d messages, %d kills, %d delivered (%d assumed), %d never seen, %d given again" % (
            ".".join(map(str, self.world.version)), ", loaded" if self.loaded or self.beside is Load else "", len(texts), len(self.lines("ends.jsonl")),
            chat["delivered"], chat["assumed"], len(unseen), sum(n - 1 for n in times.values())), flush=True)
        self.assertEqual(unseen, [], "delivered, and never seen by the model")
        self.assertEqual(unlabeled, [], "given again without a label")


class Kills(StreamFlow):
    first = 0  # of the points, when each has its turn in one of the two classes

    def points(self):
        known = [(point, shut) for point, shut in POINTS if (self.tells or point not in TOLD) and (self.retries or point != "retry")]
        return known if KILLS else known[self.first::2]

    @property
    def tells(self):
        return self.world.version >= (2, 1, 220)

    @property
    def retries(self):
        return self.world.version >= (2, 1, 141)

    def kill_at(self, point, shut, text):
        """The message is said to an idle lead, and its client killed at that line."""
        wait_for("the lead is idle", lambda: not self.waiting() and self.daemon.ask("lead")["state"] != "busy", SECONDS)
        if shut:
            self.model.shut()
        before = len(self.lines("ends.jsonl"))
        (self.stopper / "order.new").write_text(point)
        os.rename(self.stopper / "order.new", self.stopper / "order")
        with self.beside():
            self.team.say("ada", text)
            wait_for("it is killed at %s" % point, lambda: len(self.lines("ends.jsonl")) > before, SECONDS)
        self.model.open()

    def test_nothing_counts_as_delivered_that_the_model_never_saw(self):
        self.start_run()
        self.team.say("ada", "payload first.")
        self.all_delivered(1)
        points = self.points()
        kills = KILLS or len(points)
        messages = MESSAGES or 2 * kills + 1
        texts = ["payload first."] + ["payload %d." % n for n in range(1, messages)]
        every = max(messages // kills, 1)
        for n, text in enumerate(texts[1:], 1):
            if n % every == 0:
                self.kill_at(*points[(n // every - 1) % len(points)], text)
            else:
                self.team.say("ada", text)
        self.all_delivered(len(texts))
        self.check(texts)
        if self.tells:
            self.assertEqual(self.chat()["assumed"], 0)


class LoadedKills(Kills):
    first = 1
    beside = Load


class Turns(StreamFlow):
    """A turn that ends without a word of the model proves nothing."""

    def test_a_request_that_fails_brings_the_message_again(self):
        self.start_run()
        self.team.say("ada", "payload pearl " + script({"error": 400}, "unused"))
        wait_for("it comes again", lambda: len(self.given()) >= 2, SECONDS)
        self.assertEqual([labeled for _, labeled in self.given()][:2], [False, True])
        self.assertEqual(self.chat()["delivered"], 0)

    def test_a_prompt_that_a_hook_of_the_client_refuses_is_not_delivered(self):
        refuse = self.folder / "refuse"
        refuse.touch()
        self.world.settings(hooks={"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "test ! -e '%s' || { echo no >&2; exit 2; }" % refuse}]}]})
        self.start_run()
        self.team.say("ada", "payload pearl.")
        wait_for("it comes again", lambda: len(self.given()) >= 2, SECONDS)
        self.assertEqual((self.chat()["delivered"], self.model.ever_seen("payload pearl.")), (0, 0))
        refuse.unlink()
        self.all_delivered(1)
        self.check(["payload pearl."])


if __name__ == "__main__":
    unittest.main()
