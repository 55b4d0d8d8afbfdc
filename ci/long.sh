#!/usr/bin/env bash
# The tests at full counts, the ignored ones too: a million rounds of the unmapped page, 70,000
# threads over the life of a process. Nightly.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 7200 "tests at full counts" "$@"
need_nightly miri rust-src # some ignored tests run Miri
export LOCKWRIGHT_ROUNDS=1000000 LOCKWRIGHT_WATCHDOG_SECS=3600 NIGHTLY=1
[[ " $* " == *" -p "* ]] || set -- --workspace "$@"
LIBTEST=(--include-ignored)
cargo_tests test --release --no-fail-fast --lib --bins --tests "$@"
