"""A lead's hooks for tests: events as the client writes them, `inbox-poller hook` run with them as the client runs it, and a
stand-in for the client itself, which does with a hook's output what 2.1.50 and 2.1.330 were seen to do (docs/adr/0021)."""

import json
import subprocess

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, wait_for

PATIENCE = ("--timeout", "5min")  # the wait of a hook is the subject of few tests; these say so
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


AT_IT = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}  # a person is at the client


class Client:
    """One session of a client. `seen` is what its model was given, text by text, as long as it stands in the conversation.

    Switches: drops_async (what a hook beside the session says reaches no model), waits_for_async (at its end), reason_twice (of a
    Stop's block), knows_context (of Stop), runs_beside (asyncRewake; otherwise it waits for such a hook), writes (a transcript),
    writes_context (what hooks add stands in it), hears (what its hooks say; otherwise only that they said it is written down), undoes
    (Escape before the answer takes the prompt back), names_agents (a subagent's events tell whose they are)."""

    def __init__(self, test, session=None, generation="2.1.330", mode="tty", **switches):
        version = tuple(int(part) for part in generation.split("."))
        new = version >= (2, 1, 163)
        self.test, self.session, self.generation, self.mode = test, session or test.session, generation, mode
        self.path = test.folder / ("%s.jsonl" % self.session)
        self.drops_async = self.waits_for_async = mode == "p"
        self.reason_twice = self.knows_context = self.writes_context = self.undoes = self.runs_beside = new
        self.names_agents = version >= (2, 1, 69)
        self.writes = self.hears = True
        for name, value in switches.items():
            assert hasattr(self, name), name
            setattr(self, name, value)
        self.env = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli" if mode == "p" else "cli"}
        if new:
            self.env["CLAUDE_CODE_SESSION_ATTENDED"] = "0" if mode == "p" else "1"
        self.seen, self.turn, self.waiting, self.held, self.active = [], [], [], 0, False

    def line(self, kind, **more):
        if self.writes:
            with self.path.open("a", encoding="utf-8") as out:
                out.write(wire.stringify(dict({"type": kind, "isSidechain": False, "sessionId": self.session, "version": self.generation,
                                               "cwd": "/work"}, **more)) + "\n")

    def said(self, text):
        self.line("user", message={"role": "user", "content": text}, isMeta=True)

    def give(self, text):
        self.seen.append(text)
        self.turn.append(text)

    def fire(self, name, **more):
        """Its hooks of this event, the one beside the session too; what the first one said."""
        what = dict(event(name, self.session, **more), transcript_path=str(self.path))
        done = self.test.run_hook(what, env=self.env)
        if name in ("SessionStart", "Stop"):
            self.beside(what)
        return json.loads(done.stdout) if done.stdout else {}

    def beside(self, what):
        process = subprocess.Popen([self.test.daemon.program, "hook", "wait", "--timeout", "23h", "--socket", self.test.daemon.socket],
                                   env=dict(self.test.hook_env(), **self.env), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.test.stops.append(lambda: process.poll() is None and process.kill())
        process.stdin.write(wire.stringify(what))
        process.stdin.close()
        process.stdin = None
        self.waiting.append(process)

    def add(self, name, output):
        text = output.get("hookSpecificOutput", {}).get("additionalContext")
        if text is None:
            return
        if self.writes_context:
            self.line("attachment", attachment={"type": "hook_success", "hookEvent": name, "stdout": wire.stringify(output), "exitCode": 0})
        if not self.hears:
            return
        self.give(text)
        if self.writes_context:
            self.line("attachment", attachment={"type": "hook_additional_context", "content": [text], "hookEvent": name})

    def start(self, source="startup"):
        self.add("SessionStart", self.fire("SessionStart", source=source, model="opus"))

    def prompt(self, text="go on", answers=True):
        self.turn = []
        self.line("user", message={"role": "user", "content": text})
        self.add("UserPromptSubmit", self.fire("UserPromptSubmit", prompt=text))
        if answers:
            self.answer()

    def answer(self, text="Done."):
        self.line("assistant", message={"role": "assistant", "content": [{"type": "text", "text": text}]})
        self.turn = []

    def tool(self, agent=""):
        """What hooks of a subagent's tool add is the subagent's. Whose it is, clients say since 2.1.69."""
        whose = {"agent_id": agent, "agent_type": "Explore"} if agent and self.names_agents else {}
        for name in ("PreToolUse", "PostToolUse"):
            output = self.fire(name, tool_name="Bash", tool_input={"command": "make"}, tool_use_id="toolu_01", **whose)
            if not agent:
                self.add(name, output)

    def stop(self, answers=True):
        """True when the turn goes on."""
        output = self.fire("Stop", stop_hook_active=self.active, last_assistant_message="Done.")
        self.line("system", subtype="stop_hook_summary", hookErrors=[wire.stringify(output)] if output else [])
        if "hookSpecificOutput" in output and not self.knows_context:
            output = {}  # all of it is invalid
        reason = output.get("reason")
        for _ in range((2 if self.reason_twice else 1) if reason else 0):
            self.give(reason)
        if reason:
            self.said("Stop hook feedback:\n" + reason)
        self.add("Stop", output)
        self.active = bool(output)
        if self.active and answers:
            self.answer()
        return self.active

    def turn_of(self, text="go on"):
        self.prompt(text)
        while self.stop():
            pass

    def collect(self):
        """What hooks beside the session have said meanwhile: each becomes a turn, unless it is dropped."""
        for process in [p for p in self.waiting if p.poll() is not None]:
            self.waiting.remove(process)
            text = process.communicate()[1]
            if process.returncode == 2 and self.drops_async:
                self.line("attachment", attachment={"type": "hook_non_blocking_error", "hookEvent": "SessionStart", "stderr": text})
            elif process.returncode == 2:
                whole = "<system-reminder>\nStop hook blocking error from command \"Stop\": %s</system-reminder>" % text
                self.line("queue-operation", operation="enqueue", content=whole)
                self.give(text)
                self.line("user", message={"role": "user", "content": whole}, origin={"kind": "task-notification"})
                self.fire("UserPromptSubmit", prompt=whole)
                self.answer()
                while self.stop():
                    pass

    def escape(self):
        """A person's: no hook tells."""
        if self.undoes and self.turn:
            for text in self.turn:
                self.seen.remove(text)
        else:
            self.line("user", message={"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]})
        self.turn = []

    def end(self):
        for process in self.waiting:
            if self.waits_for_async:
                process.wait(LIMIT_S)
        self.fire("SessionEnd", reason="other")


class HookTest(ProcessTest):
    def start_team(self, toml_more="", **options):
        self.team = self.make_team()
        self.session = self.team.roster()["leadSessionId"]
        self.start_daemon(self.team, toml_more, **options)
        wait_for("the team is served", lambda: self.daemon.ask("status")["teams"])

    def hook_env(self):
        env = dict(self.daemon.env)
        for name in ("TMUX_PANE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_PID"):
            env.pop(name, None)
        return env

    def run_hook(self, what, *options, pane=None, env=None):
        """Runs `hook` as the client does. Whatever happens, it leaves with 0 and says nothing that was not asked for."""
        env = dict(self.hook_env(), **(AT_IT if env is None else env))
        if pane:
            env["TMUX_PANE"] = pane
        text = what if isinstance(what, (str, bytes)) else wire.stringify(what)
        command = [self.daemon.program, "hook", *(options or PATIENCE), "--socket", self.daemon.socket]
        done = subprocess.run(command, env=env, capture_output=True, timeout=LIMIT_S,
                              input=text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        self.assertEqual(done.returncode, 0, done)
        return done

    def told(self, what, version="2.1.69"):
        """The same event, with a transcript that tells the client's version."""
        path = self.folder / ("told-%s.jsonl" % version)
        if not path.exists():
            path.write_text(wire.stringify({"type": "user", "sessionId": self.session, "version": version}) + "\n")
        return dict(what, transcript_path=str(path))

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
