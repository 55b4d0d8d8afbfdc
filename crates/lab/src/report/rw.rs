//! The reports of `bench rwlock`: tables, markdown and CSV. (JSON is [`super::json`].)

use std::io::Write;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use serde::Serialize;

use super::Shown;
use super::columns::{Column, column, event_lines, grid};
use super::number::{fixed, significant};
use super::order::Order;
use super::{markdown, table};
use crate::rw::results::{RwBenchResult, RwCellResult, RwRow, RwSoloRow, Spread};

fn uncontended() -> Vec<Column<RwSoloRow>> {
    vec![
        column("lock", |row: &RwSoloRow| row.lock.clone()),
        column("read-ns/pair", |row| fixed(row.read_ns_per_pair, 2)),
        column("ratio", |row| fixed(row.read_ratio, 2)),
        column("write-ns/pair", |row| fixed(row.write_ns_per_pair, 2)),
        column("ratio", |row| fixed(row.write_ratio, 2)),
    ]
}

fn spread(spread: &Spread) -> String {
    match (spread.min, spread.mean, spread.max) {
        (None, None, None) => fixed(None, 0),
        (min, mean, max) => {
            format!("{}/{}/{}", significant(min), significant(mean), significant(max))
        }
    }
}

fn rows(shown: Shown) -> Vec<Column<RwRow>> {
    let mut columns = vec![
        column("lock", |row: &RwRow| row.lock.clone()),
        column("kops/s", |row| significant(row.kops_per_s)),
        column("CV%", |row| fixed(row.cv_percent, 1)),
        column("ratio", |row| fixed(row.ratio, 2)),
    ];
    if shown.interval {
        columns.push(column("95%-interval", |row| match row.ratio_ci95 {
            Some([low, high]) => format!("{low:.2}..{high:.2}"),
            None => fixed(None, 2),
        }));
    }
    columns.extend([
        column("reads/thr", |row: &RwRow| spread(&row.readers)),
        column("writes/thr", |row| spread(&row.writers)),
        column("Jain", |row| fixed(row.jain_index, 2)),
        column("CPU-s/Mop", |row| significant(row.cpu_s_per_mop)),
        column("vol/Mop", |row| fixed(row.voluntary_switches_per_mop, 0)),
        column("inv/Mop", |row| fixed(row.involuntary_switches_per_mop, 0)),
    ]);
    columns
}

fn title(cell: &RwCellResult) -> String {
    let who = match (cell.dedicated, cell.block_sections) {
        (true, _) => "threads read".to_owned(),
        (false, 0) => "reads".to_owned(),
        (false, sections) => format!("reads in blocks of {sections}"),
    };
    format!(
        "{} threads, {} % {who}, load {} ({:.0} ns), outside {}",
        cell.threads, cell.readers_percent, cell.load_pauses, cell.load_ns, cell.outside_pauses
    )
}

fn events(cell: &RwCellResult, shown: Shown) -> Vec<String> {
    event_lines(shown, cell.rows.iter().map(|row| (&row.lock, &row.events)))
}

fn legend() -> [&'static str; 4] {
    [
        "ratio: to the best blocking peer of the same cell; for ns less is better, for kops/s more.",
        "kops/s: thousand sections per second, median of the rounds; CV%: spread of the rounds.",
        "reads/thr, writes/thr: kops/s of the slowest, the mean and the fastest thread.",
        "per Mop, a million sections: CPU seconds, voluntary and involuntary context switches.",
    ]
}

/// The whole result as plain text.
pub fn table(result: &RwBenchResult, shown: Shown) -> String {
    let header = &result.header;
    let mut text = table::heading(&header.machine, &result.plan.timing(), header.complete);
    if !result.uncontended.is_empty() {
        let lines = table::lines(&grid(&uncontended(), result.uncontended.iter(), NOTHING));
        table::push_group(&mut text, "uncontended, one thread", lines.into_iter());
    }
    for cell in &result.cells {
        let lines = table::lines(&grid(&rows(shown), cell.rows.iter(), NOTHING));
        table::push_group(&mut text, &title(cell), lines.into_iter().chain(events(cell, shown)));
    }
    text.push('\n');
    for line in legend() {
        text += line;
        text.push('\n');
    }
    text
}

