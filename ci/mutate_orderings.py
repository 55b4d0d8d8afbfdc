#!/usr/bin/env python3
"""Weakens one tagged memory ordering at a time and asks whether the models notice.

    mutate_orderings.py [options] [file.rs ..]

    --list           print the mutants and stop
    --only TEXT      only mutants whose line contains TEXT; may be given more than once
    --check-rows     only check that each row of the table names a mutant that exists
    --cmd COMMAND    a `cargo test` command that must fail on each mutant
    --timeout SECS   limit for that command per mutant (default 300)
    --jobs N         mutants at a time, each with a copy of the tree of its own (default 1)
    --table FILE     the list of accepted survivors (default docs/orderings.md)
    --root DIR       the workspace to copy (default: this one)

KILLED: a test failed. SURVIVED: all passed. TIMEOUT: no verdict in time. A survivor or timeout
must have a row in the table; a row whose mutant is killed, or that names none, is stale. Both
fail the run, and so does a mutant that does not compile.
"""

import argparse
import glob
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from orderings import File
from rustscan import FENCES

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILES = ["crates/locks/src/mcs.rs", "crates/locks/src/osq.rs", "crates/locks/src/mutex/*.rs",
         "crates/locks/src/biased/*.rs", "crates/locks/src/seq*.rs", "crates/locks/src/record.rs",
         "crates/locks/src/record/*.rs", "crates/locks/src/rwsem/*.rs", "crates/locks/src/condvar.rs",
         "crates/locks/src/spinlock.rs"]
# Lints are capped because a weakening can leave an import unused.
COMMAND = (
    "RUSTFLAGS='--cfg loom --cap-lints=warn' "
    "cargo test --release -p lockwright-locks --test 'loom_*'"
)
WEAKER = {"AcqRel": ("Acquire", "Release", "Relaxed"), "Acquire": ("Relaxed",), "Release": ("Relaxed",)}


CHILDREN = set()  # process groups that run now


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def stop(*_):
    for pid in list(CHILDREN):
        kill_group(pid)
    os._exit(124)


class Mutant:
    def __init__(self, path, site, edge, change, span, text):
        self.path, self.line, self.function = path, site.line, site.function
        self.edge, self.change = edge, change
        self.span, self.text = span, text

    @property
    def key(self):
        return (self.path, self.function, self.edge, self.change)

    def __str__(self):
        return f"{self.path}:{self.line} {self.function}() {self.edge} {self.change}"


def weakenings(file, site):
    """(change, span, replacement) for each way to weaken `site`."""
    code = file.src.code
    if site.order in FENCES or re.fullmatch(r"(compiler_)?fence", site.call):
        start = re.search(r"[\w:.\s]*$", code[: site.open]).start()
        start += len(code[start : site.open]) - len(code[start : site.open].lstrip())
        end = code.find(")", site.open) + 1
        name = site.call if site.order in FENCES else f"{site.call}({site.order})"
        yield f"{name} deleted", (start, end), "()"
        if site.order in FENCES or site.order in ("Acquire", "Release"):
            return
        weaker = {"SeqCst": ("AcqRel",), "AcqRel": ("Acquire", "Release")}[site.order]
    elif site.order == "SeqCst":
        plain = site.failure or site.call == "load"
        weaker = ("Acquire",) if plain else ("Release",) if site.call == "store" else ("AcqRel",)
    else:
        weaker = WEAKER.get(site.order, ())
    for order in weaker:
        where = f"{site.call} failure" if site.failure else site.call
        # The whole path, since the weaker order need not be imported.
        yield f"{where} {site.order}->{order}", site.span, f"core::sync::atomic::Ordering::{order}"


def edge_of(file, site):
    for entry in file.candidates(site):
        clauses = [c for c in entry.clauses if site.order in c.orders]
        if clauses:
            clause = clauses[-1 if site.failure else 0]
            edges = clause.edges or entry.clauses[0].edges
            return " ".join(f"[{e}]" for e in edges) or " ".join(clause.reasons)
    return None


def mutants_of(root, path):
    file = File(os.path.join(root, path))
    found, seen = [], {}
    for site in file.sites:
        edge = edge_of(file, site)
        if edge is None:
            print(f"{path}:{site.line}: {site.order} is untagged: not mutated", file=sys.stderr)
            continue
        for change, span, text in weakenings(file, site):
            m = Mutant(path, site, edge, change, span, text)
            seen[m.key] = seen.get(m.key, 0) + 1
            if seen[m.key] > 1:  # the n-th alike in one function
                m.change += f" #{seen[m.key]}"
            found.append(m)
    return found


