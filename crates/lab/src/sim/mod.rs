//! The laboratory on a simulated machine: which lock, what it is put through, what came out, and
//! the published results it is held against.

mod aim7;
pub mod batch;
pub mod forks;
pub mod host;
pub mod job;
pub mod published;
pub mod report;
mod sheet;
pub mod subjects;
mod tables;
mod tally;
pub mod workload;
