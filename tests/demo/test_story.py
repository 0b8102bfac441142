"""`deploy/run demo` in a terminal, as a newcomer has it: every step seen, a pause behind each chapter, a team to play with at the end."""

import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import unittest

from daemon import LIMIT_S

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "demo"


class Story(unittest.TestCase):
    def test_it_waits_for_enter_and_leaves_a_team_to_play_with(self):
        outer, inner = pty.openpty()
        process = subprocess.Popen([sys.executable, "-B", str(DEPLOY / "demo.py"), "--program", os.environ["INBOX_POLLER"], "--stay"],
                                   stdin=inner, stdout=inner, stderr=inner, start_new_session=True)
        self.addCleanup(lambda: (process.poll() is None and process.kill(), process.wait(), os.close(outer)))
        os.close(inner)
        said, heard, pauses, played = "", 0, 0, None
        while True:
            self.assertTrue(select.select([outer], [], [], LIMIT_S)[0], said[-3000:])
            try:
                part = os.read(outer, 65536)
            except OSError:  # it has ended
                break
            said += part.decode("utf-8", "replace")
            prompt = re.search(r"Enter goes on|Enter here ends it", said[heard:])
            if not prompt:
                continue
            heard += prompt.end()
            pauses += 1
            if "ends it" in prompt[0]:
                command = re.findall(r"\$ +(/\S+ --socket .* approve \S+)", re.sub(r"\x1b\[[0-9;]*m", "", said))[-1]
                played = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=LIMIT_S)
            os.write(outer, b"\n")
        self.assertEqual(process.wait(LIMIT_S), 0, said[-3000:])
        chapters = len(re.findall(r"\n(?:\x1b\[1m)? ?\d+\. ", said))
        self.assertGreater(chapters, 10)
        self.assertEqual(pauses, chapters, "one behind each chapter, and the end")
        self.assertEqual(played.returncode, 0, played)
        self.assertIn("npm install", played.stdout)
        self.assertIn("Now your own", said.strip().splitlines()[-1])

    def test_the_picture_is_what_a_recording_shows(self):
        recording = "\n\x1b[1m 1. One\x1b[0m\n   <a> & \x1b[2Kb \x1b[32m✓\x1b[0m %s\n\n 2. Two\n  gone\n 3. Three\n" % ("x" * 300)
        done = subprocess.run([sys.executable, "-B", str(DEPLOY / "picture.py"), "--chapters", "1-2"], input=recording, capture_output=True,
                              text=True, check=True, timeout=LIMIT_S)
        self.assertIn('<tspan class="g">✓</tspan>', done.stdout)
        self.assertIn("&lt;a&gt; &amp; b", done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        self.assertNotIn("Three", done.stdout)
        self.assertLess(max(map(len, re.findall(r"x{2,}", done.stdout))), 118)
        kept = (DEPLOY.parents[1] / "docs" / "pictures" / "demo.svg").read_text("utf-8")
        told = (DEPLOY / "demo.py").read_text("utf-8")
        heads = re.findall(r">\s*\d+\. ([^<]+)<", kept)
        self.assertEqual(len(heads), 3)
        for head in heads:
            self.assertIn('s.chapter("%s")' % head, told, "the picture in README.md is of another demo: deploy/demo/picture.py")


if __name__ == "__main__":
    unittest.main()
