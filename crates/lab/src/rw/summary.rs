//! From what was measured to what it says.

use lockwright_workloads::harness::Usage;
use lockwright_workloads::rw_bench::{Mix, RwReport, RwThread};

use super::plan::{RwCell, RwPlan};
use super::registry::RwSubject;
use super::results::{RwCellResult, RwRow, RwSample, RwSoloRow, RwViolation, Spread};
use super::run::{Round, RwSamples};
use crate::results::{LockRecord, PlanRecord};
use crate::run::{Events, add_events};
use crate::stats::{cv_percent, jain, max, mean, median, min, ratio_interval};
use crate::summary::{best_peer, paired, ratio, values};

/// Turns samples into rows.
pub struct RwSummary<'a> {
    /// What was to be done.
    pub plan: &'a RwPlan,
    /// What was measured.
    pub samples: &'a RwSamples,
    /// Length of a PAUSE unit in nanoseconds.
    pub pause_ns: f64,
}

impl RwSummary<'_> {
    /// The plan, for the record.
    pub fn plan_record(&self) -> PlanRecord {
        let plan = self.plan;
        let lock = |lock: &&RwSubject| LockRecord {
            lock: lock.name.to_owned(),
            kind: lock.kind,
            about: lock.about.to_owned(),
        };
        PlanRecord {
            rounds: plan.rounds,
            warmup_rounds: plan.warmup,
            round_s: plan.round_time.as_secs_f64(),
            seed: plan.seed,
            baseline: plan.baseline.map(|index| plan.locks[index].name.to_owned()),
            locks: plan.locks.iter().map(lock).collect(),
        }
    }

    /// Every case of a writer beside somebody.
    pub fn violations(&self) -> Vec<RwViolation> {
        let cells = self.plan.cells.iter().zip(&self.samples.intrusions);
        let all = cells.flat_map(|(cell, locks)| {
            self.plan.locks.iter().zip(locks).map(move |(lock, &intrusions)| RwViolation {
                lock: lock.name.to_owned(),
                threads: cell.threads,
                intrusions,
            })
        });
        all.filter(|violation| violation.intrusions > 0).collect()
    }

    /// The uncontended table; empty if nothing of it was measured.
    pub fn uncontended(&self) -> Vec<RwSoloRow> {
        let Some(overhead) = median(&self.samples.loop_ns) else {
            return Vec::new();
        };
        let net = |gross: &Vec<f64>| median(gross).map(|gross| (gross - overhead).max(0.0));
        let reads: Vec<_> = self.samples.read_ns.iter().map(net).collect();
        let writes: Vec<_> = self.samples.write_ns.iter().map(net).collect();
        let read_reference = self.reference(&reads, f64::lt).and_then(|lock| reads[lock]);
        let write_reference = self.reference(&writes, f64::lt).and_then(|lock| writes[lock]);
        let rows = self.plan.locks.iter().zip(reads.into_iter().zip(writes));
        rows.filter(|(_, (read, write))| read.is_some() || write.is_some())
            .map(|(lock, (read, write))| RwSoloRow {
                lock: lock.name.to_owned(),
                kind: lock.kind,
                read_ns_per_pair: read,
                read_ratio: ratio(read, read_reference),
                write_ns_per_pair: write,
                write_ratio: ratio(write, write_reference),
            })
            .collect()
    }

    /// All cells of which anything was measured.
    pub fn cells(&self) -> Vec<RwCellResult> {
        (self.plan.cells.iter().zip(&self.samples.rounds))
            .map(|(cell, locks)| self.cell(cell, locks))
            .filter(|cell| !cell.rows.is_empty())
            .collect()
    }

    fn cell(&self, cell: &RwCell, locks: &[Vec<Round>]) -> RwCellResult {
        let rates: Vec<Vec<(u32, f64)>> = locks.iter().map(|rounds| rates(rounds)).collect();
        let medians: Vec<_> = rates.iter().map(|rates| median(&values(rates))).collect();
        let reference = self.reference(&medians, f64::gt);
        let rows = self.plan.locks.iter().zip(locks).zip(&rates);
        RwCellResult {
            threads: cell.threads,
            readers_percent: cell.readers.as_f64(),
            dedicated: cell.mix == Mix::Dedicated,
            block_sections: cell.mix.block(),
            load_pauses: cell.load,
            load_ns: f64::from(cell.load) * self.pause_ns,
            outside_pauses: cell.outside,
            reference: reference.map(|lock| self.plan.locks[lock].name.to_owned()),
            rows: rows
                .filter(|((_, rounds), _)| !rounds.is_empty())
                .map(|((lock, rounds), own)| {
                    let other = reference.map(|lock| rates[lock].as_slice());
                    row(lock, rounds, own, other, self.plan.seed)
                })
                .collect(),
        }
    }

    /// The lock that ratios refer to, where `figures[l]` is the figure of lock `l`.
    fn reference(&self, figures: &[Option<f64>], better: fn(&f64, &f64) -> bool) -> Option<usize> {
        let kinds = self.plan.locks.iter().map(|lock| lock.kind);
        self.plan.baseline.or_else(|| best_peer(kinds, figures, better))
    }
}

