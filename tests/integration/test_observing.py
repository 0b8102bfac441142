"""Beside others: who else answers, who else consumes, what was lost on the way; as leader, as front and as observer."""

import os
import shutil
import time
import types
import unittest

import team as wire
from case import ProcessTest
from daemon import team_toml, wait_for

ERAS = (wire.ERA1, wire.ERA2)


def make_request(worker="ada", command="make deploy"):
    return wire.permission_request(worker, "Bash", {"command": command})


class AnswersOfOthers(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.start_daemon(self.team)

    def test_an_answer_somebody_else_wrote_closes_our_request(self):
        requests = {"permission": (make_request(), lambda a: wire.permission_answer(a)),
                "denied": (make_request(), lambda a: wire.permission_answer(a, False)),
                "sandbox": (wire.sandbox_request("ada", "demo", "h.test"), lambda a: {
                    "type": "sandbox_permission_response", "requestId": a["requestId"], "host": "h.test", "allow": False,
                    "timestamp": wire.now_iso()}),
                "plan": (wire.plan_request("ada", "demo", "# P"), lambda a: {
                    "type": "plan_approval_response", "requestId": a["requestId"], "approved": True, "timestamp": wire.now_iso(),
                    "permissionMode": "default"})}
        for kind, (request, answer) in requests.items():
            with self.subTest(kind):
                request_id = request.get("request_id") or request["requestId"]
                self.team.say("ada", request)
                self.pending_id(request_id)
                self.team.say("team-lead", answer(request), to="ada")
                wait_for("it is closed", lambda: not self.daemon.ask("pending")["requests"])
                late = self.daemon.answer("deny", request_id, by="test", reason="late")
                self.assertEqual((late["ok"], late["code"]), (False, "request.already_decided"))
                shown = self.daemon.cli("approve", request_id, expect=1)
                self.assertIn("answered elsewhere", (shown.stdout + shown.stderr).replace("_", " "))
                self.assertEqual(len(self.team.replies("ada", request_id)), 1)
                self.assertIn("answered_elsewhere", self.daemon.cli("trace", request_id).stdout)

    def test_an_answer_that_no_worker_understands_is_reported_and_the_request_stays_open(self):
        worker = self.start_worker(self.team, "ada", poll=1.0)  # slow enough for us to see what stands in its inbox
        for number, wrong in enumerate((
                lambda i: {"type": "permission_response", "requestId": i, "subtype": "success", "response": {}},
                lambda i: {"type": "permission_response", "request_id": i, "approved": True},
                lambda i: {"type": "permission_response", "request_id": i, "response": {}}), 1):
            request_id = worker.ask("permission", tool="Bash", input={"command": "make deploy"})
            with self.subTest(wrong(request_id)):
                self.pending_id(request_id)
                self.team.say("team-lead", wrong(request_id), to="ada")
                told = wait_for("it is reported", lambda: self.daemon.log("answer.malformed", inbox="ada", request_id=request_id))
                self.assertEqual((len(told), told[0]["level"]), (1, "warn"))
                wait_for("the worker has seen it", lambda: len(worker.events("ignored")) == number)
                self.pending_id(request_id)
                self.daemon.cli("approve", request_id)
                self.assertEqual(self.answer(worker, request_id)["event"], "ran")

    def test_what_a_writer_without_a_lock_wiped_out_comes_again_byte_for_byte(self):
        self.team.say("bob", "unread and older", to="ada")
        request = make_request(command="git status")
        self.team.say("ada", request)
        ours = wait_for("the answer is there", lambda: self.team.replies("ada", request["request_id"]))[0]
        before = self.entry_bytes(ours)
        older = wire.read_inbox(self.team.inbox("ada"))[0]
        wire.replace(self.team.inbox("ada"), wire.stringify([older, wire.entry("bob", "and this wiped it out")], 2))
        again = wait_for("it comes again", lambda: self.team.replies("ada", request["request_id"]))
        self.assertEqual([self.entry_bytes(e) for e in again], [before])
        wait_for("it is told", lambda: self.daemon.log("reply.rewritten"))
        self.assertIn("and this wiped it out", self.team.inbox("ada").read_text("utf-8"))

    def entry_bytes(self, entry):
        """The entry as it stands in the file, found by its id."""
        text = self.team.inbox("ada").read_text("utf-8")
        middle = text.index(entry["msg_id"])
        return text[text.rindex("  {", 0, middle):text.index("\n  }", middle)]

    def test_that_a_worker_took_its_answer_is_seen(self):
        self.team.add_member("old")
        for name, era in (("ada", wire.ERA2), ("old", wire.ERA1)):
            worker = self.start_worker(self.team, name, era)
            request_id = worker.ask("permission", tool="Bash", input={"command": "git status"})
            self.answer(worker, request_id)
            wait_for("it is seen", lambda: self.daemon.log("reply.read", request_id=request_id))


class Inboxes(ProcessTest):
    def test_an_inbox_of_nobody_is_told_once_and_shown(self):
        team = self.make_team()
        self.start_daemon(team)
        team.say("ada", "hello?", to="team_lead")
        wait_for("it is told", lambda: self.daemon.log("inbox.orphaned"))
        team.say("ada", "hello??", to="team_lead")
        wait_for("it is counted", lambda: self.status()["orphaned_inboxes"] == [{"inbox": "team_lead", "entries": 2, "unread": 2}])
        self.assertEqual([(e["inbox"], e["level"]) for e in self.daemon.log("inbox.orphaned")], [("team_lead", "warn")])
        self.assertIn("team_lead", self.daemon.cli("status").stdout)

    def test_what_stands_under_an_alias_of_the_lead_reaches_the_lead(self):
        team = self.make_team()
        team.say("ada", "said before the start", to="leader")
        self.start_daemon(team, team_more='aliases = ["leader", "Team-Lead"]\n')
        team.say("bob", "said later", to="Team-Lead")
        request = make_request(command="git status")
        team.say("ada", request, to="leader")
        got = []
        wait_for("both reach the lead", lambda: got.extend(self.daemon.cli_lines("recv", "--format", "json")) or len(got) >= 2)
        self.assertEqual(sorted(m["text"] for m in got), ["said before the start", "said later"])
        wait_for("they are marked", lambda: all(e["read"] for n in ("leader", "Team-Lead") for e in wire.read_inbox(team.inbox(n))))
        self.daemon.polled(110)  # at 50 ms: longer than an inbox may be older than its owner's name (5 s)
        self.assertEqual((self.status()["orphaned_inboxes"], self.daemon.log("inbox.orphaned")), ([], []))

    def test_a_worker_s_inbox_is_never_marked(self):
        team = self.make_team()
        team.say("bob", "between us", to="ada")
        team.say("team-lead", "an order of somebody else", to="ada")
        before = team.inbox("ada").read_bytes()
        self.start_daemon(team)
        self.daemon.polled()
        self.assertEqual(team.inbox("ada").read_bytes(), before)


class Front(ProcessTest):
    def start(self, poll="50ms", **options):
        self.start_daemon(self.team, team_more='role = "interceptor"\n', poll=poll, **options)

    def test_exactly_what_a_rule_decides_is_answered_and_marked(self):
        self.team = self.make_team()
        requests = {name: make_request(command=command) for name, command in (
            ("allowed", "git status"), ("open", "make deploy"), ("denied", "rm -rf /"))}
        for request in requests.values():
            self.team.say("bob", "chat before")
            self.team.say("ada", request)
        self.team.say("mallory", dict(make_request("mallory", "git status")))
        self.team.say("bob", wire.idle_notification("bob"))
        self.team.say("ada", {"type": "mode_set_request", "mode": "plan", "from": "team-lead"})
        entries = wire.read_inbox(self.team.lead_inbox)
        for entry in entries:
            if any(requests[name]["request_id"] in entry["text"] for name in ("allowed", "denied")):
                entry["read"] = True
        expected = wire.stringify(entries, 2).replace('"read": true', '"read": true ').encode()
        self.start()
        wait_for("those two are answered", lambda: all(
            self.team.replies("ada", requests[name]["request_id"]) for name in ("allowed", "denied")))
        wait_for("those two are marked", lambda: self.team.lead_inbox.read_bytes() == expected)
        self.daemon.polled()
        self.assertEqual(self.team.lead_inbox.read_bytes(), expected)
        self.assertEqual(self.team.replies("ada", requests["open"]["request_id"]), [])
        self.assertEqual(self.status()["chat"]["queued"], 0)
        self.assertEqual(self.status()["role"], "interceptor")
        self.assertFalse(self.team.inbox("mallory").exists())
        self.assertFalse(self.daemon.ask("shutdown", member="ada", by="test")["ok"])

    def test_beside_a_lead_that_polls_each_gets_what_is_its_own(self):
        for era in ERAS:
            with self.subTest(era=era):
                self.team = self.make_team("beside%d" % ERAS.index(era), members=["old", "new"])
                lead = self.start_lead(self.team, era, poll=1.0, answer_after=0.2)  # it may be the first
                self.start()
                seen_before = len(lead.took())
                workers = [self.start_worker(self.team, "old", wire.ERA1), self.start_worker(self.team, "new", wire.ERA2)]
                decided, left = [], []
                def ask_and_say(number):
                    for worker in workers:
                        decided.append((worker, worker.ask("permission", tool="Bash", input={
                            "command": "%s %d" % ("git status" if number % 3 else "rm", number)})))
                        worker.do("say", text="%s says %d" % (worker.name, number))
                        left.append("%s says %d" % (worker.name, number))

                def chat_and_requests():
                    """What the lead took since it began. The lead may be first at a request; each request has one answer all the same."""
                    took = [e["text"] for e in lead.took()[seen_before:]]
                    return [t for t in took if wire.as_payload(t) is None], [t for t in took if wire.as_payload(t)]

                for number in range(8):
                    ask_and_say(number)
                    time.sleep(0.15)  # clock: the pace of the workers; nothing is judged by it
                for worker, request_id in decided:
                    self.answer(worker, request_id)
                wait_for("the lead has the rest", lambda: set(chat_and_requests()[0]) >= set(left))
                self.daemon.polled(24)
                self.assertEqual(sorted(chat_and_requests()[0]), sorted(left))
                # A lead that comes after the decisions is asked about none of them.
                lead.stop()
                left.clear()
                for number in range(8, 12):
                    ask_and_say(number)
                for worker, request_id in decided:
                    self.answer(worker, request_id)
                wait_for("they are marked", lambda: all(
                    e["read"] for e in wire.read_inbox(self.team.lead_inbox) if wire.as_payload(e["text"])))
                os.unlink(lead.log_path)
                lead, seen_before = self.start_lead(self.team, era, poll=1.0, answer_after=0.2), 0
                wait_for("the lead has the rest", lambda: set(chat_and_requests()[0]) >= set(left))
                self.assertEqual((sorted(chat_and_requests()[0]), chat_and_requests()[1]), (sorted(left), []))
                self.assertEqual(self.status()["chat"]["queued"], 0)
                self.assertEqual([e for e in self.daemon.log() if e["level"] == "error"], [])
                for worker in workers:
                    worker.stop()
                    os.unlink(worker.log_path)
                lead.stop()
                self.daemon.stop()

    def test_beside_a_faster_lead_every_request_is_answered_and_nothing_is_an_error(self):
        self.team = self.make_team()
        lead = self.start_lead(self.team, wire.ERA1, poll=0.01, answer_after=0)
        self.start(poll="100ms")
        worker = self.start_worker(self.team, "ada")
        for number in range(20):
            request_id = worker.ask("permission", tool="Bash", input={"command": "git status %d" % number})
            self.assertEqual(self.answer(worker, request_id)["event"], "ran")
        self.assertTrue(lead.took())
        # An answer that was read and removed between two polls is not seen: of such a request it is known that the lead has it.
        known = lambda: {event.get("request_id") for event in self.daemon.log("request.answered_by_lead")}  # noqa: E731
        wait_for("each is closed or the lead's", lambda: {r["request_id"] for r in self.daemon.ask("pending")["requests"]} <= known())
        self.assertEqual([e for e in self.daemon.log() if e["level"] == "error"], [])

    def test_a_race_that_only_the_lead_knows_it_won_is_told(self):
        """It had read the request before our mark, and marks it once more: its dialog is open."""
        self.team = self.make_team(era=wire.ERA1)
        goes_on = self.folder / "the lead goes on"
        lead = self.start_lead(self.team, wire.ERA1, poll=0.02, reads_first=goes_on)
        worker = self.start_worker(self.team, "ada", wire.ERA1)
        request_id = worker.ask("permission", tool="Bash", input={"command": "git status"})
        wait_for("the lead has read it", lambda: [e for e in lead.events() if e["event"] == "looked"])
        self.start()
        self.assertEqual(self.answer(worker, request_id)["event"], "ran")
        goes_on.touch()
        told = wait_for("it is told", lambda: self.daemon.log("request.answered_by_lead"))
        self.assertEqual([e["message_key"] for e in told], [e["message_key"] for e in self.daemon.log("request.decided")])
        self.daemon.polled()
        self.assertEqual(len(self.daemon.log("request.answered_by_lead")), 1)

    def test_what_somebody_wrote_beside_our_mark_is_no_lost_race(self):
        self.team = self.make_team(era=wire.ERA1)
        self.start()
        worker = self.start_worker(self.team, "ada", wire.ERA1)
        for number in range(3):
            request_id = worker.ask("permission", tool="Bash", input={"command": "git status %d" % number})
            self.assertEqual(self.answer(worker, request_id)["event"], "ran")
            wait_for("it is marked", lambda: all(e["read"] for e in wire.read_inbox(self.team.lead_inbox) or [{"read": False}]))
        worker.do("say", text="done")
        self.daemon.polled()
        self.assertEqual(self.daemon.log("request.answered_by_lead"), [])

    def test_a_lost_race_is_told(self):
        self.team = self.make_team()
        self.start()
        request = make_request(command="git status")
        wire.replace(self.team.lead_inbox, wire.stringify([dict(wire.entry("ada", wire.stringify(request)), read=True)], 2))
        told = wait_for("it is told", lambda: self.daemon.log("request.answered_by_lead"))
        self.assertEqual([(e["level"], e["request_id"]) for e in told], [("info", request["request_id"])])
        self.daemon.polled()
        self.assertEqual(self.team.replies("ada"), [])
        self.assertEqual([e for e in self.daemon.log() if e["level"] == "error"], [])


class Observer(ProcessTest):
    def start(self, **options):
        self.start_daemon(self.team, team_more='role = "observer"\n', **options)

    def tree(self):
        """Everything there is to see of the team's files; reading them leaves no trace in it."""
        found = {}
        for folder in (self.team.root, self.team.tasks.parent):
            for path in sorted(folder.rglob("*")) + [folder]:
                if path.exists():
                    facts = path.lstat()
                    found[str(path)] = (facts.st_ino, facts.st_mode, facts.st_mtime_ns, facts.st_ctime_ns,
                                        path.read_bytes() if path.is_file() else None)
        return found

    def test_it_writes_nothing_at_all(self):
        self.team = self.make_team()
        requests = [make_request(), make_request(command="git status"), make_request(command="rm x")]
        for request in requests:
            self.team.say("ada", request)
        self.team.say("bob", "chat")
        self.team.say("bob", {"type": "mode_set_request", "mode": "plan", "from": "team-lead"})
        self.team.say("ada", "to nobody", to="team_lead")
        self.team.say("team-lead", {"type": "permission_response", "requestId": requests[0]["request_id"], "approved": True}, to="ada")
        self.team.add_task(1, owner="ada")
        self.team.inbox("bob").write_bytes(b'[{"from": "torn')
        before = self.tree()
        self.start(timeout="1s")
        wait_for("nobody answers, and that is told", lambda: len(self.daemon.log("request.unanswered")) == 3)
        for verb, fields in (("send", {"member": "ada", "text": "x"}), ("mode", {"member": "ada", "mode": "plan"}),
                             ("allow", {"rule": "Bash(make:*)"}), ("shutdown", {"member": "ada"}),
                             ("approve", {"id": requests[0]["request_id"]})):
            with self.subTest(verb):
                answer = self.daemon.ask(verb, by="test", **fields)
                self.assertFalse(answer["ok"], answer)
                self.assertTrue(answer["message"])
        self.daemon.polled()
        self.daemon.stop()
        self.assertEqual(self.tree(), before)

    def test_it_tells_what_the_lead_took_and_how_long_that_waited(self):
        for era in ERAS:
            with self.subTest(era=era):
                self.team = self.make_team("seen%d" % ERAS.index(era))
                self.start(poll="100ms")
                worker = self.start_worker(self.team, "ada")
                for number in range(3):
                    worker.do("say", text="say %d" % number)
                wait_for("all three wait", lambda: self.status()["seen"]["waiting"] == 3)
                self.assertGreater(self.status()["seen"]["oldest_waiting_ms"], 0)
                self.daemon.polled()
                lead = self.start_lead(self.team, era, poll=0.2, answer_after=0.3)
                wait_for("they were taken", lambda: (self.status()["seen"]["consumed"], self.status()["seen"]["waiting"]) == (3, 0))
                self.assertGreaterEqual(self.status()["seen"]["longest_ms"], 400)
                told = self.daemon.log("message.consumed")
                self.assertEqual(len(told), 3)
                self.assertTrue(all(int(e["latency_ms"]) >= 400 for e in told))
                request_id = worker.ask("permission", tool="Bash", input={"command": "git status"})
                self.assertEqual(self.answer(worker, request_id)["event"], "ran")
                self.assertEqual(self.status()["chat"]["queued"], 0)
                worker.stop()
                os.unlink(worker.log_path)
                lead.stop()
                self.daemon.stop()
                os.unlink(self.daemon.log_path)


class OnCompetingConsumer(ProcessTest):
    """A leader that finds somebody else at its inbox."""

    def start(self, what, era):
        self.team = self.make_team()
        # By the timer alone: who is woken by every change is always the first, and then there is nothing to notice.
        self.start_daemon(self.team, team_more='on_competing_consumer = "%s"\nwatch = false\n' % what, poll="200ms")
        # What shows: a flag set before we saw the entry, or what we had read ourselves gone at once.
        self.lead = self.start_lead(self.team, era, poll=0.02 if era == wire.ERA1 else 0.3)

    def chatter(self, done):
        """Messages, so that the other one has something to take, until done()."""
        numbers = iter(range(1000))
        wait_for("it is noticed", lambda: self.team.say("bob", "chat %d" % next(numbers)) and done(), pause=0.1)

    def test_stop_consumes_nothing_until_resumed(self):
        for era in ERAS:
            with self.subTest(era=era):
                self.start("stop", era)
                self.chatter(lambda: self.status()["role"] == "paused")
                self.assertTrue(self.status()["role_reason"])
                self.assertTrue(self.daemon.log("inbox.competing_consumer"))
                self.assertEqual([e["new"] for e in self.daemon.log("inbox.role")], ["paused"])
                self.lead.stop()
                request = make_request(command="git status")
                self.team.say("ada", request)
                self.daemon.polled(14)
                self.assertEqual(self.team.replies("ada", request["request_id"]), [])
                self.assertFalse(wire.read_inbox(self.team.lead_inbox)[-1]["read"])
                self.daemon.cli("resume")
                wait_for("it goes on", lambda: self.team.replies("ada", request["request_id"]))
                self.assertEqual(self.status()["role"], "leader")
                self.daemon.stop()
                os.unlink(self.daemon.log_path)
                shutil.rmtree(self.team.folder)
                shutil.rmtree(self.daemon.state)

    def test_observe_goes_on_watching(self):
        self.start("observe", wire.ERA2)
        self.chatter(lambda: self.status()["role"] == "observer")
        wait_for("nothing is left", lambda: wire.read_inbox(self.team.lead_inbox) == [])
        self.lead.stop()
        wait_for("that is seen", lambda: self.status()["seen"]["waiting"] == 0)
        before = self.status()["seen"]["consumed"]
        request = make_request(command="git status")
        self.team.say("ada", request)
        wait_for("it waits", lambda: self.status()["seen"]["waiting"] == 1)
        self.lead = self.start_lead(self.team, wire.ERA2, poll=0.5)
        wait_for("the other one takes it, and that is seen", lambda: self.status()["seen"]["consumed"] == before + 1)
        self.assertEqual(self.team.replies("ada", request["request_id"]), [])
        self.daemon.ask("resume")
        self.assertEqual(self.status()["role"], "leader")

    def test_ignore_goes_on_leading(self):
        self.start("ignore", wire.ERA1)
        self.chatter(lambda: len(self.daemon.log("inbox.competing_consumer")) >= 3)
        self.assertEqual(self.status()["role"], "leader")
        self.lead.stop()
        request = make_request(command="git status")
        self.team.say("ada", request)
        wait_for("it still answers", lambda: self.team.replies("ada", request["request_id"]))

    def test_a_leader_alone_never_suspects_anybody(self):
        self.team = self.make_team()
        worker = self.start_worker(self.team, "ada")
        self.start_daemon(self.team)
        for number in range(10):
            worker.do("say", text="chat %d" % number)
            request_id = worker.ask("permission", tool="Bash", input={"command": "git status"})
            self.answer(worker, request_id)
            if number == 5:
                self.daemon.kill()
                self.daemon.start()
        self.assertEqual(self.daemon.log("inbox.competing_consumer"), [])
        self.assertEqual(self.status()["role"], "leader")


class Globs(ProcessTest):
    def test_teams_appear_and_vanish_and_a_folder_without_a_roster_is_none(self):
        root = self.folder / "teams"
        root.mkdir()
        self.make_daemon(team_toml(types.SimpleNamespace(name="session-*", root=root))).start()
        self.assertEqual(self.daemon.ask("status")["teams"], [])
        names = lambda: sorted(t["team"] for t in self.daemon.ask("status")["teams"])  # noqa: E731
        for round_number in range(2):
            one, two = self.make_team("session-one"), self.make_team("session-two")
            (root / "session-ghost" / "inboxes").mkdir(parents=True, exist_ok=True)
            (root / "other-team").mkdir(exist_ok=True)
            wait_for("both are served", lambda: names() == ["session-one", "session-two"])
            for team in (one, two):
                request = make_request(command="git status")
                team.say("ada", request)
                wait_for("%s is answered" % team.name, lambda: team.replies("ada", request["request_id"]))
            shutil.rmtree(one.folder)
            wait_for("one has gone", lambda: names() == ["session-two"])
            ghost = self.make_team("session-ghost")
            wait_for("a roster makes it a team", lambda: names() == ["session-ghost", "session-two"])
            os.unlink(ghost.config)
            shutil.rmtree(two.folder)
            wait_for("all have gone", lambda: names() == [])
        self.assertEqual([e for e in self.daemon.log() if e["level"] == "error"], [])

    def test_a_name_that_old_clients_do_not_find_again_is_warned_about(self):
        team = self.make_team("Rig_Upper")
        self.make_daemon(team_toml(team), team_toml(self.make_team("rig-1"))).start()
        told = wait_for("it is told", lambda: self.daemon.log("daemon.warning"))
        self.assertEqual([e["team"] for e in told], ["Rig_Upper"])
        self.assertIn("old clients", told[0]["reason"])
        request = make_request(command="git status")
        team.say("ada", request)
        wait_for("it is served all the same", lambda: team.replies("ada", request["request_id"]))


if __name__ == "__main__":
    unittest.main()
