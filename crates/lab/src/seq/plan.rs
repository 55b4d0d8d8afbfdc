//! What is measured in which order.

use std::time::Duration;

use lockwright_workloads::node_mask::FaultSpec;
use lockwright_workloads::seq_bench::{SeqSpec, WriteEvery};

use super::registry::{FaultSubject, SeqSubject};
use crate::plan::{Step, interleaved};

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeqCell {
    /// Readers, or clients of the allocator; at least 1.
    pub readers: usize,
    /// How often one more thread writes.
    pub write_every: WriteEvery,
}

/// Everything a run does.
pub struct SeqPlan {
    /// What is read, in the order of the reports.
    pub subjects: Vec<&'static SeqSubject>,
    /// The protections of the allocator run; empty: none is made.
    pub protections: Vec<&'static FaultSubject>,
    /// The settings of both, in the order of the reports.
    pub cells: Vec<SeqCell>,
    /// The one that ratios refer to, an index into `subjects`.
    pub baseline: Option<usize>,
    /// Measured rounds.
    pub rounds: u32,
    /// Rounds run before and thrown away.
    pub warmup: u32,
    /// Wall time of each measurement.
    pub round_time: Duration,
    /// Seed of the order.
    pub seed: u64,
}

/// What one step measures; the index is into the plan's `cells`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeqMeasure {
    /// Reads of a subject.
    Read(usize),
    /// Faults under a protection.
    Faults(usize),
}

impl SeqPlan {
    /// All steps in order: the reads interleaved, then the allocator runs interleaved.
    pub fn steps(&self) -> impl Iterator<Item = Step<SeqMeasure>> {
        let cells = || 0..self.cells.len();
        let part = |subjects, measures| {
            interleaved(self.seed, subjects, self.warmup, self.rounds, measures)
        };
        part(self.subjects.len(), cells().map(SeqMeasure::Read).collect())
            .chain(part(self.protections.len(), cells().map(SeqMeasure::Faults).collect()))
    }

    /// Number of [`SeqPlan::steps`].
    pub fn step_count(&self) -> u64 {
        let rounds = u64::from(self.rounds) + u64::from(self.warmup);
        rounds * (self.subjects.len() + self.protections.len()) as u64 * self.cells.len() as u64
    }

    /// About how long the whole run takes, in seconds.
    pub fn expected_s(&self) -> f64 {
        self.step_count() as f64 * self.round_time.as_secs_f64()
    }

    pub(super) fn read(&self, cell: usize) -> SeqSpec {
        let SeqCell { readers, write_every } = self.cells[cell];
        SeqSpec { readers, write_every, time: self.round_time }
    }

    pub(super) fn fault(&self, cell: usize) -> FaultSpec {
        let SeqCell { readers, write_every } = self.cells[cell];
        FaultSpec { clients: readers, write_every, time: self.round_time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seq::registry;

    #[test]
    fn every_round_runs_everything_once_and_reads_come_first() {
        let cell = |readers| SeqCell { readers, write_every: WriteEvery::Never };
        let plan = SeqPlan {
            subjects: registry::listed().collect(),
            protections: registry::protections().collect(),
            cells: vec![cell(1), cell(2)],
            baseline: None,
            rounds: 3,
            warmup: 1,
            round_time: Duration::from_millis(1),
            seed: 7,
        };
        let steps: Vec<_> = plan.steps().collect();
        assert_eq!(steps.len() as u64, plan.step_count());
        let reads = steps.iter().take_while(|step| matches!(step.measure, SeqMeasure::Read(_)));
        assert_eq!(reads.count(), plan.subjects.len() * 2 * 4);
        for measure in [SeqMeasure::Read(1), SeqMeasure::Faults(0)] {
            let last = steps.iter().filter(|s| s.measure == measure && s.round == Some(2));
            let mut seen: Vec<_> = last.map(|step| step.lock).collect();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..seen.len()) && !seen.is_empty(), "{seen:?}");
        }
    }
}
