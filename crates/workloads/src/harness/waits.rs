//! How long something took, many times.

use std::time::Duration;

use hdrhistogram::Histogram;

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

    /// Adds one.
    pub fn record(&mut self, wait: Duration) {
        self.record_ns(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds one of so many nanoseconds.
    #[inline]
    pub fn record_ns(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        self.longest_ns = self.longest_ns.max(ns);
    }

    /// Adds the waits of `other`.
    pub fn merge(&mut self, other: &Waits) {
        self.histogram.add(&other.histogram).expect("all histograms have the same bounds");
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }

    /// Upper end of each bucket that is not empty, in nanoseconds, and how many waits are in it;
    /// ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let recorded = self.histogram.iter_recorded();
        recorded.map(|step| (step.value_iterated_to(), step.count_at_value()))
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
