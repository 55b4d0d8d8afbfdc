#!/usr/bin/env bash
# The algorithms need no standard library: they build for a target that has none. (thumbv7m, the
# usual choice, has no 64-bit atomics.)
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 300 "lockwright-locks without a standard library"
need_target aarch64-unknown-none
cargo build -p lockwright-locks --target aarch64-unknown-none --no-default-features
cargo build -p lockwright-locks --target aarch64-unknown-none
