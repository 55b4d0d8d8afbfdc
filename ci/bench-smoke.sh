#!/usr/bin/env bash
# The benchmarks run: every lock once, for so short that the numbers mean nothing. The program is the one
# that ci/test.sh builds for its tests; the nightly job builds it as users do (ci/test-release.sh).
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 600 "the benchmarks, tiny, every lock once"
need_python
scratch
cargo test -q --workspace --no-run
program=$TARGET/debug/lockwright
bench() {
    local what=$1 file
    shift
    "$program" bench "$what" "$@" --rounds 1 --secs 0.02 \
        --json "$SCRATCH/$what.json" --csv "$SCRATCH/$what.csv" --markdown "$SCRATCH/$what.md"
    python3 -m json.tool "$SCRATCH/$what.json" >/dev/null || fail "$what: the JSON is none"
    for file in "$SCRATCH/$what".*; do
        [[ -s $file ]] || fail "${file##*/} is empty"
    done
}
bench mutex --locks '*' --threads 1,2 --load 1 --outside 0 --events
bench rwlock --locks '*,mutex:lockwright' --threads 1,4 --readers 50 --events
bench patterns --threads 3
bench seq --readers 1 --write-every 1us
"$program" torture --secs 1 --locks 'lockwright*,rwsem-fifo,rwsem-v5.11,std,std-rw' ||
    fail "torture found something"
