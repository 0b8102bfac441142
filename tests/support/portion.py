"""What the usual run takes of a sweep that is too long for it: a slice that comes from a seed. LONG=1 takes everything.

The seed is TEST_SEED, or the commit that is checked out, so that each commit tries another slice and a repeated run the same one. It is
printed, and a failure is repeated with it. Two slices of one seed are equal (test_portion.py).
"""

import functools
import os
import pathlib
import random
import subprocess

LONG = os.environ.get("LONG") == "1"
FIXED = 20_260_207  # where there is no commit: an archive of the sources


def commit():
    """The first 32 bits of the commit's name; None outside of a repository."""
    root = pathlib.Path(__file__).resolve().parents[2]
    try:
        said = subprocess.run(["git", "-C", str(root), "rev-parse", "--verify", "HEAD"], capture_output=True, text=True)
    except OSError:
        return None
    return int(said.stdout[:8], 16) if said.returncode == 0 else None


@functools.lru_cache(maxsize=None)
def seed():
    """The seed of this run, printed once."""
    given = os.environ.get("TEST_SEED")
    found = int(given) if given else commit()
    found = FIXED if found is None else found
    print("TEST_SEED=%d repeats it" % found, flush=True)
    return found


def portion(items, most, number):
    """At most `most` of the items, drawn by the seed `number`, in their order: one of each of `most` stretches of equal length, so that
    no part of a run is left out. All of them where LONG=1."""
    items = list(items)
    if LONG or most >= len(items):
        return items
    choose = random.Random("%d of %d, %d" % (most, len(items), number))
    bounds = [i * len(items) // most for i in range(most + 1)]
    return [items[choose.randrange(first, after)] for first, after in zip(bounds, bounds[1:])]
