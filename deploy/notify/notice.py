"""What desktop, ntfy and slack have in common: the JSON on standard input as a few short lines.

One request, as `approver.command` gives it (`event`: asked or decided), or several with the same `event` in a list `requests`, as watch gives it
(also `event`: reminder, `notices`, and `buttons`). Of a command leaves only what the daemon's masked subject says, at most 80 characters of it: a push goes
through other people's machines.
"""

import json
import os
import sys
import unicodedata

MOST_LINES = 5


def visible(text):
    """One line in which nothing is hidden: no control, invisible or direction-changing character."""
    return "".join("<U+%04X>" % ord(c) if unicodedata.category(c) in ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp") else c for c in text)


def short(text, most=80):
    text = visible(text)
    return text if len(text) <= most else text[:most - 1] + "…"


def own_folder():
    """Where the daemon has its socket: in $XDG_RUNTIME_DIR, and without one in the state folder."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(os.environ.get("XDG_RUNTIME_DIR") or state, "inbox-poller")


def needed(name):
    """The value of an environment variable without which nothing can be shown."""
    if not os.environ.get(name):
        sys.exit("%s: the environment variable %s is not set; the head of this program says what it holds" % (os.path.basename(sys.argv[0]), name))
    return os.environ[name]


class Notice:
    def __init__(self, told):
        self.event = told.get("event", "asked")
        self.requests = told.get("requests") or [told]
        self.keys = [request["message_key"] for request in self.requests]
        self.notices = told.get("notices") or self.keys  # one that is shown, or those that are taken away
        self.buttons = told.get("buttons") or {}         # answer -> the token that gives it
        page = os.environ.get("INBOX_POLLER_PAGE", "").rstrip("/")
        self.link = page and (page + "/" + ("#/request/" + self.keys[0] if len(self.keys) == 1 else ""))

    @property
    def title(self):
        count, first = len(self.requests), self.requests[0]
        who = "%d requests" % count if count > 1 else "%s asks" % short(first["member"], 30)
        teams = sorted({short(request["team"], 30) for request in self.requests})
        return "%s%s (%s)" % ("Still open: " if self.event == "reminder" else "", who, ", ".join(teams[:3]))

    @property
    def lines(self):
        shown = [short(request["subject"]) for request in self.requests[:MOST_LINES]]
        return shown + (["and %d more" % (len(self.requests) - MOST_LINES)] if len(self.requests) > MOST_LINES else [])

    def request_of(self, name):
        """The request that a notice was about; of several, the first."""
        return next((request for request in self.requests if name.startswith(request["message_key"])), self.requests[0])

    def fate(self, request):
        return "%s by %s: %s" % (short(request.get("state", "decided"), 20), short(request.get("decided_by") or "nobody", 30), short(request["subject"]))


def is_listening():
    """True if the program was started as `PROGRAM --listen`: not for a notice, but to print the tokens of pressed buttons."""
    return sys.argv[1:] == ["--listen"]


def read():
    return Notice(json.load(sys.stdin))
