//! The reports of a made-up run.

use std::time::Duration;

use lockwright_workloads::harness::Waits;
use lockwright_workloads::node_mask::FaultReport;
use lockwright_workloads::seq_bench::{SeqReport, WriteEvery};

use super::super::example;
use super::*;
use crate::results::{Header, SCHEMA_VERSION};
use crate::seq::plan::{SeqCell, SeqPlan};
use crate::seq::registry;
use crate::seq::results::BENCH_SEQ;
use crate::seq::run::SeqSamples;
use crate::seq::summary::SeqSummary;

const SECOND: Duration = Duration::from_secs(1);

/// Subject `s` does `s + 1` reads in a microsecond and tells of one torn value per round.
fn reads(subject: usize) -> Vec<(u32, SeqReport)> {
    let report = SeqReport {
        elapsed: SECOND,
        reads: vec![1_000_000 * (subject as u64 + 1); 2],
        retries: (subject > 0).then_some(2_000_000),
        torn: 1,
        whole: subject > 0,
        writes: Waits::new(),
        cut_short: false,
    };
    (0..3).map(|round| (round, report.clone())).collect()
}

fn faults(protection: usize) -> Vec<(u32, FaultReport)> {
    let report = FaultReport {
        elapsed: SECOND,
        client_cpu: 2 * SECOND,
        faults: vec![10_000_000; 2],
        rescans: 5,
        false_failures: u64::from(protection == 1),
        changes: 7,
        cut_short: false,
    };
    (0..3).map(|round| (round, report.clone())).collect()
}

fn result() -> SeqBenchResult {
    let plan = SeqPlan {
        subjects: registry::listed().take(3).collect(),
        protections: registry::protections().collect(),
        cells: vec![SeqCell { readers: 2, write_every: WriteEvery::Time(SECOND) }],
        baseline: Some(2),
        rounds: 3,
        warmup: 0,
        round_time: SECOND,
        seed: 1,
    };
    let samples = SeqSamples {
        reads: vec![(0..3).map(reads).collect()],
        faults: vec![(0..4).map(faults).collect()],
        section_ns: vec![vec![1.0], vec![21.0], vec![2.0], vec![2.0]],
        torn: vec![vec![0, 3, 0]],
        false_failures: vec![vec![0, 3, 0, 0]],
        complete: true,
    };
    let summary = SeqSummary { plan: &plan, samples: &samples };
    let made_up = example::result();
    SeqBenchResult {
        header: Header {
            schema_version: SCHEMA_VERSION,
            record: BENCH_SEQ.to_owned(),
            tool: made_up.tool,
            command_line: made_up.command_line,
            started_unix_s: 1,
            machine: made_up.machine,
            complete: true,
            warnings: Vec::new(),
        },
        plan: summary.plan_record(),
        violations: summary.violations(),
        cells: summary.cells(),
        faults: summary.faults(),
    }
}

#[test]
fn figures_are_what_was_measured() {
    let result = result();
    let row = &result.cells[0].rows[1];
    assert_eq!((row.ns_per_read, row.kreads_per_s), (Some(500.0), Some(4_000.0)));
    assert_eq!((row.ratio, row.ratio_ci95), (Some(1.5), Some([1.5, 1.5])));
    assert_eq!((row.retries_per_read, row.write_p50_ns), (Some(0.5), None));
    assert_eq!(result.cells[0].rows[0].retries_per_read, None);
    let row = &result.faults[0].rows[1];
    assert_eq!((row.faults_per_s, row.cpu_ns_per_fault), (Some(2e7), Some(100.0)));
    assert_eq!((row.protection_ns, row.protection_share_percent), (Some(20.0), Some(20.0)));
}

#[test]
fn wrong_answers_are_violations() {
    let violations = result().violations;
    let found: Vec<_> = violations.iter().map(|v| (&*v.lock, &*v.what, v.count)).collect();
    assert_eq!(found, [("full-barriers", "torn", 3), ("full-barriers", "false-failure", 3)]);
}

#[test]
fn the_table_is_narrow_and_compares_the_protections() {
    let text = table(&result(), Shown::default());
    assert!(text.contains("takes 10.5 times one with the sequence; share 20.00 % against 1.00 %"));
    for line in text.lines().filter(|line| !line.contains(' ') || line.contains("  ")) {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn rows_follow_the_order() {
    let locks = |order| {
        let mut result = result();
        sort(&mut result, order);
        result.cells[0].rows.iter().map(|row| row.lock.clone()).collect::<Vec<_>>()
    };
    assert_eq!(locks(Order::Plan), ["none", "full-barriers", "seqcount"]);
    assert_eq!(locks(Order::Name), ["full-barriers", "none", "seqcount"]);
    assert_eq!(locks(Order::Speed), ["seqcount", "full-barriers", "none"]);
}

#[test]
fn what_is_written_is_what_is_read() {
    let result = result();
    let mut text = Vec::new();
    crate::report::json::write(&result, &mut text).unwrap();
    assert_eq!(serde_json::from_slice::<SeqBenchResult>(&text).unwrap(), result);
    let mut lines = Vec::new();
    csv(&result, &mut lines).unwrap();
    assert_eq!(csv::Reader::from_reader(lines.as_slice()).records().count(), 3 + 4);
    let text = markdown(&result, Shown::default());
    assert_eq!(text.lines().filter(|line| line.starts_with("|--")).count(), 2, "{text}");
}
