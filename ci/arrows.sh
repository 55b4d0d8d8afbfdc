#!/usr/bin/env bash
# Crates depend on each other in the directions of the architecture, and `unsafe` stands only
# where it may. The tables are at the top of ci/arrows.py.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 120 "directions of dependencies, places of unsafe code"
need_python
metadata=$(cargo metadata --no-deps --format-version 1)
python3 ci/arrows.py <<<"$metadata"
