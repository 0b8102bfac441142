#!/usr/bin/env python3
"""How plain documents, comments and messages are: a ratchet over measures that separate ours from documents that strangers understand (docs/dev/style.md).

words.py ROOT        leaves with 1 where a group of documents is above a limit of its, or a limit is higher than it need be
words.py ROOT --all  prints the measures of each document as well
words.py --self-test measures texts whose measures are known

An old term is refused in every line of text and source, whatever the group.

Only prose counts: no code, table, heading, comment or made block. A piece of code is one word. The measures:
  long      sentences of more than 25 words, of 100
  odd       sentences that begin with What, Who, Of, So and their like, of 100
  pronouns  of 100 words; the reader's own (you, your) is none of them
  chains    `;` and `:` of 100 sentences
  listed    words that we do not use, and old terms, of 1,000 words
  you       you and your, of 1,000 words: the more the better, so this limit is a floor
"""

import pathlib
import re
import sys

LONG = 25  # words
ODD = set("what who whoever whose whom whatever whichever of so that those where wherever such neither likewise which whether why".split())
PRONOUNS = set("""it its itself they them their theirs themselves he him his himself she her hers we us our ours ourselves this that these those
    who whom whose whoever which what whatever somebody someone something nobody anybody anyone anything everybody everyone everything
    one ones none such""".split())
SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|DROP|PRAGMA|AND|WHERE|FROM)\b")
# Words that docs/dev/style.md lists, and terms that others have replaced.
LISTED = re.compile(r"\b(anew|likewise|mend(s|ed|ing)?|spelt|for ever|somebody|nobody|whoever|as ever|in so many words|let go|has none|"
                    r"rungs?|ladders?|satellites?|foreign consumers?|borrowers?|errands?|poke[ds]?|lend|lent)\b", re.I)
# group -> (documents, limits). A limit is the measure of today, rounded up (of `you`, down); it only ever gets stricter. A document is in
# the first group that names it.
GROUPS = {
    "start": (["README.md", "docs/tutorial.md"], {"long": 1, "odd": 0.5, "pronouns": 5.3, "chains": 17, "listed": 0, "you": 57}),
    "how-to": (["docs/how-to/*.md"], {"long": 1, "odd": 0.5, "pronouns": 5.3, "chains": 13, "listed": 0, "you": 16}),
    "explanation": (["docs/*.md"], {"long": 1, "odd": 0.5, "pronouns": 4.9, "chains": 6, "listed": 0, "you": 12}),
    "reference": (["docs/reference/*.md"], {"long": 1.5, "odd": 0.5, "pronouns": 4.5, "chains": 13, "listed": 0, "you": 2}),
    "development": (["docs/dev/**/*.md", "CONTRIBUTING.md", "CHANGELOG.md"], {"long": 2, "odd": 0.5, "pronouns": 5.4, "chains": 18, "listed": 3, "you": 1}),
}
PAGE = {"long": 10, "odd": 3, "pronouns": 6.5, "chains": 30}  # of each document that is not for developers, so that no other one hides it
# what nobody may write any more -> what to write
OLD = {r"\b(?:(?:an?|this|each|every|no|one|another) ask|(?:the|same|open|whose) asks?)\b(?! (?:rule|list|or deny|and deny))|\basks (?:are|were|wait)\b": "request"}
MAY = ("tests/words.py", "docs/dev/style.md", "docs/adr/0064-words-of-users.md")  # they name old terms
TERM_FILES = ("*.md", "*.cpp", "*.hpp", "*.py", "*.js", "*.yml", "*.toml", "*.service")
# The same of the sources: comments, and texts of six words or more (help, messages). They say "you" where they like.
SOURCES = {
    "comments of schema": ("schema", "comments", {"long": 2, "odd": 8, "pronouns": 8.2, "chains": 35, "listed": 1.5}),
    "comments of config": ("config", "comments", {"long": 3, "odd": 2.5, "pronouns": 8, "chains": 39, "listed": 0.3}),
    "comments of handlers": ("handlers", "comments", {"long": 1.5, "odd": 3, "pronouns": 7.3, "chains": 33, "listed": 0.5}),
    "comments of poller": ("poller", "comments", {"long": 1, "odd": 1.6, "pronouns": 7.9, "chains": 32, "listed": 0.5}),
    "texts of config and handlers": ("{config,handlers}", "texts", {"long": 3, "odd": 12.5, "pronouns": 10, "chains": 44, "listed": 0}),
    "texts of poller": ("poller", "texts", {"long": 5.5, "odd": 6.2, "pronouns": 10.5, "chains": 58, "listed": 0}),
}
FEW = 8  # sentences of a document that is too short for that
MEASURES = ("long", "odd", "pronouns", "chains", "listed", "you")
SLACK = {"long": 1.5, "odd": 1.0, "pronouns": 0.4, "chains": 4, "listed": 1, "you": 4}  # how far a limit may be from its measure before it is to follow


