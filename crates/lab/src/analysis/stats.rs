//! Statistics over samples. A sample is a slice; its order means nothing unless said.

use statrs::statistics::{Data, Median, OrderStatistics, Statistics};

/// The middle of `samples`, or the mean of the two in the middle. `None` of nothing.
pub fn median(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| Data::new(samples.to_vec()).median())
}

/// Arithmetic mean. `None` of nothing.
pub fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.mean())
}

/// Coefficient of variation in percent: the sample standard deviation over the mean.
///
/// `None` for fewer than two samples or a mean of 0, where it says nothing.
pub fn cv_percent(samples: &[f64]) -> Option<f64> {
    let mean = mean(samples)?;
    (samples.len() >= 2 && mean != 0.0).then(|| 100.0 * samples.std_dev() / mean)
}

/// Smallest sample.
pub fn min(samples: &[f64]) -> Option<f64> {
    samples.iter().copied().reduce(f64::min)
}

/// Largest sample.
pub fn max(samples: &[f64]) -> Option<f64> {
    samples.iter().copied().reduce(f64::max)
}

/// Jain's fairness index of what each got: 1 if all got the same, 1/n if one got all.
///
/// `None` if there is nobody or nobody got anything.
///
/// Source: R. Jain, D.-M. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination
/// for Resource Allocation in Shared Computer Systems", DEC-TR-301, 1984.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// 95 % bootstrap percentile interval of the ratio of medians, `pairs[i]` being the two arms in
/// the same round.
///
/// Rounds are drawn as pairs: what disturbed a round disturbed both arms. `None` below 3 rounds,
/// where the interval would be no wider than the few values seen, or if the second arm is 0.
pub fn ratio_interval(pairs: &[(f64, f64)], seed: u64) -> Option<[f64; 2]> {
    if pairs.len() < 3 || pairs.iter().any(|&(_, below)| below <= 0.0) {
        return None;
    }
    bootstrap(seed, |rng| {
        let drawn: Vec<_> = pairs.iter().map(|_| pairs[rng.usize(..pairs.len())]).collect();
        let (above, below): (Vec<_>, Vec<_>) = drawn.into_iter().unzip();
        Some(median(&above)? / median(&below)?)
    })
}

/// The same where the two samples have nothing to do with each other, and are drawn each for itself.
pub fn ratio_of_medians_interval(above: &[f64], below: &[f64], seed: u64) -> Option<[f64; 2]> {
    if above.len().min(below.len()) < 3 || below.iter().any(|&value| value <= 0.0) {
        return None;
    }
    let drawn = |values: &[f64], rng: &mut fastrand::Rng| {
        median(&values.iter().map(|_| values[rng.usize(..values.len())]).collect::<Vec<_>>())
    };
    bootstrap(seed, |rng| Some(drawn(above, rng)? / drawn(below, rng)?))
}

/// The same of the geometric mean of several such ratios, each of them of its own rounds.
pub fn geomean_of_ratios_interval(cells: &[Vec<(f64, f64)>], seed: u64) -> Option<[f64; 2]> {
    let usable = |pairs: &Vec<(f64, f64)>| {
        pairs.len() >= 3 && pairs.iter().all(|&(above, below)| above > 0.0 && below > 0.0)
    };
    if cells.is_empty() || !cells.iter().all(usable) {
        return None;
    }
    bootstrap(seed, |rng| {
        let logarithms = cells.iter().map(|pairs| {
            let drawn: Vec<_> = pairs.iter().map(|_| pairs[rng.usize(..pairs.len())]).collect();
            let (above, below): (Vec<_>, Vec<_>) = drawn.into_iter().unzip();
            Some((median(&above)? / median(&below)?).ln())
        });
        let sum: f64 = logarithms.sum::<Option<f64>>()?;
        Some((sum / cells.len() as f64).exp())
    })
}

