"""The table of docs/reference/log-events.md against lines that a daemon wrote: each event is in it, with each of its fields."""

import functools
import json
import pathlib
import re

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "log-events.md"
IN_EACH_LINE = {"ts", "level", "event", "team", "inbox", "from", "member", "type", "message_key", "request_id", "task_id", "reason"}


@functools.cache
def fields_by_event():
    """Words in brackets explain the field before them."""
    found = {}
    for row in DOCUMENT.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if len(cells) != 4 or not re.match(r"[a-z]+\.[a-z_]+", cells[0]):
            continue
        for event in cells[0].split(", "):
            found[event] = set(re.findall(r"[a-z_]+", re.sub(r"\([^)]*\)", "", cells[2])))
    return found


def undocumented(text):
    """"EVENT FIELD" for each field of a JSON log that the table does not have; "EVENT" for an event."""
    odd = set()
    for line in text.splitlines():
        if not line.startswith('{"ts"') or not line.endswith("}"):
            continue  # for a terminal, or in the middle of a write
        value = json.loads(line)
        known = fields_by_event().get(value["event"])
        odd |= {value["event"]} if known is None else {value["event"] + " " + field for field in value.keys() - IN_EACH_LINE - known}
    return sorted(odd)
