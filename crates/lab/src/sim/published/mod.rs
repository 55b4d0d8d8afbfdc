//! Published results beside simulated ones: value, ratio, error, rank, and a verdict per claim.

mod aim7;
mod by_domain;
pub mod choices;
pub mod claims;
mod settle;
mod sheet;
mod tables;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use lockwright_sim::Machine;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::claims::Verdict;
pub use self::settle::Effort;
use self::settle::Settled;
use self::sheet::{Point, Rows, Sheet};
use self::tables::{LEFT_OUT, Source, TABLES};
use super::batch::{Missing, Task};
use crate::analysis::stats;

/// One figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// The row's label.
    pub row: String,
    /// The column's name in the table.
    pub column: Cow<'static, str>,
    /// What its figures are.
    #[serde(default)]
    pub unit: Cow<'static, str>,
    /// The lock that stands for it.
    pub lock: Cow<'static, str>,
    /// What was published.
    pub published: f64,
    /// What the simulator says.
    pub simulated: f64,
    /// Half of the 95 % interval of that, as a share of it; none where the runs do not tell.
    pub half: Option<f64>,
    /// Simulated seconds that count, all runs together.
    pub seconds: f64,
    /// Its first two runs did not come to the same.
    pub two_states: bool,
    /// Why it stands out of every error.
    pub aside: Option<Cow<'static, str>>,
}

/// A table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Where it was published.
    pub source: Vec<String>,
    /// How it was simulated.
    pub about: Cow<'static, str>,
    /// Its figures.
    pub cells: Vec<Cell>,
    /// e to the mean of |ln(simulated / published)|, less 1: the mean error as a share. As the next two, of
    /// the cells that do not stand aside; none where there is no such cell.
    pub mean_error: Option<f64>,
    /// The same with the median.
    pub median_error: Option<f64>,
    /// Spearman's rank correlation between published and simulated; none where all figures are the same.
    pub rank_correlation: Option<f64>,
    /// What is claimed.
    pub verdicts: Vec<Verdict>,
}

/// Names of the tables that can be simulated.
pub fn names() -> Vec<&'static str> {
    TABLES.iter().map(|table| table.name).collect()
}

/// Names of the tables that cannot, and why.
pub fn left_out() -> &'static [(&'static str, &'static str)] {
    LEFT_OUT
}

/// Tables to be simulated.
pub struct Batch {
    sheets: Vec<(&'static Source, Rows, Sheet)>,
    effort: Effort,
}

/// What became of them.
#[derive(Debug, Default)]
pub struct Yield {
    /// Those all of whose runs have ended.
    pub tables: Vec<Table>,
    /// It was interrupted: there are tables missing.
    pub interrupted: bool,
    /// Runs that got stuck, or whose locks failed: which, and how.
    pub failed: Vec<String>,
}

/// The tables of these names.
pub fn batch(names: &[&str], effort: Effort) -> Batch {
    let sheet = |source: &'static Source| {
        let rows = Rows::read(source.csv);
        let sheet = (source.sheet)(&rows, effort);
        (source, rows, sheet)
    };
    let chosen = TABLES.iter().filter(|table| names.contains(&table.name));
    Batch { sheets: chosen.map(sheet).collect(), effort }
}

impl Batch {
    fn cells(&self) -> impl Iterator<Item = &settle::Cell> {
        self.sheets.iter().flat_map(|(_, _, sheet)| &sheet.runs)
    }

    /// What is run, to change it.
    pub fn tasks_mut(&mut self) -> impl Iterator<Item = &mut Task> {
        let cells = self.sheets.iter_mut().flat_map(|(_, _, sheet)| &mut sheet.runs);
        cells.map(|cell| &mut cell.task)
    }

    /// The same, to look at it, with the table's name.
    pub fn tasks(&self) -> impl Iterator<Item = (&'static str, &Task)> {
        let tables = self.sheets.iter();
        tables
            .flat_map(|(source, _, sheet)| sheet.runs.iter().map(|cell| (source.name, &cell.task)))
    }

    /// The machines, to change them.
    pub fn machines(&mut self) -> impl Iterator<Item = &mut Machine> {
        self.tasks_mut().map(|task| &mut task.job.machine)
    }

    /// How many runs they take at least.
    pub fn runs(&self) -> u64 {
        self.cells().count() as u64 * if self.effort == Effort::Quick { 1 } else { 2 }
    }

