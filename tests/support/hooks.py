"""A lead's hooks for tests: events as the client writes them, and `inbox-poller hook` run with them as the client runs it."""

import json
import subprocess

import team as wire
from case import ProcessTest
from daemon import wait_for

PATIENCE = ("--patience", "20s")
RULES = "[lead]\npermissions = true\n"
LEADING = "Messages from your team, delivered by inbox-poller:\n"


def event(name, session, **more):
    """One event as the client writes it, with all fields that every event has."""
    return dict({"session_id": session, "prompt_id": "3f1c", "transcript_path": "/home/user/.claude/projects/x/%s.jsonl" % session,
                 "cwd": "/work", "permission_mode": "default", "effort": {"level": "high"}, "hook_event_name": name}, **more)


def stop(session, active=False):
    return event("Stop", session, stop_hook_active=active, last_assistant_message="Done.", background_tasks=[
        {"id": "t1", "type": "teammate", "status": "running", "description": "ada"}], session_crons=[])


def prompt(session, text="go on"):
    return event("UserPromptSubmit", session, prompt=text)


def start(session, source="startup"):
    return event("SessionStart", session, source=source, model="opus", session_title="a title")


def tool(name, session, **more):
    return event(name, session, tool_name="Bash", tool_input={"command": "make"}, tool_use_id="toolu_01",
                 **(dict(more, tool_response={"stdout": "ok"}) if name == "PostToolUse" else more))


class HookTest(ProcessTest):
    def start_team(self, toml_more="", **options):
        self.team = self.make_team()
        self.session = self.team.roster()["leadSessionId"]
        self.start_daemon(self.team, toml_more, **options)
        wait_for("the team is served", lambda: self.daemon.ask("status")["teams"])

    def run_hook(self, what, *options, pane=None):
        """Runs `hook` as the client does. Whatever happens, it leaves with 0 and says nothing that was not asked for."""
        env = dict(self.daemon.env)
        env.pop("TMUX_PANE", None)
        if pane:
            env["TMUX_PANE"] = pane
        text = what if isinstance(what, (str, bytes)) else wire.stringify(what)
        command = [self.daemon.program, "hook", *(options or PATIENCE), "--socket", self.daemon.socket]
        done = subprocess.run(command, env=env, capture_output=True, timeout=60,
                              input=text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        self.assertEqual(done.returncode, 0, done)
        return done

    def hook(self, what, **options):
        """What it printed: nothing, or one JSON object."""
        done = self.run_hook(what, **options)
        self.assertEqual(done.stderr, b"")
        return json.loads(done.stdout) if done.stdout else None

    def why(self, what, **options):
        """Why there was nothing to do, as --verbose says it."""
        done = self.run_hook(what, *PATIENCE, "--verbose", **options)
        self.assertEqual(done.stdout, b"")
        return done.stderr.decode()

    def say(self, *texts, sender="ada"):
        before = self.chat()["queued"]
        for text in texts:
            self.team.say(sender, text, color="blue")
        wait_for("they are queued", lambda: self.chat()["queued"] == before + len(texts))

    def chat(self):
        return self.status()["chat"]

    def lead(self):
        return self.status()["lead"]

    def block(self, *texts, sender="ada", color="blue"):
        return LEADING + "\n\n".join('<teammate-message teammate_id="%s" color="%s">\n%s\n</teammate-message>' % (sender, color, t)
                                     for t in texts)
