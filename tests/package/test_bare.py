"""The packages in a bare Debian: what deploy/package builds, installed where nothing but the base system is, by somebody who has never seen
it. Upgrade beside a daemon that runs, the way back refused, removal, purge; the same bytes from another folder.

Only in the long form (LONG=1): it builds the release program twice. Root, debootstrap and a mirror are needed; PACKAGE_OUT names packages that
were built already, PACKAGE_BARE a root that debootstrap made, and PACKAGE_ONCE=1 leaves the second build out.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

from case import ProcessTest
from daemon import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
USER = 4711


@unittest.skipUnless(os.environ.get("LONG"), "a part of the long form: deploy/test --long --only package")
class Bare(ProcessTest):
    def here(self, *command, expect=0, seconds=3600, **env):
        done = subprocess.run([str(word) for word in command], cwd=ROOT, env=dict(os.environ, **env), capture_output=True, text=True,
                              timeout=seconds)
        if expect is not None:
            self.assertEqual(done.returncode, expect, done.stdout[-3000:] + done.stderr[-3000:])
        return done

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not shutil.which("debootstrap"):
            self.skipTest("needs root and debootstrap (deploy/install-deps bare)")
        self.out = pathlib.Path(os.environ.get("PACKAGE_OUT") or ROOT / "build" / "package" / "out")
        if not os.environ.get("PACKAGE_OUT"):
            self.here("deploy/package")
        self.deb, = self.out.glob("inbox-poller_*.deb")
        self.version = self.deb.name.split("_")[1]

    def make_root(self):
        made = pathlib.Path(os.environ.get("PACKAGE_BARE") or ROOT / "build" / "long" / "bare")
        if not (made / "bin" / "sh").exists():
            site = self.here("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages").stdout.split()[0]
            release = re.search(r"VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text())[1]
            made.parent.mkdir(parents=True, exist_ok=True)
            self.here("debootstrap", "--variant=minbase", release, made, site)
        self.root = self.folder / "root"
        self.here("cp", "-a", made, self.root)
        shutil.copy("/etc/resolv.conf", self.root / "etc" / "resolv.conf")
        self.here("mount", "-t", "proc", "proc", self.root / "proc")
        self.stops.append(lambda: subprocess.run(["umount", "-l", str(self.root / "proc")]))
        self.inside("useradd", "-m", "-u", USER, "ann")
        self.home = self.root / "home" / "ann"

    def inside(self, *command, **options):
        return self.here("chroot", self.root, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C",
                         *command, **options)

    def ann(self, program="/usr/bin/inbox-poller"):
        """The program as her shell would start it."""
        path = self.folder / "as-ann"
        path.write_text('#!/bin/sh\nexec /usr/sbin/chroot --userspec=%d:%d "%s" /usr/bin/env -i HOME=/home/ann USER=ann TERM=dumb LC_ALL=C.UTF-8 NO_COLOR=1 '
                        'PATH=/usr/bin:/bin %s "$@"\n' % (USER, USER, self.root, program))
        path.chmod(0o700)
        return path

    def install(self, deb, expect=0):
        shutil.copy(deb, self.root / "root")
        return self.inside("apt-get", "install", "-y", "--no-install-recommends", "/root/" + deb.name, expect=expect)

    def test_a_newcomer_upgrade_downgrade_removal_and_purge(self):
        self.make_root()
        older = self.folder / "older"
        program = next(path for path in (ROOT / "build/package/inbox-poller", pathlib.Path(os.environ["INBOX_POLLER"])) if path.exists())
        self.here("deploy/package", "--program", program, "--out", older, "deb", PACKAGE_VERSION="0.0.1", LINTIAN="no")
        self.inside("apt-get", "update", "-q")
        began = time.monotonic()
        self.install(next(older.glob("*.deb")))
        installed = time.monotonic() - began
        self.assertIn("inbox-poller", self.inside("inbox-poller", "--version").stdout)
        done = self.here(sys.executable, "-B", ROOT / "tests/support/newcomer.py", self.ann(), self.home, "--home", "/home/ann", "--owner", USER)
        print("figures: from the deb to the first answer %.1f s: %.1f s apt with what it depends on, the rest the newcomer" % (
            time.monotonic() - began, installed))
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
