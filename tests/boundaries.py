#!/usr/bin/env python3
"""The borders of the house, checked by includes and by a few words (docs/dev/architecture.md says why each exists).

boundaries.py ROOT        checks the sources below ROOT, prints the counts, leaves with 1 and `file:line: what` on a violation
boundaries.py --self-test plants a violation of every rule and expects each to be found
"""

import pathlib
import re
import sys
import tempfile

ROOMS = ("schema", "config", "handlers", "poller")
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 70
MAX_ROOM_LINES = {"schema": 5540, "config": 6940, "handlers": 3880, "poller": 31515, "poller/cli": 15180}  # raising one needs a record in docs/adr

# The folders of poller/ from the ground up: each may include what stands in it or before it. Files beside them are the ports.
POLLER_FLOORS = ("ports", "mailbox", "broker", "systems", "ledger", "context", "cluster", "effects", "delivery", "team", "run", "control", "daemon", "cli")

PURE = r'<(boost/asio[/.].*|sqlite3\.h|spdlog/.*|filesystem|fstream|unistd\.h|fcntl\.h|sys/.*|thread|mutex|ctime|time\.h)>'

VERBS = "|".join(re.findall(r' verb = "(\w+)"', (pathlib.Path(__file__).resolve().parent.parent / "schema/operations/verb_arguments.hpp").read_text("utf-8")))

# (name, files, forbidden pattern on a line without comments, except in files, a line that must be found)
RULES = [
    ("pure rooms do no I/O", r"(schema|handlers)/.*", r"#\s*include\s*" + PURE, None, "#include <boost/asio/post.hpp>"),
    ("pure rooms read no clock", r"(schema|handlers)/.*", r"_clock\b|\bgettimeofday\b|\btime\(\s*(NULL|nullptr|0)\s*\)", None,
     "auto t = std::chrono::system_clock::now();"),
    ("schema knows no other room", r"schema/.*", r'#\s*include\s*"(config|handlers|poller)/', None, '#include "config/rules.hpp"'),
    ("config knows schema only", r"config/.*", r'#\s*include\s*"(handlers|poller)/', None, '#include "handlers/handler.hpp"'),
    ("handlers know schema and config only", r"handlers/.*", r'#\s*include\s*"poller/', None, '#include "poller/clock.hpp"'),
    ("TOML stays in config/load*", r".*", r"#\s*include\s*<toml\+\+/", r"config/load[^/]*", "#include <toml++/toml.h>"),
    ("CLI11 stays in poller/cli", r".*", r"#\s*include\s*<CLI/", r"poller/cli/.*", "#include <CLI/CLI.hpp>"),
    ("Beast stays in poller/cli/web/http.cpp", r".*", r"#\s*include\s*<boost/beast", r"poller/cli/web/http[^/]*", "#include <boost/beast/http.hpp>"),
    ("SQLite stays in poller/ledger", r".*", r"#\s*include\s*<sqlite3\.h>", r"poller/ledger/.*", "#include <sqlite3.h>"),
    ("Redis and TLS stay in poller/exchange", r".*", r"#\s*include\s*<(hiredis/|boost/asio/ssl|openssl/ssl)", r"poller/broker/.*",
     "#include <hiredis/hiredis.h>"),
    # A person's commands for one file (cli/) know the spelling; who opens a team knows the system.
    ("array inboxes stay in poller/mailbox/arrays", r"poller/(?!mailbox/arrays/|systems/mailbox_system\.cpp|cli/).*",
     r'#\s*include\s*"poller/mailbox/arrays/|\b(WriteOutcome|ReadOutcome|ReadFlag|AppendReceipt|LockDirectory|InboxDocument|InboxEntry|KeySet)\b', None,
     '#include "poller/mailbox/arrays/lock_directory.hpp"'),
    # The table of facts, the loader, and who opens or examines boxes; what a person reads may name the system.
    ("decisions ask for facts of a mailbox system", r"handlers/.*|poller/(context|effects|delivery|team|run|control|cluster)/.*",
     r"\bBackend::", None, "if (team.backend == config::Backend::jsonl) return;"),
    # docs/adr/0061: what is asked for by name is asked for by its record.
    ("a verb is named by its request", r"poller/.*", r'"verb"|\.name = "(?:%s)"|\bverb == "' % VERBS, None,
     'boost::json::object request{{"verb", "status"}};'),
    ("a name that is not used any more", r".*", r"\b(HostBeat|HostService|Handover|HostEnds|SpreadMailbox|SpreadMembers|Carrier|RedisExchange|MemoryExchange|HostLetter|"
     r"ArrivedLetter|MaildirCoordination|Disposal|PutResult|Sighting|KnownEntries|Housekeeping|LeadHost|AnswerWorth|Stance|TeamContext|WaitingTaker|"
     r"OpenAsk|Ask(Row|Kind|State|Event|Table)|LeadAsks|one_breath|heed_\w+|"
     r"Standing\w*|stance\w*|LateMarks|EngineFacts|MemoryEngine|Trimmed|News|Offerable|offerable|unoffer|take_back|rely_on_hints|look_in_turn|on_news|hears_changes|"
     r"tell_lead|let_go|Letter|Offered|Borrower|HookWay|Errand|Intake|HostMail|Exchange|lend(_\w+)?|lent|give_back\w*|note_lent)\b", None, "class HostService {"),
    ("no detached task", r".*", r"\bdetached\b", None, "asio::co_spawn(io, task(), asio::detached);"),
    ("waits are timers, never sleeps", r".*", r"\b(sleep_for|sleep_until|usleep|nanosleep)\s*\(|[^_\w.]sleep\s*\(", None,
     "std::this_thread::sleep_for(1s);"),
    ("no shell", r".*", r"\b(system|popen)\s*\(", None, 'std::system("ls");'),
]


