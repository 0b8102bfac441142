#!/usr/bin/env python3
"""Names and calls in the Python files that do not fit: unknown names, too many or unknown arguments (pylint's errors, no matters of style).

A test that is called seldom, or in a thread, would show such a mistake late. Leaves with 0 when nothing was found, 1 otherwise, 77 where
there is no pylint."""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKS = "undefined-variable,too-many-function-args,unexpected-keyword-arg,redundant-keyword-arg,no-name-in-module,import-error"


def main():
    if shutil.which("pylint") is None:
        print("SKIPPED: pylint is not installed; run deploy/install-deps test")
        return 1 if os.environ.get("CI") == "true" else 77
    files = sorted((ROOT / "tests").rglob("*.py"))
    folders = {str(path.parent) for path in files}
    done = subprocess.run(["pylint", "--disable=all", "--enable=" + CHECKS, "--score=n", "--jobs=1", *map(str, files)], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sorted(folders))))
    print(done.stdout or "%d files hold" % len(files))
    return 0 if done.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
