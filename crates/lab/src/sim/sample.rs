//! What a simulated run yielded. Rates are of simulated time.

use lockwright_locks::events::Event;
use lockwright_sim::{Distance, Outcome};
use lockwright_workloads::harness::Waits;
use serde::Serialize;

use super::estimate::{Estimate, estimate};
use super::job::Job;
use super::window::{Counted, Operations, Role};

/// Least, mean and greatest of the threads of a role; operations in the counted time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Threads.
    pub threads: usize,
    /// Of the thread that did least.
    pub min: u64,
    /// On average.
    pub mean: f64,
    /// Of the thread that did most.
    pub max: u64,
}

impl Spread {
    fn over(counts: &[u64]) -> Self {
        let sum: u64 = counts.iter().sum();
        Spread {
            threads: counts.len(),
            min: counts.iter().copied().min().unwrap_or(0),
            mean: if counts.is_empty() { 0.0 } else { sum as f64 / counts.len() as f64 },
            max: counts.iter().copied().max().unwrap_or(0),
        }
    }

    /// Of several runs of equal length: the least and the greatest of all, the mean of the means.
    pub fn of_all(spreads: impl Iterator<Item = Spread>) -> Self {
        let all: Vec<_> = spreads.collect();
        Spread {
            threads: all.first().map_or(0, |one| one.threads),
            min: all.iter().map(|one| one.min).min().unwrap_or(0),
            mean: all.iter().map(|one| one.mean).sum::<f64>() / all.len().max(1) as f64,
            max: all.iter().map(|one| one.max).max().unwrap_or(0),
        }
    }
}

/// How long who asked for the lock had to wait, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// Acquisitions.
    pub count: u64,
    /// Half of them waited no longer.
    pub p50: u64,
    /// 99 of a hundred.
    pub p99: u64,
    /// 999 of a thousand.
    pub p999: u64,
    /// The longest.
    pub max: u64,
}

impl From<&Waits> for Percentiles {
    fn from(waits: &Waits) -> Self {
        Percentiles {
            count: waits.count(),
            p50: waits.percentile_ns(50.0),
            p99: waits.percentile_ns(99.0),
            p999: waits.percentile_ns(99.9),
            max: waits.longest_ns(),
        }
    }
}

/// What a batch of the counted time yielded: the figures of which means over batches are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Thousand operations a second.
    pub kops: f64,
    /// Those of the mean thread of each role.
    pub of_role: [f64; 2],
    /// Voluntary switches for each operation.
    pub switches: f64,
    /// Share of the CPUs' time that was idle.
    pub idle: f64,
    /// Percentage of the threads' processor time that went into slow acquisitions.
    pub slow: f64,
}

