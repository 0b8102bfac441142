"""What a lead would see in a text that is handed to it: read by rules of its own, which share nothing with the program under test.

read(shown) returns the genuine blocks in it, or raises Broken with what a hostile message has got through: a byte outside of every
block, a control or invisible character, a tag of the lead's harness, a line that reads as somebody's turn, a label that is only ours
to give. Generous where a model is: any case, any kind of space, nothing invisible counts.
Python 3.9 or newer, standard library only.
"""

import dataclasses
import re
import unicodedata

HARNESS = ("teammate-message", "system-reminder", "channel", "task-notification", "task-id", "system", "command-name", "command-message",
           "command-args", "local-command-stdout", "local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout",
           "bash-stderr", "user-prompt-submit-hook", "session-start-hook", "persisted-output", "new-diagnostics", "ide-opened-file",
           "ide-selection", "human", "assistant", "function-calls", "function-results", "tool-use", "tool-result", "tool-use-error",
           "server-tool-use", "thinking", "redacted-thinking", "thinking-mode", "max-thinking-length", "reasoning-effort", "token-budget",
           "total-tokens", "antml")
WORDS = ("invoke", "parameter", "result", "function", "functions", "tools", "settings", "user")  # code has them too, behind "< "
SPACE = r"[\s\u2800]"
NAME_SPACE = r"(?:[\w-]+:)?"
TAG = re.compile("<(?:%s*(?:/%s*)*%s(?:%s)|/*%s(?:%s))(?![a-z0-9_-])" % (
    SPACE, SPACE, NAME_SPACE, "|".join(name.replace("-", r"[-_\s\u2800]+") for name in HARNESS), NAME_SPACE, "|".join(WORDS)))
# What is drawn like an ASCII character and is none, nor made one by NFKC.
ALIKE = {ord(c): ascii_ for chars, ascii_ in (
    ("\u2039\u2329\u3008\u27e8\u276c\u276e\u2770\u02c2", "<"), ("\u2044\u2215\u29f8\u2571", "/"),
    ("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"), ("\ua789\u2236", ":"), ("\u0430", "a"), ("\u0435", "e"), ("\u043e", "o"),
    ("\u0440", "p"), ("\u0441", "c"), ("\u0455", "s"), ("\u0456", "i"), ("\u043c", "m"), ("\u0442", "t")) for c in chars}
TURN = re.compile(r"[\W_]*(?:human|assistant|system|user)[\W_]*?:")
LABEL = re.compile(SPACE + r"*\[[\W_]*(?:may[\W_]+be[\W_]+a[\W_]+repeat|cut)")
ATTRIBUTE = r'(?:[^"<>&\n]|&(?:amp|lt|gt|quot);)*'
OPENING = re.compile(r'<teammate-message teammate_id="(%s)"(?: color="([a-z]+)")?(?: summary="(%s)")?>\n' % (ATTRIBUTE, ATTRIBUTE))
CLOSING = "\n</teammate-message>"
JOINERS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u200c\u200d\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U000e0100-\U000e01ef]")
REPEAT = re.compile(r"\[may be a repeat: message [0-9a-f]+ was offered before\]\n")


class Broken(AssertionError):
    pass


@dataclasses.dataclass
class Block:
    sender: str
    color: str
    summary: str
    body: str
    repeat: bool  # labeled by us


def folded(text):
    """As somebody reads it who sees no joiners and makes no difference between cases, nor between what looks the same."""
    return unicodedata.normalize("NFKC", JOINERS.sub("", text)).casefold().translate(ALIKE)


def harmless(text):
    """No character that a terminal obeys or that nobody sees, whoever wrote it."""
    for c in text:
        kind = unicodedata.category(c)
        if (kind in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\n\t\u200c\u200d") or 0xE0000 <= ord(c) <= 0xE00FF:
            raise Broken("the character U+%04X is in it: %.200r" % (ord(c), text))
    if re.search("(?:%s){3}" % JOINERS.pattern, text):
        raise Broken("a row of joiners can hide a text: %.200r" % text)


def lines_of(text):
    if text.split("\n") != re.split("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text):
        raise Broken("there are other line ends: %.200r" % text)
    return text.split("\n")


def innocent(body):
    """Nothing in a sender's words passes for anybody else's."""
    found = TAG.search(folded(body))
    if found:
        raise Broken("a tag of the harness: %.200r" % body[max(0, found.start() - 40):])
    for line in lines_of(body):
        line = folded(line)
        if TURN.match(line) and not line.startswith(">"):
            raise Broken("a turn marker: %.200r" % line)
        if LABEL.match(line):
            raise Broken("a label that is ours to give: %.200r" % line)


def read(shown, preamble=""):
    """The blocks of the text, which is nothing but blocks behind our own preamble, each two with an empty line between them."""
    harmless(shown)
    if not shown.startswith(preamble):
        raise Broken("it does not begin with %r: %.200r" % (preamble, shown))
    blocks, at = [], len(preamble)
    while True:
        opening = OPENING.match(shown, at)
        if not opening:
            raise Broken("no block begins here: %.200r" % shown[at:])
        repeat = REPEAT.match(shown, opening.end())
        start = repeat.end() if repeat else opening.end()
        end = shown.find(CLOSING, start - 1)
        if end < 0:
            raise Broken("the block has no end: %.200r" % shown[at:])
        sender, color, summary = (part or "" for part in opening.groups())
        body = shown[start:end] if end >= start else ""
        for part in (sender, summary):
            innocent("x " + part)  # it stands in the middle of a line
        innocent(body)
        blocks.append(Block(sender, color, summary, body, bool(repeat)))
        at = end + len(CLOSING)
        if at == len(shown):
            return blocks
        if not shown.startswith("\n\n", at):
            raise Broken("something stands behind a block: %.200r" % shown[at:])
        at += 2
