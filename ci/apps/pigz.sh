#!/usr/bin/env bash
# A compressor: threads hand blocks to each other by mutexes and condition variables.
. "$(dirname "$0")/lib.sh"
input "${SIZE:-1}" >"$D/input"
pigz -nT -p 8 -b 32 -c "$D/input" >"$D/packed"
sha256sum <"$D/packed"
pigz -p 8 -dc "$D/packed" | cmp - "$D/input" && echo "unpacked as it was"
