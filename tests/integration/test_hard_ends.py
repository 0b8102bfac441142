"""How the older client ends: its tools outlive it, its roster may stay behind empty, and nothing in its command line says who it was.
Panes and processes are real; those of others stand beside them and must not notice anything."""

import os
import signal
import subprocess
import sys
import time
import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for
from worker import alive

SETTINGS = """
[shutdown]
remind_after = "10min"
timeout = "30s"
grace = "%s"
tmux = ["%s"]
"""
EMPTY = ("--leaves-roster-empty",)
NAMELESS = ("--overwrites-arguments",)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class HardEnd(ProcessTest):
    def setUp(self):
        super().setUp()
        self.tmux = self.start_tmux()
        self.pane_of_others = self.tmux.bystander()
        self.tool_of_others = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
        self.stops.append(lambda: (self.tool_of_others.kill(), self.tool_of_others.wait()))

    def tearDown(self):
        self.assertTrue(self.pane_of_others.untouched(), "a pane of somebody else was touched")
        self.assertIsNone(self.tool_of_others.poll(), "a process of somebody else was touched")

    def lead(self, team, grace="1s", **options):
        self.start_daemon(team, toml_more=SETTINGS % (grace, '", "'.join(self.tmux.command)), **options)

    def order(self, member, **fields):
        answer = self.daemon.ask("shutdown", member=member, by="test", **fields)
        self.assertTrue(answer["ok"], answer)
        return answer["shutdowns"][0]["request_id"]

    def shutdown(self, request_id):
        return self.daemon.ask("shutdowns", id=request_id)["shutdowns"][0]

    def cleaned(self, request_id):
        try:
            return wait_for("it is cleaned", lambda: self.shutdown(request_id)["state"] == "cleaned", pause=0.1)
        except AssertionError:
            raise AssertionError(self.shutdown(request_id)) from None

    def give_tool(self, worker, session=True):
        worker.do("tool", session=session)
        pid = wait_for("the tool runs", lambda: worker.events("tool"))[0]["pid"]
        self.stops.append(lambda: kill(pid))
        return pid


class Tools(HardEnd):
    def test_the_tool_that_it_was_running_ends_with_it(self):
        for shell in (True, False):
            with self.subTest(shell=shell):
                names = ["ada-%d" % shell, "bob-%d" % shell]
                team = self.make_team("with-%d" % shell, members=names, era=wire.ERA1)
                worker = self.start_pane_worker(self.tmux, team, names[0], wire.ERA1, on_shutdown="ignore", shell=shell, stubborn=True)
                other = self.start_pane_worker(self.tmux, team, names[1], wire.ERA1, on_shutdown="ignore")
                self.lead(team)
                tools = [self.give_tool(worker), self.give_tool(other)]
                self.daemon.polled()
                self.cleaned(self.order(names[0], force_after_ms=1000))
                self.assertFalse(worker.runs() or alive(tools[0]))
                self.assertTrue(other.runs() and other.in_pane() and alive(tools[1]), "another worker's tool was ended")
                self.daemon.stop()

    def test_a_daemon_that_is_killed_on_the_way_finds_the_tool_again(self):
        team = self.make_team(members=["ada"], era=wire.ERA1)
        worker = self.start_pane_worker(self.tmux, team, "ada", wire.ERA1, on_shutdown="ignore")
        self.lead(team, grace="2s")
        tool = self.give_tool(worker)
        request_id = self.order("ada", force_after_ms=1000)
        wait_for("the worker is gone", lambda: not worker.runs())
        for _ in range(3):
            self.daemon.kill()
            self.daemon.start()
            self.daemon.polled(24)
        self.cleaned(request_id)
        self.assertFalse(alive(tool))

    def test_a_tool_that_the_worker_left_when_it_was_killed_by_somebody(self):
        team = self.make_team(members=["ada"], era=wire.ERA1)
        worker = self.start_pane_worker(self.tmux, team, "ada", wire.ERA1, on_shutdown="ignore")
        self.lead(team)
        tool = self.give_tool(worker)
        request_id = self.order("ada", force_after_ms=60000)
        self.daemon.polled()
        kill(worker.pid)
        self.cleaned(request_id)
        self.assertFalse(alive(tool))


class Shells(HardEnd):
    def start(self, shell, **options):
        self.name = "in-%s" % shell
        self.team = self.make_team(self.name.lower(), members=[self.name], era=wire.ERA1)
        self.worker = self.start_pane_worker(self.tmux, self.team, self.name, wire.ERA1, shell=shell, more=NAMELESS, **options)
        with open("/proc/%d/cmdline" % self.worker.pid, "rb") as file:
            self.assertEqual(file.read().strip(b"\0"), b"claude")  # what is tested
        self.lead(self.team, grace="10s")

    def ends_without_a_signal(self, request_id):
        """The worker does; what else there was in the pane is not asked."""
        self.cleaned(request_id)
        ends = [e["event"] for e in self.daemon.log(request_id=request_id)
                if e["event"] == "shutdown.signaled" or e.get("new") == "process_gone"]
        self.assertEqual(ends[0], "shutdown.state", ends)
        self.assertFalse(self.worker.runs() or self.worker.in_pane())
        self.assertIsNone(self.team.member(self.name))

    def test_who_agrees_and_ends_is_not_waited_for_in_its_shell(self):
        for shell in (True, "interactive"):
            with self.subTest(shell=shell):
                self.start(shell, exit_after=0.3)
                self.ends_without_a_signal(self.order(self.name))
                self.daemon.stop()

    def test_a_client_that_dies_in_its_shell_is_noticed(self):
        for shell in (True, "interactive"):
            with self.subTest(shell=shell):
                self.start(shell, on_shutdown="ignore")
                request_id = self.order(self.name)
                kill(self.worker.pid)
                self.ends_without_a_signal(request_id)
                self.daemon.stop()

    def test_what_runs_behind_the_client_is_not_taken_for_it(self):
        self.start("interactive", exit_after=0.3, before="sleep 299 & ")
        self.ends_without_a_signal(self.order(self.name))


