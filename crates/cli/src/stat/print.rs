//! Reports of locks: tables and call paths for people, CSV, JSON, folded stacks.

use std::fmt::Write;

use clap::ValueEnum;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use lockwright_lab::report::number::{duration_ns, fixed};
use serde_json::{Value, json};

use super::model::{Path, Report, Row, ThreadRow, is_wrapper};

/// A column of the table of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Field {
    /// What the lock is: mutex, rwlock, spin, cond
    Kind,
    /// How many locks go by the name
    Inst,
    /// Acquisitions, contended or not
    Acq,
    /// Contended acquisitions
    Cont,
    /// Part of the acquisitions that was contended
    ContPct,
    /// Time waited, of all threads together
    Wait,
    /// Mean wait
    Avg,
    /// Wait that 99 of 100 are not longer than
    P99,
    /// Longest wait
    Max,
    /// Part of the contended acquisitions that did without sleep
    Spin,
    /// Acquisitions by another thread than the one before
    OwnerChg,
    /// Most threads that waited at a time
    Waiters,
    /// Waits that timed out
    Failed,
    /// Mean hold of those that were timed
    Hold,
    /// Longest hold of those that were timed
    HoldMax,
}

impl Field {
    /// The columns unless others are asked for.
    pub const DEFAULT: [Field; 12] = [
        Field::Kind,
        Field::Inst,
        Field::Acq,
        Field::Cont,
        Field::ContPct,
        Field::Wait,
        Field::Avg,
        Field::P99,
        Field::Max,
        Field::Spin,
        Field::OwnerChg,
        Field::Waiters,
    ];

    /// What a narrow terminal does without, the least wanted first.
    const GOES_FIRST: [Field; 6] =
        [Field::OwnerChg, Field::Inst, Field::Waiters, Field::ContPct, Field::Kind, Field::P99];

    /// The head of the column.
    pub fn head(self) -> &'static str {
        match self {
            Field::Kind => "kind",
            Field::Inst => "inst",
            Field::Acq => "acq",
            Field::Cont => "cont",
            Field::ContPct => "cont%",
            Field::Wait => "wait",
            Field::Avg => "avg",
            Field::P99 => "p99",
            Field::Max => "max",
            Field::Spin => "spin%",
            Field::OwnerChg => "owner-chg",
            Field::Waiters => "waiters",
            Field::Failed => "failed",
            Field::Hold => "hold",
            Field::HoldMax => "hold-max",
        }
    }

    fn show(self, row: &Row) -> String {
        let held = |ns: u64| if row.sum.holds == 0 { "-".to_owned() } else { time(ns) };
        match self {
            Field::Kind => row.kind.name().to_owned(),
            Field::Inst => row.instances.to_string(),
            Field::Acq if row.counts_acquisitions() => row.sum.acquisitions.to_string(),
            Field::OwnerChg if row.counts_acquisitions() => row.sum.owner_changes.to_string(),
            Field::Acq | Field::OwnerChg => "-".to_owned(),
            Field::Cont => row.sum.contended.to_string(),
            Field::ContPct => fixed(row.contended_percent(), 1),
            Field::Wait => time(row.sum.wait_ns),
            Field::Avg => time(row.wait_avg_ns()),
            Field::P99 => time(row.quantile_ns(0.99)),
            Field::Max => time(row.sum.wait_max_ns),
            Field::Spin => fixed(Some(row.spin_percent()), 0),
            Field::Waiters => row.sum.most_waiters.to_string(),
            Field::Failed => row.sum.failed.to_string(),
            Field::Hold => held(row.sum.hold_ns / row.sum.holds.max(1)),
            Field::HoldMax => held(row.sum.hold_max_ns),
        }
    }

    /// What rows are ordered by, the largest first.
    pub fn figure(self, row: &Row) -> u64 {
        match self {
            Field::Kind => 0,
            Field::Inst => row.instances,
            Field::Acq => row.sum.acquisitions,
            Field::Cont => row.sum.contended,
            Field::ContPct => (row.contended_percent().unwrap_or(0.0) * 1e3) as u64,
            Field::Wait => row.sum.wait_ns,
            Field::Avg => row.wait_avg_ns(),
            Field::P99 => row.quantile_ns(0.99),
            Field::Max => row.sum.wait_max_ns,
            Field::Spin => (row.spin_percent() * 1e3) as u64,
            Field::OwnerChg => row.sum.owner_changes,
            Field::Waiters => row.sum.most_waiters.into(),
            Field::Failed => row.sum.failed,
            Field::Hold => row.sum.hold_ns / row.sum.holds.max(1),
            Field::HoldMax => row.sum.hold_max_ns,
        }
    }
}

