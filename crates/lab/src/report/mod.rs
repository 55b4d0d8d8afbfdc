//! Records as text: a table for people, markdown, CSV, OpenMetrics and JSON.
//!
//! | form | for | raw samples |
//! |---|---|---|
//! | [`table`] | a terminal, 80 columns wide | no |
//! | [`markdown`] | a pull request, an issue | no |
//! | [`csv`] | a spreadsheet: one line for each arm in each setting | no |
//! | [`openmetrics`] | whoever collects results over time | no |
//! | [`json`] | programs, and whoever doubts the figures | yes |
//! | [`html`], [`picture`] | a browser, or anybody who was sent the page | no |
//!
//! No form knows a metric or a benchmark: [`layout`] makes rows and columns of a record by the
//! metrics of its cells, and the forms draw them.

pub mod compare;
pub mod conclusion;
pub mod csv;
pub mod html;
pub mod json;
pub mod layout;
pub mod markdown;
pub mod number;
pub mod openmetrics;
pub mod others;
pub mod picture;
pub mod sections;
pub mod table;

#[cfg(test)]
mod tests;
