//! Whether two samples differ, in what, and by how much.
//!
//! The tests and measures are the textbook's; where scipy has them, `reference/two_samples.csv` says what
//! it answers, and a test here compares. p-values are two-sided.

use statrs::distribution::{ContinuousCDF, FisherSnedecor, Normal, StudentsT};
use statrs::statistics::Statistics;

use super::stats::{mean, median};

/// p of Welch's test: do the means differ, whatever the variances? `None` for fewer than two
/// values on a side; samples that do not vary at all differ surely, or not at all.
pub fn welch_p(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (mean_a, mean_b) = (mean(a)?, mean(b)?);
    let part = |values: &[f64]| values.variance() / values.len() as f64;
    let (va, vb) = (part(a), part(b));
    if va + vb <= 0.0 {
        return Some(if mean_a == mean_b { 1.0 } else { 0.0 });
    }
    let t = (mean_a - mean_b) / (va + vb).sqrt();
    let freedom = |v: f64, n: usize| v * v / (n - 1) as f64;
    let freedom = (va + vb).powi(2) / (freedom(va, a.len()) + freedom(vb, b.len()));
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(2.0 * student.sf(t.abs()))
}

/// p of the test of Mann and Whitney: is a value of one likelier to be larger than one of the
/// other? Exact where a side has at most eight values and there are no ties, else by the normal
/// distribution, corrected for ties and continuity. `None` of nothing.
///
/// By hand: the exact answers of statrs 0.19.1 are wrong for two sides (1 where scipy has 0.008).
pub fn mann_whitney_p(a: &[f64], b: &[f64]) -> Option<f64> {
    // (delta + 1) / 2 of all pairs lie that way; a tie counts a half.
    let pairs = (a.len() * b.len()) as f64;
    let u = (1.0 + cliffs_delta(a, b)?) / 2.0 * pairs;
    let least = u.min(pairs - u);
    let ties = tie_sizes(a, b);
    let p = if a.len().min(b.len()) <= 8 && ties.is_empty() {
        2.0 * exact_at_most(least.round() as usize, a.len(), b.len())
    } else {
        let n = (a.len() + b.len()) as f64;
        let tied: f64 = ties.iter().map(|&size| size * (size * size - 1.0)).sum();
        let variance = pairs / 12.0 * (n + 1.0 - tied / (n * (n - 1.0)));
        if variance <= 0.0 {
            return Some(1.0);
        }
        let z = ((pairs / 2.0 - least - 0.5) / variance.sqrt()).max(0.0);
        2.0 * Normal::standard().sf(z)
    };
    Some(p.min(1.0))
}

/// How many values are alike, for each value that occurs more than once.
fn tie_sizes(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut all: Vec<f64> = a.iter().chain(b).copied().collect();
    all.sort_by(f64::total_cmp);
    let sizes = all.chunk_by(|x, y| x == y).map(|alike| alike.len() as f64);
    sizes.filter(|&size| size > 1.0).collect()
}

/// The chance that at most `u` of all `m * n` pairs lie one way, if every order is as likely: the
/// orders with so many pairs are counted by adding one value of the second sample at a time.
fn exact_at_most(u: usize, m: usize, n: usize) -> f64 {
    // ways[k]: orders of m values and those added so far with k pairs; the recurrence is that of
    // the Gaussian binomial coefficient.
    let most = m * n;
    let mut ways = vec![0.0; most + 1];
    ways[0] = 1.0;
    for added in 1..=n {
        for k in (m + added..=most).rev() {
            ways[k] -= ways[k - m - added];
        }
        for k in added..=most {
            ways[k] += ways[k - added];
        }
    }
    let all: f64 = ways.iter().sum();
    ways[..=u.min(most)].iter().sum::<f64>() / all
}

/// p of the test of Brown and Forsythe: do the spreads around the medians differ? `None` for fewer
/// than three values on a side.
pub fn brown_forsythe_p(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 3 || b.len() < 3 {
        return None;
    }
    let around = |values: &[f64]| -> Option<Vec<f64>> {
        let middle = median(values)?;
        Some(values.iter().map(|value| (value - middle).abs()).collect())
    };
    let (za, zb) = (around(a)?, around(b)?);
    let (ma, mb) = (mean(&za)?, mean(&zb)?);
    let n = (a.len() + b.len()) as f64;
    let overall = (ma * a.len() as f64 + mb * b.len() as f64) / n;
    let between = a.len() as f64 * (ma - overall).powi(2) + b.len() as f64 * (mb - overall).powi(2);
    let within: f64 = za.iter().map(|z| (z - ma).powi(2)).sum::<f64>()
        + zb.iter().map(|z| (z - mb).powi(2)).sum::<f64>();
    if within <= 0.0 {
        return Some(if between <= 0.0 { 1.0 } else { 0.0 });
    }
    let statistic = (n - 2.0) * between / within;
    Some(FisherSnedecor::new(1.0, n - 2.0).ok()?.sf(statistic))
}

