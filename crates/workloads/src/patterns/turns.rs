//! Ping-pong: two threads pass a turn to and fro through a condition variable.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright_platform::Work;

use super::{BenchMonitor, Did, Pattern, Side};

/// How the turn is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnsSpec {
    /// The other is notified with the mutex held; else after it is released.
    pub notify_held: bool,
}

/// Two threads that take turns.
pub struct Turns<M> {
    monitor: M,
    spec: TurnsSpec,
    /// Turns that were passed; the last bit says whose the next is.
    passed: AtomicU64,
    /// When the last was.
    passed_at: AtomicU64,
    over: AtomicU64,
}

impl<M: BenchMonitor> Turns<M> {
    /// The first thread has the first turn.
    pub fn new(spec: TurnsSpec) -> Self {
        Turns {
            monitor: M::new(),
            spec,
            passed: AtomicU64::new(0),
            passed_at: AtomicU64::new(0),
            over: AtomicU64::new(0),
        }
    }
}

// Ordering: Relaxed throughout: the mutex orders the words, if it does.
impl<M: BenchMonitor> Pattern for Turns<M> {
    fn threads(&self) -> usize {
        2
    }

    fn body<K: Work>(&self, number: usize, mut over: impl FnMut(u64) -> bool) -> Did {
        let mut did = Did::nothing("player");
        // Each waits for its own side, so that no notification goes astray.
        let (own, other) =
            if number == 0 { (Side::Take, Side::Put) } else { (Side::Put, Side::Take) };
        loop {
            let mine = || self.passed.load(Relaxed) % 2 == number as u64;
            let taken = self.monitor.wait_until(own, || match self.over.load(Relaxed) {
                0 => {
                    mine().then(|| Some((self.passed.load(Relaxed), self.passed_at.load(Relaxed))))
                }
                _ => Some(None),
            });
            let Some((turn, passed_at)) = taken else { return did };
            if turn > 0 {
                super::record::<K>(&mut did.waits, passed_at, K::ticks());
            }
            did.ops += 1;
            let ends = over(did.ops);
            self.monitor.with(|| {
                // Nobody else may have had the turn.
                did.wrong += u64::from(self.passed.load(Relaxed) != turn);
                self.passed.store(turn + 1, Relaxed);
                self.over.store(self.over.load(Relaxed) | u64::from(ends), Relaxed);
                self.passed_at.store(K::ticks(), Relaxed);
                if self.spec.notify_held {
                    self.monitor.notify_one(other);
                }
            });
            if !self.spec.notify_held {
                self.monitor.notify_one(other);
            }
        }
    }

    fn wrong(&self, all: &[Did]) -> u64 {
        let turns: u64 = all.iter().map(|did| did.ops).sum();
        let found = all.iter().map(|did| did.wrong).sum::<u64>();
        found + turns.abs_diff(self.passed.load(Relaxed))
    }
}
