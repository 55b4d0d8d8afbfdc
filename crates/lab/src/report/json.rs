//! The record as JSON: what [`crate::record::read`] reads, and the figures that follow from it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::compare::{VerdictRecord, verdict_records};
use crate::analysis::compare::Judged;
use crate::analysis::summary::{Block, Row, blocks};
use crate::record::{Arm, Cell, Header, Params, Plan, Record};

/// The record but for its samples, and what they say.
#[derive(Serialize)]
struct Head<'a> {
    #[serde(flatten)]
    header: &'a Header,
    plan: &'a Plan,
    arms: &'a [Arm],
    cells: &'a [Cell],
    /// For people and scripts; not read back.
    figures: Vec<Figures<'a>>,
    /// The same, of a comparison.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verdicts: Vec<VerdictRecord<'a>>,
}

/// The figures of one arm in one cell.
#[derive(Serialize)]
struct Figures<'a> {
    arm: &'a str,
    measurement: &'static str,
    params: &'a Params,
    rounds: usize,
    headline: &'static str,
    cv_percent: Option<f64>,
    reference: Option<&'a str>,
    ratio: Option<f64>,
    ratio_ci95: Option<[f64; 2]>,
    #[serde(flatten)]
    metrics: BTreeMap<&'static str, f64>,
}

/// Writes the record: its head indented, then a line for each sample.
///
/// # Errors
///
/// Those of `out`.
pub fn write(record: &Record, out: impl Write) -> io::Result<()> {
    write_judged(record, &[], out)
}

/// The same with the verdicts on its arms.
///
/// # Errors
///
/// Those of `out`.
pub fn write_judged(record: &Record, judged: &[Judged], mut out: impl Write) -> io::Result<()> {
    let blocks = blocks(record);
    let rows = blocks.iter().flat_map(|block| block.rows.iter().map(move |row| (block, row)));
    let head = Head {
        header: &record.header,
        plan: &record.plan,
        arms: &record.arms,
        cells: &record.cells,
        figures: rows.map(|(block, row)| figures(block, row)).collect(),
        verdicts: verdict_records(judged),
    };
    let head = serde_json::to_string_pretty(&head)?;
    out.write_all(head.trim_end_matches(['\n', '}']).as_bytes())?;
    out.write_all(b",\n  \"samples\": [")?;
    for (at, sample) in record.samples.iter().enumerate() {
        out.write_all(if at == 0 { b"\n    " } else { b",\n    " })?;
        serde_json::to_writer(&mut out, sample)?;
    }
    out.write_all(b"\n  ]\n}\n")
}

fn figures<'a>(block: &Block<'a>, row: &Row<'a>) -> Figures<'a> {
    let metrics = block.view.metrics();
    Figures {
        arm: &row.arm.name,
        measurement: block.cell.kind.name(),
        params: &block.cell.params,
        rounds: row.samples.len(),
        headline: block.view.headline.key,
        cv_percent: row.cv_percent,
        reference: block.reference.map(|arm| arm.name.as_str()),
        ratio: row.ratio,
        ratio_ci95: row.ratio_ci95,
        metrics: metrics.filter_map(|metric| Some((metric.key, row.of(metric)?))).collect(),
    }
}
