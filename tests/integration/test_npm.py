"""The packages that `deploy/package npm` makes, installed by npm from their files without a network, with a stand-in of a few bytes for the
static program.
"""

import json
import os
import pathlib
import platform
import shutil
import subprocess
import tarfile
import tempfile
import unittest

from case import ProcessTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPU = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
OURS = "inbox-poller-linux-" + CPU


@unittest.skipUnless(shutil.which("npm") and shutil.which("node"), "npm is not installed; run deploy/install-deps test")
class Npm(ProcessTest):
    @classmethod
    def setUpClass(cls):
        made = pathlib.Path(tempfile.mkdtemp(prefix="ip-"))
        cls.addClassCleanup(shutil.rmtree, made)
        program = made / "stand-in"
        program.write_text('#!/bin/sh\nexec "%s" "$@"\n' % os.path.abspath(os.environ["INBOX_POLLER"]))
        program.chmod(0o755)
        cls.out = made / "out"
        subprocess.run([ROOT / "deploy/package", "npm", "--program", program, "--static", program, "--out", cls.out], check=True, capture_output=True,
                       env={**os.environ, "PACKAGE_VERSION": "1.2.3"}, timeout=600)
        cls.main, cls.own = cls.out / "inbox-poller-1.2.3.tgz", cls.out / ("%s-1.2.3.tgz" % OURS)

    def setUp(self):
        super().setUp()
        self.prefix = self.folder / "prefix"

    def here(self, *command, expect=0, cwd=None, **env):
        own = {"HOME": str(self.folder), "npm_config_cache": str(self.folder / "cache"), "npm_config_prefix": str(self.folder / "prefix"),
               "npm_config_offline": "true", "npm_config_audit": "false", "npm_config_fund": "false", "npm_config_update_notifier": "false"}
        done = subprocess.run([str(word) for word in command], cwd=cwd or self.folder, env={**os.environ, **own, **env}, capture_output=True, text=True,
                              timeout=600)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def manifest(self, path):
        with tarfile.open(path) as archive:
            self.assertEqual({(one.uid, one.gid) for one in archive}, {(0, 0)})
            return json.load(archive.extractfile("package/package.json"))

    def test_the_manifests_say_what_fits_and_run_no_script(self):
        main, own = self.manifest(self.main), self.manifest(self.own)
        for one in (main, own):
            self.assertEqual((one["version"], one["os"], one.get("scripts")), ("1.2.3", ["linux"], None))
        self.assertEqual(main["optionalDependencies"], {"inbox-poller-linux-arm64": "1.2.3", "inbox-poller-linux-x64": "1.2.3"})
        self.assertEqual((own["name"], own["cpu"], own["libc"]), (OURS, [CPU], ["glibc", "musl"]))
        sums = (self.out / "SHA256SUMS").read_text()
        self.assertIn(self.main.name, sums)
        self.assertIn(self.own.name, sums)

    def test_a_global_installation_starts_the_program_and_holds_the_plugin(self):
        self.here("npm", "install", "-g", self.main, self.own)
        program = self.prefix / "bin" / "inbox-poller"
        self.assertRegex(self.here(program, "--version").stdout, r"^inbox-poller \d")
        self.here(program, "status", "--socket", self.folder / "no.sock", expect=3)
        package = self.prefix / "lib" / "node_modules" / "inbox-poller"
        market = json.loads((package / ".claude-plugin" / "marketplace.json").read_text())
        for plugin in market["plugins"]:
            self.assertTrue((package / plugin["source"] / ".claude-plugin" / "plugin.json").exists())
        script = package / market["plugins"][0]["source"] / "bin" / "inbox-poller-plugin"
        self.assertRegex(self.here(script, "--version", PATH="/usr/bin:/bin").stdout, r"^inbox-poller \d")  # found by npm_config_prefix

    def test_npx_and_a_projects_installation_start_it_too(self):
        project = self.folder / "project"
        project.mkdir()
        told = self.here("npx", "--yes", "--package", self.main, "--package", self.own, "inbox-poller", "--version", cwd=project)
        self.assertRegex(told.stdout, r"^inbox-poller \d")
        self.assertFalse((project / "node_modules").exists())
        self.here("npm", "install", self.main, self.own, cwd=project)
        self.assertRegex(self.here("npx", "inbox-poller", "--version", cwd=project).stdout, r"^inbox-poller \d")

    def test_without_the_package_of_the_platform_the_launcher_names_it(self):
        self.here("npm", "install", "-g", "--omit=optional", self.main)
        told = self.here(self.prefix / "bin" / "inbox-poller", "--version", expect=1)
        self.assertEqual((told.stdout, told.stderr.count("\n")), ("", 1))
        self.assertIn("the package %s is missing" % OURS, told.stderr)


if __name__ == "__main__":
    unittest.main()
