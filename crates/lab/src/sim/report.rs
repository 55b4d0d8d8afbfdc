//! Simulated results as text.

use std::fmt::Write;

use super::batch::Result;
use super::published::{Table, left_out};

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}", 100.0 * share))
}

/// Results of a sweep, a block for each number of threads.
pub fn sweep(results: &[Result]) -> String {
    let mut text = String::new();
    let mut threads = None;
    for result in results {
        if threads != Some(result.threads) {
            threads = Some(result.threads);
            let _ = writeln!(
                text,
                "\n{} threads\n{:<18} {:>10} {:>6}  {:>26}  {:>26} {:>7} {:>7} {:>6} {:>6}  transfers/op",
                result.threads,
                "lock",
                "kops/s",
                "cv%",
                "reads min/mean/max",
                "writes min/mean/max",
                "rmw/op",
                "vsw/op",
                "idle%",
                "wait%"
            );
        }
        let first = &result.samples[0];
        let spread = |of: super::job::Spread| {
            if of.threads == 0 {
                "-".to_owned()
            } else {
                format!("{}/{:.0}/{}", of.min, of.mean, of.max)
            }
        };
        let far: Vec<String> = first
            .transfers
            .iter()
            .enumerate()
            .map(|(i, (name, _))| (name, result.mean(|sample| sample.transfers[i].1)))
            .filter(|(_, each)| *each >= 0.005)
            .map(|(name, each)| format!("{name} {each:.2}"))
            .collect();
        let digits = if result.kops < 100.0 { 2 } else { 0 };
        let _ = writeln!(
            text,
            "{:<18} {:>10.digits$} {:>6}  {:>26}  {:>26} {:>7.2} {:>7.3} {:>6.1} {:>6.1}  {}",
            result.lock,
            result.kops,
            percent(result.cv),
            spread(first.readers),
            spread(first.writers),
            result.mean(|sample| sample.rmws),
            result.mean(|sample| sample.switches.0),
            100.0 * result.mean(|sample| sample.idle),
            100.0 * result.mean(|sample| sample.idle_contended),
            far.join(", "),
        );
    }
    text.push_str(
        "\nkops/s and cv: mean and spread over the seeds; reads, writes: sections of a thread that reads (or \
         does both), that writes, in the time that counts, first seed; wait%: \
         CPUs idle while threads slept until woken\n",
    );
    text
}

/// Lock events of a sweep, first seed.
pub fn events(results: &[Result]) -> String {
    let mut text = String::from("\nlock events, first seed\n");
    for result in results {
        let events = result.samples[0].events.iter().map(|(name, n)| format!("{name} {n}"));
        let events: Vec<_> = events.collect();
        let _ =
            writeln!(text, "{}, {} threads: {}", result.lock, result.threads, events.join(", "));
    }
    text
}

/// Published tables beside simulated ones.
pub fn published(tables: &[Table]) -> String {
    let mut text = String::new();
    for table in tables {
        let _ = writeln!(text, "{}", table.name);
        for line in &table.source {
            let _ = writeln!(text, "  {line}");
        }
        let _ = writeln!(text, "  simulated: {}", table.about);
        let _ = writeln!(
            text,
            "\n  {:<28} {:<24} {:<18} {:>12} {:>12} {:>7} {:>6}",
            "row", "column", "lock", "published", "simulated", "ratio", "cv%"
        );
        for cell in &table.cells {
            let digits = if cell.published < 100.0 { 2 } else { 0 };
            let _ = writeln!(
                text,
                "  {:<28} {:<24} {:<18} {:>12.digits$} {:>12.digits$} {:>7.2} {:>6}",
                cell.row,
                cell.column,
                cell.lock,
                cell.published,
                cell.simulated,
                cell.simulated / cell.published,
                percent(cell.cv),
            );
        }
        text.push('\n');
        text += &verdicts(table);
        text.push('\n');
    }
    text.push_str("Not simulated:\n");
    for (name, why) in left_out() {
        let _ = writeln!(text, "  {name}: {why}");
    }
    text
}

/// The same tables from changed machines: errors and verdicts.
pub fn varied(label: &str, tables: &[Table]) -> String {
    let mut text = format!("\nWith {label}:\n");
    for table in tables {
        let _ = writeln!(text, "\n{}", table.name);
        text += &verdicts(table);
    }
    text
}

fn verdicts(table: &Table) -> String {
    let mut text = String::new();
    // One figure, or all the same, have no rank.
    let rank = match table.rank_correlation {
        rank if rank.is_finite() => format!("{rank:.2}"),
        _ => "-".to_owned(),
    };
    let (mean, median) = (100.0 * table.mean_error, 100.0 * table.median_error);
    let _ =
        writeln!(text, "  error: mean {mean:.0} %, median {median:.0} %; rank correlation {rank}");
    for verdict in &table.verdicts {
        let word = if verdict.holds { "holds" } else { "DOES NOT HOLD" };
        let _ = writeln!(text, "  {word}: {}; seen: {}", verdict.claim, verdict.seen);
    }
    text
}
