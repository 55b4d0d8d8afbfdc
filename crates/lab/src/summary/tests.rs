//! Rows from made-up samples whose figures are known.

use std::time::Duration;

use lockwright_workloads::harness::Usage;
use lockwright_workloads::mutex_bench::ThreadReport;

use super::*;
use crate::plan::Pace;
use crate::registry;

fn report(ops: &[u64], seconds: u64) -> RoundReport {
    let usage = Usage {
        user: Duration::from_secs(1),
        system: Duration::from_secs(1),
        voluntary_switches: 10,
        involuntary_switches: 1,
    };
    RoundReport {
        elapsed: Duration::from_secs(seconds),
        threads: ops.iter().map(|&ops| ThreadReport { ops, usage }).collect(),
        lost_updates: 0,
        cut_short: false,
    }
}

fn plan() -> Plan {
    let lock = |name| registry::listed().find(|lock| lock.name == name).unwrap();
    Plan {
        locks: vec![lock("std"), lock("parking_lot")],
        cells: vec![Cell { threads: 2, load: 10, pace: Pace::Steady { outside: 0 } }],
        rounds: 3,
        warmup: 0,
        round_time: Duration::from_secs(1),
        seed: 1,
        uncontended: true,
        latency: false,
    }
}

fn samples() -> Samples {
    let rounds = |ops: [u64; 2]| CellSamples {
        rounds: (0..3).map(|round| (round, report(&ops, 2))).collect(),
        ..CellSamples::default()
    };
    Samples {
        cells: vec![vec![rounds([1_000_000, 3_000_000]), rounds([4_000_000, 4_000_000])]],
        solo_ns: vec![vec![22.0, 22.0], vec![12.0, 12.0]],
        loop_ns: vec![2.0, 2.0],
        complete: true,
    }
}

#[test]
fn a_row_says_what_the_rounds_said() {
    let (plan, samples) = (plan(), samples());
    let summary = Summary { plan: &plan, samples: &samples, pause_ns: 10.0, baseline: None };
    let cells = summary.cells();
    assert_eq!(cells.len(), 1);
    let cell = &cells[0];
    assert_eq!((cell.threads, cell.load_pauses, cell.load_ns), (2, 10, 100.0));
    assert_eq!(cell.reference.as_deref(), Some("parking_lot"));
    let std = &cell.throughput[0];
    assert_eq!(std.rounds, 3);
    assert_eq!(std.kops_per_s, Some(2_000.0));
    assert_eq!(std.cv_percent, Some(0.0));
    assert_eq!(std.ratio, Some(0.5));
    assert_eq!(std.ratio_ci95, Some([0.5, 0.5]));
    assert_eq!(std.thread_min_kops_per_s, Some(500.0));
    assert_eq!(std.thread_mean_kops_per_s, Some(1_000.0));
    assert_eq!(std.thread_max_kops_per_s, Some(1_500.0));
    assert_eq!(std.jain_index, Some(0.8));
    // Two threads, 2 s each, for 4 million sections in each of three rounds.
    assert_eq!(std.cpu_s_per_mop, Some(1.0));
    assert_eq!(std.cpus_used, Some(2.0));
    assert_eq!(std.voluntary_switches_per_mop, Some(5.0));
    assert_eq!(std.involuntary_switches_per_mop, Some(0.5));
    assert_eq!(cell.throughput[1].ratio, Some(1.0));
}

#[test]
fn the_loop_is_subtracted() {
    let (plan, samples) = (plan(), samples());
    let summary = Summary { plan: &plan, samples: &samples, pause_ns: 10.0, baseline: None };
    let uncontended = summary.uncontended().unwrap();
    assert_eq!(uncontended.loop_overhead_ns, Some(2.0));
    assert_eq!(uncontended.reference.as_deref(), Some("parking_lot"));
    assert_eq!(uncontended.rows[0].ns_per_pair, Some(20.0));
    assert_eq!(uncontended.rows[0].gross_ns_per_pair, Some(22.0));
    assert_eq!(uncontended.rows[0].ratio, Some(2.0));
}

#[test]
fn a_baseline_takes_the_place_of_the_best_peer() {
    let (plan, samples) = (plan(), samples());
    let summary = Summary { plan: &plan, samples: &samples, pause_ns: 10.0, baseline: Some(0) };
    assert_eq!(summary.cells()[0].throughput[1].ratio, Some(2.0));
    assert_eq!(summary.plan_record().baseline.as_deref(), Some("std"));
}

#[test]
fn what_was_not_measured_is_not_shown() {
    let plan = plan();
    let mut samples = samples();
    samples.cells[0][1] = CellSamples::default();
    samples.solo_ns = vec![Vec::new(); 2];
    samples.loop_ns.clear();
    let summary = Summary { plan: &plan, samples: &samples, pause_ns: 10.0, baseline: None };
    assert!(summary.uncontended().is_none());
    assert_eq!(summary.cells()[0].throughput.len(), 1);
    samples.cells[0][0] = CellSamples::default();
    assert!(samples.is_empty());
    let summary = Summary { plan: &plan, samples: &samples, pause_ns: 10.0, baseline: None };
    assert!(summary.cells().is_empty());
}

#[test]
fn lost_updates_are_violations() {
    let plan = plan();
    let mut samples = samples();
    samples.cells[0][1].lost_updates = 7;
    let summary = Summary { plan: &plan, samples: &samples, pause_ns: 10.0, baseline: None };
    let violations = summary.violations();
    assert_eq!(violations.len(), 1);
    assert_eq!((violations[0].lock.as_str(), violations[0].lost_updates), ("parking_lot", 7));
}
