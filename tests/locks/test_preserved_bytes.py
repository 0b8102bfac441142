"""Bytes that are not ours: over the whole life of a file nothing changes in it but our flags.

Inboxes in every spelling that JSON allows, one team each: byte order mark, carriage returns, no white space, too much of it, numbers
that no double holds, keys twice or escaped, fields that we do not know, flags missing or no flags at all. A peer that copies bytes adds
more of the kind, under the lock; the daemon is stopped, killed and started again meanwhile. Then a peer that is node: its JSON.stringify
spells the whole file anew, so there the bytes are compared from one of its writes to the next.
"""

import shutil
import subprocess
import unittest

import oracle
import team as wire
from case import ProcessTest
from daemon import team_toml, wait_for
from workload import received

ROUNDS = 4
# {n}: a number that makes each of them another message. What is said by ada or bob in words is chat.
SAID = (
    '{"from":"ada","text":"plain {n}","timestamp":"2026-02-07T15:20:11.{n}Z","read":false}',
    '{ "read" :\t false , "timestamp":"2026-02-07T15:20:11.{n}Z","text":"turned round {n}","from":"bob" }',
    '{"from":"\\u0061da","text":"\\u00fc\\/\\ud83d\\ude00 {n}","timestamp":"2026-02-07T15:20:11.{n}Z","\\u0072ead":false}',
    '{"from":"ada","text":"numbers {n}","timestamp":"2026-02-07T15:20:11.{n}Z","id":123456789012345678901234567890,'
    '"list":[1e400,-0,-0.0,1E+2,0.10,1.0,18446744073709551616,1e-400],"read":false,"after":{"read":false,"x":[{"read":false}]}}',
    '{"from":"mallory","from":"bob","text":"other","text":"twice {n}","timestamp":"2026-02-07T15:20:11.{n}Z","read":true,"read":false}',
    '{"from":"ada","text":"\u2028 raw, \\u2028 spelt {n}","timestamp":"2026-02-07T15:20:11.{n}Z","lone":"\\ud800 \\u0000","read":false,"":null}',
    '{"from":"bob","text":"no flag {n}","timestamp":"2026-02-07T15:20:11.{n}Z"}',
    '{"from":"bob","text":"' + "long " * 300 + '{n}","timestamp":"2026-02-07T15:20:11.{n}Z","read":   false\n\t}',
)
OTHERS = (  # that are there as well: no entries, and entries without a flag that could be set
    'null', '17', '"text"', '[]', '{}', '{"read":"false"}', '{"from":"ada","text":{n},"read":false}',
    '{"from":"ada","text":"null for a flag {n}","timestamp":"2026-02-07T15:20:11.{n}Z","read":null}',
    '{"from":"ada","text":"read before {n}","timestamp":"2026-02-07T15:20:11.{n}Z","read":true}',
)
# (before the first entry, between two, after the last)
STYLES = {
    "compact": ("[", ",", "]"), "indented": ("[\n  ", ",\n  ", "\n]"), "carriage-returns": ("[\r\n  ", ",\r\n  ", "\r\n]\r\n"),
    "mark": ("\ufeff[ ", " , ", " ]\n\n"), "tabs": ("\t\n[\t\t", "\t,\n\n\t", "\t]   "),
}
NODE = """const fs = require('fs'), [file, entry, indent] = process.argv.slice(1);
const all = JSON.parse(fs.readFileSync(file, 'utf8')); all.push(JSON.parse(entry));
fs.writeFileSync(file, JSON.stringify(all, null, +indent));"""


def parts(data):
    """A file as its entries and what stands before, between and behind them."""
    text, entries, gaps, position = data.decode("utf-8"), oracle.elements(data), [], 0
    for entry in entries:
        start = text.index(entry, position)
        gaps.append(text[position:start])
        position = start + len(entry)
    return entries, gaps + [text[position:]]


