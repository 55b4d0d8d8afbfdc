//! From samples to what they say: statistics, and the figures of each arm in each cell.

pub mod bisect;
pub mod compare;
pub mod stats;
pub mod summary;
pub mod two_samples;
