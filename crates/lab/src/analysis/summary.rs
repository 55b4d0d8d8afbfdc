//! From a record to its figures: one row for each arm in each cell, with the ratio to a reference.

use std::collections::BTreeMap;

use super::stats::{cv_percent, median, ratio_interval};
use crate::experiment::view::View;
use crate::record::metric::Metric;
use crate::record::{Arm, Cell, Counts, Record, Role, Sample};

/// Spread of the rounds in percent above which a row is marked as noisy.
pub const NOISY_CV: f64 = 10.0;

/// Peers that differ by less than this are as good as each other when a reference is chosen.
const AS_GOOD: f64 = 0.02;

/// The figures of one cell.
pub struct Block<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// The metrics of its kind.
    pub view: &'static View,
    /// The arm that ratios refer to.
    pub reference: Option<&'a Arm>,
    /// One for each arm that was measured, in the order of the record.
    pub rows: Vec<Row<'a>>,
}

/// The figures of one arm in one cell.
pub struct Row<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// Its runs.
    pub samples: Vec<&'a Sample>,
    /// The headline's figure in each round, by the number of the round.
    pub rounds: Vec<(u32, f64)>,
    /// The headline's figure over all rounds.
    pub figure: Option<f64>,
    /// Coefficient of variation of the rounds.
    pub cv_percent: Option<f64>,
    /// `figure` over the reference's.
    pub ratio: Option<f64>,
    /// 95 % bootstrap interval of the ratio; `None` below 3 rounds.
    pub ratio_ci95: Option<[f64; 2]>,
}

impl Row<'_> {
    /// The figure of any metric.
    pub fn of(&self, metric: &Metric) -> Option<f64> {
        metric.over(&self.samples)
    }

    /// The rounds differ so much that the figure says little.
    pub fn noisy(&self) -> bool {
        self.cv_percent.is_some_and(|cv| cv > NOISY_CV)
    }

    /// Lock events of all runs, those that are not 0.
    pub fn events(&self) -> Counts {
        let mut sums = Counts::new();
        for (name, count) in self.samples.iter().flat_map(|sample| &sample.events) {
            *sums.entry(name.clone()).or_default() += count;
        }
        sums
    }
}

/// Which arm ratios refer to, by the cell's place in the record, where it is decided already.
pub type References = BTreeMap<usize, String>;

/// The figures of all cells of which anything was measured.
pub fn blocks(record: &Record) -> Vec<Block<'_>> {
    blocks_against(record, &References::new())
}

/// The same with the references of an earlier run.
pub fn blocks_against<'a>(record: &'a Record, references: &References) -> Vec<Block<'a>> {
    let block = |cell| block(record, cell, references.get(&cell));
    (0..record.cells.len()).map(block).filter(|block| !block.rows.is_empty()).collect()
}

fn block<'a>(record: &'a Record, cell: usize, decided: Option<&String>) -> Block<'a> {
    let view = crate::experiment::view::of(record.cells[cell].kind);
    let mut rows: Vec<Row> = (record.arms.iter().enumerate())
        .map(|(arm, own)| row(own, record.measured(arm, cell), view.headline))
        .filter(|row| !row.samples.is_empty())
        .collect();
    let named = record.plan.baseline.as_ref().or(decided);
    let reference =
        named.and_then(|name| rows.iter().position(|row| row.arm.name == *name)).or_else(|| {
            named.map_or_else(|| best_peer(&rows, view.headline, record.plan.seed), |_| None)
        });
    if let Some(reference) = reference {
        let below = rows[reference].rounds.clone();
        for row in &mut rows {
            row.ratio = ratio(row.figure, median(&values(&below)));
            row.ratio_ci95 = ratio_interval(&paired(&row.rounds, &below), record.plan.seed);
        }
    }
    Block { cell: &record.cells[cell], view, reference: reference.map(|at| rows[at].arm), rows }
}

fn row<'a>(arm: &'a Arm, samples: Vec<&'a Sample>, headline: &Metric) -> Row<'a> {
    let rounds: Vec<(u32, f64)> =
        samples.iter().filter_map(|sample| Some((sample.round?, headline.of(sample)?))).collect();
    Row {
        arm,
        figure: headline.over(&samples),
        cv_percent: cv_percent(&values(&rounds)),
        samples,
        rounds,
        ratio: None,
        ratio_ci95: None,
    }
}

/// The best blocking peer: of those that cannot be told from the best, the one listed first, so
/// that the next run has the same.
fn best_peer(rows: &[Row], headline: &Metric, seed: u64) -> Option<usize> {
    let peers = rows.iter().enumerate().filter(|(_, row)| row.arm.role == Role::BlockingPeer);
    let peers: Vec<(usize, f64)> = peers.filter_map(|(at, row)| Some((at, row.figure?))).collect();
    let best = *peers.iter().reduce(|a, b| if headline.prefers(b.1, a.1) { b } else { a })?;
    let as_good = |&&(at, figure): &&(usize, f64)| {
        let interval = ratio_interval(&paired(&rows[at].rounds, &rows[best.0].rounds), seed);
        (figure / best.1 - 1.0).abs() < AS_GOOD
            || interval.is_some_and(|[low, high]| low <= 1.0 && 1.0 <= high)
    };
    peers.iter().find(as_good).map(|&(at, _)| at)
}

