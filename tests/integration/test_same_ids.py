"""Workers whose request ids count up, each for itself: a request is a worker and an id, whoever else uses that id."""

import json
import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for


def request(worker, command, request_id="1"):
    return wire.permission_request(worker, "Bash", {"command": command}, request_id)


class SameIds(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.start_daemon(self.team)

    def answers(self, worker, request_id="1"):
        return [wire.as_payload(e["text"]) for e in self.team.replies(worker, request_id)]

    def pending(self, count):
        return wait_for("%d requests wait" % count,
                        lambda: (lambda requests: requests if len(requests) == count else None)(self.daemon.ask("pending")["requests"]))

    def test_two_workers_with_one_id_are_both_answered_by_rule_each_once(self):
        for worker, command in (("ada", "git status"), ("bob", "echo hello")):
            self.team.say(worker, request(worker, command))
        for worker, command in (("ada", "git status"), ("bob", "echo hello")):
            answer = wait_for("%s is answered" % worker, lambda worker=worker: self.answers(worker))[0]
            self.assertEqual(answer["response"]["updated_input"], {"command": command})
        self.assertEqual([d["member"] for d in self.daemon.ask("decisions")["decisions"]].count("ada"), 1)
        # The same request again gets its own answer again, and nobody else's.
        self.team.inbox("bob").write_text("[]")
        self.team.say("bob", request("bob", "echo hello"), timestamp="2026-02-07T15:20:46.348Z")
        wait_for("bob has it again", lambda: self.answers("bob"))
        self.daemon.polled()
        self.assertEqual((len(self.answers("ada")), len(self.answers("bob"))), (1, 1))
        self.assertEqual(self.daemon.ask("quarantine")["entries"], [])

    def test_a_person_names_the_worker(self):
        for worker in ("ada", "bob"):
            self.team.say(worker, request(worker, "make " + worker))
        self.pending(2)
        shown = self.daemon.cli("pending").stdout
        self.assertIn("ada/1", shown)
        self.assertIn("bob/1", shown)
        refused = self.daemon.cli("approve", "1", expect=1).stderr
        for part in ("WORKER/ID", "ada/1", "bob/1"):
            self.assertIn(part, refused)
        self.daemon.cli("approve", "bob/1")
        self.assertEqual(wait_for("bob is answered", lambda: self.answers("bob"))[0]["subtype"], "success")
        self.assertEqual(self.answers("ada"), [])
        self.daemon.cli("deny", "ada/1", "--reason", "not now")
        self.assertEqual(wait_for("ada is answered", lambda: self.answers("ada"))[0]["error"], "not now")
        self.assertIn("nobody", self.daemon.cli("approve", "nobody/1", expect=4).stderr)
        traced = json.loads(self.daemon.cli("trace", "1", "--json").stdout)["requests"]
        self.assertEqual(sorted((r["member"], len(r["effects"])) for r in traced), [("ada", 1), ("bob", 1)])

    def test_it_holds_over_a_restart(self):
        for worker in ("ada", "bob"):
            self.team.say(worker, request(worker, "make " + worker))
        self.pending(2)
        self.daemon.kill()
        self.daemon.start()
        requests = self.pending(2)
        for one in requests:
            self.daemon.cli("approve", one["message_key"])
        for worker in ("ada", "bob"):
            wait_for("%s is answered" % worker, lambda worker=worker: self.answers(worker))

    def test_one_worker_that_uses_its_id_twice_is_told_in_words_and_a_person_sees_it(self):
        self.team.say("ada", request("ada", "make all"))
        self.pending(1)
        self.team.say("ada", request("ada", "git status"))  # by itself a rule would allow it
        denied = wait_for("ada is told", lambda: self.answers("ada"))[0]
        self.assertEqual(denied["subtype"], "error")
        self.assertIn("Ask again with an id that you have not used", denied["error"])
        wait_for("the first is withdrawn", lambda: not self.daemon.ask("pending")["requests"])
        reused = self.daemon.ask("pending")["reused_ids"]
        self.assertEqual([(r["team"], r["member"], r["request_id"]) for r in reused], [("demo", "ada", "1")])
        for options in ((), ("--list",)):
            self.assertIn("could not tell the two apart", self.daemon.cli("pending", *options).stdout.replace("\n", " "))
        self.daemon.polled()
        self.assertEqual(len(self.answers("ada")), 1)
        # A yes to the first could be taken for one to the second, so nobody can give it any more.
        self.assertIn("already withdrawn", self.daemon.cli("approve", "1", expect=1).stderr)
        self.assertEqual(len(self.answers("ada")), 1)

    def test_counting_ids_stay_answerable_by_id(self):
        self.team.say("ada", request("ada", "git status"))
        wait_for("ada is answered", lambda: self.answers("ada"))
        self.team.say("bob", request("bob", "make bob"))
        self.pending(1)
        self.daemon.cli("approve", "bob/1")
        wait_for("bob is answered", lambda: self.answers("bob"))


if __name__ == "__main__":
    unittest.main()
