//! The locks of [`lockwright`] under the names of `parking_lot` 0.13, over `lock_api` 0.5.
//!
//! With this package in place of the real one, a whole tree of crates changes its locks:
//!
//! ```toml
//! [patch.crates-io]
//! parking_lot = { git = "https://github.com/lockwright/lockwright", version = "0.13" }
//! ```
//!
//! What differs on purpose: see `docs/migrating.md` in the repository.

#[cfg(feature = "deadlock_detection")]
pub use lockwright::deadlock;
#[cfg(feature = "arc_lock")]
pub use lockwright::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard,
};
pub use lockwright::{
    Condvar, FairMutex, FairMutexGuard, MappedFairMutexGuard, MappedMutexGuard,
    MappedRecursiveRwLockReadGuard, MappedRecursiveRwLockWriteGuard, MappedReentrantMutexGuard,
    MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard, Once, OnceState, RawCondvar,
    RawFairMutex, RawMutex, RawRwLock, RawRwLockRecursive, RawThreadId, RecursiveRwLock,
    RecursiveRwLockReadGuard, RecursiveRwLockUpgradableReadGuard, RecursiveRwLockWriteGuard,
    ReentrantMutex, ReentrantMutexGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard, WaitTimeoutResult, lock_api,
};
