"""Rules decide a worker's calls at its client's hook, before it asks anybody: with them an interceptor and an orphaned team decide also for
workers that take answers from their lead alone. Everything else goes on as without the hook."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, hold_still, team_toml, wait_for

RULES = """allow = ["Bash(git status:*)", "Read(./**)"]
ask = ["Bash(git push:*)"]
deny = ["Bash(rm:*)"]
"""
STATUS, REMOVE, OTHER = {"command": "git status --short"}, {"command": "rm -rf x"}, {"command": "make"}


SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support"
# clock: the pause between two checks of a condition, in the program of the text below; a forgotten one ends
# Runs the hooks of the settings when it is told to, and says what they decided. Its own command line names nobody.
PANE_CLIENT = """
import json, os, sys, time
sys.path.insert(0, %r)
from worker import run_hooks
folder, name = sys.argv[1:]
order = os.path.join(folder, "order-" + name)
until = time.monotonic() + 300
while time.monotonic() < until:
    if not os.path.exists(order):
        time.sleep(0.05)
        continue
    what = json.load(open(order))
    os.unlink(order)
    found = [d for d in run_hooks(%r, what["event"], name.startswith("nested")) if d]
    with open(what["result"] + ".new", "w") as file:
        json.dump(found[0]["permissionDecision"] if found else None, file)
    os.rename(what["result"] + ".new", what["result"])
