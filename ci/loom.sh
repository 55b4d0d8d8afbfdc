#!/usr/bin/env bash
# The model checker over crates/*/tests/loom_*.rs. With NIGHTLY=1 those too that take minutes.
# Arguments go to the tests: ci/loom.sh handoff
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step "$(limit 1200 7200)" "models of the algorithms" "$@"
export RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$TARGET/loom
mapfile -t tests < <(tests_named 'loom_*')
((${#tests[@]})) || fail "no crates/*/tests/loom_*.rs: nothing would be checked"
# Two processes of one thread each: a model maps its stacks anew for each schedule, for which the
# threads of one process wait for each other.
LIBTEST=(--test-threads 1 ${NIGHTLY:+--include-ignored} "$@")
packages=()
for test in "${tests[@]}"; do packages+=(-p "${test% *}"); done
if (($#)); then
    # Few models: not every file has one.
    cargo_tests test --release --no-fail-fast "${packages[@]}" --test 'loom_*'
    exit
fi
cargo test -q --release --no-run "${packages[@]}" --test 'loom_*'
scratch
models() {
    cargo_tests test -q --release --no-fail-fast -p "$1" --test "$2"
}
# The longest file first.
for test in "${tests[@]}"; do
    echo "$(cat crates/*/tests/"${test#* }.rs" | wc -l) $test"
done | sort -rn | cut -d' ' -f2- | two_at_a_time models
