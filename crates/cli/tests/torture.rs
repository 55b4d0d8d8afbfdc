//! `lockwright torture` as its users meet it.

mod support;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use predicates::prelude::*;
use predicates::str::contains;
use support::{refused, stdout};

fn torture() -> Command {
    let mut command = Command::new(cargo_bin("lockwright"));
    command.arg("torture");
    command
}

#[test]
fn a_lock_that_works_survives_and_says_so_in_locktorture_s_words() {
    let output = torture()
        .args(["--locks", "lockwright,lockwright-rw,std", "--secs", "1", "--verbose"])
        .output()
        .unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for word in [
        "lockwright-torture: Creating ",
        "lockwright-torture: Writes:  Total: ",
        "lockwright-rw-torture: Reads :  Total: ",
        "Fail: 0 ",
        "lockwright-torture:--- End of test: SUCCESS: nwriters_stress=",
        "signals",
        "stops",
        "births",
        "forks",
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
    assert_eq!(text.lines().last(), Some("End of test: SUCCESS: 3 runs of 3 locks, seed 1"));
}

/// Every lock that is broken on purpose, and what it is caught for.
#[test]
fn every_broken_lock_is_caught() {
    let listed = stdout(&torture().arg("--list").output().unwrap());
    let broken: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| name.starts_with("broken-"))
        .collect();
    assert!(broken.len() >= 10, "{broken:?}");
    let output = torture()
        .args(["--locks", "broken-*", "--secs", "10", "--stall-secs", "2"])
        .output()
        .unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("End of test: FAILURE: "), "{last}");
    for name in broken {
        assert!(last.contains(name), "{name} was not caught: {last}");
        assert!(text.contains(&format!("{name}-torture: !!! ")), "{name}: no reason:\n{text}");
    }
}

#[test]
fn a_thread_that_starves_while_others_pass_is_caught() {
    let args = ["--locks", "broken-outcast", "--secs", "10", "--stutter", "0"];
    let output = torture().args(args).args(["--starvation-secs", "2"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = stdout(&output);
    assert!(text.contains("broken-outcast-torture: !!! starvation: "), "{text}");
}

#[test]
fn a_pretended_number_of_cpus_is_a_run_of_its_own() {
    let args = ["--locks", "lockwright", "--secs", "1", "--cpus", "1,16"];
    torture().args(args).assert().code(0).stdout(contains("SUCCESS: 2 runs of 1 locks"));
}

/// Queues of spinners that are parted by domain all the time, under forks, signals, time-outs and threads that end.
#[test]
fn queues_that_part_survive_too() {
    for domains in [2, 4, 8] {
        let output = torture()
            .args(["--locks", "lockwright-kernel,rwsem-v5.3", "--secs", "1", "--cpus", "16"])
            .args(["--nwriters-stress", "12", "--nreaders-stress", "4", "--verbose"])
            .env("LOCKWRIGHT_TOPOLOGY", format!("threads:{domains}"))
            .env("LOCKWRIGHT_NUMA", "on,batch=5,idle_ms=0")
            .output()
            .unwrap();
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{domains} domains: {output:?}");
        assert_eq!(text.matches(" partings of queues").count(), 2, "{domains} domains:\n{text}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    refused(torture().args(["--locks", "nolock"]), "unknown lock 'nolock'");
    refused(torture().args(["--secs", "0"]), "--secs");
    refused(torture().args(["--cpus", "99999"]), "out of bounds");
    refused(torture().args(["--nested-locks", "9"]), "--nested-locks");
    torture().arg("--list").assert().code(0).stdout(contains("std ").and(contains("broken-touch")));
}

#[test]
fn threads_that_cannot_be_started_are_the_system_s_refusal_and_no_fault_of_the_lock() {
    // A stack for each of 10,000 threads does not fit into this much address space.
    let mut command = Command::new("prlimit");
    command
        .args(["--as=2000000000", "--"])
        .arg(cargo_bin("lockwright"))
        .args(["torture", "--locks", "std", "--secs", "1", "--nwriters-stress", "10000"])
        .assert()
        .code(3)
        .stderr(contains("cannot start 10000 threads"));
}
