//! The one record: what any experiment leaves behind, as files hold it.
//!
//! A record is a header (who, where, when), the arms that were compared, the cells in which they
//! were, and a [`Sample`] for each run: raw, so that whoever doubts a figure can have it again.
//! Figures follow from samples by [`metric`] and [`crate::analysis`]; nothing else is kept.
//!
//! Every key names its unit. A change of the meaning or the name of a key raises
//! [`SCHEMA_VERSION`]. A figure that could not be had is absent, never 0.

pub mod metric;
mod read;
mod sample;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::environment::machine::Machine;

pub use read::{Unreadable, parse, read};
pub use sample::{Counts, Fault, Histogram, RUNNABLE_CPU, Sample, Usage};

/// Version of the record.
pub const SCHEMA_VERSION: u32 = 2;

/// What an experiment found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Who, where, when.
    #[serde(flatten)]
    pub header: Header,
    /// What was to be done.
    pub plan: Plan,
    /// What was compared.
    pub arms: Vec<Arm>,
    /// In which settings.
    pub cells: Vec<Cell>,
    /// One for each run, in the order of time.
    pub samples: Vec<Sample>,
}

/// What all records begin with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The experiment: `bench-mutex`, `compare`.
    pub record: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// The program's arguments, the program first.
    pub command_line: Vec<String>,
    /// When the run began, in seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// Where it ran.
    pub machine: Machine,
    /// False if the run ended early: later runs are missing.
    pub complete: bool,
    /// What may have disturbed the run, in sentences.
    pub warnings: Vec<String>,
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

/// What was to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Measured rounds.
    pub rounds: u32,
    /// Rounds before them whose figures do not count.
    pub warmup_rounds: u32,
    /// Seed of the order, and of the bootstrap.
    pub seed: u64,
    /// The arm that ratios refer to; absent: the best blocking peer of each cell.
    pub baseline: Option<String>,
}

/// What is compared: a lock, a command, a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// What it is in the comparison.
    pub role: Role,
    /// One line on what it is.
    pub about: String,
}

/// What an arm is in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A lock of this project.
    Own,
    /// Somebody else's lock that puts waiters to sleep: what the project's locks must beat.
    BlockingPeer,
    /// Somebody else's protection that is no lock, or not for its readers.
    Peer,
    /// A lock kept to study one of its properties.
    StudyObject,
    /// A command.
    Command,
    /// Broken on purpose, to see that it is noticed. Never listed.
    Broken,
}

impl Role {
    /// The role as it is written in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Role::Own => "own",
            Role::BlockingPeer => "blocking-peer",
            Role::Peer => "peer",
            Role::StudyObject => "study-object",
            Role::Command => "command",
            Role::Broken => "broken",
        }
    }
}

/// A setting in which arms are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// What is measured in it; decides the table.
    pub kind: Kind,
    /// The setting in words.
    pub title: String,
    /// The setting as numbers and words: what two records are joined by.
    pub params: Params,
    /// Wall time of each run.
    pub window_s: f64,
}

impl Cell {
    /// Whether the other is the same setting: what two records are joined by.
    pub fn is_like(&self, other: &Cell) -> bool {
        self.kind == other.kind && self.params == other.params
    }
}

/// A setting by name.
pub type Params = BTreeMap<String, Param>;

/// What is measured in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// What a lock costs when nobody else wants it.
    Uncontended,
    /// Sections in a second.
    Throughput,
    /// Waits before sections.
    Waits,
    /// Read and write sections in a second.
    ReadWrite,
    /// Reads of what is seldom written.
    Reads,
    /// Page faults beside changes of a node mask.
    Faults,
    /// A thread that comes now and then among threads that take the lock again and again.
    Guest,
    /// A turn passed to and fro through a condition variable.
    Turns,
    /// A bounded queue.
    Queue,
    /// All want the lock at once.
    Burst,
    /// A command's run from start to end.
    Command,
    /// Operations on a map of shards, or sections, each of them timed.
    Operations,
}

impl Kind {
    /// The kind as it is written in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Uncontended => "uncontended",
            Kind::Throughput => "throughput",
            Kind::Waits => "waits",
            Kind::ReadWrite => "read-write",
            Kind::Reads => "reads",
            Kind::Faults => "faults",
            Kind::Guest => "guest",
            Kind::Turns => "turns",
            Kind::Queue => "queue",
            Kind::Burst => "burst",
            Kind::Command => "command",
            Kind::Operations => "operations",
        }
    }
}

/// One number or word of a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Param {
    /// A whole number.
    Whole(u64),
    /// A number with fractions.
    Number(f64),
    /// A word.
    Word(String),
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Param::Whole(number) => number.fmt(f),
            Param::Number(number) => number.fmt(f),
            Param::Word(word) => word.fmt(f),
        }
    }
}

impl From<u64> for Param {
    fn from(number: u64) -> Self {
        Param::Whole(number)
    }
}

impl From<u32> for Param {
    fn from(number: u32) -> Self {
        Param::Whole(number.into())
    }
}

impl From<usize> for Param {
    fn from(number: usize) -> Self {
        Param::Whole(number as u64)
    }
}

impl From<f64> for Param {
    /// A whole number is one, however it was reckoned: files must join.
    fn from(number: f64) -> Self {
        if number >= 0.0 && number.fract() == 0.0 && number < 2_f64.powi(53) {
            Param::Whole(number as u64)
        } else {
            Param::Number(number)
        }
    }
}

impl From<&str> for Param {
    fn from(word: &str) -> Self {
        Param::Word(word.to_owned())
    }
}

/// A setting from its parts.
pub fn params<const N: usize>(parts: [(&str, Param); N]) -> Params {
    parts.into_iter().map(|(name, param)| (name.to_owned(), param)).collect()
}

/// A wrong answer, and where it was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found<'a> {
    /// Who gave it.
    pub arm: &'a Arm,
    /// Where.
    pub cell: &'a Cell,
    /// What it was.
    pub what: &'a str,
    /// How often, in all runs.
    pub count: u64,
}

impl Record {
    /// The runs of an arm in a cell that count.
    pub fn measured(&self, arm: usize, cell: usize) -> Vec<&Sample> {
        let own = |sample: &&Sample| sample.arm == arm && sample.cell == cell;
        self.samples.iter().filter(own).filter(|sample| sample.is_measured()).collect()
    }

    /// Every wrong answer, in the order of cells and arms.
    pub fn faults(&self) -> Vec<Found<'_>> {
        let mut sums: BTreeMap<(usize, usize, &str), u64> = BTreeMap::new();
        for sample in &self.samples {
            for fault in &sample.faults {
                *sums.entry((sample.cell, sample.arm, &fault.what)).or_default() += fault.count;
            }
        }
        let found = |((cell, arm, what), count)| Found {
            arm: &self.arms[arm],
            cell: &self.cells[cell],
            what,
            count,
        };
        sums.into_iter().map(found).collect()
    }
}