def table_rows(path):
    """key -> reason of each row below the table's heading row."""
    rows, inside = {}, False
    if not os.path.exists(path):
        return rows
    with open(path, encoding="utf-8") as f:
        for line in f:
            cells = [c.strip().replace("`", "") for c in line.strip().strip("|").split("|")]
            if [c.lower() for c in cells] == ["file", "function", "edge", "mutation", "reason"]:
                inside = True
            elif not line.startswith("|"):
                inside = False
            elif inside and len(cells) == 5 and not set(cells[0]) <= set("-: "):
                rows[tuple(cells[:4])] = cells[4]
    return rows


class Worker:
    """A copy of the tree and a target directory, so that only what changed is rebuilt."""

    def __init__(self, number, options, files):
        base = os.path.join(options.root, "target-mutants", f"job-{number}")
        self.tree = os.path.join(base, "tree")
        self.options = options
        self.env = dict(os.environ, CARGO_TARGET_DIR=os.path.join(base, "target"), LOOM_LOG="")
        shutil.rmtree(self.tree, ignore_errors=True)
        skip = shutil.ignore_patterns(".git", "target", "target-*")
        shutil.copytree(options.root, self.tree, ignore=skip)
        for path in files:  # an interrupted run may have left artefacts of a mutant
            os.utime(os.path.join(self.tree, path))

    def _shell(self, command, limit, on_line=None):
        """(exit code or None at the limit, output); ends early if `on_line` returns true."""
        child = subprocess.Popen(
            ["bash", "-c", command], cwd=self.tree, env=self.env, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        late = threading.Event()
        CHILDREN.add(child.pid)

        def end():
            kill_group(child.pid)

        def expire():
            late.set()
            end()

        timer = threading.Timer(limit, expire)
        timer.start()
        output, code = [], None
        try:
            for line in child.stdout:
                output.append(line)
                if on_line and on_line(line):
                    code = 101
                    break
            if code is not None:
                end()
                child.wait()
            else:
                code = child.wait()
        finally:
            end()
            timer.cancel()
            CHILDREN.discard(child.pid)
        return (None if late.is_set() and code != 101 else code), "".join(output)

    def test(self):
        """(`KILLED`, `SURVIVED`, `TIMEOUT` or `ERROR`, detail) of the tree as it is."""
        command = self.options.cmd
        front, dashes, back = command.partition(" -- ")
        code, output = self._shell(f"{front} --no-run{dashes}{back}", 1200)
        if code != 0:
            return "ERROR", output
        failed = re.compile(r"test .*\.\.\. FAILED")
        code, output = self._shell(command, self.options.timeout, failed.match)
        if code is None:
            return "TIMEOUT", f"no verdict in {self.options.timeout} s"
        if code == 0:
            return "SURVIVED", output
        names = re.findall(r"^test (\S+) .*FAILED", output, re.M)
        return "KILLED", names[0] if names else f"exit code {code}"

    def run(self, mutant):
        path = os.path.join(self.tree, mutant.path)
        with open(path, encoding="utf-8") as f:
            whole = f.read()
        a, b = mutant.span
        try:
            with open(path, "w", encoding="utf-8") as f:
                f.write(whole[:a] + mutant.text + whole[b:])
            return self.test()
        finally:
            with open(path, "w", encoding="utf-8") as f:
                f.write(whole)


def run_all(options, files, mutants):
    """mutant -> (verdict, detail); the unchanged tree is tested first."""
    verdicts, work, lock = {}, queue.Queue(), threading.Lock()
    first = Worker(0, options, files)
    begin = time.monotonic()
    verdict, detail = first.test()
    if verdict != "SURVIVED" or not re.search(r"^test result: ok\. [1-9]", detail, re.M):
        print(detail[-4000:], file=sys.stderr)
        sys.exit(f"mutate-orderings: the unchanged tree does not pass its tests ({verdict})")
    print(f"unchanged tree passes ({time.monotonic() - begin:.0f} s)", flush=True)
    for m in mutants:
        work.put(m)

    def serve(worker):
        while True:
            try:
                m = work.get_nowait()
            except queue.Empty:
                return
            begin = time.monotonic()
            try:
                verdict, detail = worker.run(m)
            except Exception as e:  # a lost mutant must not look like a killed one
                verdict, detail = "ERROR", repr(e)
            with lock:
                verdicts[m] = verdict
                note = detail if verdict in ("KILLED", "TIMEOUT") else ""
                print(f"{verdict:8} {m}  {note} ({time.monotonic() - begin:.0f} s)", flush=True)
                if verdict == "ERROR":
                    print(detail[-2000:], flush=True)

    workers = [first] + [Worker(n, options, files) for n in range(1, options.jobs)]
    threads = [threading.Thread(target=serve, args=(w,), daemon=True) for w in workers]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return verdicts


def judge(verdicts, rows, whole_files):
    """Prints what does not agree with the table; returns how many."""
    bad = 0
    for m, verdict in verdicts.items():
        listed = m.key in rows
        if verdict in ("SURVIVED", "TIMEOUT") and not listed:
            bad += 1
            print(f"not listed: | {' | '.join(m.key)} | ({verdict.lower()}) |")
        elif verdict == "KILLED" and listed:
            bad += 1
            print(f"stale row, the mutant is killed: | {' | '.join(m.key)} |")
        elif verdict == "ERROR":
            bad += 1
            print(f"does not compile: {m}")
    keys = {m.key for m in verdicts}
    for row, reason in rows.items():
        if row[0] in whole_files and row not in keys:
            bad += 1
            print(f"stale row, no such mutant: | {' | '.join(row)} |")
        elif row in keys and not reason:
            bad += 1
            print(f"row without a reason: | {' | '.join(row)} |")
    return bad


def parse(argv):
    p = argparse.ArgumentParser(usage=__doc__, add_help=True)
    p.add_argument("--list", action="store_true")
    p.add_argument("--only", action="append", default=[])
    p.add_argument("--check-rows", action="store_true")
    p.add_argument("--cmd", default=COMMAND)
    p.add_argument("--timeout", type=float, default=300)
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--table")
    p.add_argument("--root", default=HERE)
    p.add_argument("files", nargs="*")
    o = p.parse_args(argv)
    o.root = os.path.abspath(o.root)
    o.table = o.table or os.path.join(o.root, "docs", "orderings.md")
    return o


def main(argv):
    options = parse(argv)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    rows = table_rows(options.table)
    given = options.files or FILES
    if options.check_rows:
        given = sorted({row[0] for row in rows})
    files = []
    for pattern in given:
        path = os.path.relpath(os.path.abspath(pattern), options.root) if os.path.isabs(pattern) else pattern
        files += sorted(glob.glob(os.path.join(options.root, path))) if "*" in path else [path]
    files = [os.path.relpath(os.path.join(options.root, f), options.root) for f in files]
    files = [f for f in files if os.path.basename(f) not in ("tests.rs",)]
    present = [f for f in files if os.path.exists(os.path.join(options.root, f))]
    if options.files and present != files:
        sys.exit(f"mutate-orderings: no such file: {', '.join(set(files) - set(present))}")
    mutants = [m for f in present for m in mutants_of(options.root, f)]
    if options.check_rows:
        keys = {m.key for m in mutants}
        stale = [row for row in rows if row not in keys or not rows[row]]
        for row in stale:
            print(f"docs/orderings.md: no such mutant, or no reason: | {' | '.join(row)} |")
        print(f"mutate-orderings: {len(rows)} rows, {len(stale)} stale")
        return 1 if stale else 0
    if options.only:
        mutants = [m for m in mutants if any(text in str(m) for text in options.only)]
    if options.list:
        for m in mutants:
            print(m)
        print(f"mutate-orderings: {len(mutants)} mutants in {len(present)} files")
        return 0
    if not mutants:
        sys.exit("mutate-orderings: no mutants, so nothing was tested")
    verdicts = run_all(options, present, mutants)
    bad = judge(verdicts, rows, [] if options.only else present)
    counts = {v: list(verdicts.values()).count(v) for v in ("KILLED", "SURVIVED", "TIMEOUT", "ERROR")}
    listed = sum(m.key in rows for m, v in verdicts.items() if v in ("SURVIVED", "TIMEOUT"))
    print(
        f"mutate-orderings: {len(verdicts)} mutants, {counts['KILLED']} killed, "
        f"{counts['SURVIVED']} survived, {counts['TIMEOUT']} without verdict ({listed} of these "
        f"listed), {counts['ERROR']} errors, {bad} complaints"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
