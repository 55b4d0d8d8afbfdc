#!/usr/bin/env bash
# The tests again as users run the code: optimised, without debug assertions. Of the crates whose code
# is the locks or runs in step with them; the reports and command lines are the same. Documentation
# examples are left to ci/test.sh.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 1200 "tests, release build" "$@"
[[ " $* " == *" -p "* ]] || set -- --workspace --exclude lockwright-cli --exclude lockwright-lab --exclude lockwright-peers "$@"
cargo_tests test --release --no-fail-fast --lib --bins --tests "$@"
