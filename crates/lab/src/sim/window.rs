//! What of a run counts: its operations in batches of simulated time, until the run is long enough.
//!
//! All simulated threads of a run share one window, kept by the OS thread that simulates them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use lockwright_sim::{Outcome, so_far, turn};
use lockwright_workloads::harness::Waits;
use serde::Serialize;

use super::estimate::{Estimate, estimate};

/// How long a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Length {
    /// Simulated time that does not count.
    pub warmup: Duration,
    /// Simulated time of a batch.
    pub batch: Duration,
    /// Batches at least.
    pub least: usize,
    /// Batches at most.
    pub most: usize,
    /// The run ends between the two as soon as its rate is known to this share of itself.
    pub precision: Option<f64>,
}

impl Length {
    /// Batches of a run whose length is given.
    const BATCHES: u32 = 20;

    /// Batches at least of a run that ends when it is sure.
    const LEAST: usize = 30;

    /// So long.
    pub fn fixed(warmup: Duration, time: Duration) -> Self {
        Self::in_batches(warmup, time / Self::BATCHES, time)
    }

    /// So long, in batches of this length.
    pub fn in_batches(warmup: Duration, batch: Duration, time: Duration) -> Self {
        let most = (time.as_nanos() / batch.as_nanos().max(1)).max(1) as usize;
        Length { warmup, batch, least: most, most, precision: None }
    }

    /// No longer than until the rate is known to this share of itself.
    #[must_use]
    pub fn until_sure(self, precision: f64) -> Self {
        Length { least: Self::LEAST.min(self.most), precision: Some(precision), ..self }
    }

    /// The longest it may take, warm-up included.
    pub fn longest(&self) -> Duration {
        self.warmup + self.batch * self.most as u32
    }
}

/// Which of two kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads, those of threads that do both, or what the workload calls its first.
    First,
    /// Writes, or what the workload calls its second.
    Second,
}

/// A batch.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Operations that ended in it, by [`Role`] of their threads.
    pub ops: [u64; 2],
    /// Processor time of its operations, and how much of that went into slow acquisitions, in nanoseconds
    /// (of workloads that note it).
    pub noted: (u64, u64),
    /// What the machine had done by its end.
    pub end: Outcome,
}

/// What was counted.
#[derive(Debug)]
pub struct Counted {
    /// What the machine had done when the warm-up was over.
    pub begin: Option<Outcome>,
    /// Whole batches.
    pub batches: Vec<Batch>,
    /// How long who had to wait, by [`Role`] of the acquisitions; reads and writes.
    pub waits: [Waits; 2],
}

struct Window {
    length: Length,
    counted: Counted,
    ops: [u64; 2],
    noted: (u64, u64),
    /// When the open batch ends, in simulated nanoseconds.
    ends: u64,
    over: bool,
}

std::thread_local! {
    static WINDOW: RefCell<Option<Window>> = const { RefCell::new(None) };
}

/// Opens the window of the run that follows.
pub(super) fn open(length: Length) {
    let counted = Counted { begin: None, batches: Vec::new(), waits: [Waits::new(), Waits::new()] };
    let ends = length.warmup.as_nanos() as u64;
    let window = Window { length, counted, ops: [0; 2], noted: (0, 0), ends, over: false };
    WINDOW.set(Some(window));
}

/// Closes it; what it has counted.
pub(super) fn close() -> Counted {
    WINDOW.take().expect("a window is open").counted
}

fn with<R>(f: impl FnOnce(&mut Window) -> R) -> R {
    WINDOW.with_borrow_mut(|window| f(window.as_mut().expect("a window is open")))
}

/// An acquisition had to wait so long.
pub(super) fn waited(role: Role, ns: u64) {
    with(|window| {
        if window.counts() {
            window.counted.waits[role as usize].record_ns(ns);
        }
    });
}

/// Waits that a workload has timed itself.
pub(super) fn add_waits(waits: &Waits) {
    with(|window| window.counted.waits[0].merge(waits));
}

/// An acquisition took so much processor time, and all that was done with it.
pub(super) fn note(acquisition: u64, all: u64) {
    /// No acquisition without waiting takes so long.
    const SLOW_NS: u64 = 1_000;
    with(|window| {
        window.noted.0 += all;
        window.noted.1 += if acquisition > SLOW_NS { acquisition } else { 0 };
    });
}

impl Window {
    fn counts(&self) -> bool {
        self.counted.begin.is_some() && !self.over
    }

    /// The time is `now`; closes what is over.
    fn look(&mut self, now: u64) {
        while now >= self.ends && !self.over {
            self.ends += self.length.batch.as_nanos() as u64;
            let (ops, noted) = (std::mem::take(&mut self.ops), std::mem::take(&mut self.noted));
            if self.counted.begin.is_none() {
                self.counted.begin = Some(so_far());
                continue;
            }
            self.counted.batches.push(Batch { ops, noted, end: so_far() });
            self.over = self.is_enough();
        }
    }

    fn is_enough(&self) -> bool {
        let batches = self.counted.batches.len();
        let sure = || {
            let precision = self.length.precision.filter(|_| batches >= self.length.least);
            precision.is_some_and(|share| self.counted.rate().is_within(share))
        };
        batches >= self.length.most || sure()
    }
}

impl Counted {
    /// Operations in a batch.
    fn rate(&self) -> Estimate {
        let ops = |batch: &Batch| (batch.ops[0] + batch.ops[1]) as f64;
        estimate(&self.batches.iter().map(ops).collect::<Vec<_>>())
    }
}

/// A thread's operations: in the time that counts, and in all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Operations {
    pub counted: u64,
    pub all: u64,
}

/// One thread's part in the window.
pub(super) struct Tally {
    role: Role,
    operations: Rc<Cell<Operations>>,
}

impl Tally {
    /// Of a thread of this role, whose operations are counted there.
    pub fn new(role: Role, operations: Rc<Cell<Operations>>) -> Self {
        Tally { role, operations }
    }

    /// An operation has ended; whether the time is over.
    pub fn over(&self) -> bool {
        let now = turn();
        with(|window| {
            window.look(now);
            let mut operations = self.operations.get();
            operations.all += 1;
            if window.counts() {
                operations.counted += 1;
                window.ops[self.role as usize] += 1;
            }
            self.operations.set(operations);
            window.over
        })
    }
}