fn sections(thread: &RwThread) -> u64 {
    thread.reads + thread.writes
}

fn total(report: &RwReport) -> u64 {
    report.threads.iter().map(sections).sum()
}

/// kops/s of each round, with its number.
fn rates(rounds: &[Round]) -> Vec<(u32, f64)> {
    let rate = |report: &RwReport| total(report) as f64 / report.elapsed.as_secs_f64() / 1e3;
    rounds.iter().map(|(round, report, _)| (*round, rate(report))).collect()
}

/// kops/s of each thread that did any, in each round.
fn shares(rounds: &[Round], count: fn(&RwThread) -> u64) -> Vec<Vec<f64>> {
    // A thread has the role if it ever did it: one that was starved in a round counts there.
    let has_role = |index: usize| rounds.iter().any(|(_, r, _)| count(&r.threads[index]) > 0);
    let share =
        |report: &RwReport, thread| count(thread) as f64 / report.elapsed.as_secs_f64() / 1e3;
    rounds
        .iter()
        .map(|(_, report, _)| {
            let threads = report.threads.iter().enumerate();
            threads.filter(|(i, _)| has_role(*i)).map(|(_, t)| share(report, t)).collect()
        })
        .collect()
}

fn over(shares: &[Vec<f64>], figure: fn(&[f64]) -> Option<f64>) -> Option<f64> {
    median(&shares.iter().filter_map(|round| figure(round)).collect::<Vec<_>>())
}

fn spread(shares: &[Vec<f64>]) -> Spread {
    Spread { min: over(shares, min), mean: over(shares, mean), max: over(shares, max) }
}

fn row(
    lock: &RwSubject,
    rounds: &[Round],
    own: &[(u32, f64)],
    reference: Option<&[(u32, f64)]>,
    seed: u64,
) -> RwRow {
    let mops = rounds.iter().map(|(_, report, _)| total(report)).sum::<u64>() as f64 / 1e6;
    let threads = rounds.iter().flat_map(|(_, report, _)| &report.threads);
    let used = threads.fold(Usage::default(), |sum, thread| sum + thread.usage);
    let per_mop = |sum: f64| (mops > 0.0).then(|| sum / mops);
    let mut events = Events::new();
    if lock.policy.is_some() {
        rounds.iter().for_each(|(_, _, counts)| add_events(&mut events, counts));
    }
    RwRow {
        lock: lock.name.to_owned(),
        kind: lock.kind,
        rounds: rounds.len(),
        kops_per_s: median(&values(own)),
        cv_percent: cv_percent(&values(own)),
        ratio: ratio(median(&values(own)), reference.and_then(|other| median(&values(other)))),
        ratio_ci95: reference.and_then(|other| ratio_interval(&paired(own, other), seed)),
        readers: spread(&shares(rounds, |thread| thread.reads)),
        writers: spread(&shares(rounds, |thread| thread.writes)),
        jain_index: over(&shares(rounds, sections), jain),
        cpu_s_per_mop: per_mop(used.cpu().as_secs_f64()),
        voluntary_switches_per_mop: per_mop(used.voluntary_switches as f64),
        involuntary_switches_per_mop: per_mop(used.involuntary_switches as f64),
        events,
        samples: rounds.iter().map(sample).collect(),
    }
}

fn sample((round, report, _): &Round) -> RwSample {
    RwSample {
        round: *round,
        elapsed_s: report.elapsed.as_secs_f64(),
        thread_reads: report.threads.iter().map(|thread| thread.reads).collect(),
        thread_writes: report.threads.iter().map(|thread| thread.writes).collect(),
    }
}
