//! `lockwright bench mutex` as its users meet it: exit codes, streams, files.
//!
//! Runs are as short as they can be: what is tested is that figures are there, never how large.

mod support;

use std::fs;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use predicates::prelude::*;
use predicates::str::contains;
use support::{
    files, interrupted, interrupted_rounds, one_line_of_failure, only_warnings, refused, stdout,
};

/// One small cell.
const SMALL: [&str; 8] = ["--threads", "2", "--load", "1", "--secs", "0.005", "--rounds", "2"];

fn bench() -> Command {
    let mut command = Command::new(cargo_bin("lockwright"));
    command.arg("bench");
    command
}

#[test]
fn the_table_has_all_columns() {
    let output = bench().args(SMALL).arg("--latency").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    for word in [
        "uncontended",
        "ns/pair",
        "kops/s",
        "CV%",
        "ratio",
        "Jain",
        "least",
        "CPU-us",
        "vol/Mop",
        "inv/Mop",
        "p50",
        "p99",
        "p99.9",
        "max",
        "PAUSE",
        "2 threads, load 1",
        "std",
        "parking_lot",
        "usync",
        "pthread",
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "control characters:\n{text}");
}

#[test]
fn bench_alone_is_bench_mutex() {
    let output = bench().arg("mutex").args(SMALL).args(["--locks", "std"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(stdout(&output).contains("2 threads, load 1"));
}

#[test]
fn options_may_stand_before_what_is_compared() {
    let output = bench().args(SMALL).args(["--locks", "std", "mutex"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn the_default_cells_are_all_there() {
    let output = bench()
        .args(["--locks", "std", "--rounds", "1", "--secs", "0.002", "--json", "-", "--quiet"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(only_warnings(&String::from_utf8_lossy(&output.stderr)), "{output:?}");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells: Vec<_> = value["cells"].as_array().unwrap()[1..].iter().map(key).collect();
    for threads in [2, 8, 32] {
        for load in [1, 20, 100] {
            assert!(cells.contains(&(threads, load, 0)), "{cells:?}");
        }
    }
    assert!(cells.contains(&(8, 20, 20)), "{cells:?}");
    assert_eq!(value["cells"][0]["kind"], "uncontended");
    assert_eq!(value["figures"][0]["arm"], "std");
}

fn key(cell: &serde_json::Value) -> (u64, u64, u64) {
    let number = |key: &str| cell["params"][key].as_u64().unwrap();
    (number("threads"), number("load_pauses"), number("outside_pauses"))
}

#[test]
fn files_are_written_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    bench()
        .args(SMALL)
        .args(["--locks", "std,pthread", "--burst", "4:1000", "--outside", "0", "--quiet"])
        .args(["--json".into(), path("r.json"), "--csv".into(), path("r.csv")])
        .args(["--markdown".into(), path("r.md"), "-o".into(), path("r.txt")])
        .args(["--openmetrics".into(), path("r.om")])
        .assert()
        .success()
        .stdout("")
        .stderr(predicate::function(only_warnings));
    assert_eq!(files(folder.path()), ["r.csv", "r.json", "r.md", "r.om", "r.txt"]);
    let metrics = fs::read_to_string(path("r.om")).unwrap();
    assert!(metrics.contains("arm=\"pthread\"") && metrics.ends_with("# EOF\n"), "{metrics}");
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(path("r.json")).unwrap()).unwrap();
    assert_eq!(json["schema_version"], 2);
    assert_eq!(json["complete"], true);
    assert!(json["machine"]["pause_ns"].as_f64().unwrap() > 0.0);
    assert!(json["command_line"].as_array().unwrap().iter().any(|arg| arg == "--burst"));
    assert_eq!(json["cells"].as_array().unwrap().len(), 3);
    let samples = json["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 2 * 3 * 2);
    let sample = samples.iter().find(|sample| sample["cell"] == 1).unwrap();
    assert_eq!(sample["thread_ops"].as_array().unwrap().len(), 2);
    let mut csv = csv::Reader::from_path(path("r.csv")).unwrap();
    assert_eq!(csv.records().map(Result::unwrap).count(), 2 + 4);
    assert!(fs::read_to_string(path("r.md")).unwrap().contains("| kops/s"));
    assert!(fs::read_to_string(path("r.txt")).unwrap().contains("bursts of 4"));
}

#[test]
fn an_unknown_lock_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    refused(
        bench().args(["--locks", "std,parkinglot", "--json"]).arg(&file),
        "unknown lock 'parkinglot'; did you mean 'parking_lot'? known: ",
    );
    refused(bench().args(["--baseline", "nobody"]), "unknown lock 'nobody'");
    refused(bench().args(["--locks", "broken-no-exclusion"]), "unknown lock");
    assert!(files(folder.path()).is_empty());
}

#[test]
fn wrong_numbers_are_refused() {
    refused(bench().args(["--threads", "0"]), "0 is out of bounds: 1 to 16384");
    refused(bench().args(["--threads", "2000000"]), "2000000 is out of bounds");
    refused(bench().args(["--threads", "2,x"]), "'x' is no whole number");
    refused(bench().args(["--metrics", "speed"]), "unknown figure 'speed'; known: kops_per_s");
    refused(bench().args(["--threads", ""]), "--threads");
    refused(bench().args(["--locks", ""]), "the list is empty");
    refused(bench().args(["--load", "-1"]), "-1");
    refused(bench().args(["--rounds", "0"]), "--rounds");
    refused(bench().args(["--secs", "0"]), "--secs");
    refused(bench().args(["--burst", "64"]), "OPS:NS");
    refused(bench().args(["--nonsense"]), "--nonsense");
    refused(bench().arg("rwlocks"), "rwlocks");
}

#[test]
fn unwritable_output_is_refused_before_measuring() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good.json");
    let bad = folder.path().join("missing").join("r.csv");
    // Without the check this run would take an hour.
    let mut command = bench();
    command.args(["--secs", "3600", "--json"]).arg(&good).arg("--csv").arg(&bad);
    refused(command.timeout(Duration::from_secs(60)), "cannot write");
    refused(bench().args(["--secs", "3600", "-o"]).arg(folder.path()), "cannot write");
    refused(bench().args(["--json", "-", "--csv", "-"]), "two reports");
    assert!(files(folder.path()).is_empty());
}

#[test]
fn threads_that_cannot_be_started_are_the_system_s_fault() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    // The address space has no room for so many stacks, but, when one does not fit any more, for
    // all that the threads that did start ask for.
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -v 4194304 && RUST_MIN_STACK=536870912 exec \"$0\" \"$@\""])
        .arg(cargo_bin("lockwright"))
        .args(["bench", "--locks", "std", "--threads", "9", "--quiet", "--json"])
        .arg(&file);
    let refused = contains("cannot start 9 threads").and(predicate::function(one_line_of_failure));
    command.assert().code(3).stdout(contains("INTERRUPTED")).stderr(refused);
    // The uncontended run came before, and is kept.
    let json: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(json["complete"], false);
    assert_eq!(json["samples"].as_array().unwrap().len(), 1);
}

#[test]
fn a_lock_that_does_not_exclude_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    bench()
        .args(["--include-broken", "--locks", "std,broken-no-exclusion", "--threads", "4"])
        .args(["--load", "200", "--secs", "0.3", "--rounds", "3", "--quiet", "--json"])
        .arg(&file)
        .assert()
        .code(1)
        .stdout(contains("broken-no-exclusion"))
        .stderr(
            contains("broken-no-exclusion is broken: lost updates")
                .and(contains("std is broken").not()),
        );
    let json: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let faults = json["samples"].as_array().unwrap().iter().filter(|s| s["faults"].is_array());
    assert!(faults.clone().count() > 0 && faults.into_iter().all(|s| s["arm"] == 1), "{json}");
}

