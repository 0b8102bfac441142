"""Every way to the lead, with everything that hostile workers try to get out of their block: tests/fixtures/escapes.json.

What each way shows is read by an oracle of its own (oracle_block.py): one genuine block for each message, from its sender, and nothing
in it that reads as somebody else's words.
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import unittest

import oracle_block
import team as wire
from case import ProcessTest
from daemon import LIMIT_S, wait_for
from stream_lead import LeadRun
from tmux import PaneProgram

CASES = json.loads((pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "escapes.json").read_text("utf-8"))
ACCEPTED = [n for n, case in enumerate(CASES) if not case.get("refused")]
REFUSED = [n for n, case in enumerate(CASES) if case.get("refused")]
PREAMBLE = "Messages from your team, delivered by inbox-poller:\n"
PASTE = re.compile(rb"\x1b\[200~(.*?)\x1b\[201~\r", re.S)


def text_of(n):
    case = CASES[n]
    return case["repeat"][0] * case["repeat"][1] if "repeat" in case else case["text"]


def end_of(n):
    return "\ncase %d." % n


def inbox():
    """All cases as one inbox, as bytes: some are not what a JSON writer would write."""
    entries = []
    for n, case in enumerate(CASES):
        text = "@%d@" % n if "bytes_hex" in case else text_of(n)
        entries.append(wire.entry(case.get("from", "ada"), text + end_of(n), summary=case.get("summary"), color=case.get("color")))
    content = wire.stringify(entries, 1).encode()
    for n, case in enumerate(CASES):
        if "bytes_hex" in case:
            content = content.replace(b"@%d@" % n, bytes.fromhex(case["bytes_hex"]))
    return content


class Escapes(ProcessTest):
    def begin(self, toml):
        self.team = self.make_team()
        self.start_daemon(self.team, toml)

    def attack(self):
        temporary = self.folder / "inbox"
        temporary.write_bytes(inbox())
        os.rename(temporary, self.team.lead_inbox)
        wait_for("all are taken", lambda: sum(self.status()["chat"][k] for k in ("queued", "offered", "delivered")) == len(ACCEPTED))
        refused = self.quarantined(len(REFUSED))
        self.assertEqual(len(refused), len(REFUSED), refused)

    def judge(self, shown, preamble="", offered_before=()):
        """Each text as it was shown, in the order in which they were."""
        seen = []
        for text in shown:
            seen += oracle_block.read(text, preamble)
        self.assertEqual(len(seen), len(ACCEPTED), "exactly one block for each message")
        for n, block in zip(ACCEPTED, seen):
            with self.subTest(CASES[n]["name"]):
                self.assertTrue(("\n" + block.body).endswith(end_of(n)), block.body[-200:])
                self.assertEqual((block.sender, block.color, block.repeat), ("ada", "blue", n in offered_before))

    def judge_lines(self, content):
        text = content.decode()
        self.assertTrue(text.endswith("\n"))
        oracle_block.harmless(text)
        lines = [line for line in oracle_block.lines_of(text) if line]
        self.assertEqual(len(lines), len(ACCEPTED))
        for n, line in zip(ACCEPTED, lines):
            with self.subTest(CASES[n]["name"]):
                message = json.loads(line)
                self.assertEqual(message["from"], "ada")
                self.assertTrue(message["text"].endswith(end_of(n)))
                original = text_of(n)
                if "bytes_hex" not in CASES[n] and not re.search("[\ud800-\udfff]", original):
                    self.assertEqual(message["text"], original + end_of(n))

    def recv(self, *options):
        """What `recv` prints, each time that there is something: bytes, for nobody may mend line ends here."""
        while True:
            done = subprocess.run([self.daemon.program, "recv", *options, "--socket", self.daemon.socket], env=self.daemon.env,
                                  capture_output=True, timeout=LIMIT_S)
            if done.returncode == 4:
                return
            self.assertEqual(done.returncode, 0, done.stderr)
            yield done.stdout

    def all_delivered(self):
        wait_for("all are delivered", lambda: self.status()["chat"]["delivered"] == len(ACCEPTED))

    def test_the_corpus_is_what_it_claims_to_be(self):
        self.assertGreaterEqual(len(CASES), 120)
        self.assertEqual(len({case["name"] for case in CASES}), len(CASES))
        attacks = 0
        for n in ACCEPTED:  # an oracle that finds nothing wrong with what is not escaped would prove nothing
            shown = '<teammate-message teammate_id="ada" color="%s" summary="%s">\n%s\n</teammate-message>' % (
                CASES[n].get("color", "blue"), CASES[n].get("summary", "s"), text_of(n)[:1000])
            try:
                blocks = oracle_block.read(shown)
                attacks += len(blocks) != 1 or blocks[0].repeat
            except oracle_block.Broken:
                attacks += 1
        self.assertGreaterEqual(attacks, 70)

    def test_recv_as_text(self):
        self.begin("")
        self.attack()
        shown = [out.decode() for out in self.recv()]
        self.assertTrue(all(out.endswith("</teammate-message>\n") for out in shown))
        self.judge(out[:-1] for out in shown)

    def test_recv_as_json(self):
        self.begin("")
        self.attack()
        self.judge_lines(b"".join(self.recv("--format", "json")))

    def test_protocol_lines(self):
        program = ("import sys\nwith open(sys.argv[1], 'ab', 0) as out:\n    for line in sys.stdin.buffer:\n        out.write(line)\n")
        got = self.folder / "got"
        self.begin('[delivery]\nmethods = ["stdin"]\n')
        self.attack()
        lead = subprocess.Popen([self.daemon.program, "lead", "run", "--protocol", "lines", "--socket", self.daemon.socket, "--", sys.executable,
                                 "-c", program, str(got)], env=self.daemon.env)
        self.stops.append(lambda: (lead.kill(), lead.wait()))
        self.all_delivered()
        self.judge_lines(got.read_bytes())

    def test_the_socket(self):
        """What `recv` answers there is printed by whoever likes: no byte of it ends a line or turns one."""
        self.begin("")
        self.attack()
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect(self.daemon.socket)
            stream = channel.makefile("rb")
            messages = []
            while len(messages) < len(ACCEPTED):
                channel.sendall(b'{"verb":"recv","max":20,"ignore_busy":true}\n')
                line = stream.readline()
                oracle_block.harmless(line.decode())
                self.assertEqual(len(oracle_block.lines_of(line.decode())), 2)
                answer = json.loads(line)
                self.assertTrue(answer["messages"], answer)
                messages += answer["messages"]
                channel.sendall(json.dumps(dict(verb="ack", keys=[m["message_key"] for m in answer["messages"]])).encode() + b"\n")
                stream.readline()
        for n, message in zip(ACCEPTED, messages):
            if "bytes_hex" not in CASES[n] and not re.search("[\ud800-\udfff]", text_of(n)):
                self.assertEqual(message["text"], text_of(n) + end_of(n))

    def test_the_person_s_program(self):
        script = self.folder / "notify.py"
        script.write_text("import sys\nopen(sys.argv[1], 'ab', 0).write(sys.stdin.buffer.read())\n")
        got = self.folder / "asked"
        self.begin("[approver]\ncommand = %s\n" % json.dumps([sys.executable, str(script), str(got)]))
        texts = [text_of(n) for n in ACCEPTED if "bytes_hex" not in CASES[n] and "repeat" not in CASES[n]
                 and not re.search("[\ud800-\udfff]", text_of(n))][:60]
        for n, text in enumerate(texts):
            self.team.say("ada", wire.permission_request("ada", "Bash", {"command": text}, "perm-%03d" % n))  # told in the order of ids
        wait_for("the program was told", lambda: got.exists() and got.read_bytes().count(b"\n") >= len(texts))
        content = got.read_bytes().decode()
        oracle_block.harmless(content)
        requests = [json.loads(line) for line in oracle_block.lines_of(content) if line]
        self.assertEqual([json.loads(request["body"])["command"] for request in requests if request["event"] == "asked"], texts)

    def test_exec(self):
        script = self.folder / "sink.py"
        script.write_text("import os, sys\nfolder = sys.argv[1]\nos.makedirs(folder, exist_ok=True)\n"
                          "open('%s/%04d' % (folder, len(os.listdir(folder))), 'wb').write(sys.stdin.buffer.read())\n")
        got = self.folder / "got"
        self.begin("[delivery]\nexec = %s\n" % json.dumps([sys.executable, str(script), str(got)]))
        self.attack()
        self.all_delivered()
        self.judge(path.read_bytes().decode() for path in sorted(got.iterdir()))

    def test_file(self):
        path = self.folder / "chat.jsonl"
        self.begin('[delivery]\nfile = "%s"\n' % path)
        self.attack()
        self.all_delivered()
        self.judge_lines(path.read_bytes())

    def test_tmux(self):
        tmux = self.start_tmux()
        lead = PaneProgram(tmux, self.folder)
        self.begin('[delivery]\nmethods = ["tmux"]\n[delivery.tmux]\npane = "%s"\npayload = true\ncommand = %s\nsettle = "10ms"\n' % (
            lead.pane, json.dumps(tmux.command)))
        self.attack()
        self.all_delivered()
        wait_for("the last Enter", lambda: lead.typed().endswith(b"\x1b[201~\r"))
        typed = lead.typed()
        self.assertEqual(PASTE.sub(b"", typed), b"")  # nothing was typed outside of the brackets but Enter
        self.judge(paste.decode() for paste in PASTE.findall(typed))

    def test_hook(self):
        self.begin('[delivery]\nmethods = ["hook"]\n')
        self.attack()
        event = {"session_id": self.team.roster()["leadSessionId"], "hook_event_name": "UserPromptSubmit", "cwd": "/work",
                 "prompt": "go on"}
        shown = []
        while True:
            done = subprocess.run([self.daemon.program, "hook", "--timeout", "5min", "--verbose", "--socket", self.daemon.socket],
                                  env=self.daemon.env, input=json.dumps(event).encode(), capture_output=True, timeout=LIMIT_S)
            if not done.stdout:
                break
            # The turn ends, so the model has it. One that another hook kept going is let go, and takes nothing along.
            self.daemon.ask("hook", event=dict(event, hook_event_name="Stop", stop_hook_active=True))
            context = json.loads(done.stdout.decode())["hookSpecificOutput"]["additionalContext"]
            if context.startswith("A message from ada is waiting."):  # too long for a hook
                oracle_block.harmless(context)
                context = PREAMBLE + next(self.recv("--ignore-busy", "--max", "1")).decode()[:-1]
            shown.append(context)
        self.judge(shown, PREAMBLE, offered_before=[n for n in ACCEPTED if "repeat" in CASES[n]])

    def test_the_lead_s_own_input(self):
        self.begin('[delivery]\nmethods = ["stdin"]\n')
        self.attack()
        lead = LeadRun(self.daemon, self.folder / "lead")
        self.stops.append(lead.stop)
        self.all_delivered()
        self.judge(event["content"] for event in lead.events("took"))


if __name__ == "__main__":
    unittest.main()
