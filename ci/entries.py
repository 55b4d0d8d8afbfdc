#!/usr/bin/env python3
"""What is entered in one list must be known wherever the list matters: policies and lock events.

Reads the sources of the current directory. A policy of the reader-writer lock is entered in
crates/locks/src/rwsem/policy.rs, one of the mutex is a type with a `Policy` in crates/locks/src/mutex/policy.rs, an event
is entered in crates/locks/src/events.rs. Each place that does not follow by itself is named here.
"""

import pathlib
import re
import sys

# Events whose coming no test can bring about so far, and why. An entry that a test names is complained of.
UNCOUNTED = {
    "MutexYieldLock": "the owner has to lose its CPU while a waiter looks at it",
    "MutexLent": "a guest has to come within a slice that lasts; the laboratory's runs show it",
    "OsqFull": "more spinners than CPUs have to arrive at a time",
    "NumaFull": "every entry of the parting table has to be in use at a time",
    "OsqLent": "a spinner has to come back before the one behind it ran",
    "RwsemSleepReader": "a thousand readers behind a sleeping writer did not bring it; not explained yet",
    "RwsemOptNorspin": "a writer has to come while readers that are not to spin hold the lock",
}

# Policies of the mutex that are no lock of the laboratory's.
UNMEASURED = {"Fair"}


def read(path):
    return pathlib.Path(path).read_text()


def presets():
    """Type and name of each policy of the reader-writer lock."""
    found = re.findall(r'^    (\w+) = "([\w.-]+)", "', read("crates/locks/src/rwsem/policy.rs"), re.M)
    # Its own, by the names that the table and the command line give them.
    return [(kind, name) for kind, name in found if kind not in ("Standard", "Recursive")]


def mutex_policies():
    return re.findall(r"^impl Policy for (\w+) \{\n    const NAME: &'static str = \"([\w-]+)\"", read("crates/locks/src/mutex/policy.rs"), re.M)


def lacking(what, where, present):
    if not present:
        yield f"{what}: not in {where}"


def policies():
    table, suite = read("docs/policies.md"), read("crates/lockwright/tests/policies_rwlock.rs")
    locks, simulated = read("crates/lab/src/arms/locks.rs"), read("crates/lab/src/sim/subjects.rs")
    for kind, name in presets():
        word = rf"\b{kind}\b"
        yield from lacking(name, "docs/policies.md (lockwright policies --markdown)", name in table)
        yield from lacking(name, "crates/lockwright/tests/policies_rwlock.rs", re.search(word, suite))
        yield from lacking(name, "crates/lab/src/arms/locks.rs", re.search(word, locks))
        yield from lacking(name, "crates/lab/src/sim/subjects.rs", re.search(word, simulated))
    # The default unlocks by a store or by an atomic operation: in C by the latter, under one number.
    header, suite = read("crates/capi/include/lockwright.h"), "".join(
        read(p) for p in pathlib.Path("crates/lockwright/tests").glob("*.rs")
    )
    for kind, name in mutex_policies():
        constant = "DEFAULT" if name.startswith("slice") else name.upper()
        yield from lacking(name, "crates/capi/include/lockwright.h", re.search(rf"^#define LW_POLICY_{constant} ", header, re.M))
        if kind not in UNMEASURED:
            measured = "RawMutex" if kind == "Slice" else kind
            yield from lacking(name, "crates/lab/src/arms/locks.rs", re.search(rf"\b{measured}\b", locks))
        tested = rf"RawMutexWith<{kind}>" + (r"|\bRawMutex\b" if kind == "Slice" else "") + (r"|RawFairMutex" if kind == "Fair" else "")
        yield from lacking(name, "the contract suite, crates/lockwright/tests", re.search(tested, suite))


def tests():
    for path in pathlib.Path("crates").glob("*/tests/**/*.rs"):
        yield path.read_text()
    for path in pathlib.Path("crates").glob("*/src/**/tests.rs"):
        yield path.read_text()


def events():
    found = re.findall(r'^    (\w+) = "([a-z0-9_]+)";', read("crates/locks/src/events.rs"), re.M)
    texts, sources = "\n".join(tests()), [p.read_text() for p in pathlib.Path("crates/locks/src").rglob("*.rs")]
    sources = "\n".join(sources)
    for kind, name in found:
        counted = re.search(rf"Event::{kind}\b", sources)
        yield from lacking(name, "any function of crates/locks: it is never counted", counted)
        tested = re.search(rf'\b{kind}\b|\b{name}\b', texts)
        if kind in UNCOUNTED and tested:
            yield f"{name}: a test counts it; strike it out of ci/entries.py"
        elif kind not in UNCOUNTED and not tested:
            yield f"{name}: no test counts it"
    for kind in UNCOUNTED.keys() - {kind for kind, _ in found}:
        yield f"{kind}: in ci/entries.py, and no event"


def main():
    numbers = len(presets()), len(mutex_policies()), len(re.findall(r'^    \w+ = "[a-z0-9_]+";', read("crates/locks/src/events.rs"), re.M))
    faults = [*policies(), *events()]
    for fault in faults:
        print(fault)
    if min(numbers) < 4:
        faults.append("lists that are not read")
        print(f"the lists are not where they were: {numbers}")
    print("entries: %d and %d policies, %d events" % numbers)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