#[test]
fn an_interrupted_run_keeps_its_results() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let name = file.to_str().unwrap();
    let arguments = [
        "bench",
        "--locks",
        "std",
        "--threads",
        "2",
        "--load",
        "1",
        "--secs",
        "0.005",
        "--rounds",
        "100000",
        "--json",
        name,
    ];
    interrupted_rounds(&file, &arguments);
    assert_eq!(files(folder.path()), ["r.json"]);
}

#[test]
fn an_interrupt_does_not_wait_for_the_round() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let arguments = [
        "bench",
        "--locks",
        "std",
        "--threads",
        "2",
        "--load",
        "1",
        "--secs",
        "3600",
        "--no-uncontended",
        "--json",
        file.to_str().unwrap(),
    ];
    let began = Instant::now();
    let output = interrupted(&arguments, Duration::from_secs(2));
    assert!(began.elapsed() < Duration::from_secs(1_800));
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(files(folder.path()).is_empty());
}

/// Colours would be lost on whoever asks for none, and in files; there are none, and progress fits the line.
#[test]
fn on_a_terminal_nothing_is_coloured() {
    let program = cargo_bin("lockwright").display().to_string();
    let line = format!("stty cols 80; {program} bench {} --locks std", SMALL.join(" "));
    for no_color in ["", "1"] {
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm-256color");
        let output = script.env("NO_COLOR", no_color).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = stdout(&output);
        assert!(text.contains("% ") && text.contains(" left"), "no progress was shown: {text}");
        assert!(!text.contains("\x1b[3") && !text.contains("\x1b[1m"), "{text:?}");
        let drawn = text.split("\x1b[2K").flat_map(|text| text.split(['\r', '\n']));
        let mut bars = drawn.filter(|line| line.contains(" left  "));
        assert!(bars.all(|line| line.chars().count() <= 80), "{text:?}");
    }
}

