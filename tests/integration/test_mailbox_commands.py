"""`inbox` and `doctor` on real files: beside a peer that writes, beside a daemon, and with what mends each finding."""

import json
import os
import shutil
import subprocess
import threading
import unittest

import team as wire
from case import ProcessTest
from daemon import LIMIT_S, alone, team_toml, wait_for, write_private
from tmux import Tmux


class MailboxCommands(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        for name in ("ada", "bob"):
            self.team.change_member(name, tmuxPaneId="in-process", backendType="in-process")

    def run_program(self, *arguments, expect=0, stdin=None):
        """The program without any configuration but what is on its command line."""
        done = subprocess.run([os.environ["INBOX_POLLER"], *arguments], env=alone(self.folder), capture_output=True,
                              text=True, timeout=LIMIT_S, input=stdin)
        self.assertEqual(done.returncode, expect, done)
        return done

    def inbox(self, verb, *arguments, expect=0, **options):
        done = self.run_program("inbox", verb, *arguments, "--root", str(self.team.root), "--json", expect=expect, **options)
        return json.loads(done.stdout)

    # --- the plain mailbox ---

    def test_beside_a_peer_that_writes_and_reads_nothing_is_lost_and_nothing_comes_twice(self):
        for era in (wire.ERA1, wire.ERA2):
            with self.subTest(era):
                path = self.team.inbox("ada")
                wire.rewrite(path, "[]")
                done = threading.Event()

                def peer():
                    for i in range(60):
                        wire.append(path, wire.entry("bob", "peer %d" % i, era), era, wire.PATIENT)
                    done.set()

                writer = threading.Thread(target=peer)
                writer.start()
                sent = 0
                while not done.is_set() or sent < 5:
                    self.inbox("send", "ada", "ours %d" % sent)
                    self.inbox("mark-read", "ada", "--all")
                    sent += 1
                writer.join()
                texts = [e["text"] for e in wire.read_inbox(path)]
                self.assertEqual(sorted(texts), sorted(["peer %d" % i for i in range(60)] + ["ours %d" % i for i in range(sent)]))
                self.inbox("send", "ada", "the last")
                self.assertEqual(self.inbox("unread", "ada")["entries"][-1]["text"], "the last")
                self.inbox("mark-read", "ada", "--all")
                self.assertEqual(self.inbox("clear", "ada")["count"], 61 + sent)
                self.assertEqual(wire.read_inbox(path), [])

    def test_a_file_that_its_writer_has_emptied_is_waited_for(self):
        path = self.team.inbox("ada")
        whole = json.dumps([wire.entry("bob", "hello", wire.ERA1)])
        for verb in (("unread", "ada"), ("mark-read", "ada", "--all")):
            path.write_text("")
            writer = threading.Timer(1, path.write_text, [whole])  # clock: longer than `status` tries; an early write is no fault
            writer.start()
            answer = self.inbox(*verb)
            writer.join()
            self.assertEqual(answer.get("count", len(answer.get("entries", []))), 1, verb)
        self.assertTrue(wire.read_inbox(path)[0]["read"])

    def test_foreign_fields_numbers_and_spacing_survive_a_mark_and_a_clear(self):
        kept = '{"from":"bob","text":"kept","timestamp":"t","read":false,"n":1e400,"x":{"\\ud83d":[1.0]}}'
        path = self.team.inbox("ada")
        path.write_text('[{"from":"bob","text":"gone","timestamp":"t","read":true},\n\t' + kept + "\n]\n", encoding="utf-8")
        self.assertEqual(self.inbox("clear", "ada")["count"], 1)
        self.assertIn(kept, path.read_text("utf-8"))
        self.assertEqual(self.inbox("mark-read", "ada", "--all")["count"], 1)
        self.assertIn(kept.replace("false", "true "), path.read_text("utf-8"))

    def test_what_is_sent_to_the_lead_in_a_workers_name_is_chat_for_the_daemon(self):
        self.start_daemon(self.team)
        self.inbox("send", "team-lead", "-", "--from", "ada", stdin="two\nlines")
        taken = wait_for("the message", lambda: self.daemon.cli_lines("recv", "--format", "json"))
        self.assertEqual([(m["from"], m["text"]) for m in taken], [("ada", "two\nlines")])

    def test_the_leads_inbox_is_the_daemons_while_it_runs(self):
        self.start_daemon(self.team)
        self.team.say("ada", "hello")
        wait_for("it is marked", lambda: (wire.read_inbox(self.team.lead_inbox) or [{}])[0].get("read"))
        socket = ("--socket", self.daemon.socket)
        before = self.team.lead_inbox.read_bytes()
        for verb in (("mark-read", "team-lead", "--all"), ("clear", "team-lead"), ("clear", "team-lead", "--all", "--yes")):
            self.assertEqual(self.inbox(*verb, *socket, expect=1)["code"], "inbox.served")
        self.assertEqual(self.team.lead_inbox.read_bytes(), before)
        self.inbox("show", "team-lead", *socket)
        self.daemon.stop()
        self.assertEqual(self.inbox("clear", "team-lead", *socket)["count"], 1)

    # --- doctor ---

    def doctor(self, *more, expect):
        done = self.daemon.cli("doctor", "--json", "--config", self.daemon.configs[0], "--daemon-config",
                               self.daemon.daemon_file, *more, expect=expect)
        sections = json.loads(done.stdout)["sections"]
        return {f["check"]: f for section in sections for f in section["findings"] if f["severity"] != "ok"}

    def test_a_healthy_installation_with_its_daemon_has_nothing_to_mend(self):
        self.start_daemon(self.team)
        for i in range(5):
            request = wire.permission_request("ada", "Bash", {"command": "git status"})
            self.team.say("ada", request)
            self.assertEqual(self.doctor(expect=0), {})
            wait_for("the daemon goes on", lambda: self.team.replies("ada", request["request_id"]))
        self.assertFalse(self.daemon.log("ledger.fault"))

    def test_without_its_daemon_that_is_what_is_said(self):
        self.start_daemon(self.team)
        self.daemon.stop()
        self.assertEqual(set(self.doctor(expect=1)), {"daemon.none"})

    def test_what_the_findings_say_mends_them(self):
        self.start_daemon(self.team)
        long_ago = wire.now_ms() / 1000 - 60
        empty, locked = self.team.inbox("ada"), self.team.inbox("bob")
        empty.write_bytes(b"")
        os.utime(empty, (long_ago, long_ago))
        locked.write_bytes(b"\xef\xbb\xbf[]")
        os.mkdir(str(locked) + ".lock")
        os.utime(str(locked) + ".lock", (long_ago, long_ago))
        os.chmod(self.daemon.socket, 0o666)
        found = self.doctor(expect=2)
        self.assertEqual(set(found), {"inbox.empty", "inbox.bom", "lock.abandoned", "access.writable"})
        for finding in found.values():
            subprocess.run(finding["mend"], shell=True, check=True)
        self.assertEqual(self.doctor(expect=0), {})

    def test_phantoms_ghosts_and_a_bad_configuration(self):
        self.make_daemon(team_toml(self.team).replace('name = "demo"', 'name = "*"'))
        self.daemon.start()
        ghost = self.team.root / "ghost" / "inboxes"
        ghost.mkdir(parents=True)
        self.team.say("ada", "for whom?", to="team-laed")
        found = self.doctor(expect=1)
        self.assertEqual(set(found), {"inbox.orphaned", "team.ghost"})
        self.assertIn('aliases = ["team-laed"]', found["inbox.orphaned"]["mend"])
        self.assertIn(self.daemon.configs[0], found["inbox.orphaned"]["mend"])
        shutil.rmtree(ghost.parent)
        write_private(self.daemon.configs[0], "[team]\nname = 7\n")
        found = self.doctor(expect=2)
        self.assertIn("team-0.toml:2", found["config.problem"]["what"])

    def test_members_are_looked_for_in_their_panes(self):
        tmux = Tmux(self.folder)
        self.stops.append(tmux.stop)
        self.start_daemon(self.team, "\n[shutdown]\ntmux = %s\n" % json.dumps(tmux.command))
        self.team.change_member("ada", tmuxPaneId="%0", backendType="tmux")
        self.assertEqual(set(self.doctor(expect=1)), {"member.pane_gone"})
        self.assertEqual(tmux.start("sh", "-c", "sleep 300; :", "--agent-id", "ada@demo"), "%0")
        self.assertEqual(self.doctor(expect=0), {})
        tmux.run("respawn-pane", "-k", "-t", "%0", "sleep", "300")
        self.assertEqual(set(wait_for("the agent is not seen", lambda: self.doctor(expect=0))), {"member.process_unseen"})


if __name__ == "__main__":
    unittest.main()