/// The whole result as markdown.
pub fn markdown(result: &RwBenchResult, shown: Shown) -> String {
    let header = &result.header;
    let timing = result.plan.timing();
    let mut text =
        markdown::heading(&header.command_line, &header.machine, &timing, header.complete);
    if !result.uncontended.is_empty() {
        let table = grid(&uncontended(), result.uncontended.iter(), ASCII_MARKDOWN);
        text += &format!("\n### uncontended, one thread\n\n{table}\n");
    }
    for cell in &result.cells {
        let table = grid(&rows(shown), cell.rows.iter(), ASCII_MARKDOWN);
        text += &format!("\n### {}\n\n{table}\n", title(cell));
        let events = events(cell, shown);
        if !events.is_empty() {
            text.push('\n');
            events.iter().for_each(|line| text += &format!("- {line}\n"));
        }
    }
    text.push('\n');
    legend().iter().for_each(|line| text += &format!("- {line}\n"));
    text
}

#[derive(Default, Serialize)]
struct Line<'a> {
    measurement: &'a str,
    lock: &'a str,
    kind: &'a str,
    threads: Option<usize>,
    readers_percent: Option<f64>,
    dedicated: Option<bool>,
    block_sections: Option<u32>,
    load_pauses: Option<u32>,
    outside_pauses: Option<u32>,
    samples: Option<usize>,
    read_ns_per_pair: Option<f64>,
    write_ns_per_pair: Option<f64>,
    kops_per_s: Option<f64>,
    cv_percent: Option<f64>,
    ratio: Option<f64>,
    reads_min_kops_per_s: Option<f64>,
    reads_mean_kops_per_s: Option<f64>,
    reads_max_kops_per_s: Option<f64>,
    writes_min_kops_per_s: Option<f64>,
    writes_mean_kops_per_s: Option<f64>,
    writes_max_kops_per_s: Option<f64>,
    jain_index: Option<f64>,
    cpu_s_per_mop: Option<f64>,
    voluntary_switches_per_mop: Option<f64>,
    involuntary_switches_per_mop: Option<f64>,
}

/// The figures as CSV: one line per row.
///
/// # Errors
///
/// Those of `out`.
pub fn csv(result: &RwBenchResult, out: impl Write) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    for row in &result.uncontended {
        writer.serialize(Line {
            measurement: "uncontended",
            lock: &row.lock,
            kind: row.kind.name(),
            read_ns_per_pair: row.read_ns_per_pair,
            write_ns_per_pair: row.write_ns_per_pair,
            ..Line::default()
        })?;
    }
    for (cell, row) in result.cells.iter().flat_map(|c| c.rows.iter().map(move |row| (c, row))) {
        writer.serialize(Line {
            measurement: "throughput",
            lock: &row.lock,
            kind: row.kind.name(),
            threads: Some(cell.threads),
            readers_percent: Some(cell.readers_percent),
            dedicated: Some(cell.dedicated),
            block_sections: Some(cell.block_sections),
            load_pauses: Some(cell.load_pauses),
            outside_pauses: Some(cell.outside_pauses),
            samples: Some(row.rounds),
            kops_per_s: row.kops_per_s,
            cv_percent: row.cv_percent,
            ratio: row.ratio,
            reads_min_kops_per_s: row.readers.min,
            reads_mean_kops_per_s: row.readers.mean,
            reads_max_kops_per_s: row.readers.max,
            writes_min_kops_per_s: row.writers.min,
            writes_mean_kops_per_s: row.writers.mean,
            writes_max_kops_per_s: row.writers.max,
            jain_index: row.jain_index,
            cpu_s_per_mop: row.cpu_s_per_mop,
            voluntary_switches_per_mop: row.voluntary_switches_per_mop,
            involuntary_switches_per_mop: row.involuntary_switches_per_mop,
            ..Line::default()
        })?;
    }
    writer.flush()?;
    Ok(())
}

/// Orders the rows of every table.
pub fn sort(result: &mut RwBenchResult, order: Order) {
    let rate = |row: &RwRow| row.kops_per_s.unwrap_or(0.0);
    let cost = |row: &RwSoloRow| row.read_ns_per_pair.unwrap_or(f64::INFINITY);
    match order {
        Order::Plan => {}
        Order::Name => {
            result.uncontended.sort_by(|a, b| a.lock.cmp(&b.lock));
            result.cells.iter_mut().for_each(|c| c.rows.sort_by(|a, b| a.lock.cmp(&b.lock)));
        }
        Order::Speed => {
            result.uncontended.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
            let cells = result.cells.iter_mut();
            cells.for_each(|c| c.rows.sort_by(|a, b| rate(b).total_cmp(&rate(a))));
        }
    }
}
