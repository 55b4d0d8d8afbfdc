//! `lockwright stat`: its files and options, a running program, and places that do not want statistics.
#![cfg(not(any(loom, miri)))]

mod support;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use support::{Planted, Running, files, hot, interposer, one_line, stdout};

fn stat(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("lockwright").unwrap();
    command.env("LOCKWRIGHT_PRELOAD", interposer()).arg("stat").args(arguments);
    command
}

fn at(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

fn hottest(report: &Value) -> &Value {
    let mut locks = report["locks"].as_array().unwrap().iter();
    locks.find(|lock| lock["lock"] == "hottest").unwrap_or_else(|| panic!("{report:#}"))
}

/// The value of a metric of a lock.
fn metric(text: &str, name: &str, lock: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(&format!("{name}{{lock=\"{lock}\"")));
    line.unwrap_or_else(|| panic!("no {name} of {lock}: {text}"))
        .rsplit(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn stacks_metrics_and_holds_go_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let [report, waits, holds, metrics] =
        ["report", "waits", "holds", "metrics"].map(|name| at(folder.path(), name));
    let arguments = [
        "--hold=1",
        "-j",
        "-o",
        &report,
        "--folded",
        &waits,
        "--folded-holders",
        &holds,
        "--metrics",
        &metrics,
    ];
    stat(&[&arguments[..], &["--", &hot()]].concat()).assert().code(0).stdout("done\n").stderr("");
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    let hottest = hottest(&report);
    let number = |key: &str| hottest[key].as_u64().unwrap();

    // Each hold was timed: those of one thread take two milliseconds each.
    assert_eq!(number("holds_timed"), 400, "{hottest:#}");
    assert!(number("hold_ns") >= 100 * 2_000_000 && number("hold_max_ns") >= 2_000_000);

    // The stacks of a lock add up to its waits, as the report has them.
    let sum_of = |file: &str, lock: &str| -> u64 {
        let text = fs::read_to_string(file).unwrap();
        let lines = text.lines().filter_map(|line| line.rsplit_once(' '));
        let of_lock = lines.filter(|(stack, _)| stack.ends_with(&format!(";{lock}")));
        of_lock.map(|(_, ns)| ns.parse::<u64>().unwrap()).sum()
    };
    assert_eq!(sum_of(&waits, "hottest"), number("wait_ns"));
    let held: u64 = hottest["holders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| path["ns"].as_u64().unwrap())
        .sum();
    assert_eq!(sum_of(&holds, "hottest"), held);
    assert!(fs::read_to_string(&holds).unwrap().lines().any(|line| line.contains("long_hold;")));

    let text = fs::read_to_string(metrics).unwrap();
    assert_eq!(metric(&text, "lockwright_lock_acquisitions_total", "hottest"), 400.0);
    let seconds = metric(&text, "lockwright_lock_wait_seconds_total", "hottest");
    assert!((seconds * 1e9 - number("wait_ns") as f64).abs() < 1e3, "{text}");
    let lines = text.lines().all(|line| {
        line.starts_with("# ")
            || line.rsplit(' ').next().is_some_and(|value| value.parse::<f64>().is_ok())
    });
    assert!(lines && text.ends_with("# EOF\n"), "{text}");
}

#[test]
fn intervals_add_up_to_the_whole() {
    let output = stat(&["-I", "100", "-j", "--", &hot()]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    let reports: Vec<Value> =
        serde_json::Deserializer::from_str(&err).into_iter().map(Result::unwrap).collect();
    let (last, intervals) = reports.split_last().unwrap();
    assert!(intervals.len() >= 2, "{err}");
    let waited = |report: &Value| -> u64 {
        report["locks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|lock| lock["contended"].as_u64().unwrap())
            .sum()
    };
    let sum: u64 = intervals.iter().map(waited).sum();
    // What came after the last interval is in the whole alone.
    assert!(sum > 0 && sum <= waited(last), "{sum}: {err}");
}

#[test]
fn a_running_program_is_asked_and_left_as_it_was() {
    let program = Running::start();
    let look = |arguments: &[&str]| {
        let output =
            program.look(&[&["stat", "-p", &program.pid], arguments].concat()).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        stdout(&output)
    };
    let report: Value = serde_json::from_str(&look(&["-d", "1", "-j"])).unwrap();
    let hottest = hottest(&report);
    assert!(hottest["acquisitions"].as_u64() > Some(0), "{report:#}");
    let first = hottest["holders"][0]["frames"][0].as_str().unwrap();
    assert!(first.starts_with("long_hold"), "{report:#}");
    // Nobody asks any more.
    let file = program
        .runtime
        .path()
        .join("lockwright")
        .join(&files(&program.runtime.path().join("lockwright"))[0]);
    let control = std::mem::offset_of!(lockwright_statfile::Header, control);
    assert_eq!(fs::read(&file).unwrap()[control..control + 4], [0; 4]);
    // Asked again, it counts from then on; by interval too.
    let text = look(&["-d", "1", "-I", "250"]);
    assert!(text.matches(" s\n").count() >= 2 && text.contains("hottest"), "{text}");
}

#[test]
fn bytes_changed_in_a_real_file_are_a_report_or_one_line() {
    let program = Running::start();
    program.look(&["stat", "-p", &program.pid, "-d", "0.5"]).assert().code(0);
    let folder = program.runtime.path().join("lockwright");
    let good = fs::read(folder.join(&files(&folder)[0])).unwrap();
    let planted = Planted::new();
    let used: Vec<usize> = (0..good.len()).filter(|at| good[*at] != 0).collect();
    // From a generator of Marsaglia's, so that each run is the same.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut reports = 0;
    for round in 0..40 {
        let mut bytes = good.clone();
        for _ in 0..1 + random() % 200 {
            // Where there is something, mostly: numbers, indices, names; the magic number in few rounds.
            let at = used[random() as usize % used.len()];
            if at >= 16 || round % 8 == 0 {
                bytes[at] = random() as u8;
            }
        }
        if round % 5 == 4 {
            bytes.truncate(random() as usize % bytes.len());
        }
        planted.write(&bytes);
        let output = Command::cargo_bin("lockwright")
            .unwrap()
            .env("XDG_RUNTIME_DIR", planted.runtime.path())
            .args(["stat", "-p", &planted.pid, "-d", "0.03", "-j"])
            .output()
            .unwrap();
        let err = String::from_utf8(output.stderr.clone()).unwrap();
        match output.status.code() {
            Some(0) => {
                reports += 1;
                serde_json::from_slice::<Value>(&output.stdout).unwrap();
                assert_eq!(err, "", "round {round}");
            }
            Some(3) => assert!(one_line(&err) && output.stdout.is_empty(), "round {round}: {err}"),
            code => panic!("round {round}: {code:?}: {err}"),
        }
    }
    assert!(reports > 0 && reports < 40, "{reports}");
}

#[test]
fn a_file_of_another_user_is_refused() {
    if !nix::unistd::geteuid().is_root() {
        println!("SKIPPED a_file_of_another_user_is_refused: only root can make one");
        return;
    }
    let planted = Planted::new();
    planted.write(&[0; 1 << 16]);
    nix::unistd::chown(&planted.file, Some(65534.into()), None).unwrap();
    for command in [&["stat", "-d", "1", "-p", &planted.pid][..], &["top", &planted.pid]] {
        let one = contains("another user's").and(predicate::function(one_line));
        Command::cargo_bin("lockwright")
            .unwrap()
            .env("XDG_RUNTIME_DIR", planted.runtime.path())
            .args(command)
            .assert()
            .code(3)
            .stdout("")
            .stderr(one);
    }
}

#[test]
fn without_room_for_statistics_it_is_one_line_and_nothing_is_left_behind() {
    let runtime = tempfile::tempdir().unwrap();
    // No file may be as large as statistics are, here or elsewhere.
    let script = format!(
        "ulimit -f 64; exec {} stat -- {}",
        assert_cmd::cargo::cargo_bin("lockwright").display(),
        hot()
    );
    Command::new("sh")
        .args(["-c", &script])
        .env("LOCKWRIGHT_PRELOAD", interposer())
        .env("XDG_RUNTIME_DIR", runtime.path())
        .assert()
        .code(0)
        .stdout("done\n")
        .stderr(contains("no statistics").and(predicate::function(one_line)));
    let folder = runtime.path().join("lockwright");
    assert_eq!(files(&folder), [""; 0]);
}

/// Runs a script of a shell in a mount namespace of its own; `$1` is a folder, `$2` lockwright, `$3` the program.
fn in_a_namespace(script: &str, folder: &Path) -> std::process::Output {
    let lockwright = assert_cmd::cargo::cargo_bin("lockwright");
    Command::new("unshare")
        .args(["--mount", "sh", "-ec", script, "sh"])
        .args([folder.as_os_str(), lockwright.as_os_str(), hot().as_ref()])
        .env("LOCKWRIGHT_PRELOAD", interposer())
        .env("XDG_RUNTIME_DIR", folder)
        .env("TMPDIR", folder)
        .output()
        .unwrap()
}

#[test]
fn where_the_system_has_less_the_command_runs_all_the_same() {
    let root = nix::unistd::geteuid().is_root();
    let may = root && in_a_namespace("mount -t tmpfs none $1", Path::new("/mnt")).status.success();
    if !may {
        println!(
            "SKIPPED where_the_system_has_less_the_command_runs_all_the_same: only root may mount"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = |script: &str| {
        let output = in_a_namespace(script, folder.path());
        let err = String::from_utf8(output.stderr.clone()).unwrap();
        assert!(output.status.success(), "{script}: {err}");
        assert!(stdout(&output).starts_with("done\n"), "{script}: {output:?}");
        (stdout(&output), err)
    };
    // A full disk everywhere: a line, and nothing is left behind.
    let full = "for at in /dev/shm $1; do mount -t tmpfs -o size=64k none $at; done
        $2 stat -- $3; find /dev/shm $1 -name 'run-*'";
    let (out, err) = run(full);
    assert!(one_line(&err) && err.contains("No space left"), "{err}");
    assert_eq!(out, "done\n");
    // No place in memory: another is taken.
    let (_, err) = run("mount -t tmpfs -o ro none /dev/shm; unset XDG_RUNTIME_DIR; $2 stat -- $3");
    assert!(err.contains("hottest"), "{err}");
    // No /proc: names are missing, and the files of who lives are not taken for those of the dead.
    let other =
        "mkdir -m 700 $1/lockwright; touch $1/lockwright/1-0123456789abcdef; umount -l /proc";
    let (out, err) = run(&format!("{other}; $2 stat -- $3; $2 run -- $3; ls $1/lockwright"));
    assert_eq!(out, "done\ndone\n1-0123456789abcdef\n", "{err}");
    assert!(err.contains("mutex"), "{err}");
}
