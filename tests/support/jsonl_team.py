"""A JSONL team as its programs keep it: one JSON object a line, no locks. What is done here to files is, call by call, what the
programs in public use do (docs/adr/0032-jsonl-lines.md): a writer opens for appending, writes the whole line with one write, closes;
a reader opens, reads to the end, closes, opens again to truncate, closes. Nothing here shares code with the program under test.
Python 3.9 or newer, standard library only; run as a program it is a crowd of writers in a process of its own.
"""

import json
import os
import pathlib
import subprocess
import sys
import threading
import time

TEAM_TOML = """
[team]
name = "{name}"
backend = "jsonl"
folder = "{folder}"
poll_interval = "{poll}"
{team_more}
[plans]
decision = "{plans}"

[limits]
queued_chat = 1000000
"""


def line_of(sender, content, kind="message", **extra):
    return (json.dumps({"type": kind, "from": sender, "content": content, "timestamp": time.time(), **extra}) + "\n").encode()


def append(path, line):
    """One write of any size; nobody is asked."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(fd, line)
    os.close(fd)


def drain(path):
    """Read everything, then empty it: two opens. One line that does not parse ends the reader, before the emptying."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return []
    messages = [json.loads(line) for line in text.strip().splitlines() if line]
    with open(path, "w", encoding="utf-8"):
        pass
    return messages


class JsonlTeam:
    def __init__(self, folder, members=("alice", "bob"), requests=False, name="crew"):
        self.name = name
        self.folder = pathlib.Path(folder) / ".team"
        self.inbox = self.folder / "inbox"
        self.tasks = pathlib.Path(folder) / ".tasks"
        self.inbox.mkdir(parents=True, mode=0o755)
        self.tasks.mkdir(mode=0o755)
        if requests:
            (self.folder / "requests").mkdir(mode=0o755)
        self.one_at_a_time = threading.Lock()  # two threads that write the roster at once tear it
        self.config = {"team_name": "default", "members": [{"name": m, "role": "coder", "status": "working"} for m in members]}
        self.save()

    def save(self):
        """In place, without a lock, as they do."""
        (self.folder / "config.json").write_text(json.dumps(self.config, indent=2), "utf-8")

    def set_status(self, member, status):
        with self.one_at_a_time:
            next(m for m in self.config["members"] if m["name"] == member)["status"] = status
            self.save()

    def path(self, name):
        return self.inbox / (name + ".jsonl")

    def say(self, sender, content, kind="message", to="lead", **extra):
        append(self.path(to), line_of(sender, content, kind, **extra))

    def task(self, number, **fields):
        path = self.tasks / ("task_%s.json" % number)
        path.write_text(json.dumps({"id": number, "subject": "Task %s" % number, "description": "", "status": "pending",
                                    "owner": None, "blockedBy": [], **fields}, indent=2), "utf-8")
        return path

    def toml(self, poll="50ms", plans="ask", team_more="", more=""):
        return TEAM_TOML.format(name=self.name, folder=self.folder, poll=poll, plans=plans, team_more=team_more) + more


class Worker(threading.Thread):
    """A thread of the team's one process: drains its inbox now and then and answers as its manner says. `got` has every message."""

    def __init__(self, team, name, manner="approve", pause=0.02):
        super().__init__(daemon=True)
        self.team, self.name_, self.manner, self.pause = team, name, manner, pause
        self.got = []
        self.ended = threading.Event()
        self.start()

    def run(self):
        while not self.ended.is_set():
            for message in drain(self.team.path(self.name_)):
                self.got.append(message)
                if message["type"] == "shutdown_request":
                    self.asked_to_end(message)
            time.sleep(self.pause)  # clock: the pace of a peer; nothing is judged by it

    def asked_to_end(self, message):
        if self.manner in ("approve", "refuse"):
            self.team.say(self.name_, "bye" if self.manner == "approve" else "busy", "shutdown_response",
                          request_id=message["request_id"], approve=self.manner == "approve")
        if self.manner in ("approve", "silent"):
            time.sleep(0.2)  # clock: the pace of a peer; nothing is judged by it
            self.team.set_status(self.name_, "shutdown")
            self.ended.set()

    def stop(self):
        self.ended.set()
        self.join()

    def find(self, kind):
        return [m for m in self.got if m["type"] == kind]


class Writers:
    """Some processes that append flat out, or paced; each message says who wrote it and its number."""

    def __init__(self, team, count, each, pause=0.0):
        self.names = ["writer%d" % i for i in range(count)]
        self.each = each
        self.processes = [subprocess.Popen([sys.executable, "-B", __file__, str(team.path("lead")), name, str(each), str(pause)])
                          for name in self.names]

    def wait(self):
        for process in self.processes:
            assert process.wait() == 0

    def running(self):
        return any(process.poll() is None for process in self.processes)

    def stop(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


if __name__ == "__main__":
    target, writer, number, rest = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    for at in range(number):
        append(target, line_of(writer, "%s %d %s" % (writer, at, "x" * (at % 300))))
        if rest:
            time.sleep(rest)  # clock: the pace of a peer; nothing is judged by it
