#!/usr/bin/env python3
"""A stand-in for a headless lead session that speaks stream-json on its standard input and output.

What it obeys: `system/init` with the session's id at the beginning of each turn, the input lines run as turns of their own in the order
in which they came, also when they came in the middle of one; `assistant` lines, and `result` at the end of a turn; `can_use_tool` asks
(only with --permission-prompt-tool stdio, otherwise it refuses the tool by itself) wait for their answer without a limit; the end of the
input ends it after the turns that are left. --resume goes on with that session, or, when nothing of it was stored, ends at once with a
result that says so. Without --verbose it does not start.

What it tells of the lines that it takes depends on $LEAD_GENERATION, as seen with unmodified clients:
  newest     2.1.329 and later: `command_lifecycle` queued, started and completed with the line's uuid; `user_message_uuids` on the
             lines of its turn; with --replay-user-messages the line itself, but not when it begins with <teammate-message
  middle     2.1.220: the same without `user_message_uuids`
  old        2.1.50: with --replay-user-messages the line itself, but not when <teammate-message is anywhere in it; nothing else
  replaying  what is documented: with --replay-user-messages every line

What it took stands as JSON lines in $LEAD_LOG, written before it says so: started (argv, session), took (uuid, content, origin),
answer (to a request), refused (a tool, by itself), turn_ended; written behind it: repeated (uuid, once the line is out), answered (uuid, once
the assistant's line is out), left (it ended by itself). Everything that it wrote stands in $LEAD_LOG.out as well. $LEAD_PAUSE is the longest pause in seconds, at random, before each
step. Orders are files in $LEAD_ORDERS:
  crash_before_replay, crash_after_replay, crash_after_answer   it kills itself there, once
  fail                                      the next turn's request fails: a text of the client's own, `is_error`, `"cancelled"`; once
  refuse                                    the next turn ends without a request, `is_error` false and `completed`, as after a hook that
                                            blocks the prompt; once
  think                                     nothing is told of a line that it took while it exists
  hold                                      turns do not end while it exists
  ask                                       {"tool", "input"}: asked in the next turn, once; the turn waits for the answer
  cancel                                    the request is canceled
  say                                       these bytes are written in the next turn, once
  exit                                      it leaves with that code, when a turn begins
  forget                                    nothing of the session to resume was stored; once
Python 3.9 or newer, standard library only.
"""

import json
import os
import pathlib
import queue
import random
import re
import signal
import subprocess
import sys
import threading
import time
import uuid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import LIMIT_S, Missing  # noqa: E402

PAUSE = 0.005


