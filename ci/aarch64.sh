#!/usr/bin/env bash
# The workspace compiles for 64-bit Arm; with NIGHTLY=1 its contract suite runs there, emulated.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step "$(limit 600 3600)" "builds for aarch64"
target=aarch64-unknown-linux-gnu
need_target "$target"
# A dependency of the command line's compiles C.
checked=(--workspace)
command -v aarch64-linux-gnu-gcc >/dev/null || apt_install gcc-aarch64-linux-gnu libc6-dev-arm64-cross || {
    echo "cannot install the cross compiler: without the command line"
    checked+=(--exclude lockwright-cli)
}
cargo check "${checked[@]}" --all-targets --target "$target"
[[ ${NIGHTLY:-} ]] || exit 0
command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null ||
    apt_install qemu-user ||
    skip "cannot install the cross compiler and the emulator"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
mapfile -t tests < <(tests_named 'contract*')
((${#tests[@]})) || fail "no crates/*/tests/contract*.rs: nothing would be run"
# The emulator ends a forked child that starts a thread (seen with a C program of ten lines).
LIBTEST=(--skip fork)
for test in "${tests[@]}"; do
    cargo_tests test --release --target "$target" -p "${test% *}" --test "${test#* }"
done
