# shellcheck shell=bash
# What the programs of ci/apps.sh share. Each prints what must be the same whoever's locks it runs on.
set -euo pipefail
export LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
HERE=$(dirname "${BASH_SOURCE[0]}")
export HERE
D=$(mktemp -d)
server=''
trap '[[ -z $server ]] || kill -KILL "$server" 2>/dev/null; rm -rf "$D"' EXIT

# Runs a command that drives the program, with the C library's locks.
plainly() {
    env -u LD_PRELOAD "$@"
}

# Waits until a command succeeds.
await() {
    local i
    for ((i = 0; i < 600; i++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    echo "the server does not answer" >&2
    exit 1
}

# Ends the server, and prints how.
ended() {
    local code=0
    kill -"$1" "$server" 2>/dev/null || true
    wait "$server" || code=$?
    server=''
    echo "the server ended with $code"
}

# Something to compress: of all kinds, the same each time.
input() {
    head -qc 12000000 /usr/bin/python3 /usr/bin/git /usr/lib/*/libc.so.6 /usr/lib/*/libstdc++.so.6 2>/dev/null >"$D/part" || true
    for ((i = 0; i < ${1:-1}; i++)); do cat "$D/part"; done
}
