"""Command lines as a person types them: into a shell without a terminal, or at one where keys are pressed once something has come about.

Python 3.9 or newer, standard library only.
"""

import fcntl
import os
import re
import select
import signal
import subprocess
import termios

from daemon import LIMIT_S, Missing, wait_for

CTRL_C = "\x03"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[()][0-9A-B]|\x1b[=>78]|\r|\x0f")


def without_comment(line):
    return re.sub(r"\s+#( .*|)$", "", line)


class Shell:
    """`env` and `folder` are where a line runs; each line has a shell of its own. What is returned is the exit code, as
    a shell tells it, and the output."""

    def __init__(self, env, folder):
        self.env, self.folder = env, folder

    def run(self, line, stdin=""):
        done = subprocess.run(["bash", "-c", line], env=self.env, cwd=self.folder, input=stdin, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=LIMIT_S)
        return done.returncode, done.stdout

    def at_terminal(self, line, *steps):
        """Each step is (a pattern that is shown first, or a condition; keys, or what else is done then)."""
        ours, theirs = os.openpty()
        process = subprocess.Popen(["bash", "-c", line], env=dict(self.env, TERM="xterm"), cwd=self.folder, stdin=theirs, stdout=theirs,
                                   stderr=theirs, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        screen = Screen(ours)

        def until(what, has_come):
            try:
                wait_for(what, lambda: screen.read() and (has_come() or screen.is_over))
            except Missing as late:
                raise Missing("%s, %s; shown:\n%s" % (line, late, screen.text)) from late

        try:
            for what, then in steps:
                since = len(screen.text)
                has_come = what if callable(what) else lambda: re.search(what, screen.text[since:])
                until(what, has_come)
                if screen.is_over:
                    raise Missing("%s has ended before %s:\n%s" % (line, what, screen.text))
                then() if callable(then) else os.write(ours, then.encode())
            until("its end", lambda: False)
            code = process.wait(LIMIT_S)
            return (128 - code if code < 0 else code), screen.text
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            os.close(ours)


class Screen:
    """What a terminal was sent, without what moves its cursor."""

    def __init__(self, terminal):
        self.terminal, self.raw, self.text, self.is_over = terminal, b"", "", False

    def read(self):
        """Takes what is there."""
        while not self.is_over and select.select([self.terminal], [], [], 0)[0]:
            try:
                self.raw += os.read(self.terminal, 65536)
            except OSError:  # nobody has the terminal any more
                self.is_over = True
        self.text = ESCAPES.sub("", self.raw.decode("utf-8", "replace"))
        return True
