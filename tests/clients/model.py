"""A model on loopback that does what the conversation says, and keeps what it was asked.

It speaks the part of the Messages API that clients use (POST /v1/messages, streamed). Which step comes next stands in the
conversation itself: the last user text with `%%name%%` names a script, and as many of its steps have been done as assistant
messages follow it. So any number of clients can ask one model, and a client that asks again gets the same step. A step is a text,
or {"tool": name, "input": {…}} with further ones as "and", or {"text": …, "wait": seconds, "hold": name}: held until `release(name)`, or {"error": status}: the request fails, or a function
that makes one of the request. `shut()` closes connections before anything of a request is read, until `open()`. Behind the last step, and without any, it says "ok".
"""

import http.server
import json
import re
import threading
import time

SCRIPT = re.compile(r"%%(\w+)%%")
SCRIPTS = {}


def script(*steps):
    """Keeps the steps and returns their name as it stands in a prompt."""
    name = "script%d" % (len(SCRIPTS) + 1)
    SCRIPTS[name] = list(steps)
    return "%%" + name + "%%"


def tool(_tool, **given):
    return {"tool": _tool, "input": given}


def held(step, name):
    """The step, after the test's `release(name)`."""
    return {**step, "hold": name}


def texts(content):
    """Every text in one message's content: the blocks' texts and those of tool results."""
    if isinstance(content, str):
        return [content]
    found = []
    for block in content or []:
        if block.get("type") == "text":
            found.append(block.get("text", ""))
        elif block.get("type") == "tool_result":
            found += texts(block.get("content"))
    return found


def own_texts(message):
    """As `texts`, without tool results: a result that quotes a script is not one."""
    content = message.get("content")
    return [content] if isinstance(content, str) else [b.get("text", "") for b in content or [] if b.get("type") == "text"]


def next_step(messages):
    done = 0
    for message in reversed(messages):
        if message["role"] == "assistant":
            done += 1
        elif message["role"] == "user":
            found = [m for text in own_texts(message) for m in SCRIPT.findall(text)]
            if found:
                steps = SCRIPTS.get(found[-1], [])
                return steps[done] if done < len(steps) else "ok"
    return "ok"


class Asked:
    """One request of a client."""

    def __init__(self, who, body):
        self.at = time.time()
        self.who = who
        self.body = body
        self.messages = body.get("messages", [])

    @property
    def is_turn(self):
        """Not one of the requests beside a conversation: titles, summaries, probes."""
        return bool(self.body.get("tools")) and len(self.body["tools"]) > 3

    @property
    def system(self):
        return "\n".join(texts(self.body.get("system")))

    def texts(self):
        return [text for message in self.messages for text in texts(message.get("content"))]

    def text(self):
        return "\n".join(self.texts())


class Model:
    """Serves on a free port of loopback; a client's base address is `address(who)`."""

    def __init__(self):
        self.asked = []
        self.lock = threading.Lock()
        self.released = set()
        self.changed = threading.Condition(self.lock)
        self.is_open = True
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_HEAD

            def do_POST(self):
                if not model.is_open:  # over a connection from before
                    self.close_connection = True
                    return
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                try:
                    model.answer(self, json.loads(raw or b"{}"))
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the client ended its turn

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.verify_request = lambda *_: self.is_open
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def address(self, who):
        return "http://127.0.0.1:%d/%s" % (self.server.server_address[1], who)

    def stop(self):
        with self.changed:
            self.released.add(None)
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()

    def shut(self):
        """Clients connect and get no further: nothing of their requests is seen."""
        self.is_open = False

    def open(self):
        self.is_open = True

    # --- what was asked ---

    def turns(self, who=None):
        with self.lock:
            return [a for a in self.asked if a.is_turn and who in (None, a.who)]

    def last(self, who=None):
        found = self.turns(who)
        return found[-1] if found else None

    def seen(self, what, who=None):
        """How often a text stands in what the model was last given."""
        last = self.last(who)
        return last.text().count(what) if last else 0

    def ever_seen(self, what, who=None):
        """The most often that it stood in any one request."""
        return max([a.text().count(what) for a in self.turns(who)], default=0)

    def release(self, name):
        with self.changed:
            self.released.add(name)
            self.changed.notify_all()

    # --- answering ---

    def answer(self, handler, body):
        who, _, path = handler.path.lstrip("/").partition("/")
        if not path.startswith("v1/messages"):
            return self.send_json(handler, 200, {})
        if "count_tokens" in path:
            return self.send_json(handler, 200, {"input_tokens": 100})
        asked = Asked(who, body)
        with self.lock:
            self.asked.append(asked)
        step = next_step(asked.messages) if asked.is_turn else "ok"
        if callable(step):
            step = step(asked)
        if isinstance(step, str):
            step = {"text": step}
        if "wait" in step:
            with self.changed:
                self.changed.wait_for(lambda: None in self.released, step["wait"])  # the model thinks
        if "hold" in step:
            with self.changed:
                self.changed.wait_for(lambda: self.released & {step["hold"], None})
        if "error" in step:
            return self.send_json(handler, step["error"], {"type": "error", "error": {"type": "invalid_request_error", "message": "scripted"}})
        if "tool" in step:
            with self.lock:
                number = len(self.asked)
            blocks = [{"type": "tool_use", "id": "toolu_%010d%02d" % (number, n), "name": one["tool"], "input": one["input"]}
                      for n, one in enumerate([step, *step.get("and", ())])]
            if step.get("text"):
                blocks.insert(0, {"type": "text", "text": step["text"]})
        else:
            blocks = [{"type": "text", "text": step.get("text", "ok")}]
        self.send(handler, body, blocks)

    def send_json(self, handler, status, value):
        raw = json.dumps(value).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        handler.wfile.write(raw)

    def send(self, handler, body, blocks):
        reason = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
        message = {"id": "msg_%015d" % int(time.time() * 1e6), "type": "message", "role": "assistant", "model": body.get("model", "model"),
                   "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5}}
        if not body.get("stream"):
            return self.send_json(handler, 200, {**message, "content": blocks, "stop_reason": reason})
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True

        def event(kind, **fields):
            handler.wfile.write(("event: %s\ndata: %s\n\n" % (kind, json.dumps({"type": kind, **fields}))).encode())
            handler.wfile.flush()

        event("message_start", message={**message, "content": []})
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                event("content_block_start", index=index, content_block={"type": "text", "text": ""})
                event("content_block_delta", index=index, delta={"type": "text_delta", "text": block["text"]})
            else:
                event("content_block_start", index=index, content_block={**block, "input": {}})
                event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": json.dumps(block["input"])})
            event("content_block_stop", index=index)
        event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 5})
        event("message_stop")
