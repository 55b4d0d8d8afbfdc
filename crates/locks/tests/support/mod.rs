//! How the models are explored.

use loom::model::Builder;

/// Explores `f` with at most `preemptions` preemptions (`None`: all schedules).
pub fn model(preemptions: Option<usize>, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 20_000;
    builder.check(f);
}
