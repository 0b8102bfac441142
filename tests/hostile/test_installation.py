"""The service units: how closed the systemd unit is, that it is well-formed, and that the daemon lives inside its system call filter.

One workload touches all that the daemon does (program and terminal as sinks, a bell, panes that are closed, processes that are signalled,
quarantine, large files on the pool, reload, the service manager). It runs once traced and once under a filter made from the unit's own
list, where a call that is not in it kills.
"""

import os
import pathlib
import plistlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, asan_options, team_toml, wait_for
from sweep import CALL
from tmux import PaneProgram

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
UNIT = DEPLOY / "systemd" / "inbox-poller.service"
THRESHOLD = 30  # of 100; the scale of `systemd-analyze security` is a tenth of it

# Reads the names of allowed calls and the program; what is not allowed kills the process that tried.
FILTERED = """
import ctypes, os, sys
library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
library.seccomp_init.argtypes = [ctypes.c_uint32]
library.seccomp_rule_add.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint]
library.seccomp_load.argtypes = [ctypes.c_void_p]
kill, allow = 0x80000000, 0x7fff0000
rules = library.seccomp_init(kill)
for name in sys.argv[1].split(","):
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number >= 0 and library.seccomp_rule_add(rules, allow, number, 0) != 0:
        sys.exit("no rule for " + name)
if library.seccomp_load(rules) != 0:
    sys.exit("the filter cannot be loaded")
os.execv(sys.argv[2], sys.argv[2:])
"""


def settings():
    """The unit's [Service] as (key, value) in order; a key may come several times."""
    text = UNIT.read_text("utf-8").split("[Service]")[1].split("[Install]")[0]
    return [tuple(line.split("=", 1)) for line in text.splitlines() if line and not line.startswith("#")]


def members(name):
    """What a group of system calls stands for, as this systemd knows it."""
    if not name.startswith("@"):
        return {name}
    out = subprocess.run(["systemd-analyze", "--no-pager", "syscall-filter", name], check=True, capture_output=True, text=True, timeout=LIMIT_S)
    lines = [line.strip() for line in out.stdout.splitlines()[1:]]
    return set().union(*(members(line) for line in lines if line and not line.startswith("#")))


def allowed_calls():
    """As systemd reads several SystemCallFilter= lines: the first decides that it is a list of what is allowed, `~` takes away."""
    calls = members("@default")
    for value in (value for key, value in settings() if key == "SystemCallFilter"):
        named = set().union(*(members(name) for name in value.lstrip("~").split()))
        calls = calls - named if value.startswith("~") else calls | named
    # As root, SQLite gives its files to the ledger's owner. A user's unit is never root, and these tests often are.
    return calls | {"fchown"} if os.geteuid() == 0 else calls


