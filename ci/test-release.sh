#!/usr/bin/env bash
# The tests again as users run the code: optimised, without debug assertions. Documentation
# examples are left to ci/test.sh; the laboratory and the command line, most of what there is to
# compile, to the nightly job, and to ci/bench-smoke.sh, which runs their release build.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# The same code is built a tenth faster without.
export CARGO_PROFILE_RELEASE_DEBUG=none
step "$(limit 1200 3600)" "tests, release build" "$@"
if [[ " $* " != *" -p "* ]]; then
    [[ ${NIGHTLY:-} ]] || set -- --exclude lockwright-lab --exclude lockwright-cli "$@"
    set -- --workspace "$@"
fi
# Programs that tests run.
[[ $* == *"-p "* && $* != *"-p lockwright "* ]] || cargo build --release -p lockwright --examples
cargo_tests test --release --no-fail-fast --lib --bins --tests "$@"
