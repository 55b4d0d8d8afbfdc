#!/usr/bin/env bash
# Formatting of all Rust code.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 60 "formatting is rustfmt's"
cargo fmt --all --check
for manifest in crates/parking_lot/*/Cargo.toml; do
    cargo fmt --manifest-path "$manifest" -p parking_lot -- --check
done
