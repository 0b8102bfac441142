#!/usr/bin/env python3
"""Runs each fuzz target for FUZZ_SECONDS (60 when not set) at the lowest priority, or for FUZZ_RUNS inputs, from its seeds and
from what earlier runs found. FUZZ_RUNS from an empty corpus and with one TEST_SEED tries the same inputs again.

  run.py BUILD NAME…           these targets, two at a time
  run.py --merge BUILD [NAME]  copies into the seeds what BUILD/corpus reaches and they do not; for a person to look at

What is found stays in BUILD/corpus/NAME, an input that fails as well (crash-…, timeout-…): it fails again until it is
mended. Then it belongs into tests/fuzz/seeds/NAME under a name that says what it shows. Exit code 0 or 1."""

# clock: whole file: fuzzing goes on for a time; the figure of runs is for the reader

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import portion  # noqa: E402

SEEDS = pathlib.Path(__file__).parent / "seeds"
PATIENCE = float(os.environ.get("TEST_PATIENCE", "1"))
# One input of these targets costs many times one of the others, so a check gives them this part of FUZZ_RUNS.
DEAR = {"ledger": 6, "hook_settings": 3, "lead_screen": 3, "permission_rules": 3, "redis_reply": 3}
# Of wall time, beside everything else that is tested: what takes so long hangs.
LIMITS = ["-timeout=%d" % (300 * PATIENCE), "-rss_limit_mb=1536"]


def run(build, name):
    seconds = int(os.environ.get("FUZZ_SECONDS", "60"))
    runs = os.environ.get("FUZZ_RUNS")
    length = f"-runs={int(runs) // DEAR.get(name, 1)}" if runs else f"-max_total_time={seconds}"
    corpus = build / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = SEEDS / name
    command = [build / "fuzz_targets", length, f"-seed={portion.seed() % (1 << 31) + 1}", *LIMITS, "-print_final_stats=1",
               "-print_funcs=0",  # a new function is not worth a symbolizer that reads the whole program
               f"-artifact_prefix={corpus}/", corpus, *([seeds] if seeds.is_dir() else [])]
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, errors="replace",
                          timeout=(10 * seconds + 1800) * PATIENCE, check=False, env={**os.environ, "FUZZ_TARGET": name})
    took = time.monotonic() - begin
    if done.returncode != 0:
        print(f"fuzz {name}: FAILED with {done.returncode}; the input is below {corpus}. Again: FUZZ_TARGET={name} {command[0]} FILE")
        print(done.stderr[-8000:])
        return 1
    runs = re.findall(r"number_of_executed_units:\s*(\d+)", done.stderr)
    reached = re.findall(r"cov: (\d+)", done.stderr)
    print(f"fuzz {name}: {int(runs[-1]):,} inputs in {took:.0f} s, {reached[-1]} places of the code reached, "
          f"{sum(1 for _ in corpus.iterdir())} inputs kept, nothing found")
    return 0


def merge(build, names):
    for corpus in sorted((build / "corpus").iterdir()):
        name = corpus.name
        if names and name not in names:
            continue
        seeds = SEEDS / name
        seeds.mkdir(exist_ok=True)
        before = len(list(seeds.iterdir()))
        subprocess.run([build / "fuzz_targets", "-merge=1", *LIMITS, seeds, corpus], check=True, stderr=subprocess.DEVNULL,
                       env={**os.environ, "FUZZ_TARGET": name})
        print(f"{name}: {len(list(seeds.iterdir())) - before} seeds more")
    return 0


def main():
    arguments = sys.argv[1:]
    merging = arguments[:1] == ["--merge"]
    if merging:
        del arguments[0]
    if not arguments or (not merging and len(arguments) < 2):
        sys.exit(__doc__)
    build = pathlib.Path(arguments[0]).resolve()
    if merging:
        return merge(build, arguments[1:])
    if "FUZZ_RUNS" not in os.environ:  # so many inputs have an end; at the lowest priority a test beside them waits for it
        os.nice(19)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return max(pool.map(lambda name: run(build, name), arguments[1:]))


if __name__ == "__main__":
    sys.exit(main())