/// What one run yielded.
#[derive(Clone, Debug, Serialize)]
pub struct SimSample {
    /// The seed.
    pub seed: u64,
    /// Simulated seconds that count.
    pub seconds: f64,
    /// Thousand acquisitions a second.
    pub kops: f64,
    /// The same as a mean over batches, with how surely that is known.
    pub estimate: Estimate,
    /// Acquisitions per thread that reads (those that do both count here, with all they did).
    pub readers: Spread,
    /// Acquisitions per thread that only writes.
    pub writers: Spread,
    /// Waits for reading, or what the workload times, and waits for writing.
    pub waits: [Percentiles; 2],
    /// Acquisitions in the counted time: what the next are shares of.
    pub acquisitions: u64,
    /// Lines that travelled, per acquisition, by distance.
    pub transfers: Vec<(&'static str, f64)>,
    /// Read-modify-writes per acquisition.
    pub rmws: f64,
    /// Voluntary and involuntary switches per acquisition.
    pub switches: (f64, f64),
    /// Share of the CPUs' time that was idle while as many threads slept.
    pub idle_contended: f64,
    /// Share that was idle.
    pub idle: f64,
    /// Share of the threads' processor time that went into slow acquisitions (of those that fork only).
    pub slow: Option<f64>,
    /// Lock events of the counted time.
    pub events: Vec<(&'static str, u64)>,
    /// Hash of the whole run.
    pub trace: String,
    /// Engine events of the whole run, for the speed of the simulator.
    pub engine_events: u64,
    /// Operations of the locks and workloads on memory, likewise.
    pub accesses: u64,
    /// Acquisitions of each thread in the counted time.
    #[serde(skip)]
    pub thread_ops: Vec<u64>,
    /// Each batch.
    #[serde(skip)]
    pub batches: Vec<Figures>,
}

/// What was counted in a run of the job, whose threads did that, until the whole ended.
pub(super) fn sample(
    job: &Job,
    counted: &Counted,
    threads: &[(Role, Operations)],
    whole: &Outcome,
) -> SimSample {
    let of = |role| -> Vec<u64> {
        let own = threads.iter().filter(|thread| thread.0 == role);
        own.map(|thread| thread.1.counted).collect()
    };
    let [readers, writers] = [Role::First, Role::Second].map(|role| Spread::over(&of(role)));
    let begin = counted.begin.as_ref().unwrap_or(whole);
    let end = counted.batches.last().map_or(begin, |batch| &batch.end);
    let batches = batches(job, counted, begin, [readers.threads, writers.threads]);
    let acquisitions: u64 = counted.batches.iter().map(|batch| batch.ops[0] + batch.ops[1]).sum();
    let each = |n: u64| n as f64 / acquisitions.max(1) as f64;
    let seconds = job.length.batch.as_secs_f64() * counted.batches.len() as f64;
    let all = (end.time - begin.time).as_secs_f64() * job.machine.cpus() as f64;
    let share = |time: std::time::Duration| if all > 0.0 { time.as_secs_f64() / all } else { 0.0 };
    let moved = |i: usize| end.traffic.transfers[i] - begin.traffic.transfers[i];
    let events = Event::ALL.iter().map(|&event| {
        let i = event as usize;
        (event.name(), end.counters[i].wrapping_sub(begin.counters[i]))
    });
    let noted = counted.batches.iter().map(|batch| batch.noted);
    let (used, slow) = noted.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    SimSample {
        seed: job.seed,
        seconds,
        kops: if seconds > 0.0 { acquisitions as f64 / seconds / 1e3 } else { 0.0 },
        estimate: estimate(&batches.iter().map(|batch| batch.kops).collect::<Vec<_>>()),
        readers,
        writers,
        waits: [0, 1].map(|role| Percentiles::from(&counted.waits[role])),
        acquisitions,
        transfers: Distance::ALL
            .iter()
            .enumerate()
            .map(|(i, way)| (way.name(), each(moved(i))))
            .collect(),
        rmws: each(end.traffic.rmws - begin.traffic.rmws),
        switches: (
            each(end.voluntary_switches - begin.voluntary_switches),
            each(end.involuntary_switches - begin.involuntary_switches),
        ),
        idle_contended: share(end.idle_contended - begin.idle_contended),
        idle: share(end.idle - begin.idle),
        slow: (used > 0).then(|| slow as f64 / used as f64),
        events: events.filter(|event| event.1 > 0).collect(),
        trace: format!("{:016x}", whole.trace),
        engine_events: whole.events,
        accesses: whole.traffic.accesses,
        thread_ops: threads.iter().map(|thread| thread.1.counted).collect(),
        batches,
    }
}

/// The figures of each batch.
fn batches(job: &Job, counted: &Counted, begin: &Outcome, threads: [usize; 2]) -> Vec<Figures> {
    let seconds = job.length.batch.as_secs_f64();
    let mut before = begin;
    let figures = |batch: &super::window::Batch| (batch.ops, batch.noted);
    let mut all = Vec::with_capacity(counted.batches.len());
    for batch in &counted.batches {
        let (ops, (used, slow)) = figures(batch);
        let (sum, end) = ((ops[0] + ops[1]) as f64, &batch.end);
        let cpus = (end.time - before.time).as_secs_f64() * job.machine.cpus() as f64;
        let idle = (end.idle - before.idle).as_secs_f64();
        all.push(Figures {
            kops: sum / seconds / 1e3,
            of_role: [0, 1].map(|role| ops[role] as f64 / threads[role].max(1) as f64 / seconds),
            switches: (end.voluntary_switches - before.voluntary_switches) as f64 / sum.max(1.0),
            idle: if cpus > 0.0 { idle / cpus } else { 0.0 },
            slow: 100.0 * slow as f64 / used.max(1) as f64,
        });
        before = end;
    }
    all
}
