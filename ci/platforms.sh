#!/usr/bin/env bash
# Where there is no glibc on Linux: the crate compiles for Windows, macOS, 32-bit Linux and musl; its contract
# suite passes on musl, and on the portable platform (here by --cfg lockwright_portable); a target
# that cannot be supported is told so by one error. With NIGHTLY=1 all tests of locks and platform, the
# portable one with other numbers of CPUs too.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step "$(limit 900 5400)" "other systems, and the portable platform"
features=lock_api_04,serde,owning_ref
for target in x86_64-pc-windows-gnu aarch64-apple-darwin i686-unknown-linux-gnu x86_64-unknown-linux-musl; do
    need_target "$target"
    echo "for $target"
    RUSTFLAGS="-D warnings" cargo check -q -p lockwright --features "$features" --target "$target"
done
need_target x86_64-unknown-none
errors=$(cargo check -q -p lockwright --target x86_64-unknown-none 2>&1) &&
    fail "a target without a standard library compiles"
[[ $(grep -c '^error' <<<"$errors") == 2 && $errors == *"choose std::sync's locks there"* ]] ||
    fail "a target that cannot be supported must be told so, and no more: $errors"

if [[ ${NIGHTLY:-} ]]; then
    tests=(-p lockwright -p lockwright-platform -p lockwright-locks --lib --tests)
    on_musl=("${tests[@]}") counts=("" 1 3 16)
else
    tests=(-p lockwright --test contract --test contract_rwlock --test once)
    # There the platform is the native one, and the C library another.
    on_musl=(-p lockwright --test contract_rwlock --test once) counts=("")
fi
cargo_tests test -q --no-fail-fast --target x86_64-unknown-linux-musl "${on_musl[@]}"
export RUSTFLAGS="--cfg lockwright_portable" CARGO_TARGET_DIR=$TARGET/portable
for LOCKWRIGHT_CPUS in "${counts[@]}"; do
    export LOCKWRIGHT_CPUS
    echo "portable${LOCKWRIGHT_CPUS:+, as if with $LOCKWRIGHT_CPUS CPUs}"
    cargo_tests test -q --no-fail-fast "${tests[@]}"
done
