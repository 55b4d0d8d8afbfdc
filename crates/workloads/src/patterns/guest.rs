//! A guest among hogs: one thread comes every so often to a lock that others take again and again.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use lockwright_platform::Work;

use super::{Did, Pattern, step};
use crate::rw_bench::BenchRwLock;

/// Who does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestSpec {
    /// Threads that take the lock again at once, at least 1.
    pub hogs: usize,
    /// Nanoseconds from one visit of the guest to the next.
    pub every_ns: u64,
    /// PAUSE units in each section.
    pub load: u32,
    /// Hogs write; else they read.
    pub hogs_write: bool,
    /// The guest writes; else it reads.
    pub guest_writes: bool,
}

/// A guest among hogs.
pub struct Guest<L> {
    lock: L,
    spec: GuestSpec,
    over: AtomicBool,
}

impl<L: BenchRwLock> Guest<L> {
    /// Nobody has come yet.
    pub fn new(spec: GuestSpec) -> Self {
        Guest { lock: L::new(), spec, over: AtomicBool::new(false) }
    }

    #[inline]
    fn section<K: Work>(&self, writes: bool) -> u64 {
        let load = self.spec.load;
        if writes {
            self.lock.write(|counter| {
                let entered = K::ticks();
                step(counter, || K::pause(load));
                entered
            })
        } else {
            self.lock.read(|_| {
                let entered = K::ticks();
                K::pause(load);
                entered
            })
        }
    }
}

impl<L: BenchRwLock> Pattern for Guest<L> {
    fn threads(&self) -> usize {
        self.spec.hogs + 1
    }

    fn body<K: Work>(&self, number: usize, mut over: impl FnMut(u64) -> bool) -> Did {
        let spec = self.spec;
        let guest = number == 0;
        let mut did = Did::nothing(if guest { "guest" } else { "hog" });
        let mut due = K::now() + spec.every_ns;
        // Ordering: Relaxed: a hint to stop.
        while !self.over.load(Relaxed) {
            if guest {
                K::sleep(due.saturating_sub(K::now()));
                // Visits that are late are not made up for.
                due = (due + spec.every_ns).max(K::now());
                super::timed::<K>(&mut did.waits, || self.section::<K>(spec.guest_writes));
            } else {
                self.section::<K>(spec.hogs_write);
            }
            did.ops += 1;
            did.writes += u64::from(if guest { spec.guest_writes } else { spec.hogs_write });
            if over(did.ops) {
                // Ordering: Relaxed: a hint to stop.
                self.over.store(true, Relaxed);
            }
        }
        did
    }

    fn wrong(&self, all: &[Did]) -> u64 {
        super::lost(&self.lock, all)
    }
}
