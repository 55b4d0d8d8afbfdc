//! Commands: one cell, in which each runs from start to end.

use std::time::Duration;

use super::{Load, cell};
use crate::experiment::Cell;
use crate::experiment::view::View;
use crate::record::{Kind, Params, metric};

/// A command's run.
pub static COMMAND: View = View {
    headline: &metric::WALL,
    columns: &[
        &metric::USER,
        &metric::SYSTEM,
        &metric::CPU_PERCENT,
        &metric::VOLUNTARY_ALL,
        &metric::INVOLUNTARY_ALL,
        &metric::RUNNABLE,
        &metric::IDLE_CPUS,
    ],
    more: &[&metric::MINOR_FAULTS, &metric::MAJOR_FAULTS, &metric::PEAK],
    notes: &[
        "voluntary, involuntary: times a thread gave up, or lost, the CPU. runnable: threads that \
         run or wait for a CPU, idle CPUs: CPUs without work; on average over time, sampled from /proc.",
    ],
};

/// The cell in which commands run.
pub fn command() -> Cell {
    cell(Kind::Command, "commands".to_owned(), Params::new(), Duration::ZERO, Load::Command)
}
