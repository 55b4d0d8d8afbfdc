//! The result record of `bench rwlock`; the rules are those of [`crate::results`].

use serde::{Deserialize, Serialize};

use crate::registry::Kind;
use crate::results::{Header, PlanRecord};
use crate::run::Events;

/// [`Header::record`] of every such record.
pub const BENCH_RWLOCK: &str = "bench-rwlock";

/// What `lockwright bench rwlock` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RwBenchResult {
    /// What all records begin with.
    #[serde(flatten)]
    pub header: Header,
    /// What was to be done.
    pub plan: PlanRecord,
    /// Every case of a writer beside somebody.
    pub violations: Vec<RwViolation>,
    /// Pairs by one thread; empty if not measured.
    pub uncontended: Vec<RwSoloRow>,
    /// One entry per setting.
    pub cells: Vec<RwCellResult>,
}

/// A lock that let a writer in beside somebody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RwViolation {
    /// The lock.
    pub lock: String,
    /// Threads of the cell.
    pub threads: usize,
    /// Lost writes and torn reads.
    pub intrusions: u64,
}

/// What a lock costs when nobody else wants it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RwSoloRow {
    /// The lock.
    pub lock: String,
    /// What it is in the comparison.
    pub kind: Kind,
    /// Time of a read lock and unlock, loop subtracted; median over the batches.
    pub read_ns_per_pair: Option<f64>,
    /// To the best blocking peer's, or the baseline's.
    pub read_ratio: Option<f64>,
    /// Time of a write lock and unlock.
    pub write_ns_per_pair: Option<f64>,
    /// As `read_ratio`.
    pub write_ratio: Option<f64>,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RwCellResult {
    /// Number of threads.
    pub threads: usize,
    /// Percentage of reads, or of reading threads.
    pub readers_percent: f64,
    /// Threads had roles.
    pub dedicated: bool,
    /// Each thread's reads and writes came in blocks of so many sections; 0: they did not.
    #[serde(default)]
    pub block_sections: u32,
    /// Work inside, in PAUSE instructions.
    pub load_pauses: u32,
    /// The same in nanoseconds.
    pub load_ns: f64,
    /// Work outside, in PAUSE instructions.
    pub outside_pauses: u32,
    /// The lock that ratios refer to.
    pub reference: Option<String>,
    /// One row per lock.
    pub rows: Vec<RwRow>,
}

/// Lowest, mean and highest of the threads, in kops/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The slowest thread's.
    pub min: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The fastest thread's.
    pub max: Option<f64>,
}

/// One lock in one setting. Figures are medians over the rounds unless said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RwRow {
    /// The lock.
    pub lock: String,
    /// What it is in the comparison.
    pub kind: Kind,
    /// Number of rounds.
    pub rounds: usize,
    /// Sections of all threads.
    pub kops_per_s: Option<f64>,
    /// Coefficient of variation over the rounds.
    pub cv_percent: Option<f64>,
    /// `kops_per_s` over the reference's.
    pub ratio: Option<f64>,
    /// 95 % bootstrap interval of the ratio; `null` below 3 rounds.
    pub ratio_ci95: Option<[f64; 2]>,
    /// Read sections of each thread that reads, in kops/s.
    pub readers: Spread,
    /// Write sections of each thread that writes, in kops/s.
    pub writers: Spread,
    /// Jain's index of the threads' sections.
    pub jain_index: Option<f64>,
    /// CPU time per million sections.
    pub cpu_s_per_mop: Option<f64>,
    /// Voluntary context switches per million sections.
    pub voluntary_switches_per_mop: Option<f64>,
    /// Involuntary context switches per million sections.
    pub involuntary_switches_per_mop: Option<f64>,
    /// Lock events of all rounds, those that are not 0; only this project's locks count them.
    pub events: Events,
    /// Each round.
    pub samples: Vec<RwSample>,
}

/// One round of one lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RwSample {
    /// Number of the round, from 0; the same in all rows.
    pub round: u32,
    /// Wall time.
    pub elapsed_s: f64,
    /// Read sections of each thread.
    pub thread_reads: Vec<u64>,
    /// Write sections of each thread.
    pub thread_writes: Vec<u64>,
}