def without_comments(text):
    """The same lines with comments blanked; strings stay, and a // inside a string is not a comment."""
    pattern = re.compile(r'R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.S)

    def keep(match):
        found = match.group()
        return re.sub(r"[^\n]", " ", found) if found.startswith(("//", "/*")) else found

    return pattern.sub(keep, text)


def blank_strings(line):
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', line)


def sources(root):
    return sorted(p for room in ROOMS for p in (root / room).rglob("*") if p.suffix in (".cpp", ".hpp", ".inc", ".sql"))


def long_functions(lines):
    """Functions at namespace level: from a line in column 0 that opens a block to the closing brace in column 0."""
    head = start = None
    for number, line in enumerate(lines, 1):
        if re.match(r"[A-Za-z~:<\[]", line):
            head = None if re.match(r"(namespace|class|struct|enum|union)\b", line) else number
        if re.search(r"\)[^;={]*\{\s*$", line) and start is None and head and number - head < 6:  # a head may have several lines
            start = head
        elif line.startswith("}"):
            if start and number - start + 1 > MAX_FUNCTION_LINES:
                yield start, number - start + 1
            head = start = None


def floor_of(name):
    """Of a file below poller/: the daemon stands on top of its neighbors."""
    parts = name.split("/")
    room = parts[1] if len(parts) > 2 else "daemon" if parts[1].startswith("daemon.") else "ports"
    return POLLER_FLOORS.index(room)


def runs_back_up(name, line):
    included = re.match(r'\s*#\s*include\s*"(poller/[^"]+)"', line)
    return name.startswith("poller/") and included and floor_of(included.group(1)) > floor_of(name)


def lost_tests(root):
    """A unit test lies in the folder of tests/unit that has the product's path, with cli for poller/cli, and is called *_test.cpp."""
    for path in sorted((root / "tests/unit").rglob("*.cpp")):
        name = path.relative_to(root).as_posix()
        folder = re.sub(r"^cli\b", "poller/cli", path.parent.relative_to(root / "tests/unit").as_posix())
        if not (root / folder).is_dir():
            yield "%s: there is no folder %s that it tests" % (name, folder)
        if not name.endswith("_test.cpp"):
            yield "%s: call it %s_test.cpp, or it is not compiled" % (name, path.stem)


def check(root):
    problems, code_lines, largest = [], dict.fromkeys(MAX_ROOM_LINES, 0), (0, "")
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text("utf-8")
        lines = without_comments(text).split("\n")
        total = text.count("\n")
        largest = max(largest, (total, name))
        room = "poller/cli" if name.startswith("poller/cli/") else name.split("/")[0]
        code_lines[room] += sum(1 for line in lines if line.strip())
        if total > MAX_FILE_LINES:
            problems.append("%s:%d: file is longer than %d lines" % (name, total, MAX_FILE_LINES))
        for start, length in long_functions(lines):
            problems.append("%s:%d: function of %d lines (at most %d)" % (name, start, length, MAX_FUNCTION_LINES))
        problems += ["%s:%d: an arrow that runs back up: %s" % (name, number, line.strip())
                     for number, line in enumerate(lines, 1) if runs_back_up(name, line)]
        for rule, where, forbidden, allowed_in, _ in RULES:
            if not re.fullmatch(where, name) or (allowed_in and re.fullmatch(allowed_in, name)):
                continue
            for number, line in enumerate(lines, 1):
                subject = line if "include" in line or "verb" in rule else blank_strings(line)
                if re.search(forbidden, subject):
                    problems.append("%s:%d: %s: %s" % (name, number, rule, line.strip()))
    problems += lost_tests(root)
    for room, most in MAX_ROOM_LINES.items():
        if code_lines[room] > most:
            problems.append("%s: %d code lines (at most %d)" % (room, code_lines[room], most))
    return problems, code_lines, largest


def self_test():
    failed = []

    def planted(name, content, expected):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for room in ROOMS:
                (root / room / "cli").mkdir(parents=True)
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content, "utf-8")
            found = [p for p in check(root)[0] if expected in p]
            return bool(found)

    for rule, where, _, allowed_in, violation in RULES:
        room = "schema" if re.fullmatch(where, "schema/x.cpp") else re.match(r"\w+", where).group()
        if not planted(room + "/x.cpp", "int f();\n" + violation + "\n", rule):
            failed.append("not found: " + rule)
        if planted(room + "/x.cpp", "// " + violation + "\n", rule):
            failed.append("found in a comment: " + rule)
        if allowed_in:
            excepted = allowed_in.replace("[^/]*", ".cpp").replace(".*", "x.cpp")
            if planted(excepted, violation + "\n", rule):
                failed.append("found where it is allowed: " + rule)
    if not planted("tests/unit/poller/nowhere/x_test.cpp", "", "no folder poller/nowhere"):
        failed.append("not found: a test of no folder")
    if not planted("tests/unit/poller/cli/x.cpp", "", "x_test.cpp"):
        failed.append("not found: a test of another name")
    if not planted("poller/x.cpp", "int x;\n" * (MAX_FILE_LINES + 1), "longer than"):
        failed.append("not found: long file")
    if not planted("poller/x.cpp", "int f() {\n" + "  g();\n" * MAX_FUNCTION_LINES + "}\n", "function of"):
        failed.append("not found: long function")
    if not planted("poller/x.cpp", "int f(int a,\n      int b) {\n" + "  g();\n" * MAX_FUNCTION_LINES + "}\n", "function of"):
        failed.append("not found: long function with a long head")
    if planted("poller/x.cpp", "int f() {\n" + "  g();\n" * (MAX_FUNCTION_LINES - 2) + "}\n", "function of"):
        failed.append("found: a function that just fits")
    if not planted("poller/effects/x.cpp", '#include "poller/team/receiver.hpp"\n', "back up"):
        failed.append("not found: an arrow that runs back up")
    if planted("poller/team/x.cpp", '#include "poller/effects/outbox.hpp"\n#include "poller/clock.hpp"\n', "back up"):
        failed.append("found: an arrow that runs down")
    for room, most in MAX_ROOM_LINES.items():
        if not planted(room + "/x.cpp", "int x;\n" * (most + 1), "%s: %d code lines" % (room, most + 1)):
            failed.append("not found: too many lines in " + room)
    return failed


def main():
    if sys.argv[1:] == ["--self-test"]:
        failed = self_test()
        print("\n".join(failed) if failed else "every rule fires on a planted violation, and only there")
        return 1 if failed else 0
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    problems, code_lines, (largest, name) = check(root)
    print("product: %d code lines in %d files (%s); largest file: %s, %d lines" % (
        sum(code_lines.values()), len(sources(root)), ", ".join("%s %d" % c for c in code_lines.items()), name, largest))
    print("\n".join(problems) if problems else "all borders hold")
    return 1 if problems or not sources(root) else 0


sys.exit(main())