class Installation(ProcessTest):
    def analyze(self, *arguments, **options):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        return subprocess.run(["systemd-analyze", "--no-pager", *arguments], capture_output=True, text=True, timeout=LIMIT_S, **options)

    def test_the_systemd_unit_exposes_little(self):
        done = self.analyze("security", "--offline=true", "--threshold=%d" % THRESHOLD, str(UNIT))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        score = float(re.search(r"Overall exposure level for inbox-poller.service: ([\d.]+)", done.stdout)[1])
        self.assertLessEqual(score, THRESHOLD / 10)
        self.assertGreater(self.analyze("security", "--offline=true", "--threshold=1", str(UNIT)).returncode, 0)  # it can fail
        for name in ("web", "notify"):  # they may speak IP, the page to the loopback only
            unit = UNIT.with_name("inbox-poller-%s.service" % name)
            self.assertEqual(self.analyze("security", "--offline=true", "--threshold=%d" % THRESHOLD, str(unit)).returncode, 0, name)

    def test_the_systemd_unit_is_well_formed(self):
        home = self.folder / "home"
        program = home / ".local" / "bin" / "inbox-poller"
        program.parent.mkdir(parents=True)
        shutil.copy("/bin/true", program)
        env = dict(os.environ, HOME=str(home), XDG_RUNTIME_DIR=str(self.folder))
        done = self.analyze("verify", "--user", "--man=no", str(UNIT), env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        page = UNIT.with_name("inbox-poller-web.socket")
        done = self.analyze("verify", "--user", "--man=no", str(page), str(page.with_suffix(".service")), env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        wrong = self.folder / "wrong.service"
        wrong.write_text(UNIT.read_text("utf-8").replace("WatchdogSec=", "WatchDogSecs="), "utf-8")
        self.assertIn("WatchDogSecs", self.analyze("verify", "--user", "--man=no", str(wrong), env=env).stderr)

    def test_the_folder_that_the_unit_s_head_makes_is_private(self):
        command = re.search(r"^#\s+(mkdir [^&]*) &&", UNIT.read_text("utf-8"), re.M)[1]
        subprocess.run(["sh", "-c", "umask 022; " + command], check=True, env=dict(os.environ, HOME=str(self.folder)), timeout=LIMIT_S)
        self.assertEqual(stat.S_IMODE(os.stat(self.folder / ".local/state/inbox-poller").st_mode), 0o700)

    def test_the_launchd_agent_is_well_formed_and_private(self):
        with open(DEPLOY / "launchd" / "inbox-poller.plist", "rb") as file:
            agent = plistlib.load(file)
        self.assertEqual(agent["ProgramArguments"][1:], ["run", "--log-format", "json"])
        self.assertEqual(agent["Umask"], 0o077)
        self.assertEqual(agent["KeepAlive"], {"SuccessfulExit": False})
        self.assertTrue(all(agent[key].startswith("/Users/YOU/") for key in ("StandardErrorPath", "StandardOutPath")))

    # --- system calls ---

    def daemon_at_work(self, wrapper):
        """Starts it behind a wrapper, has it do everything once, and stops it."""
        tmux = self.start_tmux()
        lead = PaneProgram(tmux, self.folder)
        team = self.make_team(members=("ada", "bob"))
        taken, bell = self.folder / "taken", self.folder / "bell"
        for program, out in ((taken, "cat >>"), (bell, "cat >>")):
            program.write_text("#!/bin/sh\n%s '%s.out'\n" % (out, program))
            program.chmod(0o700)
        settings = ('\n[delivery]\nmethods = ["%s"]\nexec = ["%s"]\nfile = "%s"\n[delivery.tmux]\npane = "%s"\ncommand = ["%s"]\npayload = true\nsettle = "10ms"\n'
                    '[approver]\ncommand = ["%s"]\n[shutdown]\ntmux = ["%s"]\ngrace = "1s"\n[limits]\nquarantine_after_polls = 2\n')
        fill = (str(taken), self.folder / "lead.jsonl", lead.pane, '", "'.join(tmux.command), bell, '", "'.join(tmux.command))
        self.make_daemon(team_toml(team, more=settings % ("exec", *fill)))
        with open(self.daemon.daemon_file, "a", encoding="utf-8") as file:
            file.write('[log]\nfile = "%s"\n' % self.daemon.log_path)
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(str(self.folder / "manager.sock"))
        self.daemon.env.update(NOTIFY_SOCKET=str(self.folder / "manager.sock"), WATCHDOG_USEC="3000000", ASAN_OPTIONS=asan_options("detect_leaks=0"))
        command = self.daemon.command()
        self.daemon.command = lambda: [*wrapper, *command]
        self.daemon.start()
        process = self.daemon.ask("status")["pid"]  # strace stands between it and us
        self.stops.append(lambda: self.daemon.running() and os.kill(process, signal.SIGKILL))

        request = wire.permission_request("ada", "Bash", {"command": "git status"})
        team.say("ada", request)
        wait_for("an answer", lambda: team.replies("ada", request["request_id"]))
        team.say("ada", wire.permission_request("ada", "Bash", {"command": "make"}, "perm-person"))
        wait_for("the bell", lambda: os.path.exists("%s.out" % bell))
        self.daemon.cli("approve", "perm-person", "--by", "test")
        wait_for("a person's answer", lambda: team.replies("ada", "perm-person"))

        def reload(via):
            with open(self.daemon.configs[0], "w", encoding="utf-8") as file:
                file.write(team_toml(team, more=settings % (via, *fill)))
            count = len(self.daemon.log("daemon.reloaded"))
            os.kill(process, signal.SIGHUP)
            wait_for("it is reloaded", lambda: len(self.daemon.log("daemon.reloaded")) > count)

        for number, via in enumerate(("exec", "file", "tmux", "socket"), 1):
            reload(via)
            team.say("ada", "by %s" % via)
            if via == "socket":
                wait_for("it is queued", lambda: self.status()["chat"]["queued"])
                self.assertIn("by socket", self.daemon.cli("recv").stdout)
            wait_for("delivered by %s" % via, lambda: self.status()["chat"]["delivered"] >= number)

        worker = self.start_pane_worker(tmux, team, "bob", on_shutdown="approve", exit_after=60)
        order = self.daemon.ask("shutdown", member="bob", by="test")["shutdowns"][0]
        wait_for("bob is gone", lambda: self.daemon.ask("shutdowns", id=order["request_id"])["shutdowns"][0]["state"] == "cleaned", pause=0.1)
        self.assertFalse(worker.in_pane())
        wire.rewrite(team.lead_inbox, wire.stringify([wire.entry("ada", "x" * (3 << 20))], 2))  # read on the pool
        wait_for("it is taken in", lambda: self.status()["chat"]["queued"] >= 1)
        team.lead_inbox.write_bytes(b"this is not JSON")
        wait_for("a copy in quarantine", lambda: self.daemon.ask("quarantine")["files"])
        heard = b""
        while b"WATCHDOG=1" not in heard:
            heard += manager.recv(4096)
        os.kill(process, signal.SIGTERM)
        return self.daemon.process.wait(LIMIT_S)

    def test_every_system_call_of_a_whole_day_is_in_the_unit_s_filter(self):
        if not shutil.which("strace") or not shutil.which("systemd-analyze"):
            self.skipTest("strace or systemd-analyze is not installed")
        trace = self.folder / "trace"
        self.assertEqual(self.daemon_at_work(["strace", "-qq", "-f", "-s", "0", "-o", str(trace)]), 0)
        lines = [call for call in map(CALL.match, trace.read_text("utf-8", "replace").splitlines()) if call]
        made = {call[2] for call in lines}
        self.assertGreater(len(made), 40)
        self.assertEqual(made - allowed_calls(), set())
        kept = dict(settings())
        for key in ("MemoryDenyWriteExecute", "RestrictNamespaces", "RestrictSUIDSGID", "LockPersonality", "NoNewPrivileges"):
            self.assertEqual(kept[key], "yes", key)
        self.assertEqual(kept["RestrictAddressFamilies"], "AF_UNIX")
        denied = {"socket": r"AF_(?!UNIX)", "clone": "CLONE_NEW", "clone3": "CLONE_NEW", "mmap": "PROT_WRITE.PROT_EXEC", "unshare": "",
                  "mprotect": "PROT_EXEC", "personality": "", "chmod": r"\b0?[2467]\d{3}\b", "fchmod": r"\b0?[2467]\d{3}\b"}
        self.assertEqual([call[0] for call in lines if call[2] in denied and re.search(denied[call[2]], call[3])], [])

    def test_the_daemon_lives_under_the_unit_s_filter(self):
        calls = ",".join(sorted(allowed_calls())) if shutil.which("systemd-analyze") else self.skipTest("no systemd-analyze")
        wrapper = [sys.executable, "-c", FILTERED, calls]
        refused = subprocess.run([*wrapper, sys.executable, "-c", "import os; os.chroot('/')"], capture_output=True, timeout=LIMIT_S)
        self.assertEqual(refused.returncode, -signal.SIGSYS)  # the filter is in force
        self.assertEqual(self.daemon_at_work(wrapper), 0)

    def test_where_root_is_nobody_the_way_to_its_files_is_still_trusted(self):
        """PrivateUsers=yes in a user's unit: `/` and `/home` belong to a number that stands for everybody else."""
        user = os.geteuid() or 12345
        space = ["unshare", "--user", "--map-current-user"]
        become = ["setpriv", "--reuid=%d" % user, "--regid=%d" % user, "--clear-groups"] if os.geteuid() == 0 else []
        if subprocess.run([*become, *space, "true"], capture_output=True, timeout=LIMIT_S).returncode != 0:
            print("no user namespaces here: not tried")  # a container without them has no PrivateUsers= either
            return
        team = self.make_team()
        self.make_daemon(team_toml(team))
        request = wire.permission_request("ada", "Bash", {"command": "git status"})
        team.say("ada", request)
        if become:
            for path in [self.folder, *self.folder.rglob("*")]:
                os.chown(path, user, user)
        self.daemon.extra = ["--polls", "2"]
        command = [*become, *space, *self.daemon.command()]
        done = subprocess.run(command, env=self.daemon.env, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(team.replies("ada", request["request_id"])), 1)
        for path, hint in ((self.folder, "chmod go-w"), (team.folder, "chmod go-w")):  # and nothing more is
            os.chmod(path, 0o777)
            done = subprocess.run(command, env=self.daemon.env, capture_output=True, text=True, timeout=LIMIT_S)
            self.assertIn(hint, done.stderr)
            os.chmod(path, 0o700)


if __name__ == "__main__":
    unittest.main()
