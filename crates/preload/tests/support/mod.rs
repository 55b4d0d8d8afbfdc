//! C programs, run with the C library's locks and with lockwright's.
#![allow(dead_code, reason = "each file of tests is a crate of its own, and needs some of it")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A limit that turns a hang into a failure.
const SECONDS: &str = "120";

/// The library as it is shipped: a release build, whatever build the tests are.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let build = Command::new(env!("CARGO"))
            .args(["build", "--release", "-p", "lockwright-preload"])
            .args(["--message-format", "json-render-diagnostics"])
            .output()
            .expect("cargo runs");
        assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
        let messages = String::from_utf8(build.stdout).expect("cargo writes text");
        let file = messages.split('"').find(|text| text.ends_with("/liblockwright_preload.so"));
        file.expect("cargo names the library").into()
    })
}

/// Where the C sources are.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c")
}

/// Compiles `tests/c/<name>.c` (or `.cc`) with more arguments for the compiler.
pub fn compile(name: &str, arguments: &[&str]) -> PathBuf {
    let (compiler, standard, ending) = match sources().join(format!("{name}.cc")).exists() {
        true => ("c++", "-std=c++17", "cc"),
        false => ("cc", "-std=gnu11", "c"),
    };
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiled = Command::new(compiler)
        .args([standard, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(sources().join(format!("{name}.{ending}")))
        .args(arguments)
        .arg("-pthread")
        .output()
        .expect("a C compiler runs");
    assert!(compiled.status.success(), "{name}: {}", String::from_utf8_lossy(&compiled.stderr));
    program
}

/// Runs a program, under the interposer if there is something to preload.
pub fn run(program: &Path, preload: Option<&OsStr>, environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", SECONDS]);
    command.arg("env").envs(environment.iter().copied());
    if let Some(preload) = preload {
        // Not of `timeout` and `env` themselves.
        let mut assignment = std::ffi::OsString::from("LD_PRELOAD=");
        assignment.push(preload);
        command.arg(assignment);
    }
    command.arg(program).output().expect("timeout and env run")
}

/// Runs a program both ways: it must end and print alike, and well.
pub fn same_with_and_without(program: &Path, environment: &[(&str, &str)]) {
    let plain = run(program, None, &[]);
    let ours = run(program, Some(library().as_os_str()), environment);
    let text = |output: &[u8]| String::from_utf8_lossy(output).into_owned();
    let (wanted, got) = (text(&plain.stdout), text(&ours.stdout));
    // 99: a program found that it makes no sense; 124: a hang.
    let sound = plain.status.code().is_some_and(|code| code < 99);
    assert!(sound, "by itself: {}\n{wanted}{}", plain.status, text(&plain.stderr));
    let first = wanted.lines().zip(got.lines()).find(|(wanted, got)| wanted != got);
    if let Some((wanted, got)) = first {
        panic!("without lockwright: {wanted}\nwith lockwright:    {got}");
    }
    assert_eq!(plain.status.code(), ours.status.code(), "{}{}", got, text(&ours.stderr));
    assert_eq!(wanted.lines().count(), got.lines().count(), "last: {:?}", got.lines().last());
    assert_eq!(text(&plain.stderr), text(&ours.stderr));
}
