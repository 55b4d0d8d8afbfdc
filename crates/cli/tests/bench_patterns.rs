//! `lockwright bench patterns` as its users meet it.
//!
//! Runs are as short as they can be: what is tested is that figures are there, never how large.

mod support;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use support::{refused, stdout};

fn bench() -> Command {
    let mut command = Command::new(cargo_bin("lockwright"));
    command.args(["bench", "patterns"]);
    command
}

#[test]
fn every_pattern_has_its_tables_and_the_locks_that_fit() {
    let output = bench()
        .args(["--secs", "0.01", "--rounds", "1", "--json", "-"])
        .args(["--locks", "lockwright,std,pthread_adaptive,lockwright-rw,std-rw"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let (arms, cells) = (json["arms"].as_array().unwrap(), json["cells"].as_array().unwrap());
    let patterns = ["guest", "turns", "queue", "pool", "burst", "map", "stall", "crowd"];
    for pattern in patterns {
        assert!(cells.iter().any(|cell| cell["params"]["pattern"] == pattern), "{pattern}");
    }
    let samples = json["samples"].as_array().unwrap();
    let in_cell = |at: usize| {
        let own = samples.iter().filter(move |sample| sample["cell"] == at);
        own.map(|sample| arms[sample["arm"].as_u64().unwrap() as usize]["name"].as_str().unwrap())
    };
    for (at, cell) in cells.iter().enumerate() {
        let mut names: Vec<_> = in_cell(at).collect();
        names.sort_unstable();
        let wanted: &[&str] = match (cell["kind"].as_str().unwrap(), &cell["params"]["lock"]) {
            // It has no condition variable of its own.
            ("turns" | "queue", _) => &["lockwright", "std"],
            (_, lock) if lock == "rwlock" => &["lockwright-rw", "std-rw"],
            _ => &["lockwright", "pthread_adaptive", "std"],
        };
        assert_eq!(names, wanted, "{cell}");
    }
}

#[test]
fn a_guest_s_table_has_waits_rate_and_cpu_time() {
    let output = bench()
        .args(["guest", "--secs", "0.02", "--rounds", "2", "--locks", "std,usync"])
        .args(["--threads", "1", "--every", "1ms", "--load", "5"])
        .output()
        .unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for word in [
        "guest: a mutex, one comes every 1.00ms among 1 hog",
        "p50",
        "p99",
        "p99.9",
        "max",
        "kops/s",
        "CPU-us",
        "vol/Mop",
        "std",
        "usync",
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    refused(bench().arg("guests"), "guests");
    refused(bench().args(["turns", "--every", "1ms"]), "--every: none of these patterns uses it");
    refused(bench().args(["guest", "--every", "soon"]), "'soon' is no time");
    refused(bench().args(["turns", "--locks", "std-rw"]), "std-rw fits none of these patterns");
    refused(bench().args(["--locks", "stdd"]), "did you mean 'std'?");
    refused(bench().args(["crowd", "--threads", "0"]), "out of bounds");
}
