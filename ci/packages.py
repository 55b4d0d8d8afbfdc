#!/usr/bin/env python3
"""Checks that what a package of ours holds is what its reader needs.

Reads `cargo metadata --no-deps` on standard input; `cargo package --list` is asked of each package
that is published, of the command line (which is installed from the repository) and of the packages
whose manifests are named as arguments. Prints, for the caller to build, a line
`package<TAB>features` for each documentation that features change.
"""

import json
import subprocess
import sys

FILES = {"README.md", "LICENSE-MIT", "LICENSE-APACHE"}
# Features that exclude each other: a compile error says so.
EXCLUDE = {"send_guard", "deadlock_detection"}
# Not published, and read by strangers all the same.
ALSO = {"lockwright-lab", "lockwright-cli", "parking_lot"}


def faults(package, published):
    name, manifest = package["name"], package["manifest_path"]
    listed = subprocess.run(
        ["cargo", "package", "--list", "--allow-dirty", "--manifest-path", manifest],
        check=True, capture_output=True, text=True,
    ).stdout.split()
    for file in sorted(FILES - set(listed)):
        yield f"{name}: the package holds no {file}"
    if not package["description"] or not package["license"] or not package["repository"]:
        yield f"{name}: description, license or repository is missing"
    docs = (package["metadata"] or {}).get("docs", {}).get("rs")
    if docs is None:
        yield f"{name}: no [package.metadata.docs.rs]"
        return
    have = set(package["features"]) - {"default"}
    shown = have if docs.get("all-features") else set(docs.get("features", ()))
    if EXCLUDE <= shown:
        yield f"{name}: the documentation site would build {' and '.join(sorted(EXCLUDE))} together"
    for feature in sorted(shown - have):
        yield f"{name}: the documentation site would ask for '{feature}', which is no feature"
    for feature in sorted(have - shown - EXCLUDE - {"nightly", "hardware-lock-elision", "peers-cxx"}):
        yield f"{name}: the documentation site would leave out '{feature}'"
    for dependency in package["dependencies"]:
        if dependency["kind"] != "dev" and dependency.get("path") and name in published:
            if dependency["name"] not in published:
                yield f"{name}: is published, and {dependency['name']}, which it needs, is not"


def main():
    packages = json.load(sys.stdin)["packages"]
    for manifest in sys.argv[1:]:
        command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--manifest-path", manifest]
        packages += json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["packages"]
    published = {p["name"] for p in packages if p["publish"] != []}
    found = []
    for package in packages:
        if package["name"] in published | ALSO:
            found += faults(package, published)
            docs = (package["metadata"] or {}).get("docs", {}).get("rs", {})
            features = list(package["features"]) if docs.get("all-features") else docs.get("features", [])
            if features and package["name"] != "parking_lot":
                print(package["name"], ",".join(f for f in features if f != "default"), sep="\t")
    for fault in found:
        print(fault, file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
