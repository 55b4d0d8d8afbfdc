#!/usr/bin/env bash
# Runs steps one after another and sums up: ci/run-steps.sh fmt clippy ..
# Ends with "N passed, N failed" (and ", N skipped"); fails if a step failed, or was skipped for a
# reason that is not in ci/allowed-skips.txt. What failed is named again at the end, where one looks first.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
passed=0 failed=0 skipped=0 child='' summary=''
CI_SKIP_FILE=$(mktemp) CI_FAILED_FILE=$(mktemp)
export CI_SKIP_FILE CI_FAILED_FILE
trap 'rm -f "$CI_SKIP_FILE" "$CI_FAILED_FILE"' EXIT
# A step runs in a process group of its own, under timeout, which passes the signal on.
trap '[[ -z $child ]] || kill "$child" 2>/dev/null; exit 130' INT TERM

for step in "$@"; do
    SECONDS=0 code=0
    : >"$CI_SKIP_FILE"
    bash "ci/$step.sh" &
    child=$!
    wait "$child" || code=$?
    child=''
    word=ok
    if ((code == 77)) && allowed_skip "$(<"$CI_SKIP_FILE")"; then
        word=skipped skipped=$((skipped + 1))
    elif ((code == 77)); then
        echo "$step: this skip is not allowed"
        word=FAILED failed=$((failed + 1))
    elif ((code)); then
        word=FAILED failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
    summary+=$(printf '%-8s %5d s  %s' "$word" "$SECONDS" "$step")$'\n'
done

echo
cat "$CI_FAILED_FILE"
printf '%s' "$summary"
result="$passed passed, $failed failed"
((skipped == 0)) || result+=", $skipped skipped"
echo "$result"
((failed == 0))
