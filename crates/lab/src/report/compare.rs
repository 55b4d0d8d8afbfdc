//! Comparisons as tables and sentences.

use std::collections::BTreeMap;

use serde::Serialize;

use super::layout::{Page, Table, counted};
use super::number::{fixed, show};
use crate::analysis::compare::{
    Difference, Figure, Judged, Limits, Pair, Verdict, difference, overall,
};
use crate::record::Sample;
use crate::record::metric::{self, Better, Metric};

/// What a reader asked to see.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// All metrics of each pair, not only where there is one cell.
    pub all: bool,
    /// What counts as a difference.
    pub limits: Limits,
    /// Seed of the bootstrap.
    pub seed: u64,
}

/// The whole comparison.
pub fn page(judged: &[Judged], heading: Vec<String>, shown: Shown) -> Page {
    let mut cells: Vec<&str> = judged.iter().map(|one| one.pair.cell.title.as_str()).collect();
    cells.dedup();
    let mut tables = Vec::new();
    for &title in &cells {
        let own = || judged.iter().filter(|one| one.pair.cell.title == title);
        if shown.all || cells.len() == 1 {
            tables.extend(own().map(|one| all_metrics(one, shown)));
            tables.extend(run_queues(own().map(|one| &one.pair)));
        } else {
            tables.push(headlines(title, own()));
        }
    }
    Page { heading, tables, conclusion: conclusion(judged, shown), legend: legend(shown) }
}

/// Adds to a report how it compares with an older one: a table for each cell in which anything
/// differs, and what it comes to.
pub fn since(page: &mut Page, judged: &[Judged], older: &str, shown: Shown) {
    let mut cells: Vec<&str> = judged.iter().map(|one| one.pair.cell.title.as_str()).collect();
    cells.dedup();
    for title in cells {
        let differs = |one: &&Judged| {
            let same = matches!(one.verdict, Verdict::Same | Verdict::TooNoisy);
            one.pair.cell.title == title && !same
        };
        if judged.iter().any(|one| differs(&one)) {
            let title = format!("against {older}: {title}");
            page.tables.push(headlines(&title, judged.iter().filter(differs)));
        }
    }
    let lines = conclusion(judged, shown);
    page.conclusion.extend(lines.into_iter().map(|line| format!("against {older}: {line}")));
    page.legend.extend(legend(shown));
}

/// Every metric of a pair, a row each.
fn all_metrics(one: &Judged, shown: Shown) -> Table {
    let pair = &one.pair;
    let head = ["", "base", "other", "change", "95%-interval", "p", "verdict"];
    let mut seen: Vec<&str> = Vec::new();
    let mut rows = vec![row(&one.headline, one.p, one.verdict.words())];
    seen.push(one.headline.metric.key);
    for metric in explaining(pair) {
        if !seen.contains(&metric.key) {
            seen.push(metric.key);
            let d = explained(pair, metric, shown.seed);
            if d.base.runs > 0 && d.own.runs > 0 {
                rows.push(row(&d, d.welch_p, ""));
            }
        }
    }
    Table {
        title: format!("{}\nbase: {}; other: {}", pair.cell.title, pair.base_name, pair.name),
        head: head.map(str::to_owned).to_vec(),
        rows,
        notes: Vec::new(),
    }
}

/// The metrics that explain a headline: those of the cell, and what the scheduler says.
fn explaining(pair: &Pair) -> impl Iterator<Item = &'static Metric> {
    let scheduler = [&metric::RUNNABLE, &metric::IDLE_CPUS];
    pair.view.metrics().chain(scheduler)
}

fn explained(pair: &Pair, metric: &'static Metric, seed: u64) -> Difference {
    let (base, own) = pair.values(metric);
    difference(metric, &base, &own, seed)
}

fn row(d: &Difference, p: Option<f64>, verdict: &str) -> Vec<String> {
    vec![
        d.metric.head.to_owned(),
        with_spread(d.metric, &d.base),
        with_spread(d.metric, &d.own),
        percent(d.change),
        d.interval.map_or_else(
            || fixed(None, 0),
            |[low, high]| format!("{}..{}", percent(Some(low)), percent(Some(high))),
        ),
        p_value(p),
        verdict.to_owned(),
    ]
}

