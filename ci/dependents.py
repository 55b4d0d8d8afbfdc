#!/usr/bin/env python3
"""Runs the tests of crates that use parking_lot, as they are and with ours in its place.

    dependents.py [crate ..]

Each crate is fetched from the registry, and its tests run twice: with the real parking_lot, and with
`[patch.crates-io]` pointing to crates/parking_lot. A test that passes with the real one and does not
with ours, also when both are tried again, fails the run. Without names: all. Needs the environment
variables SCRATCH, a directory, and CARGO_TARGET_DIR.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS = ROOT / "crates/parking_lot"
SCRATCH = pathlib.Path(os.environ.get("SCRATCH", "."))
# Seconds for the tests of one crate, once built, and how often tests that differ are tried again.
LIMIT = 900
AGAIN = 3


class Crate:
    def __init__(self, name, version, options, edits=()):
        self.name, self.version, self.options = name, version, options.split()
        self.edits = dict(edits)


# Its shards have a raw lock of their own over parking_lot_core; so it may have ours.
DASHMAP_LOCK = """
pub use parking_lot::RawRwLock;
pub type RwLock<T> = lock_api::RwLock<RawRwLock, T>;
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;
"""

# Versions are fixed, so that a run says something of ours alone.
CRATES = [
    Crate("tokio", "1.54.1", "--features full,test-util --lib --tests"),
    # The last version whose shards are parking_lot's, and today's.
    Crate("dashmap", "5.1.0", "--lib"),
    Crate("dashmap", "6.2.1", "--lib", {"src/lock.rs": DASHMAP_LOCK}),
    Crate("prometheus", "0.14.0", "--lib"),
    Crate("r2d2", "0.8.10", "--lib"),
    Crate("scheduled-thread-pool", "0.2.8", "--lib"),
    Crate("quick_cache", "0.7.0", "--features parking_lot --lib"),
    Crate("moka", "0.12.16", "--features sync,future --lib --tests"),
    Crate("flurry", "0.5.2", "--lib --tests"),
    # lock_api 0.4, with the raw mutex as a parameter.
    Crate("futures-intrusive", "0.5.0", "--lib --tests"),
    Crate("bb8", "0.9.1", "--lib --tests"),
    Crate("tracing-subscriber", "0.3.23", "--features parking_lot --lib"),
]

LOCKED = re.compile(r'^name = "parking_lot"\nversion = "([^"]*)"$', re.M)
RUNNING = re.compile(r"^\s+Running (?:unittests )?(\S+) \(")
TEST = re.compile(r"^test (\S.*?)(?: - should panic)? \.\.\. (.*)$")
VERDICT = re.compile(r"^(ok|FAILED|ignored.*)$")


def verdicts(output):
    """Program and name of each test, with what came of it. A test's own output may lie between."""
    found, program, open_test = {}, "", None
    for line in output.splitlines():
        if match := RUNNING.match(line):
            program, open_test = match[1], None
        elif match := TEST.match(line):
            name, rest = (program, match[1]), match[2]
            found[name] = rest if VERDICT.match(rest) else "no verdict"
            open_test = None if VERDICT.match(rest) else name
        elif open_test and VERDICT.match(line):
            found[open_test] = line
            open_test = None
    return found


