"""Ending a worker, from the command to its last trace: whatever the worker makes of it, whether it lives in a pane or not, with and
without force. Panes and processes are real; those of others stand beside them and must not notice anything."""

import datetime
import subprocess
import sys
import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for
from worker import MANNERS

SETTINGS = """
[shutdown]
remind_after = "%s"
timeout = "%s"
grace = "1s"
tmux = ["%s"]
"""
FINAL = ("cleaned", "rejected", "timed_out")
REMIND_AFTER_S = 4


class ShutdownTest(ProcessTest):
    """A team with real panes, a daemon that leads it, and bystanders."""

    def setUp(self):
        super().setUp()
        self.tmux = self.start_tmux()
        self.pane_of_others = self.tmux.bystander()
        # Somebody else's process that looks like a worker of ours.
        self.namesake = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", "--agent-id", "ada@demo"])
        self.stops.append(lambda: (self.namesake.kill(), self.namesake.wait()))

    def tearDown(self):
        self.assertTrue(self.pane_of_others.untouched(), "a pane of somebody else was touched")
        self.assertIsNone(self.namesake.poll(), "a process of somebody else was touched")

    def answered_within(self, request_id, seconds):
        """Whether the worker's refusal was taken within this time, by the daemon's log."""
        asked, refused = (self.daemon.log(event, request_id=request_id, **more)[0]["ts"] for event, more in (
            ("shutdown.requested", {}), ("shutdown.state", {"new": "rejected"})))
        moment = lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))  # noqa: E731
        return (moment(refused) - moment(asked)).total_seconds() < seconds

    def lead(self, team, remind_after="%ds" % REMIND_AFTER_S, timeout="12s", **options):
        self.start_daemon(team, toml_more=SETTINGS % (remind_after, timeout, '", "'.join(self.tmux.command)), **options)

    def order(self, member, **fields):
        """Asks for the end of a worker and returns the request's id."""
        answer = self.daemon.ask("shutdown", member=member, by="test", **fields)
        self.assertTrue(answer["ok"], answer)
        self.assertEqual([s["member"] for s in answer["shutdowns"]], [member], answer)
        return answer["shutdowns"][0]["request_id"]

    def shutdown(self, request_id):
        return self.daemon.ask("shutdowns", id=request_id)["shutdowns"][0]

    def ends(self, request_id, *states):
        return wait_for("%s ends as %s; it is %s" % (request_id, states, self.shutdown(request_id)), lambda: (
            lambda s: s if s["state"] in states else None)(self.shutdown(request_id)), pause=0.1)

    def is_told(self, name, times=1):
        """The lead is told that this worker has gone, once; the message follows the end of the shutdown."""
        wait_for("the lead is told of the end of %s" % name, lambda: self.told(name) >= times)
        self.assertEqual(self.told(name), times)

    def told(self, name):
        """How often the lead was told that this worker has gone."""
        self.take()
        return sum(m["from"] == "system" and "teammate_terminated" in m["text"] and name in m["text"] for m in self.heard)

    def requests_to(self, worker):
        return [e["id"] for e in worker.events("shutdown")]


