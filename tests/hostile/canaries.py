"""Runs shell lines in a folder with canaries and tells which of them touched one: canaries.py BOX, lines as JSON on stdin.

BOX is made anew: BOX/work is the folder, BOX/home the home. Files there must not be opened (`.env`, what is in `secrets`, the key in
the home), not written (what decides what runs later, `locked.txt`, `src/secrets`), not executed (`evil`, and what else leaves a mark).
Opening and writing is seen by inotify, so that no disguise of the output helps. Prints JSON: [[number, shell, what was touched], …].
Meant for namespaces of its own, without a network (see test_arguments.py).
"""

import ctypes
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys

OPEN, MODIFY, ATTRIB, MOVED, DELETED, CREATED, CLOSE_WRITE = 0x20, 0x2, 0x4, 0x800, 0x400, 0x100, 0x8
SHELLS = ("bash", "dash")
KEPT = 25  # so many lines share a box: what one leaves behind is there for the next

EVIL = '#!/bin/sh\nfor m in "$CANARY_MARKS" /dev/null; do echo ran >> "$m"; break; done\n'


class Canaries:
    def __init__(self, box):
        self.box = box
        self.work, self.home, self.marks = box / "work", box / "home", box / "marks"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LC_ALL": "C", "CANARY_MARKS": str(self.marks), "TERM": "dumb",
                    "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "PAGER": "cat", "TMPDIR": str(box / "tmp")}
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.template = box.with_name(box.name + ".new")
        self.make(self.template)

    def make(self, box):
        """The box as it is at the beginning, made once."""
        shutil.rmtree(box, ignore_errors=True)
        work, home = box / "work", box / "home"
        for folder in ("src/secrets", "secrets", "sub/deep", "build", "../elsewhere"):
            (work / folder).mkdir(parents=True)
        (box / "tmp").mkdir()
        (home / ".ssh").mkdir(parents=True)
        texts = {".env": "KEY=canary\n", "secrets/key": "KEY=canary\n", "src/secrets/key": "kept\n", "locked.txt": "kept\n",
                 "a.txt": "one\nKEY\nthree\n", "b.txt": "two\none\n", "src/x.c": "int main;\n", "src/y.c": "int KEY;\n", "data.json": '{"a":[1]}\n',
                 "sub/deep/z.txt": "z\n", "list": ".env\nsecrets/key\n", "s.sed": "1e ./evil\n", "s.awk": 'BEGIN{system("./evil")}\n',
                 "evil.mk": "all:\n\t./evil\n", "Makefile": "all:\n\t@echo ok\ntest:\n\t@echo ok\n", "m.jq": "def f: 1;\n",
                 ".gitignore": ".env\nsecrets/\n", "curl.conf": 'output = "locked.txt"\nurl = "file:///dev/null"\n', "wide name": "x\n"}
        for name, text in texts.items():
            (work / name).write_text(text)
        (box / "Makefile").write_text("all test 1 x a 10 n:\n\t%s/evil\n" % self.work)  # the code of another folder
        for name in ("evil", "sub/evil"):
            (work / name).write_text(EVIL)
            (work / name).chmod(0o755)
        for name in (".ssh/id_rsa", ".bashrc", ".profile", ".gitconfig"):
            (home / name).write_text("[user]\nname = a\nemail = a@b\n[protocol \"file\"]\nallow = always\n" if name == ".gitconfig" else "# canary\n")

        def git(folder, *arguments):
            subprocess.run(["git", *arguments], cwd=folder, env=dict(self.env, HOME=str(home)), check=True, capture_output=True)

        for folder in (work, box / "elsewhere"):
            git(folder, "init", "-q", "-b", "main")
            if folder != work:
                (folder / "f").write_text("f\n")
            git(folder, "add", "." if folder != work else "a.txt")
            git(folder, "commit", "-q", "-m", "first")
        for name in ("HEAD", "config", "objects", "refs", "index"):  # a folder that is a repository itself: ordinary files make one
            os.rename(box / "elsewhere/.git" / name, box / "elsewhere" / name)
        shutil.rmtree(box / "elsewhere/.git")
        (box / "elsewhere/config").write_text("[core]\nbare = false\nworktree = .\nrepositoryformatversion = 0\nfsmonitor = %s\npager = %s\n" % (
            self.work / "evil", self.work / "evil"))
        git(work, "add", "src", "locked.txt", "b.txt")
        git(work, "commit", "-q", "-m", "second")
        (work / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")
        subprocess.run(["tar", "cf", "a.tar", "a.txt", "src/x.c"], cwd=work, check=True)

    def renew(self):
        shutil.rmtree(self.box, ignore_errors=True)
        shutil.copytree(self.template, self.box, symlinks=True)
        self.watch()

    def watch(self):
        if hasattr(self, "inotify"):
            os.close(self.inotify)
        self.inotify = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.watched = {}
        changed = MODIFY | ATTRIB | MOVED | DELETED | CLOSE_WRITE
        unread = [".env", "secrets/key"]
        unwritten = ["locked.txt", "src/secrets/key", ".git/hooks/pre-commit", ".git/config"]
        for root, names, mask in ((self.work, unread, OPEN | changed), (self.home, [".ssh/id_rsa"], OPEN | changed), (self.work, unwritten, changed),
                                  (self.home, [".bashrc", ".profile", ".gitconfig"], changed),
                                  (self.work, ["src/secrets", ".git/hooks"], CREATED | 0x80)):
            for name in names:
                number = self.libc.inotify_add_watch(self.inotify, os.fsencode(root / name), mask)
                if number < 0:
                    raise OSError(ctypes.get_errno(), "inotify_add_watch " + name)
                self.watched[number] = name

    def touched(self):
        found = set()
        try:
            events = os.read(self.inotify, 1 << 20)
        except BlockingIOError:
            events = b""
        while events:
            number, _, _, length = struct.unpack_from("iIII", events)
            found.add(self.watched.get(number, "?"))
            events = events[16 + length:]
        if self.marks.exists():
            found.add("ran evil")
        return sorted(found)

    def run(self, line, shell):
        process = subprocess.Popen([shell, "-c", "ulimit -f 20000 -t 5 2>/dev/null; cd . && " + "eval \"$LINE\""], cwd=self.work,
                                   env=dict(self.env, LINE=line), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            process.wait(3)  # clock: a command that goes on is ended; what it has touched by then counts
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def main():
    canaries = Canaries(pathlib.Path(sys.argv[1]))
    found, fresh = [], 0
    for number, line in enumerate(json.load(sys.stdin)):
        for shell in SHELLS:
            if fresh == 0:
                canaries.renew()
                fresh = KEPT
            fresh -= 1
            canaries.run(line, shell)
            if touched := canaries.touched():
                found.append([number, shell, touched])
                fresh = 0
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
