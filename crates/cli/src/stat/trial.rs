//! `lockwright stat --try`: the command under each of several policies in turns, and what that changes.

use std::process::ExitCode;

use lockwright_lab::analysis::stats::{mean, median, ratio_of_medians_interval};
use lockwright_lab::analysis::two_samples::{holm, mann_whitney_p};
use lockwright_lab::report::number::duration_ns;
use serde_json::{Value, json};

use super::model::Report;
use super::print::{aligned, shortened};
use super::{Out, StatArgs, finish, mean_of, one_run};
use crate::failure::{Failure, exit};

/// Runs of each policy, unless `-r` says otherwise: with fewer than four no difference could be told
/// from chance.
const RUNS: u32 = 5;

/// A difference may be called one with this chance of error in any of a table's rows.
const LEVEL: f64 = 0.05;

/// A difference smaller than this is nothing to change a policy for.
const WORTH: f64 = 0.02;

/// A policy and what its runs showed.
struct Tried {
    policy: String,
    reports: Vec<Report>,
    seconds: Vec<f64>,
}

/// What is compared: its name, and its value in each run, in nanoseconds.
struct Figure {
    name: &'static str,
    of: fn(&Tried) -> Vec<f64>,
}

const FIGURES: [Figure; 3] = [
    Figure { name: "time", of: |tried| tried.seconds.iter().map(|s| s * 1e9).collect() },
    Figure {
        name: "waited",
        of: |tried| tried.reports.iter().map(|report| report.wait_ns() as f64).collect(),
    },
    Figure {
        name: "longest wait",
        of: |tried| tried.reports.iter().map(|report| report.wait_max_ns() as f64).collect(),
    },
];

/// How a policy's figure differs from that of the first.
#[derive(Clone, Copy)]
struct Change {
    median: f64,
    /// Ratio to the first policy's median, less 1.
    change: Option<f64>,
    interval: Option<[f64; 2]>,
    /// Corrected for the number of policies.
    p: Option<f64>,
}

impl Change {
    /// -1: better; 1: worse; 0: no difference can be told.
    fn verdict(&self) -> i32 {
        match (self.change, self.p) {
            (Some(change), Some(p)) if p < LEVEL && change.abs() >= WORTH => {
                if change < 0.0 {
                    -1
                } else {
                    1
                }
            }
            _ => 0,
        }
    }

    fn percent(&self) -> String {
        self.change.map_or("-".to_owned(), |change| format!("{:+.1} %", 100.0 * change))
    }
}

/// Runs the command under each policy in turns, and reports.
pub fn run(args: &StatArgs, policies: &[String], out: &Out) -> Result<ExitCode, Failure> {
    if policies.len() < 2 {
        return Err(Failure::Usage("--try needs two policies or more to compare".to_owned()));
    }
    let shown = args.shown(out.is_terminal());
    let mut all: Vec<Tried> = policies
        .iter()
        .map(|policy| Tried { policy: policy.clone(), reports: Vec::new(), seconds: Vec::new() })
        .collect();
    let mut code = exit::OK;
    'rounds: for round in 0..args.repeat.unwrap_or(RUNS) as usize {
        // Each begins in turn, so that none has always the same one before it.
        for place in 0..all.len() {
            let tried = (round + place) % all.len();
            let (ended, report) = one_run(args, Some(&all[tried].policy), out, &shown)?;
            let Some(report) = report else { return Ok(ExitCode::from(ended.code)) };
            if ended.interrupted {
                code = ended.code;
                break 'rounds;
            }
            if ended.code != exit::OK && code == exit::OK {
                code = ended.code;
                say!("lockwright: under {}: exit code {code}", all[tried].policy);
            }
            all[tried].seconds.push(ended.took.as_secs_f64());
            all[tried].reports.push(report);
        }
    }
    if all.iter().any(|tried| tried.seconds.is_empty()) {
        return Ok(ExitCode::from(code));
    }
    let changes: Vec<Vec<Change>> = FIGURES.iter().map(|figure| changes(&all, figure)).collect();
    let runs = all.iter().map(|tried| tried.seconds.len()).min().unwrap_or(0);
    let first = mean_of(all[0].reports.clone()).unwrap_or_default();
    let seconds = mean(&all[0].seconds).unwrap_or(0.0);
    if args.json {
        let text = format!("{:#}\n", as_json(&all, &changes, &first, &shown, seconds));
        out.write(&text)?;
        return Ok(ExitCode::from(code));
    }
    let title = format!(
        "Locks of {} under {}, {seconds:.2} s, mean of {} runs",
        args.command_line(),
        all[0].policy,
        all[0].seconds.len()
    );
    let mut tail = table(&all, &changes, runs);
    tail.push_str(&by_lock(&all, &first, args.top));
    tail.push_str(&advice(&all, &changes, runs));
    finish(args, &first, &shown, out, &title, seconds, &tail)?;
    Ok(ExitCode::from(code))
}

/// How each policy differs from the first in one figure.
fn changes(all: &[Tried], figure: &Figure) -> Vec<Change> {
    let base = (figure.of)(&all[0]);
    let others: Vec<Vec<f64>> = all[1..].iter().map(figure.of).collect();
    let plain: Vec<f64> =
        others.iter().map(|own| mann_whitney_p(&base, own).unwrap_or(1.0)).collect();
    let alone = median(&base).unwrap_or(0.0);
    let first = Change { median: alone, change: None, interval: None, p: None };
    let rest = others.iter().zip(holm(&plain)).map(|(own, p)| {
        let median = median(own).unwrap_or(0.0);
        let interval = ratio_of_medians_interval(own, &base, 1);
        Change {
            median,
            change: (alone > 0.0).then(|| median / alone - 1.0),
            interval: interval.map(|ends| ends.map(|end| end - 1.0)),
            p: Some(p),
        }
    });
    std::iter::once(first).chain(rest).collect()
}

