"""A client that may be killed at any moment: recv again and again, each message into a log before anything else is asked for.

mcp_reader.py PROGRAM ROOT ACTOR LOG prints the server's process number first.
"""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from mcp import McpClient  # noqa: E402

program, root, actor, log = sys.argv[1:]
client = McpClient(program, "--root", root, "--actor", actor)
print(client.process.pid, flush=True)
out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
client.start()
while True:
    message = client.tool("recv", timeout_s=600)["message"]
    if message is not None:
        os.write(out, (json.dumps(message) + "\n").encode())
