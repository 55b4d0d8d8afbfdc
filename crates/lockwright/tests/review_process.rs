//! What a hostile reading proved of whole processes, a test each: their start, environment, memory,
//! forks, closed libraries. Each runs in a process of its own: this program again.
#![cfg(all(target_os = "linux", target_env = "gnu", not(any(loom, miri, lockwright_portable))))]

use std::ffi::{CString, c_void};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lockwright::events::{self, Event};
use lockwright::{AtomicMutex, Mutex, RwLock};
use lockwright_contract::os::count_system_calls;
use lockwright_platform::native::{barrier_in_use, heavy_calls};
use lockwright_platform::{NO_CPU, Native, Platform, is_cpu};

/// Says to this program that it is the process of its own.
const INNER: &str = "LOCKWRIGHT_TEST_INNER";

/// Runs `body` in a process of its own with this environment, as the test of this name; what it printed.
/// `None` in that process.
fn alone(test: &str, environment: &[(&str, &str)], body: impl FnOnce()) -> Option<Output> {
    if std::env::var(INNER).is_ok_and(|inner| inner == test) {
        body();
        return None;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(INNER, test);
    command.envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{test}: {text}{}", String::from_utf8_lossy(&output.stderr));
    Some(output)
}

/// Two threads meet at a lock whose holder sleeps.
fn contend() {
    let (lock, both) = (Mutex::new(0), Barrier::new(2));
    thread::scope(|s| {
        s.spawn(|| {
            let mut held = lock.lock();
            both.wait();
            thread::sleep(Duration::from_millis(2));
            *held += 1;
        });
        both.wait();
        *lock.lock() += 1;
    });
    assert_eq!(*lock.lock(), 2);
}

/// An example of this package, beside the tests' own directory.
fn example(name: &str) -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let path = deps.parent().unwrap().with_file_name("examples").join(name);
    assert!(path.exists(), "not built: cargo build --examples -p lockwright");
    path
}

/// Without rseq no owner is known by its CPU, so none is taken for one that does not run.
#[test]
fn b01_waiters_spin_where_rseq_is_not_registered() {
    let off = [("GLIBC_TUNABLES", "glibc.pthread.rseq=0"), ("LOCKWRIGHT_CPUS", "2")];
    alone("b01_waiters_spin_where_rseq_is_not_registered", &off, || {
        assert!(!is_cpu(Native::cpu()), "rseq is registered all the same");
        assert_eq!(Native::cpu(), NO_CPU);
        // Until somebody has come while the holder slept.
        let spun = || events::snapshot().get(Event::MutexOptFail) > 0;
        (0..1_000).take_while(|_| !spun()).for_each(|_| contend());
        assert!(spun(), "nobody spun");
        assert_eq!(events::snapshot().get(Event::MutexOptNospin), 0, "a spin was not begun");
    });
}

/// A thread that has waited for a lock of a library ends after the library was closed.
#[test]
fn b03_a_closed_library_stays_for_its_threads() {
    alone("b03_a_closed_library_stays_for_its_threads", &[], || {
        let path = CString::new(example("libb03_library.so").into_os_string().into_encoded_bytes());
        let path = path.unwrap();
        thread::spawn(move || {
            // SAFETY: the path is a C string; the library's constructors are Rust's and lockwright's.
            let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
            assert!(!library.is_null(), "cannot open {path:?}");
            // SAFETY: the name is a C string, the handle a library's.
            let contend: *mut c_void = unsafe { libc::dlsym(library, c"contend_once".as_ptr()) };
            assert!(!contend.is_null());
            // SAFETY: the symbol is a function of this type.
            let contend: extern "C" fn() = unsafe { std::mem::transmute(contend) };
            contend();
            // SAFETY: the handle was opened above and is not used again.
            assert_eq!(unsafe { libc::dlclose(library) }, 0);
        })
        .join()
        .unwrap();
    });
}

#[test]
fn b06_membarrier_is_never_called_where_the_environment_says_off() {
    let off = [("LOCKWRIGHT_MEMBARRIER", "off")];
    alone("b06_membarrier_is_never_called_where_the_environment_says_off", &off, || {
        (0..20).for_each(|_| contend());
        assert!(!barrier_in_use());
        assert_eq!(heavy_calls(), 0);
        assert!(events::snapshot().get(Event::FenceHeavy) > 0, "nobody needed a fence");
    });
}

#[test]
fn a_bad_value_costs_a_line_and_the_default_is_used() {
    let bad = [
        ("LOCKWRIGHT_MEMBARRIER", "perhaps"),
        ("LOCKWRIGHT_CPUS", "none"),
        ("LOCKWRIGHT_SLICE_EXT", "yes"),
    ];
    let test = "a_bad_value_costs_a_line_and_the_default_is_used";
    if let Some(output) = alone(test, &bad, || assert!(barrier_in_use())) {
        let stderr = String::from_utf8(output.stderr).unwrap();
        let ours: Vec<_> = stderr.lines().filter(|line| line.starts_with("lockwright: ")).collect();
        assert_eq!(
            ours,
            [
                "lockwright: LOCKWRIGHT_MEMBARRIER=perhaps: expected on or off; on is assumed",
                "lockwright: LOCKWRIGHT_CPUS=none: expected a number from 1 to 4096; the machine's CPUs \
                 are counted",
                "lockwright: LOCKWRIGHT_SLICE_EXT=yes: expected off, auto or require; off is assumed",
            ]
        );
    }
}

#[test]
fn as_many_cpus_are_reckoned_with_as_the_environment_says() {
    let many = [("LOCKWRIGHT_CPUS", "16")];
    alone("as_many_cpus_are_reckoned_with_as_the_environment_says", &many, || {
        assert_eq!((Native::cpus(), Native::spinner_cap()), (16, 15));
    });
}

