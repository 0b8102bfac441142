#!/usr/bin/env python3
"""The documents can be read on a terminal and in a diff: short lines, short cells, nothing said twice, no link that leads nowhere.

documents.py ROOT        checks the *.md files below ROOT, leaves with 1 and `file:line: what` on a violation
documents.py --self-test plants a violation of every rule and expects each to be found
"""

import json
import pathlib
import re
import sys
import tempfile

MAX_LINE = 110
MAX_CELL = 200  # a cell that is one piece of code is a code block: the table of programs in docs/reference/programs.md is read out of there
HOUR = ["read", "of it", "there you see"]
QUESTIONS = ["Question", "Answer", "Links", "Words there"]
MAX_HOPS = 2  # links from README.md to the answer of a question
MAX_HOUR = 1500  # lines of docs/dev/architecture.md's table
MAX_README = 150  # lines: who reads on finds the rest linked
FIGURE = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)? ?(?:ms|us|s|min|[kKMG]i?B|cores|processor|%)(?!\w)")
RUN = re.compile(r"\b([Mm]easured|p50|p99|RSS|CPU|[Pp]rocessor time|[Pp]rocessor seconds)\b")
RUN_HEAD = re.compile(r"How long it takes|Speed|Cost|time goes")
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b|\b\d{1,2} [A-Z][a-z]+ 20\d\d\b")
METHOD = re.compile(r"\b(tests|deploy)/[\w/.-]+")
UNDATED = {"README.md", "CHANGELOG.md", "configuration.md"}  # compared with the newest run; dated by release; bounds only
NOT_RUN = {"How to read it"}  # headings of what explains a target or a bound
SENTENCE = 60   # what is longer and stands twice in one document was pasted twice


def documents(root):
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def lines_of(text):
    """(number, line, is it code) of each line; fences count as code."""
    code = False
    for number, line in enumerate(text.split("\n"), 1):
        fence = line.lstrip().startswith("```")
        yield number, line, code or fence
        code ^= fence


def cells(row):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def anchors(text):
    heads = (line.lstrip("#").strip() for _, line, code in lines_of(text) if line.startswith("#") and not code)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def widths(text):
    for number, line, code in lines_of(text):
        if code:
            continue
        if not line.lstrip().startswith("|"):
            if len(line) > MAX_LINE:
                yield number, "a line of %d columns (at most %d)" % (len(line), MAX_LINE)
            continue
        for cell in cells(line):
            if len(cell) > MAX_CELL and not re.fullmatch(r"`[^`]*`", cell):
                yield number, "a cell of %d characters (at most %d): %s…" % (len(cell), MAX_CELL, cell[:40])


def repetitions(text):
    text = re.sub(r"<!-- (\w+): made by .*?<!-- end of \1 -->", lambda made: "\n" * made[0].count("\n"), text, flags=re.S)
    prose = "\n".join("" if code or line.lstrip().startswith("|") else line for _, line, code in lines_of(text))
    seen = set()
    for sentence in re.finditer(r"\S(?:[^.;:]|[.;:](?!\s))*[.;:](?=\s)", prose):
        words = " ".join(sentence.group().split())
        if len(words) > SENTENCE and words in seen:
            yield prose.count("\n", 0, sentence.start()) + 1, "said twice: %s…" % words[:SENTENCE]
        seen.add(words)


def dead_links(path, text):
    for number, line, code in lines_of(text):
        for target in () if code else re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"\w+:", target):
                continue
            file, _, anchor = target.partition("#")
            other = path.parent / file if file else path
            if not other.exists():
                yield number, "a link to nothing: " + target
            elif anchor and other.suffix == ".md" and anchor not in anchors(other.read_text("utf-8")):
                yield number, "a link to no heading: " + target


def hops(root):
    """How many links each document is away from README.md."""
    away, now = {root / "README.md": 0}, [root / "README.md"]
    while now:
        path = now.pop(0)
        for target in re.findall(r"\]\(([^)\s#]+\.md)(?:#[^)\s]*)?\)", path.read_text("utf-8")):
            other = (path.parent / target).resolve()
            if other.is_file() and other not in away:
                away[other] = away[path] + 1
                now.append(other)
    return away