class Matrix(ShutdownTest):
    """Every manner of a worker x where it lives x force. One team and one daemon carry all cells at once."""

    # where it lives: a pane whose shell stays behind, a pane that goes with it, no pane that anybody knows of
    CALM = (("shell", wire.ERA2), ("shell", wire.ERA1), ("bare", wire.ERA2), ("none", wire.ERA1), ("none", wire.ERA2))
    FORCED = (("shell", wire.ERA1), ("bare", wire.ERA1), ("none", wire.ERA2))

    @staticmethod
    def expected(manner, place, force):
        if manner == "reject":
            return "rejected"
        if manner in ("approve", "reminded", "survive") or force:
            return "cleaned"
        # A process that is known and has ended needs no consent; one that nobody knew may still be at work.
        return "cleaned" if manner == "die" and place != "none" else "timed_out"

    def start_cell(self, manner, place, era):
        name = "%s-%s-%d" % (manner, place, era == wire.ERA2)
        backend = "in-process" if place == "none" else "tmux"
        self.team.add_member(name, pane=backend if place == "none" else "", backend=backend)
        options = dict(on_shutdown=manner, exit_after=0.5, poll=0.2, stubborn=era == wire.ERA1)
        if place == "none":
            return self.start_worker(self.team, name, era, **options)
        return self.start_pane_worker(self.tmux, self.team, name, era, shell=place == "shell", **options)

    def give_tasks(self, name):
        """Two open ones, under its name and under its id, and a finished one."""
        number = 10 * self.team.roster()["members"].index(self.team.member(name))
        return {number: self.team.add_task(number, owner=name, status="in_progress"),
                number + 1: self.team.add_task(number + 1, owner="%s@%s" % (name, self.team.name)),
                number + 2: self.team.add_task(number + 2, owner=name, status="completed")}

    def run_matrix(self, places, force):
        self.team = self.make_team(members=["keeper"])
        self.lead(self.team)
        kept = self.give_tasks("keeper")
        cells = []
        for place, era in places:
            for manner in MANNERS:
                worker = self.start_cell(manner, place, era)
                cells.append((manner, place, worker, self.give_tasks(worker.name)))
        keeper = self.team.member("keeper")
        wait_for("all are known", lambda: len(self.status()["members"]) >= len(cells) + 1)
        ids = {worker.name: self.order(worker.name, **({"force_after_ms": 7000} if force else {})) for _, _, worker, _ in cells}
        for manner, place, worker, tasks in cells:
            with self.subTest(manner=manner, place=place, era=worker.era, force=force):
                self.check_cell(manner, place, worker, tasks, self.ends(ids[worker.name], *FINAL), force)
        self.assertEqual(self.team.member("keeper"), keeper)
        for number, before in kept.items():
            self.assertEqual(self.team.task_path(number).read_bytes(), before)
        self.assertEqual(len(self.team.roster()["members"]), 2 + sum(
            self.expected(m, p, force) != "cleaned" for m, p, _, _ in cells))
        self.assertEqual([e for e in self.daemon.log() if e["level"] == "error"], [])

    def check_cell(self, manner, place, worker, tasks, shutdown, force):
        expected = self.expected(manner, place, force)
        self.assertEqual(shutdown["state"], expected, shutdown)
        self.assertEqual(self.requests_to(worker), [shutdown["request_id"]])
        cleaned = expected == "cleaned"
        reminders = [e for e in worker.events("chat") if shutdown["request_id"] in e["text"]]
        self.assertEqual(self.team.member(worker.name) is None, cleaned)
        self.is_told(worker.name, int(cleaned))
        for number, before in tasks.items():
            after = self.team.task_path(number).read_bytes()
            self.assertEqual(after, given_back(before) if cleaned and b'"completed"' not in before else before)
        if place == "none":
            self.assertTrue(shutdown["left_alone"], "nobody says that no pane was touched")
            left_by_itself = manner in ("approve", "die") or (manner == "reminded" and (reminders or not force))
            self.assertEqual(worker.runs(), not left_by_itself, "a process was touched that nobody recorded")
        else:
            self.assertEqual(shutdown["pane_id"], worker.pane)
            self.assertEqual(worker.runs(), not cleaned)
            self.assertEqual(worker.in_pane(), not cleaned)
        if manner == "reject":
            self.assertIn("task 3 is still running", shutdown["answer"])
            self.assertTrue([m for m in self.heard if m["from"] == worker.name and "task 3 is still running" in m["text"]],
                            "the lead does not know why")
        if manner in ("prose", "reminded", "ignore"):  # with force it may be ended before it is reminded, or before it looks
            self.assertIn(len(reminders), (0, 1) if force else (1,), reminders)
        elif manner == "die":
            self.assertEqual(reminders, [])
        elif manner == "reject":  # under load it may refuse later than it is reminded
            in_time = self.answered_within(shutdown["request_id"], REMIND_AFTER_S)
            self.assertLessEqual(len(reminders), 0 if in_time else 1)

    def test_without_force_nobody_is_ended_who_did_not_agree(self):
        self.run_matrix(self.CALM, force=False)

    def test_with_force_the_silent_end_too_and_who_refuses_goes_on(self):
        self.run_matrix(self.FORCED, force=True)


def given_back(task):
    """The bytes of a task without its owner, pending."""
    lines = [line for line in task.split(b"\n") if not line.startswith(b'  "owner":')]
    return b"\n".join(b'  "status": "pending",' if line.startswith(b'  "status":') else line for line in lines)


