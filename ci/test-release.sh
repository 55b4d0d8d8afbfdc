#!/usr/bin/env bash
# The tests again as users run the code: optimised, without debug assertions. Documentation
# examples are left to ci/test.sh; to the nightly job all but the platform, the locks, their Rust door and the
# simulator: the rest is most of what there is to compile.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# The same code is built a tenth faster without.
export CARGO_PROFILE_RELEASE_DEBUG=none
step "$(limit 1200 3600)" "tests, release build" "$@"
if [[ " $* " != *" -p "* ]]; then
    # Programs that tests run.
    cargo build --release -p lockwright --examples
    if [[ ${NIGHTLY:-} ]]; then
        set -- --workspace "$@"
    else
        set -- -p lockwright-platform -p lockwright-locks -p lockwright -p lockwright-sim "$@"
    fi
elif [[ "$* " == *"-p lockwright "* ]]; then
    cargo build --release -p lockwright --examples
fi
cargo_tests test --release --no-fail-fast --lib --bins --tests "$@"
