"""A real client with our hooks that is killed with -9, or fails, between a hook's output and its model's call.

What counts as delivered was in a request to the model. The model's last answer before each point shuts the model, so that what a hook
adds to the conversation reaches nobody.
"""

import subprocess
import unittest

from daemon import wait_for
from flow import SECONDS, HooksFlow
from model import script, tool

SESSION = "11111111-2222-4333-8444-999999999999"


class HookKills(HooksFlow):
    def begin(self, prompt, **env):
        """`claude -p` on its way."""
        options = ["--resume", SESSION] if self.begun else ["--session-id", SESSION]
        self.begun = True
        return subprocess.Popen([self.world.program, "-p", prompt, *options, "--permission-mode", "default", "--allowedTools", "Bash(echo:*)"],
                                cwd=self.world.project, env=self.world.env(**env), stdin=subprocess.DEVNULL,
                                stdout=open(self.folder / "p.out", "ab"), stderr=subprocess.STDOUT)

    def prepare_lead(self):
        self.begun = False
        self.prepare('max_wait = "1s"\n')
        self.is_lead(SESSION)
        self.count = 0
        self.assertEqual(self.begin("first").wait(SECONDS), 0)  # what is killed before it wrote anything cannot be resumed

    def shutting(self, step):
        """The step, and from then on the model cannot be reached."""
        def answer(_):
            self.model.shut()
            return step
        return answer

    def killed_before_the_call(self, text, *steps):
        """It gets `text` from a hook while the model cannot be reached, and is killed then."""
        if not steps:
            self.model.shut()
        client = self.begin("go on " + script(*steps))
        self.stops.append(client.kill)
        if steps:
            wait_for("the model is shut", lambda: not self.model.is_open, SECONDS)
        self.team.say("ada", text) if steps else None
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
        self.team.say("ada", "payload pearl.")
        wait_for("it is queued", lambda: self.chat()["queued"] == 1, SECONDS)
        self.killed_before_the_call("payload pearl.")
        self.goes_on("payload pearl.")
        slow = tool("Bash", command="echo one; sleep 4")
        self.killed_before_the_call("payload quartz.", self.shutting(slow))
        self.goes_on("payload quartz.")

    def test_a_turn_whose_request_fails_proves_nothing(self):
        self.prepare_lead()
        self.team.say("ada", "payload pearl.")
        wait_for("it is queued", lambda: self.chat()["queued"] == 1, SECONDS)
        self.model.shut()
        self.assertNotEqual(self.begin("go on", CLAUDE_CODE_MAX_RETRIES=0).wait(SECONDS * 3), 0)
        self.assertEqual((self.chat()["delivered"], self.model.ever_seen("payload pearl.")), (0, 0))
        self.model.open()
        self.goes_on("payload pearl.")


if __name__ == "__main__":
    unittest.main()