fn ratio(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    let (above, below) = (above?, below?);
    (below > 0.0).then(|| above / below)
}

fn values(rounds: &[(u32, f64)]) -> Vec<f64> {
    rounds.iter().map(|&(_, figure)| figure).collect()
}

/// The figures of both in the rounds that both have.
pub fn paired(own: &[(u32, f64)], other: &[(u32, f64)]) -> Vec<(f64, f64)> {
    let other: BTreeMap<u32, f64> = other.iter().copied().collect();
    own.iter().filter_map(|(round, figure)| Some((*figure, *other.get(round)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::example;
    use crate::record::metric;

    #[test]
    fn a_row_says_what_the_rounds_said() {
        let record = example::record();
        let blocks = blocks(&record);
        let block = &blocks[1];
        assert_eq!(block.reference.map(|arm| arm.name.as_str()), Some("parking_lot"));
        let std = &block.rows[0];
        assert_eq!((std.samples.len(), std.figure), (3, Some(500.0)));
        assert_eq!((std.cv_percent, std.noisy()), (Some(0.0), false));
        assert_eq!((std.ratio, std.ratio_ci95), (Some(0.5), Some([0.5, 0.5])));
        // Two threads, one half as fast as the other: 1/3 and 2/3 of all.
        let close = |figure: Option<f64>, wanted: f64| (figure.unwrap() - wanted).abs() < 1e-5;
        assert!(close(std.of(&metric::JAIN), 0.9) && close(std.of(&metric::LEAST), 2.0 / 3.0));
        // 4 s of CPU time for a million sections, in each of three rounds of 2 s.
        assert!(close(std.of(&metric::CPU), 4.0) && close(std.of(&metric::CPUS_USED), 2.0));
        assert!(close(std.of(&metric::VOLUNTARY), 1_234_567.0));
        assert_eq!(block.rows[1].ratio, Some(1.0));
        assert_eq!(block.rows[2].events().get("mutex_sleep"), Some(&51));
    }

    #[test]
    fn the_loop_is_subtracted_and_the_least_cost_is_best() {
        let record = example::record();
        let block = &blocks(&record)[0];
        assert_eq!(block.reference.map(|arm| arm.name.as_str()), Some("std"));
        assert_eq!(block.rows[1].figure, Some(20.0));
        assert_eq!(block.rows[1].of(&metric::PAIR_GROSS), Some(22.0));
        assert_eq!(block.rows[1].ratio, Some(2.0));
    }

    #[test]
    fn a_baseline_takes_the_place_of_the_best_peer() {
        let mut record = example::record();
        record.plan.baseline = Some("std".to_owned());
        assert_eq!(blocks(&record)[1].rows[2].ratio, Some(3.0));
        record.plan.baseline = Some("nobody".to_owned());
        assert!(blocks(&record)[1].reference.is_none(), "it was not measured there");
    }

    #[test]
    fn an_earlier_run_decides_what_ratios_refer_to() {
        let record = example::record();
        let blocks = blocks_against(&record, &[(1, "std".to_owned())].into());
        assert_eq!(blocks[1].rows[2].ratio, Some(3.0));
        assert_eq!(blocks[2].rows[2].ratio, Some(1.5), "only of the cell that it decided");
    }

    #[test]
    fn of_peers_that_are_as_good_the_first_is_the_reference() {
        let mut record = example::record();
        for sample in record.samples.iter_mut().filter(|sample| sample.arm == 0) {
            sample.thread_ops.iter_mut().for_each(|ops| *ops = *ops * 199 / 100);
        }
        let name = blocks(&record)[1].reference.map(|arm| arm.name.clone());
        assert_eq!(name.as_deref(), Some("std"), "0.5 % behind parking_lot");
    }

    #[test]
    fn what_was_not_measured_is_not_shown() {
        let mut record = example::record();
        record.samples.retain(|sample| sample.cell != 1 || sample.arm == 1);
        for sample in record.samples.iter_mut().filter(|sample| sample.cell == 2) {
            sample.cut_short = true;
        }
        let blocks = blocks(&record);
        assert_eq!(blocks.len(), record.cells.len() - 1);
        assert_eq!(blocks[1].rows.len(), 1);
    }

    #[test]
    fn rounds_that_differ_are_noisy() {
        let mut record = example::record();
        record.samples.iter_mut().filter(|sample| sample.round == Some(1)).for_each(|sample| {
            sample.elapsed_s *= 1.5;
        });
        assert!(blocks(&record)[1].rows.iter().all(Row::noisy));
    }
}
