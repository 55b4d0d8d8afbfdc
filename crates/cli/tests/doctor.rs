//! `lockwright doctor` as a user meets it.

mod support;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use support::{refused, stdout};

fn doctor() -> Command {
    let mut command = Command::cargo_bin("lockwright").unwrap();
    command.arg("doctor");
    command
}

#[test]
fn it_tells_of_each_thing_and_ends_well() {
    let output = doctor().assert().success().stderr("").get_output().clone();
    let text = stdout(&output);
    for name in ["CPUs", "membarrier", "rseq", "futex hash", "clock", "timer slack", "preemption"] {
        assert!(text.contains(name), "{name} is missing in:\n{text}");
    }
}

/// What the environment takes away is found missing.
#[test]
#[cfg(target_env = "gnu")]
fn it_sees_what_is_missing() {
    let without = |name: &str, value: &str, line: &str| {
        doctor().env(name, value).assert().success().stdout(contains(line));
    };
    without("LOCKWRIGHT_MEMBARRIER", "off", "costs membarrier   not in use");
    without("GLIBC_TUNABLES", "glibc.pthread.rseq=0", "costs rseq         not registered");
}

#[test]
fn its_json_has_the_machine_and_the_findings() {
    let output = doctor().arg("--json").assert().success().stderr("").get_output().clone();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["machine"]["cpus_allowed"].as_u64().is_some_and(|cpus| cpus > 0));
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.len() > 5);
    for finding in findings {
        assert!(["ok", "costs", "note"].contains(&finding["grade"].as_str().unwrap()));
        assert!(finding["meaning"].as_str().is_some_and(|meaning| meaning.ends_with('.')));
    }
}

#[test]
fn wrong_usage_is_one_line() {
    refused(doctor().arg("--frobnicate"), "--frobnicate");
    refused(doctor().arg("now"), "now");
    doctor().arg("--help").assert().success().stdout(predicate::str::contains("Exit codes:"));
}
