//! How programs use locks: the bodies that `lockwright bench patterns` measures.
//!
//! | pattern | threads | what is timed |
//! |---|---|---|
//! | [`Guest`] | some take the lock again and again, one comes every so often | the guest's waits |
//! | [`Turns`] | two pass a turn through a condition variable | from the pass until it is taken |
//! | [`Queue`] | producers and consumers of a bounded queue | from the push until the pop |
//! | [`Burst`] | all come while one holds the lock, then nobody does | from the release until all have had it |
//! | [`Map`] | all read and write a map of shards, some keys more than others | each operation |
//! | [`Sections`] | all take the lock again and again; some holders stall | the waits |
//!
//! A body is generic over the lock and the platform, so that the same one runs on this machine
//! and in the simulator: whoever runs it starts [`Pattern::threads`] threads with a number each,
//! and tells them when time is over. What the lock protects are relaxed words beside it, which
//! cost what plain ones do, and show when a lock lets two threads in.

mod bench;
mod burst;
mod guest;
mod map;
mod native;
mod queue;
mod sections;
mod turns;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright_platform::Work;

use crate::harness::Waits;
use crate::rw_bench::BenchRwLock;

pub use bench::{LockPattern, MonitorPattern, PatternBench, PatternRunner};
pub use burst::{Burst, BurstSpec};
pub use guest::{Guest, GuestSpec};
pub use map::{Map, MapSpec};
pub use native::{Cpus, PatternReport, PatternThread, fault_in, run};
pub use queue::{Queue, QueueSpec};
pub use sections::{Sections, SectionsSpec, Stall};
pub use turns::{Turns, TurnsSpec};

#[cfg(test)]
mod tests;

/// A way in which threads use a lock.
pub trait Pattern {
    /// How many threads it takes.
    fn threads(&self) -> usize;

    /// What the thread with this number does until `over`, asked after each of its operations
    /// with their number, says so. A thread that learns of the end lets those go that wait for it.
    fn body<K: Work>(&self, number: usize, over: impl FnMut(u64) -> bool) -> Did;

    /// What the lock did wrong, once all threads have ended: updates that are missing, items that
    /// were lost.
    fn wrong(&self, all: &[Did]) -> u64;
}

/// What one thread did.
#[derive(Clone, Debug)]
pub struct Did {
    /// What it was.
    pub role: &'static str,
    /// Operations, the one under way at the end included.
    pub ops: u64,
    /// Those of them that wrote.
    pub writes: u64,
    /// How long what the pattern times took.
    pub waits: Waits,
    /// What it found wrong itself.
    pub wrong: u64,
}

impl Did {
    fn nothing(role: &'static str) -> Self {
        Did { role, ops: 0, writes: 0, waits: Waits::new(), wrong: 0 }
    }
}

/// A mutex with two condition variables, as a user of that lock would have them.
///
/// What is protected lies beside it, in words that the sections reach by themselves.
pub trait BenchMonitor: Send + Sync {
    /// Unlocked; nobody waits.
    fn new() -> Self;

    /// Runs `section` with the mutex held.
    fn with<T>(&self, section: impl FnOnce() -> T) -> T;

    /// Runs `ready` with the mutex held until it gives something, waiting for `condvar` in
    /// between.
    fn wait_until<T>(&self, condvar: Side, ready: impl FnMut() -> Option<T>) -> T;

    /// Lets one waiter of `condvar` look again.
    fn notify_one(&self, condvar: Side);

    /// Lets all waiters of `condvar` look again.
    fn notify_all(&self, condvar: Side);
}

/// One of the two condition variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first: of those who take.
    Take,
    /// The second: of those who put.
    Put,
}

/// Any mutex and condition variable that speak `lock_api` 0.5.
pub struct LockApiMonitor<C: lock_api::RawCondvar> {
    mutex: lock_api::Mutex<C::RawMutex, ()>,
    condvars: [lock_api::Condvar<C>; 2],
}

impl<C: lock_api::RawCondvar + Send + Sync> BenchMonitor for LockApiMonitor<C>
where
    C::RawMutex: Send + Sync,
{
    fn new() -> Self {
        let condvars = [lock_api::Condvar::new(), lock_api::Condvar::new()];
        LockApiMonitor { mutex: lock_api::Mutex::new(()), condvars }
    }

    #[inline]
    fn with<T>(&self, section: impl FnOnce() -> T) -> T {
        let _held = self.mutex.lock();
        section()
    }

    #[inline]
    fn wait_until<T>(&self, condvar: Side, mut ready: impl FnMut() -> Option<T>) -> T {
        let mut held = self.mutex.lock();
        loop {
            if let Some(result) = ready() {
                return result;
            }
            self.condvars[condvar as usize].wait(&mut held);
        }
    }

    fn notify_one(&self, condvar: Side) {
        self.condvars[condvar as usize].notify_one();
    }

    fn notify_all(&self, condvar: Side) {
        self.condvars[condvar as usize].notify_all();
    }
}

/// Sections that wrote, less those that show in the counter under the lock.
fn lost<L: BenchRwLock>(lock: &L, all: &[Did]) -> u64 {
    let writes: u64 = all.iter().map(|did| did.writes).sum();
    // Ordering: Relaxed: the threads have ended.
    writes.abs_diff(lock.read(|counter| counter.load(Relaxed)))
}

/// Adds one as whoever holds the lock may: read before the work and written after it, so that a
/// second thread anywhere in the section loses an update.
#[inline]
fn step<T>(counter: &AtomicU64, work: impl FnOnce() -> T) -> T {
    // Ordering: Relaxed throughout: the lock orders the counter, if it does.
    let before = counter.load(Relaxed);
    let result = work();
    counter.store(before + 1, Relaxed);
    result
}

/// Runs `attempt`, which says when it began to have the lock, and records the wait for that in
/// ticks of the platform.
#[inline]
fn timed<K: Work>(waits: &mut Waits, attempt: impl FnOnce() -> u64) {
    let asked = K::ticks();
    let entered = attempt();
    record::<K>(waits, asked, entered);
}

/// Records what lies between two readings of the platform's ticks.
#[inline]
fn record<K: Work>(waits: &mut Waits, from: u64, to: u64) {
    // Two CPUs' counters may differ by a few ticks.
    waits.record_ns(K::ns_of(to.saturating_sub(from)));
}
