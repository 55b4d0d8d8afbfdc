//! `lockwright bench seq` as its users meet it: exit codes, streams, files.
//!
//! Runs are as short as they can be: what is tested is that figures are there, never how large.

mod support;

use std::fs;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use predicates::prelude::*;
use predicates::str::contains;
use support::{files, interrupted_rounds, one_line_of_failure, only_warnings, refused, stdout};

/// One small cell with a writer.
const SMALL: [&str; 8] =
    ["--readers", "2", "--write-every", "100us", "--secs", "0.005", "--rounds", "2"];

fn bench() -> Command {
    let mut command = Command::new(cargo_bin("lockwright"));
    command.args(["bench", "seq"]);
    command
}

#[test]
fn the_tables_have_all_columns_and_rows() {
    let output = bench().args(SMALL).arg("--ci").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    for word in [
        "2 readers, a write every 100us",
        "ns/read",
        "kreads/s",
        "ratio to seqlock-crate",
        "95%-interval",
        "retries",
        "torn",
        "w-p50",
        "w-max",
        "none",
        "full-barriers",
        "seqcount",
        "seqlock",
        "seqlatch",
        "seqlock-crate",
        "std-rw",
        "parking_lot-rw",
        "arc-swap",
        "faults per second: 2 clients, a write every 100us",
        "faults/s",
        "share%",
        "seqcount-2012",
        "a section with full barriers takes",
        "4.53% with barriers",
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "control characters:\n{text}");
}

#[test]
fn the_default_cells_are_all_there() {
    let output = bench()
        .args(["--locks", "seqcount", "--no-faults", "--rounds", "1", "--secs", "0.002"])
        .args(["--json", "-", "--quiet"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(only_warnings(&String::from_utf8_lossy(&output.stderr)), "{output:?}");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["record"], "bench-seq");
    assert_eq!(value["plan"]["baseline"], serde_json::Value::Null);
    assert_eq!(value["arms"].as_array().unwrap().len(), 1);
    let cells: Vec<_> = value["cells"].as_array().unwrap().iter().map(key).collect();
    for every in [None, Some(10_000_000), Some(100_000), Some(1_000)] {
        for readers in [1, 2, 4, 8] {
            assert!(cells.contains(&(readers, every)), "{cells:?}");
        }
    }
}

fn key(cell: &serde_json::Value) -> (u64, Option<u64>) {
    let params = &cell["params"];
    (params["readers"].as_u64().unwrap(), params["write_every_ns"].as_u64())
}

#[test]
fn files_are_written_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    bench()
        .args(SMALL)
        .args(["--locks", "seqlock,none", "--quiet"])
        .args(["--json".into(), path("r.json"), "--csv".into(), path("r.csv")])
        .args(["--markdown".into(), path("r.md"), "-o".into(), path("r.txt")])
        .assert()
        .success()
        .stdout("")
        .stderr(predicate::function(only_warnings));
    assert_eq!(files(folder.path()), ["r.csv", "r.json", "r.md", "r.txt"]);
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(path("r.json")).unwrap()).unwrap();
    assert_eq!(json["schema_version"], 2);
    assert_eq!(json["complete"], true);
    assert!(json["machine"]["pause_ns"].as_f64().unwrap() > 0.0);
    let (arms, samples) = (json["arms"].as_array().unwrap(), json["samples"].as_array().unwrap());
    assert_eq!(samples.len(), 2 * (2 + 4));
    let arm = |sample: &serde_json::Value| &arms[sample["arm"].as_u64().unwrap() as usize]["name"];
    let own = samples.iter().find(|s| s["cell"] == 0 && arm(s) == "seqlock").unwrap();
    assert_eq!((&own["values"]["torn"], own["faults"].is_array()), (&(0.0).into(), false));
    assert_eq!(own["thread_ops"].as_array().unwrap().len(), 2);
    // The allocator runs under every protection, but only what was chosen is read.
    let read = samples.iter().filter(|s| s["cell"] == 0).map(arm);
    assert!(read.into_iter().all(|name| name == "seqlock" || name == "none"));
    let mut csv = csv::Reader::from_path(path("r.csv")).unwrap();
    assert_eq!(csv.records().map(Result::unwrap).count(), 2 + 4);
    assert!(fs::read_to_string(path("r.md")).unwrap().contains("| ns/read"));
    assert!(fs::read_to_string(path("r.txt")).unwrap().contains("2 clients"));
}

#[test]
fn wrong_arguments_are_refused() {
    refused(
        bench().args(["--locks", "seqlok"]),
        "unknown lock 'seqlok'; did you mean 'seqlock'? known: std-rw",
    );
    refused(bench().args(["--locks", ""]), "the list is empty");
    refused(bench().args(["--baseline", "nobody"]), "unknown lock 'nobody'");
    refused(bench().args(["--baseline", "seq*"]), "--baseline takes one");
    refused(bench().args(["--readers", "0"]), "0 is out of bounds");
    refused(bench().args(["--readers", "1,x"]), "no whole number");
    refused(bench().args(["--write-every", "5"]), "such as 500ns, 1us");
    refused(bench().args(["--write-every", "1h"]), "such as 500ns, 1us");
    refused(bench().args(["--rounds", "0"]), "--rounds");
    refused(bench().args(["--secs", "0"]), "--secs");
    refused(bench().args(["--no-reads", "--no-faults"]), "cannot be used");
    refused(bench().args(["--json", "-", "--csv", "-"]), "two reports");
    let folder = tempfile::tempdir().unwrap();
    let mut command = bench();
    command.args(["--secs", "3600", "-o"]).arg(folder.path());
    refused(command.timeout(Duration::from_secs(60)), "cannot write");
    assert!(files(folder.path()).is_empty());
}

#[test]
fn threads_that_cannot_be_started_are_the_system_s_fault() {
    // The address space has no room for so many stacks, but, when one does not fit any more, for
    // all that the threads that did start ask for.
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -v 4194304 && RUST_MIN_STACK=536870912 exec \"$0\" \"$@\""])
        .arg(cargo_bin("lockwright"))
        .args(["bench", "seq", "--locks", "seqlock", "--readers", "9", "--quiet"]);
    let refused = contains("threads: ").and(predicate::function(one_line_of_failure));
    command.assert().code(3).stdout("").stderr(refused);
}

#[test]
fn an_interrupted_run_keeps_its_results() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let arguments = [
        "bench",
        "seq",
        "--locks",
        "seqlock",
        "--readers",
        "1",
        "--write-every",
        "never",
        "--secs",
        "0.005",
        "--rounds",
        "100000",
        "--json",
        file.to_str().unwrap(),
    ];
    interrupted_rounds(&file, &arguments);
}

#[test]
fn what_can_be_compared_is_listed() {
    let rows = contains("seqlock ").and(contains("peer")).and(contains("study-object"));
    bench().arg("--list").assert().success().stderr("").stdout(rows);
}

#[test]
fn the_allocator_runs_alone() {
    let output = bench().args(SMALL).arg("--no-reads").output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text.contains("faults/s") && !text.contains("ns/read"), "{text}");
}

#[test]
fn help_has_exit_codes_and_ends_with_examples() {
    let output = bench().arg("--help").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(text.contains("Exit codes:") && text.contains("130"), "{text}");
    let last = text.trim_end().lines().last().unwrap();
    assert!(last.trim_start().starts_with("lockwright bench seq"), "{last}");
}
