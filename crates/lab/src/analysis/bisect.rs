//! The first bad step of an ordered series, by comparing with enough runs for the wanted certainty.
//!
//! 1. *Gate*: the ends are measured in turns. They must be stable, or what lies between says
//!    nothing, and differ, or there is nothing to find.
//! 2. *Search*: the middle of a range is measured in turns with the range's ends until it is told
//!    from each of them, or found the same, and each half whose ends differ is searched in turn; so
//!    several bad steps are found, not only one.
//! 3. *Re-test*: each step found is measured in turns with the one before it, in runs that had no
//!    part in finding it. What does not show again is said to have gone away.
//!
//! Figures are compared as logarithms, so that changes are ratios. Each question may be looked at
//! several times as runs come in; its chance of error is shared over the looks, and the wanted
//! chance over the questions. This module starts no process: whoever calls measures.
//!
//! Past 500 lines with its tests, which play whole searches on made-up series.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::stats::{cv_percent, mean, median};
use super::two_samples::welch_p;

/// What the search is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Chance that all answers are right.
    pub certainty: f64,
    /// Changes below this do not matter.
    pub min_effect: f64,
    /// Coefficient of variation, in percent, above which an end is not stable.
    pub stable_cv: f64,
    /// Rounds in the first look, and in each more.
    pub first: usize,
    /// Rounds of a question at most.
    pub most: usize,
}

impl Default for Wanted {
    fn default() -> Self {
        Wanted { certainty: 0.95, min_effect: 0.02, stable_cv: 20.0, first: 5, most: 40 }
    }
}

/// Why a round has no figures.
#[derive(Debug)]
pub enum Stop<E> {
    /// This step cannot be measured, such as a revision that does not build; others can.
    Untestable(usize),
    /// Nothing more can be measured.
    Failed(E),
}

/// The figures of some steps, one run each.
pub type Measured<E> = Result<Vec<f64>, Stop<E>>;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// An end varies too much.
    Unstable {
        /// The end.
        step: usize,
        /// Its coefficient of variation in percent.
        cv_percent: f64,
    },
    /// The last step is not worse than the first, as far as can be told.
    NoChange {
        /// Last over first, less 1.
        change: f64,
    },
    /// The steps at which it gets worse, in order.
    Steps(Vec<Found>),
}

/// A step at which it gets worse.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The last step before it that could be measured.
    pub before: usize,
    /// The first that is worse; those between could not be measured.
    pub step: usize,
    /// Figure over that of the step before, less 1, in the re-test.
    pub change: f64,
    /// Its 95 % interval.
    pub interval: [f64; 2],
    /// Chance that it is this step and no other of its range, given all runs, if it is one at all.
    pub probability: f64,
    /// It showed again in the re-test.
    pub confirmed: bool,
}

/// All figures of a step, as logarithms.
type Logs = Vec<Vec<f64>>;

/// The search at work.
struct Search<'a, E> {
    wanted: Wanted,
    /// 1 if more is worse, -1 if less is.
    worse: f64,
    /// Chance of error of each question.
    alpha: f64,
    /// Change of the ends, as a logarithm, for the worse.
    whole: f64,
    untestable: Vec<bool>,
    /// Of all rounds so far.
    seen: Logs,
    measure: &'a mut dyn FnMut(&[usize]) -> Measured<E>,
}

/// Finds the steps of `0..count` at which figures get worse. `measure` runs each of some steps
/// once, in turns, and gives their figures, which are above 0.
///
/// # Errors
///
/// What `measure` failed with.
pub fn search<E>(
    count: usize,
    more_is_worse: bool,
    wanted: Wanted,
    measure: &mut dyn FnMut(&[usize]) -> Measured<E>,
) -> Result<Answer, E> {
    // At most two questions for each halving, one for the gate and one for the re-test.
    let questions = 2.0 * (count.max(2) as f64).log2().ceil() + 2.0;
    let mut search = Search {
        wanted,
        worse: if more_is_worse { 1.0 } else { -1.0 },
        alpha: (1.0 - wanted.certainty) / questions,
        whole: 0.0,
        untestable: vec![false; count],
        seen: vec![Vec::new(); count],
        measure,
    };
    search.run(count)
}

