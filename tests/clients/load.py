"""A full machine beside a flow: busy loops at normal priority, one more than cores.

Each loop is a process of its own. It leaves when the test's process has ended, however that ended.
"""

import os
import subprocess
import sys

LOOP = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n    for _ in range(100000): pass"


class Load:
    def __init__(self, count=(os.cpu_count() or 1) + 1):
        self.loops = [subprocess.Popen([sys.executable, "-c", LOOP, str(os.getpid())], stdin=subprocess.DEVNULL) for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for loop in self.loops:
            loop.kill()
        for loop in self.loops:
            loop.wait()
        self.loops = []