/// The median, and the spread if it is worth a word.
fn with_spread(metric: &Metric, figure: &Figure) -> String {
    let mut text = show(metric.unit, figure.median);
    if let Some(cv) = figure.cv_percent.filter(|cv| cv.is_finite() && *cv >= 0.5) {
        text += &format!(" ±{cv:.0}%");
    }
    text
}

pub(super) fn percent(change: Option<f64>) -> String {
    match change.filter(|change| change.is_finite()) {
        Some(change) if change.abs() >= 10.0 => format!("x{:.1}", 1.0 + change),
        Some(change) => format!("{:+.1}%", 100.0 * change),
        None => fixed(None, 0),
    }
}

pub(super) fn p_value(p: Option<f64>) -> String {
    match p {
        Some(p) if p < 0.0001 => "<.0001".to_owned(),
        Some(p) => format!("{p:.4}"),
        None => fixed(None, 0),
    }
}

/// The headlines of several pairs in one cell, a row each.
fn headlines<'a>(title: &str, judged: impl Iterator<Item = &'a Judged<'a>>) -> Table {
    let head = ["", "base", "other", "change", "95%-interval", "p", "verdict"];
    let named = |one: &Judged| {
        let mut row = row(&one.headline, one.p, one.verdict.words());
        row[0] = format!("{} {}", one.pair.name, one.headline.metric.head);
        row
    };
    Table {
        title: title.to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: judged.map(named).collect(),
        notes: Vec::new(),
    }
}

/// How long run queues were: the share of the time in which a CPU had so many runnable threads of
/// the arm. `None` where they were not sampled.
fn run_queues<'a>(pairs: impl Iterator<Item = &'a Pair<'a>>) -> Option<Table> {
    const ENDS: [(&str, f64); 6] = [
        ("0", 0.0),
        ("1", 1.0),
        ("2-3", 3.0),
        ("4-7", 7.0),
        ("8-15", 15.0),
        ("16+", f64::INFINITY),
    ];
    let line = |name: &str, samples: &[&Sample]| -> Option<Vec<String>> {
        let lengths: Vec<f64> = samples
            .iter()
            .flat_map(|sample| sample.run_queues())
            .flat_map(|(_, queue)| queue)
            .copied()
            .collect();
        let mut least = -1.0;
        let shares = ENDS.map(|(_, most)| {
            let count = lengths.iter().filter(|&&length| length > least && length <= most).count();
            least = most;
            format!("{:.0}%", 100.0 * count as f64 / lengths.len().max(1) as f64)
        });
        let mut row = vec![name.to_owned()];
        row.extend(shares);
        row.push(fixed(metric::IDLE_CPUS.over(samples), 2));
        (!lengths.is_empty()).then_some(row)
    };
    let mut rows = Vec::new();
    for (at, pair) in pairs.enumerate() {
        if at == 0 {
            rows.extend(line(&pair.base_name, &pair.base));
        }
        rows.extend(line(&pair.name, &pair.own));
    }
    (!rows.is_empty()).then(|| Table {
        title: "run queues: share of the time in which a CPU had so many runnable threads"
            .to_owned(),
        head: std::iter::once("")
            .chain(ENDS.map(|(word, _)| word))
            .chain(["idle CPUs"])
            .map(str::to_owned)
            .collect(),
        rows,
        notes: Vec::new(),
    })
}

/// What a person can quote.
fn conclusion(judged: &[Judged], shown: Shown) -> Vec<String> {
    let mut lines = Vec::new();
    if let [one] = judged {
        lines.push(sentence(one, shown));
    } else {
        lines.extend(counts(judged));
        let mut names: Vec<&str> = judged.iter().map(|one| one.pair.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let own = || judged.iter().filter(move |one| one.pair.name == name);
            let single = judged.len() <= 3 && own().count() == 1;
            match own().next() {
                Some(one) if single => lines.push(sentence(one, shown)),
                _ => lines.extend(geomeans(name, own())),
            }
        }
    }
    lines.extend(
        judged.iter().filter(|one| one.headline.own.two_modes || one.headline.base.two_modes).map(
            |one| {
                let pair = &one.pair;
                format!(
                    "{}, {}: the runs fall into two groups; a mean says little",
                    pair.cell.title, pair.name
                )
            },
        ),
    );
    lines
}

