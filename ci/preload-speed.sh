#!/usr/bin/env bash
# How fast a C program's locks are as they are, under `lockwright run` and under `lockwright stat`: a table for
# docs/operators.md. It measures, and judges nothing: for a quiet machine, in no job. `ci/preload-speed.sh KIND..`
# measures these kinds of crates/preload/benches/speed.c alone.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 3600 "the speed of a C program's locks, as they are and taken over" "$@"
need_python
scratch
RUNS=${RUNS:-8}
cargo build -q --release -p lockwright-preload -p lockwright-cli
lockwright=$TARGET/release/lockwright
export LOCKWRIGHT_PRELOAD=$TARGET/release/liblockwright_preload.so
"${CC:-cc}" -O2 -pthread -o "$SCRATCH/speed" crates/preload/benches/speed.c

# Rounds that take about a second.
declare -A rounds=(
    [alone]=60000000 [readers]=40000000 [mutex]=600000 [short]=4000000 [map]=4000000 [rwlock]=4000000 [queue]=200000
)
kinds=(alone readers mutex short map rwlock queue)
(($# == 0)) || kinds=("$@")
echo "| | plain s | run | stat | stat to run | longest wait: plain us | run us |"
echo "|---|---|---|---|---|---|---|"
for kind in "${kinds[@]}"; do
    speed="$SCRATCH/speed $kind ${rounds[$kind]}"
    "$lockwright" compare -q -r "$RUNS" -n plain -n run -n stat --json "$SCRATCH/$kind.json" -o /dev/null \
        "$speed" "$lockwright run -- $speed" "$lockwright stat -o /dev/null -- $speed"
    : >"$SCRATCH/waits.plain"
    : >"$SCRATCH/waits.run"
    for ((i = 0; i < RUNS; i++)); do
        $speed waits >>"$SCRATCH/waits.plain"
        "$lockwright" run -- $speed waits >>"$SCRATCH/waits.run"
    done
    python3 - "$kind" "$SCRATCH" <<'P'
import json, pathlib, statistics, sys

kind, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
record = json.loads((scratch / f"{kind}.json").read_text())
names = [arm["name"] for arm in record["arms"]]
walls = {name: [] for name in names}
for sample in record["samples"]:
    walls[names[sample["arm"]]].append(sample["elapsed_s"])
plain, run, stat = (statistics.median(walls[name]) for name in ("plain", "run", "stat"))
waits = []
for how in ("plain", "run"):
    figures = [float(line) for line in (scratch / f"waits.{how}").read_text().split()]
    waits.append(f"{statistics.median(figures):.0f}" if figures else "-")
print(f"| {kind} | {plain:.3f} | {plain / run:.3f} | {plain / stat:.3f} | {stat / run:.3f} | {' | '.join(waits)} |")
P
done
echo "run, stat: times plain's throughput, by the medians of $RUNS runs of whole commands in turns; waits: medians of each run's longest."
