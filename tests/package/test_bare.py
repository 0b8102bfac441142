"""The packages in a bare Debian: what deploy/package builds, installed where nothing but the base system is, by somebody who has never seen
it. Upgrade beside a daemon that runs, the way back refused, removal, purge; the same bytes from another folder.

Only in the long form (tests/support/bare_debian.py says what it needs); PACKAGE_ONCE=1 leaves the second build out.
"""

import os
import pathlib
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest

from bare_debian import ROOT, USER, BareDebian
from daemon import wait_for


class NameServer:
    """Knows one name, which is this machine."""

    def __init__(self, name):
        self.name, self.asked = name, set()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.77", 53))
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            query, peer = self.socket.recvfrom(512)
            if not query:
                return
            end, labels = 12, []
            while query[end]:
                labels.append(query[end + 1:end + 1 + query[end]].decode())
                end += query[end] + 1
            self.asked.add(".".join(labels))
            question, is_ours = query[12:end + 5], query[end + 1:end + 3] == b"\0\1" and labels == self.name.split(".")
            answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1" if is_ours else b""
            self.socket.sendto(query[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_ours else b"\0\0") + b"\0\0\0\0" + question + answer, peer)

    def stop(self):
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("127.0.0.77", 53))
        self.thread.join()
        self.socket.close()


