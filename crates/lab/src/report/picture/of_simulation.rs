//! Pictures of what `lockwright sim` wrote: sweeps, and simulated results beside published ones.

use serde::Deserialize;

use super::dots::{Dot, Dots};
use super::lines::{Across, Lines, Point, Series};
use super::{Picture, trimmed};
use crate::report::number::significant;
use crate::sim::published::{Cell, Table};

/// What a file of `lockwright sim published` has, as far as it is shown.
#[derive(Debug, Deserialize)]
pub struct Published {
    /// The tables.
    pub tables: Vec<Table>,
}

/// What a file of `lockwright sim` has, as far as it is shown.
#[derive(Debug, Deserialize)]
pub struct Sweep {
    /// One for each variant of the machine.
    pub variants: Vec<Variant>,
}

/// The results on one machine.
#[derive(Debug, Deserialize)]
pub struct Variant {
    /// Which; empty: the machine as it is.
    pub variant: String,
    /// A result for each lock and number of threads.
    pub results: Vec<Simulated>,
}

/// A lock with so many threads.
#[derive(Debug, Deserialize)]
pub struct Simulated {
    lock: String,
    threads: f64,
    kops: f64,
    samples: Vec<Rate>,
}

#[derive(Debug, Deserialize)]
struct Rate {
    kops: f64,
}

impl Published {
    /// All tables in one picture, then each.
    pub fn pictures(&self) -> Vec<Picture> {
        let mut pictures = vec![self.agreement()];
        pictures
            .extend(self.tables.iter().filter(|table| !table.cells.is_empty()).map(Table::picture));
        pictures
    }

    /// Simulated over published, as ratios to each table's geometric mean: on the diagonal they agree.
    fn agreement(&self) -> Picture {
        let point = |table: &Table| {
            let positive = || table.cells.iter().filter(|c| c.published > 0.0 && c.simulated > 0.0);
            let logs: Vec<f64> = positive().map(|cell| cell.published.ln()).collect();
            let mean = (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp();
            positive()
                .map(|c| Point { x: c.published / mean, y: c.simulated / mean, range: None })
                .collect::<Vec<_>>()
        };
        let series = self.tables.iter().enumerate().map(|(number, table)| Series {
            number,
            name: &table.name,
            points: point(table),
            expected: false,
        });
        super::scatter::draw("simulated over published", series.collect())
    }
}

impl Table {
    /// Over the rows if they are numbers, else a row for each figure.
    fn picture(&self) -> Picture {
        let title = format!("{}: published and simulated", self.name);
        let say = |figure: f64| significant(Some(figure));
        let caption = format!(
            "Filled: simulated, with the 95 % interval where it is known; outlines: published. {}",
            self.about
        );
        let numbers: Option<Vec<f64>> = self.cells.iter().map(|cell| number(&cell.row)).collect();
        let columns = self.columns();
        match numbers {
            Some(xs) if distinct(&xs) > 2 => {
                let series = columns.iter().enumerate().flat_map(|(number, column)| {
                    let of = |figure: fn(&Cell) -> f64, range: bool| {
                        let own = self.cells.iter().zip(&xs).filter(|(c, _)| c.column == **column);
                        let mut points: Vec<Point> = own
                            .map(|(cell, &x)| Point {
                                x,
                                y: figure(cell),
                                range: cell.range().filter(|_| range),
                            })
                            .collect();
                        points.sort_by(|a, b| a.x.total_cmp(&b.x));
                        points
                    };
                    let series =
                        |points, expected| Series { number, name: column, points, expected };
                    [
                        series(of(|cell| cell.simulated, true), false),
                        series(of(|cell| cell.published, false), true),
                    ]
                });
                let (across, up) = ((Across::Counts, "row of the table"), "figure".to_owned());
                let series = series.collect();
                Lines { title: &title, caption, across, up, say: &say, mark: &trimmed, series }
                    .draw()
            }
            _ => {
                let names: Vec<String> =
                    self.cells.iter().map(|c| format!("{} {}", c.row, c.column)).collect();
                let number = |cell: &Cell| columns.iter().position(|c| **c == cell.column);
                let rows = self.cells.iter().zip(&names).map(|(cell, name)| Dot {
                    number: number(cell).unwrap_or(0),
                    name,
                    figure: cell.simulated,
                    range: cell.range(),
                    expected: Some(cell.published),
                });
                let (along, rows) = ("figure".to_owned(), rows.collect());
                Dots { title: &title, caption, along, say: &say, mark: &trimmed, rows }.draw()
            }
        }
    }

    fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !columns.contains(&&*cell.column) {
                columns.push(&cell.column);
            }
        }
        columns
    }
}

impl Cell {
    /// The 95 % interval.
    fn range(&self) -> Option<[f64; 2]> {
        let half = self.half?;
        Some([self.simulated * (1.0 - half).max(0.0), self.simulated * (1.0 + half)])
    }
}

fn distinct(numbers: &[f64]) -> usize {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    sorted.len()
}

/// The number that a row's name is, a unit or a word after it aside.
fn number(row: &str) -> Option<f64> {
    row.split_whitespace().next()?.parse().ok().filter(|number: &f64| number.is_finite())
}

impl Sweep {
    /// A picture for each variant.
    pub fn pictures(&self) -> Vec<Picture> {
        self.variants.iter().filter(|v| !v.results.is_empty()).map(Variant::picture).collect()
    }
}

impl Variant {
    fn picture(&self) -> Picture {
        let mut series: Vec<Series> = Vec::new();
        for result in &self.results {
            let rates = result.samples.iter().map(|sample| sample.kops);
            let (low, high) =
                (rates.clone().fold(f64::INFINITY, f64::min), rates.fold(0.0, f64::max));
            let range = (low < high).then_some([low, high]);
            let point = Point { x: result.threads, y: result.kops, range };
            match series.iter_mut().find(|series| series.name == result.lock) {
                Some(series) => series.points.push(point),
                None => {
                    let number = series.len();
                    series.push(Series {
                        number,
                        name: &result.lock,
                        points: vec![point],
                        expected: false,
                    });
                }
            }
        }
        let say = |figure: f64| significant(Some(figure));
        let title = format!(
            "kops/s, simulated{}{}",
            if self.variant.is_empty() { "" } else { ": " },
            self.variant
        );
        Lines {
            title: &title,
            caption: "Thousand acquisitions a second on a simulated machine. More is better. Bands: from the \
                      least to the largest seed."
                .to_owned(),
            across: (Across::Counts, "threads"),
            up: "kops/s (thousand a second)".to_owned(),
            say: &say,
            mark: &trimmed,
            series,
        }
        .draw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_numbers_are_drawn_over_them() {
        let cell = |row: &str, published: f64| Cell {
            row: row.to_owned(),
            column: "v5.3".into(),
            lock: "v5.3".into(),
            published,
            simulated: 1.1 * published,
            half: Some(0.1),
            seconds: 1.0,
            two_states: false,
            aside: None,
        };
        let table = |rows: [&str; 3]| Table {
            name: "example".into(),
            source: Vec::new(),
            about: "".into(),
            cells: rows.map(|row| cell(row, 100.0)).into(),
            mean_error: Some(0.1),
            median_error: Some(0.1),
            rank_correlation: None,
            verdicts: Vec::new(),
        };
        let published =
            Published { tables: vec![table(["1", "2", "8"]), table(["fifo", "steal", "both"])] };
        let all: Vec<String> = published.pictures().iter().map(Picture::inside).collect();
        assert_eq!(all.len(), 3);
        assert!(all[1].contains("<title>v5.3, 8: 110.0</title>"), "{}", all[1]);
        assert!(all[2].contains("fifo v5.3, expected: 100.0"), "{}", all[2]);
    }
}
