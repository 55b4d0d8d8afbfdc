#!/usr/bin/env bash
# ThreadSanitizer over the stress tests (crates/*/tests/stress*.rs), the standard library rebuilt
# with it. It knows no fences: code may substitute operations it knows under `cfg(tsan)`.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 3600 "stress tests under ThreadSanitizer" "$@"
need_nightly rust-src
mapfile -t tests < <(tests_named 'stress*')
((${#tests[@]})) || fail "no crates/*/tests/stress*.rs: nothing would be checked"
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="-Zsanitizer=thread --cfg tsan" CARGO_TARGET_DIR=$TARGET/tsan
export TSAN_OPTIONS="halt_on_error=1 ${TSAN_OPTIONS:-}"
LIBTEST=("$@")
for test in "${tests[@]}"; do
    cargo_tests +nightly test -Zbuild-std --target "$host" -p "${test% *}" --test "${test#* }"
done
