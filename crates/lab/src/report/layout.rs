//! From figures to tables: rows and columns as text, which the forms only have to draw.
//!
//! What a table shows is said by the metrics of its kind of cell; no metric is named here.

use super::conclusion::conclusion;
use super::number::{fixed, show};
use crate::analysis::summary::{Block, References, Row, blocks_against};
use crate::experiment::view::View;
use crate::record::metric::{Better, Metric};
use crate::record::{Header, Record};

/// What a reader asked to see.
#[derive(Clone, Default)]
pub struct Shown {
    /// The 95 % interval of the ratio.
    pub interval: bool,
    /// The lock events of each row that has any.
    pub events: bool,
    /// These metrics in place of each table's own; empty: its own.
    pub metrics: Vec<&'static Metric>,
    /// The order of the rows.
    pub order: Order,
    /// Arms that ratios refer to, where an earlier run has decided.
    pub references: References,
}

/// By what the rows of a table are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The best first.
    #[default]
    Best,
    /// By the name of the arm.
    Name,
    /// As the arms were listed.
    Listed,
}

/// One table. Those that follow one another with the same head are laid out as one, so that they
/// align.
pub struct Table {
    /// The setting in words, and what ratios refer to; a line or two.
    pub title: String,
    /// Headings of the columns.
    pub head: Vec<String>,
    /// The first column is a name, the others are numbers.
    pub rows: Vec<Vec<String>>,
    /// Lines below it.
    pub notes: Vec<String>,
}

/// A whole report.
pub struct Page {
    /// Lines on where and how it was measured.
    pub heading: Vec<String>,
    /// The tables, one for each cell of which anything was measured.
    pub tables: Vec<Table>,
    /// What it comes to, a paragraph each.
    pub conclusion: Vec<String>,
    /// What the columns mean, a paragraph each.
    pub legend: Vec<String>,
}

/// One column: its heading, and a row's text in it.
type Column = (&'static str, Box<dyn Fn(&Row) -> String>);

/// The report of a record.
pub fn page(record: &Record, shown: &Shown) -> Page {
    let blocks = blocks_against(record, &shown.references);
    Page {
        heading: heading(record),
        conclusion: conclusion(record, &blocks),
        legend: legend(&blocks, shown),
        tables: blocks.into_iter().map(|block| table(block, shown)).collect(),
    }
}

fn table(mut block: Block, shown: &Shown) -> Table {
    sort(&mut block, shown.order);
    let columns = columns(block.view, shown);
    let row = |row: &Row| {
        let figures = columns.iter().map(|(_, cell)| cell(row));
        std::iter::once(row.arm.name.clone()).chain(figures).collect()
    };
    let mut title = block.cell.title.clone();
    if let Some(reference) = block.reference {
        title += &format!("; ratio to {}", reference.name);
    }
    Table {
        title,
        head: std::iter::once("")
            .chain(columns.iter().map(|(head, _)| *head))
            .map(str::to_owned)
            .collect(),
        rows: block.rows.iter().map(row).collect(),
        notes: if shown.events { events(&block) } else { Vec::new() },
    }
}

fn sort(block: &mut Block, order: Order) {
    let headline = block.view.headline;
    match order {
        Order::Listed => {}
        Order::Name => block.rows.sort_by(|a, b| a.arm.name.cmp(&b.arm.name)),
        Order::Best => block.rows.sort_by(|a, b| match (a.figure, b.figure) {
            (Some(a), Some(b)) if headline.better == Better::Lower => a.total_cmp(&b),
            (Some(a), Some(b)) => b.total_cmp(&a),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }),
    }
}

fn columns(view: &'static View, shown: &Shown) -> Vec<Column> {
    let figure = |metric: &'static Metric| -> Column {
        (metric.head, Box::new(move |row| show(metric.unit, row.of(metric))))
    };
    let mut columns: Vec<Column> = vec![
        figure(view.headline),
        ("CV%", Box::new(spread)),
        ("ratio", Box::new(|row| fixed(row.ratio, 2))),
    ];
    if shown.interval {
        columns.push(("95%-interval", Box::new(interval)));
    }
    let rest = if shown.metrics.is_empty() { view.columns } else { &shown.metrics };
    columns.extend(rest.iter().copied().filter(|m| m.key != view.headline.key).map(figure));
    columns
}

/// The spread of the rounds, marked where it is large.
fn spread(row: &Row) -> String {
    let mark = if row.noisy() { "!" } else { "" };
    format!("{}{mark}", fixed(row.cv_percent, 1))
}

fn interval(row: &Row) -> String {
    match row.ratio_ci95 {
        Some([low, high]) => format!("{low:.2}..{high:.2}"),
        None => fixed(None, 2),
    }
}

/// A line for each row that has events.
fn events(block: &Block) -> Vec<String> {
    let line = |row: &Row| {
        let counts: Vec<_> = row.events().iter().map(|(name, n)| format!("{name} {n}")).collect();
        (!counts.is_empty()).then(|| format!("{}: {}", row.arm.name, counts.join(", ")))
    };
    block.rows.iter().filter_map(line).collect()
}

/// A number of things in words.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Where and how a record was measured.
pub fn heading(record: &Record) -> Vec<String> {
    let Header { machine, complete, .. } = &record.header;
    let mut run = format!("PAUSE {:.1} ns", machine.pause_ns);
    if let Some(ns) = machine.line_transfer_ns {
        run += &format!(", cache line transfer {ns:.0} ns");
    }
    run += &format!("; {}", counted(record.plan.rounds as usize, "round"));
    let windows = record.cells.iter().map(|cell| 1e3 * cell.window_s);
    let (least, most) = windows.fold((f64::MAX, 0.0), |(l, m), w| (w.min(l), w.max(m)));
    if most > 0.0 && least < most {
        run += &format!(" of {least:.0} to {most:.0} ms");
    } else if most > 0.0 {
        run += &format!(" of {most:.0} ms");
    }
    run += &format!(", seed {}", record.plan.seed);
    if !complete {
        run += "; INTERRUPTED, later runs are missing";
    }
    vec![machine.summary(), run]
}

/// What the columns mean.
fn legend(blocks: &[Block], shown: &Shown) -> Vec<String> {
    let mut lines = Vec::new();
    if blocks.iter().any(|block| block.reference.is_some()) {
        lines.push(
            "ratio: of the first figure, to the same of the arm named above the table.".to_owned(),
        );
    }
    lines.push(
        "CV%: spread of the rounds; ! marks a row that is too noisy for small differences."
            .to_owned(),
    );
    let mut seen = Vec::new();
    for view in blocks.iter().map(|block| block.view) {
        if !seen.iter().any(|other| std::ptr::eq(*other, view)) {
            seen.push(view);
            if shown.metrics.is_empty() {
                lines.extend(view.notes.iter().map(|note| (*note).to_owned()));
            }
        }
    }
    let about = |metric: &&'static Metric| format!("{}: {}.", metric.head, metric.about);
    lines.extend(shown.metrics.iter().map(about));
    lines
}
