//! What one run of one arm in one cell yielded.

use std::collections::BTreeMap;

use lockwright_workloads::harness::{self, Waits};
use serde::{Deserialize, Serialize};

/// Counts by name, those that are not 0.
pub type Counts = BTreeMap<String, u64>;

/// What the series of a CPU's run queue is called, before the CPU's number: the runnable threads of
/// the program on it, from sample to sample.
pub const RUNNABLE_CPU: &str = "runnable_cpu";

/// One run of one arm in one cell: raw, so that every figure can be had again.
///
/// What does not apply to a run is empty or absent; what could not be had is absent too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    /// Index of the arm in the record.
    pub arm: usize,
    /// Index of the cell in the record.
    pub cell: usize,
    /// Number of the round, from 0, the same for all arms; `null` in a warm-up, whose figures do
    /// not count.
    pub round: Option<u32>,
    /// Wall time.
    pub elapsed_s: f64,
    /// The run was interrupted: its figures do not count.
    #[serde(skip_serializing_if = "is_false")]
    pub cut_short: bool,
    /// Operations of each thread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thread_ops: Vec<u64>,
    /// Those of them that were reads, where an operation is a read or a write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thread_reads: Vec<u64>,
    /// What each thread was, where they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thread_roles: Vec<String>,
    /// What all threads that count used of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How long something took each time; what, the kind of cell says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Histogram>,
    /// Other figures, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, f64>,
    /// Figures that were taken several times in the run, by name, in the order of time.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<f64>>,
    /// Lock events during the run; only this project's locks count them.
    #[serde(skip_serializing_if = "Counts::is_empty")]
    pub events: Counts,
    /// Wrong answers. They count whatever the run was for, warm-ups and interrupted runs included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// CPU time and context switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time in user mode.
    pub user_s: f64,
    /// CPU time in the kernel.
    pub system_s: f64,
    /// Times a thread gave the CPU up.
    pub voluntary_switches: u64,
    /// Times a thread lost the CPU.
    pub involuntary_switches: u64,
}

impl Usage {
    /// CPU time in either mode.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

impl From<harness::Usage> for Usage {
    fn from(usage: harness::Usage) -> Self {
        Usage {
            user_s: usage.user.as_secs_f64(),
            system_s: usage.system.as_secs_f64(),
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
        }
    }
}

/// A wrong answer of a lock, and how often it gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What it was, to be read after the name of the lock.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// How long something took, many times: two significant digits, the longest exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// The longest, in nanoseconds.
    pub longest_ns: u64,
    /// Upper end of a bucket in nanoseconds, and how many are in it; ascending, none empty.
    pub buckets: Vec<(u64, u64)>,
}

impl From<&Waits> for Histogram {
    fn from(waits: &Waits) -> Self {
        Histogram { longest_ns: waits.longest_ns(), buckets: waits.buckets().collect() }
    }
}

impl Histogram {
    /// All of several together.
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Histogram>) -> Self {
        let mut buckets = BTreeMap::new();
        let mut longest_ns = 0;
        for part in parts {
            longest_ns = longest_ns.max(part.longest_ns);
            for &(end, count) in &part.buckets {
                *buckets.entry(end).or_insert(0) += count;
            }
        }
        Histogram { longest_ns, buckets: buckets.into_iter().collect() }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|&(_, count)| count).sum()
    }

    /// What `percent` of them do not exceed, in nanoseconds; `None` of nothing.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        self.quantile(percent, |_, count| count as f64)
    }

    /// What they do not exceed for `percent` of their summed time, in nanoseconds: a long wait is
    /// met by a look at a random moment more often than a short one.
    pub fn by_time_ns(&self, percent: f64) -> Option<u64> {
        self.quantile(percent, |end, count| end as f64 * count as f64)
    }

    fn quantile(&self, percent: f64, weight: fn(u64, u64) -> f64) -> Option<u64> {
        let all: f64 = self.buckets.iter().map(|&(end, count)| weight(end, count)).sum();
        let wanted = all * percent / 100.0;
        let mut below = 0.0;
        self.buckets.iter().find_map(|&(end, count)| {
            below += weight(end, count);
            // Rounding must not ask for more than there is.
            (below >= wanted * (1.0 - 1e-12)).then_some(end.min(self.longest_ns))
        })
    }

    /// Their mean in nanoseconds; `None` of nothing.
    pub fn mean_ns(&self) -> Option<f64> {
        let sum: f64 = self.buckets.iter().map(|&(end, count)| end as f64 * count as f64).sum();
        let count = self.count();
        (count > 0).then(|| sum / count as f64)
    }
}

impl Sample {
    /// Operations of all threads.
    pub fn ops(&self) -> u64 {
        self.thread_ops.iter().sum()
    }

    /// The run counts: it is no warm-up and was not interrupted.
    pub fn is_measured(&self) -> bool {
        self.round.is_some() && !self.cut_short
    }

    /// The run queues of the CPUs, by the CPUs' numbers; none if they were not sampled.
    pub fn run_queues(&self) -> impl Iterator<Item = (usize, &Vec<f64>)> {
        let number = |name: &str| name.strip_prefix(RUNNABLE_CPU)?.parse().ok();
        self.series.iter().filter_map(move |(name, queue)| Some((number(name)?, queue)))
    }

    /// A figure of its own by name.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn histogram(waits: &[u64]) -> Histogram {
        let mut all = Waits::new();
        waits.iter().for_each(|&ns| all.record(Duration::from_nanos(ns)));
        Histogram::from(&all)
    }

    #[test]
    fn percentiles_are_those_of_what_was_recorded() {
        let all: Vec<u64> = (1..=100).collect();
        let waits = histogram(&all);
        assert_eq!(waits.count(), 100);
        assert_eq!(waits.percentile_ns(50.0), Some(50));
        assert_eq!(waits.percentile_ns(99.0), Some(99));
        assert_eq!(waits.percentile_ns(99.9), Some(100));
        assert_eq!(waits.mean_ns(), Some(50.5));
        assert_eq!(Histogram::default().percentile_ns(50.0), None);
        assert_eq!(histogram(&[1; 99]).by_time_ns(99.0), Some(1));
        // One wait as long as the other hundred together.
        assert_eq!(histogram(&[&[1; 100][..], &[101]].concat()).by_time_ns(50.0), Some(101));
    }

    #[test]
    fn merging_keeps_counts_and_the_longest() {
        let merged = Histogram::merged([&histogram(&[5, 1_234_567]), &histogram(&[5, 7])]);
        assert_eq!((merged.count(), merged.longest_ns), (4, 1_234_567));
        assert_eq!(merged.buckets[0], (5, 2));
        assert_eq!(merged.percentile_ns(100.0), Some(1_234_567));
    }
}
