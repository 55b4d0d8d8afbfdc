#!/usr/bin/env bash
# A few mutexes that eight threads fight for.
. "$(dirname "$0")/lib.sh"
events() { sysbench "$@" run | sed -n 's/ *total number of events: *//p'; }
events mutex --threads=8 --mutex-num=4 --mutex-locks=20000 --mutex-loops=50
events threads --threads=8 --thread-locks=1 --thread-yields=20 --events=4000 --time=0