/// The shift of Hodges and Lehmann: the median of all differences of a value of `b` and one of `a`.
pub fn hodges_lehmann(a: &[f64], b: &[f64]) -> Option<f64> {
    let differences: Vec<f64> = b.iter().flat_map(|y| a.iter().map(move |x| y - x)).collect();
    median(&differences)
}

/// Cliff's delta: how much likelier a value of `b` is above one of `a` than below; -1 to 1.
pub fn cliffs_delta(a: &[f64], b: &[f64]) -> Option<f64> {
    let pairs = b.iter().flat_map(|y| a.iter().map(move |x| (x, y)));
    let sum: f64 = pairs
        .map(|(x, y)| match y.total_cmp(x) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Less => -1.0,
            std::cmp::Ordering::Equal => 0.0,
        })
        .sum();
    let count = a.len() * b.len();
    (count > 0).then(|| sum / count as f64)
}

/// p-values corrected after Holm: what is left below a limit may be called significant with a
/// chance of the limit to be wrong in any of them.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    let mut corrected = vec![1.0; p.len()];
    let mut most: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        most = most.max(p[at] * (p.len() - rank) as f64).min(1.0);
        corrected[at] = most;
    }
    corrected
}

/// Geometric mean; `None` of nothing, or if a value is not above 0.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let positive = !values.is_empty() && values.iter().all(|&value| value > 0.0);
    positive
        .then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn answers_are_scipy_s() {
        let table = include_str!("../../reference/two_samples.csv");
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        let mut rows = 0;
        for row in reader.records().map(Result::unwrap) {
            let list = |at: usize| -> Vec<f64> {
                row[at].split(' ').map(|v| v.parse().unwrap()).collect()
            };
            let (a, b) = (list(0), list(1));
            let answers = [
                welch_p(&a, &b),
                mann_whitney_p(&a, &b),
                brown_forsythe_p(&a, &b),
                hodges_lehmann(&a, &b),
                cliffs_delta(&a, &b),
            ];
            for (at, answer) in answers.into_iter().enumerate() {
                let wanted: f64 = row[2 + at].parse().unwrap();
                let close = (answer.unwrap() - wanted).abs() <= 1e-9 + 1e-6 * wanted.abs();
                assert!(close, "row {rows}, column {}: {answer:?}, scipy says {wanted}", 2 + at);
            }
            rows += 1;
        }
        assert_eq!(rows, 7);
    }

    #[test]
    fn too_few_values_have_no_answer_and_constants_a_sure_one() {
        assert_eq!(welch_p(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(brown_forsythe_p(&[1.0, 2.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(mann_whitney_p(&[], &[1.0]), None);
        assert_eq!(welch_p(&[2.0, 2.0], &[2.0, 2.0]), Some(1.0));
        assert_eq!(welch_p(&[2.0, 2.0], &[3.0, 3.0]), Some(0.0));
        assert_eq!(mann_whitney_p(&[2.0; 9], &[2.0; 9]), Some(1.0));
        assert_eq!(brown_forsythe_p(&[2.0; 3], &[5.0; 3]), Some(1.0));
    }

    #[test]
    fn holm_corrects_as_the_textbook_does() {
        // 0.01 x 4, 0.013 x 3 (not below the one before), 0.02 x 2 (the same), 0.4.
        assert_eq!(holm(&[0.4, 0.013, 0.01, 0.02]), [0.4, 0.04, 0.04, 0.04]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_geometric_mean_is_of_positive_numbers() {
        assert!((geometric_mean(&[1.0, 4.0]).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        assert_eq!(geometric_mean(&[]), None);
    }

    proptest! {
        #[test]
        fn order_and_side_do_not_matter(
            mut a in vec(0.1..100.0_f64, 3..12), b in vec(0.1..100.0_f64, 3..12),
        ) {
            let close = |x: Option<f64>, y: Option<f64>| (x.unwrap() - y.unwrap()).abs() < 1e-9;
            prop_assert!(close(welch_p(&a, &b), welch_p(&b, &a)));
            prop_assert!(close(mann_whitney_p(&a, &b), mann_whitney_p(&b, &a)));
            prop_assert!(close(brown_forsythe_p(&a, &b), brown_forsythe_p(&b, &a)));
            prop_assert!((cliffs_delta(&a, &b).unwrap() + cliffs_delta(&b, &a).unwrap()).abs() < 1e-9);
            let before = welch_p(&a, &b);
            a.reverse();
            prop_assert!(close(welch_p(&a, &b), before));
        }

        #[test]
        fn a_correction_only_raises(p in vec(0.0..1.0_f64, 1..30)) {
            let corrected = holm(&p);
            prop_assert!(p.iter().zip(&corrected).all(|(raw, corrected)| corrected >= raw && *corrected <= 1.0));
        }
    }
}
