//! A made-up experiment and its record, for tests.

use std::time::Duration;

use lockwright_workloads::harness::Interrupt;
use lockwright_workloads::mutex_bench::Rhythm;

use super::plan::Order;
use super::{Arm, Cell, Experiment, Run, RunError, Turn};
use crate::environment::machine::Machine;
use crate::loads::Load;
use crate::loads::mutex::{Options, Pace, Setting, cells};
use crate::record::{self, Histogram, Record, Role, SCHEMA_VERSION, Sample, Tool, Usage};

struct Everywhere;

impl Run for Everywhere {
    fn fits(&self, _load: &Load) -> bool {
        true
    }

    fn run(&self, _load: &Load, _turn: Turn, _stop: &Interrupt) -> Result<Sample, RunError> {
        Ok(Sample::default())
    }
}

/// An arm that fits no cell.
pub(crate) struct Nowhere;

impl Run for Nowhere {
    fn fits(&self, _load: &Load) -> bool {
        false
    }

    fn run(&self, _load: &Load, _turn: Turn, _stop: &Interrupt) -> Result<Sample, RunError> {
        unreachable!("it does not fit")
    }
}

/// Arms that yield nothing, in cells that are all alike.
pub(crate) fn experiment(arms: usize, count: usize) -> Experiment {
    let pace = Pace::Steady { outside: 0 };
    let options = Options {
        window: Some(Duration::from_millis(1)),
        uncontended: false,
        waits: false,
        pause_ns: 10.0,
    };
    let arm = |number| Arm {
        record: arm(&format!("arm {number}"), Role::Peer),
        run: Box::new(Everywhere),
    };
    Experiment {
        name: "example",
        arms: (0..arms).map(arm).collect(),
        cells: cells(&vec![Setting { threads: 1, load: 1, pace }; count], options),
        rounds: 1,
        warmup: 0,
        seed: 7,
        baseline: None,
        order: Order::Shuffled,
    }
}

fn arm(name: &str, role: Role) -> record::Arm {
    record::Arm { name: name.to_owned(), role, about: String::new() }
}

/// Two blocking peers and a lock of ours: uncontended, in two cells, and their waits; three rounds.
pub(crate) fn record() -> Record {
    let load = Setting { threads: 2, load: 20, pace: Pace::Steady { outside: 0 } };
    let crowd = Setting { threads: 32, ..load };
    let options = Options {
        window: Some(Duration::from_millis(100)),
        uncontended: true,
        waits: true,
        pause_ns: 9.7,
    };
    let cells: Vec<Cell> = cells(&[load, crowd], options);
    let arms = vec![
        arm("std", Role::BlockingPeer),
        arm("parking_lot", Role::BlockingPeer),
        arm("lockwright", Role::Own),
    ];
    let mut samples = Vec::new();
    for round in 0..3 {
        for (at, cell) in cells.iter().enumerate() {
            samples.extend((0..arms.len()).map(|arm| sample(round, &cell.load, arm, at)));
        }
    }
    Record {
        header: header("bench-mutex"),
        plan: record::Plan { rounds: 3, warmup_rounds: 0, seed: 1, baseline: None },
        arms,
        samples,
        cells: cells.into_iter().map(|cell| cell.record).collect(),
    }
}

/// What stands at the head of a made-up record.
pub(crate) fn header(name: &str) -> record::Header {
    record::Header {
        schema_version: SCHEMA_VERSION,
        record: name.to_owned(),
        tool: Tool { name: "lockwright".to_owned(), version: "0.0.0".to_owned(), commit: None },
        command_line: vec!["lockwright".to_owned(), "bench".to_owned()],
        started_unix_s: 1,
        machine: Machine {
            cpu_model: Some("Example CPU".to_owned()),
            arch: "x86_64".to_owned(),
            cpus_online: Some(2),
            cpus_allowed: Some(2),
            kernel: Some("Linux 6".to_owned()),
            c_library: None,
            governor: None,
            pause_ns: 9.7,
            line_transfer_ns: Some(76.0),
            facts: Default::default(),
        },
        complete: true,
        warnings: vec!["a warning".to_owned()],
    }
}

/// Arm `arm` does `1 + arm` million sections in a run of 2 s; thread 0 does half as many as others.
fn sample(round: u32, load: &Load, arm: usize, cell: usize) -> Sample {
    let place = Sample { arm, cell, round: Some(round), elapsed_s: 2.0, ..Sample::default() };
    let number = arm as u64 + 1;
    match *load {
        Load::Uncontended(_) => Sample {
            series: [
                ("pair_ns".to_owned(), vec![10.0 * number as f64 + 2.0; 3]),
                ("loop_ns".to_owned(), vec![2.0; 3]),
            ]
            .into(),
            ..place
        },
        Load::MutexWaits { .. } => {
            let waits = Histogram {
                longest_ns: 5_000 * number,
                buckets: vec![(30, 900), (5_000 * number, 100)],
            };
            Sample { waits: Some(waits), ..place }
        }
        Load::Mutex { threads, rhythm: Rhythm { .. } } => {
            let (all, parts) = (1_000_000 * number, 2 * threads as u64 - 1);
            let mut thread_ops = vec![2 * all / parts; threads];
            thread_ops[0] = all - (threads as u64 - 1) * (2 * all / parts);
            Sample {
                thread_ops,
                usage: Some(Usage {
                    user_s: 3.0,
                    system_s: 1.0,
                    voluntary_switches: 1_234_567,
                    involuntary_switches: 12_345,
                }),
                events: if arm == 2 {
                    [("mutex_sleep".to_owned(), 17)].into()
                } else {
                    Default::default()
                },
                ..place
            }
        }
        _ => unreachable!("cells of the mutex benchmark"),
    }
}
