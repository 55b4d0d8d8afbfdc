//! What a published table takes: its rows, the runs that are to yield its figures, and how a figure is
//! read off them.

use super::batch::{Result, Task};
use super::job::SimSample;

/// How a column's figure follows from runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    /// Thousand acquisitions a second.
    Kops,
    /// Operations of the mean reader in so many seconds.
    ReaderMean(u32),
    /// Operations of the mean writer in so many seconds.
    WriterMean(u32),
    /// All operations of a minute of locktorture, its rare long holds added by calculation: they
    /// take 2.5 us of the lock for each operation, divided by the number of writers.
    Torture,
    /// Rate as a ratio to that of the row's first column.
    Ratio,
    /// Voluntary switches per operation as a ratio to those of the row's first column.
    Switches,
    /// Percentage of the processor time that went into slow acquisitions.
    Slow,
    /// Share of the CPUs that was busy, as a ratio to that of the row's first column.
    Busy,
}

impl Figure {
    pub fn of(self, result: &Result, first: &Result) -> f64 {
        let seconds = |s: u32, result: &Result, writer: bool| {
            let role = |sample: &SimSample| {
                let role = if writer { sample.writers } else { sample.readers };
                role.mean
            };
            // The counted time follows from rate and operations.
            let ops: f64 = result.mean(|s| {
                s.readers.mean * s.readers.threads as f64
                    + s.writers.mean * s.writers.threads as f64
            });
            let time = ops / (result.kops * 1e3);
            result.mean(role) / time * f64::from(s)
        };
        match self {
            Figure::Kops => result.kops,
            Figure::ReaderMean(s) => seconds(s, result, false),
            Figure::WriterMean(s) => seconds(s, result, true),
            Figure::Torture => {
                let long = 2.5e-6 / result.threads as f64;
                60.0 / (1.0 / (result.kops * 1e3) + long)
            }
            Figure::Ratio => result.kops / first.kops,
            Figure::Slow => 100.0 * result.mean(|s| s.slow.unwrap_or(f64::NAN)),
            Figure::Switches => result.mean(|s| s.switches.0) / first.mean(|s| s.switches.0),
            Figure::Busy => (1.0 - result.mean(|s| s.idle)) / (1.0 - first.mean(|s| s.idle)),
        }
    }
}

/// One published figure and the run that is to yield it.
pub(super) struct Plan {
    pub row: String,
    pub column: &'static str,
    pub published: f64,
    pub figure: Figure,
    /// Index of the run in its sheet.
    pub task: usize,
    /// Of the run that ratios refer to.
    pub first: usize,
}

/// The runs that a table takes, each once, and what is read off them.
#[derive(Default)]
pub(super) struct Sheet {
    pub tasks: Vec<Task>,
    pub plans: Vec<Plan>,
}

impl Sheet {
    pub fn run(&mut self, task: Task) -> usize {
        self.tasks.push(task);
        self.tasks.len() - 1
    }

    /// The sheet with each of its runs changed, if only in how long it takes.
    pub fn with(mut self, change: impl FnMut(&mut Task)) -> Self {
        self.tasks.iter_mut().for_each(change);
        self
    }
}

/// The rows of a table, by column name.
pub(super) struct Rows {
    header: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// The lines of comment at its head.
    pub notes: Vec<String>,
}

impl Rows {
    pub fn read(csv: &str) -> Self {
        let notes = csv.lines().filter_map(|line| line.strip_prefix('#')).map(str::trim);
        let notes = notes.map(str::to_owned).collect();
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(csv.as_bytes());
        let header = reader.headers().expect("a table has a header");
        let header = header.iter().map(str::to_owned).collect();
        let rows = reader.records().map(|row| row.expect("a table has whole rows"));
        let rows = rows.map(|row| row.iter().map(str::to_owned).collect()).collect();
        Rows { header, rows, notes }
    }

    pub fn text(&self, row: usize, column: &str) -> &str {
        let column = self.header.iter().position(|name| name == column);
        &self.rows[row][column.expect("a column of the table")]
    }

    pub fn number(&self, row: usize, column: &str) -> Option<f64> {
        self.text(row, column).parse().ok()
    }
}