fn counts(judged: &[Judged]) -> Vec<String> {
    use Verdict::{Better, Same, TooNoisy, WiderSpread, Worse};
    let counts = [Better, Worse, Same, WiderSpread, TooNoisy].map(|verdict| {
        let count = judged.iter().filter(|one| one.verdict == verdict).count();
        (count > 0).then(|| format!("{count} {}", verdict.words()))
    });
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    vec![format!("{}: {}.", counted(judged.len(), "comparison"), counts.join(", "))]
}

/// One for each metric that cells are judged by.
fn geomeans<'a>(name: &str, own: impl Iterator<Item = &'a Judged<'a>> + Clone) -> Vec<String> {
    let mut keys: Vec<&str> = own.clone().map(|one| one.headline.metric.key).collect();
    keys.sort_unstable();
    keys.dedup();
    let of = |key| geomean(name, own.clone().filter(move |one| one.headline.metric.key == key));
    keys.into_iter().filter_map(of).collect()
}

fn geomean<'a>(name: &str, own: impl Iterator<Item = &'a Judged<'a>> + Clone) -> Option<String> {
    let cells = own.clone().count();
    let base = own.clone().next()?.pair.base_name.clone();
    let (metric, ratio) = overall(own)?;
    let change = percent(Some(ratio - 1.0));
    Some(format!(
        "{name} against {base}: geometric mean of {} over {}: {change}.",
        metric.head,
        counted(cells, "cell")
    ))
}

/// One comparison in a sentence, and what goes with it.
fn sentence(one: &Judged, shown: Shown) -> String {
    let (d, pair) = (&one.headline, &one.pair);
    let figures = format!(
        "{} {} -> {}",
        d.metric.head,
        show(d.metric.unit, d.base.median),
        show(d.metric.unit, d.own.median)
    );
    let interval = d.interval.map_or_else(String::new, |[low, high]| {
        format!(", 95 %: {} to {}", percent(Some(low)), percent(Some(high)))
    });
    let (name, base) = (&pair.name, &pair.base_name);
    let how = match one.verdict {
        Verdict::Better | Verdict::Worse => {
            format!("{} is {} than {base}", name, one.verdict.words())
        }
        Verdict::Same => format!("{name} is the same as {base}"),
        Verdict::WiderSpread => {
            format!("{name} is the same as {base} in the middle, with a wider spread")
        }
        Verdict::TooNoisy => format!("{name} against {base}: too noisy to say"),
    };
    let mut text =
        format!("{how}: {figures} ({}{interval}; p {}).", percent(d.change), p_value(one.p));
    if matches!(one.verdict, Verdict::Better | Verdict::Worse) {
        let goes_with = goes_with(one, shown);
        if !goes_with.is_empty() {
            text += &format!(" It goes with: {}.", goes_with.join("; "));
        }
    }
    text
}

/// What changed beside the headline, surely and by a fifth at least: what the scheduler says first,
/// then one wait, then lock events.
fn goes_with(one: &Judged, shown: Shown) -> Vec<String> {
    let candidates = [
        &metric::VOLUNTARY,
        &metric::VOLUNTARY_ALL,
        &metric::CPU,
        &metric::SYSTEM,
        &metric::CPU_PERCENT,
        &metric::IDLE_CPUS,
        &metric::RUNNABLE,
        &metric::JAIN,
        &metric::WAIT_P99,
    ];
    let changed = |metric: &&'static Metric| {
        let d = explained(&one.pair, metric, shown.seed);
        let (base, own) = (d.base.median?, d.own.median?);
        let sure = d.welch_p? < shown.limits.alpha && metric.key != one.headline.metric.key;
        // A change from nothing has no ratio.
        let large = base == 0.0 || (own / base - 1.0).abs() >= 0.2;
        let figures = [base, own].map(|figure| show(metric.unit, Some(figure)));
        let text = format!("{} {}{}", metric.head, figures.join(" -> "), times(base, own));
        (sure && large).then_some(text)
    };
    let events = changed_events(&one.pair).into_iter().take(4);
    let events =
        events.map(|(name, base, own)| format!("{name} {base:.3} -> {own:.3} an operation"));
    let own: Vec<&str> = explaining(&one.pair).map(|metric| metric.key).collect();
    let candidates = candidates.iter().filter(|metric| own.contains(&metric.key));
    candidates.filter_map(changed).chain(events).collect()
}

