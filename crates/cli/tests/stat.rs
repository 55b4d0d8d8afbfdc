//! `lockwright stat`: a program whose hot locks are known, and files that lie.
#![cfg(not(any(loom, miri)))]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::{Mutex, PoisonError};

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use support::{Planted, compiled, hot, interposer, one_line, refused};

fn stat(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("lockwright").unwrap();
    command.env("LOCKWRIGHT_PRELOAD", interposer()).arg("stat").args(arguments);
    command
}

/// The report of a run of the program, with more arguments. One at a time: beside others, threads wait for a CPU
/// longer than for a short hold.
fn report(arguments: &[&str]) -> Value {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report");
    let to = ["-j", "-o", file.to_str().unwrap()];
    stat(&[&to[..], arguments, &["--", &hot()]].concat()).assert().code(0).stdout("done\n");
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn lock<'r>(report: &'r Value, name: &str) -> &'r Value {
    let locks = report["locks"].as_array().unwrap();
    let found = locks.iter().find(|lock| lock["lock"].as_str().unwrap().contains(name));
    found.unwrap_or_else(|| panic!("no {name} in {report:#}"))
}

#[test]
fn locks_are_named_counted_and_blamed_on_who_held_them() {
    let report = report(&[]);
    assert!(report["locks"][0]["lock"] == "hottest", "{report:#}");
    assert!(report["events"]["mutex_sleep"].as_u64() > Some(0), "{report:#}");
    let locks = [
        ("hottest", "long_hold", ["long_hold", "short_hold"]),
        ("warm", "write_warm", ["write_warm", "read_warm"]),
        ("make_cool", "use_cool", ["use_cool", "use_cool"]),
    ];
    for (name, holder, callers) in locks {
        let lock = lock(&report, name);
        // Four threads, a hundred times each.
        assert_eq!(lock["acquisitions"], 400, "{lock:#}");
        let first = lock["holders"][0]["frames"][0].as_str().unwrap();
        assert!(first.starts_with(holder), "{lock:#}");
        let at_its_calls = |waiter: &Value| {
            let first = waiter["frames"][0].as_str().unwrap();
            callers.iter().any(|caller| first.starts_with(caller))
        };
        assert!(lock["waiters"].as_array().unwrap().iter().all(at_its_calls), "{lock:#}");
    }
}

#[test]
fn waits_add_up_to_those_of_calls_and_of_threads() {
    let report = report(&[]);
    let sum = |list: &Value, key: &str| -> u64 {
        list.as_array().unwrap().iter().map(|one| one[key].as_u64().unwrap()).sum()
    };
    for lock in report["locks"].as_array().unwrap() {
        assert_eq!(sum(&lock["waiters"], "ns"), lock["wait_ns"].as_u64().unwrap(), "{lock:#}");
        let waits = lock["contended"].as_u64().unwrap() + lock["failed"].as_u64().unwrap();
        assert_eq!(sum(&lock["waiters"], "count"), waits, "{lock:#}");
    }
    assert_eq!(sum(&report["threads"], "wait_ns"), sum(&report["locks"], "wait_ns"));
}

/// Waits begin and end while a holder is charged with them.
#[test]
fn holders_are_blamed_for_what_was_waited_and_no_more() {
    let speed = compiled("speed", include_str!("../../preload/benches/speed.c"), &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report");
    for load in [["short", "1000000"], ["mutex", "200000"]] {
        let to = ["-j", "-o", file.to_str().unwrap(), "--", speed.to_str().unwrap()];
        stat(&[&to[..], &load].concat()).assert().code(0);
        let report: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let lock = lock(&report, "mutexes");
        let holders = lock["holders"].as_array().unwrap();
        let blamed: u64 = holders.iter().map(|holder| holder["ns"].as_u64().unwrap()).sum();
        let waited = lock["wait_ns"].as_u64().unwrap();
        assert!(blamed <= waited + waited / 20, "{lock:#}");
        assert!(blamed >= waited / 2, "{lock:#}");
    }
}

#[test]
fn policies_are_compared_lock_by_lock_under_the_c_librarys_too() {
    let tried = stat(&["--try", "default,libc", "-r", "2", "--", &hot()]).output().unwrap();
    let text = String::from_utf8(tried.stderr).unwrap();
    let by_lock = text.split("Time waited for each lock").nth(1).unwrap();
    let line = by_lock.lines().find(|line| line.contains("hottest")).unwrap();
    assert!(!line.split_whitespace().any(|word| word == "-"), "{text}");
    assert!(text.contains("2 runs tell no difference from chance"), "{text}");
}

#[test]
fn the_exit_code_is_the_commands_and_wrong_usage_is_refused() {
    stat(&["--", "sh", "-c", "exit 7"]).assert().code(7).stderr(contains("No lock was waited for"));
    refused(&mut stat(&[]), "required");
    refused(&mut stat(&["--try", "default", "--", "true"]), "two policies");
}

#[test]
fn files_that_lie_are_one_line() {
    let planted = Planted::new();
    let file = &planted.file;
    let says = |why: &str| {
        stat(&["-p", &planted.pid])
            .env("XDG_RUNTIME_DIR", planted.runtime.path())
            .assert()
            .code(3)
            .stdout("")
            .stderr(contains(why).and(predicate::function(one_line)));
    };
    says("has no statistics");
    planted.write(&[0xff; 1 << 20]);
    says("not a statistics file");
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    says("open to others");
    fs::remove_file(file).unwrap();
    symlink("/etc/passwd", file).unwrap();
    says("symbolic link");
}
