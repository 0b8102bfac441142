"""T-JSON: an inbox in which every entry is odd. Its good neighbors are processed, it is kept with its bytes and told once, and
nobody is stopped by it.

What it costs in memory is measured with a release build (MEMORY_MIB=50 for the long form, 4 otherwise); a build with sanitizers
tells nothing about that and checks the rest. MANY=200000 is the long form of many entries, 20,000 otherwise; more
than that no client writes, and the file counts as damaged.
"""

import json
import os
import pathlib
import re
import sqlite3
import unittest

import attack
import oracle
import team as wire
from attack import BAD, CHAT, Attack, refused
from case import ProcessTest
from daemon import LIMIT_S, wait_for

MEMORY_MIB = int(os.environ.get("MEMORY_MIB", "4"))
MANY = int(os.environ.get("MANY", "20000"))
LIMIT = 64 * 1024  # of one message, in the team with a small one


def odd_strings(a):
    """Strings that JavaScript takes and strict parsers refuse."""
    entry = '{"from":"ada","text":"%s","timestamp":"@","read":false}'
    for name, written, seen in (
            ("half an emoji", r"a\ud83d", "a\ufffd"), ("the other half", r"\ude00b", "\ufffdb"), ("halves the wrong way round", r"\ude00\ud83d", "\ufffd\ufffd"),
            ("a whole one", r"\ud83d\ude00", "😀"), ("an escaped NUL", r"a\u0000b", "a\0b"), ("a raw NUL", "a\0b", "a\0b"),
            ("raw control characters", "a\x01\n\t\x1b[2J\x7fb", "a\x01\n\t\x1b[2J\x7fb"), ("line separators", "a\u2028b\u2029", "a\u2028b\u2029"),
            ("a BOM inside", "\ufeffa", "\ufeffa"), ("no text at all", "", ""), ("what looks like its own end", r"\"}]", '"}]'),
            ("what looks like a flag", r'\"read\": false', '"read": false')):
        a.raw(name, entry % written, CHAT, seen)
    for name, written, seen in (
            ("a byte that is no UTF-8", b"a\xff", "a\ufffd"), ("a sequence cut off", b"a\xe2\x82", "a\ufffd"), ("an overlong slash", b"\xc0\xaf", "\ufffd\ufffd"),
            ("a surrogate as UTF-8", b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"), ("beyond Unicode", b"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd")):
        a.raw(name, entry.encode() % written, CHAT, seen)
    a.raw("half an emoji as the time", '{"from":"ada","text":"t1","timestamp":"\\ud83d@","read":false}', CHAT, "t1")
    a.raw("half an emoji in the summary", '{"from":"ada","text":"t2","timestamp":"@","summary":"\\ud83d","read":false}', CHAT, "t2")
    a.raw("half an emoji as a key", '{"from":"ada","text":"t3","timestamp":"@","\\ud83d":"\\ude00","read":false}', CHAT, "t3")
    a.raw("no UTF-8 as a key", b'{"from":"ada","text":"t4","timestamp":"@","\xff":"\xfe","read":false}', CHAT, "t4")
    a.raw("half an emoji in the name", '{"from":"ada\\ud83d","text":"t","timestamp":"@","read":false}', refused("sender.stranger"))
    a.raw("no UTF-8 in the name", b'{"from":"ada\xff","text":"t","timestamp":"@","read":false}', refused("sender.stranger"))
    a.raw("NUL in the name", '{"from":"ada\\u0000","text":"t","timestamp":"@","read":false}', refused("sender.stranger"))


def odd_values(a):
    """Numbers that no double holds, keys that mean something to JavaScript, and depth."""
    entry = '{"from":"ada","text":"%s","timestamp":"@","x":%s,"read":false}'
    for n, value in enumerate(("1e400", "-0", "-1E+99999999999", "123456789012345678901234567890", "0.1e-400", '{"__proto__":{"from":"team-lead"}}', '{"":{}}',
                               "[" * 33 + "]" * 33, "[" * 201 + "]" * 201, '{"a":' * 300 + "1" + "}" * 300)):
        a.raw("a foreign field of %s" % value[:30], entry % ("v%d" % n, value), CHAT, "v%d" % n)
    a.raw("__proto__ as the sender", '{"__proto__":{"from":"ada"},"text":"x","timestamp":"@","read":false}', BAD)
    a.raw("__proto__ beside the sender", '{"__proto__":{"from":"team-lead","read":true},"from":"ada","text":"p1","timestamp":"@","read":false}', CHAT, "p1")
    a.raw("constructor and toString", '{"constructor":{"name":"x"},"toString":1,"from":"ada","text":"p2","timestamp":"@","read":false}', CHAT, "p2")
    a.raw("a key spelled with escapes", '{"\\u0066rom":"ada","te\\u0078t":"p3","timestamp":"@","read":false}', CHAT, "p3")


def twice(a):
    """Of a key that stands there twice the last counts, for us as for every client."""
    a.raw("two senders, the last a member", '{"from":"mallory","from":"ada","text":"d1","timestamp":"@","read":false}', CHAT, "d1")
    a.raw("two senders, the last a stranger", '{"from":"ada","from":"mallory","text":"d2","timestamp":"@","read":false}', refused("sender.stranger"))
    a.raw("two texts", '{"from":"ada","text":"not this","text":"d3","timestamp":"@","read":false}', CHAT, "d3")
    a.raw("two flags", '{"from":"ada","text":"d4","timestamp":"@","read":true,"read":false}', CHAT, "d4")
    a.raw("two texts, one of them none", '{"from":"ada","text":"x","text":null,"timestamp":"@","read":false}', BAD)
    request = ('{"type":"permission_request","request_id":"%s","agent_id":"ada","tool_name":"Bash","tool_use_id":"t","description":"d",%s,'
           '"permission_suggestions":[]}')
    for name, members, ends in (
            ("two inputs, the last allowed", '"input":{"command":"rm x"},"input":{"command":"git status"}', "approved"),
            ("two inputs, the last denied", '"input":{"command":"git status"},"input":{"command":"rm x"}', "denied"),
            ("two commands in one input", '"input":{"command":"git status","command":"make"}', "pending"),
            ("two commands, the last allowed", '"input":{"command":"make","command":"git status"}', "pending")):
        request_id = "perm-twice-%d" % len(a.cases)
        a.say(name, "ada", request % (request_id, members), ("control", ends), request_id if ends == "approved" else None)


def odd_entries(a):
    """Entries that are none, and fields of other kinds."""
    for raw in ("null", "17", "-1.5e3", "true", '"text"', "[]", "[[[]]]", '[{"from":"ada","text":"x"}]'):
        a.raw("an entry that is %s" % raw, raw, ("malformed", "entry.not_object"))
    a.raw("an empty object", "{}", BAD)
    fields = {"from": '"ada"', "text": '"x"', "timestamp": '"@"', "read": "false"}
    for field in fields:
        for value in ("17", "{}", "[]", "true", "null", '"false"', None):
            if value == fields[field] or (field in ("from", "text", "timestamp") and value == '"false"') or (field == "read" and value == "true"):
                continue
            members = ",".join('"%s":%s' % (k, value if k == field else v) for k, v in fields.items() if k != field or value)
            # Only a sender and a text must be there; a field of another type counts as absent.
            a.raw("%s is %s" % (field, value), "{%s}" % members, CHAT if field in ("timestamp", "read") else BAD)
    for field in ("summary", "color", "msg_id", "type"):
        a.raw("%s is 17" % field, '{"from":"ada","text":"x","timestamp":"@","%s":17,"read":false}' % field, CHAT)
        a.raw("%s is null" % field, '{"from":"ada","text":"n-%s","timestamp":"@","%s":null,"read":false}' % (field, field), CHAT, "n-" + field)
    a.raw("pretty-printed with CRLF", '{\r\n\t"from" :"ada",\r\n\t"text": "crlf" ,\r\n "timestamp":"@" , "read" : false\r\n}', CHAT, "crlf")


class Entries(ProcessTest):
    def test_every_entry_ends_as_it_must_and_its_neighbors_do_not_notice(self):
        odd = Attack(self.folder, "odd")
        for cases in (odd_strings, odd_values, twice, odd_entries):
            cases(odd)
            odd.say("a good one after the %s" % cases.__name__, "bob", wire.permission_request("bob", "Bash", {"command": "git status"},
                    "perm-good-%s" % cases.__name__), ("control", "approved"), "perm-good-%s" % cases.__name__)
        self.assertGreaterEqual(len(odd.cases), 90)
        attack.run(self, self.folder, odd)
        world = odd.world(self.daemon.state).read_ledger()
        attack.compare(self, odd, world)
        for judge in (oracle.i1_nothing_lost, oracle.i2_one_decision, oracle.i3_answers_first, oracle.i6_locks, oracle.i7_files,
                      oracle.i8_no_allow, oracle.i9_refusals):
            self.assertEqual(judge(world), [])
        attack.only_flags_changed(self, odd)


GOOD = wire.stringify(wire.entry("ada", wire.stringify(wire.permission_request("ada", "Bash", {"command": "git status"}, "perm-good")),
                                 timestamp="2026-02-07T15:20:11.000Z")).encode()
ENTRY = b'{"from":"ada","text":"%s","timestamp":"2026-02-07T15:20:12.000Z","x":%s,"read":false}'
DEEP = 100_000
DEEP_INPUT = wire.stringify(wire.permission_request("ada", "Bash", {"command": "git status", "x": "@"}, "perm-deep")).replace('"@"', "[" * DEEP + "]" * DEEP)

# name -> (the file, how many entries of it are taken in, whether it is damaged). The first entry, if any, is GOOD.
FILES = {
    "bom": (b"\xef\xbb\xbf[" + GOOD + b"]", 1, False),
    "twoboms": (b"\xef\xbb\xbf\xef\xbb\xbf[" + GOOD + b"]", 0, True),
    "utf16": (b"[" + GOOD.decode().encode("utf-16") + b"]", 0, True),
    "nuls": (b"[" + GOOD + b"]" + b"\0" * 512, 1, True),
    "zeros": (b"\0" * 4096, 0, True),
    "garbage": (b"[" + GOOD + b"] and more", 1, True),
    "twoarrays": (b"[" + GOOD + b"][" + ENTRY % (b"x", b"1") + b"]", 1, True),
    "emptyarrays": (b"[][]", 0, True),
    "object": (b'{"messages":[' + GOOD + b"]}", 0, True),
    "lines": (GOOD + b"\n" + ENTRY % (b"x", b"1") + b"\n", 0, True),
    "string": (b'"[]"', 0, True),
    "comma": (b"[" + GOOD + b",]", 1, True),
    "hole": (b"[" + GOOD + b",," + ENTRY % (b"x", b"1") + b"]", 1, True),
    "comment": (b"[" + GOOD + b", // x\n" + ENTRY % (b"x", b"1") + b"]", 1, True),
    "nan": (b"[" + GOOD + b"," + ENTRY % (b"x", b"NaN") + b"]", 1, True),
    "octal": (b"[" + GOOD + b"," + ENTRY % (b"x", b"010") + b"]", 1, True),
    "escape": (b"[" + GOOD + b"," + ENTRY % (b"\\x41", b"1") + b"]", 1, True),
    "cut": (b"[" + GOOD + b"," + (ENTRY % (b"x", b"1"))[:40], 1, True),
    "open": (b"[" + GOOD, 1, True),
    "deep": (b"[" + GOOD + b"," + b"[" * DEEP + b"]" * DEEP + b"]", 2, False),
    "deepfield": (b"[" + GOOD + b"," + ENTRY % (b"x", b'{"a":' * DEEP + b"1" + b"}" * DEEP) + b"]", 2, False),
    "deepinput": (b"[" + GOOD + b"," + wire.stringify(wire.entry("ada", DEEP_INPUT)).encode() + b"]", 2, False),
    "deeptorn": (b"[" + GOOD + b"," + b'[{"a":' * DEEP, 1, True),
}


class Files(ProcessTest):
    def test_of_a_file_that_is_damaged_anywhere_the_whole_entries_count_and_it_is_kept_once(self):
        teams = {name: wire.Team(self.folder / "teams", name, ("ada",)) for name in [*FILES, "none"]}
        for name, team in teams.items():
            team.lead_inbox.write_bytes(FILES.get(name, (b"",))[0])
            team.lead_inbox.chmod(0o600)
        self.make_daemon('[team]\nname = "*"\nroot = "%s"\npoll_interval = "50ms"\n[permissions]\nallow = ["Bash(git status:*)"]\n' % (
            self.folder / "teams"), polls=12)
        self.assertEqual(self.daemon.spawn().process.wait(LIMIT_S), 0, self.daemon.tail())
        with sqlite3.connect(self.daemon.state / "ledger.sqlite3") as ledger:  # the oracle's reader cannot hold what is this deep
            found = ledger.execute("SELECT team, disposition, code FROM messages ORDER BY id").fetchall()
        ledger.close()
        kept = {path.name.split(".")[0]: path.read_bytes() for path in (self.daemon.state / "quarantine").iterdir()}
        self.assertEqual(len(list((self.daemon.state / "quarantine").iterdir())), len(kept), "one copy of each")
        for name, (before, taken, damaged) in FILES.items():
            with self.subTest(name):
                team = teams[name]
                self.assertEqual(sum(row[0] == name for row in found), taken)
                self.assertEqual(len(team.replies("ada", "perm-good")), min(taken, 1))
                self.assertEqual(len(self.daemon.log("inbox.quarantined", team=name)), damaged)
                self.assertEqual(kept.get(name), before if damaged else None)
                self.assertEqual(len(self.daemon.log("inbox.unreadable", team=name)), damaged, "told once, not at every poll")
                after = team.lead_inbox.read_bytes()
                self.assertEqual(after.replace(b"true ", b"false").replace(b"[" * DEEP, b""), before.replace(b"[" * DEEP, b""))
                if damaged:
                    self.assertEqual(after, before, "a file that does not parse is never written")
        self.assertEqual(teams["none"].lead_inbox.read_bytes(), b"")
        ends = {name: [row[1:] for row in found if row[0] == name][1:] for name in FILES}
        self.assertEqual((ends["deep"], ends["deepfield"], ends["deepinput"]), (
            [("malformed", "entry.not_object")], [("chat", "")], [("rejected", "payload.malformed")]))
        self.assertLess(max(len(line) for line in self.daemon.log_path.read_bytes().splitlines()), 8000)


def peak_kib(pid):
    return int(re.search(r"VmHWM:\s*(\d+) kB", pathlib.Path("/proc/%d/status" % pid).read_text())[1])


class Sizes(ProcessTest):
    def begin(self, limits=""):
        self.team = self.make_team()
        self.sink = self.folder / "lead.jsonl"
        self.start_daemon(self.team, '\n[delivery]\nmethods = ["file"]\nfile = "%s"\nbatch = 1000\n[limits]\ninbox_file = "1GiB"\n%s\n' % (
            self.sink, limits))
        self.idle = peak_kib(self.daemon.process.pid)

    def write(self, *entries):
        wire.replace(self.team.lead_inbox, "[\n" + ",\n".join(entries) + "\n]")
        self.size = self.team.lead_inbox.stat().st_size

    def messages(self):
        return [json.loads(line) for line in self.sink.read_bytes().splitlines()] if self.sink.exists() else []

    def costs(self, what, copies, entries=1):
        """So many copies of the file, 2 KiB an entry, and 20 MiB over the idle daemon at most; sanitizers keep more."""
        grown = (peak_kib(self.daemon.process.pid) - self.idle) * 1024
        print("\n%s: %.1f MiB in the file, peak %.1f MiB over idle (%.1f times)" % (what, self.size / 2**20, grown / 2**20, grown / self.size))
        if b"__asan_init" not in pathlib.Path(self.daemon.program).read_bytes():
            self.assertLessEqual(grown, copies * self.size + 2048 * entries + 20 * 2**20)

    def good(self, request_id):
        return wire.stringify(wire.entry("bob", wire.stringify(wire.permission_request("bob", "Bash", {"command": "git status"}, request_id))))

    def test_one_huge_text_is_cut_for_the_lead_and_kept_whole(self):
        self.begin('message = "64KiB"')
        text = "begin " + "grüße" * (MEMORY_MIB * 2**20 // 7) + " end"
        huge = wire.stringify(wire.entry("ada", text))
        self.write(self.good("perm-before"), huge, self.good("perm-after"))
        for request_id in ("perm-before", "perm-after"):
            wait_for(request_id, lambda: self.team.replies("bob", request_id))
        message = wait_for("the message", self.messages)[0]
        self.assertTrue(message["text"].startswith("begin grüßegrüße"))
        self.assertLess(len(message["text"].encode()), 66 * 1024)
        self.assertRegex(message["text"], r"\[cut: \d+ of %d bytes shown; the whole message is in the ledger" % len(text.encode()))
        self.costs("one text", copies=6)  # the file, the entry, its text, and two of SQLite's
        self.daemon.stop()
        world = oracle.World(self.team, self.daemon.state).read_ledger()
        self.assertEqual([r["text"] for r in world.rows["messages"] if r["disposition"] == "chat"], [text])

    def test_a_file_beyond_the_limit_is_told_and_read_when_it_is_small_again(self):
        self.begin()
        self.daemon.stop()
        path = pathlib.Path(self.daemon.configs[0])
        path.write_text(path.read_text().replace('inbox_file = "1GiB"', 'inbox_file = "64KiB"\nmessage = "64KiB"'))
        self.daemon.start()
        self.write(self.good("perm-inside"), wire.stringify(wire.entry("ada", "x" * 70_000)))
        wait_for("it is told", lambda: self.daemon.log("inbox.unreadable", new="too_large"))
        self.assertEqual(self.team.replies("bob"), [])
        self.write(self.good("perm-inside"))
        wait_for("it is read again", lambda: self.team.replies("bob", "perm-inside"))

    def test_many_entries(self):
        self.begin()
        entry = wire.stringify(wire.entry("ada", "@")).replace('"@"', '"%d"')
        entries = [entry % n if n % 2 else "null" for n in range(MANY)]
        self.write(*entries, self.good("perm-last"))
        wait_for("the last is answered", lambda: self.team.replies("bob", "perm-last"), pause=0.2)
        wait_for("all chat is there", lambda: len(self.messages()) == MANY // 2, pause=0.5)
        self.assertEqual([m["text"] for m in self.messages()], [str(n) for n in range(1, MANY, 2)])
        wait_for("all that can be is marked", lambda: b'"read":false' not in self.team.lead_inbox.read_bytes(), pause=0.5)
        self.costs("%d entries" % MANY, copies=3, entries=MANY)
        self.daemon.stop()
        world = oracle.World(self.team, self.daemon.state).read_ledger()
        self.assertEqual(len(world.rows["messages"]), MANY + 1)
        self.assertEqual(sum(r["disposition"] == "malformed" for r in world.rows["messages"]), MANY - MANY // 2)


if __name__ == "__main__":
    unittest.main()
