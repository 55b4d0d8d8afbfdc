#!/usr/bin/env bash
# The foreign C++ locks (abseil, nsync, oneTBB) build and run in the benchmark. Nightly.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 900 "the C++ peers build and run"
command -v c++ >/dev/null || apt_install g++ || skip "cannot install a C++ compiler"
dpkg -s libabsl-dev libnsync-dev libtbb-dev pkg-config >/dev/null 2>&1 ||
    apt_install libabsl-dev libnsync-dev libtbb-dev pkg-config ||
    skip "cannot install libabsl-dev, libnsync-dev, libtbb-dev"
cargo test --release -p lockwright-peers --features peers-cxx
cargo run -q --release --features peers-cxx -- bench mutex --threads 2 --load 1 --outside 0 \
    --rounds 1 --secs 0.02
cargo run -q --release --features peers-cxx -- bench rwlock --threads 2 --load 1 --outside 0 \
    --readers 50 --rounds 1 --secs 0.02
