#!/usr/bin/env bash
# Tests ci/arrows.py on made-up workspaces: each wrong arrow is named.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 60 "the checker of arrows names what is wrong"
need_python
scratch
cd "$SCRATCH"
failures=0

expect() { # complaint (or none), crate, dependency, kind ("null", or "\"dev\""), text of lib.rs
    local out
    mkdir -p "$2/src"
    printf '%s\n' "$5" >"$2/src/lib.rs"
    cat >metadata.json <<JSON
{"packages": [
  {"name": "lockwright-$2", "manifest_path": "$SCRATCH/$2/Cargo.toml",
   "targets": [{"kind": ["lib"], "src_path": "$SCRATCH/$2/src/lib.rs"}],
   "dependencies": [{"name": "lockwright-$3", "kind": $4}, {"name": "libc", "kind": null}]},
  {"name": "lockwright-$3", "manifest_path": "$SCRATCH/$3/Cargo.toml", "targets": [],
   "dependencies": []}]}
JSON
    out=$(python3 "$ROOT/ci/arrows.py" <metadata.json 2>&1) || true
    [[ $(sed '$d' <<<"$out") == "$1" && $out == *"arrows: 2 crates"* ]] && return
    failures=$((failures + 1))
    printf 'expected "%s", got:\n%s\n' "$1" "$out"
}

forbid='#![forbid(unsafe_code)]' deny='#![deny(unsafe_code)]'
expect "" locks platform null "unsafe fn f() {}"
expect "" locks contract '"dev"' ""
expect "" workloads platform null "$forbid // unsafe"
expect "platform -> locks: against the direction of the arrows" platform locks null ""
expect "workloads -> lab: against the direction of the arrows" workloads lab null "$forbid"
expect "locks -> contract: against the direction of the arrows" locks contract null ""
expect "locks -> model: model is for tests only" locks model null ""
expect "sim -> locks: not even in tests" sim locks '"dev"' "$deny"
expect "new: new crate; say in ci/arrows.py what it may depend on" new locks '"dev"' "$forbid"
expect "workloads/src/lib.rs: no #![forbid(unsafe_code)]" workloads platform null "// $forbid"
expect "sim/src/lib.rs: no #![deny(unsafe_code)]" sim platform null "// $deny"
expect "lab/src/lib.rs:2: unsafe outside capi, contract, locks, lockwright, model, peers, platform, preload" \
    lab sim null "$forbid"$'\nunsafe fn f() {}'
echo "test-arrows: $failures failures"
((failures == 0))
