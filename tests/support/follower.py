"""`inbox-poller recv --follow` as a process that is read as it writes."""

import json
import os
import select
import subprocess

from daemon import LIMIT_S, wait_for


class Follower:
    """`inbox-poller recv --follow --format json …`."""

    def __init__(self, test, *options):
        self.errors = test.folder / ("follower-%d.err" % len(test.stops))
        with open(self.errors, "wb") as err:
            self.process = subprocess.Popen([test.daemon.program, "recv", "--follow", "--format", "json", *options, "--socket",
                                             test.daemon.socket], env=test.daemon.env, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=err)
        self.bytes = b""
        test.stops.append(self.stop)

    def read(self):
        while select.select([self.process.stdout], [], [], 0)[0]:
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                break
            self.bytes += more

    def messages(self):
        self.read()
        return [json.loads(line) for line in self.bytes.split(b"\n")[:-1]]

    def texts(self):
        return [m["text"] for m in self.messages()]

    def wait_texts(self, expected):
        wait_for("the follower has %s" % expected, lambda: self.texts() == expected)
        return self.messages()

    def acknowledge(self, *keys):
        self.process.stdin.write("".join(key + "\n" for key in keys).encode())
        self.process.stdin.flush()

    def said(self):
        return self.errors.read_text("utf-8")

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(LIMIT_S)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
