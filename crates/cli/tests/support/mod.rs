//! Running the program and looking at what it left behind.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use predicates::prelude::*;
use predicates::str::contains;

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn one_line(text: &str) -> bool {
    text.ends_with('\n') && text.lines().count() == 1
}

/// Warnings are said however quiet a run is; nothing else is.
pub fn only_warnings(text: &str) -> bool {
    text.lines().all(|line| line.starts_with("lockwright: warning: "))
}

/// One line that is no warning.
pub fn one_line_of_failure(text: &str) -> bool {
    text.lines().filter(|line| !line.starts_with("lockwright: warning: ")).count() == 1
}

/// Everything about a refused command line: exit code 2, one line, nothing on stdout.
pub fn refused(command: &mut Command, why: &str) {
    let assert = command.assert().code(2).stdout("");
    assert.stderr(contains(why).and(predicate::function(one_line)));
}

pub fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Starts a run that would last for hours and interrupts it when `after` has passed.
pub fn interrupted(arguments: &[&str], after: Duration) -> Output {
    let child = std::process::Command::new(cargo_bin("lockwright"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    child.wait_with_output().unwrap()
}

/// The interposer as it is shipped: a release build, whatever build the tests are.
pub fn interposer() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let build = std::process::Command::new(env!("CARGO"))
            .args(["build", "--release", "-p", "lockwright-preload"])
            .args(["--message-format", "json-render-diagnostics"])
            .output()
            .unwrap();
        assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
        let messages = stdout(&build);
        let file = messages.split('"').find(|text| text.ends_with("/liblockwright_preload.so"));
        file.expect("cargo names the library").into()
    })
}

/// A C program; compiled once, since another test may be running it.
pub fn compiled(name: &str, source: &str, arguments: &[&str]) -> PathBuf {
    static DONE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (text, program) = (folder.join(name).with_extension("c"), folder.join(name));
    let mut done = DONE.lock().unwrap();
    if done.contains(&program) {
        return program;
    }
    fs::write(&text, source).unwrap();
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-std=gnu11", "-O1", "-Wall", "-Werror", "-o"]).arg(&program).arg(&text);
    let output = compiler.args(arguments).arg("-pthread").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    done.push(program.clone());
    program
}
