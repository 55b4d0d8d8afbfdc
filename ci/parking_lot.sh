#!/usr/bin/env bash
# What parking_lot has, we have by the same names, and its own tests pass, with guards that may be sent and
# with deadlock detection: for 0.12 and 0.13. With NIGHTLY=1 the newest of each, else those that are
# known to pass. Ours beside them: tests of the two features, which exclude each other; programs that
# depend on ours word for word as the documentation says.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
step 900 "parking_lot's names and its own tests"
need_python
scratch
export CARGO_TARGET_DIR=$TARGET/parking_lot
if [[ ${NIGHTLY:-} ]]; then versions=(0.12 0.13); else versions=(=0.12.5 =0.13.0); fi

# The real ones, with all features that do not exclude each other.
mkdir "$SCRATCH/real"
: >"$SCRATCH/real/lib.rs"
cat >"$SCRATCH/real/Cargo.toml" <<TOML
[workspace]
[package]
name = "real"
version = "0.0.0"
edition = "2024"
[lib]
path = "lib.rs"
[dependencies.old]
package = "parking_lot"
version = "${versions[0]}"
features = ["arc_lock", "deadlock_detection", "owning_ref", "serde"]
[dependencies.new]
package = "parking_lot"
version = "${versions[1]}"
features = ["arc_lock", "deadlock_detection", "owning_ref", "serde"]
TOML
features=arc_lock,deadlock_detection,owning_ref,serde

# Programs that depend on ours as the documentation says, from a repository that holds what lies here.
mkdir "$SCRATCH/repository"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    [[ ! -e $file ]] || printf '%s\0' "$file"
done | tar -c --null -T - | tar -x -C "$SCRATCH/repository"
(
    cd "$SCRATCH/repository"
    git init -q
    git add -A
    git -c user.name=ci -c user.email=ci@localhost -c commit.gpgsign=false commit -qm 'what lies here'
)
python3 ci/documented_dependencies.py "$SCRATCH/repository" "$SCRATCH/documented"

# `names DIRECTORY PACKAGE FILE [OPTION ..]`: the public names of a package, into $SCRATCH/FILE.json.
names() {
    local directory=$1 package=$2 file=$3
    shift 3
    (cd "$directory" && RUSTC_BOOTSTRAP=1 cargo rustdoc -q --lib -p "$package" "$@" -- \
        -Zunstable-options --output-format json --cap-lints allow)
    local crate=${package%@*}
    mv "$CARGO_TARGET_DIR/doc/${crate//-/_}.json" "$SCRATCH/$file.json"
}
names . lockwright lockwright --features "lock_api_04,$features"
names . lockwright-locks locks
api() { python3 ci/parking_lot_api.py "$@"; }
metadata=$(cd "$SCRATCH/real" && cargo metadata --format-version 1)
# `real VERSION`: where the sources of the real one are, and its version.
real() {
    python3 -c '
import json, sys
for p in json.load(sys.stdin)["packages"]:
    if p["name"] == "parking_lot" and p["version"].startswith(sys.argv[1] + "."):
        print(p["manifest_path"].rsplit("/", 1)[0], p["version"], ",".join(sorted(p["features"])))
' "$1" <<<"$metadata"
}

for version in 0.12 0.13; do
    read -r sources exact theirs < <(real "$version")
    facade=$ROOT/crates/parking_lot/$version
    ours=$(cd "$facade" && cargo metadata --no-deps --format-version 1 |
        python3 -c 'import json, sys; print(",".join(json.load(sys.stdin)["packages"][0]["features"]))')
    lacks=$(comm -23 <(tr , '\n' <<<"$theirs" | sort) <(tr , '\n' <<<"$ours" | sort))
    [[ -z $lacks ]] || fail "features of parking_lot $exact that ours has not: $lacks"

    names "$SCRATCH/real" "parking_lot@$exact" real
    names "$facade" parking_lot facade --features "$features"
    libraries=("$SCRATCH/lockwright.json" "$SCRATCH/locks.json")
    [[ $version == 0.13 ]] || libraries=("$SCRATCH/lockwright.json::lock_api_04" "${libraries[@]}")
    api "$SCRATCH/real.json" "$SCRATCH/facade.json" "${libraries[@]}"
    api "$SCRATCH/real.json" "$SCRATCH/lockwright.json" "${libraries[@]}"

    own=$SCRATCH/own-$version
    python3 ci/parking_lot_tests.py "$sources" "$own/tests"
    mkdir "$own/src"
    : >"$own/src/lib.rs"
    {
        cat <<TOML
[workspace]
[package]
name = "own-tests"
version = "0.0.0"
edition = "2024"
[features]
deadlock_detection = ["parking_lot/deadlock_detection"]
send_guard = ["parking_lot/send_guard"]
serde = []
[dependencies]
parking_lot = { path = "$facade", features = ["arc_lock", "serde"] }
TOML
        # What its tests are built with.
        sed -n '/^\[dev-dependencies/,/^$/p' "$sources/Cargo.toml"
    } >"$own/Cargo.toml"
    echo "parking_lot $exact, its own tests"
    (
        cd "$own"
        cargo_tests test -q --no-fail-fast --features send_guard,serde
        # With detection on, the tests that are not about it say the same: at night only.
        if [[ ${NIGHTLY:-} ]]; then all=(--no-fail-fast); else all=(--test own_deadlock); fi
        cargo_tests test -q "${all[@]}" --features deadlock_detection,serde
    )
done
cargo_tests test -q -p lockwright --features deadlock_detection --lib --test deadlock
cargo_tests test -q -p lockwright --features send_guard --test send_guard
