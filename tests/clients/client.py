"""An unmodified client in a world of its own: no network but loopback, a home that no dialog asks about, a model that is scripted.

Black box: it is run and looked at from outside, never opened. `INBOX_CLIENT` names its program, else `INBOX_PINNED_CLIENT` (CTest).
"""

import ctypes
import fcntl
import functools
import itertools
import json
import os
import pathlib
import shlex
import socket
import struct
import subprocess
import tempfile
import threading

from daemon import Missing, wait_for
from model import Model

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1


def leave_the_network():
    """This process and all that it starts from now on see loopback only. Raises OSError where the system does not allow it."""
    if [name for _, name in socket.if_nameindex()] == ["lo"]:
        return
    uid, gid = os.getuid(), os.getgid()
    flags = CLONE_NEWNET | (CLONE_NEWUSER if uid else 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "no network namespace: " + os.strerror(ctypes.get_errno()))
    if uid:
        for name, text in (("setgroups", "deny"), ("uid_map", "%d %d 1" % (uid, uid)), ("gid_map", "%d %d 1" % (gid, gid))):
            pathlib.Path("/proc/self", name).write_text(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sH14x", b"lo", 0)
        _, now = struct.unpack("16sH14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, asked))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", now | IFF_UP))


def patience(seconds):
    """A safety net, not a verdict: as long as TEST_PATIENCE multiplies it to."""
    return seconds * float(os.environ.get("TEST_PATIENCE", "1"))


def client_program():
    """The client that is tested, or None: what a person names goes before what CTest installed."""
    return os.environ.get("INBOX_CLIENT") or os.environ.get("INBOX_PINNED_CLIENT") or None


@functools.lru_cache(maxsize=None)
def version_of(program):
    with tempfile.TemporaryDirectory() as home:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=patience(120), env=dict(os.environ, HOME=home)).stdout
    return tuple(int(part) for part in said.split()[0].split("."))


# Where no network namespace is to be had: whatever a client would ask beyond loopback ends at a port that nobody listens on.
NOWHERE = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost"}


