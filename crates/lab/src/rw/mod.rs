//! `bench rwlock`: reader-writer locks, and the policies of this project's beside one another.
//!
//! The stages are those of the mutex benchmark: [`registry`], [`plan`], [`run`], [`summary`],
//! [`results`]; the reports are in [`crate::report::rw`].

pub mod plan;
pub mod registry;
pub mod results;
pub mod run;
pub mod summary;
