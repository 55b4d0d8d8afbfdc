//! The one list of metrics: what can be read off a sample, in which unit, and which way is better.
//!
//! Statistics, comparison and every report know a metric by its entry here and by nothing else.
//! A benchmark names the ones that its tables show (see `experiment`).

use std::fmt;

use super::sample::{Histogram, Sample};
use crate::analysis::stats::{jain, max, mean, median, min};

/// A figure that runs have.
pub struct Metric {
    /// Its name in files and on the command line.
    pub key: &'static str,
    /// What the figure counts in.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// Its heading in a table.
    pub head: &'static str,
    /// What it is, in a clause.
    pub about: &'static str,
    /// The figure of one run; `None`: it has none.
    of: fn(&Sample) -> Option<f64>,
    /// How the runs of an arm in a cell make one figure.
    over: Over,
}

/// How the figures of several runs become one.
enum Over {
    /// The median of their figures.
    Median,
    /// One figure of all of them together: a ratio of sums, a percentile of all waits.
    Pooled(fn(&[&Sample]) -> Option<f64>),
}

/// What a figure counts in: how it is shown, and what an axis says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds, shown with the unit that keeps them short.
    Nanoseconds,
    /// Nanoseconds with two decimals: costs of a few instructions.
    FineNanoseconds,
    /// Seconds, shown with the unit that keeps them short.
    Seconds,
    /// Thousands in a second.
    ThousandPerSecond,
    /// A number in a second.
    PerSecond,
    /// CPU microseconds.
    Microseconds,
    /// Parts of a whole, or of the mean: about 0 to 1.
    Share,
    /// Percent.
    Percent,
    /// A plain number with fractions.
    Number,
    /// A whole number.
    Whole,
    /// Bytes, shown in KiB, MiB or GiB.
    Bytes,
}

impl Unit {
    /// What an axis says beside the metric's name.
    pub fn label(self) -> &'static str {
        match self {
            Unit::Nanoseconds | Unit::FineNanoseconds => "ns",
            Unit::Seconds => "s",
            Unit::ThousandPerSecond => "thousand a second",
            Unit::PerSecond => "a second",
            Unit::Microseconds => "us",
            Unit::Percent => "%",
            Unit::Bytes => "bytes",
            Unit::Share | Unit::Number | Unit::Whole => "",
        }
    }
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: it explains, it does not judge.
    Neither,
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key)
    }
}

impl Metric {
    /// The figure of one run.
    pub fn of(&self, sample: &Sample) -> Option<f64> {
        (self.of)(sample).filter(|figure| figure.is_finite())
    }

    /// The figure of several runs together.
    pub fn over(&self, samples: &[&Sample]) -> Option<f64> {
        let figure = match self.over {
            Over::Median => {
                let figures: Vec<f64> =
                    samples.iter().filter_map(|sample| self.of(sample)).collect();
                median(&figures)
            }
            Over::Pooled(pooled) => pooled(samples),
        };
        figure.filter(|figure| figure.is_finite())
    }

    /// Whether `a` is better than `b`.
    pub fn prefers(&self, a: f64, b: f64) -> bool {
        match self.better {
            Better::Higher => a > b,
            Better::Lower => a < b,
            Better::Neither => false,
        }
    }
}

/// The metric of this name.
pub fn find(key: &str) -> Option<&'static Metric> {
    ALL.iter().copied().find(|metric| metric.key == key)
}

macro_rules! metrics {
    ($($name:ident = $key:literal, $unit:ident, $better:ident, $head:literal, $about:literal, $of:expr, $over:expr;)*) => {
        $(
            #[doc = $about]
            pub static $name: Metric = Metric {
                key: $key, unit: Unit::$unit, better: Better::$better, head: $head, about: $about,
                of: $of, over: $over,
            };
        )*

        /// All of them.
        pub static ALL: &[&Metric] = &[$(&$name),*];
    };
}

use Over::{Median, Pooled};

