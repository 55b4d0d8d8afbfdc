//! The laboratory: from arguments to an experiment, to samples, to what they say, to a report.
//!
//! | stage | where | type |
//! |---|---|---|
//! | on which machine | [`environment`] | `Machine` |
//! | what is compared | [`arms`] | `Arm`: a lock, or whatever can be run |
//! | under which load | [`loads`] | `Cell`, `View`: a file for each benchmark |
//! | in which order | [`experiment`] | `Experiment`, `Outcome` |
//! | what was measured | [`record`] | `Record`, `Sample`, `Metric`: what files hold |
//! | what it says | [`analysis`] | `Block`, `Row` |
//! | how it is shown | [`report`] | text |
//!
//! There is one of each, whatever is measured: a new lock is an entry in [`arms::locks`], a new
//! metric one in [`record::metric`], a new benchmark a file in [`loads`], a new output a file in
//! [`report`]. Nothing is measured where it is shown, and nothing here prints.

#![forbid(unsafe_code)]

pub mod analysis;
pub mod arms;
pub mod environment;
pub mod experiment;
pub mod loads;
pub mod record;
pub mod report;
pub mod sim;
pub mod torture;

pub use analysis::stats;
