//! The finding of 2012 from outside, through commands that know nothing of this project: a lock that is handed
//! over strictly first in, first out to threads that sleep, against one that may be stolen.
//!
//! Steps are judged by their switches, which differ by far more than who else is on the machine can change.

mod support;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use support::{compiled, stdout};

/// The program under each lock.
fn turns() -> [String; 2] {
    let program = compiled("turns", include_str!("turns.c"), &[]);
    ["steal", "fifo"].map(|lock| format!("{} {lock}", program.display()))
}

fn lockwright(arguments: &[&str]) -> String {
    let output = Command::new(cargo_bin("lockwright")).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    stdout(&output)
}

#[test]
fn two_commands_show_the_finding() {
    let [steal, fifo] = turns();
    let by_switches = ["-q", "-r", "6", "--metric", "voluntary_switches"];
    let text = lockwright(
        &[&["compare"][..], &by_switches, &["-n", "steal", "-n", "fifo", &steal, &fifo]].concat(),
    );
    let line = |beginning: &str| text.lines().find(|line| line.starts_with(beginning));
    let switches = line("voluntary").unwrap_or_else(|| panic!("{text}"));
    // "x77.1": so many times as many.
    let ratio = switches.split_whitespace().find_map(|word| word.strip_prefix('x')?.parse().ok());
    assert!(switches.ends_with("worse") && ratio.is_some_and(|ratio: f64| ratio > 3.2), "{text}");
    assert!(text.contains("fifo is worse than steal: voluntary"), "{text}");
    // The run queues, and the CPUs that are idle beside them.
    assert!(text.contains("run queues: share of the time"), "{text}");
    let idle = line("fifo ").and_then(|line| line.split_whitespace().last()?.parse::<f64>().ok());
    assert!(idle.is_some(), "{text}");
}

#[test]
fn bisection_names_the_command_at_which_it_came() {
    let [steal, fifo] = turns();
    let by_switches = ["-q", "--metric", "voluntary_switches", "--stable", "90%"];
    let text =
        lockwright(&[&["bisect"][..], &by_switches, &[&steal, &steal, &fifo, &fifo]].concat());
    assert!(text.contains(&format!("first bad step: 3: {fifo}, with probability")), "{text}");
    assert!(text.contains(&format!("against 2: {steal}, measured again: voluntary")), "{text}");
}
