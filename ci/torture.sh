#!/usr/bin/env bash
# Every lock and policy under torture for a minute, with the machine's CPUs and as if there were 64;
# and every lock that is broken on purpose, which must be caught within ten seconds.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 14400 "torture: a minute for each lock and policy, ten seconds for each broken one"
cargo build -q --release
program=$TARGET/release/lockwright
"$program" torture --secs 60 --cpus 0,64 --verbose || fail "torture found something"
while read -r name _; do
    SECONDS_BEFORE=$SECONDS
    if "$program" torture --locks "$name" --secs 10; then
        fail "$name is broken, and torture says SUCCESS"
    fi
    ((SECONDS - SECONDS_BEFORE <= 10)) || fail "$name took $((SECONDS - SECONDS_BEFORE)) s to be caught"
done < <("$program" torture --list | grep '^broken-')
# Queues parted by domain all the time: what can go wrong there needs forks, exits and time-outs as well.
for domains in 2 4 8; do
    LOCKWRIGHT_TOPOLOGY=threads:$domains LOCKWRIGHT_NUMA=on,batch=5,idle_ms=0 \
        "$program" torture --locks 'lockwright-kernel,lockwright,rwsem-v5.*' --secs 60 --cpus 16 --verbose ||
        fail "torture of queues in $domains domains found something"
done
