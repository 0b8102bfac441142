"""A clock of the daemon's own that a test moves: tests/shim/clock.cpp between the daemon and the C library. Time that the test does not
want to wait for passes at once; it is no clock of the test's own processes."""

import mmap
import os
import pathlib
import struct

from daemon import asan_options


class FakeClock:
    """Before the daemon is started. Only what it starts has this clock."""

    def __init__(self, daemon, path):
        path.write_bytes(bytes(16))
        with open(path, "r+b") as file:
            self.shifts = mmap.mmap(file.fileno(), 16)
        daemon.env.update(LD_PRELOAD=str(pathlib.Path(os.environ["INBOX_POLLER_SHIMS"]) / "clock.so"), CLOCK_FILE=str(path),
                          ASAN_OPTIONS=asan_options("verify_asan_link_order=0"))

    def set(self, wall_ms, slept_ms=0):
        """The wall clock is so far ahead, and the machine has slept for so long."""
        self.shifts[:16] = struct.pack("=qq", wall_ms, slept_ms)

    def pass_over(self, ms):
        """So much time is over, since the daemon was started: the wall clock and the time that counts sleep agree."""
        self.set(ms, ms)
