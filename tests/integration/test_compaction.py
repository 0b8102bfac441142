"""Read messages leave the lead's inbox for the ledger: which, when, what peers and kills do meanwhile, and how they are read afterwards."""

import json
import shutil
import subprocess
import threading
import time
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, asan_options, team_toml, wait_for

READ = 1500
STAY = 10  # the newest read ones
SOON = '\n[compaction]\nafter = "1s"\n'
LOCK = "team-lead.json.lock"


def read_entry(number, size):
    text = "message %d %s" % (number, "grüße " * (size // 7))
    return wire.stringify(dict(wire.entry("ada", text, timestamp="2026-02-07T15:20:%02d.%03dZ" % divmod(number, 1000)), read=True))


# Never marked read, by nobody: they have no flag that could be set.
ODD = ('null', '"odd \\u0041"', '[1, 2.50]')


class Compaction(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()

    def fill(self, size=60):
        """Read entries with odd ones among them. Returns the bytes, and those that are to be left."""
        entries = [read_entry(i, size) for i in range(READ)]
        places = {0: ODD[0], 700: ODD[1], READ - 3: ODD[2]}
        both = [e for i, entry in enumerate(entries) for e in ([places[i]] if i in places else []) + [entry]]
        left = [e for e in both if e in ODD or e in entries[-STAY:]]
        shape = lambda some: "[\n  " + ",\n  ".join(some) + "\n]\n"
        self.team.lead_inbox.write_text(shape(both), "utf-8")
        return shape(both).encode(), shape(left).encode()

    def inbox(self):
        return self.team.lead_inbox.read_bytes()

    def history(self):
        return self.daemon.ask("history", limit=10000, full=True)["messages"]

    def compacted(self):
        return wait_for("entries leave the inbox", lambda: self.daemon.log("inbox.compacted"))

    def nobody_else_is_seen(self):
        self.assertEqual(self.daemon.log("inbox.competing_consumer"), [])
        self.assertEqual(self.status()["role"], "leader")

    def test_what_is_read_leaves_and_can_still_be_read(self):
        for size in (60, 2000):  # handled at once, and beside the polls
            with self.subTest(size=size):
                _, left = self.fill(size)
                self.start_daemon(self.team, toml_more="\n[compaction]\nenabled = false\n")
                wait_for("all is recorded", lambda: sum(m["text"].startswith("message ") for m in self.history()) == READ)
                self.daemon.stop()
                self.daemon.log_path.unlink()
                time.sleep(1.2)  # clock: the entries have to grow older than compaction.after; more time does no harm
                self.start_daemon(self.team, toml_more=SOON)  # with its ledger
                wait_for("all that is old has left", lambda: self.inbox() == left)
                told = self.compacted()
                self.assertEqual(sum(e["count"] for e in told), READ - STAY)
                self.assertGreater(sum(e["bytes"] for e in told), (READ - STAY) * size)
                self.assertEqual([p.name for p in self.team.inboxes.iterdir()], ["team-lead.json"])
                texts = [m["text"] for m in self.history() if m["text"].startswith("message ")]
                self.assertEqual(texts, [json.loads(read_entry(i, size))["text"] for i in range(READ)])
                shown = self.daemon.cli("history", "--limit", "10000", "--from", "ada").stdout
                self.assertIn("message 0 ", shown)
                self.assertEqual(len(shown.splitlines()), READ + 1)  # the head; whoever wrote the odd ones is nobody's guess
                key = next(m["message_key"] for m in self.history() if m["text"].startswith("message 7 "))
                self.assertIn("  | message 7 ", self.daemon.cli("history", key[:16]).stdout)
                self.assertIn("%d read messages left it" % (READ - STAY), self.daemon.cli("status").stdout)

                self.team.say("bob", "and then")
                wait_for("the next message is taken in", lambda: any(m["text"] == "and then" for m in self.history()))
                self.nobody_else_is_seen()
                self.daemon.stop()
                shutil.rmtree(self.daemon.state)
                self.daemon.log_path.unlink()

    def test_a_peer_that_writes_meanwhile_loses_nothing(self):
        self.fill()
        ended = threading.Event()
        said = {wire.ERA1: [], wire.ERA2: []}

        def talk(era, sender):
            while not ended.is_set() and len(said[era]) < 100:  # on a slow machine it would find no moment between them
                text = "%s says %d" % (sender, len(said[era]))
                self.team.say(sender, text, era=era)
                said[era].append(text)
                ended.wait(0.1)  # clock: the pace of a peer; nothing is judged by it

        self.start_daemon(self.team, toml_more=SOON)
        peers = [threading.Thread(target=talk, args=peer) for peer in ((wire.ERA1, "ada"), (wire.ERA2, "bob"))]
        for peer in peers:
            peer.start()
        try:
            self.compacted()
        finally:
            ended.set()
            for peer in peers:
                peer.join()
        everything = said[wire.ERA1] + said[wire.ERA2]
        wait_for("all is taken in", lambda: len([m for m in self.history() if " says " in m["text"]]) >= len(everything))
        found = [m["text"] for m in self.history() if " says " in m["text"]]
        self.assertEqual(sorted(found), sorted(everything))
        self.assertLess(len(self.inbox()), READ * 100)
        self.nobody_else_is_seen()

    def test_only_a_leader_compacts_and_only_if_that_is_wanted(self):
        for role, enabled, compacts in (("leader", "true", True), ("leader", "false", False), ("interceptor", "true", False),
                                        ("observer", "true", False)):
            with self.subTest(role=role, enabled=enabled):
                before, left = self.fill()
                more = SOON + "enabled = %s\n" % enabled
                toml = team_toml(self.team, more=more, team_more='role = "%s"' % role)
                if compacts:
                    self.make_daemon(toml).start()
                    self.compacted()
                    self.assertEqual(self.daemon.stop(), 0)
                    self.is_a_part(self.inbox(), before, left)
                else:
                    self.make_daemon(toml, polls=80).spawn()
                    self.assertEqual(self.daemon.process.wait(LIMIT_S), 0, self.daemon.tail())
                    self.assertEqual(self.inbox(), before)
                shutil.rmtree(self.daemon.state)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_a_kill_at_any_step_leaves_the_old_file_or_the_new_one(self):
        before, left = self.fill()
        self.make_daemon(team_toml(self.team, more=SOON), polls=60)
        self.daemon.env["ASAN_OPTIONS"] = asan_options("detect_leaks=0")
        steps = self.steps()
        for name, is_new in (("fchmod", False), ("mkdir", False), ("rename", False), ("rmdir", True)):
            with self.subTest(name):
                shutil.rmtree(self.daemon.state)
                self.team.lead_inbox.write_bytes(before)
                self.assertEqual(self.killed_at(*steps[name]), 137, self.daemon.tail())
                if is_new:
                    self.is_a_part(self.inbox(), before, left)
                else:
                    self.assertEqual(self.inbox(), before)
                with open(self.daemon.log_path, "wb"):
                    self.daemon.extra = []
                # All of it is old enough then; if only some were, the rest would be too little for another rewrite.
                time.sleep(1.2)  # clock: the entries have to grow older than compact_after; more time does no harm
                self.daemon.start()
                # What a rewrite before the kill left may be too little for another one.
                wait_for("the inbox is small", lambda: is_new or self.inbox() == left)
                self.is_a_part(self.inbox(), before, left)
                wait_for("nothing is left behind", self.is_tidy)
                self.assertEqual(len([m for m in self.history() if m["text"].startswith("message ")]), READ)
                self.nobody_else_is_seen()
                self.assertEqual(self.daemon.stop(), 0)

    def is_a_part(self, whole, before, left):
        """A rewrite leaves out what was old enough at that moment: on a slow machine not everything is."""
        entries, had, stay = (json.loads(text) for text in (whole, before, left))
        self.assertLess(len(entries), len(had))
        rest = iter(had)
        self.assertTrue(all(entry in rest for entry in entries), "not in the order of the old file")
        rest = iter(entries)
        self.assertTrue(all(entry in rest for entry in stay), "what has to stay has left")

    def is_tidy(self):
        """No temporary file, and no lock but one that nobody has met again: a peer takes that away after ten seconds."""
        if (self.team.inboxes / LOCK).exists():
            self.team.say("bob", "is anybody there?")
            return False
        return not [p for p in self.team.inboxes.iterdir() if ".ip-" in p.name]

    def strace(self, *options):
        with open(self.folder / "strace.log", "wb") as log:
            return subprocess.run(["strace", "-qq", "-f", "-y", "-o", str(self.folder / "trace"), *options, *self.daemon.command()],
                                  env=self.daemon.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=LIMIT_S).returncode

    def killed_at(self, call, number):
        """kill -9 right before that call has its effect. The exit code as a shell tells it."""
        self.daemon.extra = ["--polls", "60"]
        code = self.strace("-e", "trace=" + call, "-e", "inject=%s:signal=KILL:when=%d" % (call, number))
        return 128 - code if code < 0 else code

    def steps(self):
        """The steps of a removal in an undisturbed run: which call it is, and how often the main thread had made that call before."""
        wanted = {"fchmod": ".team-lead.json.ip-", "mkdir": LOCK, "rename": "team-lead.json", "rmdir": LOCK}
        calls = {"fchmod": "fchmod", "mkdir": "mkdir,mkdirat", "rename": "rename,renameat,renameat2", "rmdir": "rmdir,unlinkat"}
        self.assertEqual(self.strace("-e", "trace=" + ",".join(calls.values())), 0)
        found, counts, main = {}, {}, None
        for line in (self.folder / "trace").read_text("utf-8", "replace").splitlines():
            process, call = line.split(None, 1)
            main = main or process
            name = call.split("(")[0]
            if process != main:
                continue
            counts[name] = counts.get(name, 0) + 1
            for step, names in calls.items():
                if name in names.split(",") and str(self.team.inboxes) in line and wanted[step] in line and step not in found:
                    found[step] = name, counts[name]
        self.assertEqual(set(found), set(calls))
        return found


if __name__ == "__main__":
    unittest.main()
