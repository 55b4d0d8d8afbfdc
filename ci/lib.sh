# shellcheck shell=bash
# What every CI step shares. Source it first; it changes to the root of the repository.
#
#   . "$(dirname "$0")/lib.sh"
#   step 600 "what this step does" "$@"     # seconds it may take
#
# Exit codes: 0 ok, 77 skipped (the reason is printed), anything else failed.

set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"
# The checks build more than they run.
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
# Each set of compiler flags gets a directory of its own below this one: steps with different
# flags would otherwise rebuild each other's dependencies.
export TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
# Models and broken locks panic on purpose, and what a failed test says is enough.
export RUST_BACKTRACE=0
export PYTHONDONTWRITEBYTECODE=1 CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never} CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}

# Runs the calling script again under a time limit, and prints what it does and how long it took.
step() {
    local seconds=$1 text=$2
    shift 2
    STEP=$(basename "$0" .sh)
    if [[ ${CI_LIMITED:-} != "$STEP" ]]; then
        CI_LIMITED=$STEP exec timeout --kill-after=10 "$seconds" bash "$ROOT/ci/$STEP.sh" "$@"
    fi
    unset CI_LIMITED
    SECONDS=0
    echo "== $STEP: $text (limit ${seconds} s)"
    trap 'step_end $?' EXIT
    # timeout signals the whole group; bash runs the EXIT trap only when it leaves by itself.
    trap 'exit 124' TERM
}

# The first time limit for every change, the second for the nightly job.
limit() {
    if [[ ${NIGHTLY:-} ]]; then echo "$2"; else echo "$1"; fi
}

step_end() {
    local word=ok
    [[ -z ${SCRATCH:-} ]] || rm -rf "$SCRATCH"
    case $1 in
    0) ;;
    77) word=skipped ;;
    124) word="FAILED (time limit)" ;;
    *) word="FAILED (exit code $1)" ;;
    esac
    echo "== $STEP: $word, ${SECONDS} s"
}

skip() {
    echo "SKIPPED $STEP: $*"
    # For ci/run-steps.sh, which asks whether this reason is allowed.
    [[ -z ${CI_SKIP_FILE:-} ]] || echo "SKIPPED $STEP: $*" >"$CI_SKIP_FILE"
    exit 77
}

# Makes the directory SCRATCH, which is removed when the step ends.
scratch() {
    SCRATCH=$(mktemp -d)
}

fail() {
    echo "$STEP: $*" >&2
    exit 1
}

# The scripts that read Rust need nothing but the standard library of Python 3.8 or later.
need_python() {
    command -v python3 >/dev/null || apt_install python3-minimal || skip "no python3"
}

apt_install() {
    local sudo=()
    command -v apt-get >/dev/null || return 1
    if [[ $(id -u) != 0 ]]; then
        command -v sudo >/dev/null || return 1
        sudo=(sudo -n)
    fi
    "${sudo[@]}" apt-get install -y --no-install-recommends "$@" >/dev/null 2>&1 && return
    "${sudo[@]}" apt-get update >/dev/null 2>&1 || return 1
    "${sudo[@]}" apt-get install -y --no-install-recommends "$@" >/dev/null 2>&1
}

need_target() {
    grep -qx "$1" <<<"$(rustup target list --installed)" && return
    rustup target add "$1" >/dev/null 2>&1 || skip "cannot install target $1"
}

# The nightly toolchain with the components named.
need_nightly() {
    local have c
    grep -q '^nightly' <<<"$(rustup toolchain list)" ||
        rustup toolchain install nightly --profile minimal >/dev/null 2>&1 ||
        skip "cannot install the nightly toolchain"
    have=$(rustup component list --installed --toolchain nightly)
    for c in "$@"; do
        grep -q "^$c" <<<"$have" ||
            rustup component add --toolchain nightly "$c" >/dev/null 2>&1 ||
            skip "cannot install $c for the nightly toolchain"
    done
}

