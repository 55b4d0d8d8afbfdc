//! The reports of `bench seq`: tables, markdown and CSV. (JSON is [`super::json`].)

use std::io::Write;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use serde::Serialize;

use super::Shown;
use super::columns::{Column, column, grid};
use super::number::{duration_ns, fixed, significant};
use super::order::Order;
use super::{markdown, table};
use crate::seq::results::{FaultCell, FaultRow, ReadCell, ReadRow, SeqBenchResult};

fn reads(shown: Shown) -> Vec<Column<ReadRow>> {
    let mut columns = vec![
        column("lock", |row: &ReadRow| row.lock.clone()),
        column("ns/read", |row| fixed(row.ns_per_read, 2)),
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
        column("kreads/s", |row: &ReadRow| significant(row.kreads_per_s)),
        column("retries", |row| significant(row.retries_per_read)),
        column("torn", |row| row.torn.to_string()),
        column("writes", |row| row.writes.to_string()),
        column("w-p50", |row| short(row.write_p50_ns)),
        column("w-p99", |row| short(row.write_p99_ns)),
        column("w-max", |row| short(row.write_max_ns)),
    ]);
    columns
}

fn short(ns: Option<u64>) -> String {
    ns.map_or_else(|| fixed(None, 0), |ns| duration_ns(ns as f64))
}

fn faults() -> Vec<Column<FaultRow>> {
    vec![
        column("protection", |row: &FaultRow| row.protection.clone()),
        column("faults/s", |row| fixed(row.faults_per_s, 0)),
        column("CV%", |row| fixed(row.cv_percent, 1)),
        column("CPU-ns/fault", |row| fixed(row.cpu_ns_per_fault, 1)),
        column("section-ns", |row| fixed(row.section_ns, 2)),
        column("more-ns", |row| fixed(row.protection_ns, 2)),
        column("share%", |row| fixed(row.protection_share_percent, 2)),
        column("rescans", |row| significant(row.rescans_per_fault)),
        column("changes", |row| row.changes.to_string()),
        column("false", |row| row.false_failures.to_string()),
    ]
}

fn setting(count: usize, who: &str, write_every_ns: Option<u64>) -> String {
    let plural = if count == 1 { "" } else { "s" };
    let writer = match write_every_ns {
        None => "no writer".to_owned(),
        Some(0) => "writes back to back".to_owned(),
        Some(ns) => format!("a write every {}", duration_ns(ns as f64)),
    };
    format!("{count} {who}{plural}, {writer}")
}

fn read_title(cell: &ReadCell) -> String {
    setting(cell.readers, "reader", cell.write_every_ns)
}

fn fault_title(cell: &FaultCell) -> String {
    format!("faults per second: {}", setting(cell.clients, "client", cell.write_every_ns))
}

/// What full barriers cost beside the sequence, one line per cell that has both.
fn comparisons(result: &SeqBenchResult) -> Vec<String> {
    let mut lines = Vec::new();
    for cell in &result.faults {
        let row = |name: &str| cell.rows.iter().find(|row| row.protection == name);
        let (Some(old), Some(new)) = (row("full-barriers"), row("seqcount-2012")) else { continue };
        let times = old.section_ns.zip(new.section_ns).map(|(old, new)| old / new);
        lines.push(format!(
            "{}: a section with full barriers takes {} times one with the sequence; \
             share {} % against {} % \
             (published: 4.53 % against 1.15 %)",
            setting(cell.clients, "client", cell.write_every_ns),
            fixed(times, 1),
            fixed(old.protection_share_percent, 2),
            fixed(new.protection_share_percent, 2),
        ));
    }
    lines
}

fn legend(result: &SeqBenchResult) -> Vec<String> {
    let mut lines = Vec::new();
    if !result.cells.is_empty() {
        let ratio = match &result.plan.baseline {
            Some(baseline) => format!("ratio: of ns/read, to {baseline}; less is better. "),
            None => String::new(),
        };
        lines.push(format!(
            "{ratio}ns/read: wall time per read of one reader, its loop included, median."
        ));
        lines.push(
            "retries: failed attempts per read; torn: values of no single write, which only none \
             and full-barriers may have."
                .to_owned(),
        );
        lines.push("w-: time of a write.".to_owned());
    }
    if !result.faults.is_empty() {
        lines.push(
            "section-ns: the protection alone, in a loop of one thread; more-ns: than without; \
             share%: more-ns of the CPU time of a fault."
                .to_owned(),
        );
        lines.push(
            "rescans: per fault; changes: of masks; false: reports of no node though there was one."
                .to_owned(),
        );
    }
    lines
}

/// The whole result as plain text.
pub fn table(result: &SeqBenchResult, shown: Shown) -> String {
    let header = &result.header;
    let mut text = table::heading(&header.machine, &result.plan.timing(), header.complete);
    let columns = reads(shown);
    for cell in &result.cells {
        let lines = table::lines(&grid(&columns, cell.rows.iter(), NOTHING));
        table::push_group(&mut text, &read_title(cell), lines.into_iter());
    }
    for cell in &result.faults {
        let lines = table::lines(&grid(&faults(), cell.rows.iter(), NOTHING));
        table::push_group(&mut text, &fault_title(cell), lines.into_iter());
    }
    text.push('\n');
    for line in comparisons(result).iter().chain(&legend(result)) {
        text += line;
        text.push('\n');
    }
    text
}

