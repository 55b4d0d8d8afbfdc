//! Running the program and looking at what it left behind.
#![allow(dead_code)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

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

/// A statistics file that a test writes, as if this process had made it.
pub struct Planted {
    pub runtime: tempfile::TempDir,
    pub pid: String,
    pub file: PathBuf,
}

impl Planted {
    /// Where it will be; the file is not there yet.
    pub fn new() -> Self {
        let runtime = tempfile::tempdir().unwrap();
        let folder = runtime.path().join("lockwright");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let pid = std::process::id().to_string();
        let file = folder.join(format!("{pid}-0123456789abcdef"));
        Planted { runtime, pid, file }
    }

    pub fn write(&self, bytes: &[u8]) {
        fs::write(&self.file, bytes).unwrap();
        fs::set_permissions(&self.file, fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// Starts a run that would last for hours and interrupts it when `after` has passed.
pub fn interrupted(arguments: &[&str], after: Duration) -> Output {
    let output = interrupted_when(arguments, |run_for| run_for >= after);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    output
}

/// The same as soon as `file` is there: on a busy machine that may take long.
pub fn interrupted_with(file: &Path, arguments: &[&str]) -> Output {
    let longest = Duration::from_secs(120);
    let output = interrupted_when(arguments, |run_for| file.exists() || run_for > longest);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(file.exists(), "nothing was measured in {longest:?}");
    output
}

/// The same of a benchmark of 100,000 rounds: the result has those that had ended, and says so.
pub fn interrupted_rounds(file: &Path, arguments: &[&str]) {
    let output = interrupted_with(file, arguments);
    assert!(stdout(&output).contains("INTERRUPTED"));
    let json: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(json["complete"], false);
    let rounds = json["figures"][0]["rounds"].as_u64().unwrap();
    assert!((1..100_000).contains(&rounds));
}

fn interrupted_when(arguments: &[&str], ready: impl Fn(Duration) -> bool) -> Output {
    let start = Instant::now();
    let child = std::process::Command::new(cargo_bin("lockwright"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !ready(start.elapsed()) {
        std::thread::sleep(Duration::from_millis(1));
    }
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

/// The program of known locks, compiled.
pub fn hot() -> String {
    let program = compiled("hot", include_str!("../hot.c"), &["-g", "-O1"]);
    program.to_str().unwrap().to_owned()
}

/// That program under `lockwright run`, for hours, until this is dropped.
pub struct Running {
    child: Child,
    /// Where its statistics are, for XDG_RUNTIME_DIR.
    pub runtime: tempfile::TempDir,
    /// Its process, which is not that of `lockwright run`.
    pub pid: String,
}

impl Running {
    pub fn start() -> Self {
        let runtime = tempfile::tempdir().unwrap();
        let child = std::process::Command::new(cargo_bin("lockwright"))
            .env("LOCKWRIGHT_PRELOAD", interposer())
            .env("XDG_RUNTIME_DIR", runtime.path())
            .args(["run", "--", &hot(), "100000000"])
            .stdout(Stdio::null())
            .spawn();
        // Ended by the drop, whatever comes.
        let mut running = Running { child: child.unwrap(), runtime, pid: String::new() };
        let statistics = running.runtime.path().join("lockwright");
        while running.pid.is_empty() {
            std::thread::sleep(Duration::from_millis(20));
            // Made before `main`; the name begins with the process.
            let made = if statistics.exists() { files(&statistics) } else { Vec::new() };
            if let Some((pid, _)) = made.first().and_then(|name| name.split_once('-')) {
                running.pid = pid.to_owned();
            }
        }
        running
    }

    /// Ends the program.
    pub fn end(&mut self) {
        // `lockwright run` passes it on; it may have ended.
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM);
        let _ = self.child.wait();
    }

    /// A command of lockwright that looks at it.
    pub fn look(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("lockwright").unwrap();
        command.env("XDG_RUNTIME_DIR", self.runtime.path()).args(arguments);
        command
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}
