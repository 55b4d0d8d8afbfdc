//! A sweep as CSV: a line for each lock, number of threads and variant.

use super::super::batch::Done;
use super::sweep::{spreads, waits};

/// The columns before those of the two kinds of operations.
const HEAD: [&str; 11] = [
    "variant",
    "lock",
    "threads",
    "seeds",
    "kops_per_s",
    "cv",
    "idle",
    "rmws_per_op",
    "switches_per_op",
    "involuntary_switches_per_op",
    "near_and_far_transfers_per_op",
];
const EACH: [&str; 9] = [
    "threads",
    "min_ops",
    "mean_ops",
    "max_ops",
    "acquisitions",
    "wait_p50_ns",
    "wait_p99_ns",
    "wait_p999_ns",
    "wait_max_ns",
];

/// The results of the variants of a machine, each under its label.
///
/// # Errors
///
/// Those of the writer of CSV.
pub fn csv(variants: &[(String, &[Done])], roles: [&str; 2]) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let each = roles.iter().flat_map(|role| EACH.map(|name| format!("{role}_{name}")));
    writer.write_record(HEAD.iter().map(|name| (*name).to_owned()).chain(each))?;
    for (label, results) in variants {
        for result in *results {
            writer.write_record(line(label, result))?;
        }
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

fn line(label: &str, result: &Done) -> Vec<String> {
    let far = result.mean(|sample| {
        let remote = |(name, _): &&(&str, f64)| ["near", "far"].contains(name);
        sample.transfers.iter().filter(remote).map(|(_, each)| each).sum()
    });
    let mut line = vec![
        label.to_owned(),
        result.lock.to_owned(),
        result.threads.to_string(),
        result.samples.len().to_string(),
        result.kops.to_string(),
        result.cv.map_or_else(String::new, |cv| cv.to_string()),
        result.mean(|sample| sample.idle).to_string(),
        result.mean(|sample| sample.rmws).to_string(),
        result.mean(|sample| sample.switches.0).to_string(),
        result.mean(|sample| sample.switches.1).to_string(),
        far.to_string(),
    ];
    for (kind, spread) in spreads(result).into_iter().enumerate() {
        let waits = waits(result, kind);
        line.extend([spread.threads as u64, spread.min].map(|n| n.to_string()));
        line.extend([spread.mean.to_string(), spread.max.to_string()]);
        let figures = [waits.count, waits.p50, waits.p99, waits.p999, waits.max];
        line.extend(figures.map(|n| n.to_string()));
    }
    line
}
