//! The figures as CSV: one line for each arm in each cell, all kinds of cells in one file.
//!
//! A column that does not apply to a line is empty.

use std::collections::BTreeSet;
use std::io::Write;

use crate::analysis::summary::{Block, Row, blocks};
use crate::record::Record;
use crate::record::metric::Metric;

/// Columns before the setting and the metrics.
const WHO: [&str; 3] = ["measurement", "arm", "role"];
/// Columns that every line has.
const HEADLINE: [&str; 7] =
    ["rounds", "headline", "cv_percent", "reference", "ratio", "ratio_ci95_low", "ratio_ci95_high"];

/// Writes the header and one line for each row.
///
/// # Errors
///
/// Those of `out`.
pub fn write(record: &Record, out: impl Write) -> Result<(), csv::Error> {
    let blocks = blocks(record);
    let params: BTreeSet<&String> =
        blocks.iter().flat_map(|block| block.cell.params.keys()).collect();
    let mut metrics: Vec<&'static Metric> = Vec::new();
    for metric in blocks.iter().flat_map(|block| block.view.metrics()) {
        if metrics.iter().all(|have| have.key != metric.key) {
            metrics.push(metric);
        }
    }
    let mut writer = csv::Writer::from_writer(out);
    let named = params.iter().map(|name| name.as_str());
    let keys = metrics.iter().map(|metric| metric.key);
    writer.write_record(WHO.into_iter().chain(named).chain(HEADLINE).chain(keys))?;
    for block in &blocks {
        for row in &block.rows {
            writer.write_record(line(block, row, &params, &metrics))?;
        }
    }
    writer.flush()?;
    Ok(())
}

fn line(
    block: &Block,
    row: &Row,
    params: &BTreeSet<&String>,
    metrics: &[&'static Metric],
) -> Vec<String> {
    let number = |figure: Option<f64>| figure.map_or_else(String::new, |figure| figure.to_string());
    let (low, high) = row.ratio_ci95.map_or((None, None), |[low, high]| (Some(low), Some(high)));
    let mut line = vec![
        block.cell.kind.name().to_owned(),
        row.arm.name.clone(),
        row.arm.role.name().to_owned(),
    ];
    let param = |name: &&String| block.cell.params.get(*name).map(ToString::to_string);
    line.extend(params.iter().map(|name| param(name).unwrap_or_default()));
    line.extend([
        row.samples.len().to_string(),
        block.view.headline.key.to_owned(),
        number(row.cv_percent),
        block.reference.map_or_else(String::new, |arm| arm.name.clone()),
        number(row.ratio),
        number(low),
        number(high),
    ]);
    line.extend(metrics.iter().map(
        |metric| match block.view.metrics().any(|m| m.key == metric.key) {
            true => number(row.of(metric)),
            false => String::new(),
        },
    ));
    line
}
