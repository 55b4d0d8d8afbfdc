//! A mutex on a futex, as `std::sync::Mutex` is one on Linux.
//!
//! *State*: 0 free, 1 held, 2 held and somebody may sleep. *Cost*: one read-modify-write to lock and one to
//! unlock; who sleeps is woken by each unlock, and finds the lock taken if somebody came meanwhile.
//!
//! ```text
//! Edges
//!  [barging]  unlock: state Release -> lock: state Acquire  publishes the critical section
//! ```

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Word, Work};
use lockwright_workloads::mutex_bench::BenchMutex;

use super::waiters::Waiters;

/// How often a thread looks before it sleeps, with a PAUSE in between.
const LOOKS: u32 = 100;
/// Nanoseconds of a call into the kernel that wakes nobody.
const CALL_NS: u32 = 100;

#[repr(C, align(64))]
struct State<K: Work>(K::Word<u32>);

/// See the beginning of this file.
#[repr(C)]
pub struct Barging<K: Work> {
    state: State<K>,
    waiters: Waiters<K>,
    counter: AtomicU64,
}

impl<K: Work> Barging<K> {
    fn lock(&self) {
        let state = &self.state.0;
        // Ordering: Acquire, [barging]: pairs with unlock(); failure Relaxed, hint (looked at below)
        if state.compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
            return;
        }
        let mut seen = self.spin();
        if seen == 0 {
            // Ordering: Acquire, [barging]: pairs with unlock(); failure Relaxed, hint (as above)
            match state.compare_exchange(0, 1, Acquire, Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
        loop {
            // Ordering: Acquire, [barging]: pairs with unlock()
            if seen != 2 && state.swap(2, Acquire) == 0 {
                return;
            }
            // Ordering: Relaxed, hint (taken by an exchange above)
            if self.waiters.sleep_if(|| state.load(Relaxed) == 2).is_none() {
                K::busy_wait_ns(CALL_NS);
            }
            seen = self.spin();
        }
    }

    /// Looks until it is not held, or somebody sleeps, or often enough.
    fn spin(&self) -> u32 {
        for _ in 0..LOOKS {
            // Ordering: Relaxed, hint (taken by an exchange)
            match self.state.0.load(Relaxed) {
                1 => K::pause(1),
                other => return other,
            }
        }
        // Ordering: Relaxed, hint (taken by an exchange)
        self.state.0.load(Relaxed)
    }

    fn unlock(&self) {
        // Ordering: Release, [barging]: pairs with lock()
        if self.state.0.swap(0, Release) == 2 {
            let mut asleep = false;
            self.waiters.wake_one(|found, _| {
                asleep = found;
                0
            });
            if !asleep {
                K::busy_wait_ns(CALL_NS);
            }
        }
    }
}

impl<K: Work> BenchMutex for Barging<K> {
    fn new() -> Self {
        let counter = AtomicU64::new(0);
        Barging { state: State(Word::new(0)), waiters: Waiters::new(), counter }
    }

    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        self.lock();
        // Ordering: Relaxed, fenced (by the lock) (block)
        let mut value = self.counter.load(Relaxed);
        let result = section(&mut value);
        self.counter.store(value, Relaxed);

        self.unlock();
        result
    }
}