/// What of a report is shown, and how.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The columns.
    pub fields: Vec<Field>,
    /// They were asked for: a narrow terminal has them all the same.
    pub fields_asked: bool,
    /// The order of the rows.
    pub key: Field,
    /// How many rows.
    pub top: usize,
    /// How many frames of a call path.
    pub depth: usize,
    /// How many call paths of a lock; 0: none.
    pub paths: usize,
    /// Threads in place of locks.
    pub by_thread: bool,
    /// Locks with no wait longer than this are left out.
    pub min_wait_ns: u64,
    /// Locks whose name has not this text in it are left out.
    pub lock: Option<String>,
    /// Columns of the terminal, if the table goes to one.
    pub width: Option<usize>,
}

impl Shown {
    /// The rows that are shown, in order.
    pub fn rows<'r>(&self, report: &'r Report) -> Vec<&'r Row> {
        let mut rows: Vec<&Row> = report
            .rows
            .iter()
            .filter(|row| row.sum.wait_max_ns >= self.min_wait_ns)
            .filter(|row| self.lock.as_ref().is_none_or(|text| row.name.contains(text)))
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(self.key.figure(row)));
        rows.truncate(self.top);
        rows
    }
}

fn time(ns: u64) -> String {
    duration_ns(ns as f64)
}

/// The whole report.
pub fn text(report: &Report, shown: &Shown, title: &str) -> String {
    let mut text = format!("{title}\n");
    if report.processes == 0 {
        text.push_str("\nNo lock was waited for.\n");
        return text;
    }
    let rows = shown.rows(report);
    if shown.by_thread {
        text.push('\n');
        text.push_str(&threads(&report.threads, shown.top));
    } else if rows.is_empty() {
        text.push_str("\nNo lock was waited for");
        text.push_str(if report.rows.is_empty() { ".\n" } else { " as long as that.\n" });
    } else {
        text.push('\n');
        text.push_str(&table(&rows, shown));
        if shown.paths > 0 {
            rows.iter().for_each(|row| paths(&mut text, row, shown));
        }
    }
    notes(&mut text, report);
    events(&mut text, report);
    text
}

/// The table of locks alone.
pub fn table(rows: &[&Row], shown: &Shown) -> String {
    let mut fields = shown.fields.clone();
    let mut text = grid(rows, &fields);
    if let (Some(width), false) = (shown.width, shown.fields_asked) {
        for goes in Field::GOES_FIRST {
            if text.lines().all(|line| line.chars().count() <= width) {
                break;
            }
            fields.retain(|field| *field != goes);
            text = grid(rows, &fields);
        }
    }
    text
}

/// Longer names are cut in the table; call paths have them whole.
const NAME: usize = 32;

fn grid(rows: &[&Row], fields: &[Field]) -> String {
    let head = std::iter::once("lock").chain(fields.iter().map(|field| field.head()));
    let row = |row: &&Row| {
        let fields = fields.iter().map(|field| field.show(row));
        std::iter::once(shortened(&row.name)).chain(fields).collect::<Vec<_>>()
    };
    aligned(head.map(str::to_owned).collect(), rows.iter().map(row).collect(), 1)
}

/// The name, cut if it is long.
pub fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME {
        return name.to_owned();
    }
    name.chars().take(NAME - 1).chain(['…']).collect()
}

