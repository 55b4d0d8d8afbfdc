#!/usr/bin/env python3
"""Checks the comments on memory orderings. Usage: orderings.py [--all FILE..] FILE..

What is asked of a file is in CONTRIBUTING.md, "Memory orderings"; how to write it, by example:

    // Edges
    //  [handoff] unlock: go Release -> lock: await go Acquire  publishes the critical section
    ...
    // Ordering: Release, [handoff]: pairs with the await in lock().
    succ.go.store(1, Release);
    // Ordering: Acquire, [handoff]: pairs with unlock(); failure Relaxed, hint (the loop re-reads).
    w.compare_exchange(0, 1, Acquire, Relaxed)

`--all` names files that give context (edges that cross files) but are not reported on.
"""

import os
import re
import sys

from rustscan import FENCES, ORDERS, Source, sites

# The closed list of reasons for Relaxed.
REASONS = {
    "hint": "a stale value is harmless: re-checked by <operation>",
    "owner-only": "no other thread writes at this time",
    "fenced": "ordered by the fence in <function>",
    "sequence": "inside the release sequence of [edge]",
    "init": "published later by [edge]",
    "stat": "never read for a decision",
}
RELEASE = {"Release", "AcqRel", "SeqCst"} | set(FENCES)
ACQUIRE = {"Acquire", "AcqRel", "SeqCst"} | set(FENCES)
FULL = {"SeqCst"} | set(FENCES)

EDGE = r"\[([a-z][a-z0-9_-]*(?:(?:\.|::)[a-z0-9_-]+)*)\](?!\()"
ITEM = re.compile(
    r"\s*(?:,|/|\+|and\b|success\b)?\s*`?(?:(?P<order>" + "|".join(ORDERS + FENCES) + r")\b"
    rf"|{EDGE}|(?P<reason>" + "|".join(REASONS) + r")(?![\w-]))`?"
)
# Where the second order of a compare-exchange begins: `; failure Relaxed, ..` or `; Relaxed, ..`.
FAILURE = re.compile(
    r"(?:;|[.,]?\s*\b(?:on\s+)?(?=[Ff]ailure))\s*(?:[Ff]ailure(?:\s+order)?:?\s+)?"
    r"(?=(?:" + "|".join(ORDERS) + r")\b)"
)
STORE_LOAD = re.compile(r"store\s*(?:-|->|→|/)\s*load", re.I)


class Clause:
    """`Acquire, [edge]: why`, or `Relaxed, hint (why)`."""

    def __init__(self, text):
        self.orders, self.edges, self.reasons = [], [], []
        pos = 0
        while m := ITEM.match(text, pos):
            if m.group("order"):
                self.orders.append(m.group("order"))
            elif m.group("reason"):
                self.reasons.append(m.group("reason"))
            else:
                self.edges.append(m.group(2))
            pos = m.end()
        self.why = text[pos:].strip(" :().,;")
        self.mentioned = re.findall(EDGE, text[pos:])
        self.text = text


class Entry:
    """One `Ordering:` comment."""

    def __init__(self, line, text):
        self.line = line
        self.block = "(block)" in text
        text = text.replace("(block)", " ")
        self.text = text
        self.clauses = [Clause(part) for part in FAILURE.split(text)]
        self.orders = {o for c in self.clauses for o in c.orders}
        self.used = set()


