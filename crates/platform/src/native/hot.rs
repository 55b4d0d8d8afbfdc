//! What every lock and unlock reads, on a line that nobody writes once the process runs.

use core::sync::atomic::{AtomicIsize, AtomicU32};

#[repr(align(64))]
pub(super) struct Hot {
    /// See `membarrier`.
    pub mode: AtomicU32,
    /// Distance of `struct rseq` from the thread pointer; 0 if there is none.
    pub rseq_offset: AtomicIsize,
}

pub(super) static HOT: Hot = Hot { mode: AtomicU32::new(0), rseq_offset: AtomicIsize::new(0) };
