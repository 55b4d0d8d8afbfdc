//! What is measured: a lock with a counter under it.

use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{LatencyReport, RoundReport, RoundSpec, latency, round, uncontended};
use crate::harness::Interrupt;

/// A mutex over a `u64`, as a user of that lock would declare it.
///
/// The counter is part of the lock's own object because that is where users keep what a lock
/// protects, and because it needs no unsafe code.
pub trait BenchMutex: Send + Sync {
    /// An unlocked mutex over 0.
    fn new() -> Self;

    /// Runs `section` with the mutex held.
    ///
    /// Implementations are `#[inline]`, as the lock's own API is.
    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T;
}

/// Any lock that speaks `lock_api` 0.5.
pub struct LockApi<R>(lock_api::Mutex<R, u64>);

impl<R: lock_api::RawMutex + Send + Sync> BenchMutex for LockApi<R> {
    fn new() -> Self {
        LockApi(lock_api::Mutex::new(0))
    }

    #[inline]
    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        section(&mut self.0.lock())
    }
}

/// No lock at all, without undefined behaviour: what was read at the start is written at the end.
///
/// With more than one thread updates are lost, which the benchmark must notice.
pub struct NoLock(AtomicU64);

impl BenchMutex for NoLock {
    fn new() -> Self {
        NoLock(AtomicU64::new(0))
    }

    #[inline]
    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        // Ordering: Relaxed: there is no edge on purpose, the lock is broken.
        let mut value = self.0.load(Ordering::Relaxed);
        let result = section(&mut value);
        // A store and not an addition: that is what loses the other thread's update.
        self.0.store(value, Ordering::Relaxed);
        result
    }
}

/// The measurements of one lock, behind a vtable: one call per round, none per operation.
pub trait MutexBench: Sync {
    /// One throughput round.
    ///
    /// # Errors
    ///
    /// A thread could not be started; nothing was measured.
    fn throughput(&self, spec: &RoundSpec, interrupt: &Interrupt) -> io::Result<RoundReport>;

    /// One round with the wait before each section recorded.
    ///
    /// # Errors
    ///
    /// A thread could not be started; nothing was measured.
    fn latency(&self, spec: &RoundSpec, interrupt: &Interrupt) -> io::Result<LatencyReport>;

    /// Time of `pairs` lock and unlock pairs by the calling thread alone, loop included.
    fn uncontended(&self, pairs: u64) -> Duration;
}

/// [`MutexBench`] for the mutex `M`.
pub struct Runner<M>(PhantomData<fn() -> M>);

impl<M> Runner<M> {
    /// The runner; it holds nothing.
    pub const NEW: Self = Runner(PhantomData);
}

impl<M: BenchMutex> MutexBench for Runner<M> {
    fn throughput(&self, spec: &RoundSpec, interrupt: &Interrupt) -> io::Result<RoundReport> {
        round::throughput::<M>(spec, interrupt)
    }

    fn latency(&self, spec: &RoundSpec, interrupt: &Interrupt) -> io::Result<LatencyReport> {
        latency::latency::<M>(spec, interrupt)
    }

    fn uncontended(&self, pairs: u64) -> Duration {
        uncontended::uncontended::<M>(pairs)
    }
}
