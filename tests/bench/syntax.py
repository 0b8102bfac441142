#!/usr/bin/env python3
"""The measuring programs compile: syntax only, with the flags and the precompiled header of a build that has tests.

syntax.py BUILD_FOLDER [SOURCE…]     every source in this folder, or these. Exits with 0 when all compile, 1 otherwise.

deploy/bench builds and runs them; this check notices in every run of the tests that an interface has left them behind.
"""

import json
import pathlib
import resource
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def flags(build):
    """How this build compiles a source of poller/; the list of compile commands has no launcher."""
    for entry in json.loads((build / "compile_commands.json").read_text("utf-8")):
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]
        if output.startswith("poller/CMakeFiles/poller.dir/") and not output.endswith((".gch", ".pch")) and "-include" in words:
            del words[words.index("-o"):]  # -o OUTPUT -c SOURCE
            return words
    raise SystemExit("%s: no source of poller/ is built with a precompiled header; name a folder of preset dev" % build)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    sources = [pathlib.Path(name).resolve() for name in sys.argv[2:]] or sorted(HERE.glob("*.cpp"))
    command = flags(build) + ["-fsyntax-only"]
    failed = [source.name for source in sources if subprocess.run([*command, str(source)], cwd=build).returncode]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # clock: a figure for the reader, compared with nothing
    print("figures: %d sources, %d do not compile (%s), %.0f processor seconds" % (
        len(sources), len(failed), ", ".join(failed) or "-", used.ru_utime + used.ru_stime))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
