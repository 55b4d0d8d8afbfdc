//! A sweep as a table for people.

use std::fmt::Write;

use super::super::batch::Done;
use super::super::sample::{Percentiles, SimSample, Spread};
use super::percent;
use crate::report::number::duration_ns;

/// What of a result its two kinds of operations are told apart by.
pub(super) fn spreads(result: &Done) -> [Spread; 2] {
    let of: [fn(&SimSample) -> Spread; 2] = [|sample| sample.readers, |sample| sample.writers];
    of.map(|of| Spread::of_all(result.samples.iter().map(of)))
}

/// Percentiles of the waits of one kind of acquisitions: the mean over the seeds, of the longest the longest.
pub(super) fn waits(result: &Done, kind: usize) -> Percentiles {
    let of = |figure: fn(&Percentiles) -> u64| {
        result.mean(|sample| figure(&sample.waits[kind]) as f64).round() as u64
    };
    Percentiles {
        count: result.samples.iter().map(|sample| sample.waits[kind].count).sum(),
        p50: of(|waits| waits.p50),
        p99: of(|waits| waits.p99),
        p999: of(|waits| waits.p999),
        max: result.samples.iter().map(|sample| sample.waits[kind].max).max().unwrap_or(0),
    }
}

/// Results of a sweep, a block for each number of threads; `roles`: what the two kinds of operations are
/// called.
pub fn sweep(results: &[Done], roles: [&str; 2]) -> String {
    let mut text = String::new();
    let mut threads = None;
    for result in results {
        if threads != Some(result.threads) {
            threads = Some(result.threads);
            let _ = writeln!(
                text,
                "\n{} threads\n{:<20} {:>8} {:>5} {:>6}  {:<7} {:>6} {:>7} {:>7} {:>7} {:>7}",
                result.threads,
                "lock",
                "kops/s",
                "cv%",
                "idle%",
                "",
                "least",
                "p50",
                "p99",
                "p99.9",
                "max"
            );
        }
        let digits = if result.kops < 100.0 { 2 } else { 0 };
        let mut head = format!(
            "{:<20} {:>8.digits$} {:>5} {:>6}",
            result.lock,
            result.kops,
            percent(result.cv),
            percent(Some(result.mean(|sample| sample.idle))),
        );
        for (kind, spread) in spreads(result).into_iter().enumerate() {
            let waits = waits(result, kind);
            if spread.threads == 0 && waits.count == 0 {
                continue;
            }
            let least =
                (spread.mean > 0.0).then(|| format!("{:.2}", spread.min as f64 / spread.mean));
            let times = [waits.p50, waits.p99, waits.p999, waits.max].map(|ns| match waits.count {
                0 => "-".to_owned(),
                _ => duration_ns(ns as f64),
            });
            let least = least.unwrap_or_else(|| "-".to_owned());
            let [p50, p99, p999, max] = times;
            let role = roles[kind];
            let _ = writeln!(
                text,
                "{head}  {role:<7} {least:>6} {p50:>7} {p99:>7} {p999:>7} {max:>7}",
            );
            head = " ".repeat(head.len());
        }
    }
    text.push_str(
        "\nkops/s, cv: mean and spread over the seeds. idle: share of the CPUs' time. least: operations of \
         the\nthread of this kind that had fewest (of all seeds), as a share of the mean; p50 to max: how \
         long who asked\nfor the lock waited for it.\n",
    );
    text
}

/// What the locks and lines did in a sweep, means over the seeds.
pub fn events(results: &[Done]) -> String {
    let mut text =
        String::from("\nfor each operation, and lock events of the counted time (first seed)\n");
    for result in results {
        let first = &result.samples[0];
        let far: Vec<String> = first
            .transfers
            .iter()
            .enumerate()
            .map(|(i, (name, _))| (name, result.mean(|sample| sample.transfers[i].1)))
            .filter(|(_, each)| *each >= 0.005)
            .map(|(name, each)| format!("{name} {each:.2}"))
            .collect();
        let events: Vec<_> = first.events.iter().map(|(name, n)| format!("{name} {n}")).collect();
        let _ = writeln!(
            text,
            "{}, {} threads: {:.2} read-modify-writes, {:.3} switches, lines from {}; {}",
            result.lock,
            result.threads,
            result.mean(|sample| sample.rmws),
            result.mean(|sample| sample.switches.0),
            if far.is_empty() { "nowhere".to_owned() } else { far.join(", ") },
            events.join(", "),
        );
    }
    text
}
