//! What interposers fall into, one test each.
#![cfg(not(any(loom, miri)))]

mod support;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{compile, library, run, same_with_and_without, sources};

/// What a tool of the binutils prints.
fn output(tool: &str, arguments: &[&OsStr]) -> String {
    let output = Command::new(tool).args(arguments).output().expect("the binutils are installed");
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a tool writes text")
}

/// Exported names and versions.
fn exported(file: &Path) -> BTreeSet<(String, String)> {
    let text = output("nm", &["-D".as_ref(), "--defined-only".as_ref(), file.as_ref()]);
    let names = text.lines().filter_map(|line| line.split(' ').nth(2));
    names
        .map(|name| {
            let (name, version) = name.split_once('@').unwrap_or((name, ""));
            (name.to_owned(), version.trim_start_matches('@').to_owned())
        })
        .collect()
}

fn libc() -> PathBuf {
    let text = output("ldd", &["/bin/sh".as_ref()]);
    let line = text.lines().find(|line| line.contains("libc.so.6")).expect("a C library");
    line.split_whitespace().nth(2).expect("its path").into()
}

/// The families of functions that are taken over; attributes are not.
fn is_ours(name: &str) -> bool {
    let name = name.trim_start_matches("__");
    let families =
        ["pthread_mutex_", "pthread_rwlock_", "pthread_cond_", "pthread_spin_", "mtx_", "cnd_"];
    // Initialised by the C library, which knows the kinds; ours are those that the interposer is for.
    let of_libc = [
        "pthread_mutex_consistent",
        "pthread_mutex_consistent_np",
        "pthread_mutex_getprioceiling",
        "pthread_mutex_setprioceiling",
        "mtx_init",
    ];
    families.iter().any(|family| name.starts_with(family)) && !of_libc.contains(&name)
}

#[test]
fn every_version_of_every_function_binds_to_the_interposer() {
    let all: Vec<_> = exported(&libc()).into_iter().filter(|(name, _)| is_ours(name)).collect();
    assert!(all.len() > 60, "{all:?}");
    let list = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bindings.inc");
    let text: String = (all.iter().enumerate())
        .map(|(i, (name, version))| format!("BINDING({i}, {name}, \"{version}\")\n"))
        .collect();
    fs::write(&list, text).expect("the list is written");
    let include = format!("-DBINDINGS=\"{}\"", list.display());
    // Addresses of functions, not of a program's stubs for them.
    let program = compile("bindings", &[&include, "-fPIE", "-pie", "-ldl"]);
    let got = run(&program, Some(library().as_os_str()), &[]);
    let got = String::from_utf8(got.stdout).expect("text");
    assert_eq!(got.lines().count(), all.len(), "{got}");
    for line in got.lines() {
        assert!(line.ends_with(" liblockwright_preload.so"), "{line}");
    }
}

#[test]
fn nothing_else_is_exported() {
    let ours = exported(library()).into_iter().map(|(name, _)| name);
    let others: Vec<_> = ours.filter(|name| !is_ours(name) && name != "pthread_cancel").collect();
    assert_eq!(others, [""; 0]);
}

