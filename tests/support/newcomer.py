#!/usr/bin/env python3
"""Plays somebody who has just installed the program: two teams of the recorded kind, no configuration, a terminal.

newcomer.py PROGRAM FOLDER [--home PATH] [--owner UID]      FOLDER is the person's HOME. Prints what a person would have seen, and leaves with 0
if it led to a first answer. Where PROGRAM works in another root, --home is what it calls that folder, and files are given to --owner.

Steps: `run` without configuration; `init`, whose questions are answered; `reload`; a worker asks; `pending`; `approve`; the answer is in the
worker's inbox. Times of day, ids and folders are made the same for every run, so that the text can be kept and compared.
"""

import argparse
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

ANSWERS = (("Which team", "1"), ("Who reads", "1"), ("may workers do", "2"), ("get its mail", "1"), ("Write this", "y"))
PATIENCE = 300 * float(os.environ.get("TEST_PATIENCE", "1"))  # seconds; it runs by itself and imports nothing


class Terminal:
    """A program at a terminal, and what it has said."""

    def __init__(self, command, env):
        self.outer, inner = pty.openpty()
        self.process = subprocess.Popen(command, env=env, stdin=inner, stdout=inner, stderr=inner, start_new_session=True)
        os.close(inner)
        self.said = ""

    def hear(self, seconds=0.0):
        while select.select([self.outer], [], [], seconds)[0]:
            try:
                part = os.read(self.outer, 65536)
            except OSError:
                return
            if not part:
                return
            self.said += part.decode("utf-8", "replace").replace("\r", "")
            seconds = 0.0

    def wait_for(self, text, after=0):
        deadline = time.monotonic() + PATIENCE  # clock: the safety net itself; a condition decides, not this
        while text not in self.said[after:]:
            # clock: the safety net itself; a condition decides, not this
            if time.monotonic() > deadline or self.process.poll() is not None and (self.hear() or text not in self.said[after:]):
                raise SystemExit("%s\n-- not said: %s" % (self.said, text))
            self.hear(0.1)
        return len(self.said)

    def type(self, text):
        os.write(self.outer, (text + "\n").encode())

    def end(self, number=None):
        if number:
            self.process.send_signal(number)
        deadline = time.monotonic() + PATIENCE  # clock: the safety net itself; a condition decides, not this
        while self.process.poll() is None and time.monotonic() < deadline:  # clock: the safety net itself; a condition decides, not this
            self.hear(0.1)
        self.hear(0.1)
        if self.process.poll() is None:
            self.process.kill()
        os.close(self.outer)
        return self.process.wait()


OWNER = None


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(text, "utf-8")
    if OWNER is not None:
        for one in (path, *list(path.parents)[:4]):
            os.chown(one, OWNER, OWNER)


def make_team(teams, name, workers):
    """As the client leaves it: a roster, and an inbox for each."""
    members = [{"agentId": "%s@%s" % (who, name), "name": who, "agentType": "general-purpose", "model": "sonnet", "joinedAt": 1, "tmuxPaneId": "in-process",
                "backendType": "in-process", "cwd": "/work", "subscriptions": []} for who in ("team-lead", *workers)]
    write(teams / name / "config.json", json.dumps({"name": name, "createdAt": 1, "leadAgentId": "team-lead@" + name, "members": members}, indent=2))
    for who in ("team-lead", *workers):
        write(teams / name / "inboxes" / (who + ".json"), "[]")


def ask(teams, team, worker, command):
    payload = {"type": "permission_request", "request_id": "perm-1-newcomer", "agent_id": worker, "tool_name": "Bash", "tool_use_id": "toolu_1",
               "description": "Run the tests", "input": {"command": command}, "permission_suggestions": []}
    entry = {"from": worker, "text": json.dumps(payload), "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()), "read": False}
    path = teams / team / "inboxes" / "team-lead.json"
    other = path.with_suffix(".new")
    write(other, json.dumps([entry], indent=2))
    other.rename(path)


def the_same(text, home):
    text = text.replace(str(home), "~")
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "HH:MM:SS", text)
    text = re.sub(r"\b(process|pid) \d+", r"\1 N", text)
    text = re.sub(r"running for \w+", "running for N", text)
    text = re.sub(r"(?<=approved)  by \w+", "  by YOU", text)
    text = re.sub(r"  after \d[\d.]* (ms|s|min \d+ s)\b", "  after N", text)
    text = re.sub(r"asked \w+( \w+)? ago", "asked N ago", text)
    text = re.sub(r"denied in \S+( \S+)? unless", "denied in N unless", text)
    text = re.sub(r"InboxPoller \d[\d.]*|version \d[\d.]*", lambda found: found[0].split()[0] + " V", text)
    return re.sub(r"\b[0-9a-f]{8,64}\b", "KEY", text)


