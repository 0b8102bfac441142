"""A flow with a real client in it, the daemon beside it. CTest names the client that it installed; INBOX_CLIENT names another."""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest
import uuid

import team as wire
from case import ProcessTest
from client import NOWHERE, World, client_program, leave_the_network, patience, version_of
from daemon import Missing, wait_for
from load import Load
from model import script, tool

SECONDS = 180  # a safety net for what a client does: it starts in two, and nothing is judged by it


TEAM = """
[team]
name = "{name}"
root = "{root}"
poll_interval = "50ms"
{team_more}
[permissions]
allow = ["Bash(mkdir allowed:*)"]
deny = ["Bash(mkdir denied:*)"]
timeout = "10min"
{more}"""


@functools.lru_cache(maxsize=None)
def offline():
    """Leaves the network for good. Returns what keeps a client away from it where the system does not allow that."""
    try:
        leave_the_network()
        return {}
    except OSError as error:
        print("%s: the client's own switches and a dead proxy keep it offline" % error)
        return NOWHERE


def since(version, why):
    """Marks a test for clients of this version and newer ones; the reason says what an older one does instead, and which test holds it to that."""
    return lambda test: mark(test, version, None, why)


def until(version, why):
    """Marks a test for clients before this version."""
    return lambda test: mark(test, None, version, why)


def mark(test, first, end, why):
    test.versions = (first, end, why)
    return test


class FlowTest(ProcessTest):
    def __init_subclass__(cls, **more):
        """Only what this client's version can do is listed at all: a skip would look like something that is missing."""
        super().__init_subclass__(**more)
        program = client_program()
        version = version_of(program) if program and os.access(program, os.X_OK) else None
        for name, test in list(vars(cls).items()):
            first, end, why = getattr(test, "versions", (None, None, None))
            if version and ((first and version < first) or (end and version >= end)):
                print("not for %s: %s.%s: %s" % (".".join(map(str, version)), cls.__name__, name, why))
                delattr(cls, name)

    def setUp(self):
        program = client_program()
        if not program:
            raise unittest.SkipTest("no client is named; INBOX_CLIENT=/path/to/claude names one (`tests/clients/install-client FOLDER 2.1.331` "
                                    "installs FOLDER/claude)")
        if not os.access(program, os.X_OK):
            if program == os.environ.get("INBOX_CLIENT"):
                self.fail("INBOX_CLIENT: %s is not a program" % program)
            raise unittest.SkipTest("%s is not installed; see the output of \"clients setup\"" % program)
        if shutil.which("tmux") is None:
            raise unittest.SkipTest("tmux is not installed; run deploy/install-deps test")
        super().setUp()
        self.make_world()

    def make_world(self):
        if self.loaded:
            load = Load()
            self.stops.append(load.stop)
        self.world = World(self.folder, pathlib.Path(client_program()).resolve(), offline())
        self.stops.append(self.world.stop)
        self.model = self.world.model

    def another_world(self):
        """Everything that runs is stopped, and the test goes on in a folder below the one that it has."""
        self.stop_all()
        self.stops.clear()
        self.daemon = None
        self.whole = self.whole or self.folder
        self.folder = self.whole / str(sum(1 for path in self.whole.iterdir() if path.name.isdigit()) + 2)
        self.folder.mkdir()
        self.make_world()

    def run(self, result=None):
        self.whole = None
        super().run(result)
        if self.whole and self.whole.exists() and not self.folder.exists():
            shutil.rmtree(self.whole, ignore_errors=True)

    loaded = os.environ.get("FLOW_LOAD") == "1"

    @property
    def old(self):
        """The generation that verifies nothing and knows no agents beside its own team."""
        return self.world.version < (2, 1, 178)

    def screen(self, *options, mode="default", **more):
        screen = self.world.screen("--permission-mode", mode, *options, **more)
        self.stops.append(screen.stop)
        self.composer(screen)
        return screen

    def composer(self, screen):
        wait_for("a composer", lambda: "❯\xa0" in screen.look(), SECONDS)

    def turns(self, count, who=None):
        """The model was asked that often."""
        return wait_for("%d requests of %s" % (count, who or "all"), lambda: len(self.model.turns(who)) >= count and self.model.turns(who), SECONDS)

    def model_sees(self, text, who=None, seconds=SECONDS):
        try:
            wait_for("the model sees %r" % text, lambda: self.model.ever_seen(text, who), seconds)
        except Missing as error:
            raise Missing("%s\nit saw at last: %s" % (error, (self.model.last(who).texts()[-2:] if self.model.last(who) else None))) from None

    def doctor(self):
        done = self.daemon.cli("doctor", "--json", "--config", self.daemon.configs[0], "--daemon-config", self.daemon.daemon_file, expect=None)
        return {finding["check"]: finding for section in json.loads(done.stdout)["sections"] for finding in section["findings"]}

    def chat(self):
        return self.status()["chat"]

    def polls_pass(self, count=3):
        """The daemon goes through its inboxes that often after this moment: what it has not done then it does not do by itself."""
        began = set()
        wait_for("%d polls" % count, lambda: began.add(self.status()["polls"]["last_ms"]) or len(began) > count + 1, SECONDS)

    def lead_is(self, state):
        wait_for("the lead is %s" % state, lambda: self.status()["lead"]["state"] == state, SECONDS)

    def decisions(self, word):
        """The decisions about inputs with this word."""
        return [d for d in self.daemon.ask("decisions")["decisions"] if word in json.dumps(d)]

    def cli(self, *arguments, **more):
        """The program as somebody runs it in the project's folder."""
        done = subprocess.run([os.environ["INBOX_POLLER"], *arguments], cwd=self.world.project, capture_output=True, text=True, timeout=patience(120),
                              env=dict(self.daemon.env if self.daemon else self.world.env(), PATH=self.path_with_client()), **more)
        self.assertEqual(done.returncode, 0, done)
        return done

    def be_patient(self, path):
        """A machine that is busy with other tests needs more than the time that our hooks take at most; what a person waits is not the question here."""
        settings = json.loads(path.read_text())
        for handler in [h for groups in settings["hooks"].values() for group in groups for h in group["hooks"]]:
            if "wait" in handler.get("args", handler["command"].split()):
                continue
            if "args" in handler:
                handler["args"] += ["--timeout", "5s"]
            else:
                handler["command"] += " --timeout 5s"
        path.write_text(json.dumps(settings))

    def path_with_client(self):
        """The client is found on the path, as it would be on a person's machine."""
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        link = folder / "claude"
        if not link.exists():
            link.symlink_to(self.world.program)
        return "%s:%s" % (folder, os.environ["PATH"])

    # --- we lead ---

    def make_led_team(self):
        """A team without a lead's process."""
        self.team = wire.Team(self.world.config / "teams", "demo", ("ada",), wire.ERA1 if self.old else wire.ERA2, cwd=str(self.world.project))
        return self.team

    def lead_team(self, toml_more=""):
        """Such a team, led by the daemon."""
        self.make_led_team()
        return self.serve("demo", toml_more)

    def serve(self, name, toml_more="", team_more=""):
        return self.make_daemon(TEAM.format(name=name, root=self.world.config / "teams", more=toml_more, team_more=team_more)).start()

    def start_worker(self, name, *options, **more):
        """A worker that nobody's lead started: a script did, in a pane."""
        screen = self.screen("--agent-id", "%s@demo" % name, "--agent-name", name, "--team-name", "demo", "--agent-color", "blue",
                             "--parent-session-id", str(uuid.uuid4()), "--agent-type", "general-purpose", "--model", "sonnet", *options, who=name, **more)
        self.team.change_member(name, tmuxPaneId=screen.pane)
        return screen

    # --- a real client leads ---

    def start_lead(self, *worker_steps, more=()):
        """A real lead that makes one worker, ada, in a pane of its own; what the worker's model does is given."""
        task = "ada's work " + script(*worker_steps)
        if self.old:
            steps = [tool("TeamCreate", team_name="demo", description="d"),
                     tool("Task", description="w", prompt=task, subagent_type="general-purpose", name="ada", team_name="demo", model="sonnet")]
        else:
            steps = [tool("Agent", description="w", prompt=task, subagent_type="general-purpose", name="ada", run_in_background=True)]
        self.lead = self.screen("--teammate-mode", "tmux", *more, size=(160, 50))
        self.lead.say("go " + script(*steps, "the lead is done"))
        self.team_folder = wait_for("a team with ada in it", self.team_with_ada, SECONDS)
        return self.team_folder.name

    def team_with_ada(self):
        for config in (self.world.config / "teams").glob("*/config.json"):
            try:
                if any(m["name"] == "ada" for m in json.loads(config.read_text())["members"]):
                    return config.parent
            except (ValueError, OSError):
                pass
        return None


