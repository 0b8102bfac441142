#!/usr/bin/env python3
"""Names and calls in the Python files that do not fit: unknown names, too many or unknown arguments (pylint's errors, no matters of style).

python.py         what the latest 20 commits touched
python.py --all   every file

A test that is called seldom, or in a thread, would show such a mistake late. pylint does not know what an attribute holds, so calls of
`….daemon` and `….control` are held against their classes here. Leaves with 0 when nothing was found, 1 otherwise, 77 where
there is no pylint."""

import ast
import inspect
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKS = "undefined-variable,too-many-function-args,unexpected-keyword-arg,redundant-keyword-arg,no-name-in-module,import-error"


def calls_that_do_not_fit(files):
    """Calls of methods by `x.daemon.m(…)`, `daemon.m(…)` and the like that Daemon.m does not take."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    classes = {"daemon": __import__("daemon").Daemon, "control": __import__("daemon").Control}
    for path in files:
        for call in (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)):
            if not isinstance(call.func, ast.Attribute) or any(isinstance(a, ast.Starred) for a in call.args):
                continue
            holder = call.func.value
            name = holder.id if isinstance(holder, ast.Name) else holder.attr if isinstance(holder, ast.Attribute) else ""
            method = inspect.getattr_static(classes.get(name), call.func.attr, None)
            if not inspect.isfunction(method) or None in (keyword.arg for keyword in call.keywords):
                continue
            try:
                inspect.signature(method).bind(None, *call.args, **{keyword.arg: keyword for keyword in call.keywords})
            except TypeError as wrong:
                yield "%s:%d: %s.%s: %s" % (path.relative_to(ROOT), call.lineno, name, call.func.attr, wrong)


def touched(files):
    """What the latest commits touched, and what stands here without one. Without a history every file."""
    said = subprocess.run("git log -20 --name-only --format= && git ls-files --modified --others --exclude-standard", shell=True, cwd=ROOT,
                          capture_output=True, text=True)
    if said.returncode:
        return files
    names = set(said.stdout.split())
    return [path for path in files if path.relative_to(ROOT).as_posix() in names]


def main():
    if shutil.which("pylint") is None:
        print("SKIPPED: pylint is not installed; run deploy/install-deps test")
        return 1 if os.environ.get("CI") == "true" else 77
    files = every = sorted((ROOT / "tests").rglob("*.py"))
    folders = {str(path.parent) for path in files}
    if "--all" not in sys.argv[1:]:
        files = touched(files)
    if not files:
        files = every[:1]  # pylint wants one
    done = subprocess.run(["pylint", "--disable=all", "--enable=" + CHECKS, "--score=n", "--jobs=1", *map(str, files)], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sorted(folders))))
    wrong = list(calls_that_do_not_fit(every))
    print("\n".join(wrong) + done.stdout or "figures: %d files hold" % len(files))
    return 0 if done.returncode == 0 and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