def below(text, anchor):
    """What stands below a heading, deeper headings included; without an anchor all of it. Spaces are one each."""
    found, depth = [], 0
    for _, line, code in lines_of(text):
        head = re.match("#+(?= )", line) if not code else None
        if depth and head and len(head[0]) <= depth:
            break
        if head and not depth and anchor in anchors(line):
            depth = len(head[0])
        if depth or not anchor:
            found.append(line)
    return " ".join(" ".join(found).split())


def unanswered(root, text):
    """Questions of strangers: their page is as few links away from README.md as the table says, and has the words."""
    away, asking = hops(root), False
    for number, line, code in lines_of(text):
        row = cells(line) if line.startswith("|") and not code else []
        asking = row == QUESTIONS or (asking and bool(row))
        link = re.search(r"\]\(([^)\s#]+)#?([^)\s]*)\)", row[1]) if asking and len(row) == len(QUESTIONS) else None
        page = (root / "docs" / "dev" / link[1]).resolve() if link else None
        if page in away:
            if away[page] > MAX_HOPS or str(away[page]) != row[2]:
                yield number, "%d links from README.md: %s" % (away[page], link[1])
            if row[3] not in below(page.read_text("utf-8"), link[2]):
                yield number, "no answer: %s does not say: %s" % (link[1], row[3])
        elif link:
            yield number, "no way from README.md: " + link[1]


def function_lines(text, name):
    """How many lines the functions of this name have, or the one with this beginning of its parameters, or the class; heads and blank
    lines behind them included."""
    lines = text.split("\n")
    is_head = re.compile(r"[A-Za-z].*\b%s|(struct|class) %s\b.*\{$" % (re.escape(name) + ("" if "(" in name else r"\("), re.escape(name)))
    total = 0
    for n, line in enumerate(lines):
        if is_head.match(line) and not line.endswith(";"):
            end = next(i for i, other in enumerate(lines[n:], n) if other in ("}", "};") or (i == n and other.endswith("}")))
            total += end - n + 2
    return total


def hours(root, text):
    """A table of what to read in an hour: it exists, and is not too much."""
    total = first = 0
    for number, line, code in lines_of(text):
        row = cells(line) if line.startswith("|") and not code else []
        first = number if row == HOUR else first if row else 0
        if not first or number < first + 2:
            continue
        path = root / row[0].strip("`")
        source = path.read_text("utf-8") if path.is_file() else ""
        names = re.findall(r"`([^`]+)`", row[1])
        parts = [function_lines(source, name) for name in names]
        if not source or 0 in parts:
            yield number, "nothing to read: %s" % " ".join(row[:2])
        total += sum(parts) if names else source.count("\n")
        if total > MAX_HOUR:
            yield number, "%d lines are more than an hour's (at most %d)" % (total, MAX_HOUR)


def quotes(root, text):
    """A block that names a source in its first line stands there, line for line."""
    for found in re.finditer(r"^```[a-z]+ (\S+)\n(.*?)^```$", text, re.M | re.S):
        path = root / found[1]
        if not path.is_file() or found[2] not in path.read_text("utf-8"):
            yield text.count("\n", 0, found.start()) + 1, "not what stands in %s" % found[1]


def records(root):
    """The fields of each record that is described below schema/operations, by its header."""
    found = re.compile(r"BOOST_DESCRIBE_STRUCT\(\w+,\s*\([^)]*\),\s*\(([^)]*)\)\)")
    return {path.name: {name.strip() for fields in found.findall(path.read_text("utf-8")) for name in fields.split(",")}
            for path in sorted((root / "schema" / "operations").glob("*.hpp"))}


