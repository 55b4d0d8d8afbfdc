//! What a published table takes: its rows, the runs that are to yield its figures, and how a figure is
//! read off them.

use std::borrow::Cow;
use std::time::Duration;

use super::super::batch::Task;
use super::settle::{Cell, Known, Settled};

/// How a column's figure follows from runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Metric {
    /// Thousand acquisitions a second.
    Kops,
    /// The same as a multiple of so many.
    KopsOver(f64),
    /// Operations of the mean reader in so many seconds.
    ReaderMean(u32),
    /// Operations of the mean writer in so many seconds.
    WriterMean(u32),
    /// All operations of a minute of locktorture, its rare long holds added by calculation: they
    /// take 2.5 us of the lock for each operation, divided by the number of writers.
    Torture,
    /// Rate as a ratio to that of the row's first column.
    Ratio,
    /// The same of the mean writer.
    RatioOfWriters,
    /// Voluntary switches per operation as a ratio to those of the row's first column.
    Switches,
    /// Percentage of the processor time that went into slow acquisitions.
    Slow,
    /// Share of the CPUs that was busy, as a ratio to that of the row's first column.
    Busy,
}

impl Metric {
    /// What its figures are, for an axis.
    pub fn unit(self) -> Cow<'static, str> {
        match self {
            Metric::Kops => "kops/s".into(),
            Metric::KopsOver(base) => format!("rate, over {base:.0} kops/s").into(),
            Metric::ReaderMean(s) | Metric::WriterMean(s) => {
                format!("operations of a thread in {s} s").into()
            }
            Metric::Torture => "operations in 60 s".into(),
            Metric::Ratio => "rate, over the first".into(),
            Metric::RatioOfWriters => "rate of writers, over the first".into(),
            Metric::Switches => "switches an operation, over the first".into(),
            Metric::Slow => "% of the processor time".into(),
            Metric::Busy => "busy CPUs, over the first".into(),
        }
    }

    pub fn of(self, threads: usize, runs: &Settled, first: &Settled) -> Known {
        let times = |known: Known, factor: f64| Known { value: known.value * factor, ..known };
        match self {
            Metric::Kops => runs.figure(|batch| batch.kops),
            Metric::KopsOver(base) => times(runs.figure(|batch| batch.kops), 1.0 / base),
            Metric::ReaderMean(s) => times(runs.figure(|batch| batch.of_role[0]), f64::from(s)),
            Metric::WriterMean(s) => times(runs.figure(|batch| batch.of_role[1]), f64::from(s)),
            Metric::Torture => {
                let rate = runs.figure(|batch| batch.kops);
                let long = 2.5e-6 / threads as f64;
                Known { value: 60.0 / (1.0 / (rate.value * 1e3) + long), ..rate }
            }
            Metric::Ratio => runs.figure(|batch| batch.kops).over(first.figure(|batch| batch.kops)),
            Metric::RatioOfWriters => {
                runs.figure(|batch| batch.of_role[1]).over(first.figure(|batch| batch.of_role[1]))
            }
            Metric::Slow => runs.figure(|batch| batch.slow),
            Metric::Switches => {
                runs.figure(|batch| batch.switches).over(first.figure(|batch| batch.switches))
            }
            Metric::Busy => {
                runs.figure(|batch| 1.0 - batch.idle).over(first.figure(|batch| 1.0 - batch.idle))
            }
        }
    }
}

/// One published figure and the run that is to yield it.
pub(super) struct Point {
    pub row: String,
    pub column: &'static str,
    pub published: f64,
    pub metric: Metric,
    /// Index of the run in its sheet.
    pub run: usize,
    /// Of the run that ratios refer to.
    pub first: usize,
    /// Why it stands out of every error: something was fitted to it, or it shows another way.
    pub aside: Option<&'static str>,
}

/// Something was fitted to the cell.
pub(super) const FITTED: Option<&str> = Some("fitted");

/// The runs that a table takes, each once, and what is read off them.
#[derive(Default)]
pub(super) struct Sheet {
    pub runs: Vec<Cell>,
    pub points: Vec<Point>,
}

impl Sheet {
    pub fn run(&mut self, task: Task, took: Duration) -> usize {
        self.runs.push(Cell { task, took });
        self.runs.len() - 1
    }

    /// Marks the cells that something was fitted to.
    pub fn fitted_to(mut self, cells: impl Fn(&Point) -> bool) -> Self {
        self.points.iter_mut().filter(|point| cells(point)).for_each(|point| point.aside = FITTED);
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
