#!/usr/bin/env bash
# A server with threads for input and output, each stopped and let go by a mutex; jemalloc inside.
. "$(dirname "$0")/lib.sh"
# Another name of the same program in Debian's redis-tools: no service is installed for it.
(exec -a redis-server redis-check-rdb --port 0 --unixsocket "$D/s" --io-threads 4 --io-threads-do-reads yes \
    --save '' --appendonly no --daemonize no >/dev/null) &
server=$!
client=(plainly redis-cli -s "$D/s")
await "${client[@]}" ping
load() { plainly redis-benchmark -s "$D/s" --threads 4 -c 40 -P 8 -q "$@" >/dev/null; }
load -n "${REQUESTS:-10000}" incr counter
load -n "${REQUESTS:-10000}" lpush list value
"${client[@]}" get counter
"${client[@]}" llen list
"${client[@]}" flushall async
ended TERM
