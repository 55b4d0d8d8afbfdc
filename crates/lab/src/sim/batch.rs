//! Many simulated runs at once, on all CPUs of the host, and their means.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use lockwright_sim::Failure;
use rayon::prelude::*;
use serde::Serialize;

use super::job::Job;
use super::sample::SimSample;
use super::subjects::SimSubject;
use crate::analysis::stats;

/// One lock in one cell, to be run under several seeds.
#[derive(Clone)]
pub struct Task {
    /// The lock.
    pub subject: &'static SimSubject,
    /// The run, but for its seed.
    pub job: Job,
}

/// What became of a task.
#[derive(Clone, Debug, Serialize)]
pub struct Done {
    /// The lock's name.
    pub lock: &'static str,
    /// Threads.
    pub threads: usize,
    /// Mean over the seeds, thousand acquisitions a second.
    pub kops: f64,
    /// Coefficient of variation over the seeds; none of one seed.
    pub cv: Option<f64>,
    /// One for each seed that has run.
    pub samples: Vec<SimSample>,
}

impl Done {
    /// The mean of a figure over the seeds.
    pub fn mean(&self, figure: impl Fn(&SimSample) -> f64) -> f64 {
        self.samples.iter().map(figure).sum::<f64>() / self.samples.len().max(1) as f64
    }
}

/// What a batch of runs has yielded.
#[derive(Debug, Default)]
pub struct Yield {
    /// What became of each task; none if none of its runs has ended.
    pub done: Vec<Option<Done>>,
    /// It was interrupted: there are runs missing.
    pub interrupted: bool,
    /// Runs that got stuck, or whose locks failed: which, and how.
    pub failed: Vec<String>,
}

/// Why there is no result of one run.
#[derive(Debug)]
pub(super) enum Missing {
    Interrupted,
    Failed(String),
    /// The system refused something: no other run will do better.
    Refused(String),
}

/// One run of a task.
pub(super) fn run_one(task: &Task, seed: u64, stop: fn() -> bool) -> Result<SimSample, Missing> {
    if stop() {
        return Err(Missing::Interrupted);
    }
    let job = Job { seed, stop, ..task.job.clone() };
    (task.subject.run)(&job).map_err(|failure| {
        if stop() {
            return Missing::Interrupted;
        }
        let (lock, threads) = (task.subject.name, job.threads);
        let what = |why| format!("{lock}, {threads} threads, seed {seed}: {why}");
        match failure {
            Failure::Stuck(why) => Missing::Failed(what(why)),
            Failure::System(why) => Missing::Refused(what(why)),
        }
    })
}

/// Runs every task under the seeds from 1 on. `step` is called after each run, from any thread; when
/// `stop` says so all runs end.
///
/// # Errors
///
/// The system refused something.
pub fn carry_out(
    tasks: &[Task],
    seeds: u64,
    stop: fn() -> bool,
    step: &(dyn Fn() + Sync),
) -> Result<Yield, String> {
    let runs: Vec<(usize, u64)> =
        (0..tasks.len()).flat_map(|task| (1..=seeds).map(move |seed| (task, seed))).collect();
    let refused = AtomicBool::new(false);
    let one = |&(task, seed): &(usize, u64)| {
        // Ordering: Relaxed: a hint to begin nothing more.
        if refused.load(Relaxed) {
            return Err(Missing::Interrupted);
        }
        let result = run_one(&tasks[task], seed, stop);
        if let Err(Missing::Refused(_)) = result {
            // Ordering: Relaxed: a hint to begin nothing more.
            refused.store(true, Relaxed);
        }
        step();
        result
    };
    let all: Vec<_> = runs.par_iter().with_max_len(1).map(one).collect();
    let mut samples: Vec<Vec<SimSample>> = tasks.iter().map(|_| Vec::new()).collect();
    let mut yielded = Yield::default();
    for ((task, _), result) in runs.into_iter().zip(all) {
        match result {
            Ok(sample) => samples[task].push(sample),
            Err(Missing::Interrupted) => yielded.interrupted = true,
            Err(Missing::Failed(why)) => yielded.failed.push(why),
            Err(Missing::Refused(why)) => return Err(why),
        }
    }
    yielded.done = tasks.iter().zip(samples).map(|(task, samples)| done(task, samples)).collect();
    Ok(yielded)
}

/// What the runs of a task yielded.
pub(super) fn done(task: &Task, samples: Vec<SimSample>) -> Option<Done> {
    let rates: Vec<f64> = samples.iter().map(|sample| sample.kops).collect();
    Some(Done {
        lock: task.subject.name,
        threads: task.job.threads,
        kops: stats::mean(&rates)?,
        cv: stats::cv_percent(&rates).map(|cv| cv / 100.0),
        samples,
    })
}
