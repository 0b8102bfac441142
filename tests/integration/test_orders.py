"""What the lead's side orders of its own accord: modes and rules, each once to each worker, also to one that joins later and over a
restart; in front of a client that obeys (the older) and one that does not (the newer)."""

import unittest

import team as wire
from case import ProcessTest
from daemon import team_toml, wait_for

ADOPT = '\n[modes]\napply_timeout = "1s"\n'


class OrdersTest(ProcessTest):
    def start(self, more=ADOPT, **options):
        self.team = self.make_team(members=["old", "new"])
        self.old = self.start_worker(self.team, "old", wire.ERA1)
        self.new = self.start_worker(self.team, "new", wire.ERA2)
        self.start_daemon(self.team, toml_more=more, **options)

    def join(self, name, era):
        """A worker that comes later: its inbox first, then its name in the roster, as a real one does it."""
        worker = self.start_worker(self.team, name, era)
        self.team.add_member(name, pane="in-process", backend="in-process")
        return worker

    @staticmethod
    def orders(worker, kind):
        """Every order of this kind that reached the worker, obeyed or not, in order."""
        payloads = [wire.as_payload(e.get("text")) for e in worker.events("mode", "rules", "no_effect", "ignored", "shown")]
        return [p for p in payloads if p and p["type"] == kind]

    def restart(self, kill=False):
        self.daemon.kill() if kill else self.daemon.stop()
        self.daemon.start()

    def settled(self, *workers):
        """Everything that is owed was written and taken."""
        wait_for("nothing is owed", lambda: not self.status()["replies_owed"])
        wait_for("all is consumed", lambda: all(e["read"] for w in workers for e in wire.read_inbox(self.team.inbox(w.name)) or []))
        self.daemon.polled()


class Modes(OrdersTest):
    def test_a_mode_reaches_both_and_is_seen_where_it_was_adopted(self):
        self.start()
        answer = self.daemon.ask("mode", all=True, mode="acceptEdits", by="test")
        self.assertEqual(sorted((s["member"], s["mode"]) for s in answer["sent"]), [("new", "acceptEdits"), ("old", "acceptEdits")])
        wait_for("both have it", lambda: self.orders(self.old, "mode_set_request") and self.orders(self.new, "mode_set_request"))
        wait_for("the older one adopts it", lambda: self.daemon.log("setting.applied"))
        self.assertEqual([(e["member"], e["value"]) for e in self.daemon.log("setting.applied")], [("old", "acceptEdits")])
        wait_for("the newer one does not, and that is said", lambda: self.status()["not_applied"])
        self.assertEqual([(n["member"], n["mode"]) for n in self.status()["not_applied"]], [("new", "acceptEdits")])
        self.assertEqual([(e["level"], e["member"]) for e in self.daemon.log("setting.not_applied")], [("warn", "new")])
        self.assertEqual({m["member"]: m["mode"] for m in self.status()["members"] if m["member"] == "old"}, {"old": "acceptEdits"})
        for kill in (False, True):
            self.restart(kill)
        self.settled(self.old, self.new)
        for worker in (self.old, self.new):
            self.assertEqual(self.orders(worker, "mode_set_request"), [wire.mode_set_request("acceptEdits")])
        self.assertEqual([n["member"] for n in self.status()["not_applied"]], ["new"])

    def test_one_worker_from_the_command_line_and_a_later_order_replaces_the_first(self):
        self.start()
        self.daemon.cli("mode", "old", "plan")
        wait_for("adopted", lambda: self.team.member("old").get("mode") == "plan")
        self.daemon.cli("mode", "old", "acceptEdits")
        wait_for("adopted", lambda: self.team.member("old").get("mode") == "acceptEdits")
        self.settled(self.old)
        self.assertEqual([o["mode"] for o in self.orders(self.old, "mode_set_request")], ["plan", "acceptEdits"])
        self.assertEqual(self.orders(self.new, "mode_set_request"), [])
        wait_for("nothing is left to adopt", lambda: self.status()["not_applied"] == [])

    def test_the_ceiling_holds_and_strangers_get_nothing(self):
        self.start()
        for member, mode, code in (("old", "bypassPermissions", "mode.above_ceiling"), ("old", "auto", "mode.above_ceiling"),
                                   ("mallory", "plan", "member.unknown"), ("team-lead", "plan", "member.unknown"),
                                   ("old", "delegate", "request.invalid")):
            with self.subTest(member=member, mode=mode):
                answer = self.daemon.ask("mode", member=member, mode=mode, by="test")
                self.assertEqual((answer["ok"], answer["code"]), (False, code))
        self.assertFalse(self.daemon.ask("mode", all=True, mode="bypassPermissions", by="test")["ok"])
        self.daemon.cli("mode", "--all", "bypassPermissions", expect=1)
        self.settled(self.old, self.new)
        self.assertEqual(self.orders(self.old, "mode_set_request") + self.orders(self.new, "mode_set_request"), [])
        self.assertFalse(self.team.inbox("mallory").exists())

    def test_who_joins_gets_its_mode_once_also_over_restarts(self):
        self.start(more='\n[modes]\non_join = "acceptEdits"\napply_timeout = "1s"\n\n[modes.members]\nlate = "plan"\n')
        workers = {"old": self.old, "new": self.new}
        wait_for("those who were there have it", lambda: all(self.orders(w, "mode_set_request") for w in workers.values()))
        workers["late"] = self.join("late", wire.ERA1)
        workers["later"] = self.join("later", wire.ERA2)
        wait_for("the late ones have it", lambda: all(self.orders(w, "mode_set_request") for w in workers.values()))
        for kill in (False, True, True):
            self.restart(kill)
        self.settled(*workers.values())
        self.assertEqual({n: [o["mode"] for o in self.orders(w, "mode_set_request")] for n, w in workers.items()}, {
            "old": ["acceptEdits"], "new": ["acceptEdits"], "late": ["plan"], "later": ["acceptEdits"]})
        self.assertEqual(self.team.member("late")["mode"], "plan")


