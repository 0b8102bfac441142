"""kill -9 of the daemon at a hundred random moments while the whole control plane is at work: requests and chat as in test_kill9, and
beside them workers in real tmux panes that join, get their mode and the team's rules, and are shut down, each in its own manner.

Nothing is lost, nothing comes twice, every shutdown ends in its right state, and what is not ours stays as it is. The moments come
from a seed, which is printed; TEST_SEED=… repeats a run (as far as processes can be repeated), CRASH_KILLS=… makes it longer.
"""

import collections
import os
import random
import subprocess
import sys
import threading
import time
import unittest

import team as wire
import test_kill9
from daemon import team_toml, wait_for

KILLS = int(os.environ.get("CRASH_KILLS", "100"))
RULES = ["Bash(mkdir folder%d:*)" % n for n in range(5)]
# Manner, generation and whether it is forced; the state in which its shutdown has to end follows.
LEAVERS = [("approve", wire.ERA1, False), ("approve", wire.ERA2, False), ("reject", wire.ERA2, False),
           ("survive", wire.ERA1, False), ("reminded", wire.ERA2, False), ("die", wire.ERA2, False),
           ("ignore", wire.ERA1, True), ("approve", wire.ERA2, False), ("reject", wire.ERA1, False),
           ("prose", wire.ERA2, True), ("survive", wire.ERA2, False), ("approve", wire.ERA1, False)]
TOML = """
[modes]
on_join = "acceptEdits"
apply_timeout = "2s"

[shutdown]
remind_after = "1s"
timeout = "5min"
grace = "300ms"
tmux = ["%s"]
"""


