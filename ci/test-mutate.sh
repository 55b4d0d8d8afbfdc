#!/usr/bin/env bash
# Tests ci/mutate-orderings.sh on a small crate whose "model" gives verdicts known beforehand.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 300 "the mutation of orderings tells killed from survived, listed from not"
need_python
scratch
fixture=$SCRATCH/mutate table=$SCRATCH/orderings.md
cp -r ci/fixtures/mutate "$fixture"
# Reads no network: the crate has no dependencies.
options=(--root "$fixture" --cmd "cargo test --offline --test model" --timeout 5)
failures=0

expect() { # exit code, then texts that the output must have; arguments of the run after --
    local code=$1 wanted=() out status=0
    shift
    while [[ $1 != -- ]]; do
        wanted+=("$1")
        shift
    done
    shift
    out=$(python3 ci/mutate_orderings.py "${options[@]}" "$@" src/lib.rs 2>&1) || status=$?
    for text in "${wanted[@]}"; do
        grep -qF -- "$text" <<<"$out" && continue
        failures=$((failures + 1))
        printf 'no "%s" in:\n%s\n' "$text" "$out"
    done
    if [[ $status != "$code" ]]; then
        failures=$((failures + 1))
        printf 'exit code %s instead of %s:\n%s\n' "$status" "$code" "$out"
    fi
}

echo "every verdict, all survivors listed"
expect 0 "7 mutants, 3 killed, 3 survived, 1 without verdict (4 of these listed), 0 errors" \
    "KILLED   src/lib.rs:14 lock() [word] compare_exchange AcqRel->Relaxed  acquires" \
    "TIMEOUT  src/lib.rs:21 unlock() [sleep] fence(SeqCst) deleted" --
echo "a survivor that is not listed"
grep -v 'AcqRel->Acquire' "$fixture/docs/orderings.md" >"$table"
expect 1 "not listed: | src/lib.rs | lock | [word] | compare_exchange AcqRel->Acquire" \
    -- --table "$table" --only 'AcqRel->Acquire'
echo "a row whose mutant is killed, and a row whose mutant does not exist"
{
    cat "$fixture/docs/orderings.md"
    echo "| src/lib.rs | unlock | [word] | store Release->Relaxed | said to survive |"
} >"$table"
expect 1 "stale row, the mutant is killed: | src/lib.rs | unlock | [word] | store Release->Relaxed" \
    -- --table "$table" --only 'store Release'
echo "| src/lib.rs | unlock | [gone] | store Release->Relaxed | no such edge |" >>"$table"
expect 1 "no such mutant, or no reason: | src/lib.rs | unlock | [gone]" \
    -- --table "$table" --check-rows
echo "a tree that does not pass unchanged, and a run without mutants"
expect 1 "the unchanged tree does not pass" \
    -- --cmd "cargo test --offline --test model -- --exact nothing" --only store
expect 1 "no mutants" -- --only "no such text"
echo "test-mutate: $failures failures"
((failures == 0))
