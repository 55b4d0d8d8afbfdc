//! `bench seq`: what a read-side section costs, and the allocator run of the node-mask study.
//!
//! The stages are those of the mutex benchmark: [`registry`], [`plan`], [`run`], [`summary`],
//! [`results`]; the reports are in [`crate::report::seq`].

pub mod plan;
pub mod registry;
pub mod results;
pub mod run;
pub mod summary;
