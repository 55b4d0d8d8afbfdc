//! Comparisons in the layouts of other tools, and in the formats that other tools read.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::compare::p_value;
use crate::analysis::compare::overall;
use crate::analysis::compare::{Judged, Pair, Verdict, difference};
use crate::analysis::stats::{max, mean, min};
use crate::record::Record;
use crate::record::metric::{self, Metric, Unit};

/// As `lkp compare` of the kernel's performance robot prints it.
pub fn lkp(judged: &[Judged], seed: u64) -> String {
    let mut text = String::new();
    for one in judged {
        let pair = &one.pair;
        let _ = writeln!(text, "{}\n{}:", "=".repeat(73), pair.cell.title);
        let _ = writeln!(text, "\n{:>16} {:>27}", pair.base_name, pair.name);
        let _ = writeln!(text, "{} {}", "-".repeat(16), "-".repeat(27));
        let _ = writeln!(text, "{:>16} {:>11} {:>15}", "%stddev", "%change", "%stddev");
        let _ = writeln!(text, "{:>14}   {:>10} {:>14}", "\\", "|", "\\");
        let mut seen = Vec::new();
        let scheduler = [&metric::RUNNABLE, &metric::IDLE_CPUS];
        for metric in pair.view.metrics().chain(scheduler) {
            if !seen.contains(&metric.key) {
                seen.push(metric.key);
                text += &lkp_line(pair, metric, seed);
            }
        }
        text.push('\n');
    }
    text
}

fn lkp_line(pair: &Pair, metric: &'static Metric, seed: u64) -> String {
    let (base, own) = pair.values(metric);
    let d = difference(metric, &base, &own, seed);
    let (Some(before), Some(after)) = (d.base.mean, d.own.mean) else { return String::new() };
    let number = |value: f64| match value {
        value if value.abs() > 1e8 => format!("{value:.3e}"),
        value if value.abs() < 1_000.0 => format!("{value:.2}"),
        value => format!("{value:.0}"),
    };
    // The robot prints a spread only where it is above 2 %.
    let spread = |cv: Option<f64>| match cv {
        Some(cv) if cv > 2.0 => format!(" ± {cv:2.0}%"),
        _ => String::new(),
    };
    let change = if metric.unit == Unit::Percent {
        format!("{:+.1}", after - before)
    } else if before != 0.0 {
        format!("{:+.1}%", 100.0 * (after / before - 1.0))
    } else {
        String::new()
    };
    let left = format!("{:>10}{:<6}", number(before), spread(d.base.cv_percent));
    let right = format!("{:>10}{:<6}", number(after), spread(d.own.cv_percent));
    format!("{left} {change:>11} {right}  {}\n", lkp_name(metric))
}

/// What the robot calls a metric.
fn lkp_name(metric: &Metric) -> &'static str {
    match metric.key {
        "wall_s" => "time.elapsed_time",
        "user_s" => "time.user_time",
        "system_s" => "time.system_time",
        "cpu_percent" => "time.percent_of_cpu_this_job_got",
        "voluntary_switches" => "time.voluntary_context_switches",
        "involuntary_switches" => "time.involuntary_context_switches",
        "minor_faults" => "time.minor_page_faults",
        "major_faults" => "time.major_page_faults",
        "peak_bytes" => "time.maximum_resident_set_size",
        "runnable_threads" => "vmstat.procs.r",
        key => key,
    }
}

/// As Go's benchstat prints it: medians, `~` where there is no difference.
pub fn benchstat(judged: &[Judged]) -> String {
    let mut text = String::new();
    let width =
        judged.iter().map(|one| one.pair.cell.title.chars().count()).max().unwrap_or(0).max(7);
    let mut header = (String::new(), String::new());
    for one in judged {
        let (base, name) = (one.pair.base_name.clone(), one.pair.name.clone());
        if header != (base.clone(), name.clone()) {
            let unit = one.headline.metric.key;
            let _ = writeln!(text, "{:width$} │ {base:^16} │ {name:^36} │", "");
            let _ = writeln!(text, "{:width$} │ {unit:^16} │ {unit:^16} {:<19} │", "", "vs base");
            header = (base, name);
        }
        let d = &one.headline;
        let side = |median: Option<f64>, cv: Option<f64>| match median {
            Some(median) => {
                format!("{} ± {:2.0}%", four_digits(median), cv.unwrap_or(f64::INFINITY))
            }
            None => "-".to_owned(),
        };
        let sure = matches!(one.verdict, Verdict::Better | Verdict::Worse);
        let change = match d.change.filter(|_| sure) {
            Some(change) => format!("{:+.2}%", 100.0 * change),
            None => "~".to_owned(),
        };
        let test = format!("(p={} n={})", p_value(one.p), d.own.runs.min(d.base.runs));
        let title = &one.pair.cell.title;
        let (left, right) =
            (side(d.base.median, d.base.cv_percent), side(d.own.median, d.own.cv_percent));
        let _ = writeln!(text, "{title:width$}   {left:>16}   {right:>16} {change:>8} {test}");
    }
    if let Some((_, ratio)) = overall(judged.iter()).filter(|_| judged.len() > 1) {
        let _ = writeln!(
            text,
            "{:width$}   {:>16}   {:>16} {:>+8.2}%",
            "geomean",
            "",
            "",
            100.0 * (ratio - 1.0)
        );
    }
    text
}

fn four_digits(value: f64) -> String {
    let decimals = (3 - value.abs().max(1e-12).log10().floor() as i32).clamp(0, 9) as usize;
    format!("{value:.decimals$}")
}

