//! A burst: all want the lock at once, then nobody does.
//!
//! A leader takes the lock, calls the others, gives them time to come and queue, and releases it:
//! how long until the last of them has had it? The lock is the same state for every burst, so
//! what a crowd leaves behind counts.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use lockwright_platform::Work;

use super::{Did, Pattern, step};
use crate::rw_bench::BenchRwLock;

/// How many come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstSpec {
    /// Threads, the leader included; at least 2.
    pub threads: usize,
    /// PAUSE units in each section.
    pub load: u32,
    /// Nanoseconds of quiet before the next burst.
    pub quiet_ns: u64,
}

/// Bursts on one lock.
// Edges
//  [call]  leader: called Release -> others: called Acquire  the burst is on
//  [done]  others: done Release -> leader: done Acquire  publishes when the last was through
pub struct Burst<L> {
    lock: L,
    spec: BurstSpec,
    /// The number of the burst that is on; the last is `END`.
    called: AtomicU64,
    asking: AtomicU64,
    done: AtomicU64,
    through_at: AtomicU64,
}

/// No more bursts.
const END: u64 = u64::MAX;
/// How often those who wait for a burst look.
const LOOK_NS: u64 = 200_000;
/// How long they have to queue once the last has said that it comes.
const SETTLE_NS: u64 = 150_000;

impl<L: BenchRwLock> Burst<L> {
    /// Before the first.
    pub fn new(spec: BurstSpec) -> Self {
        Burst {
            lock: L::new(),
            spec,
            called: AtomicU64::new(0),
            asking: AtomicU64::new(0),
            done: AtomicU64::new(0),
            through_at: AtomicU64::new(0),
        }
    }

    /// Calls the others and holds the lock until they queue: when it was released, and when the last
    /// of them was through.
    fn lead<K: Work>(&self, burst: u64) -> (u64, u64) {
        let others = (self.spec.threads - 1) as u64;
        // Ordering: Relaxed, owner-only (nobody comes before he is called)
        self.asking.store(0, Relaxed);
        // Ordering: Relaxed, owner-only (as above)
        self.done.store(0, Relaxed);
        let released_at = self.lock.write(|counter| {
            // Ordering: Release, [call]: the counts are 0 for whoever comes
            self.called.store(burst, Release);
            // Ordering: Relaxed, hint (the lock is released later, whatever was seen)
            while self.asking.load(Relaxed) < others {
                K::sleep(LOOK_NS / 10);
            }
            step(counter, || K::sleep(SETTLE_NS));
            K::ticks()
        });
        // Ordering: Acquire, [done]: pairs with the additions in come()
        while self.done.load(Acquire) < others {
            K::sleep(LOOK_NS / 10);
        }
        // Ordering: Relaxed, sequence (published by `done`, [done])
        (released_at, self.through_at.load(Relaxed))
    }

    fn come<K: Work>(&self) {
        // Ordering: Relaxed, hint (the leader waits a while more)
        self.asking.fetch_add(1, Relaxed);
        self.lock.write(|counter| {
            step(counter, || K::pause(self.spec.load));
            // Ordering: Relaxed, sequence (published by `done`, [done]): the last in wins
            self.through_at.store(K::ticks(), Relaxed);
        });
        // Ordering: Release, [done]: pairs with the look in lead()
        self.done.fetch_add(1, Release);
    }

    /// Waits until a burst after `seen` is on.
    fn wait_for_call<K: Work>(&self, seen: u64) -> u64 {
        loop {
            // Ordering: Acquire, [call]: pairs with the store in lead()
            match self.called.load(Acquire) {
                called if called != seen => return called,
                _ => K::sleep(LOOK_NS),
            }
        }
    }
}

impl<L: BenchRwLock> Pattern for Burst<L> {
    fn threads(&self) -> usize {
        self.spec.threads
    }

    fn body<K: Work>(&self, number: usize, mut over: impl FnMut(u64) -> bool) -> Did {
        let leader = number == 0;
        let mut did = Did::nothing(if leader { "leader" } else { "one of many" });
        let mut burst = 0;
        loop {
            if leader {
                K::sleep(self.spec.quiet_ns);
                burst += 1;
                let (released_at, through_at) = self.lead::<K>(burst);
                super::record::<K>(&mut did.waits, released_at, through_at);
            } else {
                burst = self.wait_for_call::<K>(burst);
                if burst == END {
                    return did;
                }
                self.come::<K>();
            }
            did.ops += 1;
            did.writes += 1;
            if over(did.ops) && leader {
                // Ordering: Release, [call]: nothing to publish
                self.called.store(END, Release);
                return did;
            }
        }
    }

    fn wrong(&self, all: &[Did]) -> u64 {
        super::lost(&self.lock, all)
    }
}
