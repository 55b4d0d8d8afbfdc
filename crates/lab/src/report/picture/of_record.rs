//! Which pictures a record has: one for each metric that a reader asks about first, over the number
//! of threads where there are several, else a row for each arm.

use std::collections::BTreeMap;

use super::dots::{Dot, Dots};
use super::heat::{Queues, heat};
use super::lines::{Across, Lines, Point, Series, nines_of};
use super::stack::{Bar, MOST, Stack};
use super::{Picture, at_mark, axis_title};
use crate::analysis::stats::{max, min};
use crate::analysis::summary::{Block, Row, blocks};
use crate::record::metric::{self, Better, Metric};
use crate::record::{Histogram, Kind, Param, Params, Record, Role, Sample};
use crate::report::number::show;

/// Pictures of a record, in the order of its cells.
pub fn pictures(record: &Record) -> Vec<Picture> {
    let blocks = blocks(record);
    let numbers = numbers(record);
    let mut pictures = Vec::new();
    for group in groups(&blocks) {
        pictures.extend(group.pictures(&numbers));
    }
    for block in &blocks {
        pictures.extend(waits(block, &numbers));
        pictures.extend(events(block));
        pictures.extend(run_queues(block));
    }
    pictures
}

/// The number of each arm's colour and mark: this project's first, so that they are the same in all
/// pictures of all records.
fn numbers(record: &Record) -> BTreeMap<&str, usize> {
    let own = |own: bool| record.arms.iter().filter(move |arm| (arm.role == Role::Own) == own);
    own(true).chain(own(false)).enumerate().map(|(at, arm)| (arm.name.as_str(), at)).collect()
}

/// Cells that differ in one number only.
struct Group<'a> {
    title: String,
    /// The number's name, and the cells by it.
    across: &'static str,
    cells: Vec<(f64, &'a Block<'a>)>,
}

/// Numbers that a figure is drawn over, by their names in a cell's parameters.
const ACROSS: [&str; 2] = ["threads", "readers"];

fn groups<'a>(blocks: &'a [Block<'a>]) -> Vec<Group<'a>> {
    let mut groups: Vec<(Kind, Params, Group)> = Vec::new();
    for block in blocks {
        let whole = |name: &&&str| matches!(block.cell.params.get(**name), Some(Param::Whole(_)));
        let across = ACROSS.iter().find(whole).copied().unwrap_or_default();
        let mut rest = block.cell.params.clone();
        let at = match rest.remove(across) {
            Some(Param::Whole(number)) => number as f64,
            _ => 0.0,
        };
        let same = |(kind, params, _): &&mut (Kind, Params, Group)| {
            *kind == block.cell.kind && *params == rest
        };
        match groups.iter_mut().find(same) {
            Some((.., group)) => group.cells.push((at, block)),
            None => {
                let title = block.cell.title.clone();
                let group = Group { title, across, cells: vec![(at, block)] };
                groups.push((block.cell.kind, rest, group));
            }
        }
    }
    groups.into_iter().map(|(.., group)| group).collect()
}

/// What is asked first after the headline.
const ASKED: [&Metric; 4] =
    [&metric::JAIN, &metric::CPU, &metric::VOLUNTARY_ALL, &metric::CPU_PERCENT];

impl Group<'_> {
    fn pictures(mut self, numbers: &BTreeMap<&str, usize>) -> Vec<Picture> {
        self.cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        let view = self.cells[0].1.view;
        let asked = ASKED.into_iter().filter(|asked| {
            asked.key != view.headline.key && view.metrics().any(|own| own.key == asked.key)
        });
        let metrics = std::iter::once(view.headline).chain(asked);
        metrics.filter_map(|metric| self.picture(metric, numbers)).collect()
    }

    fn picture(&self, metric: &'static Metric, numbers: &BTreeMap<&str, usize>) -> Option<Picture> {
        let say = |figure: f64| show(metric.unit, Some(figure));
        let mark = |figure: f64| at_mark(metric.unit, figure);
        let title = self.title_of(metric);
        if self.cells.len() == 1 {
            let rows = self.cells[0].1.rows.iter();
            let rows: Vec<Dot> = rows.filter_map(|row| dot(row, metric, numbers)).collect();
            let caption = caption(metric, rows.iter().any(|row| row.range.is_some()));
            let along = axis_title(metric);
            return (!rows.is_empty()).then(|| {
                Dots { title: &title, caption, along, say: &say, mark: &mark, rows }.draw()
            });
        }
        let mut series: Vec<Series> = Vec::new();
        for (x, block) in &self.cells {
            for row in &block.rows {
                let Some(y) = row.of(metric) else { continue };
                let point = Point { x: *x, y, range: range(row, metric) };
                match series.iter_mut().find(|series| series.name == row.arm.name) {
                    Some(series) => series.points.push(point),
                    None => series.push(Series {
                        number: numbers[row.arm.name.as_str()],
                        name: &row.arm.name,
                        points: vec![point],
                        expected: false,
                    }),
                }
            }
        }
        series.sort_by_key(|series| series.number);
        let caption = caption(metric, true);
        let (across, up) = ((Across::Counts, self.across), axis_title(metric));
        (!series.is_empty()).then(|| {
            Lines { title: &title, caption, across, up, say: &say, mark: &mark, series }.draw()
        })
    }

    /// The metric, and the setting without the number that it is drawn over.
    fn title_of(&self, metric: &Metric) -> String {
        let setting = if self.cells.len() > 1 {
            without_count(&self.title, self.across)
        } else {
            self.title.clone()
        };
        format!("{}: {setting}", metric.head)
    }
}

