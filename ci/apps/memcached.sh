#!/usr/bin/env bash
# A cache with eight threads, with another malloc loaded beside the interposer.
. "$(dirname "$0")/lib.sh"
LD_PRELOAD=${LD_PRELOAD:-}:libjemalloc.so.2 memcached -u "$(id -un)" -s "$D/s" -t 8 -m 64 2>/dev/null &
server=$!
await test -S "$D/s"
grep -q libjemalloc "/proc/$server/maps" || echo "no jemalloc"
plainly python3 "$HERE/memcached.py" "$D/s" "${ROUNDS:-400}"
ended INT
