#!/usr/bin/env python3
"""Checks the directions between crates and where `unsafe` may stand.

Reads `cargo metadata --no-deps` on standard input; the workspace is the current directory.
"""

import json
import os
import re
import sys

from rustscan import Source

# What each crate may depend on directly. Dependencies for tests are free, but see NEVER.
MAY = {
    "platform": set(),
    "locks": {"platform"},
    "model": {"platform"},
    "lockwright": {"platform", "locks"},
    "capi": {"platform", "locks", "lockwright"},
    "statfile": set(),
    "preload": {"platform", "locks", "lockwright", "capi", "statfile"},
    "sim": {"platform"},
    "workloads": {"platform", "locks"},
    "peers": {"platform", "workloads"},
    "lab": {"platform", "locks", "lockwright", "workloads", "peers", "sim", "statfile", "contract"},
    "cli": {"platform", "locks", "lockwright", "workloads", "peers", "sim", "lab", "statfile"},
    "contract": {"platform", "locks", "lockwright", "workloads"},
}
# Not even in tests: the simulated machine knows no lock.
NEVER = {"sim": {"locks", "lockwright", "capi", "preload", "workloads"}}
# May stand in `[dev-dependencies]` only.
TEST_ONLY = {"model"}
# Where `unsafe` may stand: what talks to memory or to C, and contract and model, which are never shipped
# and implement unsafe traits, the former wrongly on purpose. All others forbid it in their roots.
UNSAFE = {"platform", "locks", "lockwright", "capi", "preload", "peers", "contract", "model"}
# And in these files of others, whose roots deny it: the simulated machine vouches for what `Platform`
# asks of an implementation.
UNSAFE_FILES = {"sim": {"src/platform.rs", "tests/machine.rs"}}


def directions(packages, crate_of):
    for p in packages:
        crate = crate_of[p["name"]]
        if crate not in MAY:
            yield f"{crate}: new crate; say in ci/arrows.py what it may depend on"
            continue
        for d in p["dependencies"]:
            other = crate_of.get(d["name"])
            if other is None or other == crate:
                continue
            edge = f"{crate} -> {other}"
            if d["kind"] == "dev":
                if other in NEVER.get(crate, ()):
                    yield f"{edge}: not even in tests"
            elif other in TEST_ONLY:
                yield f"{edge}: {other} is for tests only"
            elif other not in MAY[crate]:
                yield f"{edge}: against the direction of the arrows"


def unsafe_code(packages, crate_of):
    for p in packages:
        crate, root = crate_of[p["name"]], os.path.dirname(p["manifest_path"])
        if crate in UNSAFE:
            continue
        for t in p["targets"]:
            if set(t["kind"]) & {"lib", "rlib", "cdylib", "staticlib", "proc-macro", "bin"}:
                with open(t["src_path"], encoding="utf-8") as f:
                    word = "deny" if crate in UNSAFE_FILES else "forbid"
                    if not re.search(rf"#!\[{word}\([^)]*\bunsafe_code\b", Source("", f.read()).code):
                        yield f"{os.path.relpath(t['src_path'])}: no #![{word}(unsafe_code)]"
        for folder, _, names in sorted(os.walk(root)):
            for name in sorted(names):
                if name.endswith(".rs"):
                    path = os.path.join(folder, name)
                    if os.path.relpath(path, root) in UNSAFE_FILES.get(crate, ()):
                        continue
                    with open(path, encoding="utf-8") as f:
                        source = Source(path, f.read())
                    for m in re.finditer(r"\bunsafe\b", source.code):
                        line = source.line_of(m.start())
                        yield f"{os.path.relpath(path)}:{line}: unsafe outside {', '.join(sorted(UNSAFE))}"


def main():
    packages = json.load(sys.stdin)["packages"]
    crate_of = {p["name"]: os.path.basename(os.path.dirname(p["manifest_path"])) for p in packages}
    complaints = [*directions(packages, crate_of), *unsafe_code(packages, crate_of)]
    for c in complaints:
        print(c)
    print(f"arrows: {len(packages)} crates, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