/// Whether two steps differ, as far as runs have told.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    Worse,
    NotWorse,
    Unknown,
}

impl<E> Search<'_, E> {
    fn run(&mut self, count: usize) -> Result<Answer, E> {
        let last = count - 1;
        let gate = match self.compare(&[0, last]) {
            Ok(gate) => gate,
            Err(Stop::Failed(error)) => return Err(error),
            // An end that cannot be measured is no end.
            Err(Stop::Untestable(_)) => return Ok(Answer::NoChange { change: 0.0 }),
        };
        for (step, logs) in [0, last].into_iter().zip(&gate.logs) {
            let figures: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
            match cv_percent(&figures) {
                Some(cv) if cv > self.wanted.stable_cv => {
                    return Ok(Answer::Unstable { step, cv_percent: cv });
                }
                _ => {}
            }
        }
        self.whole = self.change(&gate.logs[0], &gate.logs[1]);
        if gate.told[0] != Told::Worse {
            return Ok(Answer::NoChange { change: (self.worse * self.whole).exp() - 1.0 });
        }
        let mut ranges = Vec::new();
        self.narrow(0, last, &mut ranges)?;
        let mut found = Vec::new();
        for (at, &(before, step)) in ranges.iter().enumerate() {
            // Up to the neighbours' steps there is this change alone.
            let from = if at > 0 { ranges[at - 1].1 } else { 0 };
            let to = ranges.get(at + 1).map_or(last, |next| next.0);
            found.push(self.retest(before, step, from, to)?);
        }
        Ok(Answer::Steps(found))
    }

    /// Adds the steps of a range, whose ends differ, at which it gets worse.
    fn narrow(
        &mut self,
        low: usize,
        high: usize,
        found: &mut Vec<(usize, usize)>,
    ) -> Result<(), E> {
        let Some(middle) = self.middle(low, high) else {
            found.push((low, high));
            return Ok(());
        };
        let seen = match self.compare(&[low, middle, high]) {
            Ok(seen) => seen,
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Untestable(step)) if step == middle => {
                return self.narrow(low, high, found);
            }
            Err(Stop::Untestable(_)) => return Ok(()),
        };
        let [lower, upper] = [seen.told[0], seen.told[1]];
        if lower == Told::Worse {
            self.narrow(low, middle, found)?;
        }
        if upper == Told::Worse {
            self.narrow(middle, high, found)?;
        }
        if lower != Told::Worse && upper != Told::Worse {
            // The ends differ, so a half must: the one that looks like it.
            let below = self.change(&seen.logs[0], &seen.logs[1]);
            let above = self.change(&seen.logs[1], &seen.logs[2]);
            return if below >= above {
                self.narrow(low, middle, found)
            } else {
                self.narrow(middle, high, found)
            };
        }
        Ok(())
    }

    /// The step nearest to the middle of a range that can be measured.
    fn middle(&self, low: usize, high: usize) -> Option<usize> {
        let middle = low.midpoint(high);
        let inside = (low + 1..high).filter(|&step| !self.untestable[step]);
        inside.min_by_key(|step| step.abs_diff(middle))
    }

    /// Measures steps in turns until each is told from the one before it, or found no worse.
    fn compare(&mut self, steps: &[usize]) -> Result<Compared, Stop<E>> {
        let looks = 1 + (self.wanted.most - self.wanted.first).div_ceil(self.wanted.first);
        let alpha = self.alpha / looks as f64;
        let mut logs: Logs = vec![Vec::new(); steps.len()];
        let mut told = vec![Told::Unknown; steps.len() - 1];
        while logs[0].len() < self.wanted.most && told.contains(&Told::Unknown) {
            for round in 0..self.wanted.first {
                self.round(steps, round % 2 == 1, &mut logs)?;
            }
            told = logs.windows(2).map(|pair| self.tell(&pair[0], &pair[1], alpha)).collect();
        }
        Ok(Compared { logs, told })
    }

    /// One run of each step, there or back.
    fn round(&mut self, steps: &[usize], back: bool, logs: &mut Logs) -> Result<(), Stop<E>> {
        let mut order: Vec<usize> = (0..steps.len()).collect();
        if back {
            order.reverse();
        }
        let asked: Vec<usize> = order.iter().map(|&at| steps[at]).collect();
        let figures = match (self.measure)(&asked) {
            Err(Stop::Untestable(step)) => {
                self.untestable[step] = true;
                return Err(Stop::Untestable(step));
            }
            other => other?,
        };
        for (at, figure) in order.into_iter().zip(figures) {
            let log = figure.max(f64::MIN_POSITIVE).ln();
            logs[at].push(log);
            self.seen[steps[at]].push(log);
        }
        Ok(())
    }

    /// By how much the second is worse than the first, as a logarithm.
    fn change(&self, first: &[f64], second: &[f64]) -> f64 {
        let middle = |logs: &[f64]| median(logs).unwrap_or(0.0);
        self.worse * (middle(second) - middle(first))
    }

    fn tell(&self, first: &[f64], second: &[f64], alpha: f64) -> Told {
        let least = self.wanted.min_effect.ln_1p();
        let change = self.change(first, second);
        if welch_p(first, second).is_some_and(|p| p < alpha) && change >= least {
            return Told::Worse;
        }
        // Not worse by as much as matters, nor by a good part of the whole: a fifth of it would have shown.
        let limit = least.max(0.4 * self.whole);
        match interval(first, second, 1.0 - 2.0 * alpha) {
            Some([low, high]) if (self.worse * low).max(self.worse * high) < limit => {
                Told::NotWorse
            }
            _ => Told::Unknown,
        }
    }

    /// Measures a step that was found with the one before it, in fresh runs.
    fn retest(&mut self, before: usize, step: usize, from: usize, to: usize) -> Result<Found, E> {
        let again = match self.compare(&[before, step]) {
            Ok(again) => again,
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Untestable(_)) => {
                Compared { logs: vec![Vec::new(); 2], told: vec![Told::Unknown] }
            }
        };
        let change = self.worse * self.change(&again.logs[0], &again.logs[1]);
        let ends = interval(&again.logs[0], &again.logs[1], 0.95).unwrap_or([f64::NAN; 2]);
        Ok(Found {
            before,
            step,
            change: change.exp() - 1.0,
            interval: ends.map(|end| end.exp() - 1.0),
            probability: self.probability(step, from, to),
            confirmed: again.told[0] == Told::Worse,
        })
    }

    /// Of one change between `from` and `to`, the chance that it is at `step`: every place is as
    /// likely before anything was seen, runs vary alike, and their spread and the two levels are
    /// whatever fits each place best.
    fn probability(&self, step: usize, from: usize, to: usize) -> f64 {
        let runs: usize = self.seen[from..=to].iter().map(Vec::len).sum();
        let misfit = |place: usize| {
            let side = |steps: &[Vec<f64>]| {
                let all: Vec<f64> = steps.iter().flatten().copied().collect();
                let middle = mean(&all).unwrap_or(0.0);
                all.iter().map(|log| (log - middle).powi(2)).sum::<f64>()
            };
            side(&self.seen[from..place]) + side(&self.seen[place..=to])
        };
        // Steps that were not measured cannot be told apart: one place stands for them.
        let places: Vec<usize> =
            (from + 1..=to).filter(|&place| !self.seen[place].is_empty()).collect();
        let fits: Vec<f64> = places
            .iter()
            .map(|&place| -0.5 * runs as f64 * misfit(place).max(1e-12).ln())
            .collect();
        let best = fits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = fits.iter().map(|fit| (fit - best).exp()).collect();
        let own = places.iter().position(|&place| place == step).map_or(0.0, |at| weights[at]);
        own / weights.iter().sum::<f64>()
    }
}

