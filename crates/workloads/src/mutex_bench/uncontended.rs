//! What a lock costs when nobody else wants it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use super::BenchMutex;

/// Time of `pairs` lock and unlock pairs, loop included.
#[inline(never)]
pub(super) fn uncontended<M: BenchMutex>(pairs: u64) -> Duration {
    let mutex = CachePadded::new(M::new());
    let mutex: &M = black_box(&*mutex);
    let began = Instant::now();
    for _ in 0..pairs {
        // The section is opaque but does nothing, so that only the lock is measured.
        mutex.with(|counter| {
            black_box(counter);
        });
    }
    began.elapsed()
}

/// Time of the same loop without the lock, to be subtracted from [`super::MutexBench::uncontended`].
#[inline(never)]
pub fn loop_overhead(pairs: u64) -> Duration {
    let mut counter = CachePadded::new(0_u64);
    let counter: &mut u64 = black_box(&mut *counter);
    let began = Instant::now();
    for _ in 0..pairs {
        black_box(&mut *counter);
    }
    began.elapsed()
}
