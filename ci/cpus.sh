#!/usr/bin/env bash
# The contract, stress and fault tests as if with other numbers of CPUs: what a lock does with one CPU, two
# and many differs (whether it spins, how many do, whether queues form), and a machine has one number.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step "$(limit 900 3600)" "tests as if with 2, 3 and 16 CPUs"
tests=(--test 'contract*' --test 'stress*' --test 'review_*' --test exhaustion --test life --test once)
# The contract of every policy too.
[[ ! ${NIGHTLY:-} ]] || tests=(--tests)
for LOCKWRIGHT_CPUS in 2 3 16; do
    # ci/test.sh has run them so.
    [[ ${NIGHTLY:-} || $LOCKWRIGHT_CPUS != "$(nproc)" ]] || continue
    export LOCKWRIGHT_CPUS
    echo "as if with $LOCKWRIGHT_CPUS CPUs"
    cargo_tests test -q --no-fail-fast -p lockwright "${tests[@]}"
done
