//! `lockwright bench rwlock` and `lockwright policies` as their users meet them.
//!
//! Runs are as short as they can be: what is tested is that figures are there, never how large.

mod support;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use support::{refused, stdout};

/// One small cell.
const SMALL: [&str; 8] = ["--threads", "2", "--readers", "50", "--secs", "0.005", "--rounds", "2"];

fn bench() -> Command {
    let mut command = Command::new(cargo_bin("lockwright"));
    command.args(["bench", "rwlock"]);
    command
}

#[test]
fn the_tables_have_all_columns_and_the_peers() {
    let output = bench().args(SMALL).arg("--ci").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    for word in [
        "2 threads, 50 % reads, load 20",
        "per read lock",
        "per write lock",
        "ns/pair",
        "kops/s",
        "95%-interval",
        "reads/thr",
        "writes/thr",
        "Jain",
        "vol/Mop",
        "lockwright-rw",
        "lockwright-biased",
        "\nlockwright ",
        "std-rw",
        "parking_lot-rw",
        "usync-rw",
        "pthread-rw",
        "crossbeam-rw",
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
}

#[test]
fn policies_are_compared_by_name_and_show_their_events() {
    let args =
        ["--locks", "rwsem-v5.3,lockwright", "--threads", "4", "--events", "--no-uncontended"];
    let output = bench()
        .args(args)
        .args(["--readers", "50", "--secs", "0.05", "--rounds", "2"])
        .output()
        .unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text.contains("rwsem-v5.3") && text.contains("lockwright-rw"), "{text}");
    assert!(text.contains("rwsem_"), "no events:\n{text}");
    assert!(!text.contains("parking_lot"), "{text}");
}

#[test]
fn dedicated_threads_keep_to_their_roles() {
    let output = bench()
        .args(SMALL)
        .args(["--dedicated", "--locks", "lockwright", "--json", "-", "--no-uncontended"])
        .output()
        .unwrap();
    let text = stdout(&output);
    let json: serde_json::Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    assert_eq!(json["record"], "bench-rwlock");
    for sample in json["samples"].as_array().unwrap() {
        assert_eq!(sample["thread_roles"], serde_json::json!(["reads", "writes"]));
        assert_eq!(sample["thread_reads"][0], sample["thread_ops"][0]);
        assert_eq!(sample["thread_reads"][1], 0);
    }
}

#[test]
fn blocks_hold_whole_numbers_of_reads() {
    let run = |blocks, readers| {
        let args = [blocks, "--readers", readers, "--locks", "lockwright", "--no-uncontended"];
        bench().args(SMALL).args(args).output().unwrap()
    };
    let output = run("--blocks", "60");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(stdout(&output).contains("60 % reads in blocks of 100"), "{output:?}");
    assert!(stdout(&run("--blocks=64", "50")).contains("in blocks of 64"));
    for (blocks, readers, what) in [
        ("--blocks", "99.9", "99.9 % of a block of 100 sections is no whole number"),
        ("--blocks=64", "30", "30 % of a block of 64 sections is no whole number"),
        ("--blocks=0", "50", "0 is not in 1..=1000000"),
    ] {
        let output = run(blocks, readers);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(what), "{said}");
    }
}

#[test]
fn seldom_writes_are_a_fraction_of_a_percent_and_the_bias_shows() {
    let output = bench()
        .args(["--locks", "lockwright-biased", "--readers", "99.99", "--threads", "2"])
        .args(["--secs", "0.1", "--rounds", "1", "--load", "1", "--events", "--no-uncontended"])
        .output()
        .unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for word in ["99.99 % reads", "lockwright-biased", "rwsem_bias_on"] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
}

#[test]
fn a_lock_that_lets_everybody_in_is_condemned() {
    let broken = ["--include-broken", "--locks", "broken-no-exclusion", "--load", "200"];
    let output = bench()
        .args(broken)
        .args(["--readers", "50", "--threads", "4", "--secs", "0.2", "--rounds", "1"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(talk.contains("let a writer in beside others"), "{talk}");
}

#[test]
fn bad_input_is_refused_in_one_line() {
    for (args, word) in [
        (&["--locks", "nolock"][..], "nolock"),
        (&["--locks", "rwsem-v9"][..], "rwsem-v9"),
        (&["--readers", "101"][..], "101"),
        (&["--readers", "99.x"][..], "99.x"),
        (&["--readers", "99.99999"][..], "decimals"),
        (&["--readers", ""][..], "percentage"),
        (&["--threads", "0"][..], "0 is out of bounds"),
        (&["--locks", ""][..], "empty"),
    ] {
        refused(bench().args(args), word);
    }
}

#[test]
fn policies_are_listed() {
    let output = Command::new(cargo_bin("lockwright")).arg("policies").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    for word in ["rwsem-v5.3", "rwsem-v5.11", "lockwright-rw", "lockwright-biased", "handoff_ns"] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
}
