#!/usr/bin/env python3
"""Writes parking_lot's own tests as test programs that know it by its public names alone.

    parking_lot_tests.py SOURCES TESTS

SOURCES is the package as it is published: its tests stand in modules of its sources, and in its
directory of tests. Where a test looks into the real one (whether a thread is queued; an inner function
that two public ones share), it is given a short sleep, and the two. Left out are tests of what
differs on purpose, see SKIP.
"""

import pathlib
import re
import sys

# One condition variable with two mutexes at a time: theirs panics, ours serves both.
SKIP = ["two_mutexes"]

INNER = """
trait Inner {
    fn wait_while_until_internal<T: ?Sized>(
        &self, guard: &mut MutexGuard<'_, T>, condition: impl FnMut(&mut T) -> bool, until: Option<Instant>,
    ) -> parking_lot::WaitTimeoutResult;
}
impl Inner for Condvar {
    fn wait_while_until_internal<T: ?Sized>(
        &self, guard: &mut MutexGuard<'_, T>, condition: impl FnMut(&mut T) -> bool, until: Option<Instant>,
    ) -> parking_lot::WaitTimeoutResult {
        let Some(until) = until else {
            self.wait_while(guard, condition);
            return self.wait_while_until(guard, |_| false, Instant::now());
        };
        self.wait_while_until(guard, condition, until)
    }
}
"""
MODULE = re.compile(r"^((?:#\[cfg\([^\n]*\n)*)mod tests \{\n(.*?)^\}\n", re.S | re.M)
GLANCE = re.compile(
    r"while [^\n]*(?:PARKED_BIT|has_parked_threads)[^\n]*\{\s*thread::yield_now\(\);\s*\}"
)


def program(text):
    """The tests of one source file, or None."""
    module = MODULE.search(text)
    if not module:
        return None
    conditions, body = module.groups()
    conditions = conditions.replace("#[cfg(test)]\n", "").replace("#[cfg", "#![cfg")
    body = re.sub(r"\bcrate::", "parking_lot::", body)
    body = body.replace("use super::PARKED_BIT;", "")
    body = body.replace("parking_lot_core::deadlock", "parking_lot::deadlock")
    body = GLANCE.sub("thread::sleep(std::time::Duration::from_millis(20));", body)
    for name in SKIP:
        body = body.replace(f"fn {name}()", f"#[ignore = \"differs on purpose\"]\n    fn {name}()")
    return conditions + body + (INNER if "wait_while_until_internal" in body else "")


def main():
    sources, tests = map(pathlib.Path, sys.argv[1:])
    tests.mkdir(parents=True)
    count = 0
    for file in sorted((sources / "src").glob("*.rs")):
        text = program(file.read_text())
        if text:
            (tests / f"own_{file.name}").write_text(text)
            count += text.count("#[test]")
    for file in sorted((sources / "tests").glob("*.rs")):
        (tests / file.name).write_text(file.read_text())
        count += file.read_text().count("#[test]")
    if count < 60:
        sys.exit(f"only {count} tests found in {sources}: where are the others?")


main()