def no_fields(root, text):
    """What an example asks jq for stands in some record. Lines of the log, which have an `event`, are no answers."""
    known = set().union(*records(root).values())
    for found in re.finditer(r"jq [^\n|]*?'([^'\n]*)'", text):
        asked = re.sub(r'\\?"(?:[^"\\]|\\.)*?\\?"', "", found[1])
        for name in re.findall(r"\.([a-z_]\w*)", asked):
            if name not in known and not re.search(r"\.(event|level)\b", asked):
                yield text.count("\n", 0, found.start()) + 1, "jq is asked for .%s, which no record has" % name


def disordered(text):
    """Terms of the glossary stand in the order of the alphabet, each once."""
    terms = [(cells(line)[0].lower(), number) for number, line, code in lines_of(text) if line.startswith("| ") and not code]
    for (before, _), (term, number) in zip(terms[1:], terms[2:]):
        if term <= before:
            yield number, "%s stands after %s" % (term, before)


def unlisted(folder):
    """Records that the index of their folder does not name."""
    index = folder / "README.md"
    named = index.read_text("utf-8") if index.is_file() else ""
    return ["%s/README.md: does not name %s" % (folder.name, path.name)
            for path in sorted(folder.glob("[0-9]*.md")) if "(%s)" % path.name not in named]


def holes(folder):
    """Numbers between the first and the last record that no record has."""
    numbers = [int(path.name[:4]) for path in folder.glob("[0-9]*.md")]
    return ["%s: no record has the number %d" % (folder.name, n) for n in range(1, max(numbers, default=0)) if n not in numbers]


def unmeasured(readme, performance):
    """The README's figure where the newest run of the bench has another one: the median of its first row."""
    said = re.search(r"(\d+\.\d) ms after it was written", " ".join(readme.split()))
    run = re.search(r"<!-- bench: begin -->.*?\n\| written -> handed over[^|]*\|[^|]*\| ([\d.]+) / ", performance, re.S)
    if said and run and said[1] != "%.1f" % float(run[1]):
        return ["README.md: says %s ms, and docs/dev/performance.md has measured %s ms" % (said[1], run[1])]
    return []


def undated(text):
    """Sections that quote a measured figure without its date, or on a page that names no command or script for it."""
    first, number = "", 1
    for section in re.split(r"^(?=#+ )", "\n".join("\0" + line if code else line for _, line, code in lines_of(text)), flags=re.M):
        head = section.split("\n", 1)[0].lstrip("# ")
        first = first or section
        quoting = [block for block in re.sub(r"^\0.*", "", section, flags=re.M).split("\n\n") if FIGURE.search(block) and (RUN.search(block) or RUN_HEAD.search(head))]
        if quoting and head not in NOT_RUN:
            if not DATE.search(section):
                yield number, "\"%s\" quotes a measured figure; write the date of the run into the section" % head
            if not METHOD.search(section) and not METHOD.search(first):
                yield number, "\"%s\" quotes a measured figure; name the script that measures it (tests/…, deploy/…)" % head
        number += section.count("\n")


def uncounted(performance, baseline):
    """Rows of the table of counts that are not those of the gate's newest baseline."""
    counts, names = json.loads(baseline), {}
    table = re.search(r"<!-- counts: begin -->(.*?)<!-- counts: end -->", performance, re.S)
    for line in table[1].split("\n") if table else []:
        found = re.match(r"\| `(\w+)` \|", line)
        if found:
            names[found[1]] = [cell.replace(",", "") for cell in cells(line)[2:]]
    kinds = [kind for kind in counts if kind != "made_by"]
    wanted = {path: [str(counts[kind][path]) if path in counts[kind] else "-" for kind in kinds] for kind in kinds for path in counts[kind]}
    return ["docs/dev/performance.md: %s is not counted as in hot_paths_baseline.json; ./deploy/bench --only instructions "
            "--update-baseline writes both" % path for path in sorted(names.keys() | wanted.keys()) if names.get(path) != wanted.get(path)]


