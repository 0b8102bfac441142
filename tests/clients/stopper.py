#!/usr/bin/env python3
"""Stands between `lead run` and a real client, passes both streams on, and kills the client at a chosen line: stopper.py CLIENT ARGS….

$STOPPER is a folder. Its file `order` names the next point, once: the client is killed with -9 right after that line has been passed
on, and the stopper ends by the same signal, so that `lead run` sees the last line and then the end. Points are the names in POINTS;
`given` is a line of input, all others are lines of output that follow one. `ends.jsonl` has a line for each kill, `given.jsonl` each
line of the input, written before the client gets it. `pid` holds the client's process id.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

POINTS = {
    "queued": lambda line: (line.get("type"), line.get("state")) == ("command_lifecycle", "queued"),
    "started": lambda line: (line.get("type"), line.get("state")) == ("command_lifecycle", "started"),
    "init": lambda line: (line.get("type"), line.get("subtype")) == ("system", "init"),
    "retry": lambda line: (line.get("type"), line.get("subtype")) == ("system", "api_retry"),
    "assistant": lambda line: line.get("type") == "assistant",
    "result": lambda line: line.get("type") == "result",
    "completed": lambda line: (line.get("type"), line.get("state")) == ("command_lifecycle", "completed"),
}


def decoded(line):
    try:
        value = json.loads(line)
        return value if isinstance(value, dict) else {}
    except ValueError:
        return {}


class Stopper:
    def __init__(self, argv):
        self.folder = pathlib.Path(os.environ["STOPPER"])
        self.given = False
        self.ending = threading.Event()
        self.client = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        (self.folder / "pid").write_text(str(self.client.pid))

    def note(self, name, line):
        with open(self.folder / name, "ab") as file:
            file.write(line)

    def ordered(self):
        try:
            return (self.folder / "order").read_text()
        except FileNotFoundError:
            return None

    def end(self, point):
        self.ending.set()
        self.client.kill()
        self.client.wait()
        (self.folder / "order").unlink()
        self.note("ends.jsonl", (json.dumps({"point": point, "pid": self.client.pid}) + "\n").encode())
        os.kill(os.getpid(), signal.SIGKILL)

    def feed(self):
        """The input. Its end is the client's."""
        try:
            for line in sys.stdin.buffer:
                self.note("given.jsonl", line)
                self.client.stdin.write(line)
                self.client.stdin.flush()
                if self.ordered() == "given":
                    self.end("given")
                self.given = True
            self.client.stdin.close()
        except BrokenPipeError:
            pass  # the client has ended

    def run(self):
        threading.Thread(target=self.feed, daemon=True).start()
        for line in self.client.stdout:
            point = self.ordered() if self.given else None
            stops = point in POINTS and POINTS[point](decoded(line))
            if stops:
                os.kill(self.client.pid, signal.SIGKILL)  # before the line is passed on: it comes no further
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            if stops:
                self.end(point)
        code = self.client.wait()
        if self.ending.is_set():
            threading.Event().wait()  # the other thread ends this process
        os._exit(code & 0xff)


if __name__ == "__main__":
    Stopper(sys.argv[1:]).run()
