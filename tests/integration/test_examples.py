"""Every example of every --help, typed as it stands beside a daemon that has what the examples name. Ids that an example invents are
those of the thing that it is about; places outside of the home folder lie in the test's own."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import hooks
import team as wire
from case import ProcessTest
from daemon import LIMIT_S, team_toml, wait_for
from engine import Engine, free_port
from mcp import TOOLS_ASKED
from test_json import commands
from typed import CTRL_C, Shell

GIT = """#!/bin/sh
echo 'the last commit'
"""
CLAUDE = """#!/bin/sh
[ "$1" = --version ] && { echo '2.1.330 (Claude Code)'; exit; }
exec %s -B %s "$@"
""" % (sys.executable, pathlib.Path(__file__).resolve().parents[1] / "support" / "stream_lead.py")
# It says which message it took, as --ack-from-stdin wants it.
READER = """#!%s
import json, os, sys
for line in sys.stdin:
    with open(os.environ["LEAD_LOG"], "a") as got:
        got.write(line)
    print(json.loads(line)["message_key"], flush=True) if line.startswith("{") else None
""" % sys.executable
MEMBERS = ("alice", "ada", "bob", "carol")
ASKED_BACK = ((r"\[y/N\] $", "y\r"),)
# The exit code where it is not 0, and why.
CODES = {
    "inbox unread": 4,  # the daemon has read it
    "inbox-poller doctor": 1, "doctor --team demo --json | jq": 0,  # the quarantined entry is a warning
    "hook wait": 2,  # it wakes the session
    "mailbox sweep --timeout": 130, "lead run --": 130, "| my-lead >": 130, "lead run --help": 0,  # ended by a key
}
# What shows that a line has done it, where it prints nothing.
AFTERWARDS = {
    "completion bash": "cat ~/.local/share/bash-completion/completions/*", "completion zsh": "cat ~/.zfunc/*",
    "completion fish": "cat ~/.config/fish/completions/*", "nodes acl": "cat users.acl", "x.tmp": "cat inbox-poller.prom",
    "> team.log": "cat team.log", "--ack-from-stdin": "cat got", "lead run --": "cat got", "lead run --help": "",
}
# Whose examples do something that the next one would meet.
OWN_WORLD = ("approve", "mailbox claim", "mailbox copy", "mailbox sweep", "deny", "hook wait", "init", "lead run", "mcp", "recv", "run",
             "shutdown", "status", "wait", "web")
# What an example is there to show.
TOLD = {
    "pending --json | jq": "perm-17\nplan-3\n", "pending --list --member": "no open request fits",
    "approve perm-17": "approved: permission perm-17 of alice",
    "approve perm-17 --always": "from now on in this session: Bash(git push origin feature)", "approve plan-3": "approved: plan plan-3",
    "approve --similar-to": "1 open requests are covered", "deny perm-17": "denied: permission perm-17 of alice",
    "allow 'Bash(make test:*)'": "Bash(make test:*)", "allow Edit --directory": "Edit(//home/me/project/**)",
    "revoke": "no longer allowed by us: Bash(make test:*)", "rules --try 'git": "git push origin main",
    "rules --try api": "allowed by *.example.com", "decisions --json | jq": "perm-16\n", "decisions --member": "perm-16",
    "history --since": "alice", "poller send": ": inbox-poller trace ", "broadcast": "for bob: inbox-poller trace ",
    "assign 12": "task 12 (begin with the parser) is alice's", "mode alice": "alice is told to work in mode plan",
    "mode --all": "bob is told to work in mode acceptEdits", "resume": "team demo was not paused",
    "inbox send alice - ": "/teams/demo/inboxes/alice.json", "recv --wait=1min": "I am at it", "lead idle": "idle", "lead busy": "busy",
    "trace perm-17": "permission", "nodes acl": "", "quarantine --json | jq": "permission_request", "shutdown carol --force": "carol",
    "inbox show alice": "perm-16", "inbox mark-read alice --all": "1 entry marked read", "mailbox inbox --json": '"unread"',
    "mailbox claim": "update the changelog", "mailbox recv --timeout": "hello", "help hook install": "Usage: inbox-poller hook install",
    "metrics": "inbox_poller_build_info", "status --json | jq": "", "statusline": " wait", "approve --similar-to": "approved: permission perm-17",
    "deny --similar-to": "denied: permission perm-17", "poller top": "[1:requests", "pending --watch": "[1:requests", "web": "http://127.0.0.1:",
    "web --link": "/#token=", "web --server-name": "https://box.example.com/#token=", "recv --reply-to": '"done"',
    "mailbox complete": "merged", "mailbox heartbeat": "ada", "tasks requeue": "can be claimed again",
    "mailbox copy": "4 messages of 2 actors and 1 tasks were copied", "inbox-poller init": "written", "lead run --": "I am at it",
    "lead run --help": "Usage: inbox-poller lead run", "recv --follow": "I am at it", "metrics > x.tmp": "inbox_poller_build_info",
    "wait --idle --timeout": "no worker is working", "wait --exited": "no worker is left", "wait --mail": "I am at it",
    "wait --idle --mail": "I am at it", "poller mcp --": '"recv"', "hook wait": "And now the tests",
    "shutdown alice": "the shutdown is done", "shutdown bob": "the shutdown is done", "man inbox-poller": "inbox-poller-approve",
    "status --watch": "team demo", "set -g status-right": "2 requests", "poller run": "demo", "mailbox sweep": "nothing to give back",
    "mailbox sweep --timeout": "", "approve 3f9a": "approved: plan plan-3 of alice", "hook install": '"SessionStart"',
    "hook install --target workers": '"worker"', "history --type": "permission_request", "hook uninstall": "nothing to change",
    "history 0f3a": "from alice", "history --limit": '"request_id":"perm-17"', "completion bash": "complete -F",
    "completion zsh": "#compdef", "completion fish": "complete -c", "check-config": "team.name", "check-config &&": "no team has changed",
    "check-config --config": '"ok":true', "shutdowns": "alice: ", "shutdowns --json": '"member": "alice"', "status": "team demo",
    "lead": "team-lead is idle", "tasks --root": "open", "tasks --dead": "no dead letters", "tasks show": "update the changelog",
    "recv --format": '"message_key"', "ack": "1 of 1 acknowledged", "nodes acl": "user node-h1 on #", "inbox list": "alice      member",
    "inbox send alice 'please": "inboxes/alice.json as", "inbox show team-lead": "permission_request", "inbox unread": "nothing is unread",
    "mark-read alice --key": "marked read", "inbox clear alice": "removed", "doctor": "daemon: version",
    "doctor --quick": "demo: 1 refused", "doctor --team": "", "decisions --since": "perm-16", "rules": "Bash(git status:*)",
    "rules --try ./src": "no allow rule covers it", "rules --suggest": "1 decisions", "rules --json": "", "nodes": "no team here has [",
    "nodes --json": "null", "mailbox send bob 'please": "please review branch x", "mailbox send bob '{": '"branch": "x"',
    "poller mailbox send bob -": "the last commit", "mailbox send ada": "in_reply_to", "mailbox try-recv": "yes", "mailbox post": "open",
    "mailbox abandon": "no compiler is installed here", "trace 0f3a": "from alice", "quarantine": "permission_request",
    "mcp install": '"--actor", "alice"', "mcp install --scope": '"--team", "demo"', "mcp uninstall": "nothing to change",
    "inbox clear alice --all --yes": "1 entry removed", "manual --schemas": "inbox-poller pending --json",
}


USED = set()


def expected(line, table, otherwise):
    """The row of the longest name that stands in the line."""
    name = max((name for name in table if name in line), key=len, default=None)
    USED.add((id(table), name))
    return table.get(name, otherwise)


def examples(command):
    """The lines below "Example" in its help; one that ends with a backslash goes on."""
    told = subprocess.run([os.environ["INBOX_POLLER"], *command.split(), "--help"], capture_output=True, text=True, check=True,
                          timeout=LIMIT_S).stdout
    found = re.search(r"^Examples?:\n((?:  .*\n)+)", told, re.M)
    return [line[2:] for line in re.sub(r"\\\n\s*", "", found.group(1)).splitlines()] if found else []


class Examples(ProcessTest):
    def world(self):
        """A team with open requests, chat, a task and decisions; folders, programs and files that examples name."""
        self.stop_all()
        self.stops.clear()
        shutil.rmtree(self.folder)
        self.folder.mkdir(mode=0o700)
        self.team = wire.Team(self.folder / "home" / ".claude" / "teams", "demo", MEMBERS)
        self.team.add_task(12, subject="begin with the parser")
        tmux = '[shutdown]\ntmux = ["tmux", "-S", "%s"]\n' % (self.folder / "tmux.sock")
        toml = team_toml(self.team, more='ceiling = "acceptEdits"\n' + tmux)  # the first is of [plans]
        self.make_daemon(toml.replace("[permissions]\n", '[permissions]\napprover = "both"\n')).start()
        self.env = dict(self.daemon.env)
        bin_folder, home = self.folder / "bin", pathlib.Path(self.env["HOME"])
        bin_folder.mkdir()
        (bin_folder / "inbox-poller").symlink_to(os.environ["INBOX_POLLER"])
        for program, text in (("bin/git", GIT), ("bin/claude", CLAUDE), ("bin/my-lead", READER), ("my-lead.py", READER)):
            (self.folder / program).write_text(text)
            (self.folder / program).chmod(0o755)
        self.settings = settings = home / "config" / "inbox-poller"
        self.session = self.team.roster()["leadSessionId"]
        (settings / "teams.d").mkdir(parents=True, mode=0o700)
        shutil.copy2(self.daemon.daemon_file, settings / "daemon.toml")
        for copy in (settings / "teams.d" / "demo.toml", self.folder / "my-team.toml"):
            shutil.copy2(self.daemon.configs[0], copy)
        for folder in (".claude", ".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions", ".local/share/man/man1",
                       ".local/bin"):
            (home / folder).mkdir(parents=True, exist_ok=True)
        os.mkfifo(self.folder / "keys")
        self.env.update(PATH="%s:%s/.local/bin:%s" % (bin_folder, home, os.environ["PATH"]), USER="person",
                        COLLAB_ROOT="scratch/coordination", COLLAB_ACTOR="ada",
                        LEAD_LOG=str(self.folder / "got"), LEAD_ORDERS=str(self.folder))
        self.port = free_port()
        for text in (wire.permission_request("alice", "Bash", {"command": "git push origin feature"}, "perm-17"),
                     wire.permission_request("alice", "Bash", {"command": "make deploy"}, "perm-16"),
                     wire.plan_request("alice", "demo", "# Begin with the parser\n", "plan-3"), "I am at it"):
            self.team.say("alice", text)
        wire.append(self.team.lead_inbox, wire.entry("alice", '{"type":"permission_request"}'))
        for request in ("perm-17", "perm-16", "plan-3"):
            self.pending_id(request)
        self.quarantined()
        self.daemon.cli("deny", "perm-16", "--reason", "not that one")

    def shared_folder(self):
        """Mail for ada, an answer from bob, and a task, which nobody has taken."""
        self.shell("mkdir -p scratch/coordination ~/project/coordination")
        self.sent = self.told("mailbox send bob 'is it done?' --json")["message"]["id"]
        for line in ("mailbox send ada hello --actor bob", "mailbox send ada yes --actor bob --type ack",
                     "mailbox send ada done --actor bob --in-reply-to " + self.sent, "mailbox post 'update the changelog' --type docs"):
            self.assertEqual(self.shell("inbox-poller " + line)[0], 0, line)

    def told(self, words):
        code, said = self.shell("inbox-poller " + words)
        self.assertEqual(code, 0, said)
        return json.loads(said)

    def shell(self, line, stdin=""):
        return Shell(self.env, self.folder).run(line, stdin)

    def claimed(self):
        return self.told("mailbox claim --json")["task"]["id"]

    def dead(self):
        """A task that was handed out three times."""
        for _ in range(3):
            task = self.claimed()
            self.told("mailbox abandon %s 'not today' --json" % task)
        return task

    def open_request(self):
        self.team.say("alice", wire.permission_request("alice", "Bash", {"command": "make"}, "perm-18"))
        return self.pending_id("perm-18")["message_key"][:8]

    def shutdown(self):
        self.daemon.cli("shutdown", "alice")
        return self.told("shutdowns --json")["shutdowns"][0]["request_id"]

    def handed_out(self):
        return json.loads(self.shell("inbox-poller recv --no-ack --format json")[1].splitlines()[0])["message_key"]

    def received(self):
        return self.told("history --json")["messages"][-1]["message_key"]

    def named(self, line):
        """The line with the id of what there is."""
        for words, invented, value in (
                ("--reply-to", "0f3a", lambda: self.sent), ("--in-reply-to", "0f3a", lambda: self.sent), ("requeue", "0f3a", self.dead),
                ("tasks show", "0f3a", self.claimed), ("poller mailbox", "0f3a", self.claimed), ("approve", "77b0", self.open_request),
                ("approve", "3f9a", lambda: self.pending_id("perm-17")["message_key"][:8]), ("trace", "shutdown-", self.shutdown),
                ("--key", "0f3a", lambda: self.told("inbox show alice --json")["entries"][0]["message_key"]),
                ("ack 0f3a", "0f3a", self.handed_out), ("", "0f3a", self.received)):
            if words in line and invented in line:
                line = re.sub(r"\b%s[\w@-]*" % invented, value(), line)
        line = line.replace("/run/redis/team.sock", str(self.folder / "r" / "s")).replace("/var/lib/node_exporter", str(self.folder))
        return line.replace("inbox-poller web", "inbox-poller web --listen 127.0.0.1:%d" % self.port)

    def steps(self, line):
        """What is done at a terminal: what comes about first, and the keys."""
        got = self.folder / "got"
        reads = lambda: got.exists() and "I am at it" in got.read_text("utf-8")  # noqa: E731
        log = self.folder / "team.log"
        told = lambda: "fix the tests" in str(wire.read_inbox(self.team.inbox("ada")))  # noqa: E731
        table = {
            "--yes|--print|--once|--link|--help|^inbox-poller help": (), r" top\b|pending --watch": [(r"\[1:requests", "q")],
            "poller web": [(self.page_answers, CTRL_C)], "--similar-to|(hook|mcp) install": ASKED_BACK,
            "poller init": [(r"Number \[\d\]: $", "\r")] * 4 + [*ASKED_BACK], "--ack-from-stdin|lead run": [(reads, CTRL_C)],
            r"--follow\b": [("I am at it", CTRL_C)], "poller run": [(self.serves, CTRL_C)], "^set -g": [("2 requests", "\x02d")],
            "poller send ada .* --idle": [(told, lambda: self.team.say("ada", wire.idle_notification("ada")))],
            "status --watch": [(lambda: log.exists() and "demo" in log.read_text("utf-8"), CTRL_C)],
            "sweep --timeout": [(self.swept, CTRL_C)]}
        return next((steps for part, steps in table.items() if re.search(part, line)), ())

    def serves(self):
        return self.shell("inbox-poller status")[0] == 0

    def swept(self):
        return '"status":"open"' in self.shell("inbox-poller tasks --json")[1]

    def input(self, line):
        if "poller mcp --" in line:
            return TOOLS_ASKED
        return json.dumps(hooks.stop(self.session)) if re.search("poller hook( wait.*)?$", line) else ""

    def prepare(self, command, line):
        """Brings about what an example begins with."""
        if command.split()[0] in ("mailbox", "tasks", "mcp"):
            self.shared_folder()
        if line.startswith("set -g"):
            self.start_tmux()
        if "redis+unix" in line:
            engine = Engine(self.folder / "r").start()
            self.stops.append(engine.stop)
            if "--from redis" in line:
                self.shell(self.named("inbox-poller mailbox copy --from scratch/coordination --to redis+unix:///run/redis/team.sock#demo"))
                self.shell("rm -r scratch/coordination/*")
        if command == "revoke":
            self.shell("inbox-poller allow 'Bash(make test:*)'")
        if command == "run":
            self.daemon.stop()
        if command == "init":
            (self.settings / "teams.d" / "demo.toml").unlink()
            self.env.pop("COLLAB_ROOT")
            self.daemon.stop()
            if "--root" in line:
                self.shell("mkdir -p scratch/coordination")
        if command == "hook wait":  # of an idle session
            for event in (hooks.start(self.session), hooks.prompt(self.session), hooks.stop(self.session)):
                self.shell("inbox-poller hook", json.dumps(event))
            self.team.say("ada", "And now the tests")
            wait_for("it waits", lambda: self.status()["chat"]["queued"])
            self.env.update(hooks.AT_IT)
        if "--link" in line:
            self.begin_page()
        if "sweep --timeout" in line:
            self.told("mailbox claim --lease 1ms --json")
        if "--ack-from-stdin" in line:
            (self.folder / "last-key").write_text(self.received())
        if command == "wait":
            self.daemon.cli("deny", "perm-17", "plan-3", "--reason", "later")
            for name in MEMBERS:
                self.team.say(name, wire.idle_notification(name))
        if command in ("shutdown", "wait", "shutdowns") and "shutdown" in line:
            tmux = self.start_tmux()
            for name in MEMBERS:
                self.start_pane_worker(tmux, self.team, name, on_shutdown="ignore" if command == "shutdowns" else "approve")
        if command == "shutdowns":
            self.shutdown()

    def begin_page(self):
        page = subprocess.Popen(self.named("inbox-poller web").split(), env=self.env, stdout=subprocess.DEVNULL)
        self.stops.append(lambda: (page.terminate(), page.wait(LIMIT_S)))
        wait_for("the page is there", self.page_answers)

    def page_answers(self):
        return self.shell(self.named("inbox-poller web --link"))[0] == 0

    def test_each_example_does_what_its_help_says(self):
        ran = compared = 0
        for command in commands():
            for n, line in enumerate(one for one in examples(command) if not one.startswith("#")):
                with self.subTest(line):
                    if n == 0 or command in OWN_WORLD:
                        self.world()
                        self.prepare(command, line)
                    steps, typed = self.steps(line), self.named(line)
                    if line.startswith("set -g"):
                        (pathlib.Path(self.env["HOME"]) / ".tmux.conf").write_text(line + "\n")
                        typed = "env -u TMUX tmux -S tmux.sock new-session cat"
                    code, said = Shell(self.env, self.folder).at_terminal(typed, *steps) if steps else self.shell(typed, self.input(typed))
                    if "statusline" in line:  # silent if the daemon does not answer within 20 ms
                        said = wait_for("the daemon answers at once", lambda: self.shell(typed, self.input(typed))[1])
                    if expected(line, AFTERWARDS, ""):
                        said += self.shell(expected(line, AFTERWARDS, ""))[1]
                    self.assertEqual(code, expected(line, CODES, 0), said)
                    self.assertIn(expected(line, TOLD, ""), said)
                ran += 1
                compared += expected(line, TOLD, "") != ""
        print("figures: %d examples ran, what %d print is compared" % (ran, compared))
        rows = [(id(table), name) for table in (CODES, AFTERWARDS, TOLD) for name in table]
        self.assertEqual([name for table, name in rows if (table, name) not in USED], [], "rows that fit no line")
        self.assertGreater(ran, 140)


if __name__ == "__main__":
    unittest.main()
