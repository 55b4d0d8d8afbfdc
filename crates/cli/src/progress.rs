//! What a person who waits gets to see, on stderr.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on a terminal, one line at the start elsewhere, nothing if quiet.
///
/// The bar is drawn between rounds only: a thread that draws would take CPU time from the locks.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Says what is going to happen: `what` is one line, `steps` how long the bar is.
    pub fn begin(what: &str, steps: u64, quiet: bool) -> Self {
        if quiet {
            return Progress { bar: ProgressBar::hidden() };
        }
        if !stderr().is_terminal() {
            say!("lockwright: {what}");
            return Progress { bar: ProgressBar::hidden() };
        }
        let bar = ProgressBar::new(steps);
        let style =
            ProgressStyle::with_template("{bar:20} {percent:>3} %  {eta:>4} left  {wide_msg}");
        bar.set_style(style.expect("the template is constant"));
        bar.set_message(what.to_owned());
        bar.tick();
        Progress { bar }
    }

    /// Shows the step that is about to run.
    pub fn step(&self, done: u64, what: impl FnOnce() -> String) {
        if !self.bar.is_hidden() {
            self.bar.set_position(done);
            self.bar.set_message(what());
        }
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
