//! The mutexes by name.

use lockwright_locks::mutex::{Latency, SliceAtomic};

use crate::raw::{RawFairMutex, RawMutex, RawMutexWith};

mutex_names! {
    /// A mutex with the default policy, [`Slice`](crate::Slice).
    Mutex, MutexGuard, MappedMutexGuard<>: lock_api, RawMutex
}

mutex_names! {
    /// A mutex whose longest wait is short.
    LatencyMutex, LatencyMutexGuard, MappedLatencyMutexGuard<>: lock_api, RawMutexWith<Latency>
}

mutex_names! {
    /// A mutex that may be freed under its own lock.
    AtomicMutex, AtomicMutexGuard, MappedAtomicMutexGuard<>: lock_api, RawMutexWith<SliceAtomic>
}

mutex_names! {
    /// A mutex that goes to the thread that has waited longest.
    FairMutex, FairMutexGuard, MappedFairMutexGuard<>: lock_api, RawFairMutex
}

mutex_names! {
    /// A mutex with the policy `W`.
    MutexWith, MutexGuardWith, MappedMutexGuardWith<W>: lock_api, RawMutexWith<W>
}

reentrant_names! {
    /// A mutex that its holder may lock again.
    ReentrantMutex, ReentrantMutexGuard, MappedReentrantMutexGuard: lock_api, RawMutex
}

/// As [`Mutex::new`](lock_api::Mutex::new), which is a constant too.
pub const fn const_mutex<T>(value: T) -> Mutex<T> {
    Mutex::new(value)
}

/// As `FairMutex::new`, which is a constant too.
pub const fn const_fair_mutex<T>(value: T) -> FairMutex<T> {
    FairMutex::new(value)
}

/// As `ReentrantMutex::new`, which is a constant too.
pub const fn const_reentrant_mutex<T>(value: T) -> ReentrantMutex<T> {
    ReentrantMutex::new(value)
}
