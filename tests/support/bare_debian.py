"""A bare Debian made by debootstrap, with the packages that deploy/package builds at hand, and a user ann; booted, if a test needs it, by its
own systemd in namespaces of its own.

Only in the long form (LONG=1): the release program is built for it. Root, debootstrap and a mirror are needed; PACKAGE_OUT names packages that
were built already, PACKAGE_BARE a root that debootstrap made.
"""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from case import ProcessTest
from daemon import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
USER = 4711

# Namespaces of everything but users, an empty /run and /tmp, the cgroups of our own subtree; then systemd as process 1, as containers have it.
BOOT = """
set -e
mount --make-rprivate /
mount --rbind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t sysfs sysfs "$1/sys"
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
mount -t tmpfs tmpfs "$1/run"
mount -t tmpfs tmpfs "$1/tmp"
mount -t devtmpfs devtmpfs "$1/dev"
mount -t devpts devpts "$1/dev/pts"
ip link set lo up
cd "$1"
pivot_root . .  # not chroot: the kernel lets nobody in one make the user namespaces that units ask for
umount -l .
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --log-target=console
"""


@unittest.skipUnless(os.environ.get("LONG"), "a part of the long form: deploy/test --long --only package")
class BareDebian(ProcessTest):
    architecture = ""  # of this machine, or "arm64"

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
        suffix = self.architecture and "-" + self.architecture
        self.bare = pathlib.Path(os.environ.get("PACKAGE_BARE") or ROOT / "build" / "long" / ("bare" + suffix))
        self.out = pathlib.Path(os.environ.get("PACKAGE_OUT") or ROOT / "build" / ("package" + suffix) / "out")
        if not os.environ.get("PACKAGE_OUT"):
            self.here("deploy/package", *(["--" + self.architecture] if self.architecture else []))
        self.deb, = self.out.glob("inbox-poller_*.deb")
        self.version = self.deb.name.split("_")[1]

    def make_root(self):
        made = self.bare
        if not (made / "bin" / "sh").exists():
            site = self.here("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages").stdout.split()[0]
            release = re.search(r"VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text())[1]
            made.parent.mkdir(parents=True, exist_ok=True)
            self.here("debootstrap", "--variant=minbase", *(["--arch=" + self.architecture] if self.architecture else []), release, made, site)
        self.root = self.folder / "root"
        self.here("cp", "-a", made, self.root)
        shutil.copy("/etc/resolv.conf", self.root / "etc" / "resolv.conf")
        self.here("mount", "-t", "proc", "proc", self.root / "proc")
        self.stops.append(lambda: subprocess.run(["umount", "-l", str(self.root / "proc")]))
        self.inside("useradd", "-m", "-u", USER, "ann")
        self.home = self.root / "home" / "ann"
        self.folder.chmod(0o711)  # a test may write as her

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

    def boot(self):
        """Its systemd runs as process 1, until the test ends."""
        self.inside("apt-get", "update", "-q")
        self.inside("apt-get", "install", "-y", "--no-install-recommends", "systemd", "systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd")
        with open(self.folder / "console", "ab") as console:
            outer = subprocess.Popen(["unshare", "--pid", "--mount", "--uts", "--ipc", "--net", "--cgroup", "--fork", "--kill-child", "sh", "-c", BOOT,
                                      "sh", str(self.root)], stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        self.stops.append(lambda: (outer.kill(), outer.wait()))
        children = pathlib.Path("/proc/%d/task/%d/children" % (outer.pid, outer.pid))
        self.first = wait_for("process 1", lambda: children.read_text().split())[0]
        wait_for("systemd is up", lambda: self.booted("systemctl", "is-system-running", expect=None).stdout.strip() == "running")

    def booted(self, *command, **options):
        return self.here("nsenter", "-t", self.first, "-m", "-p", "-u", "-i", "-n", "-C", "env", "-i",
                         "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", *command, **options)

    def as_ann(self, *command, **options):
        """In her session, which lingers."""
        return self.booted("setpriv", "--reuid", str(USER), "--regid", str(USER), "--init-groups", "env", "HOME=/home/ann", "USER=ann", "NO_COLOR=1",
                           "XDG_RUNTIME_DIR=/run/user/%d" % USER, *command, **options)
