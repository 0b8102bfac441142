#!/usr/bin/env python3
"""How long `inbox-poller statusline` takes, with and without a daemon: wall time and processor time of many runs.

  statusline.py build/bench/inbox-poller [--runs 500]
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SESSION = b'{"session_id": "s", "cwd": "/tmp"}'


def one_run(command, env):
    began = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env)
    process.stdin.write(SESSION)
    process.stdin.close()
    _, status, used = os.wait4(process.pid, 0)
    took = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    return took * 1000, (used.ru_utime + used.ru_stime) * 1000


def row(name, program, runs, env):
    times = [one_run([program, "statusline"], env) for _ in range(runs)]
    wall, used = sorted(t for t, _ in times), sorted(u for _, u in times)
    return "| %s | %.1f ms | %.1f ms | %.1f ms | %.1f ms |" % (
        name, statistics.median(wall), wall[runs * 9 // 10], wall[runs * 99 // 100], statistics.median(used))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program")
    options.add_argument("--runs", type=int, default=500)
    given = options.parse_args()
    program = os.path.abspath(given.program)
    print("| | median | p90 | p99 | processor, median |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        (home / "run").mkdir(mode=0o700)
        team = home / ".claude/teams/t"
        (team / "inboxes").mkdir(parents=True)
        (team / "config.json").write_text(
            '{"name":"t","leadAgentId":"team-lead@t","leadSessionId":"s","members":[{"agentId":"team-lead@t","name":"team-lead"}]}')
        env = {"HOME": folder, "XDG_RUNTIME_DIR": str(home / "run"), "PATH": os.environ["PATH"]}
        alone = row("without a daemon", program, given.runs, env)
        with subprocess.Popen([program, "run"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as daemon:
            while subprocess.run([program, "status"], env=env, capture_output=True, check=False).returncode != 0:
                if daemon.poll() is not None:
                    sys.exit("statusline.py: the daemon ended with %d" % daemon.returncode)
            print(row("with a daemon of one team", program, given.runs, env))
            daemon.terminate()
    print(alone)


if __name__ == "__main__":
    main()
