//! Locks of this machine as arms: a workload's report becomes a sample.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use lockwright::events::snapshot;
use lockwright_platform::Native;
use lockwright_workloads::harness::{Interrupt, Usage};
use lockwright_workloads::mutex_bench::{LatencyReport, RoundReport, RoundSpec, loop_overhead};
use lockwright_workloads::node_mask::{FaultReport, FaultRunner, Faults, Unprotected};
use lockwright_workloads::patterns::PatternReport;
use lockwright_workloads::rw_bench::{Percent, RwReport, RwSpec};
use lockwright_workloads::seq_bench::SeqReport;

use super::locks::Lock;
use crate::experiment::{Run, RunError, Turn};
use crate::loads::{Load, Pair, Takes, UNCONTENDED_TIME};
use crate::record::{Fault, Histogram, Sample};

/// Batches in an uncontended run: the median over many short ones ignores interference.
const BATCHES: u32 = 10;

impl Run for Lock {
    fn fits(&self, load: &Load) -> bool {
        match load {
            Load::Uncontended(Pair::Lock) | Load::Mutex { .. } | Load::MutexWaits { .. } => {
                self.mutex.is_some()
            }
            Load::Uncontended(Pair::Read | Pair::Write) | Load::ReadWrite(_) => {
                self.rwlock.is_some()
            }
            Load::Pattern { takes, .. } => {
                let fits = match takes {
                    Takes::Mutexes => self.mutex.is_some(),
                    Takes::RwLocks => self.mutex.is_none(),
                    Takes::Both => true,
                };
                fits && self.patterns.is_some()
            }
            Load::Monitor(_) => self.monitor.is_some(),
            Load::Reads(_) => self.read_mostly.is_some(),
            Load::Faults(_) => self.node_mask.is_some(),
            Load::Command => false,
        }
    }

    fn run(&self, load: &Load, turn: Turn, stop: &Interrupt) -> Result<Sample, RunError> {
        let before = snapshot();
        let mut sample = measure(self, load, turn.window, stop)?;
        if self.has_events() {
            let counts = snapshot().since(&before);
            let counted = counts.iter().filter(|&(_, count)| count > 0);
            sample.events =
                counted.map(|(event, count)| (event.name().to_owned(), count)).collect();
        }
        Ok(sample)
    }
}

const FITS: &str = "the lock said that it fits";

fn measure(lock: &Lock, load: &Load, time: Duration, stop: &Interrupt) -> Result<Sample, RunError> {
    Ok(match *load {
        Load::Uncontended(Pair::Lock) => {
            uncontended(|pairs| lock.mutex.expect(FITS).uncontended(pairs))
        }
        Load::Uncontended(pair) => {
            let write = pair == Pair::Write;
            uncontended(|pairs| lock.rwlock.expect(FITS).uncontended(pairs, write))
        }
        Load::Mutex { threads, rhythm } => {
            let spec = RoundSpec { threads, rhythm, time };
            sections(lock.mutex.expect(FITS).throughput(&spec, stop).map_err(refused(threads))?)
        }
        Load::MutexWaits { threads, rhythm } => {
            let spec = RoundSpec { threads, rhythm, time };
            let report = lock.mutex.expect(FITS).latency(&spec, stop).map_err(refused(threads))?;
            waits(time, report)
        }
        Load::ReadWrite(setting) => {
            let spec = setting.spec(time);
            let report = lock.rwlock.expect(FITS).round(&spec, stop);
            reads_and_writes(&spec, report.map_err(refused(spec.threads))?)
        }
        Load::Pattern { pattern, .. } => {
            let report = lock.patterns.expect(FITS).round(pattern, time, stop);
            of_pattern(report.map_err(refused(pattern.threads()))?)
        }
        Load::Monitor(pattern) => {
            let report = lock.monitor.expect(FITS).round(pattern, time, stop);
            of_pattern(report.map_err(refused(pattern.threads()))?)
        }
        Load::Reads(setting) => {
            let report = lock.read_mostly.expect(FITS).round(&setting.reads(time), stop);
            reads(report.map_err(refused(setting.threads()))?)
        }
        Load::Command => unreachable!("a lock is no command"),
        Load::Faults(setting) => {
            let (mask, never_false) = lock.node_mask.expect(FITS);
            let report = mask.faults(&setting.faults(time), stop);
            page_faults(mask, never_false, report.map_err(refused(setting.threads()))?)
        }
    })
}

const LOST_UPDATES: &str = "lost updates: two threads in one section";

fn refused(threads: usize) -> impl FnOnce(io::Error) -> RunError {
    move |source| RunError::Threads { threads, source }
}

fn faults(what: &str, count: u64) -> Vec<Fault> {
    if count == 0 { Vec::new() } else { vec![Fault { what: what.to_owned(), count }] }
}

