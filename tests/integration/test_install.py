"""What an installation consists of, with a stand-in of a few bytes that hands everything on to the program just built: files and their
places, the control file of the deb and what its scripts say, units, pages, completions. A whole package in a bare Debian: package/.
"""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from case import ProcessTest
from daemon import LIMIT_S

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "deploy" / "packages"


class Install(ProcessTest):
    def setUp(self):
        super().setUp()
        self.program = self.folder / "bin" / "inbox-poller"
        self.program.parent.mkdir()
        self.program.write_text('#!/bin/sh\nexec "%s" "$@"\n' % os.path.abspath(os.environ["INBOX_POLLER"]))
        self.program.chmod(0o755)

    def run_here(self, *command, expect=0, **env):
        done = subprocess.run([str(word) for word in command], cwd=ROOT, env=dict(os.environ, **env), capture_output=True, text=True, timeout=LIMIT_S)
        if expect is not None:
            self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def staged(self):
        self.run_here("cmake", "-DPROGRAM=%s" % self.program, "-DPREFIX=/usr", "-DSOURCE=%s" % ROOT, "-P", "cmake/stage.cmake",
                      DESTDIR=str(self.folder / "stage"))
        return self.folder / "stage" / "usr"

    def test_everything_is_in_its_place(self):
        usr = self.staged()
        have = {path.relative_to(usr).as_posix() for path in usr.rglob("*") if path.is_file()}
        wanted = {"bin/inbox-poller", "lib/systemd/user/inbox-poller.service", "lib/systemd/user/inbox-poller-folder.service",
                  "share/man/man1/inbox-poller.1", "share/man/man1/inbox-poller-approve.1", "share/man/man5/inbox-poller.toml.5",
                  "share/bash-completion/completions/inbox-poller", "share/zsh/vendor-completions/_inbox-poller",
                  "share/fish/vendor_completions.d/inbox-poller.fish", "share/doc/inbox-poller/README.md",
                  "share/doc/inbox-poller/docs/concepts.md", "share/doc/inbox-poller/docs/pictures/demo.svg",
                  "share/doc/inbox-poller/examples/interceptor.toml", "share/doc/inbox-poller/examples/metrics/rules.yml",
                  "share/inbox-poller/.claude-plugin/marketplace.json",
                  "share/inbox-poller/deploy/claude-code/plugin/.claude-plugin/plugin.json"}
        self.assertEqual(wanted - have, set())
        self.assertEqual([path for path in have if "/dev/" in path or "/adr/" in path], [])
        plugin = usr / "share/inbox-poller/deploy/claude-code/plugin/bin/inbox-poller-plugin"
        self.assertTrue(os.access(plugin, os.X_OK), plugin)
        for shell, place in (("bash", "bash-completion/completions/inbox-poller"), ("fish", "fish/vendor_completions.d/inbox-poller.fish")):
            self.assertEqual((usr / "share" / place).read_text(), self.run_here(self.program, "completion", shell).stdout)
        commands = {path.name for path in (usr / "share" / "man" / "man1").iterdir()}
        self.assertGreater(len(commands), 50)
        self.page(usr / "share" / "man" / "man5" / "inbox-poller.toml.5")
        self.links(usr)
        self.units(usr)

    def links(self, usr):
        """What an installed document links to is installed, and nothing else was changed in it."""
        doc, link, good = usr / "share" / "doc" / "inbox-poller", r"\[([^]]*)\]\(([^)\s]+)\)", 0
        for path in doc.rglob("*.md"):
            text = path.read_text("utf-8")
            for _, target in re.findall(link, text):
                file = target.partition("#")[0]
                if not re.match(r"\w+:", target) and file:
                    self.assertTrue((path.parent / file).exists(), "%s: %s" % (path.name, target))
                    good += 1
            self.assertEqual(re.sub(link, r"\1", text), re.sub(link, r"\1", (ROOT / path.relative_to(doc)).read_text("utf-8")), path.name)
        self.assertGreater(good, 100)
        self.assertIn("(../../../../../lib/systemd/user/inbox-poller.service)", (doc / "docs" / "how-to" / "run-as-a-service.md").read_text("utf-8"))

    def page(self, path):
        """inbox-poller.toml(5) has every key of the document, and roff finds nothing wrong with it."""
        text = path.read_text("utf-8").replace("\\-", "-")
        keys = re.findall(r"^\| `([a-z_.]+)` \|", (ROOT / "docs" / "reference" / "configuration.md").read_text("utf-8"), re.M)
        self.assertGreater(len(keys), 60)
        self.assertEqual([key for key in keys if "\\fB%s\\fR" % key not in text], [])
        self.assertNotIn("](", text)
        if shutil.which("groff"):
            done = self.run_here("groff", "-Kutf8", "-man", "-Tutf8", "-ww", "-z", path)
            self.assertEqual(done.stderr, "")

    def units(self, usr):
        folder = usr / "lib" / "systemd" / "user"
        text = (folder / "inbox-poller.service").read_text("utf-8")
        self.assertIn("\nExecStart=/usr/bin/inbox-poller run", text)
        self.assertNotIn(".local/bin", text)
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        for path in folder.glob("*.service"):  # as it would be, with what it starts where it is
            path.write_text(path.read_text("utf-8").replace("/usr/bin/", str(usr / "bin") + "/").replace("/usr/lib/", str(usr / "lib") + "/"), "utf-8")
        for path in folder.glob("*.service"):
            said = self.run_here("systemd-analyze", "--no-pager", "verify", "--user", "--man=no", path, XDG_RUNTIME_DIR=str(self.folder))
            self.assertEqual(said.stderr, "", path.name)
            if path.name in ("inbox-poller.service", "inbox-poller-folder.service"):
                self.run_here("systemd-analyze", "--no-pager", "security", "--offline=true", "--threshold=20", path)

    def packed(self, version, *formats):
        out = self.folder / version
        self.run_here("deploy/package", "--program", self.program, "--out", out, *formats, PACKAGE_VERSION=version, LINTIAN="no",
                      SOURCE_DATE_EPOCH="1700000000")
        return out

    @unittest.skipUnless(shutil.which("dpkg-deb") and shutil.which("cpack"), "dpkg-deb or cpack is not installed")
    def test_the_deb_says_what_it_is_and_refuses_to_go_back(self):
        out = self.packed("0.9.0", "deb", "sbom", "formula")
        deb, = out.glob("*.deb")
        control = self.run_here("dpkg-deb", "-f", deb).stdout
        for line in ("Package: inbox-poller", "Version: 0.9.0", "Recommends: tmux", "Description: leader's side of a team of coding agents"):
            self.assertIn(line, control)
        self.run_here("dpkg-deb", "-R", deb, self.folder / "deb")
        root = self.folder / "deb"
        doc = root / "usr" / "share" / "doc" / "inbox-poller"
        self.assertRegex(gzip.decompress((doc / "changelog.gz").read_bytes()).decode(), r"^inbox-poller \(0\.9\.0\) ")
        self.assertIn("Apache-2.0", (doc / "copyright").read_text())
        self.assertIn("](../../NEWS.gz)", (doc / "docs" / "how-to" / "upgrade-back-up-remove.md").read_text("utf-8"))
        self.assertTrue((root / "usr" / "share" / "man" / "man5" / "inbox-poller.toml.5.gz").is_file())
        self.run_here("md5sum", "-c", "--quiet", "DEBIAN/md5sums", expect=None)
        sums = (root / "DEBIAN" / "md5sums").read_text()
        self.assertIn("  usr/bin/inbox-poller\n", sums)
        script = root / "DEBIAN" / "preinst"
        self.run_here("sh", script, "install")
        self.run_here("sh", script, "upgrade", "0.8.0")
        refused = self.run_here("sh", script, "upgrade", "1.0.0", expect=1).stderr
        self.assertIn("0.9.0 is older than the 1.0.0 that is installed", refused)
        self.assertIn("restart inbox-poller", self.run_here("sh", root / "DEBIAN" / "postinst", "configure", "0.8.0").stdout)
        self.assertEqual(self.run_here("sh", root / "DEBIAN" / "postinst", "configure").stdout, "")
        self.assertIn("stay in each home", self.run_here("sh", root / "DEBIAN" / "postrm", "purge").stdout)
        document = json.loads(next(out.glob("inbox-poller-0.9.0-*.cdx.json")).read_text())
        self.assertEqual((document["bomFormat"], document["specVersion"]), ("CycloneDX", "1.5"))
        names = {part["name"] for part in document["components"]}
        self.assertTrue(any(name.startswith("libsqlite3") for name in names), names)
        self.assertLess({"htm", "preact", "uplot"}, names, "what the page brings along")
        references = [part["bom-ref"] for part in document["components"]]
        self.assertEqual(sorted(set(references)), sorted(references))
        self.assertEqual(document["dependencies"][0]["dependsOn"], references)
        again = self.folder / "again"
        self.run_here("deploy/package", "--program", self.program, "--out", again, "deb", PACKAGE_VERSION="0.9.0", LINTIAN="no",
                      SOURCE_DATE_EPOCH="1700000000")
        self.assertEqual(next(again.glob("*.deb")).read_bytes(), deb.read_bytes(), "the same bytes again")

    def test_the_formula_asks_for_what_cmake_asks_for(self):
        formula = (PACKAGES / "inbox-poller.rb").read_text()
        cmake = (ROOT / "cmake" / "Dependencies.cmake").read_text()
        found = {name.lower() for name in re.findall(r"find_package\((\w+)", cmake)} - {"threads"}
        brewed = {"boost": "boost", "spdlog": "spdlog", "tomlplusplus": "tomlplusplus", "cli11": "cli11", "sqlite3": "sqlite", "openssl": "openssl@3"}
        self.assertEqual([name for name in found if 'depends_on "%s"' % brewed[name] not in formula], [])
        for what in ("service do", "test do", "generate_completions_from_executable"):
            self.assertIn(what, formula)
        if shutil.which("ruby"):
            self.run_here("ruby", "-c", PACKAGES / "inbox-poller.rb")


if __name__ == "__main__":
    unittest.main()
