//! A run for as long as it takes to be sure of it.
//!
//! Each cell is run twice, from two seeds, each until the mean over its batches is known well enough. Where
//! the two come to the same, that is the answer. Where they do not, or one has not settled, the lock may
//! have two states, one in which threads spin and hand it on fast and one in which they sleep, and go from
//! the one into the other for good, sooner or later: then two runs count that are as long as what was
//! published, as far as that is known. What is lost less often than once in a run is not seen so: all cells
//! may be run for that long (`Effort::Long`).

use std::time::Duration;

use super::super::batch::{Missing, Task, run_one};
use super::super::estimate::{Estimate, estimate};
use super::super::job::Job;
use super::super::sample::{Figures, SimSample};
use super::super::window::Length;

/// For how long cells are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Once, and no longer than is needed to see anything.
    Quick,
    /// Until it is sure.
    Sure,
    /// As long as the published run, up to 5 s.
    Long,
}

/// What came out.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    /// The runs that count.
    pub samples: Vec<SimSample>,
    /// The first two did not come to the same.
    pub two_states: bool,
}

/// A run that is part of a published table.
#[derive(Clone)]
pub(super) struct Cell {
    pub task: Task,
    /// How long the published run took, as far as it is known, and is simulated at most.
    pub took: Duration,
}

/// How well a mean is to be known, as a share of itself.
const PRECISION: f64 = 0.03;

/// Rates of the same cell may differ by so much, as a share, and still be the same.
const SAME: f64 = 0.05;

/// The length of a run in batches of this length.
pub(super) fn length(batch: Duration, took: Duration, effort: Effort) -> Length {
    let whole = Length::in_batches(2 * batch, batch, took);
    match effort {
        Effort::Quick => Length::in_batches(batch, batch, batch * 4),
        Effort::Sure => whole.until_sure(PRECISION),
        Effort::Long => whole,
    }
}

impl Cell {
    /// With so much effort.
    pub fn settle(
        &self,
        effort: Effort,
        stop: fn() -> bool,
        step: &(dyn Fn() + Sync),
    ) -> Result<Settled, Missing> {
        let run = |task: &Task, seed| {
            let result = run_one(task, seed, stop);
            step();
            result
        };
        let runs = |task: &Task, seeds: &[u64]| -> Result<Vec<SimSample>, Missing> {
            seeds.iter().map(|&seed| run(task, seed)).collect()
        };
        if effort == Effort::Quick {
            return Ok(Settled { samples: runs(&self.task, &[1])?, two_states: false });
        }
        let samples = runs(&self.task, &[1, 2])?;
        let two_states = !same(&samples[0], &samples[1]);
        if !two_states || effort == Effort::Long {
            return Ok(Settled { samples, two_states });
        }
        let Length { warmup, batch, .. } = self.task.job.length;
        let length = Length::in_batches(warmup, batch, self.took);
        let long = Task { job: Job { length, ..self.task.job.clone() }, ..self.task.clone() };
        Ok(Settled { samples: runs(&long, &[3, 4])?, two_states })
    }
}

/// Whether two runs of a cell came to the same, in all and by role.
fn same(a: &SimSample, b: &SimSample) -> bool {
    let figures: [fn(&Figures) -> f64; 3] = [|f| f.kops, |f| f.of_role[0], |f| f.of_role[1]];
    figures.into_iter().all(|figure| {
        let [a, b] = [a, b].map(|sample| of(sample, figure));
        let apart = (a.mean - b.mean).abs();
        let half = a.half.unwrap_or(0.0) + b.half.unwrap_or(0.0);
        a.settled && b.settled && apart <= half.max(SAME * a.mean.max(b.mean))
    })
}

/// A figure over the batches of a run.
fn of(sample: &SimSample, figure: fn(&Figures) -> f64) -> Estimate {
    estimate(&sample.batches.iter().map(figure).collect::<Vec<_>>())
}

/// A figure, and half of its 95 % interval as a share of it; none: it is not known how surely it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known {
    pub value: f64,
    pub half: Option<f64>,
}

impl Settled {
    /// The mean of a figure over the runs.
    pub fn figure(&self, figure: fn(&Figures) -> f64) -> Known {
        let all: Vec<Estimate> = self.samples.iter().map(|sample| of(sample, figure)).collect();
        let n = all.len().max(1) as f64;
        let value = all.iter().map(|one| one.mean).sum::<f64>() / n;
        let within: Option<f64> =
            all.iter().map(|one| one.half.map(|half| half * half)).sum::<Option<f64>>();
        let within = within.map(|squares| squares.sqrt() / n);
        // Two runs of one cell that differ tell how well either is known, too.
        let between = all.iter().map(|one| (one.mean - value).abs()).fold(0.0, f64::max);
        let half = within.map(|half| half.max(between) / value).filter(|_| value > 0.0);
        Known { value, half }
    }
}

impl Known {
    /// The ratio of two that are independent.
    pub fn over(self, other: Known) -> Known {
        let half = self.half.zip(other.half).map(|(a, b)| a.hypot(b));
        Known { value: self.value / other.value, half }
    }
}
