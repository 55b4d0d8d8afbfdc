//! `lockwright run`: what the command sees and how it ends.
#![cfg(not(any(loom, miri)))]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use predicates::prelude::*;
use predicates::str::{contains, is_empty};
use support::{compiled, interposer, one_line, refused, stdout};

/// `lockwright run` with the interposer that this test built.
fn run(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("lockwright").unwrap();
    command.env("LOCKWRIGHT_PRELOAD", interposer()).arg("run").args(arguments);
    command
}

#[test]
fn arguments_and_standard_streams_are_untouched() {
    let script = r#"printf '%s|' "$@"; cat; echo talk >&2"#;
    run(&["--", "sh", "-c", script, "sh", "a b", "--policy", "-x", ""])
        .write_stdin("from stdin")
        .assert()
        .code(0)
        .stdout("a b|--policy|-x||from stdin")
        .stderr("talk\n");
}

#[test]
fn the_exit_status_is_the_commands() {
    for code in [0, 1, 2, 3, 77, 255] {
        run(&["--", "sh", "-c", &format!("exit {code}")]).assert().code(code).stderr(is_empty());
    }
    for (signal, code) in [("TERM", 143), ("KILL", 137), ("SEGV", 139)] {
        run(&["--", "sh", "-c", &format!("kill -{signal} $$")]).assert().code(code);
    }
}

#[test]
fn the_interposer_is_in_the_command_and_in_what_that_starts() {
    let maps = "grep -c liblockwright_preload /proc/self/maps";
    for command in [vec!["sh", "-c", maps], vec!["sh", "-c", "sh -c \"$0\"", maps]] {
        let output = run(&[&["--"], &command[..]].concat()).output().unwrap();
        let lines: u32 = stdout(&output).trim().parse().unwrap();
        assert!(lines > 0, "{output:?}");
    }
}

#[test]
fn what_was_preloaded_stays_behind_it() {
    let interposer = interposer().to_str().unwrap().to_owned();
    run(&["--", "sh", "-c", "echo $LD_PRELOAD"])
        .env("LD_PRELOAD", "/nowhere/lib.so")
        .assert()
        .stdout(format!("{interposer}:/nowhere/lib.so\n"));
}

#[test]
fn a_policy_goes_to_the_command_and_a_bad_one_is_refused() {
    let show = ["--", "sh", "-c", "echo $LOCKWRIGHT_POLICY"];
    let asked = "mutex=latency;rwlock=fair";
    run(&[&["--policy", asked], &show[..]].concat()).assert().code(0).stdout(format!("{asked}\n"));
    refused(&mut run(&[&["--policy", "rwlock=slow"], &show[..]].concat()), "no policy rwlock=slow");
    refused(&mut run(&[]), "required");
}

#[test]
fn a_command_that_cannot_be_started_is_one_line() {
    run(&["--", "no-such-command-as-this"])
        .assert()
        .code(127)
        .stderr(contains("command not found").and(predicate::function(one_line)));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    fs::write(&file, "no program").unwrap();
    run(&["--", file.to_str().unwrap()])
        .assert()
        .code(126)
        .stderr(contains("cannot start").and(predicate::function(one_line)));
}

#[test]
fn without_the_interposer_nothing_is_run() {
    run(&["--", "echo", "ran"])
        .env("LOCKWRIGHT_PRELOAD", "/nowhere/lib.so")
        .assert()
        .code(3)
        .stdout("")
        .stderr(contains("no such library").and(predicate::function(one_line)));
}

#[test]
fn signals_reach_the_command() {
    let script = r#"trap 'echo told; exit 5' TERM; echo ready; while :; do sleep 0.05; done"#;
    let mut child = std::process::Command::new(cargo_bin("lockwright"))
        .env("LOCKWRIGHT_PRELOAD", interposer())
        .args(["run", "--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut text = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut text, &mut line).unwrap();
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    std::io::Read::read_to_string(&mut text, &mut line).unwrap();
    assert_eq!((child.wait().unwrap().code(), line.as_str()), (Some(5), "ready\ntold\n"));
}

/// A line that says why, and the program runs as without.
fn passes_by(program: &Path, why: &str) {
    run(&["--", program.to_str().unwrap(), "7"])
        .assert()
        .code(7)
        .stdout("ran\n")
        .stderr(contains(why).and(predicate::function(one_line)));
}

const RUNS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) { puts("ran"); return argc > 1 ? atoi(argv[1]) : 0; }
"#;

#[test]
fn a_static_program_runs_as_it_is() {
    passes_by(&compiled("static", RUNS, &["-static"]), "statically linked");
}

#[test]
fn a_go_program_runs_as_it_is() {
    // Go's linker leaves this section in each program; a static one that has it is what it looks like.
    let marked = format!(
        "__attribute__((section(\".go.buildinfo\"))) const char info[] = \"\\xff Go buildinf:\";\n{RUNS}"
    );
    passes_by(&compiled("go", &marked, &["-static"]), "a Go program");
}

#[test]
fn a_setuid_program_runs_as_it_is() {
    if !nix::unistd::geteuid().is_root() {
        println!("SKIPPED a_setuid_program_runs_as_it_is: only root can make one of another user");
        return;
    }
    let program = compiled("setuid", RUNS, &[]);
    nix::unistd::chown(&program, Some(65534.into()), None).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    passes_by(&program, "setuid");
}

#[test]
fn a_script_is_judged_by_its_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let interpreter = folder.path().join("interpreter");
    symlink(compiled("interpreter", RUNS, &["-static"]), &interpreter).unwrap();
    let script = folder.path().join("script");
    fs::write(&script, format!("#!{}\n", interpreter.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    run(&["--", script.to_str().unwrap()])
        .assert()
        .stdout("ran\n")
        .stderr(contains("statically linked"));
}

const LOCKS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long n;
static void *f(void *p) { for (int i = 0; i < 20000; i++) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); } return p; }
int main(void) {
    pthread_t t[4];
    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, f, 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    char *heap = malloc(10); free(heap);
    printf("%ld\n", n);
}
"#;

#[test]
fn programs_with_sanitizers_run() {
    for sanitizer in ["address", "thread", "undefined"] {
        let flag = format!("-fsanitize={sanitizer}");
        let program = compiled(sanitizer, LOCKS, &[&flag, "-g"]);
        run(&["--", program.to_str().unwrap()])
            .assert()
            .code(0)
            .stdout("80000\n")
            .stderr(is_empty());
    }
}
