#!/usr/bin/env bash
# Every set of features compiles: all subsets up to five features, else none, each, pairs, all.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 900 "each set of features compiles"
need_python
# Left out: peers-cxx needs Debian packages; ci/peers-cxx.sh builds it. Of two features that exclude
# each other (a compile error says so) the second is left out where both would be there.
metadata=$(cargo metadata --no-deps --format-version 1)
sets=$(python3 -c '
import itertools, json, sys
for p in json.load(sys.stdin)["packages"]:
    names = sorted(set(p["features"]) - {"default", "peers-cxx"})
    n = len(names)
    sizes = range(n + 1) if n <= 5 else (0, 1, 2, n)
    for size in sizes if n else ():
        for chosen in itertools.combinations(names, size):
            if {"deadlock_detection", "send_guard"} <= set(chosen):
                chosen = [name for name in chosen if name != "send_guard"]
            print(p["name"], ",".join(chosen))' <<<"$metadata" | sort -u)
count=0
while read -r package features; do
    [[ -n $package ]] || continue
    count=$((count + 1))
    cargo check -q -p "$package" --no-default-features --features "$features" ||
        fail "$package does not compile with features '$features'"
done <<<"$sets"
echo "features: $count sets compile"