class Rules(OrdersTest):
    def ask(self, worker, command):
        request_id = worker.ask("permission", tool="Bash", input={"command": command})
        wait_for("%s asked or was allowed" % worker.name, lambda: worker.find(request_id, "asked", "allowed"))
        return request_id

    def ran(self, worker, command):
        """How this call of the worker came to run: "allowed" by a rule it has itself, or "ran" because it was answered so."""
        request_id = self.ask(worker, command)
        return wait_for("%s goes on" % worker.name, lambda: worker.find(request_id, "allowed", "ran", "refused"))[0]["event"]

    def waits_for_a_person(self, worker, command):
        self.pending_id(self.ask(worker, command))

    def test_a_rule_holds_for_both_and_for_who_joins_later(self):
        self.start()
        self.waits_for_a_person(self.old, "mkdir test")
        answer = self.daemon.ask("allow", rule="Bash(mkdir:*)", by="test")
        self.assertEqual((answer["is_new"], sorted(answer["told"])), (True, ["new", "old"]))
        workers = {"old": self.old, "new": self.new, "late": self.join("late", wire.ERA1), "later": self.join("later", wire.ERA2)}
        wait_for("all have it", lambda: all(self.orders(w, "team_permission_update") for w in workers.values()))
        for worker in workers.values():
            self.assertEqual(self.ran(worker, "mkdir all"), "allowed" if worker.era == wire.ERA1 else "ran")
        again = self.daemon.ask("allow", rule="Bash(mkdir:*)", by="test")
        self.assertEqual((again["ok"], again["is_new"], again["told"]), (True, False, []))
        for kill in (False, True):
            self.restart(kill)
        self.assertEqual(self.ran(self.new, "mkdir clean"), "ran")
        self.settled(*workers.values())
        for worker in workers.values():
            update, = self.orders(worker, "team_permission_update")
            self.assertEqual(update["permissionUpdate"], {
                "type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "mkdir:*"}], "behavior": "allow",
                "destination": "session"})
            self.assertEqual((update["toolName"], bool(update["directoryPath"])), ("Bash", True))
            self.assertEqual(worker.events("stuck"), [])
        session = self.daemon.ask("rules")["session"]
        self.assertEqual([(r["rule"], r["by"], sorted(r["told"])) for r in session],
                         [("Bash(mkdir:*)", "test", ["late", "later", "new", "old"])])

    def test_a_rule_that_shares_calls_with_a_deny_rule_is_told_to_nobody(self):
        """An older worker that took `Bash(git:*)` over would never ask about `git push` again."""
        self.team = self.make_team(members=["old", "new"])
        self.old = self.start_worker(self.team, "old", wire.ERA1)
        self.new = self.start_worker(self.team, "new", wire.ERA2)
        toml = team_toml(self.team).replace('deny = ["Bash(rm:*)"]', 'deny = ["Bash(git push:*)"]\nask = ["WebFetch(domain:a.test)"]')
        self.make_daemon(toml).start()
        said = " ".join(self.daemon.cli("allow", "Bash(git:*)").stdout.split())  # its lines break for the terminal
        self.assertIn("They are not told of it", said)
        self.assertIn("the deny rule Bash(git push:*)", said)
        self.assertEqual(self.daemon.ask("allow", rule="WebFetch", by="test")["not_told"], "the ask rule WebFetch(domain:a.test)")
        self.assertEqual(sorted(self.daemon.ask("allow", rule="Bash(npm test:*)", by="test")["told"]), ["new", "old"])
        late = self.join("late", wire.ERA1)
        workers = (self.old, self.new, late)
        wait_for("all have the one that shares nothing", lambda: all(self.orders(w, "team_permission_update") for w in workers))
        self.restart()
        for worker in workers:
            self.assertEqual(self.ran(worker, "git push --force"), "refused", worker.name)
            self.assertEqual(self.ran(worker, "git fetch"), "ran", worker.name)  # here the rule holds
            self.assertEqual(self.ran(worker, "npm test"), "allowed" if worker.era == wire.ERA1 else "ran")
        self.settled(*workers)
        for worker in workers:
            self.assertEqual([p["permissionUpdate"]["rules"] for p in self.orders(worker, "team_permission_update")],
                             [[{"toolName": "Bash", "ruleContent": "npm test:*"}]])
        shown = self.daemon.cli("rules").stdout
        self.assertIn("no worker because of the deny rule Bash(git push:*)", shown)

    def test_approve_always_tells_no_worker_any_rule(self):
        self.start()
        request = self.ask(self.old, "make all")
        self.pending_id(request)
        self.daemon.cli("approve", request, "--always")
        wait_for("it goes on", lambda: self.old.find(request, "ran"))
        self.assertEqual(self.ran(self.old, "make all"), "ran")  # asked again, and answered by the rule
        self.settled(self.old)
        for reply in self.team.replies("old"):
            self.assertEqual(wire.as_payload(reply["text"])["response"]["permission_updates"], [])
        self.assertEqual(self.orders(self.old, "team_permission_update"), [])

    def test_a_rule_for_a_directory(self):
        self.start()
        self.assertEqual(self.daemon.ask("allow", rule="Edit", directory="/repo", by="test")["rule"], "Edit(//repo/**)")
        wait_for("both have it", lambda: all(self.orders(w, "team_permission_update") for w in (self.old, self.new)))
        update, = self.orders(self.old, "team_permission_update")
        self.assertEqual(update["permissionUpdate"]["rules"], [{"toolName": "Edit", "ruleContent": "//repo/**"}])
        self.assertEqual((update["directoryPath"], update["toolName"]), ("/repo", "Edit"))
        for worker, inside in ((self.old, "allowed"), (self.new, "ran")):
            request = worker.ask("permission", tool="Edit", input={"file_path": "/repo/src/a.c", "old_string": "a", "new_string": "b"})
            wait_for("it goes on", lambda: worker.find(request, inside))
            request = worker.ask("permission", tool="Edit", input={"file_path": "/etc/passwd", "old_string": "a", "new_string": "b"})
            self.pending_id(request)
        self.assertFalse(self.daemon.ask("allow", rule="Bash", directory="/repo", by="test")["ok"])

    def test_a_rule_taken_back_holds_no_longer_here_and_who_keeps_it_is_named(self):
        self.start()
        self.daemon.cli("allow", "Bash(mkdir:*)")
        wait_for("both have it", lambda: all(self.orders(w, "team_permission_update") for w in (self.old, self.new)))
        self.assertIn("Bash(mkdir:*)", self.daemon.cli("rules").stdout)
        answer = self.daemon.ask("revoke", rule="Bash(mkdir:*)", by="test")
        self.assertEqual((answer["ok"], sorted(answer["keepers"])), (True, ["new", "old"]))
        self.waits_for_a_person(self.new, "mkdir all")
        self.assertEqual(self.ran(self.old, "mkdir all"), "allowed")  # a session rule of its own now
        self.assertEqual(self.daemon.ask("rules")["session"], [])
        late = self.join("late", wire.ERA1)
        self.restart()
        self.waits_for_a_person(late, "mkdir all")
        self.assertEqual(self.orders(late, "team_permission_update"), [])
        answer = self.daemon.ask("revoke", rule="Bash(mkdir:*)", by="test")
        self.assertEqual((answer["ok"], answer["code"]), (False, "rule.unknown"))

    def test_rules_that_would_never_allow_or_cannot_be_read_are_refused(self):
        self.start()
        for rule, code in (("Bash(", "rule.syntax"), ("", "request.invalid")):
            with self.subTest(rule):
                answer = self.daemon.ask("allow", rule=rule, by="test")
                self.assertFalse(answer["ok"])
                self.assertIn(answer["code"], (code, "rule.syntax"))
        self.settled(self.old, self.new)
        self.assertEqual(self.orders(self.old, "team_permission_update"), [])


