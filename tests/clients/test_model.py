"""The scripted model and what counts as not run, without any client: what the flows stand on."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

from daemon import LIMIT_S
from model import Model, held, script, tool

TOOLS = [{"name": name} for name in ("Bash", "Read", "Write", "SendMessage")]


class Scripted(unittest.TestCase):
    def setUp(self):
        self.model = Model()
        self.addCleanup(self.model.stop)

    def ask(self, *messages, stream=False, tools=TOOLS):
        body = {"model": "m", "tools": tools, "stream": stream, "messages": [
            {"role": "assistant" if i % 2 else "user", "content": content} for i, content in enumerate(messages)]}
        request = urllib.request.Request(self.model.address("ada") + "/v1/messages?beta=true", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            return answer.read().decode() if stream else json.load(answer)["content"]

    def test_each_step_follows_from_the_conversation(self):
        go = "go " + script(tool("Bash", command="ls"), lambda asked: "%d messages" % len(asked.messages))
        first, = self.ask(go)
        self.assertEqual((first["type"], first["name"], first["input"]), ("tool_use", "Bash", {"command": "ls"}))
        self.assertEqual(self.ask(go)[0]["name"], "Bash")  # asked again, the same
        result = [{"type": "tool_result", "tool_use_id": "x", "content": "quotes " + script("never")}]
        self.assertEqual(self.ask(go, "a tool", result)[0]["text"], "3 messages")
        self.assertEqual(self.ask(go, "a tool", result, "two", "and")[0]["text"], "ok")
        self.assertEqual(self.ask(go, "a tool", result, "two", "new " + script("the newest counts"))[0]["text"], "the newest counts")

    def test_what_was_asked_is_kept(self):
        self.ask("one pearl, two pearls")
        self.ask("a title?", tools=[])
        self.assertEqual((self.model.ever_seen("pearl", "ada"), self.model.ever_seen("pearl", "bob"), len(self.model.turns())), (2, 0, 1))

    def test_a_stream_has_the_blocks_and_a_held_step_waits(self):
        go = "go " + script(held(tool("Read", file_path="x"), "door"))
        answers = []
        asking = threading.Thread(target=lambda: answers.append(self.ask(go, stream=True)))
        asking.start()
        asking.join(0.3)  # clock: more time finds more; it waits for the door at any time
        self.assertEqual(answers, [])
        self.model.release("door")
        asking.join(LIMIT_S)
        events = [json.loads(line[6:]) for line in answers[0].splitlines() if line.startswith("data: ")]
        self.assertEqual([e["type"] for e in events], ["message_start", "content_block_start", "content_block_delta", "content_block_stop",
                                                       "message_delta", "message_stop"])
        self.assertEqual(json.loads(events[2]["delta"]["partial_json"]), {"file_path": "x"})
        self.assertEqual(events[4]["delta"]["stop_reason"], "tool_use")


class NotRun(unittest.TestCase):
    RUN = pathlib.Path(__file__).resolve().parents[1] / "support" / "run.py"

    def leaves_with(self, raised, **env):
        with tempfile.TemporaryDirectory() as folder:
            test = pathlib.Path(folder) / "test_one.py"
            test.write_text("import unittest\nclass One(unittest.TestCase):\n    def test(self):\n        %s\n" % raised)
            done = subprocess.run([sys.executable, "-B", self.RUN, test], capture_output=True, text=True, timeout=60,
                                  env={**{k: v for k, v in os.environ.items() if k != "CI"}, **env})
            return done.returncode, done.stdout

    def test_what_is_missing_fails_in_ci(self):
        missing = 'raise unittest.SkipTest("no tmux")'
        for raised, code, code_in_ci in ((missing, 77, 1), ("pass", 0, 0), ("self.fail()", 1, 1)):
            self.assertEqual((self.leaves_with(raised)[0], self.leaves_with(raised, CI="true")[0]), (code, code_in_ci), raised)
        self.assertIn("SKIPPED: test_one.One.test: no tmux", self.leaves_with(missing)[1])


if __name__ == "__main__":
    unittest.main()
