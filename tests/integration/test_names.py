"""Workers whose names clients do not take as they are: each asks, gets its answer in the file that its client reads, hears and is heard, and
is ended like any other. Where a name has no file of its own, that is said, and nobody waits unseen."""

import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for

ODD = {"foo.bar": "foo-bar", "Zo\u00eb": "Zo-", "x" * 66: "x" * 66, "two words": "two-words", "\U0001f600": "--"}


class Names(ProcessTest):
    def test_a_worker_with_any_name_asks_and_gets_its_answer(self):
        team = self.make_team(members=[*ODD, "ada"])
        self.start_daemon(team, toml_more='[modes.members]\nada = "plan"\n')
        for n, (name, file) in enumerate(ODD.items()):
            era = (wire.ERA1, wire.ERA2)[n % 2]
            with self.subTest(name=name, era=era):
                worker = self.start_worker(team, name, era, log=str(self.folder / ("worker-%d.log" % n)))
                self.assertEqual(team.inbox(name), team.inboxes / (file + ".json"))
                self.assertEqual(self.answer(worker, worker.ask("permission", tool="Bash", input={"command": "git status"}))["event"], "ran")
                self.assertEqual(self.answer(worker, worker.ask("permission", tool="Bash", input={"command": "rm x"}))["event"], "refused")
                self.assertIs(self.answer(worker, worker.ask("sandbox", host="api.example.com"))["allow"], True)
                request = worker.ask("permission", tool="Bash", input={"command": "make"})
                self.assertEqual(self.pending_id(request)["member"], name)
                self.daemon.cli("approve", request)
                self.assertEqual(self.answer(worker, request)["event"], "ran")
                plan = worker.ask("plan", plan="# Plan")  # its id holds the name
                self.pending_id(plan)
                self.daemon.cli("approve", plan)
                self.assertEqual(self.answer(worker, plan)["event"], "plan_approved")
                worker.do("say", text="hello from %d" % n)
                self.assertEqual(self.daemon.cli("send", name, "well done").returncode, 0)
                wait_for("it reads", lambda: any(e["text"] == "well done" for e in worker.events("chat")))
        self.assertEqual(sorted(p.name for p in team.inboxes.glob("*.json")), sorted([f + ".json" for f in ODD.values()] + ["team-lead.json", "ada.json"]))
        blocks = self.daemon.cli("recv", "--max", "20").stdout
        for n, name in enumerate(ODD):
            self.assertIn('teammate_id="%s"' % name, blocks)
            self.assertIn("hello from %d" % n, blocks)
        wait_for("nothing is owed", lambda: not self.status()["replies_owed"])
        self.assertEqual((self.status()["unreachable"], self.status()["orphaned_inboxes"], self.daemon.log("member.unreachable")), ([], [], []))
        self.assertEqual(self.daemon.log("inbox.orphaned"), [])
        listed = self.daemon.cli("inbox", "list", "--root", str(team.root)).stdout
        self.assertNotIn("orphaned", listed)

    def test_such_a_worker_is_shut_down_to_its_last_trace(self):
        team = self.make_team(members=["foo.bar", "ada"])
        team.add_task(1, owner="foo.bar", status="in_progress")
        self.start_daemon(team, toml_more='[shutdown]\ngrace = "200ms"\n')
        team.change_member("foo.bar", backendType="in-process", tmuxPaneId="in-process")
        worker = self.start_worker(team, "foo.bar", exit_after=0.1)
        begun, = self.daemon.ask("shutdown", member="foo.bar", by="test")["shutdowns"]
        self.assertTrue(begun["request_id"].endswith("@foo-bar"), begun)
        wait_for("it is gone", lambda: team.member("foo.bar") is None)
        wait_for("its task is free", lambda: "owner" not in team.task(1) or not team.task(1)["owner"])
        wait_for("all is done", lambda: not self.status()["shutdowns"])
        wait_for("it has left", lambda: worker.events("left"))

    def test_a_name_without_a_file_of_its_own_is_said_and_the_others_are_served(self):
        team = self.make_team(members=["foo.bar", "foo-bar", "a b", "a.b", "the@boss", "ada"])
        self.start_daemon(team)
        told = {m["member"]: m["reason"] for m in self.status()["unreachable"]}
        self.assertEqual(set(told), {"foo.bar", "a b", "a.b", "the@boss"})
        self.assertIn("foo-bar.json, as that of foo-bar", told["foo.bar"])
        shown = self.daemon.cli("status").stdout
        for name in told:
            self.assertIn(name + " is in the roster and cannot be answered", shown)
        self.assertEqual({e["member"]: e["reason"] for e in self.daemon.log("member.unreachable")}, told)
        doctor = self.daemon.cli("doctor", "--config", str(self.daemon.configs[0]), expect=2).stdout
        for name in told:
            self.assertIn(name + " cannot be answered", doctor)
        request = wire.permission_request("foo.bar", "Bash", {"command": "git status"}, "perm-lost")
        team.say("foo.bar", request)
        entry, = self.quarantined()
        self.assertEqual(entry["code"], "sender.stranger")
        self.assertIn("it is in the roster, but cannot be answered", entry["reason"])
        team.say("foo-bar", wire.permission_request("foo-bar", "Bash", {"command": "git status"}, "perm-dash"))
        wait_for("the one with the very name is served", lambda: team.replies("foo-bar", "perm-dash"))
        self.assertEqual(team.replies("foo-bar", "perm-lost"), [])
        team.remove_member("foo-bar")
        wait_for("now its file is its own", lambda: "foo.bar" not in [m["member"] for m in self.status()["unreachable"]])
        team.say("foo.bar", wire.permission_request("foo.bar", "Bash", {"command": "git status"}, "perm-found"))
        wait_for("it is served", lambda: team.replies("foo.bar", "perm-found"))


if __name__ == "__main__":
    unittest.main()
