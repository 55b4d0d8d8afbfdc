//! An experiment: arms, the cells in which they are compared, and in which order they run.

#[cfg(test)]
pub(crate) mod example;
pub mod plan;
pub mod run;
pub mod view;

use std::io;
use std::time::Duration;

use lockwright_workloads::harness::Interrupt;

use crate::loads::Load;
use crate::record::{self, Record, Sample};

/// What is compared, and how to run it.
pub struct Arm {
    /// What the record says of it.
    pub record: record::Arm,
    /// Runs it.
    pub run: Box<dyn Run>,
}

/// Something that can be run in cells: a lock, a lock on a simulated machine, a command.
pub trait Run: Sync {
    /// Whether it can be run under this load.
    fn fits(&self, load: &Load) -> bool;

    /// One run: a sample whose place in the record is not filled in.
    ///
    /// # Errors
    ///
    /// See [`RunError`].
    fn run(&self, load: &Load, turn: Turn, stop: &Interrupt) -> Result<Sample, RunError>;
}

/// What of a run is not the load.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// How long it lasts, if it does not end by itself.
    pub window: Duration,
    /// Decides what is left to chance.
    pub seed: u64,
}

/// Why a run yielded nothing.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The system gave no more threads. Retryable with fewer.
    #[error("cannot start {threads} threads: {source}")]
    Threads {
        /// How many the run needed.
        threads: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A revision could not be built; others may be.
    #[error("{revision}: {why}")]
    Build {
        /// Which.
        revision: String,
        /// What happened.
        why: String,
    },
    /// A command could not be run, or failed.
    #[error("'{command}': {why}")]
    Command {
        /// What it is.
        command: String,
        /// What happened.
        why: String,
    },
}

/// A setting, and the load that makes it.
pub struct Cell {
    /// What the record says of it.
    pub record: record::Cell,
    /// What arms are put through.
    pub load: Load,
}

/// What is compared, where, and how often.
pub struct Experiment {
    /// Its name in files.
    pub name: &'static str,
    /// What is compared, in the order of the reports.
    pub arms: Vec<Arm>,
    /// In which settings, in the order of the reports.
    pub cells: Vec<Cell>,
    /// Measured rounds.
    pub rounds: u32,
    /// Rounds before them whose figures do not count.
    pub warmup: u32,
    /// Decides the order, and what is left to chance.
    pub seed: u64,
    /// The arm that ratios refer to; `None`: the best blocking peer of each cell.
    pub baseline: Option<usize>,
    /// In which order arms take turns.
    pub order: plan::Order,
}

impl Experiment {
    /// The record of what was measured.
    pub fn record(&self, header: record::Header, samples: Vec<Sample>) -> Record {
        Record {
            header,
            plan: record::Plan {
                rounds: self.rounds,
                warmup_rounds: self.warmup,
                seed: self.seed,
                baseline: self.baseline.map(|arm| self.arms[arm].record.name.clone()),
            },
            arms: self.arms.iter().map(|arm| arm.record.clone()).collect(),
            cells: self.cells.iter().map(|cell| cell.record.clone()).collect(),
            samples,
        }
    }
}