/// Columns, the first ones flush left and the figures flush right.
pub fn aligned(head: Vec<String>, rows: Vec<Vec<String>>, left: usize) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(head);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines = table.to_string();
    lines.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn threads(threads: &[ThreadRow], top: usize) -> String {
    let mut threads: Vec<_> = threads.iter().collect();
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.ns));
    let rows = threads.iter().take(top).map(|thread| {
        let avg = thread.ns / thread.waits.max(1);
        vec![
            thread.name.clone(),
            thread.waits.to_string(),
            time(thread.ns),
            time(avg),
            time(thread.max_ns),
        ]
    });
    let head = ["thread", "waits", "wait", "avg", "max"].map(str::to_owned);
    aligned(head.to_vec(), rows.collect(), 1)
}

/// Who waited for a lock, and who made them wait.
pub fn paths(text: &mut String, row: &Row, shown: &Shown) {
    let _ = writeln!(text, "\n{}: waited {}", row.name, time(row.sum.wait_ns));
    for (who, paths) in [("who waited", &row.waiters), ("who held it meanwhile", &row.holders)] {
        if paths.is_empty() {
            continue;
        }
        let _ = writeln!(text, "  {who}");
        let all: u64 = paths.iter().fold(0, |sum, path| sum.saturating_add(path.ns));
        for path in paths.iter().take(shown.paths) {
            let part = 100.0 * path.ns as f64 / all.max(1) as f64;
            let (ns, count) = (time(path.ns), path.count);
            let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            let _ = writeln!(text, "    {part:3.0} %  {ns}, {times}");
            let frames = path.frames.iter().skip_while(|frame| is_wrapper(&frame.function));
            let mut shown_frames = frames.take(shown.depth).peekable();
            if shown_frames.peek().is_none() {
                path.frames
                    .iter()
                    .take(1)
                    .for_each(|frame| _ = writeln!(text, "           {frame}"));
            }
            for frame in shown_frames {
                let _ = writeln!(text, "           {frame}");
            }
        }
        let others = paths.len().saturating_sub(shown.paths);
        if others > 0 {
            let rest: u64 =
                paths[shown.paths..].iter().fold(0, |sum, path| sum.saturating_add(path.ns));
            let part = 100.0 * rest as f64 / all.max(1) as f64;
            let _ = writeln!(text, "    {part:3.0} %  {} in {others} more", time(rest));
        }
    }
}

fn notes(text: &mut String, report: &Report) {
    if report.hold_every > 0 {
        let _ = writeln!(text, "\nHolds: one in {} was timed.", report.hold_every);
    }
    for (lost, what) in report.lost.iter().zip(["locks", "calls", "call paths", "threads"]) {
        if *lost > 0 {
            let _ =
                writeln!(text, "\nMissing: {lost} waits, for more {what} than there is room for.");
        }
    }
}

fn events(text: &mut String, report: &Report) {
    if report.events.is_empty() {
        return;
    }
    text.push_str("\nLock events\n");
    let rows =
        report.events.iter().map(|(name, count)| vec![(*name).to_owned(), count.to_string()]);
    let table = aligned(vec!["event".to_owned(), "count".to_owned()], rows.collect(), 1);
    table.lines().skip(1).for_each(|line| _ = writeln!(text, "{line}"));
}

