"""A stand-in for the public maildir store: the same folders, the same steps in the same order, its crash windows included.

Messages: written to tmp/, fsynced, renamed into <to>/new/; received by renaming to cur/ first and reading then. Tasks: claimed by one
rename and rewritten afterwards; completed by writing done/ and unlinking claimed/ afterwards; swept by reading, writing open/ and
unlinking claimed/. Nothing is fenced.

maildir_peer.py ROOT ACTOR claimer LEASE  works off the queue until stopped: a line "done ID" or "lost ID" for each task
maildir_peer.py ROOT ACTOR sweeper        sweeps all the time
"""

import json
import os
import pathlib
import sys
import time
import uuid


class Store:
    def __init__(self, root, actor):
        self.root, self.actor = pathlib.Path(root), actor
        for below in ("tmp", actor + "/new", actor + "/cur", "tasks/open", "tasks/claimed/" + actor, "tasks/done"):
            (self.root / below).mkdir(parents=True, exist_ok=True)

    def write(self, path, envelope):
        tmp = self.root / "tmp" / (".%s.tmp" % uuid.uuid4().hex)
        with open(tmp, "w", encoding="utf-8") as out:
            json.dump(envelope, out, indent=2, sort_keys=True)
            out.flush()
            os.fsync(out.fileno())
        os.replace(tmp, path)

    def send(self, to, kind, payload, **more):
        envelope = {"id": uuid.uuid4().hex, "from": self.actor, "to": to, "type": kind, "payload": payload, "ts": time.time(), **more}
        folder = self.root / to / "new"
        folder.mkdir(parents=True, exist_ok=True)
        self.write(folder / ("%020d-%s.json" % (time.time_ns(), envelope["id"])), envelope)
        return envelope

    def try_recv(self):
        for path in sorted((self.root / self.actor / "new").glob("*.json")):
            taken = self.root / self.actor / "cur" / path.name
            try:
                os.rename(path, taken)
            except FileNotFoundError:
                continue
            return json.loads(taken.read_text("utf-8"))
        return None

    def post(self, payload):
        task = {"id": uuid.uuid4().hex, "from": self.actor, "type": "task", "payload": payload, "ts": time.time(), "status": "open"}
        self.write(self.root / "tasks" / "open" / ("%020d-%s.json" % (time.time_ns(), task["id"])), task)
        return task

    def claim(self, lease):
        for path in sorted((self.root / "tasks" / "open").glob("*.json")):
            mine = self.root / "tasks" / "claimed" / self.actor / path.name
            try:
                os.rename(path, mine)
                task = json.loads(mine.read_text("utf-8"))
                task.update(status="claimed", owner=self.actor, claimed_at=time.time(), lease_expires_at=time.time() + lease)
                self.write(mine, task)
            except FileNotFoundError:
                continue
            return mine.name, task
        return None, None

    def complete(self, name, result):
        """False when it is not held any more."""
        mine = self.root / "tasks" / "claimed" / self.actor / name
        try:
            task = json.loads(mine.read_text("utf-8"))
        except FileNotFoundError:
            return False
        task.update(status="done", result=result, completed_at=time.time())
        self.write(self.root / "tasks" / "done" / name, task)
        try:
            mine.unlink()
        except FileNotFoundError:
            pass
        return True

    def sweep(self):
        for path in (self.root / "tasks" / "claimed").glob("*/*.json"):
            try:
                task = json.loads(path.read_text("utf-8"))
                # clock: a lease ends at a time; so does the peer's
                if task.get("lease_expires_at") is None or task["lease_expires_at"] > time.time():
                    continue
                task["swept_from"], task["swept_at"], task["status"] = task.get("owner"), time.time(), "open"
                for key in ("owner", "claimed_at", "lease_expires_at"):
                    task.pop(key, None)
                self.write(self.root / "tasks" / "open" / path.name, task)
                path.unlink()
            except FileNotFoundError:
                continue


def main():
    root, actor, role = sys.argv[1:4]
    store = Store(root, actor)
    while True:
        if role == "sweeper":
            store.sweep()
            time.sleep(0.005)  # clock: the pace of a peer; nothing is judged by it
            continue
        name, task = store.claim(float(sys.argv[4]))
        if name is None:
            time.sleep(0.005)  # clock: the pace of a peer; nothing is judged by it
            continue
        time.sleep(0.003)  # clock: the pace of a peer; nothing is judged by it
        print("done" if store.complete(name, {"by": actor}) else "lost", task["id"], flush=True)


if __name__ == "__main__":
    main()
