"""A message on its way to who waits for it: the lead at the control socket, the lead's MCP tool, an actor's over maildir. All three
are timed by the same Python client, from the complete write to the answer read.
"""

import itertools
import json
import os
import time

import team as wire
from daemon import Daemon, team_toml, wait_for
from figures import Row, milliseconds, percentile, times
from mcp import McpClient

GAP_S = 0.02  # the receiver waits by then
BLOCK = 20    # messages to one receiver, then it is the next one's turn


class Socket:
    """`recv` over the control socket, acknowledged with the next one."""

    def __init__(self, daemon):
        self.control, self.acked = daemon.connect(), ""
        self.control.ask("attach", method="socket")

    def begin(self):
        more = {"acked": self.acked} if self.acked else {}
        self.control.socket.sendall((json.dumps(dict(verb="recv", wait_ms=60_000, max=1, ignore_busy=True, **more)) + "\n").encode())

    def end(self):
        message = json.loads(self.control.file.readline())["messages"][0]
        self.acked = message["message_key"]
        return message["text"]

    def settle(self):
        self.control.ask("ack", keys=[self.acked])
        self.acked = ""

    def close(self):
        self.control.close()


class Tool:
    """`recv` of the MCP server, acknowledged by the next call."""

    def __init__(self, program, *arguments, env=None):
        self.client = McpClient(program, *arguments, env=env)
        self.client.start()

    def begin(self):
        self.call = self.client.begin_tool("recv", timeout_s=60)

    def end(self):
        return self.client.result(self.call)["structuredContent"]["message"]["payload"]

    def settle(self):
        self.client.ask("ping")

    def close(self):
        self.client.stop()


def timed(receiver, write, count):
    samples = []
    for n in range(count):
        receiver.begin()
        time.sleep(GAP_S)
        write("message %d" % n)
        begun = time.perf_counter_ns()  # the peer reads, prints and writes its whole file before: that is not the product's time
        text = receiver.end()
        samples.append(time.perf_counter_ns() - begun)
        assert text == "message %d" % n, text
    receiver.settle()
    return samples


def mailbox(folder):
    root, numbers = folder / "mail", itertools.count()
    for part in ("tmp", "alice/new", "alice/cur"):
        (root / part).mkdir(parents=True)

    def write(text):
        n = next(numbers)
        name = "%020d-%032x.json" % (time.time_ns(), n)
        (root / "tmp" / name).write_text(json.dumps({"from": "bob", "id": "%032x" % n, "payload": text, "to": "alice",
                                                     "ts": time.time(), "type": "note"}))
        os.rename(root / "tmp" / name, root / "alice" / "new" / name)
    return root, write


def tools(bench):
    folder = bench.folder / "tools"
    folder.mkdir()
    count = bench.pick(100, 1000)
    team = wire.Team(folder / "teams", "demo", ("ada", "bob"), wire.ERA2)
    daemon = Daemon(bench.tools.product, folder, team_toml(team, poll="500ms")).start()
    wait_for("the team is served", lambda: daemon.ask("status")["teams"])
    root, write = mailbox(folder)
    def say(text):
        team.say("ada", text)

    receivers = {"socket": (Socket(daemon), say), "tool": (Tool(bench.tools.product, "--socket", daemon.socket, env=daemon.env), say),
                 "maildir": (Tool(bench.tools.product, "--root", root, "--actor", "alice"), write)}
    found = {name: [] for name in receivers}
    try:
        for _ in range(count // BLOCK):  # in turn: what a commit costs changes from one second to the next
            for name, (receiver, write_one) in receivers.items():
                found[name] += timed(receiver, write_one, BLOCK)
    finally:
        for receiver, _ in receivers.values():
            receiver.close()
        daemon.stop()
    bench.keep("tools", {name: {"p50": percentile(v, 50), "p99": percentile(v, 99), "samples": v} for name, v in found.items()})
    rows = []
    for name, what in (("socket", "the lead's socket, for comparison"), ("tool", "the MCP tool of a lead"), ("maildir", "the MCP tool of an actor")):
        p50, p99 = percentile(found[name], 50), percentile(found[name], 99)
        row = Row("written -> result of recv, %s: p50 / p99" % what, "" if name == "socket" else "<= 1.5x the socket's at p50")
        row.result = "%s / %s ms" % (milliseconds(p50), milliseconds(p99))
        if name != "socket":
            row.result += " (%s the socket's)" % times(p50 / percentile(found["socket"], 50))
            row.judge(p50 <= 1.5 * percentile(found["socket"], 50))
        rows.append(row)
    return rows
