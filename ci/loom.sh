#!/usr/bin/env bash
# The model checker over crates/*/tests/loom_*.rs. With NIGHTLY=1 the models may explore more.
# Arguments go to the tests: ci/loom.sh handoff
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step "$(limit 1200 7200)" "models of the algorithms" "$@"
export RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$TARGET/loom
mapfile -t packages < <(tests_named 'loom_*' | cut -d' ' -f1 | uniq)
((${#packages[@]})) || fail "no crates/*/tests/loom_*.rs: nothing would be checked"
LIBTEST=("$@")
for package in "${packages[@]}"; do
    cargo_tests test --release --no-fail-fast -p "$package" --test 'loom_*'
done
