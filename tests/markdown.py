#!/usr/bin/env python3
"""The documents are Markdown that each renderer reads in the same way: mdl with tests/markdown.rb finds nothing.

markdown.py ROOT        leaves with 1 and `file:line: rule`
markdown.py --self-test plants a fault of several kinds and expects each to be found

Both leave with 77 where mdl is not installed, in CI with 1.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

STYLE = pathlib.Path(__file__).resolve().with_suffix(".rb")


def found(root, paths):
    done = subprocess.run(["mdl", "--style", STYLE, *paths], cwd=root, capture_output=True, text=True, env=dict(os.environ, LC_ALL="C.UTF-8"))
    said = done.stdout.split("\nFurther documentation")[0] + done.stderr
    return [line for line in said.splitlines() if line.strip()] or (["mdl left with %d" % done.returncode] if done.returncode else [])


def self_test():
    wrong = {"MD001": "# A\n\n### B", "MD009": "# A\n\nword ", "MD012": "# A\n\n\nword", "MD022": "# A\nword", "MD029": "# A\n\n1. x\n1. y",
             "MD032": "# A\n\nword\n* x\n", "MD040": "# A\n\n```\nx\n```"}
    right = ["# A\n\n1. x\n2. y\n\n```sh\n$ x\n```\n\n* `x`", "# A\n\n" + "word " * 40 + "w"]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "x.md")
        for rule, text in wrong.items():
            path.write_text(text + "\n", "utf-8")
            if not any(rule in problem for problem in found(folder, [path])):
                failed.append("not found: %s in %r" % (rule, text))
        for text in right:
            path.write_text(text + "\n", "utf-8")
            failed += ["found: %s" % problem for problem in found(folder, [path])]
    return failed


def main():
    if not shutil.which("mdl"):
        print("SKIPPED: mdl is not installed; deploy/install-deps test installs it")
        return 1 if os.environ.get("CI") == "true" else 77
    if sys.argv[1:] == ["--self-test"]:
        problems, good = self_test(), "every planted fault is found"
    else:
        root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
        paths = sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])
        problems, good = found(root, [path.relative_to(root) for path in paths]), "%d documents are well formed" % len(paths)
    print("\n".join(problems) or good)
    return 1 if problems else 0


sys.exit(main())
