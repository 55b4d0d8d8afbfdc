//! What a person who waits gets to see, on stderr.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};
use lockwright_lab::plan::{Measure, Plan, Step};

/// A bar on a terminal, one line at the start elsewhere, nothing if quiet.
///
/// The bar is drawn between rounds only: a thread that draws would take CPU time from the locks.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Says what is going to happen.
    pub fn begin(plan: &Plan, quiet: bool) -> Self {
        if quiet {
            return Progress { bar: ProgressBar::hidden() };
        }
        if !stderr().is_terminal() {
            eprintln!("lockwright: {}", announcement(plan));
            return Progress { bar: ProgressBar::hidden() };
        }
        let bar = ProgressBar::new(plan.step_count());
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {eta:>4} left  {msg}");
        bar.set_style(style.expect("the template is constant"));
        Progress { bar }
    }

    /// Shows the step that is about to run.
    pub fn step(&self, plan: &Plan, done: u64, step: &Step) {
        if self.bar.is_hidden() {
            return;
        }
        let lock = plan.locks[step.lock].name;
        let what = match step.measure {
            Measure::Uncontended => format!("{lock}, uncontended"),
            Measure::Throughput(cell) => setting(plan, lock, cell),
            Measure::Latency(cell) => format!("{}, waits", setting(plan, lock, cell)),
        };
        self.bar.set_position(done);
        self.bar.set_message(what);
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn setting(plan: &Plan, lock: &str, cell: usize) -> String {
    let cell = &plan.cells[cell];
    format!("{lock}, {} threads, load {}", cell.threads, cell.load)
}

fn announcement(plan: &Plan) -> String {
    format!(
        "measuring {} locks in {} cells, {} rounds of {} ms: about {:.0} s",
        plan.locks.len(),
        plan.cells.len(),
        plan.rounds,
        plan.round_time.as_millis(),
        plan.expected_s().ceil()
    )
}
