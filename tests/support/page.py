"""`inbox-poller web` as a process, and HTTP spoken to it by hand: every header is the test's."""

import http.client
import json
import re
import subprocess

from daemon import LIMIT_S


class Page:
    """Started for a daemon; stops with the test. `port` 0 is any that is free."""

    def __init__(self, test, *arguments, port=0, through=(), pass_fds=()):
        daemon = test.daemon
        self.command = [daemon.program, "web", "--listen", "127.0.0.1:%d" % port, "--socket", daemon.socket, *arguments]
        self.env = dict(daemon.env, USER="carol")
        self.process = subprocess.Popen([*through, *self.command], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, pass_fds=pass_fds)
        test.stops.append(self.stop)
        self.link = self.process.stdout.readline().strip()
        if not self.link:
            why = self.process.stderr.read()
            if "is not in this program" in why:
                test.skipTest(why.strip())
            raise AssertionError("the page did not start: " + why)
        self.port = int(re.match(r"http://127\.0\.0\.1:(\d+)/#token=[0-9a-f]{64}$", self.link).group(1))
        self.host = "127.0.0.1:%d" % self.port
        self.cookie = None

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(LIMIT_S)
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.returncode

    def next_link(self):
        command = [self.command[0], "web", "--link", "--listen", self.host, "--socket", self.command[self.command.index("--socket") + 1]]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, check=True).stdout.split()[0]

    def request(self, method, path, body=None, **headers):
        """(status, headers, text). A header given as None is left out; names have _ for -."""
        sent = {"Host": self.host}
        if method == "POST":
            sent.update({"Origin": "http://" + self.host, "Content-Type": "application/json"})
        if self.cookie:
            sent["Cookie"] = self.cookie
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
            if method == "POST":
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def enter(self):
        """Exchanges the link's token for a session."""
        status, headers, text = self.request("POST", "/api/session", {}, X_Inbox_Poller_Token=self.next_link().partition("token=")[2])
        assert status == 200, text
        self.cookie = headers["Set-Cookie"].partition(";")[0]
        return headers["Set-Cookie"]

    def json(self, method, path, body=None, **headers):
        status, _, text = self.request(method, path, body, **headers)
        return status, json.loads(text)

    def events(self):
        """The stream of rows; the session is this page's."""
        return Events(self)


class Events:
    def __init__(self, page):
        self.connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=LIMIT_S)
        self.connection.request("GET", "/api/events", headers={"Host": page.host, "Cookie": page.cookie})
        self.answer = self.connection.getresponse()

    def next(self, name, where=lambda data: True):
        """The data of the next event of this name that fits."""
        event = None
        for line in self.answer:
            word, _, rest = line.decode().rstrip("\n").partition(": ")
            if word == "event":
                event = rest
            elif word == "data" and event == name and where(json.loads(rest)):
                return json.loads(rest)
        raise AssertionError("the stream ended without " + name)

    def close(self):
        self.connection.close()
