//! Arms against a base: by how much they differ, how sure that is, and a verdict for each cell.
//!
//! | verdict | when |
//! |---|---|
//! | better, worse | Welch's test says so after Holm's correction over all that is judged, the test of Mann and Whitney and the medians agree, and the change is at least the smallest of interest |
//! | same, wider spread | neither, but the test of Brown and Forsythe finds more spread |
//! | same | neither, and the interval of the change is narrow enough to say so |
//! | too noisy | all else |
//!
//! The interval is a bootstrap of the ratio of medians. Only each cell's headline is judged; the
//! other metrics explain it, and their p-values are not corrected.

use super::stats::{cv_percent, mean, median, ratio_of_medians_interval};
use super::two_samples::{
    brown_forsythe_p, cliffs_delta, geometric_mean, hodges_lehmann, holm, mann_whitney_p, welch_p,
};
use crate::experiment::view::{self, View};
use crate::record::metric::{Better, Metric};
use crate::record::{Cell, Record, Sample};

/// Runs of each arm in which a tenth is found at a spread of 5 % (the tests say how surely).
pub const DEFAULT_RUNS: u32 = 12;

/// What counts as a difference.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Chance to call any of all comparisons different if none is.
    pub alpha: f64,
    /// Changes below this do not matter, however sure they are.
    pub min_effect: f64,
    /// An interval of the change that reaches further than this from the middle says nothing.
    pub resolution: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { alpha: 0.02, min_effect: 0.005, resolution: 0.05 }
    }
}

/// The runs of an arm beside those of its base, in one cell.
pub struct Pair<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// The metrics of its kind.
    pub view: &'static View,
    /// What the base is called; several builds joined by `+`.
    pub base_name: String,
    /// What is compared with it.
    pub name: String,
    /// Runs of the base.
    pub base: Vec<&'a Sample>,
    /// Runs of the other.
    pub own: Vec<&'a Sample>,
}

impl Pair<'_> {
    /// The figures of both in each run.
    pub fn values(&self, metric: &Metric) -> (Vec<f64>, Vec<f64>) {
        let of =
            |samples: &[&Sample]| samples.iter().filter_map(|sample| metric.of(sample)).collect();
        (of(&self.base), of(&self.own))
    }
}

/// How two samples of one metric differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The metric.
    pub metric: &'static Metric,
    /// The base.
    pub base: Figure,
    /// The other.
    pub own: Figure,
    /// Ratio of the medians, less 1.
    pub change: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// p of Welch's test, not corrected.
    pub welch_p: Option<f64>,
    /// p of the test of Mann and Whitney, not corrected.
    pub mann_whitney_p: Option<f64>,
    /// p of the test of Brown and Forsythe, not corrected.
    pub spread_p: Option<f64>,
    /// Cliff's delta: above 0, the other's values are larger.
    pub delta: Option<f64>,
    /// The shift of Hodges and Lehmann, in the metric's unit.
    pub shift: Option<f64>,
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Number of runs.
    pub runs: usize,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub median: Option<f64>,
    /// Coefficient of variation.
    pub cv_percent: Option<f64>,
    /// The runs seem to fall into two groups.
    pub two_modes: bool,
}

impl Figure {
    fn of(values: &[f64]) -> Self {
        Figure {
            runs: values.len(),
            mean: mean(values),
            median: median(values),
            cv_percent: cv_percent(values),
            two_modes: two_modes(values),
        }
    }
}

/// Whether values fall into two groups: a gap of more than half their range, with at least two
/// values and a fifth of all on each side. A hint, not a test.
fn two_modes(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(&first), Some(&last), Some(middle)) = (sorted.first(), sorted.last(), median(values))
    else {
        return false;
    };
    let least = (values.len() / 5).max(2);
    let apart = |at: usize| sorted[at] - sorted[at - 1] > 0.5 * (last - first);
    values.len() >= 8
        && last - first > 0.05 * middle.abs()
        && (least..=values.len() - least).any(apart)
}

/// What becomes of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It differs for the better.
    Better,
    /// It differs for the worse.
    Worse,
    /// No difference that matters.
    Same,
    /// The same in the middle, with more spread.
    WiderSpread,
    /// The runs vary too much, or are too few, to say.
    TooNoisy,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Same => "same",
            Verdict::WiderSpread => "same, wider spread",
            Verdict::TooNoisy => "too noisy",
        }
    }
}

