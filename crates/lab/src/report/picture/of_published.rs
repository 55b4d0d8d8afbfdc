//! Pictures of what `lockwright sim published` wrote: simulated results beside published ones.
//!
//! A table's rows are named in words of which one is a number that goes through them (2 threads, 4
//! threads): figures are drawn over it, a picture for each setting of the other words. Rows without one
//! are drawn below each other, a picture for each column, since columns need not have one unit.

use serde::Deserialize;

use super::dots::{Dot, Dots};
use super::lines::{Across, Lines, Point, Series};
use super::{Picture, short};
use crate::report::number::significant;
use crate::sim::published::{Cell, Table};

/// What a file of `lockwright sim published` has, as far as it is shown.
#[derive(Debug, Deserialize)]
pub struct Published {
    /// The tables.
    pub tables: Vec<Table>,
}

impl Published {
    /// All tables in one picture, then each.
    pub fn pictures(&self) -> Vec<Picture> {
        let mut pictures = vec![self.agreement()];
        pictures.extend(self.tables.iter().flat_map(of_table));
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

/// A row's name with its number taken out.
struct Row {
    x: f64,
    /// What it is a number of.
    of: String,
    /// The other words.
    setting: String,
}

fn of_table(table: &Table) -> Vec<Picture> {
    if let Some(rows) = through(table) {
        let settings = distinct(rows.iter().map(|row| row.setting.as_str()));
        return settings.iter().map(|setting| over_number(table, &rows, setting)).collect();
    }
    let kinds = table.cells.iter().map(|cell| (&*cell.column, &*cell.unit));
    distinct(kinds).into_iter().map(|kind| below_each_other(table, kind)).collect()
}

/// The rows by the number that goes through them, if there is one.
fn through(table: &Table) -> Option<Vec<Row>> {
    let words: Vec<Vec<&str>> =
        table.cells.iter().map(|cell| cell.row.split(' ').collect()).collect();
    let length = words.first()?.len();
    let number =
        |word: &str| word.trim_end_matches(',').parse().ok().filter(|x: &f64| x.is_finite());
    let values =
        |at: usize| words.iter().map(|row| number(row.get(at)?)).collect::<Option<Vec<_>>>();
    let numbers = (0..length).filter_map(|at| Some((at, values(at)?)));
    let count = |xs: &[f64]| {
        let mut xs = xs.to_vec();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        xs.len()
    };
    let (at, xs) = numbers.max_by_key(|(_, xs)| count(xs)).filter(|(_, xs)| count(xs) > 2)?;
    let row = |(words, x): (&Vec<&str>, f64)| {
        let (before, after) = (words[..at].join(" "), &words[at + 1..]);
        // File copy 256, on this machine; or: load 1, 2 threads.
        let (of, other) = match after.split_first() {
            Some((unit, after)) if !words[at].ends_with(',') => {
                let rest = after.join(" ");
                ((*unit).to_owned(), format!("{before} {rest}"))
            }
            _ => (before, after.join(" ")),
        };
        let bare = |words: String| words.trim_matches([',', ' ']).to_owned();
        Row { x, of: bare(of), setting: bare(other) }
    };
    Some(words.iter().zip(xs).map(row).collect())
}

/// One setting's figures over the number.
fn over_number(table: &Table, rows: &[Row], setting: &str) -> Picture {
    let own: Vec<(&Cell, &Row)> =
        table.cells.iter().zip(rows).filter(|(_, row)| row.setting == setting).collect();
    let points = |column: &str, expected: bool| -> Vec<Point> {
        let of_column = own.iter().filter(|(cell, _)| cell.column == column);
        let point = |(cell, row): &(&Cell, &Row)| Point {
            x: row.x,
            y: if expected { cell.published } else { cell.simulated },
            range: range(cell).filter(|_| !expected),
        };
        let mut points: Vec<Point> = of_column.map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    };
    let columns = distinct(own.iter().map(|(cell, _)| &*cell.column));
    let names: Vec<String> = columns.iter().map(|column| spaced(column)).collect();
    let both = columns.iter().zip(&names).enumerate().flat_map(|(number, (column, name))| {
        [false, true].map(|expected| Series {
            number,
            name,
            points: points(column, expected),
            expected,
        })
    });
    let title = if setting.is_empty() {
        format!("{}: published and simulated", table.name)
    } else {
        format!("{}, {setting}", table.name)
    };
    let (cell, row) = own[0];
    Lines {
        title: &title,
        caption: caption(table),
        across: (Across::Counts, &row.of),
        up: cell.unit.to_string(),
        say: &|figure| significant(Some(figure)),
        mark: &short,
        series: both.collect(),
    }
    .draw()
}

/// A column's figures of one unit.
fn below_each_other(table: &Table, (column, unit): (&str, &str)) -> Picture {
    let of_kind = |cell: &&Cell| cell.column == column && cell.unit == unit;
    let own: Vec<&Cell> = table.cells.iter().filter(of_kind).collect();
    let names: Vec<String> = own.iter().map(|cell| spaced(&cell.row)).collect();
    let rows = own.iter().zip(&names).map(|(cell, name)| Dot {
        number: 0,
        name,
        figure: cell.simulated,
        range: range(cell),
        expected: Some(cell.published),
    });
    Dots {
        title: &format!("{}: {}", table.name, spaced(column)),
        caption: caption(table),
        along: unit.to_owned(),
        say: &|figure| significant(Some(figure)),
        mark: &short,
        rows: rows.collect(),
    }
    .draw()
}

fn caption(table: &Table) -> String {
    format!(
        "Filled: simulated, with the 95 % interval where it is known; outlines: published. {}",
        table.about
    )
}

/// The 95 % interval.
fn range(cell: &Cell) -> Option<[f64; 2]> {
    let half = cell.half?;
    Some([cell.simulated * (1.0 - half).max(0.0), cell.simulated * (1.0 + half)])
}

fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

fn distinct<T: PartialEq>(names: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&str], columns: &[&'static str]) -> Table {
        let cell = |row: &str, column: &'static str| Cell {
            row: row.to_owned(),
            column: column.into(),
            unit: "kops/s".into(),
            lock: "v5.3".into(),
            published: 100.0,
            simulated: 110.0,
            half: Some(0.1),
            seconds: 1.0,
            two_states: false,
            aside: None,
        };
        let cells = rows.iter().flat_map(|row| columns.iter().map(move |column| cell(row, column)));
        Table {
            name: "example".into(),
            source: Vec::new(),
            about: "".into(),
            cells: cells.collect(),
            mean_error: Some(0.1),
            median_error: Some(0.1),
            rank_correlation: None,
            verdicts: Vec::new(),
        }
    }

