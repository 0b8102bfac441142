"""The compose files of deploy/examples: what they name and mount is there after ./prepare, and the program takes every team file that a
daemon is given. The services of the cluster are started as they are written, without an engine for containers: each with the mounts, the
environment and the command of the file, in a root and a mount namespace of its own, all in one network without the host's.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest
from urllib.parse import parse_qs, urlsplit

from case import ProcessTest
from daemon import LIMIT_S, alone, wait_for

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from client import leave_the_network  # noqa: E402

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
            self.assertEqual(told["problems"], [])
            for warning in told["warnings"]:  # the name is one of the containers' own network
                self.assertRegex(warning, r"cluster\.redis_url: Redis at rediss://redis:6379.* is not reached")
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


# $1: an empty folder for the root; $2: the program; $3: a file for /etc/hosts; then SOURCE TARGET MODE for each mount, --, the command.
IN_A_ROOT = r"""
set -e
root=$1 program=$2 hosts=$3
shift 3
mount -t tmpfs root "$root"
for folder in usr bin sbin lib lib64 etc dev proc; do
  if [ -L /$folder ]; then cp -P /$folder "$root/"; elif [ -d /$folder ]; then mkdir "$root/$folder"; mount --rbind /$folder "$root/$folder"; fi
done
touch "$root/inbox-poller"
mount --bind "$program" "$root/inbox-poller"
mount --bind "$hosts" "$root/etc/hosts"
while [ "$1" != -- ]; do
  if [ "$1" = tmpfs ]; then mkdir -p "$root$2"; mount -t tmpfs none "$root$2"
  else
    if [ -d "$1" ]; then mkdir -p "$root$2"; else mkdir -p "$(dirname "$root$2")"; touch "$root$2"; fi
    mount --bind "$1" "$root$2"
    if [ "$3" = ro ]; then mount -o remount,bind,ro "$root$2"; fi
  fi
  shift 3
done
shift
exec chroot "$root" "$@"
"""


@unittest.skipUnless(shutil.which("redis-server") and shutil.which("unshare"), "redis-server or unshare is not installed")
class Started(Compose):
    test_three_nodes = test_two_agents = None  # tests of the class above

    def setUp(self):
        super().setUp()
        try:
            leave_the_network()
        except OSError as error:
            self.skipTest("no network of its own: %s" % error)
        if subprocess.run([*self.apart(), "true"], capture_output=True).returncode:
            self.skipTest("no mount namespace of its own")

    def apart(self):
        return ["unshare", *(["--user", "--map-root-user"] if os.getuid() else []), "--mount"]

    def command(self, name, words):
        """A command in the container of a service: its mounts, and what `/tmp` keeps for all of its commands."""
        service, mounts = self.services[name], []
        scratch = self.folder / ("tmp-" + name)
        root = self.folder / ("root-" + name)
        for folder in (scratch, root):
            folder.mkdir(exist_ok=True)
        for place in service.get("tmpfs", ()):
            mounts += ["tmpfs", place, "rw"]
        for place, source, writable in reversed(self.mounts(service)):
            mounts += [str(source), place, "rw" if writable else "ro"]
        entry = ["/inbox-poller"] if service["image"] == "inbox-poller" and words[0] != "/inbox-poller" else []
        return [*self.apart(), "sh", "-c", IN_A_ROOT, "sh", str(root), os.path.abspath(os.environ["INBOX_POLLER"]), str(self.hosts),
                *mounts, str(scratch), "/tmp", "rw", "--", *entry, *words]

    def run_in(self, name, *words):
        return subprocess.run(self.command(name, words), env=self.own(name), capture_output=True, text=True, timeout=LIMIT_S)

    def own(self, name):
        return {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", **self.services[name].get("environment", {})}

    def start(self, name):
        command = self.services[name]["command"]
        words = shlex.split(command) if isinstance(command, str) else command
        with open(self.folder / (name + ".log"), "wb") as log:
            process = subprocess.Popen(self.command(name, words), env=self.own(name), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.stops.append(lambda: (process.terminate(), process.wait(LIMIT_S)))
        return process

    def is_healthy(self, name):
        kind, line = self.services[name]["healthcheck"]["test"]
        self.assertEqual(kind, "CMD-SHELL")
        return self.run_in(name, "sh", "-c", line).returncode == 0

    def test_the_cluster_starts_and_its_nodes_see_each_other(self):
        self.services = self.prepared("cluster")
        self.hosts = self.folder / "hosts"
        self.hosts.write_text("127.0.0.1 localhost redis\n")
        self.start("redis")
        wait_for("the Redis is healthy", lambda: self.is_healthy("redis"), pause=0.5)
        for name in ("h1", "h2", "h3"):
            self.assertEqual(self.services[name]["depends_on"], {"redis": {"condition": "service_healthy"}})
            self.start(name)
        told = wait_for("every node sees the others, and one leads", lambda: self.all_seen("h1"), pause=0.5)
        self.assertEqual(sorted(told), ["h1", "h2", "h3"])

    def all_seen(self, name):
        done = self.run_in(name, "/inbox-poller", "nodes", "--json")
        if done.returncode:
            return None
        cluster = json.loads(done.stdout)["teams"][0]["cluster"]
        seen = {one["node"]: one for one in cluster["nodes"]}
        return seen if len(seen) == 3 and all(one["heard_ms"] for one in seen.values()) and cluster["leader"] else None


if __name__ == "__main__":
    unittest.main()
