//! How surely a run's mean is known, from the means of its batches.
//!
//! *Settling*: what comes before the run has settled is left out by the MSER rule (White, 1997): of all
//! beginnings that may be left out, up to half of the run, the one that makes the standard error of the
//! rest least. A run of which half should be left out has not settled. *Interval*: the rest in ten parts,
//! whose means are taken to be independent; 95 % by Student's t.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Parts of a run whose means are taken to be independent.
const PARTS: usize = 10;

/// A mean over batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half of its 95 % interval; none where there are too few batches to tell.
    pub half: Option<f64>,
    /// Batches left out, before the run had settled.
    pub left_out: usize,
    /// It has settled.
    pub settled: bool,
}

impl Estimate {
    /// Half of the interval as a share of the mean.
    pub fn relative(&self) -> Option<f64> {
        self.half.filter(|_| self.mean > 0.0).map(|half| half / self.mean)
    }

    /// The mean is known to such a share of itself.
    pub fn is_within(&self, share: f64) -> bool {
        self.settled && self.relative().is_some_and(|half| half <= share)
    }
}

/// The mean of a series of batches of equal length.
pub fn estimate(series: &[f64]) -> Estimate {
    let left_out = settling(series);
    let rest = &series[left_out..];
    let mean = mean(rest);
    let settled = left_out < series.len() / 2;
    Estimate { mean, half: half(rest), left_out, settled }
}

fn mean(series: &[f64]) -> f64 {
    series.iter().sum::<f64>() / series.len().max(1) as f64
}

/// How many of the first batches the MSER rule leaves out.
fn settling(series: &[f64]) -> usize {
    let error = |from: usize| {
        let rest = &series[from..];
        let mean = mean(rest);
        let squares: f64 = rest.iter().map(|x| (x - mean) * (x - mean)).sum();
        squares / (rest.len() * rest.len()) as f64
    };
    let candidates = 0..=series.len() / 2;
    let best = candidates
        .filter(|&from| from < series.len())
        .min_by(|&a, &b| error(a).total_cmp(&error(b)));
    best.unwrap_or(0)
}

/// Half of the 95 % interval of the mean.
fn half(series: &[f64]) -> Option<f64> {
    let each = series.len() / PARTS;
    let parts: Vec<f64> = if each > 1 {
        // What does not make up a part is at the beginning.
        series[series.len() - each * PARTS..].chunks(each).map(mean).collect()
    } else {
        series.to_vec()
    };
    if parts.len() < 3 {
        return None;
    }
    let (n, all) = (parts.len() as f64, mean(&parts));
    let variance = parts.iter().map(|x| (x - all) * (x - all)).sum::<f64>() / (n - 1.0);
    let t = StudentsT::new(0.0, 1.0, n - 1.0).expect("degrees of freedom above 0");
    Some(t.inverse_cdf(0.975) * (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: u64, n: usize) -> Vec<f64> {
        let mut rng = fastrand::Rng::with_seed(seed);
        (0..n).map(|_| 100.0 + 20.0 * (rng.f64() - 0.5)).collect()
    }

    #[test]
    fn a_beginning_that_differs_is_left_out() {
        let mut series = noise(1, 60);
        series[..12].iter_mut().for_each(|x| *x *= 5.0);
        let seen = estimate(&series);
        assert!(seen.settled && (12..=16).contains(&seen.left_out), "{seen:?}");
        assert!((seen.mean - 100.0).abs() < 3.0, "{seen:?}");
    }

    /// One that changes late, or all the time, has not settled.
    #[test]
    fn a_run_that_goes_on_changing_has_not_settled() {
        let mut late = noise(2, 60);
        late[40..].iter_mut().for_each(|x| *x /= 4.0);
        let trend: Vec<f64> = (0..60).map(|i| 100.0 - f64::from(i)).collect();
        for series in [late, trend] {
            let seen = estimate(&series);
            assert!(!seen.is_within(0.05), "{seen:?}");
        }
    }

    /// Of a hundred series of noise the interval holds the mean about 95 times.
    #[test]
    fn the_interval_holds_the_mean_as_often_as_it_says() {
        let holds = |seed| {
            let seen = estimate(&noise(seed, 80));
            (seen.mean - 100.0).abs() <= seen.half.unwrap()
        };
        let held = (0..200).filter(|&seed| holds(seed)).count();
        assert!((170..=198).contains(&held), "{held} of 200");
    }

    #[test]
    fn few_batches_tell_no_interval() {
        assert_eq!(estimate(&[1.0, 2.0]).half, None);
        assert_eq!(estimate(&[]).mean, 0.0);
        assert!(!estimate(&[]).is_within(1.0));
    }
}