class Lead:
    def __init__(self, argv):
        self.log_path = os.environ["LEAD_LOG"]
        self.orders = pathlib.Path(os.environ["LEAD_ORDERS"])
        self.turn = float(os.environ.get("LEAD_TURN", "0.02"))
        self.pause = float(os.environ.get("LEAD_PAUSE", "0"))
        self.replays = "--replay-user-messages" in argv
        self.generation = os.environ.get("LEAD_GENERATION", "newest")
        self.requests = "--permission-prompt-tool" in argv and argv[argv.index("--permission-prompt-tool") + 1] == "stdio"
        if "--verbose" not in argv:
            sys.exit("Error: When using --print, --output-format=stream-json requires --verbose")
        resumed = argv.index("--resume") if "--resume" in argv else None
        self.session = argv[resumed + 1] if resumed is not None else str(uuid.uuid4())
        self.lines = queue.Queue()
        self.answers = {}
        self.log_file = os.open(self.log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.copy = os.open(self.log_path + ".out", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.asked = 0
        self.writing = threading.Lock()  # what it read is told while a turn writes
        self.log("started", argv=argv, session=self.session)
        if resumed is not None and self.order("forget") is not None:
            self.say(type="result", subtype="error_during_execution", is_error=True, num_turns=0, session_id=self.session)
            sys.exit(1)

    def log(self, event, **fields):
        os.write(self.log_file, (json.dumps(dict(event=event, pid=os.getpid(), **fields)) + "\n").encode())

    def write(self, data):
        with self.writing:
            os.write(self.copy, data)
            while data:
                data = data[os.write(1, data):]

    def say(self, **line):
        self.write((json.dumps(line) + "\n").encode())

    def tell(self, line, state):
        if self.generation in ("newest", "middle") and line.get("uuid"):
            self.say(type="command_lifecycle", command_uuid=line["uuid"], state=state, uuid=str(uuid.uuid4()), session_id=self.session)

    def of_turn(self, line):
        """What the newest generation adds to each line of a turn."""
        return {"user_message_uuids": [line["uuid"]]} if self.generation == "newest" and line.get("uuid") else {}

    def is_repeated(self, line):
        content = line["message"]["content"]
        begins = content.lstrip().startswith("<teammate-message")
        silent = {"newest": begins, "middle": begins, "old": "<teammate-message" in content}
        return self.replays and not silent.get(self.generation, False)

    def rest(self):
        time.sleep(random.uniform(0, self.pause))  # clock: the pace of a lead; nothing is judged by it

    def read(self):
        """Runs beside the turns: answers to requests come in the middle of one."""
        try:
            for raw in sys.stdin.buffer:
                line = json.loads(raw)
                if line["type"] == "user":
                    assert line["message"]["role"] == "user" and line.get("origin", {}).get("kind") != "human", line
                    self.tell(line, "queued")
                    self.lines.put(line)
                elif line["type"] == "control_response":
                    self.log("answer", line=line)
                    self.answers[line["response"]["request_id"]] = line["response"]
        except BrokenPipeError:
            pass  # nobody hears it any more: it ends as with its input
        self.lines.put(None)

    def order(self, name):
        """The content of an order that is carried out once; None when there is none."""
        path = self.orders / name
        try:
            data = path.read_bytes()
            path.unlink()
            return data
        except FileNotFoundError:
            return None

    def crash_if(self, name):
        if self.order(name) is not None:
            os.kill(os.getpid(), signal.SIGKILL)

    def ask(self, request):
        if not self.requests:
            return self.log("refused", tool=request["tool"])
        self.asked += 1
        request_id = "req-%d" % self.asked  # begins anew with each process, as the real one's may
        self.say(type="control_request", request_id=request_id, request=dict(
            subtype="can_use_tool", tool_name=request["tool"], input=request["input"], permission_suggestions=[],
            tool_use_id="toolu_" + uuid.uuid4().hex[:24]))
        while request_id not in self.answers:
            if self.order("cancel") is not None:
                self.say(type="control_cancel_request", request_id=request_id)
                return
            time.sleep(PAUSE)  # clock: the pause between two checks of a condition

    def answer(self, line, model, text):
        self.say(type="assistant", message={"id": "msg_" + uuid.uuid4().hex, "model": model, "role": "assistant", "content": [
            {"type": "text", "text": text}]}, parent_tool_use_id=None, session_id=self.session, **self.of_turn(line))

    def run_turn(self, line):
        self.log("took", uuid=line.get("uuid"), content=line["message"]["content"], origin=line.get("origin"), session=self.session)
        code = self.order("exit")
        if code is not None:
            os._exit(int(code))
        self.crash_if("crash_before_replay")
        self.rest()
        while (self.orders / "think").exists():
            time.sleep(PAUSE)  # clock: the pause between two checks of a condition
        self.tell(line, "started")
        self.say(type="system", subtype="init", session_id=self.session, cwd=os.getcwd(), capabilities=["interrupt_receipt_v1"],
                 **self.of_turn(line))
        if self.is_repeated(line):
            self.say(**dict(line, isReplay=True, session_id=self.session))
            self.log("repeated", uuid=line.get("uuid"))
        self.crash_if("crash_after_replay")
        self.rest()
        failed = self.order("fail") is not None
        if failed or self.order("refuse") is not None:
            if failed:
                self.answer(line, "<synthetic>", "API Error: 400")
            self.say(type="result", subtype="success", is_error=failed, session_id=self.session, **self.of_turn(line))
            return self.tell(line, "cancelled" if failed else "completed")
        self.answer(line, "claude", "I see.")
        self.log("answered", uuid=line.get("uuid"))
        self.crash_if("crash_after_answer")
        noise = self.order("say")
        if noise is not None:
            self.write(noise)
        request = self.order("ask")
        if request is not None:
            self.ask(json.loads(request))
        end = time.monotonic() + self.turn  # clock: the length of a lead's turn; nothing is judged by it
        while time.monotonic() < end or (self.orders / "hold").exists():  # clock: the length of a lead's turn; nothing is judged by it
            time.sleep(PAUSE)  # clock: the pause between two checks of a condition
        self.log("turn_ended")
        self.say(type="result", subtype="success", is_error=False, session_id=self.session, **self.of_turn(line))
        self.tell(line, "completed")

    def run(self):
        self.rest()
        threading.Thread(target=self.read, daemon=True).start()
        try:
            while (line := self.lines.get()) is not None:
                self.run_turn(line)
        except BrokenPipeError:
            pass
        self.log("left")
        os._exit(0)  # the interpreter's own end waits for who reads


class LeadRun:
    """The test's handle on `inbox-poller lead run` with such a lead in it."""

    def __init__(self, daemon, folder, *options, replay=True, generation="newest", requests=True, turn=0.02, pause=0, command=None, before=(), stdin=subprocess.PIPE, stdout=subprocess.PIPE):
        self.folder = pathlib.Path(folder)
        self.orders = self.folder / "orders"
        self.orders.mkdir(parents=True, exist_ok=True)
        self.log_path = self.folder / "lead.jsonl"
        self.err_path = self.folder / "lead.err"
        if command is None:
            command = [sys.executable, "-B", os.path.abspath(__file__), "-p", "--input-format", "stream-json", "--output-format",
                       "stream-json", "--verbose"] + ["--replay-user-messages"] * replay + (
                           ["--permission-prompt-tool", "stdio"] if requests else [])
        env = dict(daemon.env, LEAD_LOG=str(self.log_path), LEAD_ORDERS=str(self.orders), LEAD_TURN=str(turn), LEAD_GENERATION=generation,
                   LEAD_PAUSE=str(pause))
        with open(self.err_path, "ab") as err:
            self.process = subprocess.Popen([*before, daemon.program, "lead", "run", "--socket", daemon.socket, *options, "--", *command],
                                            env=env, stdin=stdin, stdout=stdout, stderr=err)
        self.out = b""
        self.reader = threading.Thread(target=self.read, daemon=True) if stdout == subprocess.PIPE else None
        if self.reader:
            self.reader.start()

    def read(self):
        while True:
            data = self.process.stdout.read1(65536)
            if not data:
                return
            self.out += data

    def order(self, name, content=b""):
        """Given whole, so that it is never seen half written."""
        temporary = self.folder / (name + ".new")
        temporary.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        os.rename(temporary, self.orders / name)

    def revoke(self, name):
        (self.orders / name).unlink()

    def events(self, *kinds):
        try:
            lines = self.log_path.read_text("utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            return []
        events = [json.loads(line) for line in lines if line.endswith("\n")]
        return [e for e in events if not kinds or e["event"] in kinds]

    def took(self):
        """(sender, text, labeled as a possible repeat) of every message, in the order in which the lead read them."""
        return [message for event in self.events("took") for message in messages_in(event["content"])]

    def texts(self):
        return [text for _, text, _ in self.took()]

    def errors(self):
        return self.err_path.read_text("utf-8")

    def wrote(self):
        """What the lead wrote, as it wrote it."""
        try:
            return pathlib.Path(str(self.log_path) + ".out").read_bytes()
        except FileNotFoundError:
            return b""

    def pid(self):
        """Of the lead itself."""
        started = self.events("started")
        return started[-1]["pid"] if started else None

    def wait(self):
        code = self.process.wait(LIMIT_S)
        if self.reader:
            self.reader.join(LIMIT_S)
        return code

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                pid = self.pid()
                self.process.kill()
                if pid:
                    os.kill(pid, signal.SIGKILL)
                raise Missing("`lead run` did not leave within %.0f s after SIGTERM" % LIMIT_S)
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass


BLOCK = re.compile(r'<teammate-message teammate_id="([^"]*)"[^>]*>\n(.*?)\n</teammate-message>', re.S)
LABEL = re.compile(r"\[may be a repeat: [^]]*\]\n")


def messages_in(content):
    return [(sender, LABEL.sub("", text), bool(LABEL.match(text))) for sender, text in BLOCK.findall(content)]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Lead(sys.argv[1:]).run()
