#!/usr/bin/env python3
"""No test decides by the clock: finds the sleeps, clock readings, processor ticks and short limits below tests/ that give no reason.

clock.py ROOT         checks ROOT/tests, prints the counts, leaves with 1 and `file:line: what; what to do` for each place without a reason
clock.py --list ROOT  prints every place that has a reason, with the reason
clock.py --self-test  plants a place of each kind and expects each to be found, and to be accepted with a reason

A place gives its reason in a comment `clock: REASON` (after `#` or `//`) on its line, on the line above, or on the line above the
function or class that it belongs to. A file whose whole subject is time says `clock: whole file: REASON` once.
A test waits for a condition instead (wait_for, Daemon.polled; eventually() in C++). Its limit is the one of tests/support/daemon.py or
tests/support/patience.hpp, multiplied by TEST_PATIENCE. CTest's limit is INBOX_POLLER_TEST_LIMIT_S of tests/CMakeLists.txt.
"""

import ast
import io
import pathlib
import re
import sys
import tempfile
import tokenize

SHORT_S = 60  # a limit below this is a verdict about the machine, not a safety net
REASON = re.compile(r"(?:#|//)\s*clock:\s*(whole file:\s*)?(\S.*)")
LEAST_REASON = 12  # letters; "see above" is none

SKIPPED = {
    "tests/bench": "measures on purpose and is never part of a verdict",
    "tests/fixtures": "data",
    "tests/clock.py": "has each of the patterns as a text",
}

ADVICE = {
    "sleep": "wait for a condition",
    "clock": "compare no measured time; wait for what has to come, or use a fake clock",
    "ticks": "count system calls or wake-ups instead",
    "limit": "leave the limit out; the default is minutes",
}

# What a program in a shell or in a string does: a wait of less than SHORT_S. A longer one is a process that only has to live.
SHELL_SLEEP = re.compile(r"(?:^|[\s;&|\"'`(])(?:exec )?sleep\s+(\d+(?:\.\d+)?)\b")
CODE_SLEEP = re.compile(r"time\.sleep\((\d+(?:\.\d+)?)\)|Thread::sleep|setTimeout\(")
TICKS = re.compile(r"SC_CLK_TCK|(?<!os\.)\b(?:utime|stime)\b|getrusage|RUSAGE_")

CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}
PROCESSOR = {"process_time", "process_time_ns", "thread_time", "thread_time_ns", "getrusage", "times"}
LIMIT_WORDS = {"timeout", "seconds", "within", "limit", "deadline", "time_limit"}
WAITS = {"wait", "join", "settimeout"}  # with a number as their only argument

CPP = [
    ("sleep", re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep)\s*\(")),
    ("sleep", re.compile(r"\brun(?:_one)?_(?:for|until)\s*\(")),
    ("clock", re.compile(r"\b(?:steady_clock|high_resolution_clock)::now\s*\(")),
    ("ticks", re.compile(r"\b(?:std::clock|getrusage)\s*\(|\bstruct tms\b|::times\s*\(|CLOCK_(?:PROCESS|THREAD)_CPUTIME_ID|process_cpu_clock|thread_clock")),
]
CPP_LIMIT = re.compile(r"\b(?:limit|within|deadline)\b[^;]*?(?<![\w.'])(\d[\d']*)(ms|us|s)\b|"
                       r"\beventually\s*\(.*,\s*(\d[\d']*)(ms|us|s)\s*\)")
JS = [("sleep", re.compile(r"\bsetTimeout\s*\(|\bwaitForTimeout\s*\(")), ("clock", re.compile(r"\bperformance\.now\s*\(|\bhrtime\b"))]
JS_LIMIT = re.compile(r"\b(?:timeout|setDefaultTimeout)\s*[:(]\s*(\d[\d_]*)\b")
CMAKE_LIMIT = re.compile(r"\bTIMEOUT\s+(\d+)")


class Finding:
    def __init__(self, kind, line, what, last=None):
        self.kind, self.line, self.what, self.last = kind, line, what, last or line
        self.scopes = []  # first lines of the functions and classes around it


def number_of(node):
    """The value of an expression of numbers only; None if there is anything else in it."""
    if any(not isinstance(n, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)) for n in ast.walk(node)):
        return None
    try:
        value = eval(compile(ast.Expression(node), "", "eval"))  # numbers and operators only, see above
    except Exception:
        return None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def is_short(node):
    value = number_of(node)
    return value is not None and 0 < value < SHORT_S


