//! `lockwright bisect` as its users meet it: commands, revisions, `git bisect run`, resumption.
//!
//! Steps are judged by their memory, which does not depend on who else is on the machine.

mod support;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use predicates::str::contains;
use support::{interrupted_with, refused, stdout};

fn lockwright() -> Command {
    Command::new(cargo_bin("lockwright"))
}

fn bisect() -> Command {
    let mut command = lockwright();
    command.args(["bisect", "-q"]);
    command
}

const SMALL: &str = "dd if=/dev/zero of=/dev/null bs=4M count=1";
const LARGE: &str = "dd if=/dev/zero of=/dev/null bs=64M count=1";
const BY_MEMORY: [&str; 2] = ["--metric", "peak_bytes"];

/// Four commands, the third and fourth of which take ten times the memory.
const SERIES: [&str; 6] = [BY_MEMORY[0], BY_MEMORY[1], SMALL, SMALL, LARGE, LARGE];

#[test]
fn the_first_bad_command_of_a_series_is_named() {
    let output = bisect().args(SERIES).output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for word in [
        "steps measured",
        &format!("first bad step: 3: {LARGE}, with probability 1.000"),
        &format!("against 2: {SMALL}, measured again: peak memory +"),
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
}

#[test]
fn where_nothing_got_worse_the_exit_code_says_so() {
    let same = [BY_MEMORY[0], BY_MEMORY[1], LARGE, LARGE, SMALL];
    let wanted = format!("no step: 3: {SMALL} is not worse than 1: {LARGE}");
    bisect().args(same).assert().code(1).stdout(contains(wanted));
}

#[test]
fn ends_that_vary_are_not_bisected() {
    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("flag");
    let flag = flag.to_str().unwrap();
    // Every second run is large.
    let varies = format!("if [ -e {flag} ]; then rm {flag}; else touch {flag}; {LARGE}; fi");
    bisect()
        .args([BY_MEMORY[0], BY_MEMORY[1], &varies, LARGE])
        .assert()
        .code(1)
        .stdout(contains("too much to find a step by"));
}

#[test]
fn an_interrupted_bisection_goes_on_from_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.json");
    let name = state.to_str().unwrap();
    // So slow that it is not done before it is interrupted.
    let slow = ["bisect", "-q", "--state", name, "--prepare", "sleep 0.1"];
    let arguments = [&slow[..], &SERIES].concat();
    interrupted_with(&state, &arguments);
    let runs = || -> usize {
        let json: serde_json::Value = serde_json::from_slice(&fs::read(&state).unwrap()).unwrap();
        json["samples"].as_array().unwrap().len()
    };
    let kept = runs();
    assert!(kept > 0);
    let output = lockwright().args(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&format!("going on from {kept} runs")), "{said}");
    let all = runs();
    assert!(all > kept, "{all} after {kept}");
    // A bisection that is done runs nothing again.
    assert_eq!(lockwright().args(&arguments).output().unwrap().status.code(), Some(0));
    assert_eq!(runs(), all);
    let other = ["--state", name, "true", "false"];
    refused(bisect().args(other), "it is of another bisection");
}

/// A repository in which a script takes longer from the third commit on; the second does not build.
fn repository(folder: &Path) {
    let git = |arguments: &[&str]| {
        let names = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let done = std::process::Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(names)
            .args(arguments)
            .output();
        assert!(done.as_ref().is_ok_and(|done| done.status.success()), "{done:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    for (number, (build, run)) in
        [("true", SMALL), ("false", SMALL), ("true", SMALL), ("true", LARGE), ("true", LARGE)]
            .iter()
            .enumerate()
    {
        fs::write(folder.join("build.sh"), build).unwrap();
        fs::write(folder.join("run.sh"), format!("# {number}\n{run}\n")).unwrap();
        git(&["add", "."]);
        git(&["commit", "-q", "-m", &format!("commit {number}")]);
    }
}

#[test]
fn revisions_are_built_and_run_and_what_does_not_build_is_gone_around() {
    let folder = tempfile::tempdir().unwrap();
    repository(folder.path());
    let output = bisect()
        .current_dir(folder.path())
        .args([
            "--git",
            "main~4..main",
            "--build",
            "sh build.sh",
            "--metric",
            "peak_bytes",
            "sh run.sh",
        ])
        .output()
        .unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let hash = std::process::Command::new("git")
        .arg("-C")
        .arg(folder.path())
        .args(["rev-parse", "--short=12", "main~1"])
        .output()
        .unwrap();
    let hash = stdout(&hash).trim().to_owned();
    assert!(text.contains(&format!("first bad step: {hash}, with")), "{text}");
    assert!(text.contains("commit 3"), "{text}");
    // Nothing is left behind.
    assert!(!folder.path().join(".git/worktrees").exists());
}

#[test]
fn git_bisect_run_gets_the_exit_codes_it_wants() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, command) in [("good.json", SMALL), ("bad.json", LARGE)] {
        lockwright()
            .args(["compare", "-q", "-r", "5", "-w0", "-o", "/dev/null", "--json", &path(name)])
            .args([command, "true"])
            .assert()
            .success();
    }
    // The results have two arms each; the runs of `true` would move the middle.
    for name in ["good.json", "bad.json"] {
        let mut json: serde_json::Value =
            serde_json::from_slice(&fs::read(path(name)).unwrap()).unwrap();
        json["samples"].as_array_mut().unwrap().retain(|sample| sample["arm"] == 0);
        fs::write(path(name), serde_json::to_vec(&json).unwrap()).unwrap();
    }
    let tell = |command: &str, more: &[&str]| {
        let ends = ["--good", &path("good.json"), "--bad", &path("bad.json")];
        bisect().args(ends).args(BY_MEMORY).args(more).arg(command).output().unwrap()
    };
    assert_eq!(tell(SMALL, &[]).status.code(), Some(0));
    assert_eq!(tell(LARGE, &[]).status.code(), Some(1));
    assert_eq!(tell(SMALL, &["--build", "false"]).status.code(), Some(125));
    assert_eq!(tell("exit 3", &[]).status.code(), Some(125));
}

#[test]
fn locks_are_steps_too() {
    let output = bisect()
        .args(["--locks", "std,pthread", "--threads", "2", "--secs", "0.01", "--max-runs", "5"])
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    assert!(stdout(&output).contains("steps measured"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    refused(bisect().arg("true"), "two steps or more");
    refused(bisect().args(["--git", "a..b"]), "--git takes one command");
    refused(bisect().args(["--git", "nonsense", "true"]), "--git nonsense: expected GOOD..BAD");
    refused(bisect().args(["--locks", "std,pthread", "--threads", "2,4"]), "narrow it down to one");
    refused(bisect().args(["--metric", "speed", "a", "b"]), "unknown figure 'speed'; known: ");
    refused(bisect().args(["--metric", "cpu_percent", "a", "b"]), "neither better nor worse");
    refused(bisect().args(["--good", "/no/a.json", "--bad", "/no/b.json", "x"]), "cannot read it");
}