/// With address space for a mebibyte more than the program has at its start.
#[test]
fn u02_locks_wait_with_little_address_space() {
    alone("u02_locks_wait_with_little_address_space", &[], || {
        let start = Barrier::new(3);
        let (lock, both) = (Mutex::new(0), Barrier::new(2));
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    // The threads' stacks are there before the limit is.
                    start.wait();
                    start.wait();
                    both.wait();
                    for _ in 0..200 {
                        let mut held = lock.lock();
                        *held += 1;
                        thread::sleep(Duration::from_micros(10));
                    }
                });
            }
            start.wait();
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
            let kib: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
            let bytes = (kib + 1_024) * 1_024;
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
            // SAFETY: the limit is a valid structure.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
            start.wait();
        });
        assert_eq!(*lock.lock(), 400);
    });
}

/// A program with a lock in it is no larger in memory than one without by more than a mebibyte, and runs
/// within 30,000 KiB of address space.
#[test]
fn u02_a_lock_takes_less_than_a_mebibyte() {
    let least_kib = |program: &str| {
        let runs = |kib: u64| {
            let mut command = Command::new(example(program));
            // SAFETY: setrlimit may be called between fork and exec.
            unsafe {
                command.pre_exec(move || {
                    let limit = libc::rlimit { rlim_cur: kib << 10, rlim_max: kib << 10 };
                    match libc::setrlimit(libc::RLIMIT_AS, &limit) {
                        0 => Ok(()),
                        _ => Err(std::io::Error::last_os_error()),
                    }
                });
            }
            command.output().is_ok_and(|output| output.status.success())
        };
        let (mut too_little, mut enough) = (0, 1 << 20);
        while enough - too_little > 16 {
            let kib = (too_little + enough) / 2;
            if runs(kib) { enough = kib } else { too_little = kib }
        }
        enough
    };
    let (with, without) = (least_kib("one_lock"), least_kib("no_lock"));
    assert!(with <= without + 1_024, "{with} KiB with a lock, {without} without");
    assert!(with <= 30_000, "{with} KiB");
}

/// The `pthread_atfork` pattern: who forks holds the lock. Readers that were about to enter in the parent are
/// in no count of the child's.
#[test]
fn b07_no_reader_of_the_parent_is_left_in_a_child() {
    alone("b07_no_reader_of_the_parent_is_left_in_a_child", &[], || {
        let (lock, enough) = (RwLock::new(0), AtomicBool::new(false));
        thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    while !enough.load(Relaxed) {
                        std::hint::black_box(*lock.read());
                    }
                });
            }
            let mut stuck = 0;
            for _ in 0..300 {
                let held = lock.write();
                // SAFETY: the child uses a lock that it holds, and ends.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    drop(held);
                    let free = lock.try_write_for(Duration::from_secs(10)).is_some();
                    // SAFETY: ends the child at once.
                    unsafe { libc::_exit(i32::from(!free)) };
                }
                drop(held);
                assert!(child > 0);
                let mut status = -1;
                // SAFETY: `status` is a place for it.
                unsafe { libc::waitpid(child, &mut status, 0) };
                stuck += i32::from(status != 0);
            }
            enough.store(true, Relaxed);
            assert_eq!(stuck, 0, "of 300 children");
        });
    });
}

#[test]
fn u01_an_atomic_mutex_interrupts_no_cpu() {
    alone("u01_an_atomic_mutex_interrupts_no_cpu", &[], || {
        let slept = || events::snapshot().get(Event::MutexSleep);
        let lock = AtomicMutex::new(0);
        for _ in 0..1_000 {
            let both = Barrier::new(2);
            thread::scope(|s| {
                let held = lock.lock();
                s.spawn(|| {
                    both.wait();
                    *lock.lock() += 1;
                });
                both.wait();
                thread::sleep(Duration::from_millis(2));
                drop(held);
            });
            if slept() > 0 {
                break;
            }
        }
        assert!(slept() > 0, "nobody slept");
        assert_eq!(heavy_calls(), 0);
    });
}

/// Slots of threads that are gone are gone, so that nobody looks at them.
#[test]
fn u03_slots_are_those_of_threads_that_live() {
    alone("u03_slots_are_those_of_threads_that_live", &[], || {
        for _ in 0..500 {
            thread::spawn(|| drop(Native::enter())).join().unwrap();
        }
        assert!(Native::slots().count() <= 2, "{} slots", Native::slots().count());
    });
}

/// A thread that comes now and then is let in between threads in saturated loops.
#[test]
fn u06_a_guest_does_not_wait_for_the_end_of_a_slice() {
    alone("u06_a_guest_does_not_wait_for_the_end_of_a_slice", &[], || {
        let (lock, enough) = (Mutex::new(0_u64), AtomicBool::new(false));
        let guests = || events::snapshot().get(Event::MutexGuest);
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    while !enough.load(Relaxed) {
                        *lock.lock() += 1;
                    }
                });
            }
            for _ in 0..5_000 {
                if guests() > 0 {
                    break;
                }
                thread::sleep(Duration::from_millis(1));
                *lock.lock() += 1;
            }
            enough.store(true, Relaxed);
        });
        assert!(guests() > 0, "no guest was let in");
    });
}

#[test]
fn u05_a_lock_costs_at_most_five_system_calls_before_main() {
    let (with, without) =
        (count_system_calls(&example("one_lock")), count_system_calls(&example("no_lock")));
    assert!(with <= without + 5, "{with} with a lock, {without} without");
}