class Reader(ast.NodeVisitor):
    def __init__(self):
        self.found, self.scopes = [], []

    def add(self, kind, node, what):
        finding = Finding(kind, node.lineno, what, getattr(node, "end_lineno", node.lineno))
        finding.scopes = list(self.scopes)
        self.found.append(finding)

    def in_scope(self, node):
        self.scopes.append(min([node.lineno] + [d.lineno for d in node.decorator_list]))
        self.generic_visit(node)
        self.scopes.pop()

    def visit_ClassDef(self, node):
        self.in_scope(node)

    def visit_FunctionDef(self, node):
        positional = node.args.posonlyargs + node.args.args
        pairs = list(zip(positional[len(positional) - len(node.args.defaults):], node.args.defaults))
        pairs += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults) if d]
        for argument, default in pairs:
            if argument.arg in LIMIT_WORDS and is_short(default):
                self.add("limit", default, "%s=%s" % (argument.arg, ast.unparse(default)))
        self.in_scope(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Call(self, node):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        if name == "sleep":
            self.add("sleep", node, ast.unparse(node))
        if name in CLOCKS:
            self.add("clock", node, ast.unparse(node))
        if name in PROCESSOR and (name != "times" or owner == "os"):
            self.add("ticks", node, ast.unparse(node))
        for keyword in node.keywords:
            if keyword.arg in LIMIT_WORDS and is_short(keyword.value):
                self.add("limit", keyword.value, "%s=%s" % (keyword.arg, ast.unparse(keyword.value)))
        short = None
        if name in WAITS and len(node.args) == 1 and owner != "os.path":
            short = node.args[0]
        if name == "wait_for" and len(node.args) > 2:
            short = node.args[2]
        if short is not None and is_short(short):
            self.add("limit", node, "%s(%s)" % (name, ast.unparse(short)))
        self.generic_visit(node)

    def visit_Compare(self, node):
        self.wall_clock(node)

    def visit_BinOp(self, node):
        self.wall_clock(node)

    def wall_clock(self, node):
        """time.time() is a stamp in a message; it is a measurement where it is compared or subtracted."""
        if isinstance(node, ast.Compare) or isinstance(node.op, ast.Sub):
            sides = [node.left] + (node.comparators if isinstance(node, ast.Compare) else [node.right])
            if any(isinstance(s, ast.Call) and ast.unparse(s) == "time.time()" for s in sides):
                self.add("clock", node, ast.unparse(node)[:60])
        self.generic_visit(node)

    def visit_Constant(self, node):
        if not isinstance(node.value, str):
            return
        for at, line in enumerate(node.value.split("\n")):
            finding = text_finding(line)
            if finding:
                self.add(finding[0], node, finding[1])
                if node.end_lineno - node.lineno >= node.value.count("\n") > 0:  # a program in a long text: its own line
                    self.found[-1].line = self.found[-1].last = node.lineno + at
                    self.found[-1].scopes.append(node.lineno)  # a reason cannot stand inside of the text

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return  # a description
        self.generic_visit(node)


def text_finding(line):
    """(kind, what) of a line of shell, or of a program in a string."""
    for pattern in (SHELL_SLEEP, CODE_SLEEP):
        match = pattern.search(line)
        if match and (match[1] is None or 0 < float(match[1]) < SHORT_S):
            return "sleep", match.group().strip(" ;&|\"'`(")
    match = TICKS.search(line)
    return ("ticks", match.group()) if match else None


def python_findings(text):
    reader = Reader()
    reader.visit(ast.parse(text))
    for number, line in enumerate(text.split("\n"), 1):
        if TICKS.search(line.split("#")[0]) and not any(f.line == number and f.kind == "ticks" for f in reader.found):
            reader.found.append(Finding("ticks", number, TICKS.search(line).group()))
    return reader.found


def without_comments(text, line_mark):
    """The same lines; comments are blank, strings stay."""
    if line_mark == "#":
        return re.sub(r"(?m)(^|[ \t])#.*$", "", text)
    pattern = re.compile(r'R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/', re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()) if m.group().startswith(("//", "/*")) else m.group(), text)


def line_findings(text, patterns, limit, line_mark, shell=True):
    found, scope = [], None
    for number, line in enumerate(without_comments(text, line_mark).split("\n"), 1):
        if line_mark == "//" and re.match(r"[A-Za-z~]", line):
            scope = number
        mine = []
        code = re.sub(r'"(?:\\.|[^"\\])*"', '""', line) if line_mark == "//" else line
        mine += [Finding(kind, number, p.search(code).group().rstrip("( ")) for kind, p in patterns if p.search(code)]
        match = limit and limit.search(code)
        if match:
            digits, unit = [g for g in match.groups() if g][:2] if limit is CPP_LIMIT else (match[1], "ms" if limit is JS_LIMIT else "s")
            seconds = float(re.sub("['_]", "", digits)) / {"s": 1, "ms": 1e3, "us": 1e6}[unit]
            if 0 < seconds < (LEAST_CTEST_S if limit is CMAKE_LIMIT else SHORT_S):
                mine.append(Finding("limit", number, match.group()[-40:]))
        in_text = text_finding(line) if shell else None
        if in_text and not any(f.kind == in_text[0] for f in mine):
            mine.append(Finding(in_text[0], number, in_text[1]))
        for finding in mine:
            finding.scopes = [scope] if scope else []
        found += mine
    return found


