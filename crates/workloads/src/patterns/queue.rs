//! A bounded queue: producers push, consumers pop and work; also a pool of workers.

use std::sync::atomic::Ordering::Relaxed;

use lockwright_platform::{Platform, Word, Work};

use super::{BenchMonitor, Did, Pattern, Side};

/// Who does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSpec {
    /// Threads that push, at least 1.
    pub producers: usize,
    /// Threads that pop and work, at least 1.
    pub consumers: usize,
    /// Items that fit.
    pub capacity: usize,
    /// PAUSE units that a consumer works on an item.
    pub task: u32,
}

/// A queue on the platform `P`: its words are traffic there.
pub struct Queue<M, P: Platform> {
    monitor: M,
    spec: QueueSpec,
    /// When each item was pushed, by its number modulo the capacity.
    items: Vec<P::Word<u64>>,
    pushed: P::Word<u64>,
    popped: P::Word<u64>,
    closed: P::Word<u32>,
}

impl<M: BenchMonitor, P: Platform> Queue<M, P> {
    /// Empty.
    pub fn new(spec: QueueSpec) -> Self {
        Queue {
            monitor: M::new(),
            spec,
            items: (0..spec.capacity).map(|_| Word::new(0)).collect(),
            pushed: Word::new(0),
            popped: Word::new(0),
            closed: Word::new(0),
        }
    }
}

// Ordering: Relaxed throughout: the mutex orders the words, if it does.
impl<M: BenchMonitor, P: Platform> Queue<M, P> {
    /// The place of the item with this number.
    fn place(&self, number: u64) -> &P::Word<u64> {
        &self.items[(number % self.items.len() as u64) as usize]
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Relaxed) != 0
    }

    /// Pushes an item; false if the queue was closed.
    fn push(&self, now: u64) -> bool {
        let pushed = self.monitor.wait_until(Side::Put, || {
            let number = self.pushed.load(Relaxed);
            if self.is_closed() {
                return Some(false);
            }
            (number - self.popped.load(Relaxed) < self.items.len() as u64).then(|| {
                self.place(number).store(now, Relaxed);
                self.pushed.store(number + 1, Relaxed);
                true
            })
        });
        if pushed {
            self.monitor.notify_one(Side::Take);
        }
        pushed
    }

    /// Pops an item: when it was pushed; `None` once the queue is closed.
    fn pop(&self) -> Option<u64> {
        let popped = self.monitor.wait_until(Side::Take, || {
            let number = self.popped.load(Relaxed);
            if self.is_closed() {
                return Some(None);
            }
            (number < self.pushed.load(Relaxed)).then(|| {
                self.popped.store(number + 1, Relaxed);
                Some(self.place(number).load(Relaxed))
            })
        });
        if popped.is_some() {
            self.monitor.notify_one(Side::Put);
        }
        popped
    }

    fn close(&self) {
        self.monitor.with(|| self.closed.store(1, Relaxed));
        self.monitor.notify_all(Side::Take);
        self.monitor.notify_all(Side::Put);
    }
}

impl<M: BenchMonitor, P: Platform> Pattern for Queue<M, P> {
    fn threads(&self) -> usize {
        self.spec.producers + self.spec.consumers
    }

    fn body<K: Work>(&self, number: usize, mut over: impl FnMut(u64) -> bool) -> Did {
        let produces = number < self.spec.producers;
        let mut did = Did::nothing(if produces { "producer" } else { "consumer" });
        loop {
            if produces {
                if !self.push(K::ticks()) {
                    return did;
                }
            } else {
                let Some(pushed_at) = self.pop() else { return did };
                super::record::<K>(&mut did.waits, pushed_at, K::ticks());
                K::pause(self.spec.task);
            }
            did.ops += 1;
            if over(did.ops) {
                self.close();
                return did;
            }
        }
    }

    fn wrong(&self, all: &[Did]) -> u64 {
        let of = |role| all.iter().filter(|did| did.role == role).map(|did| did.ops).sum::<u64>();
        of("producer").abs_diff(self.pushed.load(Relaxed))
            + of("consumer").abs_diff(self.popped.load(Relaxed))
    }
}
