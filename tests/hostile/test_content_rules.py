"""Every row of tests/fixtures/config/tool_rules.txt as a real request of a worker to a running daemon: what the unit test says of the rules
holds for what is written into inboxes. A team for each set of rules, all of them under one daemon.
"""

import collections
import json
import pathlib
import re
import unittest

import attack
import oracle
import team as wire
from attack import Attack
from case import ProcessTest

TABLE = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "config" / "tool_rules.txt"
STATES = {"allow": "approved", "ask": "pending", "deny": "denied"}
FIELDS = {"Bash": "command", "WebFetch": "url"}
# Rules that no allow list takes, because they would never allow.
REFUSED_AT_START = ("+mcp__*", "+AskUserQuestion")


def rows():
    """(line, decision, rules, tool, input as JSON text), without what could not be a request's input at all."""
    for number, line in enumerate(TABLE.read_text("utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        decision, rules, tool, text = line.split(" | ", 3)
        text = re.sub(r"<U\+([0-9A-F]+)>", lambda m: chr(int(m[1], 16)), text)
        tool, rules = tool.strip(), tuple(r for r in rules.strip().split(" & ") if r != ".")
        if text in ("[]", "not JSON at all", "nonsense"):
            continue
        if not text.startswith('{"'):
            text = wire.stringify({FIELDS.get(tool, "file_path"): text})
        if text.endswith("}") and not set(rules) & set(REFUSED_AT_START):
            yield number, decision.strip(), rules, tool, text


def toml(team, rules):
    chosen = {sign: [r[1:] for r in rules if r[0] == sign] for sign in "+?-="}
    default = (chosen["="] or ["ask"])[0]
    return '[team]\nname = "%s"\nroot = "%s"\npoll_interval = "50ms"\n%s[limits]\npending_per_worker = 1000\n[permissions]\nallow = %s\nask = %s\n' \
        'deny = %s\ndefault = "%s"\n' % (team.name, team.root, 'accept_risks = ["default-allow"]\n' if default == "allow" else "",
                                         *(json.dumps(chosen[sign], ensure_ascii=False) for sign in "+?-"), default)


class Rules(ProcessTest):
    def test_each_row_of_the_table_is_decided_as_a_careful_reviewer_would(self):
        home = str(self.folder / "home")
        sets = collections.defaultdict(list)
        for row in rows():
            sets[row[2]].append(row)
        attacks = []
        for n, (texts, members) in enumerate(sets.items()):
            team = Attack(self.folder, "rules-%d" % n, ("ann",))
            team.team.change_member("ann", cwd="/work/app")
            team.toml = toml(team.team, texts)
            for line, decision, _, tool, text in members:
                request = wire.stringify(wire.permission_request("ann", tool, {"@": 1}, "line-%d" % line)).replace('{"@":1}', text.replace("/home/ann", home))
                state = STATES[decision]
                team.say("line %d: %s %s under %s" % (line, tool, text, texts), "ann", request, ("control", state), "line-%d" % line if decision == "allow" else None)
            attacks.append(team)
        total = sum(len(a.cases) for a in attacks)
        print("\n%d requests under %d sets of rules" % (total, len(attacks)))
        self.assertGreaterEqual(total, 500)
        attack.run(self, self.folder, *attacks)
        for team in attacks:
            world = team.world(self.daemon.state).read_ledger()
            attack.compare(self, team, world)
            self.assertEqual(oracle.i8_no_allow(world), [])


if __name__ == "__main__":
    unittest.main()
