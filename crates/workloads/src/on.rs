//! This project's locks on any platform, as the benchmarks' bodies take them.
//!
//! The counter under the lock is no word of the platform's: reading and writing it costs nothing on
//! a simulated machine, and shows nevertheless when a lock lets two threads in.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright_locks::{count_mutex, mutex, rwsem};
use lockwright_platform::Platform;

use crate::mutex_bench::BenchMutex;
use crate::rw_bench::BenchRwLock;

/// A lock and the counter under it, on a line of their own.
#[repr(C, align(64))]
pub struct On<R> {
    raw: R,
    counter: AtomicU64,
}

impl<R> On<R> {
    fn over(raw: R) -> Self {
        On { raw, counter: AtomicU64::new(0) }
    }

    // Ordering: Relaxed throughout: the lock orders, if it does.
    fn with_counter<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        let mut value = self.counter.load(Relaxed);
        let result = section(&mut value);
        self.counter.store(value, Relaxed);
        result
    }
}

impl<P: Platform, W: rwsem::Policy> BenchRwLock for On<rwsem::RawRwLock<P, W>>
where
    Self: Send + Sync,
{
    fn new() -> Self {
        On::over(rwsem::RawRwLock::new())
    }

    fn read<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        self.raw.while_reading(|| section(&self.counter))
    }

    fn write<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        self.raw.while_writing(|| section(&self.counter))
    }

    fn write_then_read(&self, write: impl FnOnce(&AtomicU64), read: impl FnOnce(&AtomicU64)) {
        self.raw.while_writing_then_reading(|| write(&self.counter), || read(&self.counter));
    }
}

impl<P: Platform, W: mutex::Policy> BenchMutex for On<mutex::RawMutex<P, W>>
where
    Self: Send + Sync,
{
    fn new() -> Self {
        On::over(mutex::RawMutex::new())
    }

    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        self.raw.while_locked(|| self.with_counter(section))
    }
}

impl<P: Platform, W: count_mutex::Tests> BenchMutex for On<count_mutex::CountMutex<P, W>>
where
    Self: Send + Sync,
{
    fn new() -> Self {
        On::over(count_mutex::CountMutex::new())
    }

    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        self.raw.while_locked(|| self.with_counter(section))
    }
}
