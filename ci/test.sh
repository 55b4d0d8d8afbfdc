#!/usr/bin/env bash
# The tests of the workspace, documentation examples included. This is the README's test command;
# arguments go to cargo: ci/test.sh -p lockwright-locks
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 1200 "tests, debug build" "$@"
[[ " $* " == *" -p "* ]] || set -- --workspace "$@"
cargo_tests test --no-fail-fast "$@"
