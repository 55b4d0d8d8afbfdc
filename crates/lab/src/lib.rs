//! The laboratory: what is measured ([`plan`]), how ([`run`]), what it means ([`stats`],
//! [`summary`]), what is kept ([`results`]) and how it is shown ([`report`]).
//!
//! Each stage is a type, nothing is measured where it is shown, and nothing here prints: reports
//! are returned as text or written to what the caller gives.

#![forbid(unsafe_code)]

pub mod disturbance;
pub mod machine;
pub mod plan;
pub mod registry;
pub mod report;
pub mod results;
pub mod run;
pub mod rw;
pub mod seq;
pub mod sim;
pub mod stats;
pub mod summary;
