"""A client of `inbox-poller mcp` that speaks raw lines: exactly what a test says, and every line that comes back."""

import json
import os
import select
import subprocess
import time

from daemon import LIMIT_S, Missing

PROTOCOL = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
MODERN = {PROTOCOL: "2026-07-28", CAPABILITIES: {}}
# What a client says that only wants to know the tools.
TOOLS_ASKED = "".join(json.dumps(dict(jsonrpc="2.0", **message)) + "\n" for message in (
    {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
    {"method": "notifications/initialized"}, {"id": 2, "method": "tools/list"}))


class McpClient:
    def __init__(self, program, *arguments, env=None, cwd=None):
        self.errors = b""
        self.process = subprocess.Popen([str(program), "mcp", *map(str, arguments)], env=env, cwd=cwd, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.bytes = b""
        self.notifications = []
        self.answers = {}
        self.unknown = []  # answers whose request cannot be told
        self.last_id = 0
        self.tools = {}    # of each call that is not answered yet
        self.schemas = {}  # what holds an answer, by its tool

    def write(self, data):
        self.process.stdin.write(data)

    def say(self, method, id=None, **params):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if id is not None:
            message["id"] = id
        self.write((json.dumps(message) + "\n").encode())

    def read(self, seconds=0.0):
        """Whatever has come; waits for the first of it. False when the output has ended."""
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return True
        more = os.read(self.process.stdout.fileno(), 1 << 20)
        self.bytes += more
        *lines, self.bytes = self.bytes.split(b"\n")
        for line in lines:
            message = json.loads(line)  # nothing else is on the standard output, ever
            assert message["jsonrpc"] == "2.0", message
            if "method" in message:
                assert "id" not in message, message
                self.notifications.append(message)
            elif isinstance(message["id"], (int, str)):
                assert message["id"] not in self.answers, "answered twice: %s" % message
                self.answers[message["id"]] = message
            else:
                self.unknown.append(message)
        return bool(more)

    def wait(self, what, condition):
        deadline = time.monotonic() + LIMIT_S  # clock: the safety net itself; a condition decides, not this
        while not condition():
            left = deadline - time.monotonic()  # clock: the safety net itself; a condition decides, not this
            if left < 0 or not self.read(left):
                raise Missing("%s: not seen; stderr: %s" % (what, self.said()))

    def begin(self, method, **params):
        self.last_id += 1
        self.say(method, self.last_id, **params)
        return self.last_id

    def answer(self, id):
        self.wait("an answer to %r" % id, lambda: id in self.answers)
        return self.answers.pop(id)

    def ask(self, method, **params):
        return self.answer(self.begin(method, **params))

    def start(self, version="2025-11-25", **capabilities):
        result = self.ask("initialize", protocolVersion=version, capabilities=capabilities,
                          clientInfo={"name": "test", "version": "1"})["result"]
        self.say("notifications/initialized")
        return result

    def hold_to_schemas(self):
        """From here on what a tool answers is held to its output schema. Asks for the list: a request like any other."""
        from jsonschema import Draft202012Validator

        for tool in self.ask("tools/list")["result"]["tools"]:
            Draft202012Validator.check_schema(tool["inputSchema"])
            Draft202012Validator.check_schema(tool["outputSchema"])
            self.schemas[tool["name"]] = Draft202012Validator(tool["outputSchema"])

    def begin_tool(self, name, meta=None, **arguments):
        id = self.begin("tools/call", name=name, arguments=arguments, **({"_meta": meta} if meta else {}))
        self.tools[id] = name
        return id

    def tool(self, name, **arguments):
        """What the tool gives; a refusal as an AssertionError."""
        result = self.result(self.begin_tool(name, **arguments))
        assert not result.get("isError"), result["content"][0]["text"]
        return result["structuredContent"]

    def refusal(self, name, **arguments):
        result = self.result(self.begin_tool(name, **arguments))
        assert result["isError"] is True and "structuredContent" not in result, result
        return result["content"][0]["text"]

    def result(self, id):
        result = self.answer(id)["result"]
        if not result.get("isError"):
            assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
            assert [c["text"] for c in result["content"][1:]] == [result["structuredContent"][n] for n in ("note",) if n in result["structuredContent"]]
            tool = self.tools.pop(id, None)
            if tool in self.schemas:
                self.schemas[tool].validate(result["structuredContent"])
        return result

    def said(self):
        """What it wrote to the error output so far."""
        while select.select([self.process.stderr], [], [], 0)[0]:
            more = os.read(self.process.stderr.fileno(), 65536)
            if not more:
                break
            self.errors += more
        return self.errors.decode()

    def end(self):
        """Ends its input and returns the exit code."""
        self.process.stdin.close()
        while self.read(LIMIT_S):
            pass
        return self.process.wait(LIMIT_S)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except OSError:
                pass
