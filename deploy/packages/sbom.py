#!/usr/bin/env python3
"""What is in the program, as CycloneDX 1.5: sbom.py PROGRAM VERSION [PARTS] > inbox-poller.cdx.json

PARTS holds the unpacked packages of another processor (deploy/packages/arm64-root); without it, the installed ones count. Shared libraries as the loader finds them, header-only libraries and what the static program holds as the build's packages have it.
What the page brings from npm is in its lock file. The same packages give the same bytes: the serial number is a hash of the list, and no time
is written.
"""

import base64
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import uuid

BUILT_IN = ["libboost-json", "libboost[0-9.]*-dev", "libspdlog-dev", "libfmt-dev", "libtomlplusplus-dev", "libcli11-dev", "libxxhash-dev", "libhiredis-dev",
            "libsqlite3-dev", "libssl-dev"]

# What stands inside a package of the page, which names no version of it: found by comparing htm/preact/standalone.module.js with
# the releases of preact (all that 10.5.14 changed is in it, nothing that 10.5.15 did).
INSIDE = {"htm@3.1.1": [("preact", "10.5.14", "MIT")]}


def ask(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def built_in(names):
    return {name for name in names for pattern in BUILT_IN if re.fullmatch(pattern, name)}


def unpacked(program, parts):
    """The same as packages(), of another processor, whose loader does not run here."""
    controls = {path.parents[1].name: path.read_text("utf-8") for path in sorted(pathlib.Path(parts).glob("*/DEBIAN/control"))}
    used, seen, left = built_in(controls), set(), [program]
    while left:
        for library in re.findall(r"\(NEEDED\).*\[(.+)\]", ask("readelf", "-d", left.pop())):
            if library not in seen:
                seen.add(library)
                for path in sorted(pathlib.Path(parts).glob("*/**/" + library)):
                    used.add(path.relative_to(parts).parts[0])
                    left.append(path)
    return {name: tuple(re.search("^%s: (.+)$" % field, controls[name], re.M)[1] for field in ("Version", "Architecture")) for name in sorted(used)}


def packages(program):
    """name -> (version, architecture)"""
    installed = {}
    for line in ask("dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture} ${db:Status-Status}\n").splitlines():
        name, version, architecture, status = line.split()
        if status == "installed":
            installed[name] = (version, architecture)
    used = built_in(installed)
    for path in re.findall(r"=> (/\S+)", ask("ldd", program)):
        for place in (path, path.replace("/lib/", "/usr/lib/", 1), "/usr" + path):
            owner = ask("dpkg-query", "-S", place).split(":")[0].strip()
            if owner in installed:
                used.add(owner)
                break
    return {name: installed[name] for name in sorted(used)}


def page():
    lock = pathlib.Path(__file__).resolve().parents[2] / "poller" / "cli" / "web" / "page" / "package-lock.json"
    for path, of in sorted(json.loads(lock.read_text("utf-8"))["packages"].items()):
        if path:
            name = path.rpartition("node_modules/")[2]
            reference = "pkg:npm/%s@%s" % (name.replace("@", "%40"), of["version"])
            digest = base64.b64decode(of["integrity"].partition("sha512-")[2]).hex()
            yield {"type": "library", "bom-ref": reference, "name": name, "version": of["version"], "purl": reference,
                   "licenses": [{"license": {"id": of["license"]}}], "hashes": [{"alg": "SHA-512", "content": digest}]}
            if name == "htm" and "htm@" + of["version"] not in INSIDE:
                sys.exit("sbom.py: which preact is inside of htm %s?" % of["version"])
            for part, version, license in INSIDE.get("%s@%s" % (name, of["version"]), []):
                reference = "pkg:npm/%s@%s" % (part, version)
                yield {"type": "library", "bom-ref": reference, "name": part, "version": version, "purl": reference,
                       "licenses": [{"license": {"id": license}}], "description": "inside of %s %s" % (name, of["version"])}


def main():
    program, version, *other = sys.argv[1:]
    parts = []
    for name, (of, architecture) in (unpacked(program, *other) if other else packages(program)).items():
        reference = "pkg:deb/debian/%s@%s?arch=%s" % (name, of.replace("+", "%2B").replace(":", "%3A"), architecture)
        parts.append({"type": "library", "bom-ref": reference, "name": name, "version": of, "purl": reference})
    parts += page()
    us = {"type": "application", "bom-ref": "inbox-poller", "name": "inbox-poller", "version": version,
          "licenses": [{"license": {"id": "Apache-2.0"}}],
          "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(open(program, "rb").read()).hexdigest()}]}
    text = json.dumps([us, parts], sort_keys=True)
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
                "serialNumber": "urn:uuid:%s" % uuid.uuid5(uuid.NAMESPACE_URL, text), "metadata": {"component": us}, "components": parts,
                "dependencies": [{"ref": "inbox-poller", "dependsOn": [part["bom-ref"] for part in parts]}]}
    json.dump(document, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
