//! Verdicts on data whose truth is known: simulated runs, the same ones every time.

use super::*;
use crate::record::metric::{RATE, WALL};

/// As many as `lockwright compare` makes unless it is told otherwise.
const RUNS: usize = crate::analysis::compare::DEFAULT_RUNS as usize;

/// Numbers that are distributed normally.
struct Luck(fastrand::Rng);

impl Luck {
    fn normal(&mut self) -> f64 {
        let (a, b): (f64, f64) = (1.0 - self.0.f64(), self.0.f64());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// Run times with this coefficient of variation: some are long, none is negative.
    fn runs(&mut self, count: usize, middle: f64, cv: f64) -> Vec<f64> {
        let sigma = (1.0 + cv * cv).ln().sqrt();
        (0..count).map(|_| middle * (sigma * self.normal()).exp()).collect()
    }
}

fn cell() -> Cell {
    Cell {
        kind: crate::record::Kind::Command,
        title: "commands".to_owned(),
        params: Default::default(),
        window_s: 0.0,
    }
}

fn samples(values: &[f64]) -> Vec<Sample> {
    let sample = |&elapsed_s: &f64| Sample {
        round: Some(0),
        elapsed_s,
        values: [("exit_code".to_owned(), 0.0)].into(),
        ..Sample::default()
    };
    values.iter().map(sample).collect()
}

/// The verdicts on pairs of run times, judged together.
fn verdicts(data: &[(Vec<f64>, Vec<f64>)]) -> Vec<Verdict> {
    let cell = cell();
    let all: Vec<_> = data.iter().map(|(base, own)| (samples(base), samples(own))).collect();
    let pairs = all.iter().map(|(base, own)| Pair {
        cell: &cell,
        view: view::of(cell.kind),
        base_name: "a".to_owned(),
        name: "b".to_owned(),
        base: base.iter().collect(),
        own: own.iter().collect(),
    });
    judge(pairs.collect(), None, Limits::default(), 1).iter().map(|judged| judged.verdict).collect()
}

fn is_different(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

/// In how many of `trials` something was called different.
fn alarms(trials: u64, cells: usize, runs: usize, cv: f64) -> usize {
    let alarm = |seed: &u64| {
        let mut luck = Luck(fastrand::Rng::with_seed(*seed));
        let data: Vec<_> =
            (0..cells).map(|_| (luck.runs(runs, 1.0, cv), luck.runs(runs, 1.0, cv))).collect();
        verdicts(&data).iter().any(is_different)
    };
    (0..trials).filter(alarm).count()
}

/// In how many of `trials` a planted change was found, and called by its name.
fn found(trials: u64, runs: usize, cv: f64, change: f64) -> usize {
    let hit = |seed: &u64| {
        let mut luck = Luck(fastrand::Rng::with_seed(1_000 + *seed));
        let data = [(luck.runs(runs, 1.0, cv), luck.runs(runs, 1.0 + change, cv))];
        let wanted = if change > 0.0 { Verdict::Worse } else { Verdict::Better };
        verdicts(&data) == [wanted]
    };
    (0..trials).filter(hit).count()
}

#[test]
fn an_arm_against_itself_is_different_in_at_most_one_of_twenty_trials() {
    for (runs, cv) in [(5, 0.05), (10, 0.02), (10, 0.2), (20, 0.3)] {
        let alarms = alarms(200, 1, runs, cv);
        assert!(alarms <= 10, "{alarms} of 200, {runs} runs of CV {cv}");
    }
}

#[test]
fn over_a_matrix_of_twenty_cells_too() {
    for (runs, cv) in [(10, 0.05), (10, 0.2)] {
        let alarms = alarms(200, 20, runs, cv);
        assert!(alarms <= 10, "{alarms} of 200, {runs} runs of CV {cv}");
    }
}

#[test]
fn a_planted_tenth_is_found() {
    for change in [0.1, -0.1] {
        let found = found(200, RUNS, 0.05, change);
        assert!(found >= 190, "{found} of 200");
    }
}

#[test]
fn a_planted_hundredth_is_found_in_quiet_data() {
    for change in [0.01, -0.01] {
        let found = found(200, RUNS, 0.005, change);
        assert!(found >= 180, "{found} of 200");
    }
}

#[test]
fn a_spread_of_thirty_percent_is_too_noisy() {
    let noisy = |seed: &u64| {
        let mut luck = Luck(fastrand::Rng::with_seed(2_000 + *seed));
        let data = [(luck.runs(10, 1.0, 0.3), luck.runs(10, 1.0, 0.3))];
        verdicts(&data) == [Verdict::TooNoisy]
    };
    let noisy = (0..200).filter(noisy).count();
    assert!(noisy >= 180, "{noisy} of 200");
}

#[test]
fn quiet_data_are_the_same_and_a_wider_spread_is_told() {
    let count = |wanted: Verdict, cv: f64| {
        let hit = |seed: &u64| {
            let mut luck = Luck(fastrand::Rng::with_seed(3_000 + *seed));
            verdicts(&[(luck.runs(15, 1.0, 0.01), luck.runs(15, 1.0, cv))]) == [wanted]
        };
        (0..200).filter(hit).count()
    };
    let same = count(Verdict::Same, 0.01);
    assert!(same >= 180, "{same} of 200");
    let wider = count(Verdict::WiderSpread, 0.06);
    assert!(wider >= 180, "{wider} of 200");
}

#[test]
fn few_runs_say_nothing() {
    assert_eq!(verdicts(&[(vec![1.0, 1.0, 1.1], vec![2.0, 2.1, 2.0])]), [Verdict::TooNoisy]);
    assert_eq!(verdicts(&[(vec![1.0], vec![2.0])]), [Verdict::TooNoisy]);
}

#[test]
fn which_way_is_better_is_the_metric_s_to_say() {
    let (slow, fast) = ([10.0, 10.1, 9.9, 10.0, 10.05], [12.0, 12.1, 11.9, 12.0, 12.05]);
    let of = |metric| {
        let d = difference(metric, &slow, &fast, 1);
        verdict(&d, d.welch_p, d.spread_p, Limits::default())
    };
    assert_eq!((of(&RATE), of(&WALL)), (Verdict::Better, Verdict::Worse));
}

#[test]
fn a_change_that_does_not_matter_is_the_same_however_sure() {
    let base: Vec<f64> = (0..20).map(|at| 100.0 + 0.01 * f64::from(at)).collect();
    let own: Vec<f64> = base.iter().map(|value| value * 1.004).collect();
    assert_eq!(verdicts(&[(base, own)]), [Verdict::Same]);
}

#[test]
fn two_groups_of_runs_are_noticed() {
    let one: Vec<f64> = (0..10).map(|at| 1.0 + 0.01 * f64::from(at)).collect();
    let two: Vec<f64> =
        (0..10).map(|at| if at < 6 { 1.0 } else { 1.5 } + 0.01 * f64::from(at)).collect();
    assert!(!two_modes(&one) && two_modes(&two));
}

#[test]
fn records_are_joined_by_what_they_measured() {
    let record = crate::experiment::example::record();
    let mut other = record.clone();
    other.cells.rotate_left(1);
    let count = other.cells.len();
    other.samples.iter_mut().for_each(|sample| sample.cell = (sample.cell + count - 1) % count);
    let pairs = between(&[("old", &record)], ("new", &other));
    assert_eq!(pairs.len(), 5 * 3);
    assert!(pairs.iter().all(|pair| {
        let (base, own) = pair.values(pair.view.headline);
        base == own && base.len() == 3
    }));
    let several = between(&[("old", &record), ("older", &record)], ("new", &other));
    assert!(several.iter().all(|pair| pair.base.len() == 6), "the bases' runs together");
    assert!(several[0].base_name.contains("old + older"));
    let arms = within(&record, &[0, 1]);
    assert!(arms.iter().all(|pair| pair.name == "lockwright" && pair.base.len() == 6));
}
