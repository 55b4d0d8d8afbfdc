#!/usr/bin/env bash
# The tests of real crates pass with our locks in place of parking_lot's, as they do with the real ones.
# Arguments choose crates: ci/dependents.sh tokio dashmap
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 7200 "tests of crates that use parking_lot, with ours in its place" "$@"
need_python
scratch
export SCRATCH CARGO_TARGET_DIR=$TARGET/dependents
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0
python3 ci/dependents.py "$@"