"""


class WorkerHooks(ProcessTest):
    def start(self, role="interceptor", client="2.1.330", default=None, tmux=None, signed=False):
        self.team = self.make_team("hooks-%d" % os.getpid() if signed else "demo")
        text = team_toml(self.team, team_more='role = "%s"\n%s' % (role, 'accept_risks = ["default-allow"]' if default == "allow" else ""))
        begin, end = text.index("[permissions]\n") + len("[permissions]\n"), text.index("timeout =")
        text = text[:begin] + RULES + ('default = "%s"\n' % default if default else "") + text[end:]
        if tmux:
            text += "[shutdown]\ntmux = %s\n" % json.dumps(tmux.command)
        self.make_daemon(text).start()
        wait_for("the team is served", lambda: self.daemon.ask("status")["teams"])
        self.settings = self.folder / ".claude" / "settings.json"
        self.install(client)
        self.worker = self.start_worker(self.team, "ada", signed=signed)
        self.calls = 0

    def install(self, client, *options):
        subprocess.run([self.daemon.program, "hook", "install", "--target", "workers", "--scope", "project", "--yes", "--client", client,
                        "--socket", self.daemon.socket, *options], cwd=self.folder, check=True, capture_output=True,
                       env=dict(self.daemon.env, PATH="/nonexistent"), stdin=subprocess.DEVNULL)
        # The hook waits for the daemon for 500 ms. On a slow machine the request then goes its way, and here the decision is wanted.
        settings = json.loads(self.settings.read_text("utf-8"))
        for hook in (hook for groups in settings["hooks"].values() for group in groups for hook in group["hooks"]):
            hook["timeout"] = LIMIT_S
            if "args" in hook:
                hook["args"] += ["--timeout", "5min"]
            else:
                hook["command"] += " --timeout 5min"
        self.installed = self.settings.read_text("utf-8")
        self.settings.write_text(json.dumps(settings), "utf-8")

    def call(self, tool, tool_input, call_id=None, worker=None, **more):
        """What became of a call: the event that the worker logged of its hook."""
        self.calls += 1
        worker = worker or self.worker
        call_id = call_id or "toolu_%02d" % self.calls
        before = len(worker.events())
        worker.do("call", tool=tool, input=tool_input, id=call_id, settings=str(self.settings), **more)
        return wait_for("the hook was run", lambda: [e for e in worker.events()[before:] if e.get("id") == call_id and e["event"] in (
            "ran_unasked", "stopped_unasked", "left_open")])[0]

    def decisions(self):
        return self.daemon.ask("decisions")["decisions"]

    def requests(self):
        """The ids of the requests that stand in the lead's inbox."""
        payloads = [json.loads(e["text"]) for e in wire.read_inbox(self.team.lead_inbox) or [] if "permission_request" in e["text"]]
        return [p["request_id"] for p in payloads]

    # --- what rules decide ---

    def decide_both(self, role, client):
        self.start(role, client)
        self.assertEqual('"args"' in self.settings.read_text(), client == "2.1.330")
        ran = self.call("Bash", STATUS)
        self.assertEqual((ran["event"], ran["reason"]), ("ran_unasked", "allowed by the rule Bash(git status:*) of inbox-poller"))
        stopped = self.call("Bash", REMOVE)
        self.assertEqual(stopped["event"], "stopped_unasked")
        self.assertIn("Bash(rm:*)", stopped["reason"])
        self.assertEqual(self.requests(), [])
        denied, allowed = self.decisions()
        self.assertEqual([(d["member"], d["subject"], d["state"], d["decided_by"], d["rule"], d["request_id"]) for d in (allowed, denied)],
                         [("ada", "Bash: " + STATUS["command"], "approved", "hook", "Bash(git status:*)", "hook-toolu_01"),
                          ("ada", "Bash: " + REMOVE["command"], "denied", "hook", "Bash(rm:*)", "hook-toolu_02")])
        self.assertEqual(json.loads(denied["body"]), REMOVE)
        self.assertIn(" hook ", self.daemon.cli("decisions").stdout)
        self.assertIn("by hook (Bash(rm:*))", self.daemon.cli("trace", "hook-toolu_02").stdout)
        told = self.daemon.log("request.decided", request_id="hook-toolu_02")
        self.assertEqual([(t["by"], t["rule"], t["from"], t["new"]) for t in told], [("hook", "Bash(rm:*)", "ada", "denied")])

    def test_what_a_rule_allows_or_denies_is_decided_without_a_request_before_a_real_lead(self):
        self.decide_both("interceptor", "2.1.330")

    def test_likewise_where_nobody_else_leads_and_the_client_runs_hooks_by_a_shell(self):
        self.decide_both("leader", "2.1.50")

    def test_a_worker_that_takes_answers_from_its_lead_alone_goes_by_the_rules_all_the_same(self):
        """What a rule decides it never asks; what it does ask is not answered by us, which would make it fail."""
        self.start(signed=True)
        self.assertEqual(self.call("Bash", STATUS)["event"], "ran_unasked")
        self.assertEqual(self.call("Bash", REMOVE)["event"], "stopped_unasked")
        self.assertEqual(self.call("Bash", OTHER)["event"], "left_open")
        wait_for("it asks its lead", lambda: self.requests() == ["perm-toolu_03"])
        self.pending_id("perm-toolu_03")
        self.assertEqual(self.worker.events("failed", "ran", "refused"), [])

    def leave_open(self, default):
        self.start(default=default)
        for tool_input in (OTHER, {"command": "git push"}, {"command": "git status; curl x"}):
            self.assertEqual(self.call("Bash", tool_input, request=False)["event"], "left_open")
        self.assertEqual(self.decisions(), [])
        self.assertEqual(self.daemon.log("request.decided"), [])

    def test_what_no_rule_decides_is_left_open(self):
        self.leave_open(None)

    def test_a_default_is_for_asks_and_allows_nothing_before_there_is_one(self):
        self.leave_open("allow")

    def test_nor_does_it_deny_what_the_client_would_never_have_asked(self):
        self.leave_open("deny")

    def test_a_request_that_comes_all_the_same_is_a_request_like_any(self):
        """Another hook may insist on it, or the client's own settings: both decisions stand, and neither is in the other's way."""
        self.start()
        self.assertEqual(self.call("Bash", STATUS, "toolu_X")["event"], "ran_unasked")
        self.worker.do("permission", tool="Bash", input=STATUS, id="perm-1-abcdefg", tool_use_id="toolu_X")
        self.assertEqual(self.answer(self.worker, "perm-1-abcdefg")["event"], "ran")
        self.assertEqual({(d["request_id"], d["state"], d["decided_by"]) for d in self.decisions()},
                         {("hook-toolu_X", "approved", "hook"), ("perm-1-abcdefg", "approved", "rule")})

    def test_the_same_call_gets_the_same_decision_also_after_a_crash(self):
        self.start()
        first = self.call("Bash", REMOVE, "toolu_A")
        again = self.call("Bash", REMOVE, "toolu_A")
        self.assertEqual((again["event"], again["reason"]), (first["event"], first["reason"]))
        self.daemon.kill()
        self.daemon.start()
        wait_for("the workers are known", lambda: any(team["members"] for team in self.daemon.ask("status")["teams"]))
        again = self.call("Bash", REMOVE, "toolu_A")
        self.assertEqual((again["event"], again["reason"]), (first["event"], first["reason"]))
        self.assertEqual(len(self.decisions()), 1)
        # A client that counts its ids anew: another call. So is one of another worker, whose ids are its own.
        self.assertEqual(self.call("Bash", STATUS, "toolu_A")["event"], "ran_unasked")
        bob = self.start_worker(self.team, "bob")
        self.assertEqual(self.call("Bash", REMOVE, "toolu_A", worker=bob)["event"], "stopped_unasked")
        self.assertEqual({(d["request_id"], d["member"]) for d in self.decisions()},
                         {("hook-toolu_A", "ada"), ("hook-toolu_A+2", "ada"), ("hook-toolu_A", "bob")})

    def test_rules_of_the_session_count_and_end(self):
        self.start("leader")
        self.assertEqual(self.call("Bash", OTHER, request=False)["event"], "left_open")
        self.daemon.cli("allow", "Bash(make)")
        self.assertEqual(self.call("Bash", OTHER)["event"], "ran_unasked")
        self.daemon.cli("revoke", "Bash(make)")
        self.assertEqual(self.call("Bash", OTHER, request=False)["event"], "left_open")

    # --- where nothing is decided ---

    def test_nobody_but_a_worker_is_decided_for(self):
        self.start()
        event = {"session_id": self.team.roster()["leadSessionId"], "cwd": str(self.folder), "hook_event_name": "PreToolUse", "tool_name": "Bash",
                 "tool_input": REMOVE, "tool_use_id": "toolu_L"}
        for session in (event["session_id"], "6a0c6d0e-0000-4000-8000-000000000000", ""):
            self.assertEqual(self.run_hook(dict(event, session_id=session)), (b"", b""))
        self.assertIn(b"does not belong to a worker", self.run_hook(event, "--verbose")[1])
        self.assertEqual(self.call("Bash", REMOVE, nested=True, request=False)["event"], "left_open")
        stranger = self.start_worker(self.team, "eve")  # says so on its command line, and is in no roster
        self.assertEqual(self.call("Bash", REMOVE, worker=stranger, request=False)["event"], "left_open")
        self.assertEqual(self.decisions(), [])

    def run_hook(self, event, *options):
        done = subprocess.run([self.daemon.program, "hook", "worker", "--timeout", "5min", "--socket", self.daemon.socket, *options],
                              input=event if isinstance(event, bytes) else wire.stringify(event).encode(), env=self.daemon.env,
                              capture_output=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout, done.stderr

    def test_a_session_that_the_roster_names_is_known_without_its_command_line(self):
        self.start()
        self.team.change_member("ada", sessionId="session-of-ada")
        event = {"session_id": "session-of-ada", "cwd": str(self.folder), "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": REMOVE,
                 "tool_use_id": "toolu_S"}
        wait_for("it is decided", lambda: self.run_hook(event)[0])
        self.assertEqual(self.decisions()[0]["member"], "ada")

    def test_a_client_that_covers_its_command_line_is_known_by_its_pane(self):
        """As 2.1.50 does. What it runs itself has the same pane, and is somebody else."""
        tmux = self.start_tmux()
        self.start(client="2.1.50", tmux=tmux)
        program = self.folder / "client.py"
        program.write_text(PANE_CLIENT % (str(SUPPORT), str(self.settings)))
        line = "%s -B %s %s" % (sys.executable, program, self.folder)
        panes = {"shell": tmux.start("sh", "-c", line + " shell; exec sleep 300"), "alone": tmux.start(*line.split(), "alone"),
                 "nested": tmux.start("sh", "-c", line + " nested; exec sleep 300"), "nested-alone": tmux.start(*line.split(), "nested-alone")}
        self.team.change_member("ada", tmuxPaneId="%99")
        self.team.change_member("bob", tmuxPaneId="%98")
        self.assertIsNone(self.hook_in_pane("shell"))
        for own, nested in (("shell", "nested"), ("alone", "nested-alone")):
            places = {"ada": panes[own], "bob": panes[nested]}
            wire.edit_roster(self.team.config, lambda roster: [m.update(tmuxPaneId=places[m["name"]]) for m in roster["members"] if m["name"] in places])
            wait_for("%s is known" % own, lambda: self.hook_in_pane(own) == "deny")
            self.assertIsNone(self.hook_in_pane(nested))
        self.assertEqual({d["member"] for d in self.decisions()}, {"ada"})

    def hook_in_pane(self, name):
        self.calls += 1
        result = self.folder / ("result-%d" % self.calls)
        order = {"result": str(result), "event": {
            "session_id": "a session of its own", "cwd": "/work", "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": REMOVE, "tool_use_id": "toolu_p%d" % self.calls}}
        wire.replace(self.folder / ("order-" + name), json.dumps(order))
        return wait_for("the hook was run", lambda: result.exists() and [json.loads(result.read_text())])[0]

    def test_an_observer_decides_nothing(self):
        self.start("observer")
        self.assertEqual(self.call("Bash", REMOVE, request=False)["event"], "left_open")
        self.assertEqual(self.decisions(), [])

    def test_a_worker_that_plans_is_allowed_nothing_and_denied_what_a_rule_denies(self):
        self.start()
        self.assertEqual(self.call("Bash", STATUS, request=False, event={"permission_mode": "plan"})["event"], "left_open")
        self.assertEqual(self.call("Bash", REMOVE, event={"permission_mode": "plan"})["event"], "stopped_unasked")

    def test_a_session_that_left_its_folder_is_allowed_nothing_by_a_relative_path(self):
        self.start()
        home = self.team.member("ada")["cwd"]
        self.assertEqual(self.call("Read", {"file_path": "notes.md"}, event={"cwd": home})["event"], "ran_unasked")
        self.assertEqual(self.call("Read", {"file_path": home + "/notes.md"}, event={"cwd": home + "/src"})["event"], "ran_unasked")
        self.assertEqual(self.call("Read", {"file_path": "passwd"}, request=False, event={"cwd": "/etc"})["event"], "left_open")
        self.assertEqual(self.call("Read", {"file_path": "/etc/passwd"}, request=False, event={"cwd": "/etc"})["event"], "left_open")

    def test_without_a_daemon_or_with_one_that_hangs_the_request_goes_its_way(self):
        self.start()
        self.settings.write_text(self.installed, "utf-8")  # with the time that the hook has
        hold_still(self.daemon.process.pid)
        try:
            self.assertEqual(self.call("Bash", REMOVE, request=False)["event"], "left_open")
        finally:
            os.kill(self.daemon.process.pid, signal.SIGCONT)
        self.daemon.stop()
        self.assertEqual(self.call("Bash", STATUS)["event"], "left_open")
        wait_for("it asks its lead", lambda: self.requests() == ["perm-toolu_02"])

    def test_odd_input_is_passed_over(self):
        self.start()
        good = {"session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": REMOVE, "tool_use_id": "toolu_1"}
        for odd in (b"", b"{", b"[]", b"{}", b"\xff\xfe", wire.stringify(dict(good, hook_event_name="PostToolUse")).encode(),
                    wire.stringify(dict(good, tool_input="rm")).encode(), b"x" * (2 << 20)):
            self.assertEqual(self.run_hook(odd)[0], b"")
        for odd in ({"tool_use_id": ""}, {"tool_use_id": "a b"}, {"tool_use_id": "x" * 500}, {"tool_use_id": "toolu_2", "tool_name": ""},
                    {"tool_use_id": "toolu_3", "tool_input": {"command": "rm " + "x" * 70000}}):
            call_id = odd.get("tool_use_id", "toolu_1")
            self.assertEqual(self.call(odd.pop("tool_name", "Bash"), odd.pop("tool_input", REMOVE), call_id or "none", request=False,
                                       event={"tool_use_id": call_id})["event"], "left_open")
        self.assertEqual(self.decisions(), [])


if __name__ == "__main__":
    unittest.main()
