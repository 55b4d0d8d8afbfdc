#!/usr/bin/env bash
# Miri over the contract suite (crates/*/tests/contract*.rs) at its small counts, with strict
# provenance and one seed, without the biased lock's; with NIGHTLY=1 all, sixteen seeds, both borrow models,
# one CPU and four.
# Then the broken locks that only Miri can condemn (crates/*/tests/miri_*.rs).
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step "$(limit 900 10800)" "contract suite under Miri" "$@"
need_nightly miri rust-src
mapfile -t tests < <(tests_named 'contract*')
# The biased lock's, a hundred seconds, at night: what it adds is modelled whole (loom_biased).
[[ ${NIGHTLY:-} ]] || mapfile -t tests < <(printf '%s\n' "${tests[@]}" | grep -v ' contract_biased$')
((${#tests[@]})) || fail "no crates/*/tests/contract*.rs: nothing would be checked"
seeds=1
models=("")
if [[ ${NIGHTLY:-} ]]; then
    seeds=16
    models=("-Zmiri-num-cpus=4" "-Zmiri-num-cpus=1" "-Zmiri-num-cpus=4 -Zmiri-tree-borrows")
fi
LIBTEST=("$@")
scratch
suite() {
    cargo_tests +nightly miri test -p "$1" --test "$2"
}
for model in "${models[@]}"; do
    for ((seed = 0; seed < seeds; seed++)); do
        # Files and other things of the host are errors that the code must handle anyway.
        export MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-isolation-error=hide -Zmiri-seed=$seed $model"
        echo "MIRIFLAGS=$MIRIFLAGS"
        printf '%s\n' "${tests[@]}" | two_at_a_time suite
    done
done
# Each of these tests runs Miri by itself, on a lock that Miri must stop at.
unset MIRIFLAGS
LIBTEST=(--ignored caught_by_miri)
while read -r package test; do
    cargo_tests test -p "$package" --test "$test"
done < <(tests_named 'miri_*')
