//! From what was measured to what it says.

use lockwright_workloads::harness::Waits;
use lockwright_workloads::node_mask::FaultReport;
use lockwright_workloads::seq_bench::{SeqReport, WriteEvery};

use super::plan::{SeqCell, SeqPlan};
use super::registry::SeqSubject;
use super::results::{
    FaultCell, FaultRow, FaultSample, ReadCell, ReadRow, ReadSample, SeqPlanRecord, SeqViolation,
};
use super::run::SeqSamples;
use crate::results::{LockRecord, Timing};
use crate::stats::{cv_percent, median, ratio_interval};
use crate::summary::{paired, ratio, values};

/// Turns samples into rows.
pub struct SeqSummary<'a> {
    /// What was to be done.
    pub plan: &'a SeqPlan,
    /// What was measured.
    pub samples: &'a SeqSamples,
}

impl SeqPlanRecord {
    /// The part that headings show.
    pub fn timing(&self) -> Timing {
        Timing { rounds: self.rounds, round_s: self.round_s, seed: self.seed }
    }
}

fn write_every_ns(cell: &SeqCell) -> Option<u64> {
    match cell.write_every {
        WriteEvery::Never => None,
        WriteEvery::Time(time) => Some(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
    }
}

impl SeqSummary<'_> {
    /// The plan, for the record.
    pub fn plan_record(&self) -> SeqPlanRecord {
        let plan = self.plan;
        let lock = |subject: &&SeqSubject| LockRecord {
            lock: subject.name.to_owned(),
            kind: subject.kind,
            about: subject.about.to_owned(),
        };
        SeqPlanRecord {
            rounds: plan.rounds,
            warmup_rounds: plan.warmup,
            round_s: plan.round_time.as_secs_f64(),
            seed: plan.seed,
            baseline: plan.baseline.map(|index| plan.subjects[index].name.to_owned()),
            locks: plan.subjects.iter().map(lock).collect(),
        }
    }

    /// Every wrong answer.
    pub fn violations(&self) -> Vec<SeqViolation> {
        let mut all = Vec::new();
        let mut push = |name: &str, what: &str, readers: usize, count: u64| {
            if count > 0 {
                let (lock, what) = (name.to_owned(), what.to_owned());
                all.push(SeqViolation { lock, what, readers, count });
            }
        };
        for (index, cell) in self.plan.cells.iter().enumerate() {
            for (subject, &torn) in self.plan.subjects.iter().zip(&self.samples.torn[index]) {
                push(subject.name, "torn", cell.readers, torn);
            }
            let failures = &self.samples.false_failures[index];
            for (protection, &failures) in self.plan.protections.iter().zip(failures) {
                let count = if protection.protects { failures } else { 0 };
                push(protection.name, "false-failure", cell.readers, count);
            }
        }
        all
    }

    /// All cells of which reads were measured.
    pub fn cells(&self) -> Vec<ReadCell> {
        let cells = self.plan.cells.iter().zip(&self.samples.reads);
        let cells = cells.map(|(cell, subjects)| ReadCell {
            readers: cell.readers,
            write_every_ns: write_every_ns(cell),
            rows: self.read_rows(subjects),
        });
        cells.filter(|cell| !cell.rows.is_empty()).collect()
    }

    fn read_rows(&self, subjects: &[Vec<(u32, SeqReport)>]) -> Vec<ReadRow> {
        let baseline = self.plan.baseline.map(|index| costs(&subjects[index]));
        let rows = self.plan.subjects.iter().zip(subjects);
        rows.filter(|(_, rounds)| !rounds.is_empty())
            .map(|(subject, rounds)| read_row(subject, rounds, baseline.as_deref(), self.plan.seed))
            .collect()
    }

    /// All cells of which the allocator was run.
    pub fn faults(&self) -> Vec<FaultCell> {
        let cells = self.plan.cells.iter().zip(&self.samples.faults);
        let cells = cells.map(|(cell, protections)| FaultCell {
            clients: cell.readers,
            write_every_ns: write_every_ns(cell),
            rows: (self.plan.protections.iter().zip(protections).enumerate())
                .filter(|(_, (_, rounds))| !rounds.is_empty())
                .map(|(index, (protection, rounds))| {
                    fault_row(protection.name, rounds, self.section_ns(index))
                })
                .collect(),
        });
        cells.filter(|cell| !cell.rows.is_empty()).collect()
    }

    /// A section of the protection, loop included, and what it is more than without protection.
    fn section_ns(&self, index: usize) -> (Option<f64>, Option<f64>) {
        let ns = |index: usize| median(&self.samples.section_ns[index]);
        let bare = self.plan.protections.iter().position(|protection| !protection.protects);
        let more = ns(index).zip(bare.and_then(ns)).map(|(own, bare)| (own - bare).max(0.0));
        (ns(index), more)
    }
}

