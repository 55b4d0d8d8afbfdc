//! The laboratory on a simulated machine: which lock, what it is put through, what came out, and
//! the published results it is held against.

pub mod batch;
mod bodies;
mod epoll;
pub mod estimate;
pub mod forks;
mod held;
pub mod host;
pub mod job;
pub mod published;
pub mod record;
pub mod report;
pub mod sample;
pub mod subjects;
pub mod window;
pub mod workload;
