//! The columns of the tables, defined once for the terminal and for markdown.

use comfy_table::{CellAlignment, Table, TableStyle};

use super::number::{duration_ns, fixed, significant};
use crate::results::{
    CellResult, MutexBenchResult, ThroughputRow, Uncontended, UncontendedRow, WaitRow,
};
use crate::run::Events;

/// What a reader asked to see beyond the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// The 95 % interval of the ratio.
    pub interval: bool,
    /// The lock events of each row that has any.
    pub events: bool,
}

/// One column: its heading, and a row's figure in it.
pub(super) struct Column<R> {
    head: &'static str,
    cell: fn(&R) -> String,
}

pub(super) fn column<R>(head: &'static str, cell: fn(&R) -> String) -> Column<R> {
    Column { head, cell }
}

/// A line for each row that has events.
pub(super) fn event_lines<'a>(
    shown: Shown,
    rows: impl Iterator<Item = (&'a String, &'a Events)>,
) -> Vec<String> {
    rows.filter(|(_, events)| shown.events && !events.is_empty())
        .map(|(lock, events)| {
            let counts: Vec<_> = events.iter().map(|(name, n)| format!("{name} {n}")).collect();
            format!("{lock}: {}", counts.join(", "))
        })
        .collect()
}

/// Columns of the uncontended table.
pub(super) fn uncontended() -> Vec<Column<UncontendedRow>> {
    vec![
        column("lock", |row| row.lock.clone()),
        column("ns/pair", |row| fixed(row.ns_per_pair, 2)),
        column("gross", |row| fixed(row.gross_ns_per_pair, 2)),
        column("CV%", |row| fixed(row.cv_percent, 1)),
        column("ratio", |row| fixed(row.ratio, 2)),
    ]
}

/// Columns of the throughput tables.
pub(super) fn throughput(shown: Shown) -> Vec<Column<ThroughputRow>> {
    let mut columns = vec![
        column("lock", |row: &ThroughputRow| row.lock.clone()),
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
        column("min/thr", |row: &ThroughputRow| significant(row.thread_min_kops_per_s)),
        column("mean/thr", |row| significant(row.thread_mean_kops_per_s)),
        column("max/thr", |row| significant(row.thread_max_kops_per_s)),
        column("Jain", |row| fixed(row.jain_index, 2)),
        column("CPU-s/Mop", |row| significant(row.cpu_s_per_mop)),
        column("vol/Mop", |row| fixed(row.voluntary_switches_per_mop, 0)),
        column("inv/Mop", |row| fixed(row.involuntary_switches_per_mop, 0)),
    ]);
    columns
}

/// Columns of the tables of waits.
pub(super) fn waits() -> Vec<Column<WaitRow>> {
    vec![
        column("lock", |row: &WaitRow| row.lock.clone()),
        column("waits", |row| row.waits.to_string()),
        column("mean", |row| duration_ns(row.mean_ns)),
        column("p50", |row| duration_ns(row.p50_ns as f64)),
        column("p99", |row| duration_ns(row.p99_ns as f64)),
        column("p99.9", |row| duration_ns(row.p999_ns as f64)),
        column("max", |row| duration_ns(row.max_ns as f64)),
    ]
}

/// A table of `rows`, the first column flush left and the figures flush right.
pub(super) fn grid<'a, R: 'a>(
    columns: &[Column<R>],
    rows: impl Iterator<Item = &'a R>,
    style: TableStyle,
) -> Table {
    let mut table = Table::new();
    table.load_style(style);
    table.set_header(columns.iter().map(|column| column.head).collect::<Vec<_>>());
    for row in rows {
        table.add_row(columns.iter().map(|column| (column.cell)(row)).collect::<Vec<_>>());
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// What the uncontended table is.
pub(super) fn uncontended_title(uncontended: &Uncontended) -> String {
    format!(
        "uncontended: ns per lock and unlock by one thread, loop of {} ns subtracted",
        fixed(uncontended.loop_overhead_ns, 2)
    )
}

/// The setting of a cell, in words.
pub(super) fn cell_title(cell: &CellResult) -> String {
    let plural = if cell.threads == 1 { "" } else { "s" };
    let mut title = format!("{} thread{plural}, load {}", cell.threads, cell.load_pauses);
    title += &format!(" ({})", duration_ns(cell.load_ns));
    if cell.burst_ops > 1 {
        title += &format!(", bursts of {}, then {}", cell.burst_ops, duration_ns(cell.outside_ns));
    } else if cell.outside_pauses > 0 {
        title += &format!(", outside {}", cell.outside_pauses);
        title += &format!(" ({})", duration_ns(cell.outside_ns));
    } else {
        title += ", outside 0";
    }
    title
}

/// What the columns mean; one paragraph per table shown.
pub(super) fn legend(result: &MutexBenchResult) -> Vec<String> {
    let mut lines = Vec::new();
    let against = match &result.plan.baseline {
        Some(baseline) => format!("ratio: to {baseline}"),
        None => "ratio: to the best blocking peer of the same cell".to_owned(),
    };
    lines.push(format!("{against}; for ns less is better, for kops/s more."));
    if result.cells.iter().any(|cell| !cell.throughput.is_empty()) {
        lines.push(
            "kops/s: thousand sections per second, median of the rounds; CV%: spread of the rounds."
                .to_owned(),
        );
        lines.push(
            "min, mean, max/thr: kops/s of a thread; Jain: 1 = all threads equal.".to_owned(),
        );
        lines.push(
            "per Mop, a million sections: CPU seconds, voluntary and involuntary context switches."
                .to_owned(),
        );
    }
    if result.cells.iter().any(|cell| !cell.waits.is_empty()) {
        lines.push("waits include two clock readings; measured in rounds of their own.".to_owned());
    }
    lines
}
