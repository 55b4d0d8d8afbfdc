//! Pictures of what `lockwright sim` wrote.

use serde::Deserialize;

use super::lines::{Across, Lines, Point, Series};
use super::{Picture, short};
use crate::report::number::significant;

/// What a file of `lockwright sim` has, as far as it is shown.
#[derive(Debug, Deserialize)]
pub struct Sweep {
    /// One for each variant of the machine.
    pub variants: Vec<Variant>,
}

/// The results on one machine.
#[derive(Debug, Deserialize)]
pub struct Variant {
    /// Which; empty: the machine as it is.
    pub variant: String,
    /// A result for each lock and number of threads.
    pub results: Vec<Simulated>,
}

/// A lock with so many threads.
#[derive(Debug, Deserialize)]
pub struct Simulated {
    lock: String,
    threads: f64,
    kops: f64,
    samples: Vec<Rate>,
}

#[derive(Debug, Deserialize)]
struct Rate {
    kops: f64,
}

impl Sweep {
    /// A picture for each variant.
    pub fn pictures(&self) -> Vec<Picture> {
        self.variants.iter().filter(|v| !v.results.is_empty()).map(Variant::picture).collect()
    }
}

impl Variant {
    fn picture(&self) -> Picture {
        let mut series: Vec<Series> = Vec::new();
        for result in &self.results {
            let rates = result.samples.iter().map(|sample| sample.kops);
            let (low, high) =
                (rates.clone().fold(f64::INFINITY, f64::min), rates.fold(0.0, f64::max));
            let range = (low < high).then_some([low, high]);
            let point = Point { x: result.threads, y: result.kops, range };
            match series.iter_mut().find(|series| series.name == result.lock) {
                Some(series) => series.points.push(point),
                None => {
                    let number = series.len();
                    series.push(Series {
                        number,
                        name: &result.lock,
                        points: vec![point],
                        expected: false,
                    });
                }
            }
        }
        let say = |figure: f64| significant(Some(figure));
        let title = format!(
            "kops/s, simulated{}{}",
            if self.variant.is_empty() { "" } else { ": " },
            self.variant
        );
        Lines {
            title: &title,
            caption: "Thousand acquisitions a second on a simulated machine. More is better. Bands: from the \
                      least to the largest seed."
                .to_owned(),
            across: (Across::Counts, "threads"),
            up: "kops/s (thousand a second)".to_owned(),
            say: &say,
            mark: &short,
            series,
        }
        .draw()
    }
}
