//! `broken::NoRelease` must be reported by Miri. A race ends the interpreter, so no test can
//! expect it from inside: `no_release_races` is the culprit, run by itself and expected to
//! fail, and `no_release_is_caught_by_miri` runs it so where Miri is installed.

use lockwright_contract::{broken::NoRelease, oracle};

/// Two threads, few steps. Under Miri this must end in "Data race detected"; natively x86-64
/// runs it well, which is why stress proves nothing about orderings.
#[test]
#[ignore = "the culprit: must fail under Miri; run by no_release_is_caught_by_miri"]
fn no_release_races() {
    assert_eq!(oracle::exclusion::<NoRelease>(2, 20), Ok(()));
}

#[cfg(not(miri))]
#[test]
#[ignore = "needs `cargo +nightly miri`; run with --ignored --exact no_release_is_caught_by_miri"]
fn no_release_is_caught_by_miri() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let run = std::process::Command::new("cargo")
        .args(["+nightly", "miri", "test", "--manifest-path", manifest])
        .args(["--test", "miri_no_release", "--", "--ignored", "--exact", "no_release_races"])
        .env_remove("RUSTUP_TOOLCHAIN")
        .output()
        .expect("cargo can be started");
    let talk = String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success(), "Miri passed a lock without release ordering");
    assert!(talk.contains("Data race detected"), "Miri failed for another reason:\n{talk}");
}