/// The whole result as markdown.
pub fn markdown(result: &SeqBenchResult, shown: Shown) -> String {
    let header = &result.header;
    let timing = result.plan.timing();
    let mut text =
        markdown::heading(&header.command_line, &header.machine, &timing, header.complete);
    for cell in &result.cells {
        let table = grid(&reads(shown), cell.rows.iter(), ASCII_MARKDOWN);
        text += &format!("\n### {}\n\n{table}\n", read_title(cell));
    }
    for cell in &result.faults {
        let table = grid(&faults(), cell.rows.iter(), ASCII_MARKDOWN);
        text += &format!("\n### {}\n\n{table}\n", fault_title(cell));
    }
    text.push('\n');
    for line in comparisons(result).iter().chain(&legend(result)) {
        text += &format!("- {line}\n");
    }
    text
}

#[derive(Default, Serialize)]
struct Line<'a> {
    measurement: &'a str,
    lock: &'a str,
    kind: &'a str,
    readers: usize,
    write_every_ns: Option<u64>,
    samples: usize,
    ns_per_read: Option<f64>,
    cv_percent: Option<f64>,
    ratio: Option<f64>,
    ratio_ci95_low: Option<f64>,
    ratio_ci95_high: Option<f64>,
    kreads_per_s: Option<f64>,
    retries_per_read: Option<f64>,
    torn: Option<u64>,
    writes: Option<u64>,
    write_mean_ns: Option<f64>,
    write_p50_ns: Option<u64>,
    write_p99_ns: Option<u64>,
    write_max_ns: Option<u64>,
    faults_per_s: Option<f64>,
    cpu_ns_per_fault: Option<f64>,
    section_ns: Option<f64>,
    protection_ns: Option<f64>,
    protection_share_percent: Option<f64>,
    rescans_per_fault: Option<f64>,
    false_failures: Option<u64>,
    changes: Option<u64>,
}

/// The figures as CSV: one line per row.
///
/// # Errors
///
/// Those of `out`.
pub fn csv(result: &SeqBenchResult, out: impl Write) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    for cell in &result.cells {
        for row in &cell.rows {
            writer.serialize(read_line(cell, row))?;
        }
    }
    for cell in &result.faults {
        for row in &cell.rows {
            writer.serialize(fault_line(cell, row))?;
        }
    }
    writer.flush()?;
    Ok(())
}

fn read_line<'a>(cell: &ReadCell, row: &'a ReadRow) -> Line<'a> {
    Line {
        measurement: "reads",
        lock: &row.lock,
        kind: row.kind.name(),
        readers: cell.readers,
        write_every_ns: cell.write_every_ns,
        samples: row.rounds,
        ns_per_read: row.ns_per_read,
        cv_percent: row.cv_percent,
        ratio: row.ratio,
        ratio_ci95_low: row.ratio_ci95.map(|[low, _]| low),
        ratio_ci95_high: row.ratio_ci95.map(|[_, high]| high),
        kreads_per_s: row.kreads_per_s,
        retries_per_read: row.retries_per_read,
        torn: Some(row.torn),
        writes: Some(row.writes),
        write_mean_ns: row.write_mean_ns,
        write_p50_ns: row.write_p50_ns,
        write_p99_ns: row.write_p99_ns,
        write_max_ns: row.write_max_ns,
        ..Line::default()
    }
}

fn fault_line<'a>(cell: &FaultCell, row: &'a FaultRow) -> Line<'a> {
    Line {
        measurement: "faults",
        lock: &row.protection,
        readers: cell.clients,
        write_every_ns: cell.write_every_ns,
        samples: row.rounds,
        cv_percent: row.cv_percent,
        faults_per_s: row.faults_per_s,
        cpu_ns_per_fault: row.cpu_ns_per_fault,
        section_ns: row.section_ns,
        protection_ns: row.protection_ns,
        protection_share_percent: row.protection_share_percent,
        rescans_per_fault: row.rescans_per_fault,
        false_failures: Some(row.false_failures),
        changes: Some(row.changes),
        ..Line::default()
    }
}

/// Orders the rows of every table of reads; protections stay as listed.
pub fn sort(result: &mut SeqBenchResult, order: Order) {
    let cost = |row: &ReadRow| row.ns_per_read.unwrap_or(f64::INFINITY);
    for cell in &mut result.cells {
        match order {
            Order::Plan => {}
            Order::Name => cell.rows.sort_by(|a, b| a.lock.cmp(&b.lock)),
            Order::Speed => cell.rows.sort_by(|a, b| cost(a).total_cmp(&cost(b))),
        }
    }
}

#[cfg(test)]
mod tests;
