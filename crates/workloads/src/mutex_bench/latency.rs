//! The waiting round: how long each section had to wait for its lock.
//!
//! Two clock readings per section, one before the lock call and one inside the section, so the
//! section is longer by one reading and the throughput of such a round means nothing.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use hdrhistogram::Histogram;

use lockwright_platform::Native;

use super::round::{lost_updates, section};
use super::{BenchMutex, Interrupt, Rhythm, RoundSpec, team};
use crate::work::pause;

/// Waits in nanoseconds, to two significant digits; the longest exactly.
#[derive(Clone, Debug)]
pub struct Waits {
    histogram: Histogram<u64>,
    longest_ns: u64,
}

impl Default for Waits {
    fn default() -> Self {
        Self::new()
    }
}

impl Waits {
    /// Upper end of the histogram: ten minutes, longer waits count as that.
    const TOP_NS: u64 = 600_000_000_000;

    /// No waits yet.
    pub fn new() -> Self {
        let histogram =
            Histogram::new_with_bounds(1, Self::TOP_NS, 2).expect("the bounds are constants");
        Waits { histogram, longest_ns: 0 }
    }

    pub(crate) fn record(&mut self, wait: Duration) {
        let ns = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.saturating_record(ns);
        self.longest_ns = self.longest_ns.max(ns);
    }

    /// Adds the waits of `other`.
    pub fn merge(&mut self, other: &Waits) {
        self.histogram.add(&other.histogram).expect("all histograms have the same bounds");
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }

    /// Number of waits.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The wait that `percent` of the waits do not exceed, in nanoseconds.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        self.histogram.value_at_percentile(percent).min(self.longest_ns)
    }

    /// Mean wait in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        self.histogram.mean()
    }

    /// The longest wait in nanoseconds, exactly.
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }
}

/// What one waiting round yielded.
#[derive(Clone, Debug)]
pub struct LatencyReport {
    /// The waits of all threads.
    pub waits: Waits,
    /// As in [`super::RoundReport::lost_updates`].
    pub lost_updates: u64,
    /// As in [`super::RoundReport::cut_short`].
    pub cut_short: bool,
}

/// Runs one waiting round with a new mutex.
pub(super) fn latency<M: BenchMutex>(
    spec: &RoundSpec,
    interrupt: &Interrupt,
) -> io::Result<LatencyReport> {
    let mutex = CachePadded::new(M::new());
    let stop = CachePadded::new(AtomicBool::new(false));
    let team = team::run(spec.threads, spec.time, &stop, interrupt, || {
        timed_sections(&*mutex, &stop, spec.rhythm)
    })?;
    let mut waits = Waits::new();
    for (member, _) in &team.members {
        waits.merge(member);
    }
    let lost_updates = lost_updates(&*mutex, waits.count());
    Ok(LatencyReport { waits, lost_updates, cut_short: team.cut_short })
}

#[inline(never)]
fn timed_sections<M: BenchMutex>(mutex: &M, stop: &AtomicBool, rhythm: Rhythm) -> Waits {
    let mut waits = Waits::new();
    let mut left = rhythm.burst;
    loop {
        let asked = Instant::now();
        let entered = mutex.with(|counter| {
            let entered = Instant::now();
            section::<Native>(counter, rhythm.load);
            entered
        });
        waits.record(entered - asked);
        // Ordering: Relaxed: a hint, looked at again after the next section.
        if stop.load(Ordering::Relaxed) {
            return waits;
        }
        left -= 1;
        if left == 0 {
            pause(rhythm.outside);
            left = rhythm.burst;
        }
    }
}
