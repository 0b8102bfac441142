"""A Redis of this test's own: on a Unix socket, on request over TLS, with the settings that we ask of an operator."""

import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import unittest

from daemon import LIMIT_S, wait_for

PASSWORD = "correct horse"
SERVER = os.environ.get("INBOX_POLLER_REDIS_SERVER") or "redis-server"  # another version, or valkey-server


class RedisError(Exception):
    pass


class Redis:
    """As much of a client as a test needs, of nobody's making but its own."""

    def __init__(self, connection):
        self.connection, self.received = connection, connection.makefile("rb")

    def __call__(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.connection.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.reply()

    def reply(self):
        line = self.received.readline()
        if not line:
            raise ConnectionError("closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RedisError(rest.decode())
        if kind in b"+:":
            return rest.decode() if kind == b"+" else int(rest)
        if int(rest) < 0:
            return None
        if kind == b"$":
            return self.received.read(int(rest) + 2)[:-2].decode(errors="surrogateescape")
        answers = []
        for _ in range(int(rest)):
            try:
                answers.append(self.reply())
            except RedisError as error:
                answers.append(error)
        return answers

    def close(self):
        self.received.close()
        self.connection.close()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Engine:
    """The folder stays over a restart, as a disk does."""

    def __init__(self, folder, *settings, tls=False, users=None):
        if shutil.which(SERVER) is None:
            if SERVER != "redis-server":
                raise FileNotFoundError("INBOX_POLLER_REDIS_SERVER: no program %r; name one that is installed, or unset it" % SERVER)
            raise unittest.SkipTest("no redis-server here (deploy/install-deps test)")
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.socket = self.folder / "s"
        self.settings = ["appendonly", "yes", "appendfsync", "always", "save", "", "maxmemory-policy", "noeviction"] + list(settings)
        self.process, self.port = None, 0
        if tls:
            self.make_certificates()
        if users is not None:
            (self.folder / "users.acl").write_text(users)
            self.settings += ["aclfile", str(self.folder / "users.acl")]

    def make_certificates(self):
        if shutil.which("openssl") is None:
            raise unittest.SkipTest("no openssl here (deploy/install-deps test)")

        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
                "-days", "2", "-subj", "/CN=test ca")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem", "-out", "csr.pem", "-subj", "/CN=localhost")
        (self.folder / "names").write_text("subjectAltName=DNS:localhost\n")
        openssl("x509", "-req", "-in", "csr.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "cert.pem", "-days", "2",
                "-extfile", "names")
        self.port = free_port()
        self.settings += ["tls-port", str(self.port), "tls-cert-file", "cert.pem", "tls-key-file", "key.pem", "tls-ca-cert-file", "ca.pem",
                          "tls-auth-clients", "no", "bind", "127.0.0.1"]

    def start(self, *more):
        command = [SERVER, "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700", "--dir", str(self.folder),
                   "--logfile", str(self.folder / "log"), "--daemonize", "no"]
        settings = self.settings + list(more)
        for name, value in zip(settings[::2], settings[1::2]):
            command += ["--" + name, value]
        log = self.folder / "log"
        told = log.stat().st_size if log.exists() else 0
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # The log and no command: a stranger's PING is refused for its password before it is refused because the data are still being read.
        wait_for("redis is ready", lambda: log.exists() and b"eady to accept connections" in log.read_bytes()[told:])
        wait_for("redis answers", self.answers)
        return self

    def answers(self):
        try:
            self.client().close()
            return True
        except OSError:
            return False

    def client(self, *login):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(LIMIT_S)
        connection.connect(str(self.socket))
        return self.logged_in(Redis(connection), login)

    def tls_client(self, *login):
        context = ssl.create_default_context(cafile=str(self.folder / "ca.pem"))
        connection = context.wrap_socket(socket.create_connection(("localhost", self.port), 20), server_hostname="localhost")
        return self.logged_in(Redis(connection), login)

    def logged_in(self, client, login):
        if login:
            client("AUTH", *login)
        return client

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process is None:
            return
        # Asked again and again: an engine that writes its first append-only file after a changed setting refuses to end.
        wait_for("redis ends", lambda: self.process.poll() is not None or self.process.terminate(), pause=0.2)

    def address(self, team="demo", more=""):
        return "redis+unix://%s%s#%s" % (self.socket, more, team)

    def tls_address(self, team="demo", more=""):
        return "rediss://localhost:%d?ca=%s%s#%s" % (self.port, self.folder / "ca.pem", more, team)

    def secret(self, name, password=PASSWORD, mode=0o600):
        path = self.folder / name
        path.write_text(password + "\n")
        os.chmod(path, mode)
        return path
