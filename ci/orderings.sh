#!/usr/bin/env bash
# Every memory ordering has a comment that names its pair: ci/orderings.sh [file.rs ..]
# Without arguments: all files under the rule, and the rows of docs/orderings.md.
args=()
for file in "$@"; do args+=("$(realpath "$file")"); done
set -- "${args[@]}"
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Not under the rule, and why:
#   tests, tests.rs   test code waits by joining threads
#   word.rs           passes the caller's ordering through; the caller's site is the one tagged
#   model.rs, model/  orders of the model checker's own bookkeeping, all SeqCst, never shipped
mapfile -t all < <(find crates/{locks,platform,capi,preload}/src -name '*.rs' \
    -not -path '*/tests/*' -not -name 'tests.rs' -not -name '*_tests.rs' \
    -not -path '*/platform/src/word.rs' \
    -not -path '*/model/*' -not -name 'model.rs' | sort)

step 60 "each memory ordering names its pair" "$@"
need_python
if (($#)); then
    # Edges may cross files, so the others give context; fixtures stand alone.
    context=()
    [[ $* == *crates/* ]] && context=("${all[@]}")
    python3 ci/orderings.py "$@" --all "${context[@]}"
else
    python3 ci/orderings.py "${all[@]}"
    python3 ci/mutate_orderings.py --check-rows
fi
