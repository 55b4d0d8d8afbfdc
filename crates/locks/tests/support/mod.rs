//! How the models are explored.

use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

/// Explores `f` with at most `preemptions` preemptions (`None`: all schedules).
pub fn model(preemptions: Option<usize>, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 20_000;
    builder.check(f);
}

/// Preemptions of a model that takes minutes: so many (`None`: any) in the nightly job, fewer for every change.
#[allow(dead_code, reason = "each file of models is a crate of its own, and some are quick")]
pub fn at_night(night: impl Into<Option<usize>>, day: usize) -> Option<usize> {
    if std::env::var_os("NIGHTLY").is_some() { night.into() } else { Some(day) }
}

/// Runs the first body here and each other in a thread of its own; what they return.
#[allow(dead_code, reason = "each file of models is a crate of its own, and some need no bodies")]
pub fn together<S: 'static, R: 'static>(shared: &Arc<S>, bodies: &[fn(&S) -> R]) -> Vec<R> {
    let others: Vec<_> = bodies[1..]
        .iter()
        .map(|&body| {
            let shared = shared.clone();
            thread::spawn(move || body(&shared))
        })
        .collect();
    let first = bodies[0](shared);
    std::iter::once(first).chain(others.into_iter().map(|other| other.join().unwrap())).collect()
}
