"""The packages for arm64 in a bare Debian of that processor, which qemu executes: the deb with its libraries, and the static program.

Only in the long form (tests/support/bare_debian.py says what it needs). The kernel must be able to start programs by an interpreter
(binfmt_misc); the test registers qemu there while it runs.
"""

import pathlib
import subprocess
import sys
import unittest

from bare_debian import ROOT, USER, BareDebian

BINFMT = pathlib.Path("/proc/sys/fs/binfmt_misc")
NEWCOMER = ROOT / "tests/support/newcomer.py"


class Arm64(BareDebian):
    architecture = "arm64"

    def setUp(self):
        super().setUp()
        self.here("deploy/install-deps", "arm64")
        if not (BINFMT / "register").exists() and subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", str(BINFMT)]).returncode != 0:
            self.skipTest("needs binfmt_misc in the kernel")
        ours = BINFMT / "qemu-aarch64"
        if not ours.exists():
            (BINFMT / "register").write_text(pathlib.Path("/usr/lib/binfmt.d/qemu-aarch64.conf").read_text("ascii").strip())
            self.stops.append(lambda: ours.write_text("-1"))
        self.make_root()

    def newcomer(self, program):
        said = self.here(sys.executable, "-B", NEWCOMER, self.ann(program), self.home, "--home", "/home/ann", "--owner", USER).stdout
        self.assertEqual(said, (ROOT / "tests/package/newcomer.txt").read_text("utf-8"))

    def test_the_deb_brings_its_libraries_and_leads_to_a_first_answer(self):
        self.inside("apt-get", "update", "-q")
        self.install(self.deb)
        self.assertEqual(self.inside("dpkg", "--print-architecture").stdout.strip(), "arm64")
        self.newcomer("/usr/bin/inbox-poller")

    def test_the_static_program_needs_nothing_and_leads_there_too(self):
        archive, = self.out.glob("*.tar.gz")
        self.here("tar", "-xzf", archive, "-C", self.root / "opt")
        self.newcomer("/opt/%s/bin/inbox-poller" % archive.name[:-len(".tar.gz")])


if __name__ == "__main__":
    unittest.main()