def check(root):
    problems = unlisted(root / "docs" / "adr") + holes(root / "docs" / "adr")
    readme, performance = root / "README.md", root / "docs" / "dev" / "performance.md"
    if readme.is_file() and performance.is_file():
        problems += unmeasured(readme.read_text("utf-8"), performance.read_text("utf-8"))
        problems += uncounted(performance.read_text("utf-8"), (root / "tests" / "bench" / "hot_paths_baseline.json").read_text("utf-8"))
    if readme.is_file() and readme.read_text("utf-8").count("\n") > MAX_README:
        problems.append("README.md: more than %d lines" % MAX_README)
    for path in documents(root):
        text = path.read_text("utf-8")
        own = {"glossary.md": [disordered(text)], "questions.md": [unanswered(root, text)]}.get(path.name, [])
        for found in (*own, widths(text), repetitions(text), dead_links(path, text), hours(root, text), quotes(root, text), no_fields(root, text),
                      () if path.parent.name == "adr" or path.name in UNDATED else undated(text)):
            problems += ["%s:%d: %s" % (path.relative_to(root).as_posix(), *problem) for problem in found]
    for path in sorted((root / "poller" / "cli").rglob("*.cpp")):  # the help texts
        problems += ["%s:%d: %s" % (path.relative_to(root).as_posix(), *problem) for problem in no_fields(root, path.read_text("utf-8"))]
    return problems


HOUR_TABLE = "| read | of it | there you see |\n|---|---|---|\n| `%s` | %s | x |"


def unasked():
    """What is not found of a table of questions with one fault each."""
    row = "| Question | Answer | Links | Words there |\n|---|---|---|---|\n| x? | [x](../%s) | %d | a word |\n"
    cases = [("b.md#one", 2, ""), ("b.md", 2, ""), ("b.md#one", 1, "2 links from"), ("b.md#two", 2, "no answer"), ("c.md", 3, "3 links from"),
             ("d.md", 1, "no way from")]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        (root / "docs" / "dev").mkdir(parents=True)
        (root / "README.md").write_text("[a](docs/a.md)\n", "utf-8")
        for name, text in {"a": "[b](b.md#one)", "b": "# One\n\na\nword\n\n# Two\n\n[c](c.md)", "c": "a word", "d": "a word"}.items():
            (root / "docs" / (name + ".md")).write_text(text + "\n", "utf-8")
        found = [(case, [problem for _, problem in unanswered(root, row % case[:2])]) for case in cases]
    return ["a table of questions: %s, but found %s" % (case, problems) for case, problems in found
            if (case[2] not in problems[0] if problems and case[2] else bool(problems) != bool(case[2]))]


