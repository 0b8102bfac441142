"""The compose files of deploy/examples: what they name and mount is there after ./prepare, and the program takes every team file that a
daemon is given. No container is started."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest
from urllib.parse import parse_qs, urlsplit

from case import ProcessTest
from daemon import LIMIT_S, alone

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[2]


@unittest.skipUnless(yaml and shutil.which("openssl"), "python3-yaml or openssl is not installed")
class Compose(ProcessTest):
    def setUp(self):
        super().setUp()
        self.env = alone(self.folder)
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "inbox-poller").symlink_to(os.path.abspath(os.environ["INBOX_POLLER"]))
        self.env["PATH"] = "%s:%s" % (programs, os.environ["PATH"])

    def prepared(self, name):
        """The services of an example, with what ./prepare made beside them; twice is as good as once."""
        self.here = self.folder / name
        shutil.copytree(ROOT / "deploy" / "examples" / name, self.here)
        made = []
        for _ in range(2):
            subprocess.run(["./prepare"], cwd=self.here, env=self.env, check=True, capture_output=True, timeout=LIMIT_S)
            made.append({path: path.read_bytes() for path in self.here.rglob("*") if path.is_file()})
        self.assertEqual(*made)
        text = (self.here / "compose.yaml").read_text("utf-8")
        settings = dict(line.split("=", 1) for line in (self.here / ".env").read_text().splitlines())
        self.assertEqual(settings, {"RUN_AS": "%d:%d" % (os.getuid(), os.getgid())})
        self.assertEqual(set(re.findall(r"\$\{(\w+)", text)), set(settings))
        entry = re.search(r"""--entrypoint '\["([^"]+)"\]'""", (ROOT / "deploy" / "package").read_text("utf-8"))[1]
        for line in re.findall(r"docker compose exec \w+ (\S+)", text):
            self.assertEqual(line, entry, "the image has no PATH")
        return yaml.safe_load(text)["services"]

    def mounts(self, service):
        """(place in the container, file here, whether it can be written), the longest place first."""
        found = []
        for one in service.get("volumes", ()):
            source, target, *mode = one.split(":")
            self.assertTrue((self.here / source).exists(), one)
            found.append((target, self.here / source, mode != ["ro"]))
        return sorted(found, key=lambda mount: -len(mount[0]))

    def file(self, service, place):
        """What a path in the container is here."""
        for target, source, _ in self.mounts(service):
            if place == target or place.startswith(target + "/"):
                return source / place[len(target):].lstrip("/") if source.is_dir() else source
        self.fail("%s is mounted nowhere" % place)

    def engine(self, service):
        """Of the Redis: its files are there, it keeps what it confirms, and what it listens on is what it is asked on."""
        words = service["command"].split()
        options = {key: value for key, value in zip(words, words[1:]) if key.startswith("--")}
        for key in ("--aclfile", "--tls-cert-file", "--tls-key-file", "--tls-ca-cert-file"):
            self.assertTrue(self.file(service, options[key]).read_bytes(), key)
        self.assertEqual((options["--appendonly"], options["--appendfsync"], options["--maxmemory-policy"]), ("yes", "always", "noeviction"))
        self.assertIn("-s %s " % options["--unixsocket"], " ".join(service["healthcheck"]["test"]))
        users = re.findall(r"^user (\S+) ", self.file(service, options["--aclfile"]).read_text(), re.M)
        return int(options["--tls-port"]), users

    def asked(self, services, service, address, user, secret, ca):
        """An address is that of the Redis beside it, with a user that it knows, and files that are there."""
        port, users = self.engine(services["redis"])
        at = urlsplit(address)
        self.assertEqual((at.scheme, at.hostname, at.port), ("rediss", "redis", port))
        self.assertIn("redis", service["depends_on"])
        self.assertIn(user, users)
        self.assertEqual(self.file(service, secret).stat().st_mode & 0o777, 0o600)
        self.assertIn("BEGIN CERTIFICATE", self.file(service, ca).read_text())

    def test_three_nodes(self):
        services = self.prepared("cluster")
        self.assertEqual(set(services), {"redis", "h1", "h2", "h3"})
        said = []
        for name in ("h1", "h2", "h3"):
            service = services[name]
            verb, option, place = service["command"]
            self.assertEqual((verb, option, service["image"]), ("run", "--config", "inbox-poller"))
            for variable in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
                folder = self.file(service, service["environment"][variable])
                self.assertEqual((folder.is_dir(), folder.stat().st_mode & 0o777), (True, 0o700), variable)
            # As the daemon would read it, with the paths of here.
            text = self.file(service, place).read_text("utf-8")
            inside = [line.split('"')[1] for line in text.splitlines() if re.match(r'(root|ca|secret) = "/', line)]
            self.assertEqual(len(inside), 3)
            for path in inside:
                text = text.replace('"%s"' % path, '"%s"' % self.file(service, path))
            checked = self.here / (name + ".toml")
            checked.write_text(text)
            done = subprocess.run([os.environ["INBOX_POLLER"], "check-config", "--json", "--config", str(checked)], env=self.env,
                                  capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            told = json.loads(done.stdout)
            self.assertEqual((told["problems"], told["warnings"]), ([], []))
            team = {one["key"]: one["value"] for one in told["teams"][0]["settings"]}
            self.assertEqual(team["cluster.node"], name)
            self.asked(services, service, team["cluster.redis_url"], "node-" + name, "/node/engine.secret", "/tls/ca.pem")
            roster = json.loads((self.file(service, "/node/teams") / team["team.name"] / "config.json").read_text("utf-8"))
            workers = [member["name"] for member in roster["members"]][1:]
            self.assertEqual(workers, team["cluster.members." + name])
            said.append({key: team[key] for key in ("team.name", "cluster.id", "cluster.redis_url", "cluster.leaders", "cluster.members.h1", "cluster.members.h2",
                                                  "cluster.members.h3")})
        self.assertEqual(said, said[:1] * 3, "the same on all")

    def test_two_agents(self):
        services = self.prepared("redis")
        self.assertEqual(set(services), {"redis", "ada", "bob"})
        for name in ("ada", "bob"):
            command = services[name]["command"]
            self.assertEqual((command[0], services[name]["image"]), ("mailbox", "inbox-poller"))
            self.assertEqual(command[command.index("--actor") + 1], name)
            root = command[command.index("--root") + 1]
            asked = parse_qs(urlsplit(root).query)
            self.asked(services, services[name], root, asked["user"][0], asked["secret"][0], asked["ca"][0])
            # The command line is one that the program takes: it goes on until it needs what only the container has.
            done = subprocess.run([os.environ["INBOX_POLLER"], *command], env=self.env, capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn(asked["ca"][0], done.stderr)


if __name__ == "__main__":
    unittest.main()
