#!/usr/bin/env bash
# A compressor with a pool of threads and a queue.
. "$(dirname "$0")/lib.sh"
input 4 >"$D/input"
zstd -q -T8 -5 -B262144 -c "$D/input" >"$D/packed"
sha256sum <"$D/packed"
zstd -q -dc "$D/packed" | cmp - "$D/input" && echo "unpacked as it was"
