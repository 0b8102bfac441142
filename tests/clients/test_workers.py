"""A real client as the worker of a team that we lead: started by a script, so no lead's key is on its command line."""

import os
import pathlib
import re
import signal
import unittest

from daemon import wait_for
from flow import SECONDS, FlowTest
from model import script, tool


class Led(FlowTest):
    def begin(self, *steps, options=(), mode="default"):
        """A worker whose first message makes its model do these."""
        self.lead_team('[shutdown]\ngrace = "1s"\ntmux = ["tmux", "-S", "%s"]\n' % (self.folder / "tmux-ada"))
        self.worker = self.start_worker("ada", *options, mode=mode)
        self.daemon.cli("send", "ada", "begin " + script(*steps))

    def asks(self, kind):
        return [a for a in self.daemon.ask("pending")["asks"] if a["kind"] == kind]

    def test_chat_arrives_both_ways(self):
        said = dict(type="message", recipient="team-lead", content="grüße from the worker", summary="s") if self.old else \
            dict(to="team-lead", message="grüße from the worker", summary="s")
        self.begin(tool("SendMessage", **said), "done")
        got = []
        wait_for("its message is here", lambda: got.extend(self.daemon.cli_lines("recv", "--format", "json", "--even-busy")) or any(
            "grüße from the worker" in m["text"] for m in got), SECONDS)
        self.daemon.cli("send", "ada", "a second message")
        self.model_sees("a second message", "ada")

    def test_a_rule_allows_a_rule_denies_a_person_says_the_rest(self):
        self.begin(tool("Bash", command="mkdir allowed"), tool("Bash", command="mkdir denied"), tool("Bash", command="mkdir asked"), "done")
        ask = wait_for("the third is pending", lambda: self.asks("permission"), SECONDS)[0]
        self.assertTrue((self.world.project / "allowed").exists())
        self.assertFalse((self.world.project / "denied").exists())
        self.daemon.cli("approve", ask["request_id"])
        wait_for("the third ran", (self.world.project / "asked").exists, SECONDS)
        self.turns(4, "ada")

    def test_a_plan_is_approved(self):
        def write_plan(asked):
            """The client tells its model which file is the plan's."""
            return tool("Write", file_path=re.search(r"/\S+/plans/[\w.-]+\.md", asked.text()).group(), content="# The plan\n1. do it\n")

        readme = self.world.project / "README"
        readme.write_text("what there is\n")
        self.begin(tool("Read", file_path=str(readme)), write_plan, tool("ExitPlanMode"), "done", options=("--plan-mode-required",), mode="plan")
        ask = wait_for("the plan is pending", lambda: self.asks("plan"), SECONDS)[0]
        self.daemon.cli("approve", ask["request_id"])
        self.model_sees("pproved", "ada")

    def test_an_agreed_end(self):
        self.lead_team()
        worker = self.start_worker("ada")
        self.daemon.cli("send", "ada", "begin " + script("ready"))
        self.turns(1, "ada")
        asked = self.daemon.ask("shutdown", member="ada", by="test")
        self.assertTrue(asked["ok"], asked)
        request = asked["shutdowns"][0]["request_id"]
        wait_for("its model is asked to end", lambda: self.model.ever_seen(request, "ada"), SECONDS)
        answer = dict(type="shutdown_response", request_id=request, approve=True) if self.old else \
            dict(to="team-lead", message={"type": "shutdown_response", "request_id": request, "approve": True})
        self.daemon.cli("send", "ada", "agree " + script(tool("SendMessage", **answer), "bye"))
        wait_for("it has gone", lambda: not worker.alive(), SECONDS)
        wait_for("cleaned", lambda: self.daemon.ask("shutdowns", id=request)["shutdowns"][0]["state"] == "cleaned", SECONDS)

    def test_a_forced_end_takes_the_running_tool_along(self):
        self.begin(tool("Bash", command="mkdir asked && tail -f /dev/null"), "done")
        ask = wait_for("the tool is pending", lambda: self.asks("permission"), SECONDS)[0]
        self.daemon.cli("approve", ask["request_id"])
        wait_for("the tool runs", self.tails, SECONDS)
        self.stops.append(lambda: [os.kill(int(pid), signal.SIGKILL) for pid in self.tails()])
        asked = self.daemon.ask("shutdown", member="ada", by="test", force_after_ms=500)
        self.assertTrue(asked["ok"], asked)
        request = asked["shutdowns"][0]["request_id"]
        wait_for("it has gone", lambda: not self.worker.alive(), SECONDS)
        wait_for("its tool has gone, too", lambda: not self.tails(), SECONDS)
        wait_for("cleaned", lambda: self.daemon.ask("shutdowns", id=request)["shutdowns"][0]["state"] == "cleaned", SECONDS)

    def tails(self):
        """The tool's process, of this test's client only: it was started in the test's project."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if b"tail\x00-f\x00/dev/null" in (process / "cmdline").read_bytes() and os.readlink(process / "cwd").startswith(str(self.folder)):
                    found.append(process.name)
            except OSError:
                pass  # it ended meanwhile
        return found


if __name__ == "__main__":
    unittest.main()
