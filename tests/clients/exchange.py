"""What a client does to inboxes, as the kernel reports it: locks, writes and replacements in their order, and the bytes after each.

`Recorder` watches the folder of a team's inboxes. A step is one of
  lock, unlock      the directory NAME.json.lock comes and goes
  create            the inbox is made, empty
  write             its bytes change in place; several writes in a row are one step
  replace           another file takes its name
A part of an exchange is what one access does: {"box", "before", "after", "steps"}. `plain()` takes ids and times out of bytes.
"""

import ctypes
import os
import pathlib
import re
import select
import struct
import threading

IN_MODIFY, IN_MOVED_TO, IN_CREATE, IN_DELETE, IN_ISDIR = 0x2, 0x80, 0x100, 0x200, 0x40000000
HEAD = struct.Struct("iIII")
PLAIN = ((re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "TIME"),
         (re.compile(r'("msg_id": ")[^"]*'), r"\1ID"))


def plain(text):
    for pattern, word in PLAIN:
        text = pattern.sub(word, text)
    return text


class Recorder:
    """Records the accesses of others until `stop()`. `without()` is a scope whose own writes are not recorded."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.parts, self.open = [], {}
        self.known = {path.name[:-5]: path.read_text("utf-8") for path in self.folder.glob("*.json")}
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0 or libc.inotify_add_watch(self.fd, str(self.folder).encode(), IN_MODIFY | IN_MOVED_TO | IN_CREATE | IN_DELETE) < 0:
            raise OSError(ctypes.get_errno(), "no watch on %s" % self.folder)
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def stop(self):
        self.is_over.set()
        self.thread.join()
        os.close(self.fd)

    def run(self):
        while not self.is_over.is_set():
            if select.select([self.fd], [], [], 0.05)[0]:
                self.take(os.read(self.fd, 1 << 16))

    def take(self, raw):
        at = 0
        while at < len(raw):
            _, mask, _, size = HEAD.unpack_from(raw, at)
            name = raw[at + HEAD.size:at + HEAD.size + size].rstrip(b"\0").decode()
            at += HEAD.size + size
            self.note(name, mask)

    def note(self, name, mask):
        if name.endswith(".json.lock") and mask & IN_ISDIR:
            box, step = name[:-10], "lock" if mask & IN_CREATE else "unlock"
        elif name.endswith(".json"):
            box, step = name[:-5], "create" if mask & IN_CREATE else "replace" if mask & IN_MOVED_TO else "write" if mask & IN_MODIFY else None
        else:
            return
        steps = self.open.setdefault(box, [])
        if step and (not steps or steps[-1] != step):
            steps.append(step)
        if step == "unlock":
            path = self.folder / (box + ".json")
            after = path.read_text("utf-8") if path.exists() else None
            self.parts.append({"box": box, "before": self.known.get(box), "after": after, "steps": self.open.pop(box)})
            self.known[box] = after

    def of(self, box):
        """The parts that changed this inbox, in their order."""
        return [part for part in list(self.parts) if part["box"] == box and part["before"] != part["after"]]
