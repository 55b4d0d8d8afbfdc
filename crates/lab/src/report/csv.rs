//! The figures as CSV: one line per lock and setting, the three measurements in one file.
//!
//! A column that does not apply to a measurement is empty.

use std::io::Write;

use serde::Serialize;

use crate::results::{CellResult, MutexBenchResult};

#[derive(Default, Serialize)]
struct Line<'a> {
    measurement: &'a str,
    lock: &'a str,
    kind: &'a str,
    threads: usize,
    load_pauses: Option<u32>,
    load_ns: Option<f64>,
    outside_pauses: Option<u32>,
    outside_ns: Option<f64>,
    burst_ops: Option<u32>,
    samples: usize,
    ns_per_pair: Option<f64>,
    gross_ns_per_pair: Option<f64>,
    kops_per_s: Option<f64>,
    mean_kops_per_s: Option<f64>,
    cv_percent: Option<f64>,
    reference: Option<&'a str>,
    ratio: Option<f64>,
    ratio_ci95_low: Option<f64>,
    ratio_ci95_high: Option<f64>,
    thread_min_kops_per_s: Option<f64>,
    thread_mean_kops_per_s: Option<f64>,
    thread_max_kops_per_s: Option<f64>,
    jain_index: Option<f64>,
    cpu_s_per_mop: Option<f64>,
    cpus_used: Option<f64>,
    voluntary_switches_per_mop: Option<f64>,
    involuntary_switches_per_mop: Option<f64>,
    waits: Option<u64>,
    wait_mean_ns: Option<f64>,
    wait_p50_ns: Option<u64>,
    wait_p90_ns: Option<u64>,
    wait_p99_ns: Option<u64>,
    wait_p999_ns: Option<u64>,
    wait_max_ns: Option<u64>,
}

/// Writes the header and one line per row.
///
/// # Errors
///
/// Those of `out`.
pub fn write(result: &MutexBenchResult, out: impl Write) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    for line in uncontended(result) {
        writer.serialize(line)?;
    }
    for cell in &result.cells {
        for line in throughput(cell).chain(waits(cell)) {
            writer.serialize(line)?;
        }
    }
    writer.flush()?;
    Ok(())
}

fn uncontended(result: &MutexBenchResult) -> impl Iterator<Item = Line<'_>> {
    result.uncontended.iter().flat_map(|table| {
        table.rows.iter().map(|row| Line {
            measurement: "uncontended",
            lock: &row.lock,
            kind: row.kind.name(),
            threads: 1,
            samples: row.batches,
            ns_per_pair: row.ns_per_pair,
            gross_ns_per_pair: row.gross_ns_per_pair,
            cv_percent: row.cv_percent,
            reference: table.reference.as_deref(),
            ratio: row.ratio,
            ..Line::default()
        })
    })
}

fn setting<'a>(cell: &'a CellResult, measurement: &'a str) -> Line<'a> {
    Line {
        measurement,
        threads: cell.threads,
        load_pauses: Some(cell.load_pauses),
        load_ns: Some(cell.load_ns),
        outside_pauses: Some(cell.outside_pauses),
        outside_ns: Some(cell.outside_ns),
        burst_ops: Some(cell.burst_ops),
        ..Line::default()
    }
}

fn throughput(cell: &CellResult) -> impl Iterator<Item = Line<'_>> {
    cell.throughput.iter().map(|row| Line {
        lock: &row.lock,
        kind: row.kind.name(),
        samples: row.rounds,
        kops_per_s: row.kops_per_s,
        mean_kops_per_s: row.mean_kops_per_s,
        cv_percent: row.cv_percent,
        reference: cell.reference.as_deref(),
        ratio: row.ratio,
        ratio_ci95_low: row.ratio_ci95.map(|[low, _]| low),
        ratio_ci95_high: row.ratio_ci95.map(|[_, high]| high),
        thread_min_kops_per_s: row.thread_min_kops_per_s,
        thread_mean_kops_per_s: row.thread_mean_kops_per_s,
        thread_max_kops_per_s: row.thread_max_kops_per_s,
        jain_index: row.jain_index,
        cpu_s_per_mop: row.cpu_s_per_mop,
        cpus_used: row.cpus_used,
        voluntary_switches_per_mop: row.voluntary_switches_per_mop,
        involuntary_switches_per_mop: row.involuntary_switches_per_mop,
        ..setting(cell, "throughput")
    })
}

fn waits(cell: &CellResult) -> impl Iterator<Item = Line<'_>> {
    cell.waits.iter().map(|row| Line {
        lock: &row.lock,
        kind: row.kind.name(),
        samples: row.rounds,
        waits: Some(row.waits),
        wait_mean_ns: Some(row.mean_ns),
        wait_p50_ns: Some(row.p50_ns),
        wait_p90_ns: Some(row.p90_ns),
        wait_p99_ns: Some(row.p99_ns),
        wait_p999_ns: Some(row.p999_ns),
        wait_max_ns: Some(row.max_ns),
        ..setting(cell, "waits")
    })
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn there_is_a_line_per_row_and_all_have_the_same_columns() {
        let result = example::result();
        let mut text = Vec::new();
        write(&result, &mut text).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_slice());
        assert_eq!(&reader.headers().unwrap()[0], "measurement");
        let lines = reader.records().collect::<Result<Vec<_>, _>>().unwrap();
        let rows = |cell: &CellResult| cell.throughput.len() + cell.waits.len();
        let uncontended = result.uncontended.as_ref().unwrap().rows.len();
        assert_eq!(lines.len(), uncontended + result.cells.iter().map(rows).sum::<usize>());
    }
}