metrics! {
    RATE = "kops_per_s", ThousandPerSecond, Higher, "kops/s",
        "thousand operations of all threads a second",
        |s| per_second(s, s.ops()), Median;
    ITEMS = "items_k_per_s", ThousandPerSecond, Higher, "k items/s",
        "thousand items a second that consumers took",
        |s| items(s), Median;
    OP_TIME = "ns_per_op", Nanoseconds, Lower, "time/op",
        "wall time for each operation of all threads together",
        |s| Some(1e9 * s.elapsed_s / Some(s.ops()).filter(|&ops| ops > 0)? as f64), Median;
    JAIN = "jain_index", Share, Higher, "Jain",
        "Jain's index of the threads' operations: 1 = all did the same, 1/n = one did all",
        |s| jain(&thread_rates(s)), Median;
    LEAST = "thread_least", Share, Higher, "least",
        "operations of the thread that did least, as a share of the mean thread's",
        |s| Some(min(&thread_rates(s))? / mean(&thread_rates(s))?), Median;
    THREAD_MIN = "thread_min_kops_per_s", ThousandPerSecond, Higher, "min/thr",
        "thousand operations of the slowest thread a second",
        |s| min(&thread_rates(s)), Median;
    THREAD_MEAN = "thread_mean_kops_per_s", ThousandPerSecond, Higher, "mean/thr",
        "thousand operations of the mean thread a second",
        |s| mean(&thread_rates(s)), Median;
    THREAD_MAX = "thread_max_kops_per_s", ThousandPerSecond, Higher, "max/thr",
        "thousand operations of the fastest thread a second",
        |s| max(&thread_rates(s)), Median;
    CPU = "cpu_us_per_op", Microseconds, Lower, "CPU-us",
        "CPU microseconds an operation, all rounds together",
        |s| cpu_us(&[s]), Pooled(cpu_us);
    CPUS_USED = "cpus_used", Number, Neither, "CPUs",
        "CPUs in use on average, all rounds together",
        |s| cpus_used(&[s]), Pooled(cpus_used);
    VOLUNTARY = "voluntary_switches_per_mop", Whole, Lower, "vol/Mop",
        "times a thread gave the CPU up, in a million operations, all rounds together",
        |s| voluntary(&[s]), Pooled(voluntary);
    INVOLUNTARY = "involuntary_switches_per_mop", Whole, Lower, "inv/Mop",
        "times a thread lost the CPU, in a million operations, all rounds together",
        |s| involuntary(&[s]), Pooled(involuntary);

    READERS = "reader_kops_per_s", ThousandPerSecond, Higher, "reads/thr",
        "thousand reads of the mean thread that reads a second",
        |s| mean(&reads(s)), Median;
    READERS_MIN = "reader_min_kops_per_s", ThousandPerSecond, Higher, "reads/min",
        "thousand reads of the slowest thread that reads a second",
        |s| min(&reads(s)), Median;
    READERS_MAX = "reader_max_kops_per_s", ThousandPerSecond, Higher, "reads/max",
        "thousand reads of the fastest thread that reads a second",
        |s| max(&reads(s)), Median;
    WRITERS = "writer_kops_per_s", ThousandPerSecond, Higher, "writes/thr",
        "thousand writes of the mean thread that writes a second",
        |s| mean(&writes(s)), Median;
    WRITERS_MIN = "writer_min_kops_per_s", ThousandPerSecond, Higher, "writes/min",
        "thousand writes of the slowest thread that writes a second",
        |s| min(&writes(s)), Median;
    WRITERS_MAX = "writer_max_kops_per_s", ThousandPerSecond, Higher, "writes/max",
        "thousand writes of the fastest thread that writes a second",
        |s| max(&writes(s)), Median;

    PAIR = "ns_per_pair", FineNanoseconds, Lower, "ns/pair",
        "lock and unlock by one thread, the loop subtracted",
        |s| Some((batches(s, "pair_ns")? - batches(s, "loop_ns")?).max(0.0)), Median;
    PAIR_GROSS = "gross_ns_per_pair", FineNanoseconds, Lower, "gross",
        "the same with the loop",
        |s| batches(s, "pair_ns"), Median;

    WAITS = "waits", Whole, Neither, "waits",
        "number of waits, the short ones included",
        |s| waits(s, how_many), Pooled(|all| pooled_waits(all, how_many));
    WAIT_MEAN = "wait_mean_ns", Nanoseconds, Lower, "mean",
        "mean wait",
        |s| waits(s, Histogram::mean_ns), Pooled(|all| pooled_waits(all, Histogram::mean_ns));
    WAIT_P50 = "wait_p50_ns", Nanoseconds, Lower, "p50",
        "half of the waits are no longer, median of the rounds",
        |s| waits(s, |w| percentile(w, 50.0)), Median;
    WAIT_P90 = "wait_p90_ns", Nanoseconds, Lower, "p90",
        "90 % of the waits are no longer, median of the rounds",
        |s| waits(s, |w| percentile(w, 90.0)), Median;
    WAIT_P99 = "wait_p99_ns", Nanoseconds, Lower, "p99",
        "99 % of the waits are no longer, median of the rounds",
        |s| waits(s, |w| percentile(w, 99.0)), Median;
    WAIT_P999 = "wait_p999_ns", Nanoseconds, Lower, "p99.9",
        "99.9 % of the waits are no longer, all rounds together",
        |s| waits(s, |w| percentile(w, 99.9)), Pooled(|all| pooled_waits(all, |w| percentile(w, 99.9)));
    WAIT_MAX = "wait_max_ns", Nanoseconds, Lower, "max",
        "the longest wait of all rounds",
        |s| waits(s, longest), Pooled(|all| pooled_waits(all, longest));
    WAIT_BY_TIME = "wait_by_time_p50_ns", Nanoseconds, Lower, "by time",
        "of the time that threads waited, half was spent in waits no longer: what a look at a random moment finds",
        |s| waits(s, |w| by_time(w, 50.0)), Median;
    WAIT_BY_TIME_P99 = "wait_by_time_p99_ns", Nanoseconds, Lower, "by time 99",
        "of the time that threads waited, 99 % was spent in waits no longer",
        |s| waits(s, |w| by_time(w, 99.0)), Median;

    WALL = "wall_s", Seconds, Lower, "wall",
        "wall time from start to end",
        |s| Some(s.elapsed_s).filter(|&elapsed| elapsed > 0.0 && s.values.contains_key("exit_code")), Median;
    USER = "user_s", Seconds, Lower, "user",
        "CPU time in user mode",
        |s| Some(s.usage?.user_s), Median;
    SYSTEM = "system_s", Seconds, Lower, "system",
        "CPU time in the kernel",
        |s| Some(s.usage?.system_s), Median;
    CPU_PERCENT = "cpu_percent", Percent, Neither, "CPU%",
        "CPU time over wall time",
        |s| Some(100.0 * s.usage?.cpu_s() / s.elapsed_s), Median;
    VOLUNTARY_ALL = "voluntary_switches", Whole, Lower, "voluntary",
        "times a thread gave the CPU up",
        |s| Some(s.usage?.voluntary_switches as f64), Median;
    INVOLUNTARY_ALL = "involuntary_switches", Whole, Lower, "involuntary",
        "times a thread lost the CPU",
        |s| Some(s.usage?.involuntary_switches as f64), Median;
    MINOR_FAULTS = "minor_faults", Whole, Lower, "minor faults",
        "page faults served without reading",
        |s| s.value("minor_faults"), Median;
    MAJOR_FAULTS = "major_faults", Whole, Lower, "major faults",
        "page faults for which something was read",
        |s| s.value("major_faults"), Median;
    PEAK = "peak_bytes", Bytes, Lower, "peak memory",
        "most memory of the largest process",
        |s| s.value("peak_bytes"), Median;
    RUNNABLE = "runnable_threads", Number, Neither, "runnable",
        "threads that run or wait for a CPU, on average over time",
        |s| over_time(s, |counts| counts.iter().sum()), Median;
    IDLE_CPUS = "idle_cpus", Number, Lower, "idle CPUs",
        "CPUs that were idle, on average over time",
        |s| mean(s.series.get("idle_cpus")?), Median;

    READ_COST = "ns_per_read", FineNanoseconds, Lower, "ns/read",
        "wall time per read of one reader, its loop included",
        read_cost, Median;
    READ_RATE = "kreads_per_s", ThousandPerSecond, Higher, "kreads/s",
        "thousand reads of all readers a second",
        |s| per_second(s, s.ops()), Median;
    RETRIES = "retries_per_read", Number, Lower, "retries",
        "failed attempts per read, all rounds together",
        |s| value_per_op(&[s], "retries"), Pooled(|all| value_per_op(all, "retries"));
    TORN = "torn", Whole, Lower, "torn",
        "values that were not of one write, in all rounds",
        |s| s.value("torn"), Pooled(|all| total(all, "torn"));
    WRITES = "writes", Whole, Neither, "writes",
        "number of writes, in all rounds",
        |s| waits(s, how_many), Pooled(|all| pooled_waits(all, how_many));
    WRITE_P50 = "write_p50_ns", Nanoseconds, Lower, "w-p50",
        "half of the writes took no longer",
        |s| waits(s, |w| percentile(w, 50.0)), Pooled(|all| pooled_waits(all, |w| percentile(w, 50.0)));
    WRITE_P99 = "write_p99_ns", Nanoseconds, Lower, "w-p99",
        "99 % of the writes took no longer",
        |s| waits(s, |w| percentile(w, 99.0)), Pooled(|all| pooled_waits(all, |w| percentile(w, 99.0)));
    WRITE_MAX = "write_max_ns", Nanoseconds, Lower, "w-max",
        "the longest write",
        |s| waits(s, longest), Pooled(|all| pooled_waits(all, longest));

    FAULT_RATE = "faults_per_s", PerSecond, Higher, "faults/s",
        "page faults of all clients a second",
        |s| per_second(s, s.ops()).map(|k| 1e3 * k), Median;
    FAULT_CPU = "cpu_ns_per_fault", FineNanoseconds, Lower, "CPU-ns/fault",
        "CPU time of a fault",
        |s| Some(1e9 * s.value("client_cpu_s").filter(|&cpu| cpu > 0.0)? / at_least_one(s.ops())), Median;
    SECTION = "section_ns", FineNanoseconds, Lower, "section-ns",
        "the protection alone, in a loop of one thread",
        |s| batches(s, "section_ns"), Median;
    PROTECTION = "protection_ns", FineNanoseconds, Lower, "more-ns",
        "how much longer that is than without protection",
        protection, Median;
    PROTECTION_SHARE = "protection_share_percent", Percent, Lower, "share%",
        "more-ns as a share of the CPU time of a fault",
        |s| Some(100.0 * protection(s)? / FAULT_CPU.of(s)?), Median;
    RESCANS = "rescans_per_fault", Number, Lower, "rescans",
        "scans beyond the first per fault, all rounds together",
        |s| value_per_op(&[s], "rescans"), Pooled(|all| value_per_op(all, "rescans"));
    CHANGES = "changes", Whole, Neither, "changes",
        "masks replaced, in all rounds",
        |s| s.value("changes"), Pooled(|all| total(all, "changes"));
    FALSE_FAILURES = "false_failures", Whole, Lower, "false",
        "faults that were told that there is no node though there was one, in all rounds",
        |s| s.value("false_failures"), Pooled(|all| total(all, "false_failures"));
}

