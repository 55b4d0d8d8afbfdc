//! Peers that are Rust types already.

use std::sync;

use lockwright_workloads::mutex_bench::{BenchMutex, LockApi};

/// `std::sync::Mutex`.
pub struct Std(sync::Mutex<u64>);

impl BenchMutex for Std {
    fn new() -> Self {
        Std(sync::Mutex::new(0))
    }

    #[inline]
    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        // As nearly everybody calls it; the poison check is part of what std users pay.
        section(&mut self.0.lock().unwrap())
    }
}

/// `parking_lot::Mutex`, 0.13.
pub type ParkingLot = LockApi<parking_lot::RawMutex>;

/// `usync::Mutex`, 0.2; it speaks `lock_api` 0.4, so the 0.5 adapter does not fit.
pub struct Usync(usync::Mutex<u64>);

impl BenchMutex for Usync {
    fn new() -> Self {
        Usync(usync::Mutex::new(0))
    }

    #[inline]
    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        section(&mut self.0.lock())
    }
}
