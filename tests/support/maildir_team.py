"""A folder that agents share, with a daemon that delivers the mail of one of them; the others are stand-ins for the public store."""

import pathlib

from maildir_peer import Store

MAILDIR_TOML = """
[team]
name = "pair"
backend = "maildir"
folder = "{root}"
lead = "boss"
poll_interval = "50ms"
{team_more}
[limits]
queued_chat = 1000000
"""


class MaildirTeam:
    def __init__(self, folder, actors=("ada", "bob")):
        self.name = "pair"
        self.root = pathlib.Path(folder) / "shared"
        self.root.mkdir(mode=0o700)
        self.stores = {name: Store(self.root, name) for name in actors}

    def toml(self, team_more="", more=""):
        return MAILDIR_TOML.format(root=self.root, team_more=team_more) + more

    def files(self, below):
        return sorted((self.root / below).glob("*.json")) if (self.root / below).is_dir() else []

    def put(self, below, text):
        """A file as somebody writes it by hand."""
        path = self.root / below
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path
