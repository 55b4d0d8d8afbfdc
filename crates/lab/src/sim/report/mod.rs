//! Simulated results as text, Markdown and CSV.

mod csv;
mod published;
mod sweep;

pub use self::csv::csv;
pub(crate) use published::{conclusion, count, in_words};
pub use published::{published, published_markdown, varied};
pub use sweep::{events, sweep};

/// A share as a percentage.
fn percent(share: Option<f64>) -> String {
    share
        .filter(|share| share.is_finite())
        .map_or_else(|| "-".to_owned(), |share| format!("{:.1}", 100.0 * share))
}
