#!/usr/bin/env bash
# Each weakening of a tagged memory ordering must be killed by the loom models, or be listed with
# a reason in docs/orderings.md. Options and verdicts: ci/mutate_orderings.py --help
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step "${MUTATE_LIMIT:-14400}" "each weakened ordering is noticed by the models" "$@"
need_python
python3 ci/mutate_orderings.py "$@"
