//! Many threads take one lock again and again, and each wait is timed; holders may stall now and
//! then, as they do who fault pages in, or sleep, with a lock held.

use lockwright_platform::Work;

use super::{Did, Pattern, step};
use crate::harness::Draw;
use crate::rw_bench::BenchRwLock;

/// Who does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionsSpec {
    /// Threads, at least 1.
    pub threads: usize,
    /// PAUSE units in each section.
    pub load: u32,
    /// PAUSE units outside after each burst.
    pub outside: u32,
    /// Sections back to back before the thread works outside; at least 1.
    pub burst: u32,
    /// What holders do now and then.
    pub stall: Option<Stall>,
}

/// How a holder stalls, and in one section of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// It sleeps so many nanoseconds.
    Sleep {
        /// One section in so many.
        every: u32,
        /// Length.
        ns: u64,
    },
    /// It touches so many pages for the first time.
    Fault {
        /// One section in so many.
        every: u32,
        /// Pages.
        pages: u32,
    },
}

/// Sections of one lock.
pub struct Sections<L> {
    lock: L,
    spec: SectionsSpec,
    /// Touches so many pages for the first time.
    fault: fn(u32),
}

impl<L: BenchRwLock> Sections<L> {
    /// `fault` touches so many pages for the first time, or takes as long.
    pub fn new(spec: SectionsSpec, fault: fn(u32)) -> Self {
        Sections { lock: L::new(), spec, fault }
    }

    fn stall<K: Work>(&self, draw: &mut Draw) {
        match self.spec.stall {
            Some(Stall::Sleep { every, ns }) if draw.below(every) == 0 => K::sleep(ns),
            Some(Stall::Fault { every, pages }) if draw.below(every) == 0 => (self.fault)(pages),
            _ => {}
        }
    }
}

impl<L: BenchRwLock> Pattern for Sections<L> {
    fn threads(&self) -> usize {
        self.spec.threads
    }

    fn body<K: Work>(&self, number: usize, mut over: impl FnMut(u64) -> bool) -> Did {
        let mut draw = Draw::new(number as u64);
        let mut did = Did::nothing("user");
        loop {
            super::timed::<K>(&mut did.waits, || {
                self.lock.write(|counter| {
                    let entered = K::ticks();
                    step(counter, || {
                        K::pause(self.spec.load);
                        self.stall::<K>(&mut draw);
                    });
                    entered
                })
            });
            did.ops += 1;
            did.writes += 1;
            if over(did.ops) {
                return did;
            }
            if did.ops.is_multiple_of(u64::from(self.spec.burst)) {
                K::pause(self.spec.outside);
            }
        }
    }

    fn wrong(&self, all: &[Did]) -> u64 {
        super::lost(&self.lock, all)
    }
}
