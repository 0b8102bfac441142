"""The program under test as a process: the daemon's life, its log, its command line, and its control socket spoken directly.

Everything a daemon needs lives in one folder (HOME and the XDG folders point there), so that tests cannot meet each other or the
person who runs them. Python 3.9 or newer, standard library only.
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time


class Missing(AssertionError):
    """Something that should have been seen was not."""


# The one limit of every test that runs a process: no verdict, only the end of a test that hangs. TEST_PATIENCE multiplies it.
LIMIT_S = 300 * float(os.environ.get("TEST_PATIENCE", "1")) * (12 if os.environ.get("LONG") == "1" else 1)


def wait_for(what, condition, seconds=LIMIT_S, pause=0.02):
    """Waits until condition() is true and returns its value. Raises Missing after the limit; `pause` is between two checks.
    A file that the condition reads and that is not there yet is waited for as well."""
    deadline = time.monotonic() + seconds  # clock: the safety net itself; a condition decides, not this
    while True:
        try:
            value = condition()
        except FileNotFoundError as problem:
            if not problem.filename:  # a socket; a daemon that is gone does not come back
                raise
            value = None
        if value:
            return value
        if time.monotonic() > deadline:  # clock: the safety net itself; a condition decides, not this
            raise Missing("not seen within %.0f s: %s" % (seconds, what))
        time.sleep(pause)  # clock: the pause between two checks of a condition


# To look for leaks is a quarter of a short process under AddressSanitizer. The daemon and the unit tests look for them.
NO_LEAKS = "detect_leaks=no"


def alone(folder):
    """An environment in which nothing of the caller's configuration is seen."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "CLAUDE", "NOTIFY_", "WATCHDOG_", "INBOX_"))}
    home = pathlib.Path(folder) / "home"
    for part in ("run", "state", "config"):
        (home / part).mkdir(parents=True, exist_ok=True, mode=0o700)
    env.update(HOME=str(home), XDG_RUNTIME_DIR=str(home / "run"), XDG_STATE_HOME=str(home / "state"),
               XDG_CONFIG_HOME=str(home / "config"), ASAN_OPTIONS=asan_options(NO_LEAKS))
    return env


def asan_options(*more):
    """AddressSanitizer's options: the caller's, then these."""
    return ":".join([o for o in os.environ.get("ASAN_OPTIONS", "").split(":") if o] + list(more))


def write_private(path, text):
    """A configuration file that only we may write; the program refuses others."""
    pathlib.Path(path).write_text(text, encoding="utf-8")
    os.chmod(path, 0o600)
    return str(path)


def hold_still(pid):
    """Stops a process, and waits until each of its threads stands: the signal alone lets other threads go on until the first one has it."""
    os.kill(pid, signal.SIGSTOP)

    def stands():
        states = []
        for task in pathlib.Path("/proc/%d/task" % pid).glob("*/stat"):
            try:
                states.append(task.read_text().rpartition(")")[2].split()[0])
            except OSError:
                pass  # this thread has ended
        return all(state in "TtZX" for state in states)

    wait_for("process %d stands still" % pid, stands, pause=0.005)


