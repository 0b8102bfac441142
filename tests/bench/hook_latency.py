#!/usr/bin/env python3
"""How long `inbox-poller hook` takes, from its start to its end, as the lead's client sees it: a process for each event.

Not a test: it judges nothing. The figures in docs/dev/hooks.md come from here. Use a release build on a quiet machine:

  cmake --preset release && cmake --build --preset release
  python3 -B tests/bench/hook_latency.py build/release/inbox-poller

Before each call that takes messages along, the queue is filled up again, outside of the time that counts.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import team as wire  # noqa: E402
from daemon import Daemon, team_toml, wait_for  # noqa: E402


class Bench:
    def __init__(self, program, folder, messages, size, only):
        self.messages, self.size, self.only, self.said = messages, size, only, 0
        self.team = wire.Team(folder / "teams", "demo", ("ada", "bob"), wire.ERA2)
        self.daemon = Daemon(os.path.abspath(program), folder, team_toml(self.team, more="[lead]\npermissions = true\n")).start()
        self.session = self.team.roster()["leadSessionId"]
        self.team.change_member("bob", sessionId="session-of-bob")
        self.calls = 0
        self.transcript = folder / "transcript.jsonl"  # of a session that is not new
        for n in range(2000):
            self.write("user", message={"role": "user", "content": ("line %d " % n).ljust(4000, "x")})
        wait_for("the team is served", lambda: self.daemon.ask("status")["teams"])

    def event(self, name, **more):
        return wire.stringify(dict({"session_id": self.session, "transcript_path": str(self.transcript), "cwd": "/work", "permission_mode": "default",
                                    "hook_event_name": name}, **more)).encode()

    def worker_call(self, command):
        """A call of bob's that nobody has made before: what is decided about it is a record of its own."""
        self.calls += 1
        return self.event("PreToolUse", session_id="session-of-bob", tool_name="Bash", tool_input={"command": command},
                          tool_use_id="toolu_%d" % self.calls)

    def worker_stop(self):
        """The end of a turn in which bob has sent nothing."""
        self.calls += 1
        return self.event("Stop", session_id="session-of-bob", last_assistant_message=("report %d " % self.calls).ljust(self.size, "x"))

    def write(self, kind, **more):
        with self.transcript.open("a", encoding="utf-8") as out:
            out.write(wire.stringify(dict({"type": kind, "isSidechain": False, "version": "2.1.330"}, **more)) + "\n")

    def take(self, output):
        """As the client does: it stands in the transcript, with an answer behind it."""
        text = json.loads(output).get("hookSpecificOutput", {}).get("additionalContext")
        if text:
            self.write("attachment", attachment={"type": "hook_additional_context", "content": [text]})
            self.write("assistant", message={"role": "assistant", "content": [{"type": "text", "text": "y" * 2000}]})

    def fill(self):
        queued = self.daemon.ask("status")["teams"][0]["chat"]["queued"]
        for _ in range(self.messages - queued):
            self.said += 1
            self.team.say("ada", ("message %d " % self.said).ljust(self.size, "x"))
        wait_for("all are queued", lambda: self.daemon.ask("status")["teams"][0]["chat"]["queued"] == self.messages, 60)

    def call(self, event, *arguments):
        """Milliseconds, and whether it printed anything. An event may be made for the occasion."""
        event = event() if callable(event) else event
        command = [self.daemon.program, *(arguments or ("hook", "--socket", self.daemon.socket))]
        begin = time.perf_counter()
        done = subprocess.run(command, input=event, env=self.daemon.env, capture_output=True)
        passed = (time.perf_counter() - begin) * 1000
        assert done.returncode == 0 and not done.stderr, done
        if done.stdout.startswith(b"{"):
            self.take(done.stdout)
        return passed, bool(done.stdout)

    def measure(self, name, calls, event, *arguments, before=lambda: None, speaks=None):
        if self.only not in name:
            return
        times, spoke = [], 0
        for _ in range(calls):
            before()
            passed, printed = self.call(event, *arguments)
            times.append(passed)
            spoke += printed
        times.sort()
        print("| %-44s | %6.1f | %6.1f | %6.1f |" % (name, times[calls // 2], times[min(calls - 1, calls * 99 // 100)], times[-1]), flush=True)
        if speaks is not None and spoke != (calls if speaks else 0):
            print("  %d of %d calls printed an answer" % (spoke, calls))

    def new_turn(self):
        """Stop holds a turn at most six times in a row; a turn that failed begins the count anew."""
        self.call(self.event("StopFailure", error="overloaded"))
        self.fill()


def run(program, folder, calls, messages, size, only):
    bench = Bench(program, folder, messages, size, only)
    bench.fill()
    tool = {"tool_name": "Bash", "tool_input": {"command": "git status"}, "tool_use_id": "toolu_01"}
    try:
        print("| %-44s | p50 ms | p99 ms | max ms |" % ("%d calls each, %d messages of %d bytes wait" % (calls, messages, size)))
        print("|---|---|---|---|")
        bench.measure("(the program's own start: --version)", calls, b"", "--version")
        bench.measure("UserPromptSubmit, takes messages along", calls, bench.event("UserPromptSubmit", prompt="go on"), before=bench.fill, speaks=True)
        bench.measure("Stop, goes on with messages", calls, bench.event("Stop", stop_hook_active=False), before=bench.new_turn, speaks=True)
        bench.measure("PreToolUse", calls, bench.event("PreToolUse", **tool), speaks=False)
        bench.measure("PostToolUse", calls, bench.event("PostToolUse", tool_response={"stdout": "ok"}, **tool), speaks=False)
        bench.measure("PostToolUse with a result of 1 MB", calls,
                      bench.event("PostToolUse", tool_response={"stdout": "x" * 1_000_000}, **tool), speaks=False)
        bench.measure("PermissionRequest, allowed by a rule", calls, bench.event("PermissionRequest", **tool), speaks=True)
        worker = ("hook", "worker", "--socket", bench.daemon.socket)
        bench.measure("worker's PreToolUse, allowed by a rule", calls, lambda: bench.worker_call("git status"), *worker, speaks=True)
        bench.measure("worker's PreToolUse, denied by a rule", calls, lambda: bench.worker_call("rm -rf x"), *worker, speaks=True)
        bench.measure("worker's Stop, its text is kept", calls, bench.worker_stop, *worker, speaks=False)
        bench.measure("worker's PreToolUse, left open", calls, lambda: bench.worker_call("make"), *worker, speaks=False)
        bench.measure("another session's PreToolUse, at a worker's hook", calls, bench.event("PreToolUse", **tool), *worker, speaks=False)
        bench.measure("another session's Stop", calls, wire.stringify({"hook_event_name": "Stop", "session_id": "other"}).encode(), speaks=False)
        os.kill(bench.daemon.process.pid, signal.SIGSTOP)
        bench.measure("PreToolUse, the daemon does not answer", calls, bench.event("PreToolUse", **tool), speaks=False)
        bench.measure("Stop, the daemon does not answer", 5, bench.event("Stop", stop_hook_active=False), speaks=False)
        os.kill(bench.daemon.process.pid, signal.SIGCONT)
        bench.daemon.stop()
        bench.measure("worker's PreToolUse, no daemon", calls, lambda: bench.worker_call("git status"), *worker, speaks=False)
        bench.measure("Stop, no daemon", calls, bench.event("Stop", stop_hook_active=False), speaks=False)
    finally:
        if bench.daemon.running():
            os.kill(bench.daemon.process.pid, signal.SIGCONT)
            bench.daemon.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default="build/release/inbox-poller")
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--size", type=int, default=1000, help="bytes of each message")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the rows with this in their name")
    options = parser.parse_args()
    print("%s, %s, %d cores, load %.1f" % (time.strftime("%Y-%m-%d"), platform.platform(), os.cpu_count(), os.getloadavg()[0]))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ip-"))
    try:
        run(options.program, folder, options.calls, options.messages, options.size, options.only)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
