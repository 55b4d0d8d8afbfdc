#!/usr/bin/env python3
"""Asks whether our crates have what another has, by the same names.

    parking_lot_api.py THEIRS.json OURS.json LIBRARY.json[::MODULE] ..

The files are what `rustdoc --output-format json` writes; libraries are the crates, and modules of them, that
ours takes names from, the first asked first. Each name at the root of THEIRS must be at the root of
OURS. If it is a type, what stands behind our name must have its methods, constants, variants and traits by
name; if an alias of a foreign type, be one of a type of that name. Modules are looked into.
"""

import json
import sys

# Traits that say how a type is built inside.
UNASKED = {"Freeze", "RefUnwindSafe", "UnwindSafe", "Unpin", "UnsafeUnpin", "StructuralPartialEq"}


class Crate:
    def __init__(self, path):
        path, _, module = path.partition("::")
        with open(path) as file:
            doc = json.load(file)
        self.index = doc["index"]
        self.root = self.names(doc["root"])
        if module:
            self.root = self.names(self.root[module]["id"])
        self.types = {i["name"]: i for i in self.index.values() if is_type(i)}

    def item(self, number):
        return self.index.get(str(number))

    def names(self, module):
        """Public names of a module, each with its item, or None if that is another crate's."""
        found = {}
        for number in self.item(module)["inner"]["module"]["items"]:
            item = self.item(number)
            if item is None or item["visibility"] != "public":
                continue
            inner = item["inner"].get("use")
            if inner is None:
                found[item["name"]] = item
            elif not inner["is_glob"]:
                found[inner["name"]] = self.item(inner["id"])
            elif self.item(inner["id"]):
                found.update(self.names(inner["id"]))
        return found

    def members(self, item):
        """Names of what a type has: methods, constants, variants, and `impl Trait`."""
        (inner,) = item["inner"].values()
        found = {self.item(number)["name"] for number in inner.get("variants", [])}
        for number in inner["impls"]:
            block = self.item(number)["inner"]["impl"]
            if block["is_synthetic"] or block["blanket_impl"]:
                continue
            if block["trait"]:
                found.add("impl " + block["trait"]["path"].split("::")[-1])
                continue
            members = map(self.item, block["items"])
            found.update(m["name"] for m in members if m["visibility"] == "public")
        return found - {"impl " + name for name in UNASKED}


def is_type(item):
    return any(kind in item["inner"] for kind in ("struct", "enum"))


def target(item):
    """The name of the type that an alias stands for, else its own."""
    alias = item["inner"].get("type_alias")
    return alias["type"]["resolved_path"]["path"].split("::")[-1] if alias else item["name"]


def behind(name, libraries):
    """The item of that name: in the libraries' open places, else wherever a type of the name is."""
    for place in ("root", "types"):
        for crate in libraries:
            item = getattr(crate, place).get(name)
            if item:
                return crate, item
    return None, None


def lacks(theirs, names, libraries, where):
    """What the libraries lack of these names of theirs."""
    for name, item in sorted(names.items()):
        if item is None:  # another crate's, under its own name
            continue
        owner, mine = behind(name, libraries)
        if mine is None:
            yield f"{where}{name}"
        elif "module" in item["inner"]:
            inside = theirs.names(item["id"])
            have = owner.names(mine["id"]) if "module" in mine["inner"] else {}
            yield from (f"{where}{name}::{inner}" for inner in sorted(set(inside) - set(have)))
            yield from lacks(theirs, inside, libraries, f"{where}{name}::")
        elif target(item) in theirs.types:
            kind = theirs.types[target(item)]
            crate, found = behind(target(mine), libraries)
            have = crate.members(found) if found and is_type(found) else set()
            yield from (f"{where}{name}: {m}" for m in sorted(theirs.members(kind) - have))
        elif target(item) != target(mine):
            yield f"{where}{name}: stands for {target(mine)}, not {target(item)}"


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    theirs, ours, *libraries = map(Crate, sys.argv[1:])
    missing = sorted(set(theirs.root) - set(ours.root))
    missing += lacks(theirs, {n: i for n, i in theirs.root.items() if n in ours.root}, libraries, "")
    for line in missing:
        print(f"missing: {line}")
    print(f"{sys.argv[1]}: {len(theirs.root)} names asked for, {len(missing)} complaints")
    sys.exit(bool(missing))


main()