#[test]
fn it_calls_nothing_that_allocates_prints_or_locks() {
    let text = output("nm", &["-D".as_ref(), "--undefined-only".as_ref(), library().as_ref()]);
    let used: BTreeSet<_> =
        text.lines().filter_map(|line| line.split_whitespace().last()?.split('@').next()).collect();
    // Before main: dladdr1, dlopen (of itself), dlsym (of rseq), getauxval, getenv, secure_getenv,
    // pthread_key_create, __register_atfork, strerror, write. At a cancellation point: pthread_testcancel.
    // For statistics alone, before main, after a fork and at the end: close, ftruncate, getpid, getrandom, getrlimit,
    // madvise, munmap, open, posix_fallocate, readlink, unlink; at a wait's end: prctl (a thread's name),
    // process_vm_readv (its stack).
    let known = BTreeSet::from([
        "_ITM_deregisterTMCloneTable",
        "_ITM_registerTMCloneTable",
        "__cxa_finalize",
        "__errno_location",
        "__gmon_start__",
        "__register_atfork",
        "_r_debug",
        "abort",
        "bcmp",
        "clock_gettime",
        "close",
        "dladdr1",
        "dlopen",
        "dlsym",
        "ftruncate",
        "getauxval",
        "getenv",
        "getpid",
        "getrandom",
        "getrlimit",
        "madvise",
        "memcmp",
        "memcpy",
        "memmove",
        "memset",
        "mmap",
        "munmap",
        "open",
        "posix_fallocate",
        "prctl",
        "process_vm_readv",
        "pthread_key_create",
        "pthread_key_delete",
        "pthread_self",
        "pthread_setcancelstate",
        "pthread_setspecific",
        "pthread_testcancel",
        "readlink",
        "sched_getaffinity",
        "sched_yield",
        "secure_getenv",
        "strerror",
        "strlen",
        "syscall",
        "unlink",
        "write",
    ]);
    assert_eq!(used.difference(&known).collect::<Vec<_>>(), [&""; 0]);
    let flags = output("readelf", &["-d".as_ref(), library().as_ref()]);
    assert!(flags.contains("STATIC_TLS"), "thread-local storage is not in the initial-exec model");
    let needed: Vec<_> = flags.lines().filter(|line| line.contains("(NEEDED)")).collect();
    assert!(
        needed.iter().all(|line| line.contains("libc.so") || line.contains("ld-linux")),
        "{needed:?}"
    );
}

#[test]
fn loaded_twice_the_first_one_does_it_all() {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("copy_of_the_library.so");
    fs::copy(library(), &copy).expect("the library is copied");
    let mut both = OsString::from(library());
    both.push(":");
    both.push(&copy);
    let program = compile("soak", &[]);
    for preload in [both.as_os_str(), copy.as_os_str()] {
        let output = run(&program, Some(preload), &[]);
        assert_eq!(output.stdout, b"nothing lost\n", "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success());
    }
}

#[test]
fn locks_work_before_the_constructor() {
    let early = compile("before_constructor", &["-shared", "-fPIC"]);
    let program = compile("churn", &[]);
    let mut both = OsString::from(library());
    both.push(":");
    both.push(&early);
    let output = run(&program, Some(&both), &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("before: 6000\n") && output.status.success(), "{text}");
}

#[test]
fn each_policy_is_as_conformant() {
    let programs =
        ["mutex_kinds", "rwlock", "cond", "cancel", "forks"].map(|name| compile(name, &[]));
    // Not rwlock=fair: readers that begin again wait for writers then, which is what it is for.
    for policy in ["latency", "kernel", "mutex=fair", "libc"] {
        for program in &programs {
            same_with_and_without(program, &[("LOCKWRIGHT_POLICY", policy)]);
        }
    }
}

#[test]
fn collecting_statistics_changes_nothing_that_a_program_sees() {
    let folder = tempfile::tempdir().expect("a directory");
    let folder = folder.path().to_str().expect("text");
    let programs = [
        "mutex_kinds",
        "rwlock",
        "cond",
        "cancel",
        "forks",
        "errno",
        "c11",
        "spin",
        "early_and_late",
    ];
    for name in programs {
        let program = compile(name, &[]);
        for how in ["collect,hold=1", ""] {
            let environment = [("LOCKWRIGHT_STAT_DIR", folder), ("LOCKWRIGHT_STAT", how)];
            same_with_and_without(&program, &environment);
        }
    }
    let left: Vec<_> = fs::read_dir(folder).expect("the directory").flatten().collect();
    assert!(!left.is_empty(), "nothing was collected");
}

#[test]
fn statistics_that_have_no_place_are_one_line_and_the_program_runs() {
    let program = compile("soak", &[]);
    let plain = run(&program, None, &[]);
    let limited = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no_large_files.sh");
    // A file that grows beyond the limit would have a signal kill the program.
    fs::write(&limited, format!("#!/bin/sh\nulimit -f 1\nexec {}\n", program.display()))
        .expect("a script");
    Command::new("chmod").arg("+x").arg(&limited).status().expect("chmod runs");
    for (program, folder) in
        [(&program, "/nowhere/at/all"), (&program, "/proc/self/fd"), (&limited, "/tmp")]
    {
        let environment = [("LOCKWRIGHT_STAT_DIR", folder), ("LOCKWRIGHT_STAT", "collect")];
        let ours = run(program, Some(library().as_os_str()), &environment);
        let err = String::from_utf8_lossy(&ours.stderr).into_owned();
        assert_eq!((plain.status.code(), &plain.stdout), (ours.status.code(), &ours.stdout));
        // The program has a line of its own to say.
        let lines: Vec<_> = err.lines().filter(|line| line.starts_with("lockwright: ")).collect();
        let [line] = lines[..] else { panic!("{folder}: {err}") };
        assert!(line.contains("no statistics"), "{line}");
    }
}

#[test]
fn a_policy_that_makes_no_sense_is_one_line_and_the_defaults() {
    let program = compile("spin", &[]);
    for policy in ["slow", "mutex=latency;rwlock=latency", "mutex", "=", "mutex=latency;x=1"] {
        let output = run(&program, Some(library().as_os_str()), &[("LOCKWRIGHT_POLICY", policy)]);
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success());
        assert!(
            line.starts_with("lockwright: LOCKWRIGHT_POLICY") && line.lines().count() == 1,
            "{line}"
        );
    }
}

