#!/usr/bin/env bash
# Real programs of Debian, started and driven: each as it is, under `lockwright run` and under `lockwright stat`.
# What they print and how they end must be the same, and the statistics must show that their locks were ours.
# `ci/apps.sh NAME..` tries these alone.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step "$(limit 300 900)" "programs of Debian do the same under lockwright as without" "$@"
need_python

# Each program, and the package that has it; the second list at night only.
declare -A package=(
    [pigz]='pigz' [redis]='redis-tools' [memcached]='memcached libjemalloc2' [tls]='python3 openssl' [sysbench]='sysbench'
    [xz]='xz-utils' [zstd]='zstd' [nginx]='nginx-light curl' [mariadb]='mariadb-server-core mariadb-client-core'
    [java]='default-jdk-headless'
)
names=(pigz redis memcached tls)
[[ -z ${NIGHTLY:-} ]] || names+=(sysbench xz zstd nginx mariadb java)
(($# == 0)) || names=("$@")

missing=()
for name in "${names[@]}"; do
    for one in ${package[$name]}; do
        [[ $(dpkg-query -Wf '${Status}' "$one" 2>/dev/null) == *' installed' ]] || missing+=("$one")
    done
done
# Without the services that some come with, where the init system asks for its policy.
((${#missing[@]} == 0)) || RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt_install "${missing[@]}" ||
    skip "cannot install ${missing[*]}"

cargo build -q --release -p lockwright-preload
cargo build -q -p lockwright-cli
lockwright=$TARGET/debug/lockwright
export LOCKWRIGHT_PRELOAD=$TARGET/release/liblockwright_preload.so
scratch

# `attempt NAME HOW PREFIX..`: output and exit code into NAME.HOW.
attempt() {
    local name=$1 how=$2 code=0
    shift 2
    "$@" timeout 120 bash "ci/apps/$name.sh" >"$SCRATCH/$name.$how" 2>"$SCRATCH/$name.$how.err" </dev/null || code=$?
    echo "exit code $code" >>"$SCRATCH/$name.$how"
}

# Acquisitions of mutexes that were waited for, of such reader-writer locks, and waits for condition variables.
counts() {
    python3 - "$1" <<'P'
import json, sys

report = json.load(open(sys.argv[1]))
sums = {"mutex": 0, "rwlock": 0}
for lock in report["locks"]:
    kind = lock["kind"].split("-")[0]
    sums[kind] = sums.get(kind, 0) + (lock["acquisitions"] or 0)
print(sums["mutex"], sums["rwlock"], report["events"].get("cond_wait", 0))
P
}

mutexes=0 rwlocks=0 conds=0 bad=0
for name in "${names[@]}"; do
    began=$SECONDS
    attempt "$name" plain
    if [[ $(tail -n 1 "$SCRATCH/$name.plain") != 'exit code 0' ]]; then
        cat "$SCRATCH/$name.plain" "$SCRATCH/$name.plain.err" >&2
        fail "$name does not run without lockwright either"
    fi
    attempt "$name" run "$lockwright" run --
    # Whether threads meet is a matter of luck on an idle machine.
    for try in 1 2 3; do
        attempt "$name" stat "$lockwright" stat -n 1000 -j -o "$SCRATCH/$name.json" --
        read -r mutex rwlock cond < <(counts "$SCRATCH/$name.json")
        ((mutex + rwlock == 0)) || break
    done
    word=same
    for how in run stat; do
        cmp -s "$SCRATCH/$name.plain" "$SCRATCH/$name.$how" && continue
        echo "$name: under 'lockwright $how' it is another:"
        diff "$SCRATCH/$name.plain" "$SCRATCH/$name.$how" || true
        cat "$SCRATCH/$name.$how.err"
        word=OTHER bad=1
    done
    ((mutex + rwlock + cond > 0)) || { echo "$name: no sign of lockwright"; bad=1; }
    printf '%-10s %s results; acquired in contended mutexes %d times, rwlocks %d; %d waits for condition variables (%d s)\n' \
        "$name" "$word" "$mutex" "$rwlock" "$cond" $((SECONDS - began))
    mutexes=$((mutexes + mutex)) rwlocks=$((rwlocks + rwlock)) conds=$((conds + cond))
done
((bad == 0)) || fail "see above"
(($# > 0)) || ((mutexes > 0 && rwlocks > 0 && conds > 0)) ||
    fail "not every kind of lock was seen: mutexes $mutexes, rwlocks $rwlocks, condition variables $conds"