class Preserved(ProcessTest):
    def setUp(self):
        super().setUp()
        self.number = 100
        self.teams = {style: self.make_team(style) for style in STYLES}
        self.sent = {style: [] for style in STYLES}
        self.wanted = {}  # what should stand in the file, flags as their writers set them
        self.make_daemon(*(team_toml(team, more='\n[delivery]\nfile = "%s"\n' % self.sink(style)) for style, team in self.teams.items()))

    def sink(self, style):
        return self.folder / (style + ".jsonl")

    def one_of_each(self, style):
        entries = []
        for template in SAID + OTHERS:
            self.number += 1
            entries.append(template.replace("{n}", str(self.number)))
            if template in SAID:
                self.sent[style].append(oracle.decoded(entries[-1]))
        return entries

    def is_as_wanted(self, style):
        old, old_gaps = parts(self.wanted[style])
        new, new_gaps = parts(self.teams[style].lead_inbox.read_bytes())
        self.assertEqual(new_gaps, old_gaps)
        self.assertEqual([oracle.without_flag(n, o) for n, o in zip(new, old)], old)

    def settle(self, style):
        def done():
            entries, _ = parts(self.teams[style].lead_inbox.read_bytes())
            return not any(oracle.decoded(e).get("read") is False for e in entries)
        wait_for("all that can be marked is marked: " + style, done)
        wait_for("all is delivered: " + style, lambda: len(received(self.sink(style))) >= len(self.sent[style]))

    def append(self, style):
        """A peer that copies every byte it finds and puts more behind."""
        path, (_, between, after) = self.teams[style].lead_inbox, STYLES[style]
        with wire.Lock(path, wire.PATIENT):
            data = path.read_bytes()
            self.is_as_wanted(style)
            more = "".join(between + e for e in self.one_of_each(style)).encode()
            path.write_bytes(data[:-len(after)] + more + after.encode())
            self.wanted[style] = self.wanted[style][:-len(after)] + more + after.encode()

    def begin(self):
        for style, (before, between, after) in STYLES.items():
            self.wanted[style] = (before + between.join(self.one_of_each(style)) + after).encode()
            self.teams[style].lead_inbox.write_bytes(self.wanted[style])
            self.teams[style].lead_inbox.chmod(0o600)
        self.daemon.start()

    def judge(self):
        for style in STYLES:
            self.settle(style)
        self.assertEqual(self.daemon.stop(), 0)
        for style, team in self.teams.items():
            with self.subTest(style):
                self.is_as_wanted(style)
                world = oracle.World(team, self.daemon.state, sent=self.sent[style], before={team.lead_inbox.name: self.wanted[style]},
                                     received=received(self.sink(style)), runs=[(0, self.daemon.log_path.read_bytes())])
                self.assertEqual(oracle.violations(world), [])

    def test_a_peer_that_copies_bytes_and_a_daemon_that_comes_and_goes(self):
        self.begin()
        for number in range(ROUNDS):
            for style in STYLES:
                self.append(style)
            if number == 1:
                self.assertEqual(self.daemon.stop(), 0)
                self.daemon.start()
            if number == 2:
                self.daemon.kill()
                self.daemon.start()
        self.judge()

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_a_peer_that_spells_everything_anew(self):
        self.begin()
        for _ in range(2):
            for style, team in self.teams.items():
                self.settle(style)
                with wire.Lock(team.lead_inbox, wire.PATIENT):
                    self.is_as_wanted(style)
                    self.number += 1
                    entry = SAID[0].replace("{n}", str(self.number))
                    if team.lead_inbox.read_bytes().startswith(b"\xef\xbb\xbf"):
                        continue  # node does not read it either
                    subprocess.run(["node", "-e", NODE, str(team.lead_inbox), entry, "2" if style == "indented" else "0"], check=True)
                    self.wanted[style] = team.lead_inbox.read_bytes()
                    self.sent[style].append(oracle.decoded(entry))
        self.judge()


if __name__ == "__main__":
    unittest.main()