class Kill9Control(test_kill9.Kill9):
    def setUp(self):
        super().setUp()
        test_kill9.KILLS = KILLS
        self.tmux = self.start_tmux()
        self.bystanders = [self.tmux.bystander() for _ in range(2)]
        self.namesake = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", "--agent-id", "leaver0@demo"])
        self.stops.append(lambda: (self.namesake.kill(), self.namesake.wait()))
        for name in self.workers:
            self.team.change_member(name, tmuxPaneId="in-process", backendType="in-process")
        self.make_daemon(team_toml(self.team, poll="50ms", more=TOML % '", "'.join(self.tmux.command)))
        self.leavers = {}  # name -> (worker, manner)
        self.tasks = {}    # number -> (owner, bytes)
        self.modes = []    # (member, mode, confirmed)
        self.claimed = set()

    # --- those who keep the daemon busy beside the workers of test_kill9 ---

    def insist(self, verb, **fields):
        """Asks until an answer came; what was committed just before a kill is asked for a second time."""
        while True:
            try:
                return self.daemon.ask(verb, by="person", **fields)
            except (OSError, ValueError):
                time.sleep(0.02)  # clock: the pace of a peer; nothing is judged by it

    def rules_and_modes(self, choose):
        for n, rule in enumerate(RULES):
            time.sleep(choose.uniform(0.5, 1.5) * self.seconds / (len(RULES) + 1))  # clock: the pace of a peer; nothing is judged by it
            self.assertTrue(self.insist("allow", rule=rule)["ok"])
            for member in ("w1", "w3"):
                mode = "plan" if n % 2 else "default"
                try:
                    confirmed = self.daemon.ask("mode", member=member, mode=mode, by="person")["ok"]
                except (OSError, ValueError):
                    confirmed = False  # it may have been committed all the same
                self.modes.append((member, mode, confirmed))

    def leave(self, number, choose):
        """One worker's life: joins, has tasks, is asked to go."""
        manner, era, forced = LEAVERS[number]
        name = "leaver%d" % number
        time.sleep(choose.uniform(0.5, 1.0) * self.seconds * number / len(LEAVERS))  # clock: the pace of a peer; nothing is judged by it
        for n, (status, owner) in enumerate((("in_progress", name), ("pending", name + "@demo"), ("completed", name))):
            self.tasks[10 * number + n] = (name, self.team.add_task(10 * number + n, owner=owner, status=status))
        self.team.add_member(name, pane="", backend="tmux")
        self.leavers[name] = (self.start_pane_worker(self.tmux, self.team, name, era, on_shutdown=manner, exit_after=0.3,
                                                     stubborn=era == wire.ERA1, shell=number % 3 > 0), manner)
        time.sleep(choose.uniform(0.5, 2.0))  # clock: the pace of a peer; nothing is judged by it
        options = {"force_after_ms": 2500} if forced else {}
        while not [s for s in self.insist("shutdowns")["shutdowns"] if s["member"] == name]:
            self.insist("shutdown", member=name, **options)
            time.sleep(0.05)  # clock: the pace of a peer; nothing is judged by it

    def claim(self):
        """Somebody takes up what was given back; a second giving back would take it from him."""
        while not self.over.is_set():
            for number in [n for n in list(self.tasks) if n % 10 == 0 and n not in self.claimed]:
                if self.team.task(number).get("owner") is None:
                    self.team.add_task(number, owner="w1", status="in_progress")
                    self.claimed.add(number)
            time.sleep(0.05)  # clock: the pace of a peer; nothing is judged by it

    # --- the run and what must be true behind it ---

    def test_nothing_is_lost_decided_twice_or_answered_twice(self):
        self.seconds = 0.3 * KILLS
        chance = lambda n: random.Random(self.seed + n)  # noqa: E731
        busy = [threading.Thread(target=self.feed, args=(name, chance(n))) for n, name in enumerate(self.workers)]
        busy += [threading.Thread(target=self.leave, args=(n, chance(10 + n))) for n in range(len(LEAVERS))]
        busy.append(threading.Thread(target=self.rules_and_modes, args=(chance(9),)))
        helpers = [threading.Thread(target=what) for what in (self.person, self.receiver, self.claim)]
        self.kill_among(busy, helpers, KILLS)
        self.check_chat()
        self.check_answers()
        self.check_decisions()
        self.check_orders()
        self.check_shutdowns()
        self.check_traces()
        self.assertEqual(self.daemon.stop(), 0)

    def settle(self):
        wait_for("every shutdown ends", lambda: not self.status()["shutdowns"], pause=0.2)
        for name, worker in self.workers.items():
            wait_for("every request of %s answered" % name, lambda: {
                e["id"] for e in worker.events(*test_kill9.ANSWERS)} >= set(self.requests[name]), pause=0.2)
        wait_for("everything marked", lambda: all(
            e["read"] for e in wire.read_inbox(self.team.lead_inbox) or [{"read": False}]), pause=0.2)
        wait_for("nothing owed", lambda: not self.status()["replies_owed"], pause=0.2)
        wait_for("all chat taken", lambda: not self.status()["chat"]["queued"] + self.status()["chat"]["offered"], pause=0.2)
        wait_for("all is claimed", lambda: self.claimed >= {
            n for n, (owner, _) in self.tasks.items() if n % 10 == 0 and self.leavers[owner][1] != "reject"})
        self.daemon.polled(20)  # whatever would come a second time has come

    def orders_to(self, worker):
        """(text, msg_id) of every entry that ordered something, as often as it was taken."""
        return [(e["text"], e["msg_id"]) for e in worker.events("mode", "rules", "no_effect", "shutdown")]

    def check_orders(self):
        wanted = {rule: wire.stringify({"toolName": "Bash", "ruleContent": rule[5:-1]}) for rule in RULES}
        again = 0
        for worker in [*self.workers.values(), *(w for w, _ in self.leavers.values())]:
            taken = self.orders_to(worker)
            once = set(taken)
            again += len(taken) - len(once)
            if worker.era == wire.ERA1:
                self.assertEqual(len(taken), len(once), "an order came twice to %s" % worker.name)
            texts = collections.Counter(text for text, _ in once)
            joined = collections.Counter(wire.as_payload(t).get("mode") for t in texts.elements())
            self.assertEqual(joined["acceptEdits"], 1, "the mode on joining, at " + worker.name)
            for rule, told in wanted.items():
                count = sum(n for text, n in texts.items() if told in text)
                if worker.name in self.workers:
                    self.assertEqual(count, 1, "%s at %s" % (rule, worker.name))
                else:
                    self.assertLessEqual(count, 1, "%s at %s" % (rule, worker.name))
            for mode in ("plan", "default"):
                ordered = [c for m, what, c in self.modes if (m, what) == (worker.name, mode)]
                self.assertTrue(sum(ordered) <= joined[mode] <= len(ordered), "%s at %s" % (mode, worker.name))
        self.assertLessEqual(again, KILLS)
        print("orders: each once; %d written again, byte for byte, to workers that delete what they read" % again)

    def check_shutdowns(self):
        rows = self.daemon.ask("shutdowns", limit=1000)["shutdowns"]
        self.assertEqual(sorted(s["member"] for s in rows), sorted(self.leavers), "one shutdown each")
        told = collections.Counter(name for m in {m["message_key"]: m for m in self.taken}.values() if m["from"] == "system"
                                   for name in self.leavers if '"%s has shut down' % name in m["text"])
        for row in rows:
            worker, manner = self.leavers[row["member"]]
            with self.subTest(member=worker.name, manner=manner, era=worker.era):
                cleaned = manner != "reject"
                self.assertEqual(row["state"], "cleaned" if cleaned else "rejected", row)
                self.assertEqual(told[worker.name], int(cleaned))
                self.assertEqual(self.team.member(worker.name) is None, cleaned)
                self.assertEqual((worker.runs(), worker.in_pane()), (not cleaned, not cleaned))
                # Also who was forced was asked before: the time for that runs from when the request stood in the inbox.
                self.assertEqual({e["id"] for e in worker.events("shutdown")}, {row["request_id"]})
        print("shutdowns: %d, each in its right state, the lead told once" % len(rows))

    def check_traces(self):
        self.assertEqual({m["name"] for m in self.team.roster()["members"]}, {"team-lead", *self.workers, *(
            name for name, (_, manner) in self.leavers.items() if manner == "reject")})
        for number, (owner, before) in self.tasks.items():
            task, left = self.team.task(number), self.leavers[owner][1] != "reject"
            with self.subTest(task=number, owner=owner):
                if number in self.claimed:
                    self.assertEqual((task["owner"], task["status"]), ("w1", "in_progress"), "taken from who had claimed it")
                elif number % 10 == 1 and left:
                    self.assertEqual((task.get("owner"), task["status"]), (None, "pending"))
                else:
                    self.assertEqual(self.team.task_path(number).read_bytes(), before)
        self.assertTrue(all(b.untouched() for b in self.bystanders), "a pane of somebody else was touched")
        self.assertIsNone(self.namesake.poll(), "a process of somebody else was touched")
        # The daemon still runs and may hold one for a moment. A worker that was ended by a signal leaves the lock that it held.
        ended = {name + ".json.lock" for name, (_, manner) in self.leavers.items() if manner != "reject"}
        wait_for("no lock is left behind", lambda: not [p for p in self.folder.rglob("*.lock") if p.is_dir() and p.name not in ended])


if __name__ == "__main__":
    unittest.main()