def main():
    global OWNER
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--home")
    parser.add_argument("--owner", type=int)
    options = parser.parse_args()
    program, folder = options.program, pathlib.Path(options.folder).resolve()
    home, OWNER = options.home or str(folder), options.owner
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "CLAUDE", "TMUX", "INBOX_"))}
    programs = folder / ".only"  # nothing but what is in every system: which clients are here is not asked
    programs.mkdir(mode=0o700)
    (programs / "diff").symlink_to(shutil.which("diff") or "/usr/bin/diff")
    env.update(HOME=home, TERM="dumb", NO_COLOR="1", LC_ALL="C.UTF-8", PATH=str(programs))
    teams = folder / ".claude" / "teams"
    for name, workers in (("parser", ("ada", "bob")), ("docs", ("carl",))):
        make_team(teams, name, workers)
    began = time.monotonic()  # clock: a figure for the reader, compared with nothing
    shown = []

    def show(command, text):
        shown.append("$ inbox-poller %s\n%s" % (command, the_same(text, home)))

    daemon = Terminal([program, "run"], env)
    daemon.wait_for("What happens, line by line:")
    for name in ("docs", "parser"):
        daemon.wait_for(" %s  roster.appeared" % name)
    init = Terminal([program, "init"], env)
    place = 0
    for question, answer in ANSWERS:
        init.wait_for(question, place)
        place = init.wait_for("[", place)
        place = len(init.said)
        init.type(answer)
    code = init.end()
    show("init", init.said)
    if code != 0:
        raise SystemExit("\n".join(shown))
    reload = subprocess.run([program, "reload"], env=env, capture_output=True, text=True, timeout=PATIENCE)
    show("reload", reload.stdout + reload.stderr)
    team = next(name for name in ("docs", "parser") if (folder / ".config/inbox-poller/teams.d" / (name + ".toml")).exists())
    worker = "carl" if team == "docs" else "ada"
    ask(teams, team, worker, "npm test")
    deadline = time.monotonic() + PATIENCE  # clock: the safety net itself; a condition decides, not this
    while True:
        pending = subprocess.run([program, "pending"], env=env, capture_output=True, text=True, timeout=PATIENCE)
        if "npm test" in pending.stdout:
            break
        if time.monotonic() > deadline:  # clock: the safety net itself; a condition decides, not this
            raise SystemExit("no request waits\n" + pending.stdout + pending.stderr + daemon.said)
        time.sleep(0.05)  # clock: the pause between two checks of a condition
    show("pending", pending.stdout)
    approved = subprocess.run([program, "approve", "perm-1-newcomer"], env=env, capture_output=True, text=True, timeout=PATIENCE)
    show("approve perm-1-newcomer", approved.stdout + approved.stderr)
    answer = teams / team / "inboxes" / (worker + ".json")
    while "perm-1-newcomer" not in answer.read_text("utf-8"):
        if time.monotonic() > deadline + PATIENCE:  # clock: the safety net itself; a condition decides, not this
            raise SystemExit("no answer came\n" + "\n".join(shown) + daemon.said)
        time.sleep(0.02)  # clock: the pause between two checks of a condition
    seconds = time.monotonic() - began  # clock: a figure for the reader, compared with nothing
    payload = json.loads(json.loads(answer.read_text("utf-8"))[-1]["text"])
    if daemon.end(signal.SIGINT) != 0 or payload.get("subtype") != "success":
        raise SystemExit("\n".join(shown) + daemon.said + json.dumps(payload))
    begin, told = daemon.said.split("What happens, line by line:\n")
    begin = "".join(line + "\n" for line in begin.splitlines() if not re.match(r"\d\d:\d\d:\d\d ", line))  # of these some come as they can
    told = "".join(line + "\n" for line in told.splitlines() if " request." in line)
    shown.insert(0, "$ inbox-poller run\n" + the_same(begin + "What happens, line by line:\n" + told, home))
    print("\n".join(shown))
    print("figures: the first answer came %.1f s after the program was first started" % seconds, file=sys.stderr)


if __name__ == "__main__":
    main()