class Daemon:
    """`inbox-poller run` with its configuration in `folder`; may be killed and started again any number of times."""

    def __init__(self, program, folder, *team_tomls, polls=None, extra=()):
        self.program = str(program)
        self.folder = pathlib.Path(folder)
        self.env = alone(folder)
        self.socket = str(self.folder / "control.sock")
        self.state = self.folder / "state"
        self.log_path = self.folder / "daemon.log"
        self.configs = [write_private(self.folder / ("team-%d.toml" % i), text) for i, text in enumerate(team_tomls)]
        self.daemon_file = write_private(self.folder / "daemon.toml", 'state_dir = "%s"\nsocket = "%s"\n' % (
            self.state, self.socket))
        self.extra = list(extra) + (["--polls", str(polls)] if polls else [])
        self.process = None

    def command(self):
        configs = [part for path in self.configs for part in ("--config", path)]
        daemon = os.environ.get("INBOX_POLLER_DAEMON", self.program)  # under ThreadSanitizer: without the command line
        return [daemon, "run", *configs, "--daemon-config", self.daemon_file, "--log-format", "json", *self.extra]

    def spawn(self):
        env = dict(self.env, ASAN_OPTIONS=self.env["ASAN_OPTIONS"].replace(NO_LEAKS, "detect_leaks=yes"))
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command(), env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def start(self):
        self.spawn()
        wait_for("the daemon answers `status` (log: %s)" % self.log_path, self.answers_or_died)
        return self

    def answers_or_died(self):
        if self.process.poll() is not None:
            raise Missing("the daemon left with %d; the end of its log:\n%s" % (self.process.returncode, self.tail()))
        try:
            return self.ask("status")["ok"]
        except OSError:
            return False

    def tail(self, lines=15):
        try:
            return "\n".join(self.log_path.read_text("utf-8", "replace").splitlines()[-lines:])
        except FileNotFoundError:
            return "(no log)"

    def running(self):
        return self.process is not None and self.process.poll() is None

    def connecting(self):
        """Connections to its socket that it has not accepted: Linux lists them with the inode 0."""
        lines = [line.split() for line in pathlib.Path("/proc/net/unix").read_text().splitlines()]
        return sum(1 for words in lines if words[-1] == str(self.socket) and words[6] == "0")

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def stop(self, number=signal.SIGTERM):
        """Asks it to leave and returns the exit code. A daemon that does not leave is killed, and that is an error."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                self.kill()
                raise Missing("the daemon did not leave within %.0f s after signal %d:\n%s" % (LIMIT_S, number, self.tail()))
        return self.process.returncode

    # --- its log ---

    def log(self, event=None, **fields):
        """The log's events, optionally of one name and with these fields. A line that is not JSON is an error."""
        found = []
        try:
            text = self.log_path.read_text("utf-8", "replace")
        except FileNotFoundError:
            return found
        lines = text.splitlines()
        if text and not text.endswith("\n"):
            lines.pop()  # it is being written
        for line in lines:
            value = json.loads(line)
            if (event is None or value.get("event") == event) and all(value.get(k) == v for k, v in fields.items()):
                found.append(value)
        return found

    # --- its control socket, one JSON line each way ---

    def connect(self):
        return Control(self.socket)

    def ask(self, verb, **fields):
        with self.connect() as control:
            return control.ask(verb, **fields)

    def answer(self, verb, request_id, **fields):
        with self.connect() as control:
            return control.answer(verb, request_id, **fields)

    def polled(self, times=10, team=None):
        """Waits until each team, or this one, was polled so many times more. The last of these polls began after the call, and so did its
        timers: a thing that has not happened by then does not happen. The daemon counts, so a slow machine gets the time that it needs."""
        seen = {}

        def often():
            for one in control.ask("status")["teams"]:
                if team in (None, one["team"]):
                    seen.setdefault(one["team"], set()).add(one["polls"]["last_ms"])
            return bool(seen) and all(len(found) > times for found in seen.values())

        with self.connect() as control:
            wait_for("%d polls of %s" % (times, team or "each team"), often, pause=0.01)

    # --- its command line ---

    def cli(self, *arguments, expect=0, stdin=None):
        """Runs a subcommand against this daemon. `expect` is the exit code (None: any)."""
        command = [self.program, *arguments, "--socket", self.socket]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=LIMIT_S, input=stdin)
        # What a prompt asks gives up after seconds. On a busy machine that is no verdict, so it is asked again.
        while done.stdout == "the daemon does not answer\n" and expect not in (None, done.returncode):
            done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=LIMIT_S, input=stdin)
        if expect is not None and done.returncode != expect:
            raise Missing("`%s` left with %d instead of %d\nstdout: %s\nstderr: %s" % (
                " ".join(command), done.returncode, expect, done.stdout, done.stderr))
        return done

    def cli_lines(self, *arguments):
        """What a command prints as one JSON object a line; nothing there is an empty list."""
        return [json.loads(line) for line in self.cli(*arguments, expect=None).stdout.splitlines()]


class Control:
    """One connection to the control socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(LIMIT_S)
        try:
            self.socket.connect(path)
        except OSError:
            self.socket.close()
            raise
        self.file = self.socket.makefile("rb")

    def ask(self, verb, **fields):
        self.socket.sendall((json.dumps(dict(verb=verb, **fields)) + "\n").encode())
        line = self.file.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("the control socket closed in the middle of an answer")
        return json.loads(line)

    def answer(self, verb, request_id, **fields):
        """What became of one request; `answered` where a rule was added."""
        told = self.ask(verb, ids=[request_id], **fields)
        if not told["ok"]:
            return told
        [one] = told.pop("answers")
        return {**told, **one}

    def close(self):
        self.file.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


TEAM_TOML = """
[team]
name = "{name}"
root = "{root}"
poll_interval = "{poll}"
{team_more}
[permissions]
allow = ["Bash(git status:*)", "Bash(echo:*)"]
deny = ["Bash(rm:*)"]
timeout = "{timeout}"

[sandbox]
allow = ["*.example.com"]
deny = ["*.evil.test"]
timeout = "{timeout}"

[plans]
decision = "{plans}"
timeout = "{timeout}"
"""


def team_toml(team, poll="50ms", timeout="10min", plans="ask", more="", team_more=""):
    """One team's file: `team_more` are further lines of its [team], `more` further tables."""
    return TEAM_TOML.format(name=team.name, root=team.root, poll=poll, timeout=timeout, plans=plans, team_more=team_more) + more
