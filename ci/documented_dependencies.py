#!/usr/bin/env python3
"""Builds programs that depend on us as the documentation says, word for word.

usage: documented_dependencies.py REPOSITORY DIRECTORY

REPOSITORY is a git repository on this machine, which stands for the one that the documentation names;
programs are made in DIRECTORY. Each ```toml block of the files below is taken, whatever it holds.
"""

import json
import pathlib
import re
import subprocess
import sys
import tomllib

FILES = ["README.md", "docs/migrating.md", "crates/parking_lot/0.12/README.md", "crates/parking_lot/0.13/README.md"]
URL = "https://github.com/lockwright/lockwright"
PACKAGE = '[workspace]\n[package]\nname = "program"\nversion = "0.0.0"\nedition = "2024"\n[lib]\npath = "lib.rs"\n'
# The most packages that a lock file may hold, the program itself among them; both patches at a time.
LOCK_FILE = 13
# For a block that patches: who is patched, as strangers name it.
PATCHED = {
    "0.12": 'parking_lot = "0.12"\n',
    "0.13": 'parking_lot_13 = { package = "parking_lot", version = "0.13" }\n',
}


def blocks():
    for file in FILES:
        for text in re.findall(r"^```toml\n(.*?)^```", pathlib.Path(file).read_text(), re.M | re.S):
            yield file, text


def program(file, text, repository, directory):
    """The manifest and the source of a program with this block, and what it has to be built of."""
    if "[patch" in text:
        versions = [v for v in PATCHED if f'version = "{v}"' in text]
        used = {PATCHED[v].split()[0]: f"{v}.99" for v in versions}
        manifest = PACKAGE + "[dependencies]\n" + "".join(PATCHED[v] for v in versions) + text
        built_of = {("parking_lot", version) for version in used.values()}
    else:
        used = tomllib.loads(text)["dependencies"]
        manifest, built_of = PACKAGE + text, {("lockwright", None)}
    source = "".join(f"pub static {name.upper()}: {name}::Mutex<u8> = {name}::Mutex::new(7);\n" for name in used)
    assert used and (URL in text or "../lockwright/" in text), f"{file}: names nothing of ours:\n{text}"
    manifest = manifest.replace(URL, f"file://{repository}").replace("../lockwright/", f"{repository}/")
    directory.mkdir(parents=True)
    (directory / "Cargo.toml").write_text(manifest)
    (directory / "lib.rs").write_text(source)
    return built_of


def main():
    repository, directory = (pathlib.Path(p).resolve() for p in sys.argv[1:])
    count = 0
    for count, (file, text) in enumerate(blocks(), 1):
        place = directory / str(count)
        built_of = program(file, text, repository, place)
        subprocess.run(["cargo", "check", "-q"], cwd=place, check=True)
        metadata = subprocess.run(["cargo", "metadata", "--format-version", "1"], cwd=place, check=True, capture_output=True)
        ours = [p for p in json.loads(metadata.stdout)["packages"] if str(repository) in p["id"]]
        # U7: what we bring into a user's lock file.
        lock = (place / "Cargo.lock").read_text().count("[[package]]")
        if lock > LOCK_FILE:
            sys.exit(f"{file}: with this text, a lock file holds {lock} packages:\n{text}")
        for name, version in built_of:
            if not any(p["name"] == name and version in (None, p["version"]) for p in ours):
                sys.exit(f"{file}: with this text, {name} {version or ''} is not ours:\n{text}")
    patches = sum("[patch" in text for _, text in blocks())
    if count < 5 or patches < 3:
        sys.exit(f"only {count} blocks, {patches} of them patches, in {', '.join(FILES)}")
    print(f"documented dependencies: {count} programs build, {patches} of them patched")


if __name__ == "__main__":
    main()
