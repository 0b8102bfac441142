#!/usr/bin/env python3
"""Texts, comments and names are spelled in American English: codespell with .codespellrc finds nothing.

spelling.py ROOT        leaves with 1 and `file:line: wrong ==> right`
spelling.py --self-test plants words and expects each of them to be found, and no other

Both leave with 77 where codespell is not installed, in CI with 1.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HOUSE = pathlib.Path(__file__).resolve().parent.parent
PLACES = ("schema", "config", "handlers", "poller", "tests", "deploy", "docs", "cmake", ".ci")


def found(root, places):
    """Its findings, sorted; an empty list is what we want."""
    done = subprocess.run(["codespell", "--config", HOUSE / ".codespellrc", *places], cwd=root, capture_output=True, text=True)
    return sorted((done.stdout + done.stderr).splitlines()) or (["codespell left with %d" % done.returncode] if done.returncode else [])


def house(root):
    return [place for place in PLACES if (root / place).is_dir()] + sorted(path.name for path in root.glob("*.md"))


def self_test():
    wrong = ["// The colour of it.", "It was cancelled.", '"Recieved, and\\nrecognised"']
    right = ["// The color.", '{"method":"notifications/cancelled"}', 'state == "cancelled"', 'say("\\nIn the end")', "co_await state.cancelled()"]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for n, line in enumerate(wrong + right):
            pathlib.Path(folder, "x.md").write_text(line + "\n", "utf-8")
            if bool(found(folder, ["x.md"])) != (n < len(wrong)):
                failed.append("%s: %s" % ("not found" if n < len(wrong) else "found", line))
    return failed


def main():
    if not shutil.which("codespell"):
        print("SKIPPED: codespell is not installed; deploy/install-deps test installs it")
        return 1 if os.environ.get("CI") == "true" else 77
    if sys.argv[1:] == ["--self-test"]:
        problems, good = self_test(), "planted words are found, and no others"
    else:
        root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
        problems, good = found(root, house(root)), "each word is spelled as codespell knows it"
    print("\n".join(problems) or good)
    return 1 if problems else 0


sys.exit(main())
