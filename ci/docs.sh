#!/usr/bin/env bash
# Documentation, whose examples ci/test.sh runs, builds without warnings, here and as the documentation site
# builds it; packages hold README and licences.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 900 "documentation; what packages hold"
need_python
metadata=$(cargo metadata --no-deps --format-version 1)
as_the_site=$(python3 ci/packages.py crates/parking_lot/*/Cargo.toml <<<"$metadata")
export RUSTDOCFLAGS="-D warnings"
cargo doc --workspace --no-deps --lib
while IFS=$'\t' read -r package features; do
    cargo doc -q -p "$package" --no-deps --lib --features "$features"
done <<<"$as_the_site"
