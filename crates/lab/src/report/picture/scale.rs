//! Axes: from figures to places, and where marks go.

/// An axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    logarithmic: bool,
    from: f64,
    to: f64,
    /// Where `from` is, and where `to` is.
    start: f64,
    end: f64,
}

/// Figures further apart than this need a logarithm to be seen together.
const WIDE: f64 = 50.0;

impl Scale {
    /// From 0, or logarithmic if the figures are far apart, to a round number above the largest.
    pub fn of(figures: impl Iterator<Item = f64> + Clone, start: f64, end: f64) -> Self {
        let most = figures.clone().fold(0.0, f64::max);
        let least = figures.clone().filter(|&f| f > 0.0).fold(f64::INFINITY, f64::min);
        let zero = figures.clone().any(|f| f <= 0.0);
        if !zero && most / least > WIDE {
            return Scale::logarithmic(least, most, start, end);
        }
        let most = if most > 0.0 { most } else { 1.0 };
        let step = step(most);
        Scale { logarithmic: false, from: 0.0, to: (most / step).ceil() * step, start, end }
    }

    /// Over powers of ten around these.
    pub fn logarithmic(least: f64, most: f64, start: f64, end: f64) -> Self {
        let from = 10_f64.powf(least.log10().floor());
        let to = 10_f64.powf(most.log10().ceil()).max(10.0 * from);
        Scale { logarithmic: true, from, to, start, end }
    }

    /// Exactly from `from` to `to`, whose logarithms are apart as far as they are if `logarithmic`.
    pub fn exactly(logarithmic: bool, from: f64, to: f64, start: f64, end: f64) -> Self {
        Scale { logarithmic, from, to, start, end }
    }

    /// Whether places are those of logarithms.
    pub fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// Where a figure is.
    pub fn at(&self, figure: f64) -> f64 {
        let share = if self.logarithmic {
            (figure.max(self.from) / self.from).ln() / (self.to / self.from).ln()
        } else {
            (figure - self.from) / (self.to - self.from)
        };
        self.start + (self.end - self.start) * if share.is_finite() { share } else { 0.5 }
    }

    /// Figures at which there are marks: seven at most.
    pub fn marks(&self) -> Vec<f64> {
        if self.logarithmic {
            let decades = (self.to / self.from).log10().round() as i32;
            let every = (decades / 6 + 1) as usize;
            return (0..=decades).step_by(every).map(|d| self.from * 10_f64.powi(d)).collect();
        }
        let step = step(self.to - self.from);
        let count = ((self.to - self.from) / step).round() as u32;
        (0..=count).map(|at| self.from + f64::from(at) * step).collect()
    }
}

/// A round step, of which five or six cover `range`.
fn step(range: f64) -> f64 {
    let power = 10_f64.powf((range / 5.0).log10().floor());
    let wanted = range / 5.0 / power;
    let round = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|&round| round >= wanted * 0.999);
    round.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marks_are_round_and_reach_the_ends() {
        let scale = Scale::of([830.0, 412.0].into_iter(), 100.0, 0.0);
        assert_eq!(scale.marks(), [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]);
        assert_eq!((scale.at(0.0), scale.at(1000.0)), (100.0, 0.0));
        let scale = Scale::of([3.0, 40_000.0].into_iter(), 0.0, 100.0);
        assert_eq!(scale.marks(), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
        assert!((scale.at(1e5) - 100.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn every_figure_is_on_the_axis(figures in proptest::collection::vec(0.0..1e12_f64, 1..20)) {
            let scale = Scale::of(figures.iter().copied(), 10.0, 90.0);
            for &figure in &figures {
                let at = scale.at(figure);
                prop_assert!((9.999..=90.001).contains(&at), "{} is at {} of {:?}", figure, at, scale);
            }
            prop_assert!(scale.marks().len() <= 7, "{:?}", scale.marks());
        }
    }
}
