//! Many simulated runs at once, on all CPUs of the host, and their means.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use lockwright_sim::Failure;
use rayon::prelude::*;
use serde::Serialize;

use super::job::{Job, SimSample};
use super::subjects::SimSubject;
use crate::stats;

/// One lock in one cell, to be run under several seeds.
#[derive(Clone)]
pub struct Task {
    /// The lock.
    pub subject: &'static SimSubject,
    /// The run, but for its seed.
    pub job: Job,
    /// It takes so many times as many seeds as others, for what it does is a matter of chance.
    pub seeds_times: u64,
}

impl Task {
    /// How many runs it takes.
    pub fn runs(&self, seeds: u64) -> u64 {
        seeds * self.seeds_times
    }
}

/// What became of a task.
#[derive(Clone, Debug, Serialize)]
pub struct Result {
    /// The lock's name.
    pub lock: &'static str,
    /// Threads.
    pub threads: usize,
    /// Mean over the seeds, thousand acquisitions a second.
    pub kops: f64,
    /// Coefficient of variation over the seeds; none of one seed.
    pub cv: Option<f64>,
    /// One for each seed.
    pub samples: Vec<SimSample>,
}

impl Result {
    /// The mean of a figure over the seeds.
    pub fn mean(&self, figure: impl Fn(&SimSample) -> f64) -> f64 {
        self.samples.iter().map(figure).sum::<f64>() / self.samples.len().max(1) as f64
    }

    /// What one seed yielded.
    pub fn only(&self, seed: usize) -> Result {
        let sample = self.samples[seed].clone();
        Result { kops: sample.kops, cv: None, samples: vec![sample], ..*self }
    }
}

/// Why a batch has no results.
#[derive(Debug)]
pub enum Ended {
    /// It was interrupted.
    Interrupted,
    /// A run got stuck, or a lock failed: which, and how.
    Failed(String),
    /// The system refused something.
    Refused(String),
}

/// Runs every task under the seeds from 1 on, as many as it [takes](Task::runs). `step` is called
/// after each run, from any thread; when `stop` says so all runs end.
///
/// # Errors
///
/// See [`Ended`].
pub fn carry_out(
    tasks: &[Task],
    seeds: u64,
    stop: fn() -> bool,
    step: &(dyn Fn() + Sync),
) -> std::result::Result<Vec<Result>, Ended> {
    let runs_of = |(i, task): (usize, &Task)| (1..=task.runs(seeds)).map(move |seed| (i, seed));
    let runs: Vec<(usize, u64)> = tasks.iter().enumerate().flat_map(runs_of).collect();
    let failed = AtomicBool::new(false);
    let one = |&(task, seed): &(usize, u64)| {
        // Ordering: Relaxed: a hint to begin nothing more.
        if stop() || failed.load(Relaxed) {
            return Err(Ended::Interrupted);
        }
        let task = &tasks[task];
        let job = Job { seed, stop, ..task.job.clone() };
        let result = (task.subject.run)(&job).map_err(|failure| {
            if stop() {
                return Ended::Interrupted;
            }
            failed.store(true, Relaxed);
            let (lock, threads) = (task.subject.name, job.threads);
            let what = |why| format!("{lock}, {threads} threads, seed {seed}: {why}");
            match failure {
                Failure::Stuck(why) => Ended::Failed(what(why)),
                Failure::System(why) => Ended::Refused(what(why)),
            }
        });
        step();
        result
    };
    let all: Vec<_> = runs.par_iter().with_max_len(1).map(one).collect();
    let mut samples: Vec<Vec<SimSample>> = tasks.iter().map(|_| Vec::new()).collect();
    let mut interrupted = false;
    for ((task, _), result) in runs.into_iter().zip(all) {
        match result {
            Ok(sample) => samples[task].push(sample),
            Err(Ended::Interrupted) => interrupted = true,
            Err(failure) => return Err(failure),
        }
    }
    if interrupted {
        return Err(Ended::Interrupted);
    }
    Ok(tasks.iter().zip(samples).map(|(task, samples)| result(task, samples)).collect())
}

fn result(task: &Task, samples: Vec<SimSample>) -> Result {
    let rates: Vec<f64> = samples.iter().map(|sample| sample.kops).collect();
    Result {
        lock: task.subject.name,
        threads: task.job.threads,
        kops: stats::mean(&rates).unwrap_or(0.0),
        cv: stats::cv_percent(&rates).map(|cv| cv / 100.0),
        samples,
    }
}