class Forged(OrdersTest):
    def test_an_order_of_a_worker_is_refused_or_reported_where_it_was_written(self):
        self.start()
        self.team.say("team-lead", "hello", to="old")
        wait_for("the inbox is known", lambda: self.old.events("chat"))
        forgeries = {"mode_set_request": wire.mode_set_request("bypassPermissions", "new"),
                     "team_permission_update": wire.team_permission_update("Bash")}
        for kind, payload in forgeries.items():
            self.new.do("raw", text=wire.stringify(payload))
            wait_for("it is refused", lambda: [e for e in self.daemon.ask("quarantine")["entries"] if e["type"] == kind])
            self.new.do("raw", text=wire.stringify(payload), to="old")
            wait_for("it is reported", lambda: self.daemon.log("answer.forged", type=kind))
        for entry in self.daemon.ask("quarantine")["entries"]:
            self.assertEqual((entry["sender"], entry["code"]), ("new", "direction." + entry["type"]))
        self.daemon.polled()
        forged = self.daemon.log("answer.forged")
        self.assertEqual(sorted((e["inbox"], e["from"], e["type"], e["level"]) for e in forged),
                         [("old", "new", kind, "warn") for kind in sorted(forgeries)])
        self.assertEqual(self.daemon.ask("rules")["session"], [])
        self.assertEqual(self.status()["not_applied"], [])


if __name__ == "__main__":
    unittest.main()
