//! What is measured in which order.

use std::time::Duration;

use lockwright_workloads::rw_bench::{Mix, Percent, RwSpec};

use super::registry::RwSubject;
use crate::plan::{Step, interleaved};

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RwCell {
    /// Number of threads, at least 1.
    pub threads: usize,
    /// Percentage of reads, or of threads that read.
    pub readers: Percent,
    /// How they are mixed.
    pub mix: Mix,
    /// PAUSE units inside the section.
    pub load: u32,
    /// PAUSE units outside.
    pub outside: u32,
}

/// Everything a run does.
pub struct RwPlan {
    /// The locks, in the order of the reports.
    pub locks: Vec<&'static RwSubject>,
    /// The settings, in the order of the reports.
    pub cells: Vec<RwCell>,
    /// The lock that ratios refer to; without one the best blocking peer of each cell.
    pub baseline: Option<usize>,
    /// Measured rounds.
    pub rounds: u32,
    /// Rounds run before and thrown away.
    pub warmup: u32,
    /// Wall time of each measurement.
    pub round_time: Duration,
    /// Seed of the order.
    pub seed: u64,
    /// Whether pairs of one thread are measured.
    pub uncontended: bool,
}

/// What one step measures; the index is into the plan's `cells`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RwMeasure {
    /// Pairs by one thread.
    Uncontended,
    /// A round in a cell.
    Round(usize),
}

impl RwPlan {
    /// All steps in order.
    pub fn steps(&self) -> impl Iterator<Item = Step<RwMeasure>> {
        let solo = self.uncontended.then_some(RwMeasure::Uncontended);
        let cells = (0..self.cells.len()).map(RwMeasure::Round);
        let measures = solo.into_iter().chain(cells).collect();
        interleaved(self.seed, self.locks.len(), self.warmup, self.rounds, measures)
    }

    /// Number of [`RwPlan::steps`].
    pub fn step_count(&self) -> u64 {
        let rounds = u64::from(self.rounds) + u64::from(self.warmup);
        let measures = self.cells.len() + usize::from(self.uncontended);
        rounds * (self.locks.len() * measures) as u64
    }

    /// About how long the whole run takes, in seconds.
    pub fn expected_s(&self) -> f64 {
        self.step_count() as f64 * self.round_time.as_secs_f64()
    }

    pub(super) fn spec(&self, cell: usize) -> RwSpec {
        let RwCell { threads, readers, mix, load, outside } = self.cells[cell];
        RwSpec { threads, readers, mix, load, outside, time: self.round_time }
    }
}