/// ns per read of one reader, of each round, with its number.
fn costs(rounds: &[(u32, SeqReport)]) -> Vec<(u32, f64)> {
    let cost = |(round, report): &(u32, SeqReport)| {
        let reads: u64 = report.reads.iter().sum();
        let ns = report.elapsed.as_secs_f64() * 1e9 * report.reads.len() as f64;
        (*round, ns / (reads.max(1)) as f64)
    };
    rounds.iter().map(cost).collect()
}

fn read_row(
    subject: &SeqSubject,
    rounds: &[(u32, SeqReport)],
    baseline: Option<&[(u32, f64)]>,
    seed: u64,
) -> ReadRow {
    let own = costs(rounds);
    let ns = median(&values(&own));
    let total = |report: &SeqReport| report.reads.iter().sum::<u64>();
    let reads: u64 = rounds.iter().map(|(_, report)| total(report)).sum();
    let retries: Option<u64> = rounds.iter().map(|(_, report)| report.retries).sum();
    let rate = |report: &SeqReport| total(report) as f64 / report.elapsed.as_secs_f64() / 1e3;
    let rates: Vec<f64> = rounds.iter().map(|(_, report)| rate(report)).collect();
    let mut writes = Waits::new();
    rounds.iter().for_each(|(_, report)| writes.merge(&report.writes));
    let written = (writes.count() > 0).then_some(&writes);
    ReadRow {
        lock: subject.name.to_owned(),
        kind: subject.kind,
        rounds: rounds.len(),
        ns_per_read: ns,
        cv_percent: cv_percent(&values(&own)),
        ratio: ratio(ns, baseline.and_then(|other| median(&values(other)))),
        ratio_ci95: baseline.and_then(|other| ratio_interval(&paired(&own, other), seed)),
        kreads_per_s: median(&rates),
        retries_per_read: retries.map(|retries| retries as f64 / reads.max(1) as f64),
        torn: rounds.iter().map(|(_, report)| report.torn).sum(),
        whole: rounds.iter().all(|(_, report)| report.whole),
        writes: writes.count(),
        write_mean_ns: written.map(Waits::mean_ns),
        write_p50_ns: written.map(|writes| writes.percentile_ns(50.0)),
        write_p99_ns: written.map(|writes| writes.percentile_ns(99.0)),
        write_max_ns: written.map(Waits::longest_ns),
        samples: rounds.iter().map(|(round, report)| read_sample(*round, report)).collect(),
    }
}

fn read_sample(round: u32, report: &SeqReport) -> ReadSample {
    let elapsed_s = report.elapsed.as_secs_f64();
    ReadSample { round, elapsed_s, thread_reads: report.reads.clone() }
}

fn fault_row(
    name: &str,
    rounds: &[(u32, FaultReport)],
    (section_ns, protection_ns): (Option<f64>, Option<f64>),
) -> FaultRow {
    let total = |report: &FaultReport| report.faults.iter().sum::<u64>();
    let over = |figure: &dyn Fn(&FaultReport) -> f64| -> Vec<f64> {
        rounds.iter().map(|(_, report)| figure(report)).collect()
    };
    let sum = |figure: fn(&FaultReport) -> u64| -> u64 {
        rounds.iter().map(|(_, report)| figure(report)).sum()
    };
    let rates = over(&|report| total(report) as f64 / report.elapsed.as_secs_f64());
    let cpu_ns =
        over(&|report| report.client_cpu.as_secs_f64() * 1e9 / total(report).max(1) as f64);
    let cpu_ns = median(&cpu_ns).filter(|&ns| ns > 0.0);
    let faults: u64 = rounds.iter().map(|(_, report)| total(report)).sum();
    let rescans = sum(|report| report.rescans);
    FaultRow {
        protection: name.to_owned(),
        rounds: rounds.len(),
        faults_per_s: median(&rates),
        cv_percent: cv_percent(&rates),
        cpu_ns_per_fault: cpu_ns,
        section_ns,
        protection_ns,
        protection_share_percent: ratio(protection_ns, cpu_ns).map(|share| 100.0 * share),
        rescans_per_fault: Some(rescans as f64 / faults.max(1) as f64),
        false_failures: sum(|report| report.false_failures),
        changes: sum(|report| report.changes),
        samples: rounds
            .iter()
            .map(|(round, report)| FaultSample {
                round: *round,
                elapsed_s: report.elapsed.as_secs_f64(),
                client_cpu_s: report.client_cpu.as_secs_f64(),
                client_faults: report.faults.clone(),
            })
            .collect(),
    }
}
