"""A team that takes long (a flood of small entries, a lock that is not given back) does not make another one wait: while the slow one is
still being taken in, the quick one is served again and again.
"""

import time
import unittest

import team as wire
from case import ProcessTest
from daemon import team_toml, wait_for

FLOOD = 30_000
NO_LIMIT = '\n[limits]\nqueued_chat = 1000000\n'


class SlowTeam(ProcessTest):
    def start(self):
        self.slow = wire.Team(self.folder / "teams", "slow", ("ada",))
        self.quick = wire.Team(self.folder / "teams", "quick", ("bob",))
        self.make_daemon(*(team_toml(team, more=NO_LIMIT) for team in (self.slow, self.quick))).start()

    def accepted(self, team):
        return sum(e["team"] == team.name for e in self.daemon.log("message.accepted"))

    def served_meanwhile(self, is_over):
        """How many messages of the quick team were taken in, one after the other, until it was over; and the longest wait."""
        served, longest = 0, 0.0
        while not is_over(served):
            before = time.monotonic()  # clock: a figure for the reader, compared with nothing
            self.quick.say("bob", "are you there %d" % served)
            served += 1
            wait_for("it is taken in", lambda: all(e["read"] for e in wire.read_inbox(self.quick.lead_inbox) or [{"read": False}]), pause=0.005)
            longest = max(longest, time.monotonic() - before)  # clock: a figure for the reader, compared with nothing
        return served, longest

    def test_a_flood_in_one_team_leaves_the_other_its_turns(self):
        self.start()
        entries = [dict(wire.entry("ada", "%d" % n)) for n in range(FLOOD)]
        wire.replace(self.slow.lead_inbox, wire.stringify(entries))
        wait_for("it has begun", lambda: self.accepted(self.slow) > 0)
        served, longest = self.served_meanwhile(lambda served: self.accepted(self.slow) >= FLOOD)
        print("figures: %d entries in one team; meanwhile %d messages of another, the longest wait %.0f ms" % (FLOOD, served, 1000 * longest))
        teams = [event["team"] for event in self.daemon.log("message.accepted")]
        in_the_flood = teams[teams.index("slow"):len(teams) - teams[::-1].index("slow")]
        self.assertIn("quick", in_the_flood, "the other team waited for the flood")

    def test_a_lock_that_is_not_given_back_in_one_team_is_nothing_to_the_other(self):
        self.start()
        with wire.Lock(self.slow.lead_inbox, wire.PATIENT):
            wire.replace(self.slow.lead_inbox, wire.stringify([wire.entry("ada", "behind a lock")]))
            served, longest = self.served_meanwhile(lambda served: served >= 20)  # the lock is held until then
        print("figures: a lock held in one team; meanwhile %d messages of another, the longest wait %.0f ms" % (served, 1000 * longest))
        wait_for("it is marked", lambda: all(e["read"] for e in wire.read_inbox(self.slow.lead_inbox) or [{"read": False}]))


if __name__ == "__main__":
    unittest.main()
