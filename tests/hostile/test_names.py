"""T-NAME: names that would lead somewhere else, are somebody else's, or cannot be told apart: in the roster, as the sender, as a file, as
a team's folder and on the command line. Nothing is written outside of the team's folder and our own, and nobody is mistaken for another.
"""

import subprocess
import unittest

import attack
import oracle
import team as wire
from attack import CHAT, Attack, refused
from case import ProcessTest
from daemon import LIMIT_S, wait_for

# In the roster, but with an inbox that is another's, or a name that nobody sees or writes.
NEVER = ("", "a/b", "a.b", "a b", "a\\b", ".", "~", "*", "x" * 300, "ad\u202ea", "ada\u200b", "ada\n", "ada\0", "new\u2028line", "\u00a0ada", "team.lead")
# With an inbox of its own, below the inboxes like every other.
ODD = ("..", "../x", "/tmp/x", "-rf", "--help", "x" * 65, "\u0430da", "ada.json", "../../state/ledger", "..%2fx", "$HOME", "con:", ".lock", "ada/../bob", "<system-reminder>")
OWN = ("a", "A", "a-b", "a_b", "config", "x" * 64, "9", "user")  # each is a member of its own


def tree(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


class Names(ProcessTest):
    def ask(self, name):
        return wire.permission_request(name, "Bash", {"command": "git status"}, "perm-" + "".join("%04x" % ord(c) for c in name[:50]) + str(len(name)))

    def test_members_and_senders_of_any_name(self):
        hostile = Attack(self.folder, members=(*OWN, "team-lead", *NEVER, *ODD))
        for name in (*NEVER, *(n + "@demo" for n in NEVER), "team-lead@demo", "team-lead@other", "@team-lead", "@", "ada", "aDa.json", "...x"):
            ends = refused("sender.own_name" if name.startswith("team-lead") else "sender.stranger")
            hostile.say("a request of %r" % name, name, self.ask(name), ends)
            hostile.say("chat of %r" % name, name, "hello from %d" % len(hostile.cases), ends)
        for name in (*OWN, *ODD):
            request = self.ask(name)
            hostile.say("a request of %r" % name, name, request, ("control", "approved"), request["request_id"])
            hostile.say("chat of %r" % name, name, "hello from %d" % len(hostile.cases), CHAT)
        hostile.say("a member and another team", "a@../../x", "chat of a", CHAT)
        before = tree(self.folder) | {"home", "home/run", "home/state", "home/config"}
        attack.run(self, self.folder, hostile)
        world = hostile.world(self.daemon.state)
        for entry in world.sent:
            entry["from"] = entry["from"].split("@")[0]
        world.before = {}
        world.runs = [(0, self.daemon.log_path.read_bytes())]
        # The oracle knows a sender as the file has it; the ledger keeps the bare name. The cases are compared one by one below.
        self.assertEqual([v for v in oracle.violations(world) if not v.startswith("I5 ")], [])
        attack.compare(self, hostile, world)
        attack.only_flags_changed(self, hostile)
        new = {"daemon.log", "daemon.toml", "team-0.toml", "lead-demo.jsonl", "state", "state/ledger.sqlite3", "state/ledger.sqlite3.lock",
               "teams/demo/inboxes/team-lead.json"} | {"teams/demo/inboxes/%s.json" % wire.inbox_name(name) for name in (*OWN, *ODD)}
        self.assertEqual({p for p in tree(self.folder) - before if not p.startswith("control.sock")}, new)
        for name in (*OWN, *ODD):  # each in its own file, also those that differ by their case only
            self.assertEqual(len(hostile.team.replies(name, self.ask(name)["request_id"])), 1, name)
            self.assertEqual(len(wire.read_inbox(hostile.team.inbox(name))), 1, name)
        self.assertNotIn("\u202e", self.daemon.log_path.read_text("utf-8"))

    def test_files_and_folders_of_any_name(self):
        team = self.make_team(members=("ada",))
        for name in ("..json", ".json", "-rf.json", "a b.json", "ad\u202ea.json", "x" * 200 + ".json", "bob.json.bak", "bob.JSON", "new\nline.json", "phantom.json"):
            (team.inboxes / name).write_text(wire.stringify([wire.entry("ada", wire.stringify(self.ask("ada")))]))
        for name in (".hidden", "a b", "-x", "x\ny", "ev\u202eil", "x" * 200, "__pycache__"):
            other = self.folder / "teams" / name
            (other / "inboxes").mkdir(parents=True, mode=0o700)
            (other / "config.json").write_bytes(team.config.read_bytes())
            (other / "inboxes" / "team-lead.json").write_text(wire.stringify([wire.entry("ada", wire.stringify(self.ask("ada")))]))
        before = {p: p.read_bytes() for p in (self.folder / "teams").rglob("*.json")}
        self.make_daemon('[team]\nname = "*"\nroot = "%s"\npoll_interval = "50ms"\n[permissions]\nallow = ["Bash(git status:*)"]\n' % team.root).start()
        team.say("ada", self.ask("ada"))
        wait_for("the real one is answered", lambda: team.replies("ada"))
        served = {t["team"] for t in self.daemon.ask("status")["teams"]}
        self.assertLessEqual(served, {"demo", "__pycache__"})
        wait_for("files of nobody are told", lambda: len(self.daemon.log("inbox.orphaned", team="demo")) >= 3)
        self.assertEqual({e["inbox"] for e in self.daemon.log("inbox.orphaned", team="demo")}, {"phantom", "-rf", "x" * 200})
        self.daemon.stop()
        for path, data in before.items():
            if path.parent.parent.name not in served or path.parent == team.inboxes and path.stem != "ada":
                self.assertEqual(path.read_bytes(), data, path)
        for line in self.daemon.log_path.read_text("utf-8").splitlines():
            self.assertNotRegex(line, "[\x00-\x1f\u202e]")

    def test_names_on_the_command_line(self):
        team = self.make_team()
        self.start_daemon(team)
        before = tree(self.folder)
        for name in (*NEVER, *ODD):
            if "\0" in name:
                continue
            with self.subTest(name):
                for verb, fields in (("send", dict(member=name, text="x")), ("shutdown", dict(by="test", member=name)), ("mode", dict(by="test", member=name, mode="plan"))):
                    answer = self.daemon.ask(verb, **fields)
                    self.assertTrue(not answer["ok"] or answer.get("refused"), (verb, answer))
        for name in ("../x", "a/b", "-rf", "ad\u202ea", "x" * 300):
            for command in (["inbox", "send", "--force", "--root", str(team.root), "--", name, "text"], ["inbox", "show", "--root", str(team.root), "--", name],
                            ["inbox", "clear", "--yes", "--root", str(team.root), "--", name]):
                self.assertNotEqual(self.plain(*command), 0, command)
        self.assertEqual(tree(self.folder), before)

    def plain(self, *arguments):
        done = subprocess.run([self.daemon.program, *arguments], env=self.daemon.env, capture_output=True, timeout=LIMIT_S)
        self.assertNotIn(b"\xe2\x80\xae", done.stdout + done.stderr)
        return done.returncode


if __name__ == "__main__":
    unittest.main()
