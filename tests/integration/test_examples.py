"""Every example of every --help, run as it stands by a shell beside a daemon that has what the examples name."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, team_toml
from test_json import commands

# What stays until somebody ends it, or wants a terminal, a browser, a client, another host or a Redis that this machine has at that path:
# a test of its own runs each.
NOT_HERE = (r"inbox-poller ((top|web|run)\b|lead run --[rp]|mcp --)", r"--watch", r"recv --follow", r"hook wait", r"mailbox sweep --timeout", r"mailbox copy",
            r"--reply-to", r"inbox-poller wait ", r"shutdown .*--wait", r"^set -g", r"^#", r"inbox-poller init", r"\bman inbox-poller", r"/var/lib/node_exporter")
# The exit code where it is not 0, and why: what only a person could name or say.
CODES = {
    "mailbox complete 0f3a": 4, "mailbox heartbeat 0f3a": 4, "mailbox abandon 0f3a": 4, "tasks requeue 0f3a": 4, "tasks show 0f3a": 4, "ack 0f3a": 4,
    "trace 0f3a": 4, "history 0f3a": 4, "--key 0f3a": 4, "approve 3f9a": 4, "trace shutdown-17": 4,  # no such key
    "approve --similar-to": 2, "deny --similar-to": 2, "hook install": 1, "mcp install --root": 1,  # asked back, and nobody says yes
    "inbox send alice 'please rebase' --root ~": 4, "inbox unread": 4, "status --short": 0,  # no such team there; nothing unread
    "doctor --quick": 1, "inbox-poller doctor": 1,  # the quarantined entry is a warning
    "hook install --target workers --scope project --yes": 0, "hook install --print": 0, "help hook install": 0, "doctor --team demo --json | jq": 0,
}
# What an example is there to show.
TOLD = {
    "pending --json | jq": "perm-17\nplan-3\n", "pending --list --member": "no open ask fits", "approve perm-17": "approved: permission perm-17 of alice",
    "approve perm-17 --always": "from now on in this session: Bash(git push origin feature)", "approve plan-3": "approved: plan plan-3",
    "approve --similar-to": "1 open asks are covered", "deny perm-17": "denied: permission perm-17 of alice", "allow 'Bash(make test:*)'": "Bash(make test:*)",
    "allow Edit --directory": "Edit(//home/me/project/**)", "revoke": "no longer allowed by us: Bash(make test:*)", "rules --try 'git": "git push origin main",
    "rules --try api": "allowed by *.example.com", "decisions --json | jq": "perm-16\n", "decisions --member": "perm-16", "history --since": "alice",
    "poller send": "for alice: inbox-poller trace ", "broadcast": "for bob: inbox-poller trace ", "assign 12": "task 12 (begin with the parser) is alice's",
    "mode alice": "alice is told to work in mode plan", "mode --all": "bob is told to work in mode acceptEdits", "resume": "team demo: leader",
    "inbox send alice": "", "inbox send alice - ": "/teams/demo/inboxes/alice.json", "recv --wait=1min": "I am at it", "lead idle": "idle", "lead busy": "busy", "trace perm-17": "permission", "nodes acl": "", "quarantine --json | jq": "permission_request",
    "shutdown carol --force": "carol", "inbox show alice": "perm-16", "inbox mark-read alice --all": "1 entry marked read", "mailbox inbox --json": '"unread"',
    "mailbox claim": "update the changelog", "mailbox recv --timeout": "hello", "help hook install": "Usage: inbox-poller hook install", "metrics": "inbox_poller_build_info",
    "status --json | jq": "", "inbox clear alice --all --yes": "1 entry removed", "manual --schemas": "inbox-poller pending --json",
}


def expected(line, table, otherwise):
    """The row of the longest name that stands in the line."""
    names = [name for name in table if name in line]
    return table[max(names, key=len)] if names else otherwise


def examples(command):
    """The lines below "Example" in its help; one that ends with a backslash goes on."""
    told = subprocess.run([os.environ["INBOX_POLLER"], *command.split(), "--help"], capture_output=True, text=True, check=True, timeout=LIMIT_S).stdout
    found = re.search(r"^Examples?:\n((?:  .*\n)+)", told, re.M)
    return [line[2:] for line in re.sub(r"\\\n\s*", "", found.group(1)).splitlines()] if found else []


class Examples(ProcessTest):
    def world(self):
        """A team with open asks, chat, a task and decisions; folders, programs and files that examples name."""
        self.stop_all()
        self.stops.clear()
        shutil.rmtree(self.folder)
        self.folder.mkdir(mode=0o700)
        self.team = self.make_team(members=("alice", "ada", "bob", "carol"))
        self.team.add_task(12, subject="begin with the parser")
        toml = team_toml(self.team, more='ceiling = "acceptEdits"\n')  # of [plans]
        self.make_daemon(toml.replace("[permissions]\n", '[permissions]\napprover = "both"\n')).start()
        self.env = dict(self.daemon.env)
        bin_folder, home = self.folder / "bin", pathlib.Path(self.env["HOME"])
        bin_folder.mkdir()
        (bin_folder / "inbox-poller").symlink_to(os.environ["INBOX_POLLER"])
        (bin_folder / "git").write_text("#!/bin/sh\necho 'the last commit'\n")
        (bin_folder / "git").chmod(0o755)
        settings = home / "config" / "inbox-poller"
        (settings / "teams.d").mkdir(parents=True, mode=0o700)
        shutil.copy2(self.daemon.daemon_file, settings / "daemon.toml")
        for copy in (settings / "teams.d" / "demo.toml", self.folder / "my-team.toml"):
            shutil.copy2(self.daemon.configs[0], copy)
        for folder in (".claude", ".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions", ".local/share/man/man1"):
            (home / folder).mkdir(parents=True, exist_ok=True)
        self.env.update(PATH="%s:%s" % (bin_folder, os.environ["PATH"]), USER="person", COLLAB_ROOT="scratch/coordination", COLLAB_ACTOR="ada")
        for text in (wire.permission_request("alice", "Bash", {"command": "git push origin feature"}, "perm-17"),
                     wire.permission_request("alice", "Bash", {"command": "make deploy"}, "perm-16"),
                     wire.plan_request("alice", "demo", "# Begin with the parser\n", "plan-3"), "I am at it"):
            self.team.say("alice", text)
        wire.append(self.team.lead_inbox, wire.entry("alice", '{"type":"permission_request"}'))
        for ask in ("perm-17", "perm-16", "plan-3"):
            self.pending_id(ask)
        self.quarantined()
        self.daemon.cli("deny", "perm-16", "--reason", "not that one")

    def shared_folder(self):
        """Mail for ada and a task, which nobody has taken."""
        self.shell("mkdir -p scratch/coordination")
        for line in ("mailbox send ada hello --actor bob", "mailbox send ada yes --actor bob --type ack", "mailbox post 'update the changelog' --type docs"):
            self.assertEqual(self.shell("inbox-poller " + line).returncode, 0, line)

    def shell(self, line):
        return subprocess.run(["sh", "-c", line], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S)

    def test_each_example_does_what_its_help_says(self):
        ran = passed_over = 0
        for command in commands():
            mine = [line for line in examples(command) if not any(re.search(one, line) for one in NOT_HERE)]
            passed_over += len(examples(command)) - len(mine)
            for n, line in enumerate(mine):
                if n == 0 or command in ("approve", "deny", "shutdown", "mailbox claim", "recv"):
                    self.world()
                    if command.split()[0] in ("mailbox", "tasks", "mcp"):
                        self.shared_folder()
                    if command == "revoke":
                        self.shell("inbox-poller allow 'Bash(make test:*)'")
                with self.subTest(line):
                    done = self.shell(line)
                    self.assertEqual(done.returncode, expected(line, CODES, 0), done)
                    self.assertIn(expected(line, TOLD, ""), done.stdout, done)
                    ran += 1
        print("figures: %d examples, %d of other tests" % (ran, passed_over))
        self.assertGreater(ran, 80)


if __name__ == "__main__":
    unittest.main()