fn per_second(sample: &Sample, count: u64) -> Option<f64> {
    (!sample.thread_ops.is_empty()).then(|| count as f64 / sample.elapsed_s / 1e3)
}

fn items(sample: &Sample) -> Option<f64> {
    let threads = sample.thread_ops.iter().zip(&sample.thread_roles);
    let popped = threads.filter(|(_, role)| *role == "consumer").map(|(ops, _)| ops).sum();
    per_second(sample, popped)
}

/// Thousand operations of each thread a second.
fn thread_rates(sample: &Sample) -> Vec<f64> {
    sample.thread_ops.iter().map(|&ops| ops as f64 / sample.elapsed_s / 1e3).collect()
}

/// Thousand reads of each thread that reads a second.
fn reads(sample: &Sample) -> Vec<f64> {
    of_role(sample, "writes", |_, reads| reads)
}

/// Thousand writes of each thread that writes a second.
fn writes(sample: &Sample) -> Vec<f64> {
    of_role(sample, "reads", |ops, reads| ops - reads)
}

/// Of threads that are not of the other role.
fn of_role(sample: &Sample, other: &str, count: fn(u64, u64) -> u64) -> Vec<f64> {
    let threads = sample.thread_ops.iter().zip(&sample.thread_reads).enumerate();
    let own = |at: usize| sample.thread_roles.get(at).is_none_or(|role| role != other);
    threads
        .filter(|(at, _)| own(*at))
        .map(|(_, (&ops, &reads))| count(ops, reads) as f64 / sample.elapsed_s / 1e3)
        .collect()
}

