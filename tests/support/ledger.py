"""The ledger as the tests read it: rows as they were meant, keys as everybody else writes them, an entry for each message."""
import json
import sqlite3

VIEWS = {"messages": "messages_view", "requests": "requests", "outbox": "outbox_view", "history": "history_view"}
CARRIED = {"from": "from_id", "text": "text", "summary": "summary", "timestamp": "timestamp"}


def connect(path):
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    database.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    return database


def rows(database, name):
    """All rows of "messages", "requests", "outbox" or "history", oldest first; none before the tables are made."""
    try:
        found = [dict(row) for row in database.execute("SELECT * FROM %s ORDER BY id" % VIEWS[name])]
    except sqlite3.OperationalError as problem:
        if "no such table" not in str(problem):
            raise
        return []
    for row in found:
        if "text" in row:
            row["entry"] = bytes(row.get("raw", b"")) or entry(row)
    return found


def entry(row):
    """What the columns say, as an entry would."""
    return json.dumps({name: row[column] for name, column in CARRIED.items() if row[column]} | {"read": False}).encode("utf-8")


def says_all_of(row, raw):
    """Does the row keep these bytes, or all that they say?"""
    if row["raw"]:
        return bytes(row["raw"]) == raw
    said = json.loads(raw, strict=False)
    return all((said.get(name) or "") == row[column] for name, column in CARRIED.items())