class World:
    """A home, a project folder and a model for the clients of one test. `offline`: more of the environment that keeps it from the network."""

    def __init__(self, folder, program, offline=None):
        self.offline = dict(offline or {})
        self.folder = pathlib.Path(folder)
        self.program = str(program)
        self.version = version_of(self.program)
        self.home = self.folder / "home"
        self.config = self.home / ".claude"
        self.project = self.folder / "project"
        self.config.mkdir(parents=True)
        (self.project / ".claude").mkdir(parents=True)
        self.model = Model()
        self.trust(self.project)

    def trust(self, folder):
        """What a person has answered once: the welcome, and that this folder is trusted."""
        path = self.home / ".claude.json"
        known = json.loads(path.read_text()) if path.exists() else {
            "hasCompletedOnboarding": True, "lastOnboardingVersion": ".".join(map(str, self.version)), "theme": "dark", "numStartups": 9,
            "autoUpdates": False, "bypassPermissionsModeAccepted": True, "projects": {}}
        known["projects"][str(folder)] = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "allowedTools": [],
                                          "projectOnboardingSeenCount": 9, "hasClaudeMdExternalIncludesApproved": False}
        path.write_text(json.dumps(known))

    def settings(self, **keys):
        """The project's settings."""
        (self.project / ".claude" / "settings.json").write_text(json.dumps(keys))

    def env(self, who="lead", **more):
        """Nothing of ours comes along but the path and the terminal's words."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "INBOX_POLLER") if name in os.environ}
        kept.setdefault("LANG", "C.UTF-8")
        return {**kept, "HOME": str(self.home), "TERM": "xterm-256color", "SHELL": "/bin/sh", "TMPDIR": str(self.folder),
                "ANTHROPIC_BASE_URL": self.model.address(who), "ANTHROPIC_AUTH_TOKEN": "none", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
                "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1",
                "IS_SANDBOX": "1", **self.offline, **{k: str(v) for k, v in more.items()}}

    def stop(self):
        """What the model was asked stays in the folder, for a test that failed."""
        self.model.stop()
        lines = ["%.3f %s, %d messages, at last:\n%s\n" % (a.at, a.who, len(a.messages), "\n".join(a.texts()[-3:])) for a in self.model.asked]
        (self.folder / "model.txt").write_text("\n".join(lines))

    # --- three ways to run it ---

    def ask(self, prompt, *options, who="lead", seconds=240, **env):
        """`claude -p`: its result, when it has ended."""
        return subprocess.run([self.program, "-p", prompt, *options], cwd=self.project, env=self.env(who, **env), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=patience(seconds))

    def stream(self, *options, who="lead", **env):
        return Stream(self, options, who, env)

    def screen(self, *options, who="lead", size=(120, 40), **env):
        return Screen(self, options, who, size, env)


class Stream:
    """`claude -p` with stream-json both ways."""

    OPTIONS = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")

    def __init__(self, world, options, who, env):
        self.events = []
        self.child = subprocess.Popen([world.program, *self.OPTIONS, *options], cwd=world.project, env=world.env(who, **env), stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=open(world.folder / "stream.err", "ab"), text=True, bufsize=1)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stdout:
            try:
                self.events.append(json.loads(line))
            except ValueError:
                self.events.append({"type": "not json", "line": line})

    def say(self, content, **more):
        self.write({"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None, **more})

    def write(self, value):
        self.child.stdin.write(json.dumps(value) + "\n")
        self.child.stdin.flush()

    def find(self, kind, **fields):
        return [e for e in list(self.events) if e.get("type") == kind and all(e.get(k) == v for k, v in fields.items())]

    def results(self, count, seconds=180):
        return wait_for("%d results" % count, lambda: len(self.find("result")) >= count and self.find("result"), seconds)

    def stop(self):
        self.child.kill()
        self.child.wait()


def comes(condition, seconds):
    """Whether it came within that time. Who asks does a thing again when it did not; nothing is judged."""
    try:
        return wait_for("it comes", condition, seconds)  # clock: decides when to try again, nothing else
    except Missing:
        return False


class Screen:
    """An interactive client in a pane of a tmux server of its own."""

    def __init__(self, world, options, who, size, env):
        self.world = world
        self.env = world.env(who, **env)
        self.command = ["tmux", "-S", str(world.folder / ("tmux-" + who)), "-f", os.devnull]
        line = "exec " + shlex.join([world.program, *options])
        self.run("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "-c", str(world.project), "sh", "-c", line)
        self.pane = self.run("list-panes", "-a", "-F", "#{pane_id}").split()[0]

    def run(self, *arguments):
        return subprocess.run([*self.command, *arguments], env=self.env, check=True, capture_output=True, text=True, timeout=patience(60)).stdout

    def look(self, *options):
        return self.run("capture-pane", "-p", "-t", self.pane, *options)

    def alive(self):
        try:
            return bool(self.run("list-panes", "-a", "-F", "#{pane_id}").split())
        except subprocess.CalledProcessError:
            return False

    def shows(self, *what, seconds=180):
        def found():
            screen = self.look()
            return screen if all(one in screen for one in what) else None
        try:
            return wait_for("the screen shows %s" % (what,), found, seconds)
        except AssertionError as error:
            raise AssertionError("%s\n%s" % (error, self.look())) from None

    def type(self, text):
        self.run("send-keys", "-t", self.pane, "-l", text)

    def press(self, *keys):
        self.run("send-keys", "-t", self.pane, *keys)

    def composer(self):
        """The lines of what a person is typing; none while a dialog is open. The words of a prompt that was sent follow a common space."""
        _, mark, rest = self.look().rpartition("❯\xa0")
        return list(itertools.takewhile(lambda line: not line.startswith("─"), rest.splitlines())) if mark else []

    def draft(self, text):
        """Typed until it stands in the composer once. What comes before the client listens is lost; what had to wait comes as one piece, in which
        the key that clears the line is none.
        """
        for seconds in (3, 6, 12, 24, 48, 96):
            self.type(text)
            if comes(lambda: "".join(self.composer()).count(text[:30]) == 1, seconds):
                return
            self.clear()
        raise AssertionError("it cannot be typed: %s\n%s" % (text, self.look()))

    def clear(self):
        for seconds in (1, 1, 1, 3, 10, 30, 60):  # a line each
            self.press("C-u")
            if comes(lambda: not "".join(self.composer()).strip(), seconds):
                return

    def say(self, text):
        """A prompt as a person gives it: typed, seen, then Enter. An Enter that came in one piece with the text is a line of the draft."""
        while True:
            self.draft(text)
            self.press("Enter")
            wait_for("it is sent", lambda: not self.holds(text) or self.is_broken(), patience(180))
            if not self.holds(text):
                return
            self.clear()

    def holds(self, text):
        return text[:30] in "".join(self.composer())

    def is_broken(self):
        return any(not line.strip() for line in self.composer()[1:])

    def paste(self, text):
        subprocess.run([*self.command, "load-buffer", "-b", "rig", "-"], env=self.env, input=text, text=True, check=True, timeout=patience(60))
        self.run("paste-buffer", "-p", "-d", "-b", "rig", "-t", self.pane)

    def stop(self):
        subprocess.run([*self.command, "kill-server"], env=self.env, capture_output=True, timeout=patience(60))
