"""Attacks by way of the file system: wrong owners and modes, links, files that are something else, and swaps between two looks.

A refusal names the command that mends it; the tests run the very command that was printed and see that it then works. What stands
behind a link is a decoy with a request in it: whoever reads it answers, whoever writes there changes its bytes.

SWAP_SECONDS (default 3) is how long the swaps of an inbox go on.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, hold_still, team_toml, wait_for, write_private
from sweep import CALL, Scenario

SWAP_SECONDS = float(os.environ.get("SWAP_SECONDS", "3"))
STRANGER = 12345
MENDS = re.compile(r"\b((?:chmod|chown|cp) .*)")
DELIVERY = '\n[delivery]\nmethods = ["%s"]\n%s\n'


def fingerprints(folder):
    """Everything that a write, a rename or a lock below a folder would change."""
    return {str(p): (os.lstat(p).st_mtime_ns, p.read_bytes() if p.is_file() else None) for p in sorted(folder.rglob("*"))}


def reasons(log):
    """What a log says to a person, a line each; what is no JSON is that already."""
    return "".join((json.loads(line).get("reason", line) if line.startswith("{") else line) + "\n" for line in log.splitlines())


class FileSystemAttacks(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()

    def run_once(self, polls=2):
        """The daemon from its start to its end; what it said, and the exit code."""
        self.daemon.log_path.unlink(missing_ok=True)
        self.daemon.extra = ["--polls", str(polls)]
        code = self.daemon.spawn().process.wait(LIMIT_S)
        return code, reasons(self.daemon.log_path.read_text("utf-8"))

    def mend(self, said, path):
        """Runs the command that was printed for this path, as a person would who copies it."""
        commands = [c for c in MENDS.findall(said) if os.path.realpath(shlex.split(c)[-1]) == os.path.realpath(path)]
        self.assertTrue(commands, "no command that mends %s in:\n%s" % (path, said))
        subprocess.run(["sh", "-c", commands[-1]], check=True, timeout=LIMIT_S)

    def ask(self):
        request = wire.permission_request("ada", "Bash", {"command": "git status"})
        self.team.say("ada", request)
        return request["request_id"]

    def answered(self, request_id):
        wait_for("an answer to %s" % request_id, lambda: self.team.replies("ada", request_id))
        self.assertEqual(len(self.team.replies("ada", request_id)), 1)

    def told(self, *words):
        """The log's latest line with all of these in it."""
        def find():
            lines = [e for e in self.daemon.log() if e["level"] != "info" and all(w in json.dumps(e) for w in words)]
            return lines[-1] if lines else None
        return wait_for("the log names %s" % (words,), find)

    # --- wrong owners and modes ---

    def test_at_the_start_each_wrong_owner_or_mode_is_refused_with_the_command_that_mends_it(self):
        above = self.folder / "above" / "it's open"
        above.mkdir(parents=True, mode=0o700)
        self.make_daemon(team_toml(self.team))
        config = shutil.move(self.daemon.configs[0], above / "team.toml")
        self.daemon.configs = [str(config)]
        run = self.folder / "run"
        run.mkdir(mode=0o700)
        log = self.folder / "log" / "daemon.jsonl"
        log.parent.mkdir(mode=0o700)
        self.daemon.socket = str(run / "control.sock")
        settings = 'state_dir = "%s"\nsocket = "%s"\n' % (above / "state", self.daemon.socket)
        write_private(self.daemon.daemon_file, settings)
        self.assertEqual(self.run_once()[0], 0)
        write_private(self.daemon.daemon_file, settings + '[log]\nfile = "%s"\n' % log)
        log.touch(0o600)
        self.assertEqual(self.run_once()[0], 0)
        ledger = above / "state" / "ledger.sqlite3"
        beside = pathlib.Path(str(ledger) + "-wal")  # goes when the ledger is closed
        wrong_modes = [
            (config, 0o620, 2), (above, 0o770, 2), (above.parent, 0o707, 2), (pathlib.Path(self.daemon.daemon_file), 0o602, 2),
            (ledger.parent, 0o720, 1), (ledger, 0o660, 1), (beside, 0o606, 1),
            (pathlib.Path(str(ledger) + ".lock"), 0o666, 1), (run, 0o777, 1), (log, 0o620, 1), (log.parent, 0o702, 1)]
        for path, mode, expected in wrong_modes:
            with self.subTest(path.name, mode=oct(mode)):
                beside.touch(0o600)
                os.chmod(path, mode)
                self.refused_until_mended(path, expected, log)
                self.assertTrue(path == beside or os.stat(path).st_mode & 0o022 == 0)
        if os.geteuid() != 0:
            return  # only root can give a file away; CI is root
        for path, _, expected in wrong_modes:
            with self.subTest(path.name, owner=STRANGER):
                beside.touch(0o600)
                os.chown(path, STRANGER, -1)
                self.refused_until_mended(path, expected, log)
                self.assertTrue(path == beside or os.stat(path).st_uid == os.geteuid())

    def refused_until_mended(self, path, expected, log):
        before = log.stat().st_size
        code, said = self.run_once(1)
        self.assertEqual(code, expected, said)
        if os.access(log, os.R_OK):
            with open(log, encoding="utf-8") as file:
                file.seek(before)
                said += reasons(file.read())
        self.mend(said, path)
        code, said = self.run_once(1)
        self.assertEqual(code, 0, said)

    def test_a_sticky_folder_above_is_no_danger(self):
        shared = self.folder / "shared"
        shared.mkdir()
        os.chmod(shared, 0o1777)
        self.team = wire.Team(shared / "teams", "demo", ("ada", "bob"))
        self.make_daemon(team_toml(self.team))
        self.daemon.configs = [shutil.copy(self.daemon.configs[0], shared / "team.toml")]
        self.daemon.start()
        self.answered(self.ask())

    def test_while_it_runs_a_team_that_others_may_write_to_is_left_alone_until_it_is_mended(self):
        self.start_daemon(self.team)
        self.answered(self.ask())
        for path in (self.team.folder, self.team.inboxes, self.team.config, self.team.lead_inbox, self.team.inbox("ada")):
            with self.subTest(path.name):
                before = self.daemon.log_path.stat().st_size
                mode = os.stat(path).st_mode & 0o777
                hold_still(self.daemon.process.pid)  # a peer that replaces the file may not keep the mode, and we are quick
                request = self.ask()
                os.chmod(path, mode | 0o022)
                self.daemon.process.send_signal(signal.SIGCONT)
                wait_for("it is told", lambda: str(path) in self.since(before))
                if path != self.team.config:  # the last good roster stays in force
                    self.daemon.polled()
                    self.assertEqual(self.team.replies("ada", request), [])
                self.mend(self.since(before), path)
                self.answered(request)

    def since(self, offset):
        with open(self.daemon.log_path, encoding="utf-8") as file:
            file.seek(offset)
            return reasons("".join(file.read().rpartition("\n")[:2]))

    def test_a_root_that_others_may_write_to_is_not_served_until_it_is_mended(self):
        os.chmod(self.team.root, 0o777)
        request = self.ask()
        self.start_daemon(self.team)
        said = self.told("is not served", str(self.team.root))
        self.assertEqual(self.team.replies("ada", request), [])
        self.mend(said["reason"], self.team.root)
        self.answered(request)

    def test_a_file_or_program_for_the_lead_that_others_may_change_gets_nothing_until_it_is_mended(self):
        sink = self.folder / "lead.jsonl"
        program = self.folder / "take"
        program.write_text("#!/bin/sh\ncat >> '%s.taken'\n" % program)
        program.chmod(0o700)
        for via, setting, path, taken in (("file", 'file = "%s"' % sink, sink, sink),
                                          ("exec", 'exec = ["%s"]' % program, program, pathlib.Path("%s.taken" % program))):
            with self.subTest(via):
                path.touch(0o600)
                before = path.read_bytes()
                os.chmod(path, 0o722)
                self.start_daemon(self.team, DELIVERY % (via, setting))
                self.team.say("ada", "by %s" % via)
                said = self.told(str(path), "chmod go-w")
                self.assertEqual(path.read_bytes(), before)
                self.assertEqual(self.status()["chat"]["delivered"], 0 if via == "file" else 1)
                self.mend(said["reason"], path)
                wait_for("it is delivered", lambda: taken.exists() and b"by " + via.encode() in taken.read_bytes())
                self.daemon.stop()

    def test_nothing_is_appended_to_a_file_with_a_second_name(self):
        sink = self.folder / "lead.jsonl"
        sink.touch(0o600)
        second = self.folder / "elsewhere.jsonl"
        os.link(sink, second)
        self.start_daemon(self.team, DELIVERY % ("file", 'file = "%s"' % sink))
        self.team.say("ada", "only for the lead")
        self.told(str(sink), "second name")
        self.assertEqual((second.read_bytes(), self.status()["chat"]["delivered"]), (b"", 0))
        os.unlink(second)
        wait_for("it is delivered", lambda: b"only for the lead" in sink.read_bytes())

    def test_the_program_that_tells_a_person_is_not_run_when_others_may_change_it(self):
        bell = self.folder / "bell"
        bell.write_text("#!/bin/sh\ntouch '%s.method'\n" % bell)
        bell.chmod(0o777)
        self.start_daemon(self.team, '\n[approver]\ncommand = ["%s"]\n' % bell)
        self.team.say("ada", wire.permission_request("ada", "Bash", {"command": "make"}))
        said = self.told("approver.notify_failed", str(bell))
        self.assertFalse(os.path.exists("%s.method" % bell))
        self.mend(said["reason"], bell)
        self.team.say("ada", wire.permission_request("ada", "Bash", {"command": "make all"}))
        wait_for("the bell rings", lambda: os.path.exists("%s.method" % bell))

    # --- links ---

    def decoy(self, path):
        """Moves what is at a path elsewhere and puts a link to it there; the decoy has a request in it where it may be one."""
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir(exist_ok=True, mode=0o700)
        target = elsewhere / path.name
        shutil.move(path, target)
        os.symlink(target, path)
        return target

    def restore(self, path, target):
        os.unlink(path)
        shutil.move(target, path)

    def test_while_it_runs_no_link_below_the_root_is_followed(self):
        self.team.say("lead", "so that it is there", to="ada")
        self.start_daemon(self.team)
        self.answered(self.ask())
        for path in (self.team.folder, self.team.inboxes, self.team.config, self.team.lead_inbox, self.team.inbox("ada")):
            with self.subTest(path.name):
                before = self.daemon.log_path.stat().st_size
                request = self.ask()
                wait_for("the request before it is answered", lambda: self.team.replies("ada", request))
                target = self.decoy(path)
                elsewhere = target.parent
                request = wire.permission_request("ada", "Bash", {"command": "git status"})
                if path == self.team.lead_inbox:  # there, where only who follows the link sees it
                    wire.rewrite(target, wire.stringify([*wire.read_inbox(target), wire.entry("ada", wire.stringify(request))], 2))
                else:
                    self.team.say("ada", request)
                kept = fingerprints(elsewhere)
                wait_for("it is told", lambda: any(w in self.since(before) for w in ("symbolic link", "link or a file")) or
                         path == self.team.folder)
                self.daemon.polled()
                self.assertEqual(fingerprints(elsewhere), kept)
                self.restore(path, target)
                self.answered(request["request_id"])

    def test_a_lock_that_is_a_link_is_refused_and_stays(self):
        self.start_daemon(self.team)
        self.answered(self.ask())
        target = self.folder / "elsewhere"
        target.mkdir()
        lock = str(self.team.lead_inbox) + ".lock"
        os.symlink(target, lock)
        self.addCleanup(lambda: os.path.lexists(lock) and os.unlink(lock))
        before = fingerprints(self.folder / "elsewhere")
        new = wire.entry("ada", wire.stringify(wire.permission_request("ada", "Bash", {"command": "git status"})))
        wire.rewrite(self.team.lead_inbox, wire.stringify(wire.read_inbox(self.team.lead_inbox) + [new], 2))
        self.told("inbox.lock_foreign", "symbolic link")
        self.assertTrue(os.path.islink(lock))
        self.assertEqual(fingerprints(self.folder / "elsewhere"), before)

    def test_at_the_start_no_link_in_the_place_of_what_is_ours_is_followed(self):
        sink = self.folder / "lead.jsonl"
        log = self.folder / "daemon.jsonl"
        self.make_daemon(team_toml(self.team, more=DELIVERY % ("file", 'file = "%s"' % sink)))
        with open(self.daemon.daemon_file, "a", encoding="utf-8") as file:
            file.write('[log]\nfile = "%s"\n' % log)
        self.team.say("ada", "one")
        self.assertEqual(self.run_once()[0], 0)
        ledger = self.daemon.state / "ledger.sqlite3"
        for part in ("-wal", "-journal"):
            pathlib.Path(str(ledger) + part).touch(0o600)
        for path in (self.daemon.state, ledger, pathlib.Path(str(ledger) + "-wal"), pathlib.Path(str(ledger) + "-journal"),
                     pathlib.Path(str(ledger) + ".lock"), log):
            with self.subTest(path.name):
                target = self.decoy(path)
                kept = fingerprints(target.parent)
                log_before = log.read_bytes()
                code, said = self.run_once()
                self.assertEqual(code, 1, said)
                told = said + log.read_text("utf-8")[len(log_before):]
                self.assertRegex(told, "symbolic link" if path.name != "ledger.sqlite3.lock" else "symbolic link|cannot open the lock")
                if path != log:
                    self.assertEqual({k: v for k, v in fingerprints(target.parent).items()}, kept)
                else:
                    self.assertEqual(target.read_bytes(), log_before)
                self.restore(path, target)
        with self.subTest("lead.jsonl"):
            target = self.decoy(sink)
            before = target.read_bytes()
            self.team.say("ada", "two")
            code, _ = self.run_once()
            self.assertEqual((code, target.read_bytes()), (0, before))
            self.assertIn("symbolic link", log.read_text("utf-8"))
            self.restore(sink, target)
            self.assertEqual(self.run_once()[0], 0)
            self.assertIn(b'"two"', sink.read_bytes())

    def test_a_quarantine_that_is_a_link_gets_nothing(self):
        self.make_daemon(team_toml(self.team)).state.mkdir(mode=0o700)
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir(mode=0o700)
        os.symlink(elsewhere, self.daemon.state / "quarantine")
        self.daemon.start()
        self.team.lead_inbox.write_bytes(b"this is not JSON")
        self.told("quarantine", "not a folder itself")
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_a_task_folder_that_is_a_link_keeps_its_tasks(self):
        before = self.team.add_task(1, owner="ada", status="in_progress")
        target = self.decoy(self.team.tasks)
        self.start_daemon(self.team, '\n[shutdown]\ntimeout = "2s"\n')
        self.team.remove_member("bob")
        order = self.daemon.ask("shutdown", member="ada", by="test")["shutdowns"][0]
        request = wait_for("ada is asked", lambda: [e for e in wire.read_inbox(self.team.inbox("ada")) or [] if
                                                     "shutdown_request" in e["text"]])
        self.assertTrue(request)
        self.team.say("ada", wire.shutdown_approved("ada", order["request_id"]))
        wait_for("it gives up, and says why", lambda: "not a folder itself" in self.daemon.log_path.read_text("utf-8"))
        self.assertEqual((target / "1.json").read_bytes(), before)

    def test_the_root_itself_may_be_a_link_that_is_followed_once_and_told(self):
        link = self.folder / "link"
        os.symlink(self.team.root, link)
        other = wire.Team(self.folder / "others", "demo", ("ada", "bob"))
        real, self.team.root = self.team.root, link
        self.start_daemon(self.team)
        self.team.root = real
        self.told("daemon.warning", "team.root leads by a link to %s" % real)
        self.answered(self.ask())
        os.unlink(link)
        os.symlink(other.root, link)  # afterwards it leads elsewhere: nobody looks
        there = wire.permission_request("ada", "Bash", {"command": "git status"})
        other.say("ada", there)
        self.answered(self.ask())
        self.assertEqual(other.replies("ada", there["request_id"]), [])
        self.daemon.ask("reload")     # now somebody has said so
        wait_for("the other one is served", lambda: other.replies("ada", there["request_id"]))

    def test_a_configuration_may_be_a_link_and_all_on_its_way_is_checked(self):
        """Unlike the rest: people keep such files elsewhere and link them, and so does OpenSSH read its own."""
        self.make_daemon(team_toml(self.team))
        target = self.decoy(pathlib.Path(self.daemon.configs[0]))
        self.assertEqual(self.run_once(1)[0], 0)
        for path in (target, target.parent):
            os.chmod(path, 0o722)
            code, said = self.run_once(1)
            self.assertEqual(code, 2, said)
            self.mend(said, path)
        if os.geteuid() == 0:
            os.chown(self.daemon.configs[0], STRANGER, -1, follow_symlinks=False)
            code, said = self.run_once(1)
            self.assertEqual(code, 2, said)
            self.mend(said, self.daemon.configs[0])
        self.assertEqual(self.run_once(1)[0], 0)

    # --- second names, and things that are no files ---

    def test_an_inbox_with_a_second_name_elsewhere_changes_nothing_there(self):
        self.start_daemon(self.team)
        self.answered(self.ask())
        for inbox in (self.team.lead_inbox, self.team.inbox("ada")):
            with self.subTest(inbox.name):
                foreign = self.folder / ("foreign-" + inbox.name)
                request = self.ask()  # marked in the lead's, answered in ada's
                self.answered(request)
                os.link(inbox, foreign)
                before = foreign.read_bytes()
                new = wire.entry("ada", wire.stringify(wire.permission_request("ada", "Bash", {"command": "git status"}, "perm-" + inbox.name)))
                wire.rewrite(self.team.lead_inbox, wire.stringify(wire.read_inbox(self.team.lead_inbox) + [new], 2))
                if inbox == self.team.lead_inbox:
                    before = foreign.read_bytes()  # the peer wrote in place, which is its own doing
                self.answered("perm-" + inbox.name)
                wait_for("it is marked", lambda: all(e["read"] for e in wire.read_inbox(self.team.lead_inbox) or [{"read": False}]))
                self.assertEqual(foreign.read_bytes(), before)

    def test_a_ledger_with_a_second_name_is_refused_until_it_is_a_file_of_its_own(self):
        self.make_daemon(team_toml(self.team))
        request = self.ask()
        self.assertEqual(self.run_once()[0], 0)
        ledger = self.daemon.state / "ledger.sqlite3"
        os.link(ledger, self.folder / "second-name")
        code, said = self.run_once()
        self.assertEqual(code, 1)
        self.mend(said, ledger)
        self.assertEqual(self.run_once()[0], 0)
        self.assertEqual(len(self.team.replies("ada", request)), 1)
        self.assertEqual(os.stat(ledger).st_mode & 0o777, 0o600)

    def test_a_fifo_a_socket_a_device_and_a_folder_are_no_inbox_and_stop_nobody(self):
        other = self.make_team("other")
        self.make_daemon(team_toml(self.team), team_toml(other)).start()
        path = str(self.team.lead_inbox)

        def bound():
            listener = socket.socket(socket.AF_UNIX)
            self.addCleanup(listener.close)
            listener.bind(path)

        kinds = [("FIFO", lambda: os.mkfifo(path), os.unlink), ("socket", bound, os.unlink), ("folder", lambda: os.mkdir(path), os.rmdir)]
        if os.geteuid() == 0:
            kinds.append(("device", lambda: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3)), os.unlink))
        for name, make, unmake in kinds:
            with self.subTest(name):
                make()
                wait_for("it is told", lambda: self.status("demo")["inbox"]["state"] == "not_regular")
                request = wire.permission_request("ada", "Bash", {"command": "git status"})
                other.say("ada", request)
                wait_for("the other team is served", lambda: other.replies("ada", request["request_id"]))
                unmake(path)
                self.answered(self.ask())
                os.unlink(path)

    def test_an_inbox_that_is_swapped_in_a_tight_loop_leads_nowhere_and_blocks_nobody(self):
        other = self.make_team("other")
        self.make_daemon(team_toml(self.team), team_toml(other)).start()
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir(mode=0o700)
        inbox, spare = str(self.team.lead_inbox), str(self.team.inboxes / "spare")
        decoy = elsewhere / "decoy.json"
        decoy.write_text(wire.stringify([wire.entry("ada", wire.stringify(
            wire.permission_request("ada", "Bash", {"command": "git status"}, "perm-decoy")))], 2))
        genuine = wire.stringify([wire.entry("ada", wire.stringify(
            wire.permission_request("ada", "Bash", {"command": "git status"}, "perm-genuine")))], 2)
        for worker in ("ada", "bob"):  # ours to write: swapped as well
            self.team.say("lead", "hello", to=worker)
        before = fingerprints(elsewhere)
        stop = threading.Event()
        swaps = [0]

        def remove(path):
            (os.rmdir if stat.S_ISDIR(os.lstat(path).st_mode) else os.unlink)(path)

        def regular(path):
            pathlib.Path(path).write_text(genuine)
            os.chmod(path, 0o600)

        def hammer(path, kinds):
            while not stop.is_set():
                for make in kinds:
                    fresh = spare + os.path.basename(path)
                    make(fresh)
                    while True:
                        try:  # what a folder replaces, or is replaced by, has to go first; the daemon may be quicker
                            os.rename(fresh, path)
                            break
                        except (IsADirectoryError, NotADirectoryError):
                            remove(path)
                    swaps[0] += 1

        threads = [threading.Thread(target=hammer, args=(path, (
            regular, lambda p: os.symlink(decoy, p), os.mkfifo, regular, os.mkdir))) for path in (inbox, str(self.team.inbox("ada")))]
        for thread in threads:
            thread.start()
        end = time.monotonic() + SWAP_SECONDS  # clock: how long the attack goes on; the rounds count
        rounds = 0
        while time.monotonic() < end:  # clock: how long the attack goes on; the rounds count
            request = wire.permission_request("ada", "Bash", {"command": "git status"})
            other.say("ada", request)
            wait_for("the other team is served", lambda: other.replies("ada", request["request_id"]))
            rounds += 1
        stop.set()
        for thread in threads:
            thread.join()
        self.assertGreater(swaps[0], 100)
        self.assertGreater(rounds, 0)
        self.assertEqual(fingerprints(elsewhere), before)
        self.assertEqual(self.daemon.ask("trace", id="perm-decoy").get("requests", []), [])
        for path in (inbox, str(self.team.inbox("ada"))):
            remove(path)
        self.answered(self.ask())

    # --- how files are opened ---

    def test_below_the_root_every_file_is_opened_from_an_open_folder_by_one_name_and_no_link_is_followed(self):
        scenario = Scenario(31)
        self.addCleanup(scenario.remove)
        scenario.stage()
        trace = self.folder / "trace"
        calls = "openat,open,creat,openat2,mkdir,mkdirat,unlink,unlinkat,rmdir,rename,renameat,renameat2,link,linkat,symlink,symlinkat,truncate"
        code = scenario.run(["strace", "-qq", "-f", "-y", "-s", "400", "-e", "trace=" + calls, "-o", str(trace)])
        self.assertEqual(code, 0)
        root = str(scenario.folder / "teams")
        opened, wrong, step_by_step = 0, [], set()
        for line in trace.read_text("utf-8", "replace").splitlines():
            call = CALL.match(line)
            if not call:
                continue
            names = re.findall(r'(AT_FDCWD(?:<[^>]*>)?|\d+<[^>]*>)?(?:, )?"([^"]*)"', call[3])
            for at, name in names:
                folder = re.search(r"<([^>]*)>", at)[1] if at and not at.startswith("AT_FDCWD") else ""
                whole = name if name.startswith("/") else os.path.join(folder, name)
                if not whole.startswith(root) or call[2] == "execve":
                    continue
                opened += call[2] == "openat"
                by_descriptor = folder.startswith(root) and "/" not in name
                if by_descriptor:
                    step_by_step.add(whole)
                # An idle poll opens a folder by its path and uses it only as the one that was opened step by step before: by its inode.
                again = whole in step_by_step and "O_DIRECTORY" in call[3]
                if not by_descriptor and not (call[2] == "openat" and (whole == root or again)):
                    wrong.append(line)
                elif call[2] == "openat" and "O_NOFOLLOW" not in call[3]:
                    wrong.append(line)
        self.assertGreater(opened, 50)  # there was something to look at
        self.assertEqual(wrong, [])
        ours = [line for line in trace.read_text("utf-8", "replace").splitlines()
                if "openat(" in line and '"%s/' % scenario.daemon.state in line]
        self.assertTrue(ours)
        self.assertEqual([line for line in ours if "O_NOFOLLOW" not in line], [])


if __name__ == "__main__":
    unittest.main()