class Forgeries(ShutdownTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team(members=["ada", "bob"])
        self.ada = self.start_pane_worker(self.tmux, self.team, "ada", on_shutdown="ignore")
        self.bob = self.start_pane_worker(self.tmux, self.team, "bob", on_shutdown="ignore")
        self.lead(self.team, remind_after="10min", timeout="1h")

    def refused(self, worker, payload, *codes):
        known = {e["message_key"] for e in self.daemon.ask("quarantine")["entries"]}
        worker.do("raw", text=wire.stringify(payload))
        new = wait_for("it is refused", lambda: [e for e in self.daemon.ask("quarantine")["entries"]
                                                 if e["message_key"] not in known])
        self.assertEqual(len(new), 1)
        self.assertIn(new[0]["code"], codes)
        self.assertEqual(new[0]["sender"], worker.name)
        self.assertTrue(new[0]["reason"])

    def nothing_happened_to(self, *workers):
        for worker in workers:
            self.assertTrue(worker.runs() and worker.in_pane())
            self.assertIsNotNone(self.team.member(worker.name))
            self.assertEqual(self.told(worker.name), 0)

    def test_answers_to_what_nobody_asked_are_refused(self):
        self.refused(self.bob, wire.shutdown_approved("bob", "shutdown-%d@bob" % wire.now_ms()), "shutdown.never_requested")
        self.refused(self.bob, wire.shutdown_approved("bob", "unspecified"), "shutdown.never_requested")
        self.refused(self.bob, wire.shutdown_rejected("bob", "shutdown-1@bob", "no"), "shutdown.never_requested")
        self.nothing_happened_to(self.ada, self.bob)

    def test_nobody_agrees_for_somebody_else(self):
        request_id = self.order("ada")
        self.refused(self.bob, wire.shutdown_approved("bob", request_id), "shutdown.other_worker")
        self.refused(self.bob, wire.shutdown_approved("ada", request_id), "sender.disagrees", "shutdown.other_worker")
        self.refused(self.bob, wire.shutdown_rejected("bob", request_id, "no"), "shutdown.other_worker")
        self.assertEqual(self.shutdown(request_id)["state"], "requested")
        self.nothing_happened_to(self.ada, self.bob)

    def test_the_pane_in_a_message_is_not_the_pane_that_is_closed(self):
        request_id = self.order("ada")
        self.ada.do("raw", text=wire.stringify(wire.shutdown_approved("ada", request_id, pane=self.bob.pane)))
        self.ends(request_id, "cleaned")
        self.assertFalse(self.ada.runs() or self.ada.in_pane())
        self.nothing_happened_to(self.bob)

    def test_a_second_answer_is_refused(self):
        request_id = self.order("ada")
        self.ada.do("raw", text=wire.stringify(wire.shutdown_approved("ada", request_id)))
        wait_for("the first counts", lambda: self.shutdown(request_id)["state"] != "requested")
        late = wire.shutdown_approved("ada", request_id)
        late["timestamp"] = "2026-01-01T00:00:00.000Z"
        # Once she is cleaned away she is nobody who may say such a thing at all.
        self.refused(self.ada, late, "shutdown.already_answered", "direction.shutdown_approved")
        self.ends(request_id, "cleaned")
        self.is_told("ada")

    def test_a_worker_cannot_shut_down_its_lead(self):
        self.refused(self.bob, wire.shutdown_request("team-lead", sender="team-lead"), "sender.disagrees")
        wish = wire.shutdown_request("team-lead", sender="bob")
        self.bob.do("raw", text=wire.stringify(wish))
        self.assertEqual(self.pending_id(wish["requestId"])["kind"], "stop")  # it can only wish to stop itself
        self.assertTrue(self.daemon.running())
        self.nothing_happened_to(self.ada, self.bob)

    def test_an_approval_after_the_time_ran_out_still_counts(self):
        self.daemon.stop()
        self.lead(self.team, remind_after="10min", timeout="1s")
        request_id = self.order("ada")
        self.ends(request_id, "timed_out")
        self.nothing_happened_to(self.ada)
        self.ada.do("raw", text=wire.stringify(wire.shutdown_approved("ada", request_id)))
        self.ends(request_id, "cleaned")
        self.assertFalse(self.ada.runs() or self.ada.in_pane())


class Commands(ShutdownTest):
    def test_one_or_all_are_asked_and_told_apart(self):
        team = self.make_team(members=["ada", "bob", "eve"])
        workers = [self.start_worker(team, name, on_shutdown="ignore") for name in ("ada", "bob", "eve")]
        for name in ("ada", "bob", "eve"):
            team.change_member(name, tmuxPaneId="in-process", backendType="in-process")
        self.lead(team, timeout="1h")
        self.daemon.cli("shutdown", "ada", "--reason", "the work is done", "--remind-after", "10min")
        request = wait_for("she is asked", lambda: workers[0].events("shutdown"))[0]
        self.assertEqual(wire.as_payload(request["text"])["reason"], "the work is done")
        self.assertRegex(request["id"], r"^shutdown-\d+@ada$")
        answer = self.daemon.ask("shutdown", member="ada", by="test")
        self.assertEqual((answer["ok"], answer["code"]), (False, "shutdown.open"))
        answer = self.daemon.ask("shutdown", member="mallory", by="test")
        self.assertEqual((answer["ok"], answer["code"]), (False, "member.unknown"))
        self.assertFalse(self.daemon.ask("shutdown", member="team-lead", by="test")["ok"])
        answer = self.daemon.ask("shutdown", all=True, by="test")
        self.assertEqual(sorted(s["member"] for s in answer["shutdowns"]), ["bob", "eve"])
        self.assertEqual([(r["member"], r["code"]) for r in answer["refused"]], [("ada", "shutdown.open")])
        for worker in workers:
            wait_for("%s is asked" % worker.name, lambda: worker.events("shutdown"))
        self.assertEqual({s["member"] for s in self.status()["shutdowns"]}, {"ada", "bob", "eve"})
        self.assertTrue(all(len(self.requests_to(w)) == 1 for w in workers))

    def test_all_from_the_command_line(self):
        team = self.make_team(members=["ada", "bob"])
        for name in ("ada", "bob"):
            self.start_pane_worker(self.tmux, team, name, exit_after=0.1)
        self.lead(team)
        self.daemon.cli("shutdown", "--all")
        wait_for("both are cleaned away", lambda: len(team.roster()["members"]) == 1)
        wait_for("nothing is open", lambda: self.status()["shutdowns"] == [])
        self.is_told("ada")
        self.is_told("bob")

    def test_who_has_gone_gets_no_mail(self):
        """A request that could not be written must not wait for the next worker of that name."""
        team = self.make_team(members=["ada"])
        worker = self.start_pane_worker(self.tmux, team, "ada")
        self.lead(team, remind_after="100ms")
        with wire.Lock(team.inbox("ada")):
            request_id = self.order("ada", force_after_ms=1000)
            worker.stop()
            self.ends(request_id, "cleaned")
        wait_for("nothing is owed to her", lambda: self.status()["replies_owed"] == 0)
        self.assertEqual(wire.read_inbox(team.inbox("ada")), [])

    def test_what_is_no_pane_of_ours_is_not_touched_and_that_is_said(self):
        strange, other = self.tmux.bystander(), self.tmux.bystander()
        cases = {"in": ("in-process", "in-process"), "two": ("iterm2", other.pane), "none": ("tmux", ""),
                 "gone": ("tmux", "%4711"), "odd": ("tmux", strange.pane + " ; kill-server"), "reused": ("tmux", strange.pane)}
        team = self.make_team(members=[])
        for name, (backend, pane) in cases.items():
            team.add_member(name, pane=pane, backend=backend)
        # Its worker joined before this pane was made: the id is that of an earlier server.
        team.change_member("reused", joinedAt=wire.now_ms() - 3600_000)
        self.lead(team)
        for name in cases:
            with self.subTest(name):
                request_id = self.order(name)
                self.assertTrue(self.shutdown(request_id)["left_alone"])
                team.say(name, wire.shutdown_approved(name, request_id, pane=strange.pane))
                self.assertEqual(self.ends(request_id, "cleaned")["pane_id"], "")
                self.assertTrue(strange.untouched() and other.untouched())


if __name__ == "__main__":
    unittest.main()