def prose(text):
    """The paragraphs and items, each as one line."""
    text = re.sub(r"<!-- (\w+): made by .*?<!-- end of \1 -->", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^(\s*)```.*?^\s*```", "", text, flags=re.S | re.M)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"``[^`]+``|`[^`]*`", "code", text)
    piece = []
    for line in text.split("\n") + [""]:
        item = re.match(r"\s*([*+-]|\d+\.) ", line)
        skip = not line.strip() or line.lstrip().startswith(("|", "#"))
        if (item or skip) and piece:
            yield " ".join(piece)
            piece = []
        if not skip:
            piece.append(line[item.end():].strip() if item else line.strip())


def sentences(text):
    for piece in prose(text):
        for sentence in re.split(r"(?<=[.!?])[\"')*]*\s+(?=[\"'(*]*(?:[A-Z0-9]|code\b))", piece.replace("**", "")):
            if re.search(r"[A-Za-z]", sentence):
                yield sentence


def words_of(sentence):
    return re.findall(r"[A-Za-z0-9][\w'’./%-]*", sentence)


def comments(source):
    """The comments of a source as paragraphs: lines that follow each other are one."""
    lines = [re.match(r"\s*//[/!]?[<]? ?(.*)|.*\s//[/!]?[<]? (.*)", line) for line in source.split("\n")]
    return "\n".join((found[1] or "* " + (found[2] or "")) if found else "" for found in lines)


def literals(source):
    """The string literals of six words or more, each an item; neighbors are one."""
    source = re.sub(r'"\s*\n\s*"', "", re.sub(r"^\s*//.*", "", source, flags=re.M))
    found = [re.sub(r'\\n', " ", re.sub(r'\\(["\\])', r"\1", one)) for one in re.findall(r'"((?:[^"\\\n]|\\.)*)"', source)]
    return "\n".join("* " + one for one in found if len(one.split()) >= 6 and not SQL.match(one))


def measure(texts):
    said = [sentence for text in texts for sentence in sentences(text)]
    words = [word.lower().rstrip(".") for sentence in said for word in words_of(sentence)]
    firsts = [(words_of(sentence) or [""])[0].lower() for sentence in said]
    marks = sum(len(re.findall(r"[;:](?=\s|$)", sentence)) for sentence in said)
    count, total = max(len(said), 1), max(len(words), 1)
    return {
        "long": 100 * sum(len(words_of(sentence)) > LONG for sentence in said) / count,
        "odd": 100 * sum(first in ODD for first in firsts) / count,
        "pronouns": 100 * sum(word in PRONOUNS for word in words) / total,
        "chains": 100 * marks / count,
        "listed": 1000 * sum(len(LISTED.findall(sentence)) for sentence in said) / total,
        "you": 1000 * sum(word in ("you", "your", "yours", "yourself") for word in words) / total,
    }


def documents(root, patterns):
    return sorted({path for pattern in patterns for path in root.glob(pattern)})


def judge(name, found, limits):
    """What is wrong with a group: above a limit (of `you`: below), or a limit that has become too loose."""
    for what, limit in limits.items():
        above, gap = (found[what] < limit, found[what] - limit) if what == "you" else (found[what] > limit, limit - found[what])
        if above:
            yield "%s: %s is %.1f; the limit is %g" % (name, what, found[what], limit)
        elif gap > SLACK[what]:
            yield "%s: %s is %.1f; make its limit of %g stricter" % (name, what, found[what], limit)


def row(name, found):
    return "%-38s" % name + "".join("%10.1f" % found[what] for what in MEASURES)


def check(root, groups, verbose):
    problems, known = [], set()
    if verbose:
        print("%-38s" % "" + "".join("%10s" % what for what in MEASURES))
    for name, (patterns, limits) in groups.items():
        paths = [path for path in documents(root, patterns) if path not in known]
        known |= set(paths)
        texts = [path.read_text("utf-8") for path in paths]
        found = measure(texts)
        problems += judge(name, found, limits) if paths else ["%s: no such documents" % name]
        if verbose:
            print(row(name.upper(), found))
        for path, text in zip(paths, texts):
            place, mine = path.relative_to(root).as_posix(), measure([text])
            if name != "development" and len(list(sentences(text))) >= FEW:
                problems += ["%s: %s is %.1f; at most %g" % (place, what, mine[what], most) for what, most in PAGE.items() if mine[what] > most]
            if verbose:
                print(row("  " + place, mine))
    for name, (folder, kind, limits) in SOURCES.items():
        folders = folder.strip("{}").split(",")
        paths = sorted(path for one in folders for path in (root / one).rglob("*.[ch]pp"))
        found = measure([{"comments": comments, "texts": literals}[kind](path.read_text("utf-8")) for path in paths])
        problems += judge(name, found, limits)
        if verbose:
            print(row(name.upper(), found))
    every = {path for path in documents(root, ["*.md", "docs/**/*.md"]) if "adr" not in path.parts}
    return problems + ["%s: is in no group" % path.relative_to(root).as_posix() for path in sorted(every - known)]


def old_terms(text):
    for old, new in OLD.items():
        for found in re.finditer(old, text, re.I):
            yield text.count("\n", 0, found.start()) + 1, "\"%s\" is no word of ours any more; write \"%s\"" % (found[0], new)


def old_terms_below(root):
    folders = [folder for folder in root.iterdir() if folder.is_dir() and not folder.name.startswith(".") and folder.name != "build"]
    paths = [path for folder in folders for kind in TERM_FILES for path in folder.rglob(kind)] + list(root.glob("*.md"))
    for path in sorted(paths):
        name = path.relative_to(root).as_posix()
        if path.is_file() and name not in MAY and not name.startswith("tests/corpus/"):
            for line, what in old_terms(path.read_text("utf-8", "replace")):
                yield "%s:%d: %s" % (name, line, what)


def self_test():
    failed = []
    cases = [
        ("long", 50, "One two. W " + "w " * 24 + "w."), ("long", 0, "w " * 24 + "w."), ("odd", 50, "What is there counts. The dog sleeps."),
        ("odd", 0, "It says what it is."), ("pronouns", 50, "It sleeps."), ("pronouns", 0, "You sleep."), ("chains", 200, "A dog: it eats; it sleeps."),
        ("chains", 0, "A `;` at 10:30 sleeps."), ("listed", 500, "Nobody sleeps."), ("listed", 0, "A lead sleeps."), ("you", 500, "You sleep."), ("you", 0, "They sleep."),
        ("pronouns", 0, "```\nit it it\n```\n| it | it |\n# It\n<!-- it -->\n<!-- x: made by y -->\nit\n<!-- end of x -->\n"),
        ("odd", 50, "* What sleeps\n* The dog\n"), ("long", 0, "`" + "w " * 30 + "` is code."), ("odd", 100, "**So** it sleeps."),
    ]
    for what, wanted, text in cases:
        found = measure([text])[what]
        if abs(found - wanted) > 0.01:
            failed.append("%s of %r is %g, not %g" % (what, text, found, wanted))
    for text, wanted in (("Every open ask waits.", 1), ("Asks wait, and an\nask.", 1), ("The ask rule; workers ask the lead, who asks back.", 0)):
        if len(list(old_terms(text))) != wanted:
            failed.append("old terms of %r are not %d" % (text, wanted))
    source = 'int a;  // What sleeps.\n/// The dog\n/// sleeps.\nf("one two three four five "\n  "six.", "one");\n'
    if list(sentences(comments(source))) != ["What sleeps.", "The dog sleeps."] or literals(source) != "* one two three four five six.":
        failed.append("read in a source: %r and %r" % (list(sentences(comments(source))), literals(source)))
    good = measure(["The dog sleeps."])
    bad = dict(good, long=50, you=0)
    if list(judge("x", good, {"long": 0, "you": 0})) or len(list(judge("x", bad, {"long": 10, "you": 8}))) != 2:
        failed.append("a limit does not hold")
    if len(list(judge("x", good, {"long": 10}))) != 1:
        failed.append("a loose limit is not found")
    return failed


def main():
    if sys.argv[1:] == ["--self-test"]:
        problems, good = self_test(), "each measure finds what it is for"
    else:
        root = pathlib.Path(next((word for word in sys.argv[1:] if not word.startswith("-")), ".")).resolve()
        problems = check(root, GROUPS, "--all" in sys.argv) + list(old_terms_below(root))
        good = "%d groups of texts are as plain as their limits" % (len(GROUPS) + len(SOURCES))
    print("\n".join(problems) or good)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