fn table(all: &[Tried], changes: &[Vec<Change>], runs: usize) -> String {
    let mut text = format!(
        "\nPolicies, {runs} runs each in turns: medians, and the change against {}\n",
        all[0].policy
    );
    let head = ["policy", "", "median", "change", "95 % interval", "p"].map(str::to_owned);
    let mut rows = Vec::new();
    for (figure, changes) in FIGURES.iter().zip(changes) {
        for (tried, change) in all.iter().zip(changes) {
            let interval = change.interval.map_or(String::new(), |[low, high]| {
                format!("{:+.1} to {:+.1} %", 100.0 * low, 100.0 * high)
            });
            rows.push(vec![
                tried.policy.clone(),
                figure.name.to_owned(),
                duration_ns(change.median),
                if change.change.is_some() { change.percent() } else { String::new() },
                interval,
                change.p.map_or(String::new(), |p| format!("{p:.3}")),
            ]);
        }
    }
    text.push_str(&aligned(head.to_vec(), rows, 2));
    text
}

/// The waits for each of the locks most waited for, by policy.
fn by_lock(all: &[Tried], first: &Report, top: usize) -> String {
    let mut rows: Vec<_> = first.rows.iter().filter(|row| row.sum.wait_ns > 0).collect();
    if rows.is_empty() {
        return String::new();
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.sum.wait_ns));
    rows.truncate(top);
    let means: Vec<Report> =
        all.iter().map(|tried| mean_of(tried.reports.clone()).unwrap_or_default()).collect();
    let head = std::iter::once("lock".to_owned())
        .chain(all.iter().flat_map(|tried| [tried.policy.clone(), "longest".to_owned()]));
    let lines = rows.iter().map(|row| {
        let waits = means.iter().flat_map(|report| {
            let own =
                report.rows.iter().find(|own| own.name == row.name && own.is_same_family(row));
            own.map_or(["-".to_owned(), "-".to_owned()], |own| {
                [own.sum.wait_ns, own.sum.wait_max_ns].map(|ns| duration_ns(ns as f64))
            })
        });
        std::iter::once(shortened(&row.name)).chain(waits).collect::<Vec<_>>()
    });
    let table = aligned(head.collect(), lines.collect(), 1);
    format!("\nTime waited for each lock, mean of the runs, and the longest wait in any\n{table}")
}

/// What to do.
fn advice(all: &[Tried], changes: &[Vec<Change>], runs: usize) -> String {
    let base = &all[0].policy;
    if runs < 4 {
        return format!("\nAdvice: {runs} runs tell no difference from chance; try -r {RUNS}.\n");
    }
    let verdicts = |policy: usize| -> Vec<i32> {
        changes.iter().map(|changes| changes[policy].verdict()).collect()
    };
    // Time first, then the longest wait; what makes either worse is no advice.
    let good = |&policy: &usize| {
        let verdicts = verdicts(policy);
        verdicts[0] <= 0 && verdicts[2] <= 0 && verdicts[0] + verdicts[2] < 0
    };
    let best = (1..all.len()).filter(good).min_by(|&a, &b| {
        let key = |policy: usize| {
            let time = &changes[0][policy];
            let worth = if time.verdict() < 0 { time.change.unwrap_or(0.0) } else { 0.0 };
            (worth, changes[2][policy].median)
        };
        key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let words = |policy: usize| {
        let say = |figure: usize, name: &str| {
            let change = &changes[figure][policy];
            match change.verdict() {
                0 => format!("{name} not measurably different"),
                _ => format!("{name} {} (p = {:.3})", change.percent(), change.p.unwrap_or(1.0)),
            }
        };
        format!("{}, {}", say(0, "time"), say(2, "longest wait"))
    };
    match best {
        Some(policy) => {
            format!("\nAdvice: {} in place of {base}: {}.\n", all[policy].policy, words(policy))
        }
        None => {
            let mut text = format!("\nAdvice: stay with {base}; ");
            let others: Vec<_> =
                (1..all.len()).map(|i| format!("{}: {}", all[i].policy, words(i))).collect();
            text.push_str(&others.join("; "));
            text.push_str(".\n");
            text
        }
    }
}

fn as_json(
    all: &[Tried],
    changes: &[Vec<Change>],
    first: &Report,
    shown: &super::Shown,
    seconds: f64,
) -> Value {
    let mut value = super::print::json(first, shown, seconds);
    let tried = all.iter().enumerate().map(|(i, tried)| {
        let figures = FIGURES.iter().zip(changes).map(|(figure, changes)| {
            let change = &changes[i];
            let name = figure.name.replace(' ', "_") + "_ns";
            let about = json!({
                "runs": (figure.of)(tried), "median": change.median, "change": change.change,
                "interval": change.interval, "p": change.p,
            });
            (name, about)
        });
        let mut about: serde_json::Map<String, Value> = figures.collect();
        about.insert("policy".to_owned(), json!(tried.policy));
        Value::Object(about)
    });
    value["tried"] = Value::Array(tried.collect());
    value
}