#[test]
fn where_the_system_gives_less_the_locks_work_all_the_same() {
    let program = compile("hostile", &[]);
    let empty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("empty");
    fs::create_dir_all(&empty).expect("a directory");
    let output = |how: &str, environment: &[(&str, &str)]| {
        let script = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile_{how}.sh"));
        let text = format!("#!/bin/sh\nexec {} {how} {}\n", program.display(), empty.display());
        fs::write(&script, text).expect("a script");
        Command::new("chmod").arg("+x").arg(&script).status().expect("chmod runs");
        run(&script, Some(library().as_os_str()), environment)
    };
    let mut ways = vec![("seccomp", vec![]), ("limits", vec![])];
    if nix::unistd::geteuid().is_root() {
        ways.push(("chroot", vec![]));
    } else {
        println!(
            "SKIPPED where_the_system_gives_less_the_locks_work_all_the_same: only root may chroot"
        );
    }
    ways.push(("none", vec![("GLIBC_TUNABLES", "glibc.pthread.rseq=0")]));
    ways.push(("none", vec![("LOCKWRIGHT_MEMBARRIER", "off")]));
    for (how, environment) in ways {
        let output = output(how, &environment);
        let (out, err) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
        assert!(String::from_utf8_lossy(&out).contains("count = 20000"), "{how}: {err}");
        assert!(output.status.success() && err.is_empty(), "{how}: {err}");
    }
}

#[test]
fn nothing_is_lost_under_forks_churn_cancellation_and_signals() {
    let output = run(&compile("soak", &[]), Some(library().as_os_str()), &[]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.stdout, b"nothing lost\n", "{err}");
}

/// As the issue of the interposer asks: 100 million pairs, 100,000 threads.
#[test]
#[ignore = "minutes"]
fn nothing_is_lost_in_100_million_pairs_and_100_000_threads() {
    for (name, number, wanted) in
        [("soak", "100000000", "nothing lost"), ("churn", "100000", "count >= threads = 1")]
    {
        let program = compile(name, &[]);
        let output = Command::new(program)
            .arg(number)
            .env("LD_PRELOAD", library())
            .output()
            .expect("it runs");
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && out.contains(wanted), "{name}: {out}{err}");
        println!("{name} {number}: {err}");
    }
}

#[test]
fn the_sources_of_tests_are_all_used() {
    let here = fs::read_to_string(sources().join("../traps.rs")).expect("this file")
        + &fs::read_to_string(sources().join("../conformance.rs")).expect("the other");
    for entry in fs::read_dir(sources()).expect("the sources") {
        let name = entry.expect("an entry").path();
        let stem = name.file_stem().and_then(OsStr::to_str).expect("a name");
        assert!(
            name.extension() == Some("h".as_ref()) || here.contains(stem),
            "{stem} is not used"
        );
    }
}