fn sections(report: RoundReport) -> Sample {
    let used = report.threads.iter().fold(Usage::default(), |sum, thread| sum + thread.usage);
    Sample {
        elapsed_s: report.elapsed.as_secs_f64(),
        thread_ops: report.threads.iter().map(|thread| thread.ops).collect(),
        usage: Some(used.into()),
        faults: faults(LOST_UPDATES, report.lost_updates),
        cut_short: report.cut_short,
        ..Sample::default()
    }
}

fn waits(time: Duration, report: LatencyReport) -> Sample {
    Sample {
        elapsed_s: time.as_secs_f64(),
        waits: Some(Histogram::from(&report.waits)),
        faults: faults(LOST_UPDATES, report.lost_updates),
        cut_short: report.cut_short,
        ..Sample::default()
    }
}

fn reads_and_writes(spec: &RwSpec, report: RwReport) -> Sample {
    let used = report.threads.iter().fold(Usage::default(), |sum, thread| sum + thread.usage);
    let role = |thread| match spec.percent_of(thread) {
        percent if percent == Percent::whole(0) => "writes",
        percent if percent == Percent::whole(100) => "reads",
        _ => "both",
    };
    Sample {
        elapsed_s: report.elapsed.as_secs_f64(),
        thread_ops: report.threads.iter().map(|thread| thread.reads + thread.writes).collect(),
        thread_reads: report.threads.iter().map(|thread| thread.reads).collect(),
        thread_roles: (0..report.threads.len()).map(|thread| role(thread).to_owned()).collect(),
        usage: Some(used.into()),
        faults: faults("let a writer in beside others", report.intrusions),
        cut_short: report.cut_short,
        ..Sample::default()
    }
}

fn of_pattern(report: PatternReport) -> Sample {
    let used = report.threads.iter().fold(Usage::default(), |sum, thread| sum + thread.usage);
    Sample {
        elapsed_s: report.elapsed.as_secs_f64(),
        thread_ops: report.threads.iter().map(|thread| thread.ops).collect(),
        thread_roles: report.threads.iter().map(|thread| thread.role.to_owned()).collect(),
        usage: Some(used.into()),
        waits: Some(Histogram::from(&report.waits)),
        faults: faults("lost or torn updates", report.wrong),
        cut_short: report.cut_short,
        ..Sample::default()
    }
}

fn reads(report: SeqReport) -> Sample {
    let mut values = BTreeMap::from([("torn".to_owned(), report.torn as f64)]);
    values.extend(report.retries.map(|retries| ("retries".to_owned(), retries as f64)));
    Sample {
        elapsed_s: report.elapsed.as_secs_f64(),
        thread_ops: report.reads,
        waits: (report.writes.count() > 0).then(|| Histogram::from(&report.writes)),
        values,
        faults: faults("torn values", if report.whole { report.torn } else { 0 }),
        cut_short: report.cut_short,
        ..Sample::default()
    }
}

fn page_faults(mask: &dyn Faults, never_false: bool, report: FaultReport) -> Sample {
    let values = [
        ("client_cpu_s", report.client_cpu.as_secs_f64()),
        ("rescans", report.rescans as f64),
        ("changes", report.changes as f64),
        ("false_failures", report.false_failures as f64),
    ];
    let bare = FaultRunner::<Unprotected, Native>::NEW;
    let sections = [
        ("section_ns".to_owned(), batches(|count| mask.sections(count))),
        ("bare_section_ns".to_owned(), batches(|count| bare.sections(count))),
    ];
    let wrong = if never_false { report.false_failures } else { 0 };
    Sample {
        elapsed_s: report.elapsed.as_secs_f64(),
        thread_ops: report.faults,
        values: values.map(|(name, value)| (name.to_owned(), value)).into(),
        series: sections.into(),
        faults: faults("false reports of no node", wrong),
        cut_short: report.cut_short,
        ..Sample::default()
    }
}

/// Batches of pairs by one thread, and of the same loop without a lock.
fn uncontended(pairs: impl Fn(u64) -> Duration) -> Sample {
    let (pair_ns, loop_ns) = (batches(pairs), batches(loop_overhead));
    Sample {
        elapsed_s: UNCONTENDED_TIME.as_secs_f64(),
        series: [("pair_ns".to_owned(), pair_ns), ("loop_ns".to_owned(), loop_ns)].into(),
        ..Sample::default()
    }
}

/// ns for one of each of several batches.
fn batches(time: impl Fn(u64) -> Duration) -> Vec<f64> {
    let count = count_for(UNCONTENDED_TIME / (2 * BATCHES), &time);
    (0..BATCHES).map(|_| time(count).as_nanos() as f64 / count as f64).collect()
}

/// How many take about `batch`.
fn count_for(batch: Duration, time: impl Fn(u64) -> Duration) -> u64 {
    const TRIAL: u64 = 2_000;
    let trial = time(TRIAL).max(Duration::from_nanos(1));
    ((batch.as_secs_f64() / trial.as_secs_f64() * TRIAL as f64) as u64).clamp(1_000, 10_000_000)
}