# `package test` for each integration test whose file name matches a pattern: `tests_named 'loom_*'`.
tests_named() {
    local file name
    for file in crates/*/tests/*.rs; do
        # shellcheck disable=SC2053 # a pattern on purpose
        [[ $(basename "$file" .rs) == $1 ]] || continue
        name=$(sed -n 's/^name = "\(.*\)"/\1/p' "${file%%/tests/*}/Cargo.toml" | head -n 1)
        echo "$name $(basename "$file" .rs)"
    done
}

# `cargo "$@"` for a test command without `--`, then totals. LIBTEST holds arguments for the tests.
# A test that cannot run here prints "SKIPPED <test>: <reason>"; it must be on the list of allowed
# skips, and an ignored test must say why it is.
cargo_tests() {
    local log status=0 bad=0 line
    log=$(mktemp)
    # The output of tests that passed is wanted for their SKIPPED lines; its headings are not.
    cargo "$@" -- --show-output ${LIBTEST[@]+"${LIBTEST[@]}"} 2>&1 |
        sed -u '/^successes:$/d' | cat -s | tee "$log" || status=$?
    while IFS= read -r line; do
        allowed_skip "$line" && continue
        echo "$STEP: not on the list of allowed skips: $line"
        bad=1
    done < <(grep '^SKIPPED ' "$log")
    # Documentation examples have no place for a reason.
    if grep -E '^test .* \.\.\. ignored$' "$log" | grep -v ' (line [0-9]*)'; then
        echo "$STEP: ignored without a reason (see above)"
        bad=1
    fi
    awk -v skips="$(grep -c '^SKIPPED ' "$log")" '
        /^test result:/ { passed += $4; failed += $6; ignored += $8 }
        END {
            printf "tests: %d passed, %d failed, %d ignored, %d skipped\n", passed, failed, ignored, skips
            exit passed == 0
        }' "$log" || { echo "$STEP: no test ran"; bad=1; }
    if ((status || bad)); then
        # Each panic of a failed test, after its heading; the name of one that was killed is in cargo's line.
        awk -v step="$STEP" '
            /^test .* FAILED$/ || /^error: (test failed|could not compile)/ || /\(signal: / { print step ": " $0 }
            /^failures:$/ { failures = 1 }
            /^test result:/ { failures = 0 }
            failures && /panicked at/ { lines = 5 }
            lines-- > 0 { print step ":     " $0 }' "$log" >>"${CI_FAILED_FILE:-/dev/null}"
    fi
    rm -f "$log"
    ((status == 0 && bad == 0))
}

# `"$@" package test` for each line `package test` of standard input, two at a time, for what uses one
# CPU; their output one after the other. Needs the directory of `scratch`.
two_at_a_time() {
    local lines line name failed=0
    mapfile -t lines
    for line in "${lines[@]}"; do
        while (($(jobs -rp | wc -l) >= 2)); do wait -n || true; done
        name=${line// /-}
        # shellcheck disable=SC2086 # two words on purpose
        ("$@" $line && touch "$SCRATCH/$name.passed") >"$SCRATCH/$name.log" 2>&1 &
    done
    wait
    for line in "${lines[@]}"; do
        name=${line// /-}
        cat "$SCRATCH/$name.log"
        [[ -e $SCRATCH/$name.passed ]] || failed=1
    done
    rm -f "$SCRATCH"/*.log "$SCRATCH"/*.passed
    ((failed == 0)) || fail "see above"
}

# Whether a line "SKIPPED <name>: <reason>" is in ci/allowed-skips.txt.
allowed_skip() {
    local entry
    while IFS= read -r entry; do
        [[ -z $entry || $entry == \#* ]] && continue
        [[ $1 == "SKIPPED $entry"* ]] && return
    done <"$ROOT/ci/allowed-skips.txt"
    return 1
}
