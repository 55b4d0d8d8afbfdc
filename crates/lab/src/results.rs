//! The result record: what a run leaves behind, as it is written to JSON.
//!
//! Every key names its unit. A change of the meaning or the name of a key raises
//! [`SCHEMA_VERSION`]. A figure that could not be had is `null`, never 0.

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::registry::Kind;
use crate::run::Events;

/// Version of the result record.
pub const SCHEMA_VERSION: u32 = 1;

/// [`MutexBenchResult::record`] of every such record.
pub const BENCH_MUTEX: &str = "bench-mutex";

/// What `lockwright bench mutex` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MutexBenchResult {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// What kind of record this is: [`BENCH_MUTEX`].
    pub record: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// The program's arguments, the program first.
    pub command_line: Vec<String>,
    /// When the run began, in seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// Where it ran.
    pub machine: Machine,
    /// What was to be done.
    pub plan: PlanRecord,
    /// False if the run was interrupted: later rounds are missing.
    pub complete: bool,
    /// What may have disturbed the run, in sentences.
    pub warnings: Vec<String>,
    /// Every case of two threads in one section.
    pub violations: Vec<Violation>,
    /// Lock and unlock pairs by one thread; `null` if not measured.
    pub uncontended: Option<Uncontended>,
    /// One entry per setting.
    pub cells: Vec<CellResult>,
}

/// A program and its version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit it was built from, where known.
    pub commit: Option<String>,
}

/// The plan of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// Measured rounds.
    pub rounds: u32,
    /// Rounds before them that were thrown away.
    pub warmup_rounds: u32,
    /// Wall time of each lock in each cell in each round.
    pub round_s: f64,
    /// Seed of the order of the locks, and of the bootstrap.
    pub seed: u64,
    /// The lock that ratios refer to; `null`: the best blocking peer of each cell.
    pub baseline: Option<String>,
    /// The locks.
    pub locks: Vec<LockRecord>,
}

/// How long everything was run.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Measured rounds.
    pub rounds: u32,
    /// Wall time of each measurement in each round.
    pub round_s: f64,
    /// Seed of the order.
    pub seed: u64,
}

impl PlanRecord {
    /// The part that headings show.
    pub fn timing(&self) -> Timing {
        Timing { rounds: self.rounds, round_s: self.round_s, seed: self.seed }
    }
}

/// What all records begin with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// What kind of record this is.
    pub record: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// The program's arguments, the program first.
    pub command_line: Vec<String>,
    /// When the run began, in seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// Where it ran.
    pub machine: Machine,
    /// False if the run was interrupted: later rounds are missing.
    pub complete: bool,
    /// What may have disturbed the run, in sentences.
    pub warnings: Vec<String>,
}

/// A lock in the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockRecord {
    /// Its name.
    pub lock: String,
    /// What it is in the comparison.
    pub kind: Kind,
    /// One line on what it is.
    pub about: String,
}

/// A lock that let two threads in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Violation {
    /// The lock.
    pub lock: String,
    /// Number of threads of the cell.
    pub threads: usize,
    /// PAUSE units in the section.
    pub load_pauses: u32,
    /// Sections whose addition to the counter is missing.
    pub lost_updates: u64,
}

/// The uncontended measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Uncontended {
    /// The loop without a lock, median; subtracted in `ns_per_pair`.
    pub loop_overhead_ns: Option<f64>,
    /// The lock that `ratio` refers to.
    pub reference: Option<String>,
    /// One row per lock.
    pub rows: Vec<UncontendedRow>,
}

