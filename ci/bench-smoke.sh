#!/usr/bin/env bash
# The benchmark runs: every lock once, for so short that the numbers mean nothing.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 600 "the benchmark, tiny, every lock once"
need_python
scratch
cargo run -q --release -- bench mutex --threads 1,2 --load 1 --outside 0 --rounds 1 --secs 0.02 \
    --json "$SCRATCH/bench.json" --csv "$SCRATCH/bench.csv" --markdown "$SCRATCH/bench.md"
python3 -m json.tool "$SCRATCH/bench.json" >/dev/null || fail "the JSON is none"
for file in "$SCRATCH"/bench.*; do
    [[ -s $file ]] || fail "${file##*/} is empty"
done
