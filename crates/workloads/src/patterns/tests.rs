//! Every pattern with a lock that works and with one that does not.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use lockwright_platform::Native;

use super::*;
use crate::harness::Interrupt;
use crate::mutex_bench::{BenchMutex, NoLock};
use crate::rw_bench::AsRwLock;

struct Works(Mutex<u64>);

impl BenchMutex for Works {
    fn new() -> Self {
        Works(Mutex::new(0))
    }

    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        section(&mut self.0.lock().unwrap())
    }
}

type Good = AsRwLock<Works>;
type Broken = AsRwLock<NoLock>;

struct Monitor(Mutex<()>, [Condvar; 2]);

impl BenchMonitor for Monitor {
    fn new() -> Self {
        Monitor(Mutex::new(()), Default::default())
    }

    fn with<T>(&self, section: impl FnOnce() -> T) -> T {
        let _held = self.0.lock().unwrap();
        section()
    }

    fn wait_until<T>(&self, condvar: Side, mut ready: impl FnMut() -> Option<T>) -> T {
        let mut held = self.0.lock().unwrap();
        loop {
            if let Some(result) = ready() {
                return result;
            }
            held = self.1[condvar as usize].wait(held).unwrap();
        }
    }

    fn notify_one(&self, condvar: Side) {
        self.1[condvar as usize].notify_one();
    }

    fn notify_all(&self, condvar: Side) {
        self.1[condvar as usize].notify_all();
    }
}

fn round(pattern: &(impl Pattern + Sync), ms: u64) -> PatternReport {
    run(pattern, Cpus::Free, Duration::from_millis(ms), &Interrupt::new()).unwrap()
}

/// All threads end, nothing is wrong, something was done and timed.
fn works(pattern: &(impl Pattern + Sync), ms: u64) -> PatternReport {
    let report = round(pattern, ms);
    assert_eq!((report.wrong, report.cut_short), (0, false));
    assert_eq!(report.threads.len(), pattern.threads());
    assert!(report.waits.count() > 0 && report.threads.iter().any(|thread| thread.ops > 0));
    report
}

const GUEST: GuestSpec =
    GuestSpec { hogs: 2, every_ns: 200_000, load: 5, hogs_write: true, guest_writes: true };

#[test]
fn a_guest_comes_now_and_then() {
    let report = works(&Guest::<Good>::new(GUEST), 60);
    let roles: Vec<_> = report.threads.iter().map(|thread| thread.role).collect();
    assert_eq!(roles, ["guest", "hog", "hog"]);
    // It comes at most as often as it is told to, and each time is timed.
    assert!(report.waits.count() <= 60 * 5 + 1, "{}", report.waits.count());
    works(&Guest::<Good>::new(GuestSpec { hogs_write: false, ..GUEST }), 30);
    works(&Guest::<Good>::new(GuestSpec { guest_writes: false, ..GUEST }), 30);
}

#[test]
fn turns_are_taken_in_turn() {
    for notify_held in [true, false] {
        let report = works(&Turns::<Monitor>::new(TurnsSpec { notify_held }), 50);
        let ops: Vec<_> = report.threads.iter().map(|thread| thread.ops).collect();
        assert!(ops[0].abs_diff(ops[1]) <= 1, "{ops:?}");
    }
}

#[test]
fn what_is_pushed_is_popped() {
    for (producers, consumers, capacity) in [(1, 4, 64), (3, 1, 1), (2, 2, 8)] {
        let spec = QueueSpec { producers, consumers, capacity, task: 20 };
        works(&Queue::<Monitor, Native>::new(spec), 40);
    }
}

#[test]
fn bursts_are_drained() {
    works(&Burst::<Good>::new(BurstSpec { threads: 6, load: 5, quiet_ns: 100_000 }), 60);
}

#[test]
fn a_map_keeps_what_is_written() {
    let spec = MapSpec { threads: 4, shards: 4, reads_percent: 50, outside: 1 };
    works(&Map::<Good, Native>::new(spec), 40);
}

#[test]
fn holders_stall_and_others_wait() {
    let spec = SectionsSpec { threads: 3, load: 5, outside: 5, burst: 2, stall: None };
    works(&Sections::<Good>::new(spec, fault_in), 30);
    let stall = Some(Stall::Sleep { every: 1, ns: 1_000_000 });
    let report = works(&Sections::<Good>::new(SectionsSpec { stall, ..spec }, fault_in), 60);
    assert!(report.waits.longest_ns() >= 1_000_000, "{}", report.waits.longest_ns());
    let stall = Some(Stall::Fault { every: 2, pages: 4 });
    works(&Sections::<Good>::new(SectionsSpec { stall, ..spec }, fault_in), 30);
}

/// Sections long enough that threads meet in them, within some rounds.
fn is_found_out(wrong: impl Fn() -> u64) {
    assert!((0..20).any(|_| wrong() > 0));
}

#[test]
fn a_lock_that_lets_everybody_in_is_found_out() {
    let spec = SectionsSpec { threads: 4, load: 2_000, outside: 0, burst: 1, stall: None };
    is_found_out(|| round(&Sections::<Broken>::new(spec, fault_in), 50).wrong);
    let guest = GuestSpec { hogs: 3, load: 2_000, ..GUEST };
    is_found_out(|| round(&Guest::<Broken>::new(guest), 50).wrong);
    let spec = MapSpec { threads: 4, shards: 1, reads_percent: 50, outside: 0 };
    is_found_out(|| round(&Map::<Broken, Native>::new(spec), 50).wrong);
}