/// The table of locks (or threads) with another divider than blanks, unrounded.
pub fn csv(report: &Report, shown: &Shown, divider: &str) -> String {
    let quoted = |text: &str| {
        let special = text.contains(divider) || text.contains('"');
        if special { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
    };
    let mut lines = Vec::new();
    if shown.by_thread {
        lines.push(["thread", "waits", "wait_ns", "wait_max_ns"].join(divider));
        let row = |thread: &ThreadRow| {
            [
                quoted(&thread.name),
                thread.waits.to_string(),
                thread.ns.to_string(),
                thread.max_ns.to_string(),
            ]
            .join(divider)
        };
        lines.extend(report.threads.iter().take(shown.top).map(row));
    } else {
        let fields = shown.fields.iter().map(|field| match field {
            Field::Wait | Field::Avg | Field::P99 | Field::Max | Field::Hold | Field::HoldMax => {
                format!("{}_ns", field.head())
            }
            _ => field.head().to_owned(),
        });
        lines.push(
            std::iter::once("lock".to_owned()).chain(fields).collect::<Vec<_>>().join(divider),
        );
        for row in shown.rows(report) {
            let fields = shown.fields.iter().map(|field| match field {
                Field::Kind => row.kind.name().to_owned(),
                Field::ContPct => {
                    row.contended_percent().map_or(String::new(), |p| format!("{p:.3}"))
                }
                Field::Spin => format!("{:.3}", row.spin_percent()),
                Field::Acq | Field::OwnerChg if !row.counts_acquisitions() => String::new(),
                field => field.figure(row).to_string(),
            });
            let line = std::iter::once(quoted(&row.name)).chain(fields);
            lines.push(line.collect::<Vec<_>>().join(divider));
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// All of it as JSON; times in nanoseconds.
pub fn json(report: &Report, shown: &Shown, seconds: f64) -> Value {
    let path = |path: &Path| {
        let frames: Vec<_> =
            path.frames.iter().take(shown.depth.max(1)).map(ToString::to_string).collect();
        json!({ "count": path.count, "ns": path.ns, "frames": frames })
    };
    let row = |row: &&Row| {
        let sum = &row.sum;
        let counted = row.counts_acquisitions();
        json!({
            "lock": row.name,
            "kind": row.kind.name(),
            "instances": row.instances,
            "acquisitions": counted.then_some(sum.acquisitions),
            "owner_changes": counted.then_some(sum.owner_changes),
            "contended": sum.contended,
            "slept": sum.slept,
            "failed": sum.failed,
            "wait_ns": sum.wait_ns,
            "wait_avg_ns": row.wait_avg_ns(),
            "wait_p50_ns": row.quantile_ns(0.5),
            "wait_p99_ns": row.quantile_ns(0.99),
            "wait_max_ns": sum.wait_max_ns,
            "most_waiters": sum.most_waiters,
            "holds_timed": sum.holds,
            "hold_ns": sum.hold_ns,
            "hold_max_ns": sum.hold_max_ns,
            "waiters": row.waiters.iter().map(path).collect::<Vec<_>>(),
            "holders": row.holders.iter().map(path).collect::<Vec<_>>(),
        })
    };
    let threads = report.threads.iter().map(|thread| {
        json!({ "thread": thread.name, "waits": thread.waits, "wait_ns": thread.ns, "wait_max_ns": thread.max_ns })
    });
    let events: serde_json::Map<_, _> =
        report.events.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
    json!({
        "schema_version": 1,
        "seconds": seconds,
        "policy": report.policy,
        "programs": report.programs,
        "processes": report.processes,
        "blame": "waiters: by the call that waited; holders: by the release, for all who waited together",
        "locks": shown.rows(report).iter().map(row).collect::<Vec<_>>(),
        "threads": threads.collect::<Vec<_>>(),
        "events": events,
        "missing_waits": {
            "locks": report.lost[0], "calls": report.lost[1],
            "paths": report.lost[2], "threads": report.lost[3],
        },
    })
}

/// Folded stacks for a flame graph: nanoseconds by call path, the lock innermost.
pub fn folded(report: &Report, holders: bool) -> String {
    let mut lines = Vec::new();
    for row in &report.rows {
        let paths = if holders { &row.holders } else { &row.waiters };
        for path in paths.iter().filter(|path| path.ns > 0) {
            let frames = path.frames.iter().rev().map(|frame| frame.function.replace(';', ":"));
            let lock = row.name.replace(';', ":");
            let stack: Vec<_> = frames.chain([lock]).collect();
            lines.push(format!("{} {}\n", stack.join(";"), path.ns));
        }
    }
    lines.sort();
    lines.concat()
}
