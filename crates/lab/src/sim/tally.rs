//! What of the threads' work counts.

use std::cell::Cell;
use std::rc::Rc;

use lockwright_sim::{clock, turn};

/// Counts a thread's operations in the time that counts.
pub(super) struct Tally {
    warm: u64,
    end: u64,
    before: Cell<Option<u64>>,
    ended: Cell<bool>,
    result: Rc<Cell<(u64, u64)>>,
}

impl Tally {
    /// Time counts from `warm` to `end`, in nanoseconds; `result` will be what was done in it, and
    /// in all.
    pub fn new(warm: u64, end: u64, result: Rc<Cell<(u64, u64)>>) -> Self {
        Tally { warm, end, before: Cell::new(None), ended: Cell::new(false), result }
    }

    /// Told of `done` operations so far; whether time is over.
    pub fn over(&self, done: u64) -> bool {
        turn();
        let now = clock();
        if now >= self.warm && self.before.get().is_none() {
            // The operation that was under way when the time began does not count.
            self.before.set(Some(done));
        }
        let over = now >= self.end;
        if over && !self.ended.replace(true) {
            // Nor does the one that was under way when it ended.
            let counted = done - self.before.get().unwrap_or(done);
            self.result.set((counted.saturating_sub(1), done));
        }
        over
    }
}

/// Processor time that goes into slow acquisitions, in the time that counts.
pub(super) struct SlowShare {
    warm: u64,
    slow: Cell<u64>,
    all: Cell<u64>,
}

impl SlowShare {
    /// No acquisition without waiting takes so long.
    const SLOW_NS: u64 = 1_000;

    /// Time counts from `warm` on, in nanoseconds.
    pub fn new(warm: u64) -> Self {
        SlowShare { warm, slow: Cell::new(0), all: Cell::new(0) }
    }

    /// An acquisition, and all that was done with it, in nanoseconds of processor time.
    pub fn add(&self, acquisition: u64, all: u64) {
        if clock() < self.warm {
            return;
        }
        if acquisition > Self::SLOW_NS {
            self.slow.set(self.slow.get() + acquisition);
        }
        self.all.set(self.all.get() + all);
    }

    pub fn share(&self) -> Option<f64> {
        (self.all.get() > 0).then(|| self.slow.get() as f64 / self.all.get() as f64)
    }
}