def cargo(directory, *arguments, limit=None):
    """What it printed; and whether it was stopped for it took too long."""
    try:
        run = subprocess.run(["cargo", *arguments], cwd=directory, timeout=limit, text=True,
                             errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return run.returncode, run.stdout
    except subprocess.TimeoutExpired as end:
        return 124, (end.stdout or b"").decode(errors="replace")


def must(directory, *arguments):
    code, output = cargo(directory, *arguments)
    if code:
        sys.exit(f"dependents: cargo {' '.join(arguments)} failed in {directory.name}:\n{output[-3000:]}")


def fetch(crate):
    """The directory of the crate's sources as they are published."""
    probe = SCRATCH / f"probe-{crate.name}-{crate.version}"
    probe.mkdir()
    (probe / "lib.rs").touch()
    (probe / "Cargo.toml").write_text(
        '[workspace]\n[package]\nname = "probe"\nversion = "0.0.0"\n[lib]\npath = "lib.rs"\n'
        f'[dependencies]\n{crate.name} = "={crate.version}"\n')
    must(probe, "fetch", "--quiet")
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    found, = home.glob(f"registry/src/*/{crate.name}-{crate.version}")
    return found


def prepare(crate):
    """Two copies of the crate, of which the second takes our locks; both with the same lock file."""
    sources = fetch(crate)
    plain, patched = (SCRATCH / f"{crate.name}-{crate.version}-{kind}" for kind in ("plain", "patched"))
    shutil.copytree(sources, plain)
    manifest = (plain / "Cargo.toml").read_text() + "\n[workspace]\n"
    # What its tests are written with may depend on the crate as well: on this copy.
    patch = f'[patch.crates-io]\n{crate.name} = {{ path = "." }}\n'
    (plain / "Cargo.toml").write_text(manifest + patch)
    (plain / "Cargo.lock").unlink(missing_ok=True)
    (plain / "rust-toolchain").unlink(missing_ok=True)
    (plain / "rust-toolchain.toml").unlink(missing_ok=True)
    must(plain, "generate-lockfile", "--quiet")
    shutil.copytree(plain, patched)
    for file, text in crate.edits.items():
        (patched / file).write_text(text)
        manifest += '[dependencies.parking_lot]\nversion = "0.12"\n'
    patches = "".join(f'parking_lot_{v.replace(".", "_")} = {{ package = "parking_lot", path = "{OURS}/{v}" }}\n'
                      for v in ("0.12", "0.13"))
    (patched / "Cargo.toml").write_text(manifest + patch + patches)
    for version in LOCKED.findall((patched / "Cargo.lock").read_text()):
        must(patched, "update", "--quiet", f"parking_lot@{version}")
    code, tree = cargo(patched, "tree", "-e", "normal,build,dev", "-i", "lockwright", *features(crate))
    if code:
        sys.exit(f"dependents: {crate.name} does not use our locks:\n{tree}")
    return plain, patched


def features(crate):
    at = crate.options.index("--features") if "--features" in crate.options else None
    return [] if at is None else crate.options[at:at + 2]


def run(crate, directory):
    must(directory, "test", "--no-run", "--quiet", *crate.options)
    code, output = cargo(directory, "test", "--no-fail-fast", *crate.options, limit=LIMIT)
    found = verdicts(output)
    if code == 124:
        print(f"  {directory.name}: stopped after {LIMIT} s")
    return found


def passed(found):
    return {test for test, verdict in found.items() if verdict == "ok"}


def again(crate, directory, test):
    """Whether the test passes in one of some more tries."""
    _, name = test
    for _ in range(AGAIN):
        _, output = cargo(directory, "test", *crate.options, "--", "--exact", name, limit=LIMIT)
        if verdicts(output).get(test) == "ok":
            return True
    return False


def judge(crate):
    plain, patched = prepare(crate)
    before, after = passed(run(crate, plain)), passed(run(crate, patched))
    lost = [test for test in sorted(before - after) if not again(crate, patched, test)]
    # What fails with the real one as well from time to time says nothing.
    lost = [test for test in lost if again(crate, plain, test)]
    print(f"{crate.name} {crate.version}: {len(before)} tests pass with the real one, "
          f"{len(after)} with ours, {len(lost)} lost", flush=True)
    for program, name in lost:
        print(f"  lost: {name} ({program})")
    if not before:
        print("  no test passes: nothing was compared")
    return not lost and bool(before)


def main():
    names = sys.argv[1:]
    chosen = [crate for crate in CRATES if not names or crate.name in names]
    unknown = set(names) - {crate.name for crate in CRATES}
    if unknown:
        sys.exit(f"dependents: not in the list: {', '.join(sorted(unknown))}")
    verdict = [judge(crate) for crate in chosen]
    print(f"dependents: {sum(verdict)} of {len(verdict)} crates keep their tests")
    sys.exit(not all(verdict))


main()