class Rosters(HardEnd):
    def start(self, **options):
        self.team = self.make_team(members=["ada", "bob"], era=wire.ERA1)
        self.worker = self.start_pane_worker(self.tmux, self.team, "ada", wire.ERA1, exit_after=0.3, more=EMPTY, **options)
        self.bob = self.start_worker(self.team, "bob", wire.ERA1)
        self.team.change_member("bob", tmuxPaneId="in-process", backendType="in-process")
        self.lead(self.team)
        wait_for("the roster is known", lambda: self.status()["roster"]["state"] == "ok")
        self.before = self.team.config.read_bytes()

    def without(self, name):
        roster = wire.json.loads(self.before)
        roster["members"] = [m for m in roster["members"] if m["name"] != name]
        return wire.stringify(roster, 2).encode()

    def truncate(self):
        os.truncate(self.team.config, 0)

    def mended(self, wanted):
        wait_for("the roster is mended", lambda: self.team.config.read_bytes() == wanted)
        # The bytes are there before the lock and the temporary file are gone, also after a kill between the two.
        wait_for("nothing is left beside it",
                 lambda: not [n for n in os.listdir(self.team.folder) if n == "config.json.lock" or n.endswith(".tmp")])
        wait_for("that is seen", lambda: self.status()["roster"]["state"] == "ok")

    def test_a_shutdown_goes_on_and_the_others_stay(self):
        self.start()
        done = self.daemon.cli("shutdown", "ada", "--wait")
        self.assertIn("the shutdown is done", done.stdout)
        self.mended(self.without("ada"))
        self.assertEqual(len(self.daemon.log("roster.restored")), 1)
        request_id = self.bob.ask("permission", tool="Bash", input={"command": "git status"})
        self.assertEqual(self.answer(self.bob, request_id)["event"], "ran")

    def test_a_worker_that_ends_by_itself_stays_a_member(self):
        self.start()
        self.worker.do("exit")
        self.mended(self.before)

    def test_a_daemon_that_starts_then_serves_the_team(self):
        self.start()
        self.daemon.kill()
        self.truncate()
        self.daemon.start()
        request_id = self.bob.ask("permission", tool="Bash", input={"command": "git status"})
        state = wait_for("status says why it waits", lambda: (lambda r: r if r["state"] == "empty" else None)(
            self.status()["roster"]))
        self.assertIn("0 bytes", state["detail"])
        self.assertEqual(self.answer(self.bob, request_id)["event"], "ran")
        self.mended(self.before)

    def test_while_somebody_holds_the_lock_it_is_served_and_not_mended(self):
        self.start()
        self.daemon.kill()
        self.truncate()
        with wire.Lock(self.team.config):
            self.daemon.start()
            request_id = self.bob.ask("permission", tool="Bash", input={"command": "git status"})
            self.assertEqual(self.answer(self.bob, request_id)["event"], "ran")
            for _ in range(30):
                os.utime(str(self.team.config) + ".lock")
                self.daemon.polled(2)
            self.assertEqual(self.team.config.read_bytes(), b"")
        self.mended(self.before)

    def test_what_is_torn_or_new_is_left_to_a_person(self):
        for damage in (b"{", b"\0\0\0\0"):
            with self.subTest(damage=damage):
                self.start()
                with open(self.team.config, "wb") as file:
                    file.write(damage)
                self.daemon.polled(120)
                self.assertEqual(self.team.config.read_bytes(), damage)
                self.daemon.stop()
        # Not the file that was seen: another one came in its place, and nobody knows what stood in it.
        self.start()
        wire.replace(self.team.config, "")
        self.daemon.polled(120)
        self.assertEqual(self.team.config.read_bytes(), b"")
        self.assertEqual(self.daemon.log("roster.restored"), [])

    def test_a_writer_that_is_only_slow_is_not_overtaken(self):
        self.start()
        for _ in range(4):
            self.truncate()
            for _ in range(15):
                self.daemon.polled(2)
                os.utime(self.team.config)  # it lives, and says so much more often than the daemon waits
        self.assertEqual(self.team.config.read_bytes(), b"")
        with open(self.team.config, "wb") as file:
            file.write(self.before)
        self.daemon.polled(20)
        self.assertEqual(self.daemon.log("roster.restored"), [])

    def test_beside_another_lead_nothing_is_mended(self):
        self.team = self.make_team(members=["ada", "bob"], era=wire.ERA1)
        self.lead(self.team, team_more='role = "interceptor"\n')
        wait_for("the roster is known", lambda: self.status()["roster"]["state"] == "ok")
        self.truncate()
        self.daemon.polled(120)
        self.assertEqual(self.team.config.read_bytes(), b"")
        self.assertEqual(self.status()["roster"]["state"], "empty")

    def test_kill_9_while_it_is_mended(self):
        self.start()
        for pause in (2.9, 3.0, 3.05, 3.1, 3.2):
            self.truncate()
            time.sleep(pause)  # clock: a kill about the moment of the write; each moment has to end well
            self.daemon.kill()
            self.assertIn(self.team.config.read_bytes(), (b"", self.before))
            self.daemon.start()
            self.mended(self.before)


if __name__ == "__main__":
    unittest.main()