/// A pair, and what becomes of the figure that it is judged by.
pub struct Judged<'a> {
    /// The pair.
    pub pair: Pair<'a>,
    /// How that figure differs.
    pub headline: Difference,
    /// p of Welch's test, corrected over all pairs.
    pub p: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
}

/// Each arm of a record that is no base, beside the bases' runs together.
pub fn within<'a>(record: &'a Record, bases: &[usize]) -> Vec<Pair<'a>> {
    let base_name = joined(bases.iter().map(|&arm| record.arms[arm].name.as_str()));
    let mut pairs = Vec::new();
    for (at, cell) in record.cells.iter().enumerate() {
        let base: Vec<&Sample> = bases.iter().flat_map(|&arm| record.measured(arm, at)).collect();
        for (arm, named) in record.arms.iter().enumerate() {
            let own = record.measured(arm, at);
            if bases.contains(&arm) || own.is_empty() || base.is_empty() {
                continue;
            }
            let (view, base) = (view::of(cell.kind), base.clone());
            let (base_name, name) = (base_name.clone(), named.name.clone());
            pairs.push(Pair { cell, view, base_name, name, base, own });
        }
    }
    pairs
}

/// Each arm of a record beside the same arm, in the same cell, of the bases together.
pub fn between<'a>(bases: &[(&str, &'a Record)], other: (&str, &'a Record)) -> Vec<Pair<'a>> {
    let (name, record) = other;
    let base_name = joined(bases.iter().map(|(name, _)| *name));
    let mut pairs = Vec::new();
    for (at, cell) in record.cells.iter().enumerate() {
        for (arm, named) in record.arms.iter().enumerate() {
            let own = record.measured(arm, at);
            let base: Vec<&Sample> =
                bases.iter().flat_map(|(_, base)| same_place(base, cell, &named.name)).collect();
            if own.is_empty() || base.is_empty() {
                continue;
            }
            let alone = record.arms.len() == 1;
            let of = |file: &str| {
                if alone { file.to_owned() } else { format!("{} ({file})", named.name) }
            };
            let (view, base_name, name) = (view::of(cell.kind), of(&base_name), of(name));
            pairs.push(Pair { cell, view, base_name, name, base, own });
        }
    }
    pairs
}

/// The runs of the arm of this name in the cell with the same setting.
fn same_place<'a>(record: &'a Record, cell: &Cell, arm: &str) -> Vec<&'a Sample> {
    let at = record.cells.iter().position(|own| own.is_like(cell));
    let arm = record.arms.iter().position(|own| own.name == arm);
    match (arm, at) {
        (Some(arm), Some(at)) => record.measured(arm, at),
        _ => Vec::new(),
    }
}

fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(" + ")
}

/// How two samples of a metric differ.
pub fn difference(metric: &'static Metric, base: &[f64], own: &[f64], seed: u64) -> Difference {
    let (a, b) = (Figure::of(base), Figure::of(own));
    let ratio =
        a.median.zip(b.median).filter(|(base, _)| *base != 0.0).map(|(base, own)| own / base);
    Difference {
        metric,
        change: ratio.map(|ratio| ratio - 1.0),
        interval: ratio_of_medians_interval(own, base, seed).map(|ends| ends.map(|end| end - 1.0)),
        welch_p: welch_p(base, own),
        mann_whitney_p: mann_whitney_p(base, own),
        spread_p: brown_forsythe_p(base, own),
        delta: cliffs_delta(base, own),
        shift: hodges_lehmann(base, own),
        base: a,
        own: b,
    }
}

/// A verdict on each pair, by this metric or else by the headline of its cell. The correction is
/// over all of them together.
pub fn judge<'a>(
    pairs: Vec<Pair<'a>>,
    metric: Option<&'static Metric>,
    limits: Limits,
    seed: u64,
) -> Vec<Judged<'a>> {
    let headline = |pair: &Pair| {
        let metric = metric.unwrap_or(pair.view.headline);
        let (base, own) = pair.values(metric);
        difference(metric, &base, &own, seed)
    };
    let differences: Vec<Difference> = pairs.iter().map(headline).collect();
    let corrected = |p: fn(&Difference) -> Option<f64>| {
        // What could not be tested is no part of the family.
        let tested: Vec<usize> =
            (0..differences.len()).filter(|&at| p(&differences[at]).is_some()).collect();
        let values: Vec<f64> = tested.iter().filter_map(|&at| p(&differences[at])).collect();
        let mut all = vec![None; differences.len()];
        tested.iter().zip(holm(&values)).for_each(|(&at, p)| all[at] = Some(p));
        all
    };
    let (means, spreads) = (corrected(|d| d.welch_p), corrected(|d| d.spread_p));
    let judged = pairs.into_iter().zip(differences).zip(means.into_iter().zip(spreads));
    judged
        .map(|((pair, headline), (p, spread_p))| {
            let verdict = verdict(&headline, p, spread_p, limits);
            Judged { pair, headline, p, verdict }
        })
        .collect()
}