LEAST_CTEST_S = 10 ** 9  # every number: CTest's limit is one variable


def findings(path, text):
    if path.suffix == ".py":
        return python_findings(text)
    if path.suffix in (".cpp", ".hpp"):
        return line_findings(text, CPP, CPP_LIMIT, "//")
    if path.suffix in (".js", ".mjs"):
        return line_findings(text, JS, JS_LIMIT, "//")
    if path.suffix == ".cmake" or path.name == "CMakeLists.txt":
        return line_findings(text, [], CMAKE_LIMIT, "#", shell=False)
    if text.startswith("#!") and "sh" in text.split("\n")[0]:
        return line_findings(text, [], None, "#")
    return []


def reasons(path, text):
    """{line: reason} of each comment; the key "file" is the reason of the whole file."""
    found = {}
    if path.suffix == ".py":  # a string is no comment
        comments = [(t.start[0], t.string) for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]
    else:
        comments = list(enumerate(text.split("\n"), 1))
    for number, comment in comments:
        match = REASON.search(comment)
        if match and len(match[2]) >= LEAST_REASON:
            found["file" if match[1] else number] = match[2]
    return found


def lines_above(lines, number):
    """Line numbers directly above this one that are comments only."""
    while number > 1 and re.match(r"\s*(#(?!!)|//)", lines[number - 2]):
        number -= 1
        yield number


def reason_of(finding, known, lines):
    if "file" in known:
        return known["file"]
    places = list(range(finding.line, finding.last + 1)) + list(lines_above(lines, finding.line))
    for scope in finding.scopes:
        places += [scope, *lines_above(lines, scope)]
    return next((known[place] for place in places if place in known), None)


