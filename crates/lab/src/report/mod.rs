//! Results as text: a table for people, markdown, CSV and JSON.
//!
//! | form | for | raw samples |
//! |---|---|---|
//! | [`table`] | a terminal, about 100 columns wide | no |
//! | [`markdown`] | a pull request, an issue | no |
//! | [`csv`] | a spreadsheet: one line per lock and setting | no |
//! | [`json`] | programs, and whoever doubts the summary | yes |

mod columns;
pub mod csv;
pub mod json;
pub mod markdown;
mod number;
pub mod order;
pub mod rw;
pub mod seq;
pub mod table;

pub use columns::Shown;

#[cfg(test)]
pub(crate) mod example;
