//! A made-up result for the tests of the reports.

use crate::machine::Machine;
use crate::registry::Kind;
use crate::results::{
    BENCH_MUTEX, CellResult, LockRecord, MutexBenchResult, PlanRecord, RoundSample, SCHEMA_VERSION,
    ThroughputRow, Tool, Uncontended, UncontendedRow, WaitRow,
};

pub(crate) fn result() -> MutexBenchResult {
    MutexBenchResult {
        schema_version: SCHEMA_VERSION,
        record: BENCH_MUTEX.to_owned(),
        tool: Tool { name: "lockwright".to_owned(), version: "0.0.0".to_owned(), commit: None },
        command_line: vec!["lockwright".to_owned(), "bench".to_owned()],
        started_unix_s: 1,
        machine: machine(),
        plan: PlanRecord {
            rounds: 5,
            warmup_rounds: 0,
            round_s: 0.1,
            seed: 1,
            baseline: None,
            locks: vec![lock("std"), lock("parking_lot")],
        },
        complete: true,
        warnings: vec!["a warning".to_owned()],
        violations: Vec::new(),
        uncontended: Some(Uncontended {
            loop_overhead_ns: Some(0.5),
            reference: Some("std".to_owned()),
            rows: vec![uncontended_row("std", 12.1), uncontended_row("parking_lot", 12.4)],
        }),
        cells: vec![cell(2, 0), cell(32, 20)],
    }
}

fn machine() -> Machine {
    Machine {
        cpu_model: Some("Example CPU".to_owned()),
        arch: "x86_64".to_owned(),
        cpus_online: Some(2),
        cpus_allowed: Some(2),
        kernel: Some("Linux 6".to_owned()),
        c_library: None,
        governor: None,
        pause_ns: 9.7,
        line_transfer_ns: Some(76.0),
    }
}

fn lock(name: &str) -> LockRecord {
    LockRecord { lock: name.to_owned(), kind: Kind::BlockingPeer, about: String::new() }
}

fn uncontended_row(name: &str, ns: f64) -> UncontendedRow {
    UncontendedRow {
        lock: name.to_owned(),
        kind: Kind::BlockingPeer,
        batches: 2,
        ns_per_pair: Some(ns),
        gross_ns_per_pair: Some(ns + 0.5),
        cv_percent: Some(1.0),
        ratio: Some(ns / 12.1),
        samples_gross_ns: vec![ns + 0.5; 2],
    }
}

fn cell(threads: usize, outside: u32) -> CellResult {
    CellResult {
        threads,
        load_pauses: 20,
        load_ns: 194.0,
        outside_pauses: outside,
        outside_ns: 9.7 * f64::from(outside),
        burst_ops: 1,
        reference: Some("parking_lot".to_owned()),
        throughput: vec![row("std", 1_234.5, threads), row("parking_lot", 123_456.7, threads)],
        waits: vec![waits("std"), waits("parking_lot")],
    }
}

fn row(name: &str, kops: f64, threads: usize) -> ThroughputRow {
    ThroughputRow {
        lock: name.to_owned(),
        kind: Kind::BlockingPeer,
        rounds: 1,
        kops_per_s: Some(kops),
        mean_kops_per_s: Some(kops),
        cv_percent: None,
        ratio: Some(kops / 123_456.7),
        ratio_ci95: Some([0.9, 1.1]),
        thread_min_kops_per_s: Some(0.0),
        thread_mean_kops_per_s: Some(kops / threads as f64),
        thread_max_kops_per_s: Some(kops),
        jain_index: Some(0.97),
        cpu_s_per_mop: Some(0.1234),
        cpus_used: Some(1.9),
        voluntary_switches_per_mop: Some(1_234_567.0),
        involuntary_switches_per_mop: Some(12_345.0),
        events: [("mutex_sleep".to_owned(), 17)].into(),
        samples: vec![RoundSample {
            round: 0,
            elapsed_s: 0.1,
            user_s: 0.1,
            system_s: 0.05,
            voluntary_switches: 3,
            involuntary_switches: 4,
            thread_ops: vec![5; threads],
        }],
    }
}

fn waits(name: &str) -> WaitRow {
    WaitRow {
        lock: name.to_owned(),
        kind: Kind::BlockingPeer,
        rounds: 5,
        waits: 1_000_000,
        mean_ns: 1_500.0,
        p50_ns: 30,
        p90_ns: 40,
        p99_ns: 264_000,
        p999_ns: 1_000_000,
        max_ns: 252_000_000,
    }
}
