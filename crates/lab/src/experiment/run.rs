//! Carrying an experiment out, one run at a time.

use lockwright_workloads::harness::Interrupt;

use super::plan::Step;
use super::{Experiment, RunError, Turn};
use crate::record::Sample;

/// What happens while an experiment runs.
pub enum Event<'a> {
    /// A step is about to run; so many were before it.
    Begins(u64, Step),
    /// A step was run; all samples so far.
    Ended(&'a [Sample]),
}

/// What came of an experiment.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One for each run, in the order of time; what was measured before an error or interruption
    /// is kept.
    pub samples: Vec<Sample>,
    /// Every step was carried out.
    pub complete: bool,
    /// What ended it early, if not an interruption.
    pub error: Option<RunError>,
}

impl Outcome {
    /// Nothing was measured that says anything.
    pub fn is_empty(&self) -> bool {
        !self.samples.iter().any(|sample| sample.is_measured() || !sample.faults.is_empty())
    }
}

/// Runs `experiment` until it is done, fails, or `stop` is raised.
pub fn run(experiment: &Experiment, stop: &Interrupt, watch: &mut dyn FnMut(Event)) -> Outcome {
    let mut outcome = Outcome::default();
    for (done, step) in experiment.steps().enumerate() {
        if stop.is_raised() {
            return outcome;
        }
        watch(Event::Begins(done as u64, step));
        let cell = &experiment.cells[step.cell];
        let turn = Turn {
            window: std::time::Duration::from_secs_f64(cell.record.window_s),
            // Every arm of a round has the same luck.
            seed: experiment.seed.wrapping_add(u64::from(step.round.unwrap_or(u32::MAX))),
        };
        match experiment.arms[step.arm].run.run(&cell.load, turn, stop) {
            Ok(sample) => {
                let Step { arm, cell, round } = step;
                outcome.samples.push(Sample { arm, cell, round, ..sample });
            }
            Err(error) => {
                outcome.error = Some(error);
                return outcome;
            }
        }
        watch(Event::Ended(&outcome.samples));
    }
    outcome.complete = !stop.is_raised();
    outcome
}
