//! From what was measured to what it says.

use lockwright_workloads::harness::Usage;
use lockwright_workloads::mutex_bench::RoundReport;

use crate::plan::{Cell, Plan};
use crate::registry::{Kind, Subject};
use crate::results::{
    CellResult, LockRecord, PlanRecord, RoundSample, ThroughputRow, Uncontended, UncontendedRow,
    Violation, WaitRow,
};
use crate::run::{CellSamples, Events, Samples};
use crate::stats::{cv_percent, jain, max, mean, median, min, ratio_interval};

/// Turns samples into rows. `baseline` is the lock that ratios refer to; without one it is the
/// best blocking peer, found anew in each cell.
pub struct Summary<'a> {
    /// What was to be done.
    pub plan: &'a Plan,
    /// What was measured.
    pub samples: &'a Samples,
    /// Length of a PAUSE unit in nanoseconds.
    pub pause_ns: f64,
    /// Index of the lock that ratios refer to.
    pub baseline: Option<usize>,
}

impl Summary<'_> {
    /// The plan, for the record.
    pub fn plan_record(&self) -> PlanRecord {
        PlanRecord {
            rounds: self.plan.rounds,
            warmup_rounds: self.plan.warmup,
            round_s: self.plan.round_time.as_secs_f64(),
            seed: self.plan.seed,
            baseline: self.baseline.map(|lock| self.plan.locks[lock].name.to_owned()),
            locks: self.plan.locks.iter().map(|lock| lock_record(lock)).collect(),
        }
    }

    /// Every case of two threads in one section.
    pub fn violations(&self) -> Vec<Violation> {
        let cells = self.plan.cells.iter().zip(&self.samples.cells);
        cells
            .flat_map(|(cell, locks)| self.plan.locks.iter().zip(locks).map(move |l| (cell, l)))
            .filter(|(_, (_, samples))| samples.lost_updates > 0)
            .map(|(cell, (lock, samples))| Violation {
                lock: lock.name.to_owned(),
                threads: cell.threads,
                load_pauses: cell.load,
                lost_updates: samples.lost_updates,
            })
            .collect()
    }

    /// The uncontended table; `None` if nothing of it was measured.
    pub fn uncontended(&self) -> Option<Uncontended> {
        let overhead = median(&self.samples.loop_ns)?;
        // A lock cannot cost less than nothing, whatever the clock says.
        let nets: Vec<_> = (self.samples.solo_ns.iter())
            .map(|gross| median(gross).map(|gross| (gross - overhead).max(0.0)))
            .collect();
        let reference = self.reference(&nets, f64::lt);
        let rows = (self.plan.locks.iter().zip(&self.samples.solo_ns).zip(&nets))
            .filter(|(_, net)| net.is_some())
            .map(|((lock, gross), &net)| UncontendedRow {
                lock: lock.name.to_owned(),
                kind: lock.kind,
                batches: gross.len(),
                ns_per_pair: net,
                gross_ns_per_pair: median(gross),
                cv_percent: cv_percent(gross),
                ratio: ratio(net, reference.and_then(|lock| nets[lock])),
                samples_gross_ns: gross.clone(),
            })
            .collect();
        Some(Uncontended {
            loop_overhead_ns: Some(overhead),
            reference: reference.map(|lock| self.plan.locks[lock].name.to_owned()),
            rows,
        })
    }

    /// All cells of which anything was measured.
    pub fn cells(&self) -> Vec<CellResult> {
        (self.plan.cells.iter().zip(&self.samples.cells))
            .map(|(cell, locks)| self.cell(cell, locks))
            .filter(|cell| !cell.throughput.is_empty() || !cell.waits.is_empty())
            .collect()
    }

    fn cell(&self, cell: &Cell, locks: &[CellSamples]) -> CellResult {
        let rates: Vec<Vec<(u32, f64)>> = locks.iter().map(|lock| rates(&lock.rounds)).collect();
        let medians: Vec<_> = rates.iter().map(|rates| median(&values(rates))).collect();
        let reference = self.reference(&medians, f64::gt);
        let rhythm = cell.round(self.plan.round_time, self.pause_ns).rhythm;
        let rows = self.plan.locks.iter().zip(locks).zip(&rates);
        CellResult {
            threads: cell.threads,
            load_pauses: rhythm.load,
            load_ns: f64::from(rhythm.load) * self.pause_ns,
            outside_pauses: rhythm.outside,
            outside_ns: f64::from(rhythm.outside) * self.pause_ns,
            burst_ops: rhythm.burst,
            reference: reference.map(|lock| self.plan.locks[lock].name.to_owned()),
            throughput: rows
                .filter(|((_, samples), _)| !samples.rounds.is_empty())
                .map(|((lock, samples), own)| {
                    let other = reference.map(|lock| rates[lock].as_slice());
                    throughput_row(
                        lock,
                        (&samples.rounds, &samples.events),
                        own,
                        other,
                        self.plan.seed,
                    )
                })
                .collect(),
            waits: (self.plan.locks.iter().zip(locks))
                .filter_map(|(lock, samples)| wait_row(lock, samples))
                .collect(),
        }
    }

    /// The lock that ratios refer to, where `figures[l]` is the figure of lock `l`.
    fn reference(&self, figures: &[Option<f64>], better: fn(&f64, &f64) -> bool) -> Option<usize> {
        let kinds = self.plan.locks.iter().map(|lock| lock.kind);
        self.baseline.or_else(|| best_peer(kinds, figures, better))
    }
}