/// One lock, one thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UncontendedRow {
    /// The lock.
    pub lock: String,
    /// What it is in the comparison.
    pub kind: Kind,
    /// Number of batches.
    pub batches: usize,
    /// Lock and unlock, median, loop subtracted.
    pub ns_per_pair: Option<f64>,
    /// The same with the loop.
    pub gross_ns_per_pair: Option<f64>,
    /// Coefficient of variation of the batches, loop included.
    pub cv_percent: Option<f64>,
    /// `ns_per_pair` over the reference's: below 1 is faster.
    pub ratio: Option<f64>,
    /// Each batch, loop included.
    pub samples_gross_ns: Vec<f64>,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Number of threads.
    pub threads: usize,
    /// PAUSE units in the section.
    pub load_pauses: u32,
    /// The same in nanoseconds.
    pub load_ns: f64,
    /// PAUSE units after each burst of sections.
    pub outside_pauses: u32,
    /// The same in nanoseconds.
    pub outside_ns: f64,
    /// Sections back to back; 1 unless bursts were asked for.
    pub burst_ops: u32,
    /// The lock that `ratio` refers to.
    pub reference: Option<String>,
    /// One row per lock.
    pub throughput: Vec<ThroughputRow>,
    /// One row per lock; empty unless waits were measured.
    pub waits: Vec<WaitRow>,
}

/// Throughput of one lock in one cell. Figures are medians over the rounds unless said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThroughputRow {
    /// The lock.
    pub lock: String,
    /// What it is in the comparison.
    pub kind: Kind,
    /// Number of rounds.
    pub rounds: usize,
    /// Sections of all threads.
    pub kops_per_s: Option<f64>,
    /// The mean instead of the median.
    pub mean_kops_per_s: Option<f64>,
    /// Coefficient of variation over the rounds.
    pub cv_percent: Option<f64>,
    /// `kops_per_s` over the reference's: above 1 is faster.
    pub ratio: Option<f64>,
    /// 95 % bootstrap interval of the ratio; `null` below 3 rounds.
    pub ratio_ci95: Option<[f64; 2]>,
    /// The slowest thread.
    pub thread_min_kops_per_s: Option<f64>,
    /// The mean over the threads.
    pub thread_mean_kops_per_s: Option<f64>,
    /// The fastest thread.
    pub thread_max_kops_per_s: Option<f64>,
    /// Jain's fairness index of the threads within a round.
    pub jain_index: Option<f64>,
    /// CPU seconds per million sections, over all rounds together.
    pub cpu_s_per_mop: Option<f64>,
    /// CPUs in use on average, over all rounds together.
    pub cpus_used: Option<f64>,
    /// Times a thread gave the CPU up per million sections, over all rounds together.
    pub voluntary_switches_per_mop: Option<f64>,
    /// Times a thread lost the CPU per million sections, over all rounds together.
    pub involuntary_switches_per_mop: Option<f64>,
    /// Lock events of all rounds, those that are not 0; only this project's locks count them.
    #[serde(default)]
    pub events: Events,
    /// Each round.
    pub samples: Vec<RoundSample>,
}

/// One round of one lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundSample {
    /// Number of the round, from 0; the same in all rows.
    pub round: u32,
    /// Wall time.
    pub elapsed_s: f64,
    /// CPU time in user mode, all threads.
    pub user_s: f64,
    /// CPU time in the kernel, all threads.
    pub system_s: f64,
    /// Times a thread gave the CPU up.
    pub voluntary_switches: u64,
    /// Times a thread lost the CPU.
    pub involuntary_switches: u64,
    /// Sections of each thread.
    pub thread_ops: Vec<u64>,
}

/// Waits of one lock in one cell, all rounds and threads together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitRow {
    /// The lock.
    pub lock: String,
    /// What it is in the comparison.
    pub kind: Kind,
    /// Number of rounds.
    pub rounds: usize,
    /// Number of waits, the short ones included.
    pub waits: u64,
    /// Mean wait.
    pub mean_ns: f64,
    /// Half of the waits are no longer.
    pub p50_ns: u64,
    /// 90 % of the waits are no longer.
    pub p90_ns: u64,
    /// 99 % of the waits are no longer.
    pub p99_ns: u64,
    /// 99.9 % of the waits are no longer.
    pub p999_ns: u64,
    /// The longest wait.
    pub max_ns: u64,
}