/// As hyperfine prints it: a block for each command, then how many times faster the fastest ran.
pub fn hyperfine(record: &Record) -> String {
    let mut text = String::new();
    let mut means = Vec::new();
    for (at, arm) in record.arms.iter().enumerate() {
        let samples = record.measured(at, 0);
        let of =
            |metric: &Metric| -> Vec<f64> { samples.iter().filter_map(|s| metric.of(s)).collect() };
        let walls = of(&metric::WALL);
        let (Some(middle), Some(least), Some(most)) = (mean(&walls), min(&walls), max(&walls))
        else {
            continue;
        };
        let deviation = crate::analysis::stats::cv_percent(&walls).unwrap_or(0.0) / 100.0 * middle;
        let time = |seconds: f64| {
            if middle < 1.0 {
                format!("{:.1} ms", 1e3 * seconds)
            } else {
                format!("{seconds:.3} s")
            }
        };
        let user = mean(&of(&metric::USER)).unwrap_or(0.0);
        let system = mean(&of(&metric::SYSTEM)).unwrap_or(0.0);
        let _ = writeln!(text, "Benchmark {}: {}", at + 1, arm.name);
        let _ = writeln!(
            text,
            "  Time (mean ± σ):     {:>10} ± {:>9}    [User: {}, System: {}]",
            time(middle),
            time(deviation),
            time(user),
            time(system)
        );
        let _ = writeln!(
            text,
            "  Range (min … max):   {:>10} … {:>9}    {} runs\n",
            time(least),
            time(most),
            walls.len()
        );
        means.push((middle, deviation, arm.name.clone()));
    }
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((fastest, own, name)) = means.first().filter(|_| means.len() > 1) {
        let _ = writeln!(text, "Summary\n  {name} ran");
        for (middle, deviation, other) in &means[1..] {
            let ratio = middle / fastest;
            let error = ratio * ((deviation / middle).powi(2) + (own / fastest).powi(2)).sqrt();
            let _ = writeln!(text, "{ratio:>8.2} ± {error:.2} times faster than {other}");
        }
    }
    text
}

/// What benchstat reads: a line for each run.
pub fn go_benchmarks(record: &Record) -> String {
    let mut text = String::new();
    for (cell, arm, samples) in places(record) {
        let metric = crate::experiment::view::of(cell.kind).headline;
        let params: String = cell
            .params
            .iter()
            .map(|(name, value)| format!("/{name}={}", word(&value.to_string())))
            .collect();
        for figure in samples.iter().filter_map(|sample| metric.of(sample)) {
            let (kind, arm) = (word(cell.kind.name()), word(arm));
            // Seconds and nanoseconds have units of their own there.
            let (figure, unit) = match metric.unit {
                Unit::Seconds => (figure, "sec/op"),
                Unit::Nanoseconds | Unit::FineNanoseconds => (figure, "ns/op"),
                _ => (figure, metric.key),
            };
            let _ = writeln!(text, "Benchmark{kind}/arm={arm}{params} 1 {figure} {unit}");
        }
    }
    text
}

/// A name without what ends a word there.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c == '/' || c == '=' { '_' } else { c }).collect()
}

/// What Bencher reads: Bencher Metric Format.
pub fn bmf(record: &Record) -> Value {
    let mut all = Map::new();
    for (cell, arm, samples) in places(record) {
        let mut measures = Map::new();
        for metric in crate::experiment::view::of(cell.kind).metrics() {
            let figures: Vec<f64> = samples.iter().filter_map(|sample| metric.of(sample)).collect();
            if let (Some(value), Some(low), Some(high)) =
                (metric.over(&samples), min(&figures), max(&figures))
            {
                let measure = json!({ "value": value, "lower_value": low, "upper_value": high });
                measures.insert(metric.key.to_owned(), measure);
            }
        }
        all.insert(format!("{arm}: {}", cell.title), Value::Object(measures));
    }
    Value::Object(all)
}

/// What Apache Otava reads: CSV, a line for each run, a column for each arm's headline in each cell.
///
/// # Errors
///
/// Those of the writer, which writes to memory.
pub fn otava(record: &Record) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let columns: Vec<(String, Vec<f64>)> = places(record)
        .map(|(cell, arm, samples)| {
            let metric = crate::experiment::view::of(cell.kind).headline;
            let figures = samples.iter().filter_map(|sample| metric.of(sample)).collect();
            (format!("{arm}: {} {}", cell.title, metric.key), figures)
        })
        .collect();
    let commit = record.header.tool.commit.clone().unwrap_or_default();
    let names = columns.iter().map(|(name, _)| name.as_str());
    writer.write_record(["time", "commit"].into_iter().chain(names))?;
    let rounds = columns.iter().map(|(_, figures)| figures.len()).max().unwrap_or(0);
    for round in 0..rounds {
        // Otava wants times that grow.
        let time = (record.header.started_unix_s + round as u64).to_string();
        let figures = columns
            .iter()
            .map(|(_, figures)| figures.get(round).map_or_else(String::new, f64::to_string));
        writer.write_record([time, commit.clone()].into_iter().chain(figures))?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

/// Every arm in every cell that was measured there.
fn places(
    record: &Record,
) -> impl Iterator<Item = (&crate::record::Cell, &str, Vec<&crate::record::Sample>)> {
    let cells = record.cells.iter().enumerate();
    cells.flat_map(move |(at, cell)| {
        let arms = record.arms.iter().enumerate();
        let own =
            arms.map(move |(arm, named)| (cell, named.name.as_str(), record.measured(arm, at)));
        own.filter(|(.., samples)| !samples.is_empty())
    })
}