class HooksFlow(FlowTest):
    """A lead with our hooks in its settings."""

    def prepare(self, more="", patient=True):
        self.lead_team(toml_more='[delivery]\nmethods = ["hook"]\n' + more)
        self.install_hooks()
        if patient:
            self.be_patient(self.hooks_file)

    def install_hooks(self):
        self.cli("hook", "--socket", self.daemon.socket, "install", "--scope", "project", "--yes")
        self.hooks_file = self.world.project / ".claude" / "settings.json"

    def install_hooks_of_workers(self):
        self.cli("hook", "--socket", self.daemon.socket, "install", "--target", "workers", "--scope", "project", "--yes")

    def is_lead(self, session):
        roster = self.team.roster()
        roster["leadSessionId"] = session
        self.team.write_roster(roster)

    def nothing_lost(self, words):
        """What counts as delivered was seen, nothing was seen twice in one request without a label, and the rest still waits."""
        # From 2.1.139 on a Stop that blocks stands twice from the next request on, also without us (test_leads.WithoutUs).
        shown = lambda asked: "\n".join(text for text in asked.texts() if "Stop hook blocking error from command: " not in text)
        label = r"\[may be a repeat: [^]]*\]\n"  # on a full machine a prompt meets a `hook wait` more often
        seen = {}
        for word in words:
            texts = [shown(asked) for asked in self.model.turns() if "payload " + word in asked.text()]
            seen[word] = max([max(t.count("payload " + word) - len(re.findall(label + "payload " + word, t)), 1) for t in texts], default=0)
        chat = self.chat()
        self.assertLessEqual(chat["delivered"], sum(1 for n in seen.values() if n), (seen, chat))
        self.assertEqual(chat["queued"] + chat["offered"] + chat["delivered"], len(words), chat)
        self.assertLessEqual(max(seen.values()), 1, seen)
        return seen