/// The best blocking peer, where `figures[l]` is the figure of lock `l`.
pub(crate) fn best_peer(
    kinds: impl Iterator<Item = Kind>,
    figures: &[Option<f64>],
    better: fn(&f64, &f64) -> bool,
) -> Option<usize> {
    (kinds.zip(figures).enumerate())
        .filter(|(_, (kind, _))| *kind == Kind::BlockingPeer)
        .filter_map(|(index, (_, figure))| Some((index, (*figure)?)))
        .reduce(|best, next| if better(&next.1, &best.1) { next } else { best })
        .map(|(index, _)| index)
}

fn lock_record(lock: &Subject) -> LockRecord {
    LockRecord { lock: lock.name.to_owned(), kind: lock.kind, about: lock.about.to_owned() }
}

pub(crate) fn ratio(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    let (above, below) = (above?, below?);
    (below > 0.0).then(|| above / below)
}

fn total_ops(report: &RoundReport) -> u64 {
    report.threads.iter().map(|thread| thread.ops).sum()
}

/// kops/s of each round, with its number.
fn rates(rounds: &[(u32, RoundReport)]) -> Vec<(u32, f64)> {
    rounds
        .iter()
        .map(|(round, report)| {
            (*round, total_ops(report) as f64 / report.elapsed.as_secs_f64() / 1e3)
        })
        .collect()
}

pub(crate) fn values(rates: &[(u32, f64)]) -> Vec<f64> {
    rates.iter().map(|&(_, rate)| rate).collect()
}

/// The rates of both arms in the rounds that both have.
pub(crate) fn paired(own: &[(u32, f64)], other: &[(u32, f64)]) -> Vec<(f64, f64)> {
    own.iter()
        .filter_map(|&(round, rate)| {
            let &(_, other) = other.iter().find(|&&(number, _)| number == round)?;
            Some((rate, other))
        })
        .collect()
}

fn throughput_row(
    lock: &Subject,
    (rounds, events): (&[(u32, RoundReport)], &Events),
    own: &[(u32, f64)],
    reference: Option<&[(u32, f64)]>,
    seed: u64,
) -> ThroughputRow {
    let own_values = values(own);
    // `over(f)`: median over the rounds of f(kops/s of each thread).
    let over = |figure: fn(&[f64]) -> Option<f64>| {
        let figures = rounds.iter().filter_map(|(_, report)| figure(&thread_rates(report)));
        median(&figures.collect::<Vec<_>>())
    };
    let sum = |figure: fn(&RoundReport) -> f64| -> f64 {
        rounds.iter().map(|(_, report)| figure(report)).sum()
    };
    let mops = sum(|report| total_ops(report) as f64) / 1e6;
    let cpu_s = sum(|report| each(report, |usage| usage.cpu().as_secs_f64()));
    let per_mop = |sum: f64| (mops > 0.0).then(|| sum / mops);
    ThroughputRow {
        lock: lock.name.to_owned(),
        kind: lock.kind,
        rounds: rounds.len(),
        kops_per_s: median(&own_values),
        mean_kops_per_s: mean(&own_values),
        cv_percent: cv_percent(&own_values),
        ratio: ratio(median(&own_values), reference.and_then(|other| median(&values(other)))),
        ratio_ci95: reference.and_then(|other| ratio_interval(&paired(own, other), seed)),
        thread_min_kops_per_s: over(min),
        thread_mean_kops_per_s: over(mean),
        thread_max_kops_per_s: over(max),
        jain_index: over(jain),
        cpu_s_per_mop: per_mop(cpu_s),
        cpus_used: Some(cpu_s / sum(|report| report.elapsed.as_secs_f64())),
        voluntary_switches_per_mop: per_mop(sum(|report| {
            each(report, |usage| usage.voluntary_switches as f64)
        })),
        involuntary_switches_per_mop: per_mop(sum(|report| {
            each(report, |usage| usage.involuntary_switches as f64)
        })),
        events: match lock.kind {
            Kind::Own | Kind::StudyObject => events.clone(),
            _ => Events::new(),
        },
        samples: rounds.iter().map(|(round, report)| round_sample(*round, report)).collect(),
    }
}

fn thread_rates(report: &RoundReport) -> Vec<f64> {
    let seconds = report.elapsed.as_secs_f64();
    report.threads.iter().map(|thread| thread.ops as f64 / seconds / 1e3).collect()
}

/// Sum of `figure` over the threads of a round.
fn each(report: &RoundReport, figure: impl Fn(&Usage) -> f64) -> f64 {
    report.threads.iter().map(|thread| figure(&thread.usage)).sum()
}

fn round_sample(round: u32, report: &RoundReport) -> RoundSample {
    let total = report.threads.iter().fold(Usage::default(), |sum, thread| sum + thread.usage);
    RoundSample {
        round,
        elapsed_s: report.elapsed.as_secs_f64(),
        user_s: total.user.as_secs_f64(),
        system_s: total.system.as_secs_f64(),
        voluntary_switches: total.voluntary_switches,
        involuntary_switches: total.involuntary_switches,
        thread_ops: report.threads.iter().map(|thread| thread.ops).collect(),
    }
}

fn wait_row(lock: &Subject, samples: &CellSamples) -> Option<WaitRow> {
    let waits = samples.waits.as_ref()?;
    Some(WaitRow {
        lock: lock.name.to_owned(),
        kind: lock.kind,
        rounds: samples.waiting_rounds,
        waits: waits.count(),
        mean_ns: waits.mean_ns(),
        p50_ns: waits.percentile_ns(50.0),
        p90_ns: waits.percentile_ns(90.0),
        p99_ns: waits.percentile_ns(99.0),
        p999_ns: waits.percentile_ns(99.9),
        max_ns: waits.longest_ns(),
    })
}

#[cfg(test)]
mod tests;
