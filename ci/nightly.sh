#!/usr/bin/env bash
# The heavy steps: hours, not minutes. Installs Debian packages where it may.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export NIGHTLY=1
exec bash ci/run-steps.sh mutate-orderings loom cpus test-release long miri tsan aarch64 platforms peers-cxx parking_lot dependents torture apps
