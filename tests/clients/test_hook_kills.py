"""A real client with our hooks that is killed with -9, or fails, between a hook's output and its model's call.

What counts as delivered was in a request to the model. The model's last answer before each point shuts the model, so that what a hook
adds to the conversation reaches nobody.
"""

import os
import signal
import subprocess
import threading
import time
import unittest
import uuid

from daemon import hold_still, wait_for
from flow import SECONDS, HooksFlow
from load import Load
from model import script, tool

SESSION = "11111111-2222-4333-8444-999999999999"


class HookKills(HooksFlow):
    def begin(self, prompt, **env):
        """`claude -p` on its way."""
        options = ["--resume", SESSION] if self.begun else ["--session-id", SESSION]
        self.begun = True
        return subprocess.Popen([self.world.program, "-p", prompt, *options, "--permission-mode", "default", "--allowedTools", "Bash"],
                                cwd=self.world.project, env=self.world.env(**env), stdin=subprocess.DEVNULL,
                                stdout=open(self.folder / "p.out", "ab"), stderr=subprocess.STDOUT)

    def prepare_lead(self):
        self.begun = False
        self.prepare('max_delay = "1s"\n')
        self.is_lead(SESSION)
        self.count = 0
        self.assertEqual(self.begin("first").wait(SECONDS), 0)  # what is killed before it wrote anything cannot be resumed

    def shutting(self, step, text):
        """The step, before which `text` is queued, and after which the model cannot be reached."""
        def answer(_):
            self.say(text)
            self.model.shut()
            return step
        return answer

    def say(self, text):
        self.team.inboxes.mkdir(exist_ok=True)  # `-p` of the newest may take its team's inboxes along when it ends
        self.team.say("ada", text)
        wait_for("it is queued", lambda: self.chat()["queued"] == 1, SECONDS)

    def killed_before_the_call(self, text, *steps):
        """A hook gives it `text` while the model cannot be reached, and it is killed then."""
        if not steps:
            self.say(text)
            self.model.shut()
        client = self.begin("go on " + script(*steps))
        self.stops.append(client.kill)
        wait_for("the model is shut", lambda: not self.model.is_open, SECONDS)
        wait_for("a hook has printed it", lambda: self.chat()["offered"] == 1, SECONDS)
        client.kill()
        client.wait()
        self.assertEqual(self.model.ever_seen(text), 0)
        self.model.open()

    def goes_on(self, text):
        """The next turn of the session. What counts then was seen."""
        for _ in range(3):
            self.assertEqual(self.begin("what else? " + script(tool("Bash", command="echo one"), "nothing")).wait(SECONDS * 2), 0)
            if self.chat()["delivered"] == self.count + 1:
                break
        self.count += 1
        self.assertEqual((self.chat()["delivered"], self.chat()["queued"] + self.chat()["offered"]), (self.count, 0))
        self.assertGreater(self.model.ever_seen(text), 0, "delivered, and never seen by the model")
        self.assertIn("may be a repeat", "\n".join(t for a in self.model.turns() for t in a.texts() if text in t))

    def test_what_a_hook_printed_and_no_model_saw_comes_again(self):
        self.prepare_lead()
        self.killed_before_the_call("payload prompt.")
        self.goes_on("payload prompt.")
        self.killed_before_the_call("payload stop.", self.shutting("done", "payload stop."))
        self.goes_on("payload stop.")
        if self.world.version >= (2, 1, 69):  # before, nothing goes between two tools
            slow = tool("Bash", command="echo one; sleep 4")  # clock: a tool that takes longer than max_delay
            self.killed_before_the_call("payload tool.", self.shutting(slow, "payload tool."))
            self.goes_on("payload tool.")

    def test_a_turn_whose_request_fails_proves_nothing(self):
        self.prepare_lead()
        self.say("payload pearl.")
        self.model.shut()
        self.assertNotEqual(self.begin("go on", CLAUDE_CODE_MAX_RETRIES=0).wait(SECONDS * 3), 0)
        self.assertEqual((self.chat()["delivered"], self.model.ever_seen("payload pearl.")), (0, 0))
        self.model.open()
        self.goes_on("payload pearl.")


class LastMail(HooksFlow):
    """A machine that is full from the last request on, a daemon that answers a Stop late, and our hooks with no more patience than they have."""

    def last_mail(self, text):
        """What became of a message that came in the last turn; its Stop hook was connected before the daemon went on."""
        def answer(_):
            self.stops.append(Load().stop)
            self.team.say("ada", text)
            wait_for("it is queued", lambda: self.chat()["queued"] == 1, SECONDS)
            hold_still(self.daemon.process.pid)
            threading.Thread(target=go_on, daemon=True).start()
            return "that was all"

        def go_on():
            try:
                wait_for("the hook of its Stop is connected", lambda: self.daemon.connecting() == 1, SECONDS)
                connected = time.monotonic()  # clock: lets pass what a hook at a tool waits
                wait_for("a hook at a tool would have given up", lambda: time.monotonic() - connected > 0.1)  # clock: a lower bound
            finally:
                os.kill(self.daemon.process.pid, signal.SIGCONT)
        session = str(uuid.uuid4())
        self.is_lead(session)
        done = self.world.ask("go on " + script(answer), "--session-id", session, "--permission-mode", "default", seconds=SECONDS * 4)
        self.assertEqual(done.returncode, 0, done)
        print("figures: %s, loaded, last mail of -p: %s" % (".".join(map(str, self.world.version)), self.chat()), flush=True)
        self.assertLessEqual(self.chat()["delivered"], self.model.ever_seen(text), self.chat())
        return self.chat()["delivered"] == 1

    def test_mail_that_comes_in_the_last_turn_of_p_is_handed_over_by_its_stop(self):
        for number in range(5):  # a machine that stops the daemon for a second of its own keeps the message queued, and is asked again
            if number:
                self.another_world()
            self.prepare(patient=False)
            if self.last_mail("payload pearl %d." % number):
                return
        self.fail("five times the last mail stayed queued")


if __name__ == "__main__":
    unittest.main()
