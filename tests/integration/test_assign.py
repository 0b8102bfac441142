"""`assign`: a person makes a worker the owner of a task, on the board of either system that has one."""

import json

from case import ProcessTest
from daemon import wait_for
from jsonl_team import JsonlTeam, Worker
from team import Team, read_inbox


class Assign(ProcessTest):
    def refused(self, code, *arguments):
        said = self.daemon.cli("assign", *arguments, "--json", expect=None)
        self.assertNotEqual(said.returncode, 0)
        self.assertIn(code, said.stdout + said.stderr)

    def test_an_array_teams_worker_is_told_as_by_its_own_lead(self):
        team = Team(self.folder / "teams", "demo", ["ada", "bob"])
        team.add_task(1)
        team.add_task(2, owner="bob", status="in_progress")
        team.add_task(3, status="completed")
        team.add_task(4, owner="zoe", status="in_progress")  # who is not there any more
        self.start_daemon(team)
        self.daemon.cli("assign", "1", "ada")
        task = team.task(1)
        self.assertEqual((task["owner"], task["status"], task["subject"]), ("ada", "pending", "Task 1"))
        told = wait_for("ada is told", lambda: [e for e in read_inbox(team.inbox("ada")) if "task_assignment" in e["text"]])[0]
        text = json.loads(told["text"])
        self.assertEqual((text["type"], text["taskId"], text["subject"], text["description"], text["assignedBy"]),
                         ("task_assignment", "1", "Task 1", task["description"], "team-lead"))
        self.daemon.cli("assign", "4", "ada")
        self.assertEqual((team.task(4)["owner"], team.task(4)["status"]), ("ada", "pending"))
        before = [team.task_path(number).read_bytes() for number in (1, 2, 3)]
        self.refused("task.assigned", "1", "ada")
        self.refused("task.not_free", "2", "ada")
        self.refused("task.not_free", "3", "ada")
        self.refused("task.unknown", "9", "ada")
        self.refused("task.unknown", "../1", "ada")
        self.refused("member.unknown", "1", "zoe")
        self.assertEqual([team.task_path(number).read_bytes() for number in (1, 2, 3)], before)
        self.assertEqual(len(self.daemon.log("task.assigned")), 2)

    def test_a_jsonl_teams_worker_is_told_in_words(self):
        team = JsonlTeam(self.folder)
        path = team.task(7)
        team.task(8, owner="bob", status="in_progress")
        self.make_daemon(team.toml()).start()
        worker = Worker(team, "alice")
        self.stops.append(worker.stop)

        def assigned():
            return self.daemon.cli("assign", "7", "alice", expect=None).returncode == 0
        wait_for("the file has rested and is assigned", assigned)
        task = json.loads(path.read_text("utf-8"))
        self.assertEqual((task["owner"], task["status"], task["id"]), ("alice", "pending", 7))
        wait_for("alice is told", lambda: [m for m in worker.find("message") if m["content"].startswith("Task 7 is yours: Task 7")])
        self.refused("task.not_free", "8", "alice")
        self.refused("task.unknown", "9", "alice")
