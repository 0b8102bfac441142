"""The promise over several nodes: the judge of one node (oracle.py) over each node's disk, and over what all of them recorded and handed
over together. What two nodes say of one request is compared here: nobody else can see both."""

import collections
import sqlite3

import ledger
import oracle


LETTERS = "SELECT node_mail.*, entry FROM node_mail JOIN node_entries ON mail_id = id ORDER BY id"


class NodeWorld(oracle.World):
    """One node. What it took out of its boxes for another one is recorded among the letters instead of the messages."""

    def read_ledger(self):
        super().read_ledger()
        database = ledger.connect(self.state / "ledger.sqlite3")
        try:
            self.letters = [dict(row) for row in database.execute(LETTERS)]
        except sqlite3.OperationalError as problem:
            if "no such table" not in str(problem):  # which is so before the first team is served on several nodes
                raise
            self.letters = []
        finally:
            database.close()
        self.messages_by_entry = {entry: list(rows) for entry, rows in self.rows["by entry"].items()}
        for row in self.letters:
            entry = oracle.decoded(row["entry"])
            self.rows["by entry"][entry.get("from"), oracle.as_time(entry), str(entry.get("text"))].append(dict(row, disposition="relayed"))
        never = self.never_decided()  # such an answer is owed to nobody any more, and its sender does not know yet
        self.rows["outbox"] = [row for row in self.rows["outbox"] if row["state"] != "pending" or row["request_id"] not in never]
        return self

    def never_decided(self):
        """Requests whose answer by this node was refused, or never came to its node (that may have stopped before), and is refused if it does."""
        return {row["request_id"] for row in self.letters
                if row["final"] and (row["state"] == "rejected" or (row["direction"] == "out" and row["state"] in ("waiting", "put")))}


def together(worlds, sent, received):
    """All nodes as one: a message may be recorded on any, and handed over on any."""
    first = next(iter(worlds.values()))
    world = oracle.World(first.team, first.state, sent=sent, received=received)
    for one in worlds.values():
        for entry, rows in one.messages_by_entry.items():
            world.rows["by entry"][entry] += rows
    return world


def violations(worlds, sent, received, outcomes):
    """Every violation; all daemons have ended in good order. `sent`: entries of chat for the lead, in each sender's order; `received`: what
    leads got, on whichever node, in order; `outcomes`: whether the worker went on, by the id of its request."""
    problems = ["%s: %s" % (name, problem) for name, world in worlds.items() for problem in oracle.violations(world)]
    problems += ["I1 %s" % problem for problem in oracle.i1_nothing_lost(together(worlds, sent, received))]
    return problems + one_decision(worlds, outcomes)


def one_decision(worlds, outcomes):
    """I2 between nodes: a decision that is not what the worker was told was refused, and is recorded as such."""
    decided, refused, problems = collections.defaultdict(dict), set(), []
    for name, world in worlds.items():
        refused |= world.never_decided()
        for row in world.rows["requests"]:
            if row["state"] in ("approved", "denied", "expired"):
                decided[row["request_id"]][name] = row["state"]
    for request, ran in outcomes.items():
        wanted = "approved" if ran else "denied"
        if wanted not in decided[request].values():
            problems.append("I8 %s was told %s, and the nodes say %s" % (request, wanted, decided[request]))
        if set(decided[request].values()) - {wanted} and request not in refused:
            problems.append("I2 %s was told %s, and nobody refused the other: %s" % (request, wanted, decided[request]))
    return problems
