//! The locks of [`lockwright`] under the names of `parking_lot` 0.12, over `lock_api` 0.4.
//!
//! With this package in place of the real one, a whole tree of crates changes its locks:
//!
//! ```toml
//! [patch.crates-io]
//! parking_lot = { git = "https://github.com/lockwright/lockwright", version = "0.12" }
//! ```
//!
//! What differs on purpose: see `docs/migrating.md` in the repository.

#[cfg(feature = "deadlock_detection")]
pub use lockwright::deadlock;
#[cfg(feature = "arc_lock")]
pub use lockwright::lock_api_04::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard,
};
pub use lockwright::lock_api_04::{
    Condvar, FairMutex, FairMutexGuard, MappedFairMutexGuard, MappedMutexGuard,
    MappedReentrantMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard,
    ReentrantMutex, ReentrantMutexGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard, WaitTimeoutResult, const_fair_mutex, const_mutex, const_reentrant_mutex,
    const_rwlock, lock_api,
};
pub use lockwright::{Once, OnceState, RawFairMutex, RawMutex, RawRwLock, RawThreadId};