fn verdict(d: &Difference, p: Option<f64>, spread_p: Option<f64>, limits: Limits) -> Verdict {
    let (Some(change), Some(p)) = (d.change, p) else { return Verdict::TooNoisy };
    let means = d.own.mean.zip(d.base.mean).map_or(0.0, |(own, base)| own - base);
    let agree = d.mann_whitney_p.is_some_and(|p| p < limits.alpha) && means * change > 0.0;
    if p < limits.alpha && agree && change.abs() >= limits.min_effect {
        return match d.metric.better {
            Better::Higher if change > 0.0 => Verdict::Better,
            Better::Lower if change < 0.0 => Verdict::Better,
            _ => Verdict::Worse,
        };
    }
    let narrow = d.interval.is_some_and(|[low, high]| high - low <= 2.0 * limits.resolution);
    let wider = d.own.cv_percent.zip(d.base.cv_percent).is_some_and(|(own, base)| own > 1.5 * base);
    // A wide interval for that very reason is no reason to doubt it.
    let near = d.interval.is_some_and(|[low, high]| low <= 0.0 && 0.0 <= high);
    if spread_p.is_some_and(|p| p < limits.alpha) && wider && (narrow || near) {
        Verdict::WiderSpread
    } else if narrow {
        Verdict::Same
    } else {
        Verdict::TooNoisy
    }
}

/// Why records must not be compared as they are: their machines differ.
pub fn machines_differ(records: &[(&str, &Record)]) -> Vec<String> {
    let Some(((first, base), rest)) = records.split_first() else { return Vec::new() };
    let facts = |record: &Record| record.header.machine.identity();
    let mut all = Vec::new();
    for (name, record) in rest {
        for ((what, own), (_, wanted)) in facts(record).into_iter().zip(facts(base)) {
            if own != wanted {
                all.push(format!("{what}: {wanted} in {first}, {own} in {name}"));
            }
        }
    }
    all
}

/// What else records differ in beside what is compared.
pub fn hidden_differences(records: &[(&str, &Record)]) -> Vec<String> {
    let Some(((first, base), rest)) = records.split_first() else { return Vec::new() };
    let mut all = Vec::new();
    for (name, record) in records {
        if !record.header.complete {
            all.push(format!("{name} is of a run that ended early"));
        }
        all.extend(
            record
                .header
                .warnings
                .iter()
                .map(|warning| format!("{name} was measured with a warning: {warning}")),
        );
    }
    for (name, record) in rest {
        let cells = |record: &Record| record.cells.len();
        let shared = record.cells.iter().filter(|cell| find(base, cell).is_some()).count();
        if shared < cells(record).max(cells(base)) {
            all.push(format!(
                "{shared} settings are in both {first} and {name}, which have {} and {}",
                cells(base),
                cells(record)
            ));
        }
        let window =
            |cell: &&Cell| find(base, cell).is_some_and(|own| own.window_s != cell.window_s);
        if record.cells.iter().any(|cell| window(&cell)) {
            all.push(format!("the runs of {name} are not as long as those of {first}"));
        }
        if record.plan.warmup_rounds != base.plan.warmup_rounds {
            all.push(format!("{name} and {first} have different warm-ups"));
        }
    }
    all
}

/// The cell of a record with the same setting.
fn find<'a>(record: &'a Record, cell: &Cell) -> Option<&'a Cell> {
    record.cells.iter().find(|own| own.is_like(cell))
}

/// The geometric mean of the headlines' ratios of those pairs that have one name; `None` if their
/// metrics differ.
pub fn overall<'a>(judged: impl Iterator<Item = &'a Judged<'a>>) -> Option<(&'static Metric, f64)> {
    let mut metric: Option<&'static Metric> = None;
    let mut ratios = Vec::new();
    for one in judged {
        if metric.is_some_and(|metric| metric.key != one.headline.metric.key) {
            return None;
        }
        metric = Some(one.headline.metric);
        ratios.push(1.0 + one.headline.change?);
    }
    Some((metric?, geometric_mean(&ratios)?))
}

#[cfg(test)]
mod tests;