class Bare(BareDebian):
    def test_a_newcomer_upgrade_downgrade_removal_and_purge(self):
        self.make_root()
        older = self.folder / "older"
        program = next(path for path in (ROOT / "build/package/inbox-poller", pathlib.Path(os.environ["INBOX_POLLER"])) if path.exists())
        self.here("deploy/package", "--program", program, "--out", older, "deb", PACKAGE_VERSION="0.0.1", LINTIAN="no")
        self.inside("apt-get", "update", "-q")
        began = time.monotonic()  # clock: a figure for the reader, compared with nothing
        self.install(next(older.glob("*.deb")))
        installed = time.monotonic() - began  # clock: a figure for the reader, compared with nothing
        self.assertIn("inbox-poller", self.inside("inbox-poller", "--version").stdout)
        done = self.here(sys.executable, "-B", ROOT / "tests/support/newcomer.py", self.ann(), self.home, "--home", "/home/ann", "--owner", USER)
        print("figures: from the deb to the first answer %.1f s: %.1f s apt with what it depends on, the rest the newcomer" % (
            time.monotonic() - began, installed))  # clock: a figure for the reader, compared with nothing
        kept = (ROOT / "tests/package/newcomer.txt").read_text("utf-8")
        self.assertEqual(done.stdout, kept, "what a newcomer sees has changed: tests/package/newcomer.txt")
        self.upgrade()
        self.go_back(next(older.glob("*.deb")))
        self.go()

    def upgrade(self):
        ann = self.ann()
        with open(self.folder / "log", "ab") as log:
            daemon = subprocess.Popen([ann, "run"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.stops.append(lambda: (daemon.poll() is None and daemon.kill(), daemon.wait()))
        wait_for("it serves", lambda: self.here(ann, "status", expect=None).returncode == 0, 60)
        before = self.here(ann, "decisions").stdout
        said = self.install(self.deb)
        self.assertIn("daemons that run go on as 0.0.1", said.stdout)
        self.here(ann, "status")
        daemon.terminate()
        self.assertEqual(daemon.wait(60), 0)
        with open(self.folder / "log", "ab") as log:
            again = subprocess.Popen([ann, "run"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.stops.append(lambda: (again.poll() is None and again.kill(), again.wait()))
        wait_for("the new one serves", lambda: self.here(ann, "status", expect=None).returncode == 0, 60)
        self.assertEqual(self.here(ann, "decisions").stdout.split()[-3:], before.split()[-3:])
        again.terminate()
        self.assertEqual(again.wait(60), 0)

    def go_back(self, older):
        shutil.copy(older, self.root / "root")
        refused = self.inside("dpkg", "-i", "/root/" + older.name, expect=None)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("0.0.1 is older than the %s that is installed" % self.version, refused.stderr)
        self.assertIn(self.version, self.inside("dpkg-query", "-W", "inbox-poller").stdout)
        self.inside("inbox-poller", "--version")

    def go(self):
        ledger = self.home / ".local" / "state" / "inbox-poller" / "ledger.sqlite3"
        self.assertTrue(ledger.exists())
        files = self.inside("dpkg", "-L", "inbox-poller").stdout.split()
        self.inside("apt-get", "remove", "-y", "inbox-poller")
        self.assertEqual([path for path in files if "inbox-poller" in path and os.path.lexists(str(self.root) + path)], [])
        said = self.inside("apt-get", "purge", "-y", "inbox-poller").stdout
        self.assertIn("stay in each home", said)
        self.assertTrue(ledger.exists())

    def test_the_static_program_needs_nothing(self):
        self.make_root()
        archive, = self.out.glob("*.tar.gz")
        self.here("tar", "-xzf", archive, "-C", self.root / "opt")
        folder = archive.name[:-len(".tar.gz")]
        self.assertIn("not a dynamic executable", self.here("ldd", self.root / "opt" / folder / "bin" / "inbox-poller", expect=None).stderr)
        self.here(sys.executable, "-B", ROOT / "tests/support/newcomer.py", self.ann("/opt/%s/bin/inbox-poller" % folder), self.home, "--home",
                  "/home/ann", "--owner", USER)

    def test_the_static_program_looks_up_names_where_there_is_no_library(self):
        archive, = self.out.glob("*.tar.gz")
        root = self.folder / "nothing"
        (root / "etc").mkdir(parents=True)
        self.here("tar", "-xzf", archive, "-C", root, "--strip-components=2", archive.name[:-len(".tar.gz")] + "/bin/inbox-poller")
        (root / "etc/hosts").write_text("127.0.0.1 hosts.test\n")
        (root / "etc/resolv.conf").write_text("nameserver 127.0.0.77\n")
        (root / "etc/nsswitch.conf").write_text("hosts: files mdns4_minimal resolve dns\n")  # the middle ones need a library
        self.folder.chmod(0o711)
        engine, server = socket.create_server(("127.0.0.1", 0)), NameServer("dns.test")
        self.stops += [engine.close, server.stop]
        for host in ("hosts.test", "dns.test", "127.0.0.1"):
            with self.subTest(host):
                address = "redis://%s:%d#team" % (host, engine.getsockname()[1])
                requests = subprocess.Popen(["chroot", "--userspec=%d:%d" % (USER, USER), str(root), "/inbox-poller", "mailbox", "inbox", "--root", address,
                                         "--actor", "ada"], env={"PATH": os.environ["PATH"]}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.stops.append(lambda requests=requests: (requests.poll() is None and requests.kill(), requests.wait()))
                wait_for("it has found the engine", lambda: select.select([engine], [], [], 0)[0])
                engine.accept()[0].close()
                requests.kill()
        self.assertEqual(server.asked, {"dns.test"})

    def test_the_image_runs(self):
        if not shutil.which("buildah"):
            self.skipTest("buildah is not installed")
        archive, = self.out.glob("*.oci.tar")
        image = ["buildah", "--storage-driver", "vfs", "--root", self.folder / "images", "--runroot", self.folder / "run"]
        box = self.here(*image, "from", "oci-archive:%s" % archive).stdout.strip()
        said = self.here(*image, "run", "--isolation", "chroot", box, "/inbox-poller", "--version").stdout
        self.assertIn("inbox-poller " + self.version, said)
        self.assertIn("65532", self.here(*image, "inspect", box).stdout)

    def test_another_folder_gives_the_same_bytes(self):
        if os.environ.get("PACKAGE_ONCE"):
            self.skipTest("PACKAGE_ONCE")
        other = self.folder / "elsewhere" / "checkout"
        self.here("git", "clone", "-q", "--depth", "1", "file://%s" % ROOT, other)
        self.here(other / "deploy" / "package", "deb", "tar", CCACHE_DISABLE="1", LINTIAN="no")
        for pattern in ("*.deb", "*.tar.gz"):
            ours, = self.out.glob(pattern)
            theirs, = (other / "build/package/out").glob(pattern)
            self.assertEqual(ours.read_bytes(), theirs.read_bytes(), ours.name)


if __name__ == "__main__":
    unittest.main()
