#!/usr/bin/env python3
"""What many open requests cost the daemon: asking for all of them again and again (`pending`), and one answer for all.

Not a test: it judges nothing. The figures in docs/dev/performance.md come from here:

  cmake --preset release && cmake --build --preset release
  python3 -B tests/bench/requests.py build/release/inbox-poller
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import team as wire  # noqa: E402
from daemon import Daemon, team_toml, wait_for  # noqa: E402
from subjects import cpu_quiet, cpu_seconds, memory  # noqa: E402


def measure(program, folder, requests, times):
    team = wire.Team(folder / "teams", "demo", ("ada", "bob"), wire.ERA2)
    limits = "[limits]\npending_per_worker = %d\n" % requests
    daemon = Daemon(os.path.abspath(program), folder, team_toml(team, poll="500ms", timeout="10h", more=limits)).start()
    try:
        pid, one = daemon.process.pid, daemon.connect()
        for n in range(requests):
            command = "cd src/part%d && make -j2 target-%d && git push origin work-%d" % (n, n, n)
            said = wire.permission_request("ada", "Bash", {"command": command}, request_id="perm-%d" % n)
            team.say("ada", said if isinstance(said, str) else json.dumps(said))
        wait_for("all are open", lambda: len(one.ask("pending")["requests"]) == requests, 300, pause=1)
        cpu_quiet(pid)

        def spent(work):
            cpu, begun = cpu_seconds(pid), time.monotonic()
            work()
            return cpu_seconds(pid) - cpu, time.monotonic() - begun

        print("%d requests, load %.1f, RSS %.1f MB" % (requests, os.getloadavg()[0], memory(pid)[0] / 1e6))
        print("pending, %d times: %.2f s of CPU, %.2f s" % (times, *spent(lambda: [one.ask("pending") for _ in range(times)])))
        keys = [request["message_key"] for request in one.ask("pending")["requests"]]
        outcome = {}
        print("deny, one request: %.2f s of CPU, %.2f s" % spent(
            lambda: outcome.update(one.ask("deny", ids=keys, shown=True, by="bench", reason="not now"))))
        states = [answer.get("state") for answer in outcome["answers"]]
        assert states == ["denied"] * requests, outcome
        print("the same with all replies written: %.2f s of CPU" % spent(lambda: cpu_quiet(pid))[0])
        one.close()
    finally:
        daemon.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--times", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options.program, pathlib.Path(folder), options.requests, options.times)


main()