/// A title without "8 threads, ".
fn without_count(title: &str, across: &str) -> String {
    let single = across.trim_end_matches('s');
    let parts = title.split(", ").filter(|part| {
        let words: Vec<&str> = part.split_whitespace().collect();
        let [.., number, word] = words[..] else { return true };
        number.parse::<u64>().is_err() || (word != across && word != single)
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn dot<'a>(row: &Row<'a>, metric: &Metric, numbers: &BTreeMap<&str, usize>) -> Option<Dot<'a>> {
    Some(Dot {
        number: numbers[row.arm.name.as_str()],
        name: &row.arm.name,
        figure: row.of(metric)?,
        range: range(row, metric),
        expected: None,
    })
}

/// The least and the largest of the rounds.
fn range(row: &Row, metric: &Metric) -> Option<[f64; 2]> {
    let figures: Vec<f64> = row.samples.iter().filter_map(|sample| metric.of(sample)).collect();
    if figures.len() < 2 {
        return None;
    }
    Some([min(&figures)?, max(&figures)?])
}

fn caption(metric: &Metric, ranges: bool) -> String {
    let better = match metric.better {
        Better::Higher => " More is better.",
        Better::Lower => " Less is better.",
        Better::Neither => "",
    };
    let ranges = if ranges { " Bands and bars: from the least to the largest round." } else { "" };
    format!("{}: {}.{better}{ranges}", metric.head, metric.about)
}

/// Percentiles of waits on a scale of nines, times on a logarithmic one.
fn waits(block: &Block, numbers: &BTreeMap<&str, usize>) -> Option<Picture> {
    const PERCENTS: [f64; 8] = [0.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999];
    let curve = |row: &Row| {
        let all = Histogram::merged(row.samples.iter().filter_map(|sample| sample.waits.as_ref()));
        // Of a hundred waits the slowest is the 99th percentile and all beyond.
        let meant = |percent: &&f64| all.count() as f64 * (1.0 - *percent / 100.0) >= 1.0;
        let point = |&percent: &f64| {
            let ns = all.percentile_ns(percent)?.max(1);
            Some(Point { x: nines_of(percent), y: ns as f64, range: None })
        };
        PERCENTS.iter().filter(meant).filter_map(point).collect::<Vec<_>>()
    };
    let series: Vec<Series> = block
        .rows
        .iter()
        .map(|row| Series {
            number: numbers[row.arm.name.as_str()],
            name: &row.arm.name,
            points: curve(row),
            expected: false,
        })
        .filter(|series| series.points.len() > 1)
        .collect();
    let say = |ns: f64| show(metric::WAIT_P50.unit, Some(ns));
    let mark = |ns: f64| at_mark(metric::WAIT_P50.unit, ns);
    let title = match block.cell.kind {
        Kind::Waits => block.cell.title.clone(),
        _ => format!("waits: {}", block.cell.title),
    };
    (!series.is_empty()).then(|| {
        Lines {
            title: &title,
            caption: "How long so many of all waits are at most, the short ones included, all \
                      rounds together. Less is better."
                .to_owned(),
            across: (Across::Nines, "of all waits"),
            up: "at most".to_owned(),
            say: &say,
            mark: &mark,
            series,
        }
        .draw()
    })
}

/// Some counters of locks are sums of nanoseconds: no part of a stack of events.
fn is_a_count(event: &str) -> bool {
    !event.ends_with("_ns")
}

/// Lock events an operation; those beyond the most frequent are one part.
fn events(block: &Block) -> Option<Picture> {
    let per_op = |row: &Row| -> BTreeMap<String, f64> {
        let ops: u64 = row.samples.iter().map(|sample| sample.ops()).sum();
        let rate = |(name, count)| (name, count as f64 / ops.max(1) as f64);
        row.events().into_iter().filter(|(name, _)| is_a_count(name)).map(rate).collect()
    };
    let rows: Vec<(&str, BTreeMap<String, f64>)> =
        block.rows.iter().map(|row| (row.arm.name.as_str(), per_op(row))).collect();
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, rate) in rows.iter().flat_map(|(_, rates)| rates) {
        *sums.entry(name).or_default() += rate;
    }
    let mut names: Vec<(&str, f64)> = sums.into_iter().collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut names: Vec<&str> = names.into_iter().map(|(name, _)| name).collect();
    let rest = if names.len() > MOST { names.split_off(MOST - 1) } else { Vec::new() };
    let bars: Vec<Bar> = rows
        .iter()
        .filter(|(_, rates)| !rates.is_empty())
        .map(|(name, rates)| {
            let of = |event: &&str| rates.get(*event).copied().unwrap_or(0.0);
            let mut parts: Vec<f64> = names.iter().map(of).collect();
            parts.extend((!rest.is_empty()).then(|| rest.iter().map(of).sum::<f64>()));
            Bar { name, parts }
        })
        .collect();
    if bars.is_empty() {
        return None;
    }
    names.extend((!rest.is_empty()).then_some("other"));
    let title = format!("lock events: {}", block.cell.title);
    let caption =
        "How often each event happened in an operation; only this project's locks count them."
            .to_owned();
    Some(Stack { title: &title, caption, along: "events an operation", names, bars }.draw())
}