#[test]
fn a_baseline_is_measured_and_referred_to() {
    let output = bench()
        .args(SMALL)
        .args(["--locks", "std", "--baseline", "pthread", "--ci"])
        .output()
        .unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for word in ["ratio to pthread", "95%-interval"] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
}

#[test]
fn locks_are_listed() {
    bench()
        .arg("--list")
        .assert()
        .success()
        .stderr("")
        .stdout(contains("std ").and(contains("blocking-peer")).and(contains("broken").not()));
}

#[test]
fn a_pattern_takes_all_that_begin_so() {
    let output = bench().args(SMALL).args(["--locks", "p*", "--no-uncontended"]).output().unwrap();
    let text = stdout(&output);
    assert!(text.contains("pthread") && text.contains("parking_lot"), "{text}");
    assert!(!text.contains("usync") && !text.contains("uncontended:"), "{text}");
}

#[test]
fn help_has_exit_codes_and_ends_with_examples() {
    for arguments in [&["--help"][..], &["mutex", "--help"]] {
        let output = bench().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let text = stdout(&output);
        assert!(text.contains("Exit codes:") && text.contains("130"), "{text}");
        let last = text.trim_end().lines().last().unwrap();
        assert!(last.trim_start().starts_with("lockwright bench"), "{last}");
    }
}

#[test]
fn an_older_result_is_compared_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.json");
    let run = |more: &[&str]| {
        let mut command = bench();
        command.args(["--threads", "2", "--load", "1", "--secs", "0.02", "--rounds", "3"]);
        command.args(["--locks", "std,lockwright", "--quiet"]).args(more);
        command
    };
    let name = path.to_str().unwrap();
    run(&["--json", name, "-o", "/dev/null"]).assert().success();
    let output = run(&["--baseline", name]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    assert!(text.contains("throughput: lockwright "), "a sentence to quote:\n{text}");
    let against = format!("against {name}:");
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain.contains(&format!("{against} 4 comparisons:")), "{text}");
    for line in text.lines().filter(|line| !line.contains(name)) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_baseline_that_cannot_be_compared_with_is_refused_before_measuring() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let refuses = |path: &std::path::Path, why: &str| {
        refused(bench().arg("--baseline").arg(path), why);
    };
    refuses(&folder.path().join("missing.json"), "cannot read it");
    refuses(&file("broken.json", "{"), "no result of lockwright");
    refuses(&file("old.json", "{\"schema_version\": 1}"), "schema version 1");
    let path = folder.path().join("own.json");
    let small = ["--locks", "std", "--no-uncontended", "--quiet", "-o", "/dev/null", "--json"];
    bench().args(SMALL).args(small).arg(&path).assert().success();
    let text = fs::read_to_string(&path).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    bench()
        .args(["--locks", "pthread", "--no-uncontended", "--baseline"])
        .arg(&path)
        .assert()
        .code(2)
        .stderr(contains("in common"));
    value["machine"]["kernel"] = "Minix".into();
    refuses(&file("foreign.json", &value.to_string()), "of another machine");
}
