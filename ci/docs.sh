#!/usr/bin/env bash
# Documentation builds without warnings, and its examples run.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 900 "documentation and its examples"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --lib
cargo test --workspace --doc
