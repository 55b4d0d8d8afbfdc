#!/usr/bin/env bash
# Tests ci/orderings.sh: good fixtures pass, bad ones are rejected for the reasons they state and
# for no other. A fixture is a file, or a directory whose files are checked together.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 120 "the checker of orderings accepts good code and rejects bad code"
need_python
failures=0 count=0

check() { # complaints of the checker over a fixture; its summary line shows that it ran to the end
    local files=("$1") out
    [[ -d $1 ]] && files=("$1"/*.rs)
    out=$(python3 ci/orderings.py "${files[@]}" 2>&1) || true
    case $(tail -n 1 <<<"$out") in
    orderings:*) sed '$d' <<<"$out" ;;
    *) echo "the checker broke: $out" ;;
    esac
}

complain() {
    failures=$((failures + 1))
    echo "$1: $2"
    [[ -z ${3:-} ]] || echo "$3"
}

for fixture in ci/fixtures/orderings/good/*; do
    count=$((count + 1))
    out=$(check "$fixture")
    [[ -z $out ]] || complain "$fixture" "good code was rejected:" "$out"
done
for fixture in ci/fixtures/orderings/bad/*; do
    count=$((count + 1))
    out=$(check "$fixture")
    want=$(grep -rh '^// expect: ' "$fixture" | sed 's,^// expect: ,,')
    while read -r reason; do
        grep -qF -- "$reason" <<<"$out" || complain "$fixture" "not rejected for '$reason':" "$out"
    done <<<"$want"
    # As many complaints as reasons, so that none has a cause other than the one meant.
    [[ $(wc -l <<<"$out") == $(wc -l <<<"$want") ]] ||
        complain "$fixture" "another number of complaints than of reasons:" "$out"
done
echo "test-orderings: $count fixtures, $failures failures"
((failures == 0))