/// The run whose time is in the middle, of those in which run queues were sampled.
fn middle<'a>(row: &Row<'a>) -> Option<&'a Sample> {
    let sampled = row.samples.iter().copied().filter(|s| s.run_queues().next().is_some());
    let mut sampled: Vec<&Sample> = sampled.collect();
    sampled.sort_by(|a, b| a.elapsed_s.total_cmp(&b.elapsed_s));
    sampled.get(sampled.len() / 2).copied()
}

/// The run queues of one run of each arm.
fn run_queues(block: &Block) -> Option<Picture> {
    let chosen: Vec<_> =
        block.rows.iter().filter_map(|row| Some((row.arm.name.as_str(), middle(row)?))).collect();
    let queues: Vec<Queues> = chosen
        .iter()
        .map(|(name, sample)| {
            let mut cpus: Vec<(usize, &[f64])> =
                sample.run_queues().map(|(cpu, queue)| (cpu, queue.as_slice())).collect();
            cpus.sort_by_key(|&(cpu, _)| cpu);
            let idle = sample.series.get("idle_cpus").map_or(&[][..], Vec::as_slice);
            Queues { name, seconds: sample.elapsed_s, cpus, idle }
        })
        .collect();
    let caption =
        "Threads of the arm that ran or waited for each CPU, sampled from /proc, in the run of \
                   middle length; below, how many CPUs were idle meanwhile."
            .to_owned();
    let title = format!("run queues: {}", block.cell.title);
    (!queues.is_empty()).then(|| heat(&title, caption, &queues))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::example;

    #[test]
    fn a_record_has_a_picture_of_each_figure_that_is_asked_for() {
        let record = example::record();
        let titles: Vec<String> = pictures(&record).into_iter().map(|p| p.title).collect();
        let has = |start: &str| titles.iter().any(|title| title.starts_with(start));
        for start in [
            "ns/pair: ",
            "kops/s: load 20",
            "Jain: load 20",
            "CPU-us: ",
            "waits: ",
            "lock events: ",
        ] {
            assert!(has(start), "{start} is missing: {titles:?}");
        }
    }

    #[test]
    fn times_are_no_events() {
        let mut record = example::record();
        for sample in record.samples.iter_mut().filter(|sample| !sample.events.is_empty()) {
            sample.events.insert("fence_ns".to_owned(), 123_456);
        }
        let picture = pictures(&record).into_iter().find(|p| p.title.starts_with("lock events"));
        let svg = picture.unwrap().inside();
        assert!(svg.contains("mutex_sleep") && !svg.contains("fence_ns"), "{svg}");
    }

    #[test]
    fn own_locks_come_first_in_colours() {
        let record = example::record();
        assert_eq!(numbers(&record)["lockwright"], 0);
    }

    #[test]
    fn a_title_loses_only_its_count() {
        assert_eq!(without_count("8 threads, load 20 (190ns)", "threads"), "load 20 (190ns)");
        assert_eq!(without_count("waits: 1 thread, x", "threads"), "x");
        assert_eq!(without_count("2 readers, no writer", "readers"), "no writer");
    }
}
