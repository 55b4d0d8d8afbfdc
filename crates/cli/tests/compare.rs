//! `lockwright compare` as its users meet it: commands, files, locks, verdicts, exit codes.
//!
//! Commands are judged by their memory, which does not depend on who else is on the machine.

mod support;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use predicates::prelude::*;
use predicates::str::contains;
use support::{files, only_warnings, refused, stdout};

fn compare() -> Command {
    let mut command = Command::new(cargo_bin("lockwright"));
    command.arg("compare");
    command
}

/// Two commands, one of which takes ten times the memory.
const LARGER: [&str; 8] = ["-q", "-r", "6", "-w0", "--metric", "peak_bytes", SMALL, LARGE];
const SMALL: &str = "dd if=/dev/zero of=/dev/null bs=4M count=1";
const LARGE: &str = "dd if=/dev/zero of=/dev/null bs=64M count=1";

/// A file of a short run of one lock.
fn measured(folder: &Path, name: &str, more: &[&str]) -> String {
    let file = folder.join(name).to_str().unwrap().to_owned();
    let status = Command::new(cargo_bin("lockwright"))
        .args(["bench", "--locks", "std", "--threads", "2", "--load", "5"])
        .args(["--rounds", "6", "-q", "-o", "/dev/null", "--json", &file])
        .args(if more.contains(&"--secs") { &[] } else { &["--secs", "0.01"][..] })
        .args(more)
        .output()
        .unwrap()
        .status;
    assert!(status.success());
    file
}

/// A result with all run times of throughput multiplied: a regression that is known.
fn slowed(from: &str, to: &Path, times: f64) -> String {
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(from).unwrap()).unwrap();
    for sample in json["samples"].as_array_mut().unwrap() {
        sample["elapsed_s"] = (sample["elapsed_s"].as_f64().unwrap() * times).into();
    }
    fs::write(to, serde_json::to_vec(&json).unwrap()).unwrap();
    to.to_str().unwrap().to_owned()
}

/// A result in which every run of an arm in a cell is the first of them, but for a breath.
fn calmed(from: &str, to: &Path) -> String {
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(from).unwrap()).unwrap();
    let samples = json["samples"].as_array_mut().unwrap();
    for at in 0..samples.len() {
        let like = |other: &serde_json::Value| {
            other["arm"] == samples[at]["arm"] && other["cell"] == samples[at]["cell"]
        };
        let first = samples.iter().position(like).unwrap();
        let (round, mut sample) = (samples[at]["round"].clone(), samples[first].clone());
        let elapsed = sample["elapsed_s"].as_f64().unwrap();
        sample["elapsed_s"] = (elapsed * (1.0 + 1e-4 * round.as_f64().unwrap())).into();
        sample["round"] = round;
        samples[at] = sample;
    }
    fs::write(to, serde_json::to_vec(&json).unwrap()).unwrap();
    to.to_str().unwrap().to_owned()
}

#[test]
fn a_larger_command_is_worse_and_the_system_s_figures_are_there() {
    let output = compare().args(LARGER).output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // Lines are broken between words.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in [
        "wall",
        "user",
        "system",
        "CPU%",
        "voluntary",
        "involuntary",
        "minor faults",
        "peak memory",
        "worse",
        &format!("{LARGE} is worse than {SMALL}"),
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
}

#[test]
fn a_regression_beyond_the_limit_has_an_exit_code_of_its_own() {
    compare()
        .args(LARGER)
        .args(["--fail-on", "5%"])
        .assert()
        .code(4)
        .stderr(contains("1 worse by at least 5.0 %"));
    let smaller =
        ["-q", "-r", "6", "-w0", "--metric", "peak_bytes", "--fail-on", "5%", LARGE, SMALL];
    compare().args(smaller).assert().code(0).stdout(contains("better"));
}

#[test]
fn layouts_are_those_of_other_tools() {
    for (layout, words) in [
        (
            "lkp",
            &["%stddev", "%change", "time.elapsed_time", "time.voluntary_context_switches"][..],
        ),
        ("benchstat", &["vs base", "n=6", "± "]),
        ("hyperfine", &["Benchmark 1: dd", "Time (mean ± σ)", "times faster than dd"]),
    ] {
        let output = compare().args(LARGER).args(["--layout", layout]).output().unwrap();
        let text = stdout(&output);
        assert!(words.iter().all(|word| text.contains(word)), "{layout}:\n{text}");
    }
}

