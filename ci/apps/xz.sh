#!/usr/bin/env bash
# A compressor whose threads sleep on condition variables with time-outs.
. "$(dirname "$0")/lib.sh"
input >"$D/input"
xz -T8 -1 --block-size=256KiB -c "$D/input" >"$D/packed"
sha256sum <"$D/packed"
xz -T8 -dc "$D/packed" | cmp - "$D/input" && echo "unpacked as it was"
