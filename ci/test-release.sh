#!/usr/bin/env bash
# The tests again as users run the code: optimised, without debug assertions. Documentation
# examples are left to ci/test.sh.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# The same code is built a tenth faster without.
export CARGO_PROFILE_RELEASE_DEBUG=none
step 1200 "tests, release build" "$@"
[[ " $* " == *" -p "* ]] || set -- --workspace "$@"
cargo_tests test --release --no-fail-fast --lib --bins --tests "$@"