/// What a reader took, had it done nothing else.
fn read_cost(sample: &Sample) -> Option<f64> {
    let readers = Some(sample.thread_ops.len()).filter(|&readers| readers > 0)?;
    Some(1e9 * sample.elapsed_s * readers as f64 / at_least_one(sample.ops()))
}

/// The mean over time of what the run queues of all CPUs come to in each sample.
fn over_time(sample: &Sample, figure: fn(&[f64]) -> f64) -> Option<f64> {
    let queues: Vec<&Vec<f64>> = sample.run_queues().map(|(_, queue)| queue).collect();
    let samples = queues.iter().map(|queue| queue.len()).min()?;
    let at = |index| figure(&queues.iter().map(|queue| queue[index]).collect::<Vec<_>>());
    mean(&(0..samples).map(at).collect::<Vec<_>>())
}

fn at_least_one(count: u64) -> f64 {
    count.max(1) as f64
}

fn total(samples: &[&Sample], name: &str) -> Option<f64> {
    if samples.is_empty() { None } else { sum(samples, |s| s.value(name)) }
}

fn value_per_op(samples: &[&Sample], name: &str) -> Option<f64> {
    per_op(samples, |s| s.value(name))
}

fn protection(sample: &Sample) -> Option<f64> {
    Some((batches(sample, "section_ns")? - batches(sample, "bare_section_ns")?).max(0.0))
}