#[test]
fn runs_are_kept_and_exported_for_other_tools() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    compare()
        .args(LARGER)
        .args(["-n", "old", "-n", "new", "-o", "/dev/null"])
        .args(["--json".into(), path("r.json"), "--csv".into(), path("r.csv")])
        .args(["--benchstat".into(), path("go.txt"), "--bmf".into(), path("bmf.json")])
        .args(["--otava".into(), path("otava.csv")])
        .assert()
        .success()
        .stderr(predicate::function(only_warnings));
    assert_eq!(files(folder.path()), ["bmf.json", "go.txt", "otava.csv", "r.csv", "r.json"]);
    let read = |name: &str| fs::read_to_string(path(name)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("r.json")).unwrap();
    assert_eq!(json["samples"].as_array().unwrap().len(), 12);
    assert_eq!(json["verdicts"][0]["verdict"], "worse");
    let order: Vec<_> =
        json["samples"].as_array().unwrap().iter().map(|s| s["arm"].as_u64().unwrap()).collect();
    assert_eq!(order[..8], [0, 1, 1, 0, 0, 1, 1, 0], "in turns, there and back");
    assert_eq!(read("go.txt").lines().filter(|line| line.ends_with("sec/op")).count(), 12);
    let bmf: serde_json::Value = serde_json::from_str(&read("bmf.json")).unwrap();
    assert!(bmf["new: commands"]["peak_bytes"]["value"].as_f64().unwrap() > 6e7);
    assert_eq!(csv::Reader::from_path(path("otava.csv")).unwrap().records().count(), 6);
    assert_eq!(csv::Reader::from_path(path("r.csv")).unwrap().records().count(), 1);
}

#[test]
fn files_are_joined_and_a_known_regression_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let old = measured(folder.path(), "raw.json", &["--no-uncontended"]);
    let old = calmed(&old, &folder.path().join("old.json"));
    let new = slowed(&old, &folder.path().join("new.json"), 1.25);
    let output = compare().args([&old, &new, "--fail-on", "5%"]).output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(text.contains("-20.0%") && text.contains("worse"), "{text}");
    // Several bases are one, with all their runs.
    let output =
        compare().args(["--base", &old, "--base", &old, &old, "--json", "-"]).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let verdict = &json["verdicts"][0];
    assert_eq!((&verdict["base_runs"], &verdict["runs"]), (&12.into(), &6.into()));
    assert_eq!(verdict["verdict"], "same");
}

#[test]
fn results_of_different_machines_are_not_compared_without_being_told() {
    let folder = tempfile::tempdir().unwrap();
    let old = measured(folder.path(), "old.json", &[]);
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&old).unwrap()).unwrap();
    json["machine"]["kernel"] = "Linux 2.4".into();
    let other = folder.path().join("other.json");
    fs::write(&other, serde_json::to_vec(&json).unwrap()).unwrap();
    let other = other.to_str().unwrap();
    refused(compare().args([&old, other]), "different machines (kernel: Linux");
    compare().args([&old, other, "--force"]).assert().code(0).stderr(contains("kernel: Linux"));
}

#[test]
fn what_differs_beside_what_is_compared_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let old = measured(folder.path(), "old.json", &[]);
    let new = measured(folder.path(), "new.json", &["--secs", "0.02", "--no-uncontended"]);
    let assert = compare().args([&old, &new]).assert().code(0);
    assert.stderr(contains("settings are in both").and(contains("not as long")));
}

#[test]
fn locks_are_compared_on_a_workload() {
    let output = compare()
        .args([
            "--locks",
            "std,pthread",
            "--threads",
            "2",
            "--secs",
            "0.01",
            "-r",
            "4",
            "-w0",
            "-q",
        ])
        .output()
        .unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        text.contains("base: std; other: pthread")
            && text.contains("run queues")
            && text.contains("idle CPUs"),
        "{text}"
    );
    let output = compare()
        .args(["--locks", "lockwright,rwsem-fifo", "--workload", "forks", "--threads", "4"])
        .args(["--secs", "0.02", "-r", "3", "-w0", "-q"])
        .output()
        .unwrap();
    assert!(stdout(&output).contains("forks: 4 threads of work"), "{output:?}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    refused(compare().arg("sleep 1"), "what is to be compared?");
    refused(compare().args(["a.json", "sleep 1"]), "files and commands");
    refused(
        compare().args(["/no/a.json", "/no/b.json"]),
        "/no/a.json: cannot read it: No such file",
    );
    refused(compare().args(["true", "true"]), "'true' is there twice");
    refused(compare().args(["--locks", "std"]), "two locks or more");
    refused(compare().args(["--locks", "std,nolock"]), "unknown lock 'nolock'");
    refused(
        compare().args(["--locks", "std,pthread_adaptive", "--workload", "turns"]),
        "does not fit",
    );
    refused(compare().args(["a", "b", "--fail-on", "lots"]), "'lots' is no share");
    refused(compare().args(["--base", "a", "--base", "b"]), "nothing is left");
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old.json");
    for (text, why) in [
        (&b"{\"schema_version\": 1}"[..], "schema version 1"),
        (&b"{"[..], "no result of lockwright"),
    ] {
        fs::write(&old, text).unwrap();
        let old = old.to_str().unwrap();
        refused(compare().args([old, old]), why);
    }
}

#[test]
fn a_command_that_fails_is_said_so() {
    let failing = ["-q", "-r", "2", "-w0", "true", "exit 3"];
    compare()
        .args(failing)
        .assert()
        .code(3)
        .stderr(contains("'exit 3': it ended with exit code 3"));
    compare().args(failing).arg("--ignore-failure").assert().code(0);
    let prepared = ["-q", "-r", "2", "-w0", "--prepare", "exit 4", "true", "true "];
    compare().args(prepared).assert().code(3).stderr(contains("before each run"));
}