def self_test():
    long_line, long_cell = "word " * 22 + "w", "| a | " + "word " * 40 + "w |"
    twice = "This sentence has more than sixty characters, and so nobody says it twice.\n"
    wrong = [
        ("a line of 111", long_line), ("a line of 111", "# T\n\n```\n" + long_line + "\n```\n" + long_line), ("a cell of 201", long_cell),
        ("said twice", twice + "\nBetween them.\n\n" + twice), ("said twice", twice + twice.replace("sixty ", "sixty\n")),
        ("a link to nothing", "[x](none.md)"), ("a link to no heading", "# One\n[x](#two)"), ("a link to no heading", "[x](other.md#two)"),
        ("nothing to read", HOUR_TABLE % ("none.cpp", "")), ("nothing to read", HOUR_TABLE % ("x.cpp", "`A::g`")),
        ("not what stands in", "```cpp x.cpp\nint A::i() {\n```"), ("not what stands in", "```cpp none.cpp\n}\n```"),
        ("write the date of the run", "# A\n\n`tests/x.py`\n\n# B\n\n| p50 | 5 ms |"), ("write the date of the run", "# Speed\n\n5 ms, `tests/x.py`"),
        ("name the script", "# A\n\nMeasured on 2026-11-27: 5 ms"),
        ("jq is asked for .name", "    inbox-poller status --json | jq '.teams[].name'"),
        ("more than an hour's", HOUR_TABLE % ("x.cpp", "`A::f`")), ("more than an hour's", HOUR_TABLE % ("x.cpp", "")),
    ]
    right = [
        long_line[:-1], "```\n" + long_line + "\n" + twice + twice + "```\n", long_cell[:-3] + " |", "| `" + "-x= " * 60 + "` | b |",
        "| " + "x" * 99 + " \\| " + "y" * 90 + " | " + long_line + " |", twice, "# One, and *two*\n[x](#one-and-two)",
        "[x](other.md#one) [y](https://example.com/a) [z](docs)", HOUR_TABLE % ("x.cpp", "`A::h`"),
        "```cpp x.cpp\nint A::h() {\n}\n```", "# A\n\n`tests/x.py`\n\n# B\n\n2026-11-27:\n\n| p50 | 5 ms |", "# A\n\nIt waits 5 ms.", "```sh\nx # CPU 5 ms\n```",
        "jq -r '.teams[] | select(.team == \"a.b\")'", "jq 'select(.event == \"x\") | .ts'",
    ]

    def found(content):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "schema" / "operations").mkdir(parents=True)
            (root / "schema" / "operations" / "printed.hpp").write_text("BOOST_DESCRIBE_STRUCT(Status, (), (teams,\n  team))\n", "utf-8")
            (root / "x.cpp").write_text("int A::h() {\n}\n\nint A::f() {\n" + "  f();\n" * MAX_HOUR + "}\n", "utf-8")
            (root / "other.md").write_text("# One\n", "utf-8")
            (root / "x.md").write_text(content + "\n", "utf-8")
            return check(root)

    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "README.md").write_text("word\n" * (MAX_README + 1), "utf-8")
        failed = [] if any("more than" in problem for problem in check(pathlib.Path(folder))) else ["not found: a long README.md"]
    table = "| Term | Meaning |\n|---|---|\n| request | x |\n| %s | y |\n"
    failed += [] if list(disordered(table % "alias")) and list(disordered(table % "request")) else ["not found: a glossary without order"]
    failed += list(disordered(table % "worker"))
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "0001-x.md").write_text("# 1. X\n", "utf-8")
        failed += [] if unlisted(pathlib.Path(folder)) else ["not found: a record that no index names"]
        (pathlib.Path(folder) / "README.md").write_text("[1](0001-x.md)\n", "utf-8")
        failed += unlisted(pathlib.Path(folder)) + holes(pathlib.Path(folder))
        (pathlib.Path(folder) / "0003-z.md").write_text("# 3. Z\n", "utf-8")
        failed += [] if holes(pathlib.Path(folder)) else ["not found: a number that no record has"]
    row = "<!-- bench: begin -->\n\n| written -> handed over, p50 / p99 | x | 0.97 / 1.98 ms |\n"
    failed += unmeasured("it is 1.0 ms after\nit was written", row)
    failed += [] if unmeasured("it is 1.1 ms after it was written", row) else ["not found: a figure that nobody measured"]
    counts = '{"made_by": {}, "instructions": {"scan": 1234}, "system_calls": {}}'
    table = "<!-- counts: begin -->\n| `scan` | x | %s | - |\n<!-- counts: end -->"
    failed += uncounted(table % "1,234", counts)
    failed += ["not found: a count of another run"] if not (uncounted(table % "1,233", counts) and uncounted("", counts)) else []
    failed += unasked()
    failed += ["not found: %s in %r" % (what, content) for what, content in wrong if not any(what in p for p in found(content))]
    failed += ["found: %s in %r" % (problem, content) for content in right for problem in found(content)]
    return failed


def main():
    if sys.argv[1:] == ["--self-test"]:
        problems, good = self_test(), "every rule fires on a planted violation, and only there"
    else:
        root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
        problems, good = check(root), "%d documents hold" % len(documents(root))
        if not documents(root):
            problems = ["no documents below %s" % root]
    print("\n".join(problems) if problems else good)
    return 1 if problems else 0


sys.exit(main())
