//! Programs that use locks, and oracles that say whether the locks did their job.
//!
//! A workload is generic over the lock and is monomorphised for each, so that a lock's fast path
//! inlines into the measured loop as it does into a user's program. Nothing here prints, and
//! nothing here decides what the numbers mean: that is `lockwright-lab`.

#![forbid(unsafe_code)]

pub mod directory;
pub mod harness;
pub mod locktorture;
pub mod mutex_bench;
pub mod node_mask;
pub mod on;
pub mod patterns;
pub mod rw_bench;
pub mod seq_bench;
pub mod work;