/// The 95 % percentile interval of what is drawn many times.
fn bootstrap(seed: u64, draw: impl Fn(&mut fastrand::Rng) -> Option<f64>) -> Option<[f64; 2]> {
    const DRAWS: usize = 1_000;
    let mut rng = fastrand::Rng::with_seed(seed);
    let figures: Vec<f64> = (0..DRAWS).map(|_| draw(&mut rng)).collect::<Option<_>>()?;
    let mut figures = Data::new(figures);
    Some([figures.quantile(0.025), figures.quantile(0.975)])
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        // Deviations -1, 0, 1: variance 1 with n - 1.
        assert_eq!(cv_percent(&[9.0, 10.0, 11.0]), Some(10.0));
        assert_eq!(jain(&[5.0, 5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(jain(&[8.0, 0.0, 0.0, 0.0]), Some(0.25));
    }

    #[test]
    fn nothing_has_no_statistics() {
        assert_eq!(median(&[]), None);
        assert_eq!(mean(&[]), None);
        assert_eq!(cv_percent(&[1.0]), None);
        assert_eq!(cv_percent(&[0.0, 0.0]), None);
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
        assert_eq!(ratio_interval(&[(1.0, 1.0); 2], 0), None);
        assert_eq!(ratio_interval(&[(1.0, 0.0); 5], 0), None);
    }

    #[test]
    fn equal_arms_have_a_ratio_of_one() {
        assert_eq!(ratio_interval(&[(2.0, 2.0); 5], 3), Some([1.0, 1.0]));
    }

    proptest! {
        #[test]
        fn the_middle_is_inside(samples in vec(0.0..1e9_f64, 1..40)) {
            let (low, high) = (min(&samples).unwrap(), max(&samples).unwrap());
            let slack = 1e-9 * high;
            for middle in [median(&samples).unwrap(), mean(&samples).unwrap()] {
                prop_assert!(low - slack <= middle && middle <= high + slack);
            }
        }

        #[test]
        fn the_median_does_not_ask_for_order(mut samples in vec(0.0..1e9_f64, 1..40)) {
            let before = median(&samples);
            samples.reverse();
            prop_assert_eq!(before, median(&samples));
        }

        #[test]
        fn fairness_is_between_one_nth_and_one(shares in vec(0.0..1e9_f64, 1..300)) {
            if let Some(index) = jain(&shares) {
                let least = 1.0 / shares.len() as f64;
                prop_assert!(least - 1e-9 <= index && index <= 1.0 + 1e-9);
            }
        }

        #[test]
        fn fairness_does_not_depend_on_the_unit(
            shares in vec(1.0..1e6_f64, 1..50), unit in 1e-3..1e3_f64,
        ) {
            let scaled: Vec<f64> = shares.iter().map(|share| share * unit).collect();
            prop_assert!((jain(&shares).unwrap() - jain(&scaled).unwrap()).abs() < 1e-9);
        }

        #[test]
        fn spread_does_not_depend_on_the_unit(
            samples in vec(1.0..1e6_f64, 2..50), unit in 1e-3..1e3_f64,
        ) {
            let scaled: Vec<f64> = samples.iter().map(|sample| sample * unit).collect();
            let difference = cv_percent(&samples).unwrap() - cv_percent(&scaled).unwrap();
            prop_assert!(difference.abs() < 1e-6);
        }

        #[test]
        fn the_interval_is_ordered_repeatable_and_within_the_extremes(
            pairs in vec((1.0..1e6_f64, 1.0..1e6_f64), 3..20), seed in any::<u64>(),
        ) {
            let interval = ratio_interval(&pairs, seed);
            prop_assert_eq!(interval, ratio_interval(&pairs, seed));
            let [low, high] = interval.unwrap();
            let (above, below): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            prop_assert!(low <= high);
            prop_assert!(low >= min(&above).unwrap() / max(&below).unwrap() - 1e-9);
            prop_assert!(high <= max(&above).unwrap() / min(&below).unwrap() + 1e-9);
        }
    }
}