def sources(root):
    for path in sorted((root / "tests").rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and "node_modules" not in path.parts and not any(name == s or name.startswith(s + "/") for s in SKIPPED):
            yield name, path


def check(root):
    """(problems, accepted): each (file, finding, reason)."""
    problems, accepted = [], []
    for name, path in sources(root):
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # a fixture of bytes
        if path.suffix not in (".py", ".cpp", ".hpp", ".js", ".mjs", ".cmake") and path.name != "CMakeLists.txt" and not text.startswith("#!"):
            continue
        known, lines = reasons(path, text), text.split("\n")
        for finding in findings(path, text):
            reason = reason_of(finding, known, lines)
            (accepted if reason else problems).append((name, finding, reason))
    return problems, accepted


# (file, a place of one kind, the comment's mark)
PLANTED = [
    ("x.py", "time.sleep(0.3)", "sleep"),
    ("x.py", "await asyncio.sleep(1)", "sleep"),
    ("x.py", "began = time.monotonic()", "clock"),
    ("x.py", "assert time.time() - began < 5", "clock"),
    ("x.py", "used = time.process_time()", "ticks"),
    ("x.py", "used = os.times()", "ticks"),
    ("x.py", 'used = n / os.sysconf("SC_CLK_TCK")', "ticks"),
    ("x.py", "resource.getrusage(0)", "ticks"),
    ("x.py", "process.wait(20)", "limit"),
    ("x.py", "subprocess.run(command, timeout=30)", "limit"),
    ("x.py", 'wait_for("it", it, 2 * 5)', "limit"),
    ("x.py", "def hears(self, seconds=20): pass", "limit"),
    ("x.py", 'start("sh", "-c", "true; sleep 5")', "sleep"),
    ("x.py", 'start("python3", "-c", "import time; time.sleep(3)")', "sleep"),
    ("x.cpp", "std::this_thread::sleep_for(1ms);", "sleep"),
    ("x.cpp", "::usleep(10'000);", "sleep"),
    ("x.cpp", "context.run_for(milliseconds(20));", "sleep"),
    ("x.cpp", "const auto before = std::chrono::steady_clock::now();", "clock"),
    ("x.cpp", "const auto used = std::clock();", "ticks"),
    ("x.cpp", "bool eventually(Condition c, milliseconds limit = 5s);", "limit"),
    ("x.cpp", "CHECK(eventually([&] { return done; }, 2s));", "limit"),
    ("x.cpp", 'shell("sleep 3 & echo done");', "sleep"),
    ("x.js", "await new Promise((resolve) => setTimeout(resolve, 500));", "sleep"),
    ("x.mjs", "await page.click('#a', { timeout: 2000 });", "limit"),
    ("CMakeLists.txt", 'set_tests_properties("a" PROPERTIES TIMEOUT 300)', "limit"),
    ("run-it", "#!/bin/sh\nsleep 2", "sleep"),
]
ALLOWED = [
    ("x.py", 'wait_for("it", it)'),
    ("x.py", "process.wait(LIMIT)"),
    ("x.py", "subprocess.run(command, timeout=120)"),
    ("x.py", 'subprocess.Popen(["sleep", "300"])'),
    ("x.py", 'start("sh", "-c", "exec sleep 300")'),
    ("x.py", '"""No time.sleep(1) in here."""'),
    ("x.py", "# time.sleep(1)"),
    ("x.py", 'stamp = {"ts": time.time()}'),
    ("x.py", '",".join("ab")'),
    ("x.cpp", "// std::this_thread::sleep_for(1ms);"),
    ("x.cpp", 'open("exec sleep 60");'),
    ("x.cpp", "config.team.poll_interval = 20ms;"),
    ("CMakeLists.txt", 'set_tests_properties("a" PROPERTIES TIMEOUT ${INBOX_POLLER_TEST_LIMIT_S})'),
]


def self_test():
    failed = []

    def planted(name, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "tests").mkdir()
            (root / "tests" / name).write_text(text + "\n", "utf-8")
            return [f.kind for _, f, _ in check(root)[0]]

    for name, place, kind in PLANTED:
        mark = "//" if name.endswith(("pp", "js")) else "#"
        first, _, rest = place.rpartition("\n")
        if name.endswith(".py") and place.startswith("await"):
            rest = "async def f():\n  " + rest
        if kind not in planted(name, place if rest in place else rest):
            failed.append("not found: " + place)
        line = rest.split("\n")[-1]
        indent = line[:len(line) - len(line.lstrip())]
        head = (first + "\n" if first else "") + "".join(part + "\n" for part in rest.split("\n")[:-1])
        if planted(name, "%s%s%s clock: a reason that says why\n%s" % (head, indent, mark, line)):
            failed.append("found with a reason above it: " + place)
        if planted(name, "%s%s  %s clock: a reason that says why" % (head, line, mark)):
            failed.append("found with a reason beside it: " + place)
        if not planted(name, "%s%s  %s clock: why" % (head, line, mark)):
            failed.append("a reason of one word was accepted: " + place)
        if not place.startswith("#!") and not planted(name, "%s%s clock: a reason that says why\n\n%s" % (head, indent + mark, line)):
            failed.append("a reason further up was accepted: " + place)
        whole = "%s clock: whole file: a reason that says why\n\n%s%s" % (mark, head, line)
        if not place.startswith("#!") and planted(name, whole):
            failed.append("found in a file with a reason: " + place)
    for name, place in ALLOWED:
        if planted(name, place):
            failed.append("found: " + place)
    inside = "# clock: a reason that says why\ndef f():\n    a()\n    time.sleep(1)\n"
    if planted("x.py", inside) or not planted("x.py", inside + "\n\ndef g():\n    time.sleep(1)\n"):
        failed.append("a reason above a function holds for that function only")
    if not planted("x.py", 'text = "# clock: a reason that says why"; time.sleep(1)'):
        failed.append("a text was taken for a comment")
    return failed


def main():
    if sys.argv[1:] == ["--self-test"]:
        failed = self_test()
        print("\n".join(failed) if failed else "each kind is found when planted, and accepted with a reason only")
        return 1 if failed else 0
    words = [w for w in sys.argv[1:] if w != "--list"]
    root = pathlib.Path(words[0] if words else ".").resolve()
    problems, accepted = check(root)
    for kind in ADVICE:
        print("%-5s  %3d without a reason, %3d with one" % (kind, sum(f.kind == kind for _, f, _ in problems), sum(f.kind == kind for _, f, _ in accepted)))
    for name, finding, reason in accepted if "--list" in sys.argv else []:
        print("%s:%d: %s: %s" % (name, finding.line, finding.what, reason))
    for name, finding, _ in problems:
        print("%s:%d: %s (%s); %s, or say why on this line: clock: REASON" % (name, finding.line, finding.what, finding.kind, ADVICE[finding.kind]))
    return 1 if problems or not any(True for _ in sources(root)) else 0


if __name__ == "__main__":
    sys.exit(main())
