"""A file system of a few megabytes for one test file, in a mount namespace of its own: what is mounted there is seen by nobody else, and
gone with the process.

`enter` starts the whole test process again inside such a namespace: as root, or as a user who may make user namespaces.
"""

import errno
import os
import subprocess
import sys
import unittest

WAYS = (["unshare", "-m"], ["unshare", "-Urm"])


def enter():
    """For setUpModule. Skips the file where no mount is permitted."""
    if os.environ.get("IN_OWN_NAMESPACE"):
        return
    said = []
    for way in WAYS:
        tried = subprocess.run([*way, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True)
        if tried.returncode == 0:
            sys.stdout.flush()
            os.environ["IN_OWN_NAMESPACE"] = "1"
            os.execvp(way[0], [*way, sys.executable, "-B", *sys.argv])
        said.append("%s: %s" % (" ".join(way), tried.stderr.strip()))
    raise unittest.SkipTest("no small file system can be mounted here: " + "; ".join(said))


class SmallDisk:
    """A tmpfs at this place, with so many KiB and files."""

    def __init__(self, place, kib=8192, files=200):
        self.place, self.fillers = place, []
        place.mkdir(mode=0o700, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk,nr_inodes=%d,mode=0700" % (kib, files), "none", str(place)], check=True)

    def fill_bytes(self, beside, leave=0):
        """Until not a byte more fits, but for `leave`; into a file in the folder `beside`."""
        path = self._filler(beside, "filler")
        with open(path, "wb", 0, opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError as problem:
                if problem.errno != errno.ENOSPC:
                    raise
            file.truncate(max(0, file.tell() - leave))

    def fill_names(self, beside):
        """Until no file can be made."""
        try:
            while True:
                os.close(os.open(self._filler(beside, "filler-%d" % len(self.fillers)), os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError as problem:
            if problem.errno != errno.ENOSPC:
                raise
            self.fillers.pop()

    def _filler(self, beside, name):
        beside.mkdir(mode=0o700, exist_ok=True)
        self.fillers.append(beside / name)
        return self.fillers[-1]

    def free(self):
        for path in self.fillers:
            path.unlink(missing_ok=True)
        self.fillers.clear()

    def grow(self, kib):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "remount,size=%dk" % kib, "none", str(self.place)], check=True)

    def unmount(self):
        subprocess.run(["umount", "-l", str(self.place)], check=True)
