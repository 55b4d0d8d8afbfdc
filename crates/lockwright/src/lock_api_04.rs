//! The same locks for crates that are on `lock_api` 0.4, under the same names: the raw locks speak
//! both versions.
//!
//! [`BiasedRwLock`](crate::BiasedRwLock) is not here: 0.4 has no place for what a reader has to
//! remember. The other policies are had as `lock_api::Mutex<RawMutexWith<W>, T>`.

mod condvar;
mod mutex;
mod rwlock;

pub use condvar::{Condvar, CondvarWith, WaitTimeoutResult};
pub use lock_api_04 as lock_api;
#[cfg(feature = "arc_lock")]
pub use lock_api_04::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard,
};
use lockwright_locks::mutex::{Latency, SliceAtomic};

use crate::raw::{RawFairMutex, RawMutex, RawMutexWith, RawRwLock, RawRwLockRecursive};

/// What a guard of `lock_api` 0.4 carries: whether it may go to another thread.
#[cfg(feature = "send_guard")]
type GuardMarker = lock_api_04::GuardSend;
#[cfg(not(feature = "send_guard"))]
type GuardMarker = lock_api_04::GuardNoSend;

mutex_names! {
    /// [`Mutex`](crate::Mutex) for `lock_api` 0.4.
    Mutex, MutexGuard, MappedMutexGuard<>: lock_api_04, RawMutex
}

mutex_names! {
    /// [`LatencyMutex`](crate::LatencyMutex) for `lock_api` 0.4.
    LatencyMutex, LatencyMutexGuard, MappedLatencyMutexGuard<>: lock_api_04, RawMutexWith<Latency>
}

mutex_names! {
    /// [`AtomicMutex`](crate::AtomicMutex) for `lock_api` 0.4.
    AtomicMutex, AtomicMutexGuard, MappedAtomicMutexGuard<>: lock_api_04, RawMutexWith<SliceAtomic>
}

mutex_names! {
    /// [`FairMutex`](crate::FairMutex) for `lock_api` 0.4.
    FairMutex, FairMutexGuard, MappedFairMutexGuard<>: lock_api_04, RawFairMutex
}

reentrant_names! {
    /// [`ReentrantMutex`](crate::ReentrantMutex) for `lock_api` 0.4.
    ReentrantMutex, ReentrantMutexGuard, MappedReentrantMutexGuard: lock_api_04, RawMutex
}

rwlock_names! {
    /// [`RwLock`](crate::RwLock) for `lock_api` 0.4.
    RwLock, RwLockReadGuard, RwLockWriteGuard, RwLockUpgradableReadGuard,
    MappedRwLockReadGuard, MappedRwLockWriteGuard<>: lock_api_04, RawRwLock
}

rwlock_names! {
    /// [`RecursiveRwLock`](crate::RecursiveRwLock) for `lock_api` 0.4.
    RecursiveRwLock, RecursiveRwLockReadGuard, RecursiveRwLockWriteGuard,
    RecursiveRwLockUpgradableReadGuard, MappedRecursiveRwLockReadGuard,
    MappedRecursiveRwLockWriteGuard<>: lock_api_04, RawRwLockRecursive
}

/// A new [`Mutex`].
pub const fn const_mutex<T>(value: T) -> Mutex<T> {
    Mutex::from_raw(RawMutex::INIT, value)
}

/// A new [`FairMutex`].
pub const fn const_fair_mutex<T>(value: T) -> FairMutex<T> {
    FairMutex::from_raw(RawFairMutex::INIT, value)
}

/// A new [`ReentrantMutex`].
pub const fn const_reentrant_mutex<T>(value: T) -> ReentrantMutex<T> {
    ReentrantMutex::from_raw(RawMutex::INIT, crate::raw::RawThreadId, value)
}

/// A new [`RwLock`].
pub const fn const_rwlock<T>(value: T) -> RwLock<T> {
    RwLock::from_raw(RawRwLock::INIT, value)
}
