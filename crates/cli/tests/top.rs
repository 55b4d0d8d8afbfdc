//! `lockwright top` where there is no terminal.
#![cfg(not(any(loom, miri)))]

mod support;

use std::fs;
use std::process::Stdio;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use predicates::prelude::*;
use predicates::str::contains;
use support::{Running, one_line, refused, stdout};

#[test]
fn without_a_terminal_each_interval_is_a_table() {
    let program = Running::start();
    let metrics = program.runtime.path().join("metrics");
    let arguments = ["-n", "3", "-d", "0.3", "--metrics", metrics.to_str().unwrap()];
    let output = program.look(&[&["top", &program.pid], &arguments[..]].concat()).output().unwrap();
    let text = stdout(&output);
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{text}");
    assert_eq!(text.lines().filter(|line| line.ends_with(" s")).count(), 3, "{text}");
    let last = text.rsplit(" s\n").next().unwrap();
    let mut lines = last.lines();
    assert!(lines.next().unwrap().split_whitespace().eq([
        "lock",
        "kind",
        "inst",
        "acq",
        "cont",
        "cont%",
        "wait",
        "avg",
        "p99",
        "max",
        "spin%",
        "owner-chg",
        "waiters"
    ]));
    assert!(lines.any(|line| line.trim().starts_with("hottest ")), "{text}");
    let metrics = fs::read_to_string(metrics).unwrap();
    assert!(
        metrics.contains("lockwright_lock_wait_seconds_total{lock=\"hottest\",kind=\"mutex\"}")
    );
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
}

#[test]
fn it_ends_when_the_process_does_and_shows_what_came_last() {
    let mut program = Running::start();
    let mut top = std::process::Command::new(cargo_bin("lockwright"))
        .env("XDG_RUNTIME_DIR", program.runtime.path())
        .args(["top", &program.pid, "-d", "0.2", "-F", "acq,wait", "-k", "acq", "--total"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = std::io::BufReader::new(top.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("hottest") {
        assert!(std::io::BufRead::read_line(&mut reader, &mut text).unwrap() > 0, "{text}");
    }
    program.end();
    std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
    assert_eq!(top.wait().unwrap().code(), Some(0), "{text}");
}

#[test]
fn a_reader_that_leaves_ends_it() {
    let program = Running::start();
    let mut top = std::process::Command::new(cargo_bin("lockwright"))
        .env("XDG_RUNTIME_DIR", program.runtime.path())
        .args(["top", &program.pid, "-d", "0.1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(top.stdout.take());
    assert_eq!(top.wait().unwrap().code(), Some(0));
}

#[test]
fn what_cannot_be_watched_is_one_line() {
    let runtime = tempfile::tempdir().unwrap();
    let top = |pid: &str| {
        let mut command = Command::cargo_bin("lockwright").unwrap();
        command.env("XDG_RUNTIME_DIR", runtime.path()).args(["top", pid]);
        command
    };
    for (pid, why) in
        [("2147483647", "no process"), (&std::process::id().to_string(), "has no statistics")]
    {
        let one = contains(why).and(predicate::function(one_line));
        top(pid).assert().code(3).stdout("").stderr(one);
    }
    for (pid, why) in [
        ("0", "0 is not in"),
        ("-1", "unexpected"),
        ("server", "invalid"),
        ("99999999999", "not in"),
    ] {
        refused(&mut top(pid), why);
    }
    refused(Command::cargo_bin("lockwright").unwrap().arg("top"), "required");
}
