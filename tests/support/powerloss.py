"""What may stand on a disk after the power failed in the middle of a run: all of it, from one trace of the run's system calls.

The model is that of a careful reader of POSIX with an ordered journal of names. Bytes that were written are sure once that file was
synced; until then they are all there, none of them, zeroes where the file grew, or only the first half of each write (up to a sector's end). Names (create, rename,
unlink, mkdir, rmdir) reach the disk in their order, and are sure once their directory was synced; a synced file has its name too. After
each call there is one state for each fate of the bytes and each number of names that made it; the same state is told once.
"""

import codecs
import collections
import hashlib
import os
import re

LINE = re.compile(r"(\d+)\s+(\w+)\((.*)\)\s+=\s+(-?\d+)(?:<(.*)>)?$")
UNFINISHED = re.compile(r"(\d+)\s+(.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"(\d+)\s+<\.\.\. \w+ resumed>(.*)$")
FD = re.compile(r"(\d+|AT_FDCWD)<(.*?)>")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
SECTOR = 512  # bytes that a disk writes in one piece; SQLite relies on no more
FATES = ("all", "none", "zero", "half")
CALLS = "openat,open,creat,write,pwrite64,writev,pwritev,ftruncate,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat," \
        "mkdir,mkdirat,rmdir"


def half_of(offset, size):
    """How much of a write the half of it is: it breaks off at a sector, and what lies in one sector is written whole or not at all."""
    middle = (offset + size // 2 + SECTOR - 1) // SECTOR * SECTOR
    return middle - offset if middle < offset + size else 0


def unquoted(text):
    return codecs.escape_decode(text.encode("latin-1"))[0]


def calls(trace):
    """(name, arguments, result, path of a returned descriptor) of each call that succeeded, in order."""
    begun = {}
    for line in trace.splitlines():
        if match := UNFINISHED.match(line):
            begun[match[1]] = match[2]
            continue
        if match := RESUMED.match(line):
            line = "%s %s%s" % (match[1], begun.pop(match[1], ""), match[2])
        match = LINE.match(line)
        if match and int(match[4]) >= 0:
            yield match[2], match[3], int(match[4]), match[5]


class Operations:
    """The calls that change something below `root`, as ("create", path), ("mkdir", path), ("write", path, offset, bytes), ("cut", path,
    size), ("sync", path), ("rename", from, to), ("exchange", one, other), ("unlink", path). Paths are relative to the root."""

    def __init__(self, trace, root, existing):
        self.root = str(root)
        self.list = []
        self.there = dict(existing)  # path -> size, None for a directory
        self.append = set()
        for name, arguments, result, path in calls(trace):
            self.take(name, arguments, result, path)

    def inside(self, path):
        path = os.path.normpath(path.removesuffix(" (deleted)"))
        return os.path.relpath(path, self.root) if path.startswith(self.root + "/") else None

    def named(self, arguments):
        """The paths that a call names, each relative to the descriptor in front of it."""
        found, base = [], self.root
        for part in re.finditer(r'(?:\d+|AT_FDCWD)<(.*?)>|"((?:[^"\\]|\\.)*)"', arguments):
            if part[2] is None:
                base = part[1]
            else:
                found.append(self.inside(os.path.join(base, os.fsdecode(unquoted(part[2])))))
        return found

    def take(self, name, arguments, result, path):
        if name in ("openat", "open", "creat"):
            return self.opened(arguments, self.inside(path) if path else None)
        if name == "renameat2" and "RENAME_EXCHANGE" in arguments:
            return self.exchanged(*self.named(arguments)[:2])
        if name in ("rename", "renameat", "renameat2"):
            return self.renamed(*self.named(arguments)[:2])
        if name in ("unlink", "unlinkat", "rmdir"):
            return self.gone(self.named(arguments)[0])
        if name in ("mkdir", "mkdirat"):
            return self.made(self.named(arguments)[0], None)
        if name in ("link", "linkat", "writev", "pwritev"):
            raise AssertionError("this model does not know %s(%s)" % (name, arguments[:200]))
        descriptor = FD.match(arguments)
        target = self.inside(descriptor[2]) if descriptor else None
        if target is None or (target not in self.there and name not in ("fsync", "fdatasync")):
            return None
        if name in ("fsync", "fdatasync"):
            return self.list.append(("sync", target))
        if name == "ftruncate":
            size = int(arguments.rsplit(",", 1)[1])
            self.there[target] = size
            return self.list.append(("cut", target, size))
        data = unquoted(STRING.search(arguments, descriptor.end())[1])[:result]
        offset = int(arguments.rsplit(",", 1)[1]) if name == "pwrite64" else self.there[target]  # write() is only used to append
        self.there[target] = max(self.there[target], offset + len(data))
        return self.list.append(("write", target, offset, data))

    def opened(self, arguments, path):
        if path is None:
            return
        if "O_CREAT" in arguments and path not in self.there:
            self.made(path, 0)
        if "O_TRUNC" in arguments and self.there.get(path):
            self.there[path] = 0
            self.list.append(("cut", path, 0))

    def made(self, path, size):
        if path is not None:
            self.there[path] = size
            self.list.append(("mkdir" if size is None else "create", path))

    def renamed(self, source, target):
        if source is not None and source in self.there:
            self.there[target] = self.there.pop(source)
            self.list.append(("rename", source, target))

    def exchanged(self, one, other):
        if one is not None:
            self.there[one], self.there[other] = self.there[other], self.there[one]
            self.list.append(("exchange", one, other))

    def gone(self, path):
        if path is not None and self.there.pop(path, "none") != "none":
            self.list.append(("unlink", path))


class Disk:
    """The state after some operations, with what of it is sure."""

    def __init__(self, existing):
        self.files = {}  # inode -> [(change, is sure)]
        self.names = {}  # as the program sees them: path -> inode
        self.first = {}  # as they were before
        self.moves = []  # [change of a name, is sure]
        for path, data in existing.items():
            self.names[path] = self.first[path] = self.new(data)

    def new(self, data=b""):
        inode = len(self.files)
        self.files[inode] = None if data is None else [[(0, data), True]] if data else []
        return inode

    def apply(self, operation):
        what, path = operation[:2]
        if what in ("create", "mkdir"):
            self.names[path] = self.new(b"" if what == "create" else None)
            self.moves.append([("add", path, self.names[path]), False])
        elif what == "rename":
            self.names[operation[2]] = self.names.pop(path)
            self.moves.append([("move", path, operation[2]), False])
        elif what == "exchange":
            self.names[path], self.names[operation[2]] = self.names[operation[2]], self.names[path]
            self.moves.append([("swap", path, operation[2]), False])
        elif what == "unlink":
            del self.names[path]
            self.moves.append([("drop", path), False])
        elif what == "sync":
            self.sync(path)
        else:
            self.files[self.names[path]].append([operation[2:], False])

    def sync(self, path):
        inode = self.names.get(path)
        is_directory = inode is None or self.files[inode] is None
        if not is_directory:
            for change in self.files[inode]:
                change[1] = True
        for move in self.moves:
            places = [p for p in move[0][1:] if isinstance(p, str)]
            if is_directory and any(os.path.dirname(p) == path for p in places):
                move[1] = True
            if not is_directory and move[0][0] == "add" and move[0][2] == inode:
                move[1] = True
        # Names have one journal: what was named before a sure name is sure as well.
        last = max((n for n, move in enumerate(self.moves) if move[1]), default=-1)
        for move in self.moves[:last + 1]:
            move[1] = True

    def content(self, inode, fate):
        data = bytearray()
        for change, sure in self.files[inode]:
            if len(change) == 1:  # a cut
                if sure or fate != "none":
                    del data[change[0]:]
                    data.extend(bytes(change[0] - len(data)))
                continue
            offset, written = change
            if not sure:
                if fate == "half":
                    written = written[:half_of(offset, len(written))]
                if fate == "zero":  # only a file that grew can show blocks that were never written
                    written = bytes(max(0, offset + len(written) - max(offset, len(data))))
                    offset = max(offset, len(data))
                if fate == "none":
                    continue
            data.extend(bytes(max(0, offset - len(data))))
            data[offset:offset + len(written)] = written
        return bytes(data)

    def survivors(self):
        """(fate of unsure bytes, number of unsure names kept, {path: bytes, or None for a directory})."""
        sure = sum(1 for move in self.moves if move[1])
        for kept in range(sure, len(self.moves) + 1):
            names = dict(self.first)
            for move, _ in self.moves[:kept]:
                if move[0] == "add":
                    names[move[1]] = move[2]
                elif move[0] == "move":
                    if move[1] in names:
                        names[move[2]] = names.pop(move[1])
                elif move[0] == "swap":
                    names[move[1]], names[move[2]] = names[move[2]], names[move[1]]
                else:
                    names.pop(move[1], None)
            for fate in FATES:
                yield fate, kept - sure, {p: None if self.files[i] is None else self.content(i, fate) for p, i in names.items()}


def crash_states(operations, existing):
    """(number of operations carried out, fate, names kept, the files) of each state that differs from all before it."""
    disk, seen = Disk(existing), set()
    for number in range(len(operations) + 1):
        if number:
            disk.apply(operations[number - 1])
        for fate, kept, files in disk.survivors():
            digest = hashlib.sha256(repr(sorted(files.items(), key=lambda item: item[0])).encode()).digest()
            if digest not in seen:
                seen.add(digest)
                yield number, fate, kept, files


def read_tree(root, parts):
    """{path: bytes, or None for a directory} of everything below these parts of the root."""
    found = collections.OrderedDict()
    for part in parts:
        top = os.path.join(root, part)
        if os.path.isfile(top):
            found[part] = open(top, "rb").read()
        for folder, _, files in os.walk(top):
            found[os.path.relpath(folder, root)] = None
            for name in files:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, root)] = open(path, "rb").read()
    return found
