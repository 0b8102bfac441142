#!/usr/bin/env python3
"""The documents make a site: site.py FOLDER builds it there by mkdocs.yml, and a page that the table of contents misses, a link to nothing
and whatever else mkdocs warns of is a fault. Leaves with 77 where mkdocs is not installed, in CI with 1."""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def missing():
    """Pages that mkdocs.yml does not name; records have an index of their own."""
    contents = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = (path.relative_to(ROOT / "docs").as_posix() for path in sorted((ROOT / "docs").rglob("*.md")))
    return [page for page in pages if not page.startswith("adr/0") and not any(line.endswith(": " + page) for line in contents.splitlines())]


def main(folder):
    if not shutil.which("mkdocs"):
        print("SKIPPED: mkdocs is not installed; deploy/install-deps test installs it")
        return 1 if os.environ.get("CI") == "true" else 77
    done = subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--clean", "--site-dir", folder], cwd=ROOT, capture_output=True, text=True)
    problems = ["mkdocs.yml: does not name docs/" + page for page in missing()]
    if done.returncode:
        problems += (done.stdout + done.stderr).splitlines()
    elif not (pathlib.Path(folder) / "search" / "search_index.json").is_file():
        problems.append("the site has no search")
    print("\n".join(problems) or "the site is in %s" % folder)
    return 1 if problems else 0


sys.exit(main(sys.argv[1]))
