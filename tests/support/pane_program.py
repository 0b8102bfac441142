#!/usr/bin/env python3
"""A program in a terminal pane that takes every byte as it comes and writes it to a file: pane_program.py FILE [--brackets].

With --brackets it asks for bracketed paste, as every composer of a real lead does. Ends by itself after some minutes.
Python 3.9 or newer, standard library only.
"""

import os
import signal
import sys
import tty

signal.alarm(300)
tty.setraw(0)
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
os.write(1, (b"\x1b[?2004h" if "--brackets" in sys.argv else b"") + b"ready")
while True:
    data = os.read(0, 65536)
    if not data:
        break
    os.write(out, data)
