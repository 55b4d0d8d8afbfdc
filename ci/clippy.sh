#!/usr/bin/env bash
# Lints of all targets; any warning fails.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 900 "no warnings of the compiler or of clippy"
cargo clippy --workspace --all-targets --keep-going -- -D warnings
