#!/usr/bin/env bash
# A virtual machine whose collectors, compilers and monitors use mutexes and condition variables.
. "$(dirname "$0")/lib.sh"
cp "$HERE/Work.java" "$D"
plainly javac -d "$D" "$D/Work.java"
for collector in Parallel G1; do
    java -XX:+Use${collector}GC -XX:ParallelGCThreads=4 -Xmx64m -cp "$D" Work
done