fn times(base: f64, own: f64) -> String {
    if base > 0.0 && own / base >= 2.0 {
        format!(" ({:.1} times)", own / base)
    } else if own > 0.0 && base / own >= 2.0 {
        format!(" (1 / {:.1})", base / own)
    } else {
        String::new()
    }
}

/// Lock events per operation that at least doubled or halved: who waited, and who woke whom.
fn changed_events(pair: &Pair) -> Vec<(String, f64, f64)> {
    let rates = |samples: &[&Sample]| -> BTreeMap<String, f64> {
        let ops: u64 = samples.iter().map(|sample| sample.ops()).sum();
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        for (name, count) in samples.iter().flat_map(|sample| &sample.events) {
            *sums.entry(name.clone()).or_default() += *count as f64 / ops.max(1) as f64;
        }
        sums
    };
    let (base, own) = (rates(&pair.base), rates(&pair.own));
    if base.is_empty() || own.is_empty() {
        return Vec::new();
    }
    let names: Vec<&String> = base.keys().chain(own.keys()).collect();
    let mut changed: Vec<(String, f64, f64)> = Vec::new();
    for name in names {
        let (a, b) =
            (base.get(name).copied().unwrap_or(0.0), own.get(name).copied().unwrap_or(0.0));
        let large = a.max(b) >= 0.01 && a.max(b) >= 2.0 * a.min(b);
        if large && changed.iter().all(|(have, ..)| have != name) {
            changed.push((name.clone(), a, b));
        }
    }
    changed.sort_by(|x, y| y.1.max(y.2).total_cmp(&x.1.max(x.2)));
    changed
}

fn legend(shown: Shown) -> Vec<String> {
    let Limits { alpha, min_effect, .. } = shown.limits;
    vec![format!(
        "change: of the medians; ±: spread of the runs; p: Welch's test, of verdicts corrected \
             after Holm over all of them. Better and worse: p below {alpha}, by at least {:.1} %, \
             and the test of Mann and Whitney agrees.",
        100.0 * min_effect
    )]
}

/// A judgement as files have it.
#[derive(Serialize)]
pub struct VerdictRecord<'a> {
    cell: &'a str,
    base: &'a str,
    name: &'a str,
    metric: &'a str,
    better: &'static str,
    base_runs: usize,
    runs: usize,
    base_median: Option<f64>,
    median: Option<f64>,
    base_mean: Option<f64>,
    mean: Option<f64>,
    base_cv_percent: Option<f64>,
    cv_percent: Option<f64>,
    change: Option<f64>,
    change_low: Option<f64>,
    change_high: Option<f64>,
    welch_p: Option<f64>,
    mann_whitney_p: Option<f64>,
    corrected_p: Option<f64>,
    cliffs_delta: Option<f64>,
    hodges_lehmann_shift: Option<f64>,
    verdict: &'static str,
}

/// The judgements as CSV.
///
/// # Errors
///
/// Those of `out`.
pub fn csv(judged: &[Judged], out: impl std::io::Write) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    verdict_records(judged).into_iter().try_for_each(|record| writer.serialize(record))?;
    writer.flush()?;
    Ok(())
}

/// The judgements as files have them.
pub fn verdict_records<'a>(judged: &'a [Judged<'a>]) -> Vec<VerdictRecord<'a>> {
    let record = |one: &'a Judged<'a>| {
        let d = &one.headline;
        VerdictRecord {
            cell: &one.pair.cell.title,
            base: &one.pair.base_name,
            name: &one.pair.name,
            metric: d.metric.key,
            better: match d.metric.better {
                Better::Higher => "higher",
                Better::Lower => "lower",
                Better::Neither => "neither",
            },
            base_runs: d.base.runs,
            runs: d.own.runs,
            base_median: d.base.median,
            median: d.own.median,
            base_mean: d.base.mean,
            mean: d.own.mean,
            base_cv_percent: d.base.cv_percent,
            cv_percent: d.own.cv_percent,
            change: d.change,
            change_low: d.interval.map(|[low, _]| low),
            change_high: d.interval.map(|[_, high]| high),
            welch_p: d.welch_p,
            mann_whitney_p: d.mann_whitney_p,
            corrected_p: one.p,
            cliffs_delta: d.delta,
            hodges_lehmann_shift: d.shift,
            verdict: one.verdict.words(),
        }
    };
    judged.iter().map(record).collect()
}
