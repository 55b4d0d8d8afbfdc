//! The result record of `bench seq`; the rules are those of [`crate::results`].

use serde::{Deserialize, Serialize};

use crate::registry::Kind;
use crate::results::{Header, LockRecord};

/// [`Header::record`] of every such record.
pub const BENCH_SEQ: &str = "bench-seq";

/// What `lockwright bench seq` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeqBenchResult {
    /// What all records begin with.
    #[serde(flatten)]
    pub header: Header,
    /// What was to be done.
    pub plan: SeqPlanRecord,
    /// Every wrong answer.
    pub violations: Vec<SeqViolation>,
    /// Reads, one entry per setting.
    pub cells: Vec<ReadCell>,
    /// The allocator run, one entry per setting.
    pub faults: Vec<FaultCell>,
}

/// The plan of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeqPlanRecord {
    /// Measured rounds.
    pub rounds: u32,
    /// Rounds before them that were thrown away.
    pub warmup_rounds: u32,
    /// Wall time of each measurement in each round.
    pub round_s: f64,
    /// Seed of the order, and of the bootstrap.
    pub seed: u64,
    /// What ratios refer to.
    pub baseline: Option<String>,
    /// What was compared.
    pub locks: Vec<LockRecord>,
}

/// A wrong answer: torn values, or "no node" under a protection that forbids it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeqViolation {
    /// Who gave it.
    pub lock: String,
    /// What it was: `torn` or `false-failure`.
    pub what: String,
    /// Readers or clients of the cell.
    pub readers: usize,
    /// How many.
    pub count: u64,
}

/// Reads in one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadCell {
    /// Number of readers.
    pub readers: usize,
    /// Time between writes; `null`: no writer.
    pub write_every_ns: Option<u64>,
    /// One row per subject.
    pub rows: Vec<ReadRow>,
}

/// Reads of one subject in one setting. Figures are medians over the rounds unless said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadRow {
    /// The subject.
    pub lock: String,
    /// What it is in the comparison.
    pub kind: Kind,
    /// Number of rounds.
    pub rounds: usize,
    /// Wall time per read of one reader, loop included.
    pub ns_per_read: Option<f64>,
    /// Coefficient of variation over the rounds.
    pub cv_percent: Option<f64>,
    /// `ns_per_read` over the baseline's: below 1 is faster.
    pub ratio: Option<f64>,
    /// 95 % bootstrap interval of the ratio; `null` below 3 rounds.
    pub ratio_ci95: Option<[f64; 2]>,
    /// Reads of all readers.
    pub kreads_per_s: Option<f64>,
    /// Failed attempts per read over all rounds; `null` if the subject does not tell.
    pub retries_per_read: Option<f64>,
    /// Values that were not of one write, in all rounds.
    pub torn: u64,
    /// Whether the subject promises values of one write.
    pub whole: bool,
    /// Number of writes, in all rounds.
    pub writes: u64,
    /// Mean time of a write; `null` without a writer, like the next three.
    pub write_mean_ns: Option<f64>,
    /// Half of the writes are no longer.
    pub write_p50_ns: Option<u64>,
    /// 99 % of the writes are no longer.
    pub write_p99_ns: Option<u64>,
    /// The longest write.
    pub write_max_ns: Option<u64>,
    /// Each round.
    pub samples: Vec<ReadSample>,
}

/// One round of one subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadSample {
    /// Number of the round, from 0; the same in all rows.
    pub round: u32,
    /// Wall time.
    pub elapsed_s: f64,
    /// Reads of each reader.
    pub thread_reads: Vec<u64>,
}

/// The allocator run in one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultCell {
    /// Number of clients.
    pub clients: usize,
    /// Time between two changes of all masks; `null`: no writer.
    pub write_every_ns: Option<u64>,
    /// One row per protection.
    pub rows: Vec<FaultRow>,
}

/// One protection in one setting. Figures are medians over the rounds unless said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultRow {
    /// The protection.
    pub protection: String,
    /// Number of rounds.
    pub rounds: usize,
    /// Faults of all clients.
    pub faults_per_s: Option<f64>,
    /// Coefficient of variation over the rounds.
    pub cv_percent: Option<f64>,
    /// CPU time per fault.
    pub cpu_ns_per_fault: Option<f64>,
    /// The protection around a scan that ends at once, by one thread without a writer, its loop
    /// included.
    pub section_ns: Option<f64>,
    /// `section_ns` less that without protection.
    pub protection_ns: Option<f64>,
    /// `protection_ns` over `cpu_ns_per_fault`.
    pub protection_share_percent: Option<f64>,
    /// Scans beyond the first per fault, over all rounds.
    pub rescans_per_fault: Option<f64>,
    /// Faults that were told "no node" though there was one, in all rounds.
    pub false_failures: u64,
    /// Masks replaced, in all rounds.
    pub changes: u64,
    /// Each round.
    pub samples: Vec<FaultSample>,
}

/// One round of one protection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultSample {
    /// Number of the round, from 0; the same in all rows.
    pub round: u32,
    /// Wall time.
    pub elapsed_s: f64,
    /// CPU time of the clients.
    pub client_cpu_s: f64,
    /// Faults of each client.
    pub client_faults: Vec<u64>,
}