/// Some steps, measured in turns.
struct Compared {
    /// Their figures.
    logs: Logs,
    /// Whether each is worse than the one before it.
    told: Vec<Told>,
}

/// The interval of the difference of two means at this level.
fn interval(first: &[f64], second: &[f64], level: f64) -> Option<[f64; 2]> {
    use statrs::statistics::Statistics;
    if first.len() < 2 || second.len() < 2 {
        return None;
    }
    let part = |logs: &[f64]| logs.variance() / logs.len() as f64;
    let (a, b) = (part(first), part(second));
    let difference = mean(second)? - mean(first)?;
    if a + b <= 0.0 {
        return Some([difference; 2]);
    }
    let freedom =
        (a + b).powi(2) / (a * a / (first.len() - 1) as f64 + b * b / (second.len() - 1) as f64);
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let reach = student.inverse_cdf(0.5 + level / 2.0) * (a + b).sqrt();
    Some([difference - reach, difference + reach])
}

/// On which side of the middle between good and bad figures lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Like the good ones.
    Good,
    /// Like the bad ones.
    Bad,
}

/// Whether figures are like the good or the bad ones, with this certainty; `None`: more are needed.
pub fn side_of(good: &[f64], bad: &[f64], figures: &[f64], certainty: f64) -> Option<Side> {
    let logs = |values: &[f64]| -> Vec<f64> {
        values.iter().map(|value| value.max(f64::MIN_POSITIVE).ln()).collect()
    };
    let (good, bad, own) = (mean(&logs(good))?, mean(&logs(bad))?, logs(figures));
    let middle = (good + bad) / 2.0;
    // The middle as a sample that does not vary.
    let [low, high] = interval(&[middle; 2], &own, certainty)?;
    let towards_bad = if bad > good { 1.0 } else { -1.0 };
    match (towards_bad * low > 0.0, towards_bad * high > 0.0) {
        (true, true) => Some(Side::Bad),
        (false, false) => Some(Side::Good),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps with known levels, and runs that vary around them.
    struct Series {
        levels: Vec<f64>,
        cv: f64,
        rng: fastrand::Rng,
        untestable: Vec<usize>,
        runs: usize,
    }

    impl Series {
        fn new(levels: &[f64], cv: f64, seed: u64) -> Self {
            let rng = fastrand::Rng::with_seed(seed);
            Series { levels: levels.to_vec(), cv, rng, untestable: Vec::new(), runs: 0 }
        }

        fn measure(&mut self, steps: &[usize]) -> Result<Vec<f64>, Stop<()>> {
            if let Some(&step) = steps.iter().find(|step| self.untestable.contains(step)) {
                return Err(Stop::Untestable(step));
            }
            self.runs += steps.len();
            let mut figure = |&step: &usize| {
                let (a, b): (f64, f64) = (1.0 - self.rng.f64(), self.rng.f64());
                let normal = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
                self.levels[step] * (self.cv * normal).exp()
            };
            Ok(steps.iter().map(&mut figure).collect())
        }

        fn answer(&mut self) -> Answer {
            let count = self.levels.len();
            search(count, true, Wanted::default(), &mut |steps| self.measure(steps)).unwrap()
        }
    }

    fn steps(answer: &Answer) -> Vec<usize> {
        match answer {
            Answer::Steps(found) => found.iter().filter(|f| f.confirmed).map(|f| f.step).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_bad_step_of_many_is_found_with_the_wanted_certainty() {
        let mut right = 0;
        for seed in 0..100 {
            let bad = 1 + (seed as usize * 7) % 29;
            let levels: Vec<f64> = (0..30).map(|step| if step < bad { 1.0 } else { 1.1 }).collect();
            let mut series = Series::new(&levels, 0.03, seed);
            let answer = series.answer();
            right += usize::from(matches!(&answer, Answer::Steps(_)) && steps(&answer) == [bad]);
            assert!(series.runs < 900, "{} runs", series.runs);
        }
        assert!(right >= 95, "{right} of 100");
    }

    #[test]
    fn several_bad_steps_are_all_found() {
        let levels = [1.0, 1.0, 1.2, 1.2, 1.2, 1.2, 1.2, 1.5, 1.5, 1.5];
        let mut right = 0;
        for seed in 0..40 {
            right += usize::from(steps(&Series::new(&levels, 0.03, seed).answer()) == [2, 7]);
        }
        assert!(right >= 38, "{right} of 40");
    }

    #[test]
    fn the_found_step_comes_with_its_size_and_probability() {
        let levels = [1.0, 1.0, 1.0, 1.3, 1.3, 1.3];
        let Answer::Steps(found) = Series::new(&levels, 0.02, 3).answer() else { panic!() };
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!((one.before, one.step, one.confirmed), (2, 3, true));
        assert!((one.change - 0.3).abs() < 0.05, "{one:?}");
        assert!(one.interval[0] < 0.3 && 0.3 < one.interval[1] + 0.03, "{one:?}");
        assert!(one.probability > 0.99, "{one:?}");
    }

    #[test]
    fn where_nothing_changed_nothing_is_found() {
        let nothing =
            |seed| matches!(Series::new(&[1.0; 9], 0.05, seed).answer(), Answer::NoChange { .. });
        assert!((0..50).filter(|&seed| nothing(seed)).count() >= 48);
        let better = [1.0, 1.0, 0.5];
        assert!(matches!(Series::new(&better, 0.02, 1).answer(), Answer::NoChange { .. }));
    }

    #[test]
    fn less_is_worse_where_it_is_said_so() {
        let mut series = Series::new(&[2.0, 2.0, 1.0, 1.0], 0.02, 5);
        let answer =
            search(4, false, Wanted::default(), &mut |steps| series.measure(steps)).unwrap();
        let Answer::Steps(found) = answer else { panic!() };
        assert_eq!(found[0].step, 2);
        assert!((found[0].change + 0.5).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn ends_that_vary_are_not_searched_between() {
        let unstable = |seed| {
            matches!(Series::new(&[1.0, 1.0, 2.0], 0.5, seed).answer(), Answer::Unstable { .. })
        };
        assert!((0..20).filter(|&seed| unstable(seed)).count() >= 18);
    }

    #[test]
    fn steps_that_cannot_be_measured_are_gone_around() {
        let levels: Vec<f64> = (0..9).map(|step| if step < 5 { 1.0 } else { 1.4 }).collect();
        let mut series = Series::new(&levels, 0.02, 7);
        series.untestable = vec![4, 3];
        let Answer::Steps(found) = series.answer() else { panic!() };
        assert_eq!(
            (found[0].before, found[0].step),
            (2, 5),
            "what lies between cannot be told apart"
        );
    }

    #[test]
    fn what_does_not_show_again_has_gone_away() {
        let mut series = Series::new(&[1.0, 1.0, 1.0, 1.5], 0.02, 9);
        let mut asked = 0;
        let answer = search(4, true, Wanted::default(), &mut |steps| {
            asked += 1;
            // The ends and the middles differ; once only two neighbours are asked for they do not.
            if steps.len() == 2 && steps.contains(&2) {
                series.levels[3] = 1.0;
            }
            series.measure(steps)
        });
        let Answer::Steps(found) = answer.unwrap() else { panic!() };
        assert!(!found[0].confirmed, "{found:?}");
    }

    #[test]
    fn figures_are_on_the_side_of_the_middle_that_they_are_nearer_to() {
        let (good, bad) = ([1.0, 1.01, 0.99], [1.2, 1.21, 1.19]);
        assert_eq!(side_of(&good, &bad, &[1.0, 1.01, 1.02], 0.99), Some(Side::Good));
        assert_eq!(side_of(&good, &bad, &[1.19, 1.18, 1.2], 0.99), Some(Side::Bad));
        assert_eq!(side_of(&good, &bad, &[1.0, 1.3], 0.99), None);
        assert_eq!(side_of(&bad, &good, &[1.0, 1.01, 1.02], 0.99), Some(Side::Bad));
    }
}