/// The median of what was taken several times in one run.
fn batches(sample: &Sample, name: &str) -> Option<f64> {
    median(sample.series.get(name)?)
}

fn sum(samples: &[&Sample], figure: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
    samples.iter().map(|sample| figure(sample)).sum()
}

/// The sum of a figure over the operations of all runs.
fn per_op(samples: &[&Sample], figure: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
    let ops: u64 = samples.iter().map(|sample| sample.ops()).sum();
    (ops > 0).then(|| Some(sum(samples, figure)? / ops as f64))?
}

fn cpu_us(samples: &[&Sample]) -> Option<f64> {
    per_op(samples, |s| Some(1e6 * s.usage?.cpu_s()))
}

fn cpus_used(samples: &[&Sample]) -> Option<f64> {
    let cpu = sum(samples, |s| Some(s.usage?.cpu_s()))?;
    Some(cpu / sum(samples, |s| Some(s.elapsed_s))?)
}

fn voluntary(samples: &[&Sample]) -> Option<f64> {
    per_op(samples, |s| Some(1e6 * s.usage?.voluntary_switches as f64))
}

fn involuntary(samples: &[&Sample]) -> Option<f64> {
    per_op(samples, |s| Some(1e6 * s.usage?.involuntary_switches as f64))
}

fn waits(sample: &Sample, figure: fn(&Histogram) -> Option<f64>) -> Option<f64> {
    figure(sample.waits.as_ref()?)
}

fn pooled_waits(samples: &[&Sample], figure: fn(&Histogram) -> Option<f64>) -> Option<f64> {
    figure(&Histogram::merged(samples.iter().filter_map(|sample| sample.waits.as_ref())))
}

fn percentile(waits: &Histogram, percent: f64) -> Option<f64> {
    waits.percentile_ns(percent).map(|ns| ns as f64)
}

fn by_time(waits: &Histogram, percent: f64) -> Option<f64> {
    waits.by_time_ns(percent).map(|ns| ns as f64)
}

fn how_many(waits: &Histogram) -> Option<f64> {
    Some(waits.count() as f64).filter(|&count| count > 0.0)
}

fn longest(waits: &Histogram) -> Option<f64> {
    (waits.count() > 0).then_some(waits.longest_ns as f64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_are_unique() {
        let mut seen = HashSet::new();
        assert!(ALL.iter().all(|metric| seen.insert(metric.key)));
    }

    #[test]
    fn a_run_without_a_figure_has_none() {
        let empty = Sample { elapsed_s: 1.0, ..Sample::default() };
        for metric in ALL {
            assert_eq!(metric.of(&empty), None, "{}", metric.key);
            assert_eq!(metric.over(&[]), None, "{}", metric.key);
        }
    }
}
