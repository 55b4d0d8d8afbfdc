//! What one round does.

use std::time::Duration;

/// The rhythm of each thread, in units of [`crate::work::pause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rhythm {
    /// Units inside each section.
    pub load: u32,
    /// Sections back to back before the thread works outside; at least 1.
    pub burst: u32,
    /// Units outside after each burst.
    pub outside: u32,
}

impl Rhythm {
    /// One section of `load` units, then `outside` units outside.
    pub fn steady(load: u32, outside: u32) -> Self {
        Rhythm { load, burst: 1, outside }
    }
}

/// One round: how many threads do what for how long.
#[derive(Clone, Copy, Debug)]
pub struct RoundSpec {
    /// Number of threads, at least 1.
    pub threads: usize,
    /// What each thread does.
    pub rhythm: Rhythm,
    /// Wall time from the start of the first thread to the stop.
    pub time: Duration,
}
