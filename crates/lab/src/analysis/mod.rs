//! From samples to what they say: statistics, and the figures of each arm in each cell.

pub mod stats;
pub mod summary;