    /// Simulates them.
    ///
    /// # Errors
    ///
    /// The system refused something.
    pub fn simulate(&self, stop: fn() -> bool, step: &(dyn Fn() + Sync)) -> Result<Yield, String> {
        let refused = AtomicBool::new(false);
        let one = |cell: &settle::Cell| {
            // Ordering: Relaxed: a hint to begin nothing more.
            if refused.load(Relaxed) {
                return Err(Missing::Interrupted);
            }
            let result = cell.settle(self.effort, stop, step);
            if let Err(Missing::Refused(_)) = result {
                // Ordering: Relaxed: a hint to begin nothing more.
                refused.store(true, Relaxed);
            }
            result
        };
        let cells: Vec<_> = self.cells().collect();
        let results: Vec<_> = cells.par_iter().with_max_len(1).map(|cell| one(cell)).collect();
        let mut yielded = Yield::default();
        let mut results = results.into_iter();
        for (source, rows, sheet) in &self.sheets {
            let mut own = Vec::new();
            for result in results.by_ref().take(sheet.runs.len()) {
                match result {
                    Ok(settled) => own.push(settled),
                    Err(Missing::Interrupted) => yielded.interrupted = true,
                    Err(Missing::Failed(why)) => yielded.failed.push(why),
                    Err(Missing::Refused(why)) => return Err(why),
                }
            }
            if own.len() == sheet.runs.len() {
                yielded.tables.push(table(source, rows, sheet, &own));
            }
        }
        Ok(yielded)
    }
}

fn table(source: &Source, rows: &Rows, sheet: &Sheet, results: &[Settled]) -> Table {
    let cell = |point: &Point| {
        let (run, first) = (&results[point.run], &results[point.first]);
        let task = &sheet.runs[point.run].task;
        let known = point.metric.of(task.job.threads, run, first);
        Cell {
            row: point.row.clone(),
            column: point.column.into(),
            unit: point.metric.unit(),
            lock: task.subject.name.into(),
            published: point.published,
            simulated: known.value,
            half: known.half,
            seconds: run.samples.iter().map(|sample| sample.seconds).sum(),
            two_states: run.two_states || first.two_states,
            aside: point.aside.map(Into::into),
        }
    };
    let cells: Vec<Cell> = sheet.points.iter().map(cell).collect();
    let counted: Vec<&Cell> = cells.iter().filter(|cell| cell.aside.is_none()).collect();
    let errors: Vec<f64> = counted.iter().map(|cell| cell.error()).collect();
    let share = |error: f64| error.exp() - 1.0;
    Table {
        name: source.name.into(),
        source: rows.notes.clone(),
        about: source.about.into(),
        mean_error: stats::mean(&errors).map(share),
        median_error: stats::median(&errors).map(share),
        rank_correlation: spearman(&counted),
        verdicts: claims::verdicts(source.name, &cells),
        cells,
    }
}

impl Cell {
    /// |ln(simulated / published)|; a figure of 0 is as wrong as can be.
    fn error(&self) -> f64 {
        if self.simulated > 0.0 {
            (self.simulated / self.published).ln().abs()
        } else {
            f64::INFINITY
        }
    }
}

/// The median error over the cells of several tables, as a share, and how many those are.
pub fn median_error(tables: &[Table]) -> (f64, usize) {
    let cells = tables.iter().flat_map(|table| &table.cells);
    let errors: Vec<f64> = cells.filter(|cell| cell.aside.is_none()).map(Cell::error).collect();
    (stats::median(&errors).map_or(f64::NAN, |median| median.exp() - 1.0), errors.len())
}

/// Rank correlation; ties share their ranks.
fn spearman(cells: &[&Cell]) -> Option<f64> {
    let ranks = |figure: fn(&Cell) -> f64| -> Vec<f64> {
        let rank = |cell: &&Cell| {
            let below = cells.iter().filter(|other| figure(other) < figure(cell)).count();
            let equal = cells.iter().filter(|other| figure(other) == figure(cell)).count();
            below as f64 + (equal as f64 - 1.0) / 2.0
        };
        cells.iter().map(rank).collect()
    };
    let (a, b) = (ranks(|cell| cell.published), ranks(|cell| cell.simulated));
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
    let (ma, mb) = (mean(&a), mean(&b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(&b).map(|(&x, &y)| f(x - ma, y - mb)).sum()
    };
    let spread = (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    (spread > 0.0).then(|| sum(&|x, y| x * y) / spread)
}

#[cfg(test)]
mod tests;
