//! The body that `lockwright bench mutex` measures.
//!
//! N threads loop: lock, work inside, add one to a plain counter, unlock, work outside. After the
//! round the counter must equal the number of sections the threads counted, each for itself: a
//! lock that let two threads in has lost updates.
//!
//! Three measurements, never mixed in one round:
//!
//! | measurement | function | what it yields |
//! |---|---|---|
//! | throughput | [`MutexBench::throughput`] | sections per thread, CPU time, context switches |
//! | waiting | [`MutexBench::latency`] | a histogram of the wait before each section |
//! | uncontended | [`MutexBench::uncontended`] | time of lock and unlock in pairs by one thread |

mod latency;
mod round;
mod spec;
mod subject;
mod uncontended;

pub use latency::LatencyReport;
pub use round::{RoundReport, ThreadReport, sections};
pub use spec::{Rhythm, RoundSpec};
pub use subject::{BenchMutex, LockApi, MutexBench, NoLock, Runner};
pub use uncontended::loop_overhead;

#[cfg(test)]
mod tests;
