#!/usr/bin/env bash
# Each policy and each lock event is known wherever it has to be: documentation, C header, contract suite,
# lists of the laboratory, tests. Then made-up entries, which must be complained of.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 60 "policies and events are entered everywhere"
need_python
scratch
python3 ci/entries.py

expect() { # file, sed script, complaint that it must bring
    local out
    rm -rf "${SCRATCH:?}/copy"
    mkdir "$SCRATCH/copy"
    cp -r crates docs "$SCRATCH/copy"
    sed -i "$2" "$SCRATCH/copy/$1"
    ! cmp -s "$1" "$SCRATCH/copy/$1" || fail "the sed script '$2' finds nothing in $1"
    out=$(cd "$SCRATCH/copy" && python3 "$ROOT/ci/entries.py") && fail "not noticed: $2 in $1"
    grep -qF "$3" <<<"$out" || fail "expected '$3', got: $out"
}
expect crates/locks/src/rwsem/policy.rs 's/^    Fifo = "fifo", /    Made = "made-up", /' "made-up: not in docs/policies.md"
expect crates/lab/src/sim/subjects.rs 's/policy::Steal\b/policy::Fifo/g' "steal: not in crates/lab/src/sim/subjects.rs"
expect crates/capi/include/lockwright.h 's/LW_POLICY_FAIR/LW_POLICY_FARE/' "fair: not in crates/capi/include/lockwright.h"
expect crates/locks/src/events.rs 's/^    MutexLent = .*/    MadeUp = "made_up";/' "made_up: no test counts it"
