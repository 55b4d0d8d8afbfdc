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