    fn pictures(table: Table) -> Vec<String> {
        let published = Published { tables: vec![table] };
        published.pictures().iter().skip(1).map(Picture::inside).collect()
    }

    #[test]
    fn rows_are_drawn_over_the_number_that_goes_through_them() {
        let all = pictures(table(&["2 threads", "4 threads", "8 threads"], &["v5.3", "v5.4"]));
        assert_eq!(all.len(), 1);
        assert!(all[0].contains("<title>v5.3, 8: 110.0</title>"), "{}", all[0]);
        assert!(all[0].contains(">threads</text>") && all[0].contains(">kops/s</text>"));
    }

    #[test]
    fn each_setting_has_a_picture() {
        let rows = ["load 1, 2 threads", "load 1, 4 threads", "load 1, 8 threads"];
        let others = ["load 20, 2 threads", "load 20, 4 threads", "load 20, 8 threads"];
        let all = pictures(table(&[rows, others].concat(), &["v5.3"]));
        assert_eq!(all.len(), 2);
        for (picture, title) in all.iter().zip(["example, load 1", "example, load 20"]) {
            assert!(picture.contains(&format!(">{title}</text>")), "{picture}");
        }
        let rows = ["8 nodes, on", "8 nodes, off", "4 nodes, on", "4 nodes, off", "2 nodes, on"];
        assert_eq!(pictures(table(&rows, &["after/before"])).len(), 2);
        let rows = ["Copy 256, A", "Copy 256, B", "Copy 512, A", "Copy 1024, A", "Copy 512, B"];
        let all = pictures(table(&rows, &["after/before"]));
        assert!(all.len() == 2 && all[1].contains(">example, B</text>"), "{all:?}");
    }

    #[test]
    fn rows_without_numbers_have_a_picture_for_each_column() {
        let all = pictures(table(&["fifo", "stealing writers"], &["reader_mean", "writer_mean"]));
        assert_eq!(all.len(), 2);
        assert!(all[0].contains("stealing writers, expected: 100.0"), "{}", all[0]);
        assert!(all[1].contains("example: writer mean"), "{}", all[1]);
    }
}