class File:
    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8") as f:
            self.src = Source(path, f.read())
        stem = os.path.basename(path).removesuffix(".rs")
        self.stem = os.path.basename(os.path.dirname(path)) if stem == "mod" else stem
        self.sites = sites(self.src)
        self.errors = []
        self.edges = {}  # name -> line of its declaration
        self.above = {}  # line after a comment block -> its entries
        self.trailing = {}  # line -> entries
        self.inside = {}  # last line of a comment block -> entries
        self.entries = []
        self.uses = []  # (edge, line, orders)
        self._comments()

    def error(self, line, text):
        self.errors.append((line, text))

    def _comments(self):
        block = []
        for c in self.src.comments:
            if block and (not c.alone or c.line != block[-1].line + 1):
                self._block(block)
                block = []
            if c.alone:
                block.append(c)
            else:
                self._entries([c], self.trailing, c.line)
        if block:
            self._block(block)

    def _block(self, block):
        self._declarations(block)
        plain = [c for c in block if not c.text.startswith(("///", "//!"))]
        if plain:
            self._entries(plain, self.inside, block[-1].line)

    def _entries(self, comments, where, line):
        parts = []
        for c in comments:
            text = re.sub(r"^(//+|/\*+)\s?", "", c.text).rstrip("*/ ")
            for i, piece in enumerate(re.split(r"(?:^|(?<=\s))Ordering:\s*", text)):
                if i:
                    parts.append([c.line, piece])
                elif parts:
                    parts[-1][1] += " " + piece.strip()
        entries = [Entry(at, text) for at, text in parts]
        if entries:
            where.setdefault(line, []).extend(entries)
            self.entries += entries

    def _declarations(self, block):
        inside, items = False, []
        for c in block:
            text = re.sub(r"^(//[/!]?|/\*+)", "", c.text)
            title = re.sub(r"[#*:_\s]", "", text)
            if title == "Edges":
                inside = True
                continue
            if not inside:
                continue
            m = re.match(rf"\s*(?:[-*]|\d+\.)?\s*`?{EDGE}`?", text)
            if m:
                items.append([c.line, m.group(1), text[m.end() :]])
            elif re.match(r"\s*(#|\*\*\w|[A-Z]\w+:?\s*$)", text):
                inside = False
            elif items and text.strip():
                items[-1][2] += " " + text.strip()
        for line, name, text in items:
            if name in self.edges:
                self.error(line, f"edge [{name}] is declared twice (first at line {self.edges[name]})")
            self.edges[name] = line
            if not re.search(r"->|→", text):
                self.error(line, f"edge [{name}] does not say `release site -> acquire site`")
            elif not re.search(r"\b(publish|forbid|sees?\b)", text) and not STORE_LOAD.search(text):
                self.error(line, f"edge [{name}] does not say what it publishes (or forbids, or sees)")

    def candidates(self, site):
        """The entries that may speak for a site, nearest first."""
        start = self.src.line_of(self.src.statement_start(site.pos))
        near = list(self.trailing.get(site.line, []))
        for line in range(site.line - 1, start - 1, -1):
            near += self.inside.get(line, []) + self.trailing.get(line, [])
        line = start - 1
        while line >= 1 and self.src.code_lines[line - 1].strip().startswith("#["):
            line -= 1
        near += self.inside.get(line, [])
        for e in self.entries:
            if e.block and e not in near and e.line < site.line:
                between = self.src.lines[e.line - 1 : site.line]
                if all(text.strip() for text in between):
                    near.append(e)
        return near

    def check_sites(self):
        for site in self.sites:
            near = self.candidates(site)
            if not near:
                self.error(site.line, f"{site.order} in {site.function}() has no `// Ordering:` comment")
                continue
            for e in near:
                e.used.add(site.order)
            if not any(site.order in e.orders for e in near):
                self.error(
                    site.line,
                    f"{site.order} in {site.function}() is not named by the comment at line "
                    f"{near[0].line}",
                )

    def check_entries(self):
        for e in self.entries:
            if not e.orders:
                self.error(e.line, "`Ordering:` names no order")
                continue
            if not e.used:
                self.error(e.line, "`Ordering:` comment without an operation it belongs to")
            else:
                for order in sorted(e.orders - e.used):
                    self.error(e.line, f"names {order}, which the operation does not use")
            for c in e.clauses:
                if not c.edges:  # a failure order may share the edge of the success order
                    c.edges = [n for n in e.clauses[0].edges if set(c.orders) != {"Relaxed"}]
                self._check_clause(e, c)

    def _check_clause(self, e, c):
        if not c.orders:
            self.error(e.line, "`Ordering:` names no order")
            return
        strong = [o for o in c.orders if o != "Relaxed"]
        if strong and not c.edges:
            self.error(e.line, f"{strong[0]} names no edge: `{strong[0]}, [edge]: why`")
        if "Relaxed" in c.orders and not c.reasons:
            self.error(e.line, f"Relaxed without a reason of the list: {', '.join(REASONS)}")
        for reason in c.reasons:
            if "Relaxed" not in c.orders:
                self.error(e.line, f"'{reason}' is a reason for Relaxed only")
            elif reason in ("sequence", "init") and not (c.edges or c.mentioned):
                self.error(e.line, f"'{reason}' names no edge")
        if FULL & set(strong) and not STORE_LOAD.search(c.text):
            self.error(e.line, f"{strong[0]} does not name the store-load pair it keeps in order")
        if not c.why and c.reasons != ["stat"]:
            self.error(e.line, "says which order, but not why")
        self.uses += [(name, e.line, set(c.orders)) for name in c.edges]
        if set(c.reasons) & {"sequence", "init"} and not c.edges and c.mentioned:
            self.uses.append((c.mentioned[0], e.line, set()))


def check(reported, context):
    files = {p: File(p) for p in dict.fromkeys(reported + context)}
    shared = {}  # names that may be cited from any file
    for f in files.values():
        for name, line in f.edges.items():
            shared.setdefault(f"{f.stem}::{name}", (f, name))
            if "." in name:
                first = shared.setdefault(name, (f, name))[0]
                if first is not f:
                    f.error(line, f"edge [{name}] is declared in {first.path} too")
    roles = {(f.path, name): set() for f in files.values() for name in f.edges}
    for f in files.values():
        f.check_sites()
        f.check_entries()
        for name, line, orders in f.uses:
            if name in f.edges:
                key = (f.path, name)
            elif name in shared:
                key = (shared[name][0].path, shared[name][1])
            else:
                f.error(line, f"edge [{name}] is not declared in an `// Edges` list")
                continue
            if orders & RELEASE:
                roles[key].add("release")
            if orders & ACQUIRE:
                roles[key].add("acquire")
    for (path, name), have in roles.items():
        for role in ("release", "acquire"):
            if role not in have:
                files[path].error(files[path].edges[name], f"edge [{name}] has no {role} site")
    bad = 0
    for path in reported:
        for line, text in sorted(set(files[path].errors)):
            print(f"{os.path.relpath(path)}:{line}: {text}")
            bad += 1
    total = sum(len(files[p].sites) for p in reported)
    edges = sum(len(files[p].edges) for p in reported)
    print(f"orderings: {len(reported)} files, {total} orders, {edges} edges, {bad} complaints")
    return 1 if bad else 0


def main(argv):
    reported, context, target = [], [], None
    target = reported
    for arg in argv:
        if arg == "--all":
            target = context
        elif arg == "--":
            target = reported
        else:
            target.append(arg)
    return check(reported, context)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
