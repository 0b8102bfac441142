#!/usr/bin/env python3
"""inbox-poller.toml(5) out of docs/reference/configuration.md: toml_page.py docs/reference/configuration.md VERSION > inbox-poller.toml.5

A table becomes a list: its first column the term, the others behind it. Links keep their text. A test holds every key of the document
against the page, and the document against the parser.
"""

import re
import sys

HEAD = r""".TH inbox-poller.toml 5 "" "inbox-poller %s" ""
.SH NAME
inbox\-poller.toml \- what a team's file and daemon.toml say
.SH SYNOPSIS
~/.config/inbox\-poller/teams.d/*.toml, ~/.config/inbox\-poller/daemon.toml
.SH DESCRIPTION
"""
FOOT = ".SH SEE ALSO\n.BR inbox\\-poller (1),\n.BR inbox\\-poller\\-check\\-config (1),\n.BR inbox\\-poller\\-init (1)\n"


def words(text):
    """Inline markup as roff; nothing in a text is a request."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text.replace("\\|", "|"))
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"\*\*([^*]+)\*\*", r"\\fB\1\\fR", text)
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return re.sub(r"^([.'])", r"\\&\1", text)


def rows(lines):
    for line in lines[2:]:
        yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def table(lines):
    heads = [cell.strip() for cell in lines[0].strip().strip("|").split("|")]
    for row in rows(lines):
        out = [".TP", words(row[0])]
        for head, cell in list(zip(heads, row))[1:-1]:
            if cell:
                out += [words("%s: %s" % (head, cell)), ".br"]
        yield "\n".join(out + [words(row[-1])])


def page(text, version):
    out = [HEAD.rstrip("\n") % version]
    parts = re.split(r"\n{2,}", re.sub(r"^# .*\n", "", text).strip())
    code = None
    for part in parts:
        lines = part.split("\n")
        if code is not None or part.startswith("```"):
            code = (code or []) + lines + [""]
            if lines[-1].startswith("```") and (len(lines) > 1 or len(code) > 2):
                out += [".PP", ".nf"] + [words(line) for line in code if not line.startswith("```")] + [".fi"]
                code = None
        elif part.startswith("#"):
            title = lines[0].lstrip("# ")
            out.append((".SH " if part.startswith("## ") else ".SS ") + '"%s"' % words(title).replace('"', "'"))
        elif part.startswith("|"):
            out += table(lines)
        else:
            for item in re.split(r"\n(?=[*] )", part):
                mark = item.startswith("* ")
                out += [".IP \\(bu 2" if mark else ".PP", words(" ".join(item[2:].split() if mark else item.split()))]
    return "\n".join(out) + "\n" + FOOT


if __name__ == "__main__":
    sys.stdout.write(page(open(sys.argv[1], encoding="utf-8").read(), sys.argv[2]))
