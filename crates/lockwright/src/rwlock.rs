//! The reader-writer locks by name.

use crate::raw::{
    RawBiasedRwLock, RawBiasedRwLockWith, RawRwLock, RawRwLockRecursive, RawRwLockWith,
};

rwlock_names! {
    /// A reader-writer lock.
    ///
    /// ```
    /// use lockwright::{RwLock, RwLockReadGuard, RwLockWriteGuard};
    ///
    /// let scores = RwLock::new(vec![3, 5]);
    /// {
    ///     let first = scores.read();
    ///     let second = scores.read();
    ///     assert_eq!(first[0] + second[1], 8);
    /// }
    /// let mut changing = scores.write();
    /// changing.push(8);
    /// let reading: RwLockReadGuard<_> = RwLockWriteGuard::downgrade(changing);
    /// assert_eq!(reading.len(), 3);
    /// ```
    RwLock, RwLockReadGuard, RwLockWriteGuard, RwLockUpgradableReadGuard,
    MappedRwLockReadGuard, MappedRwLockWriteGuard<>: lock_api, RawRwLock
}

rwlock_names! {
    /// A reader-writer lock that a thread may read again while it reads; writers may starve.
    RecursiveRwLock, RecursiveRwLockReadGuard, RecursiveRwLockWriteGuard,
    RecursiveRwLockUpgradableReadGuard, MappedRecursiveRwLockReadGuard,
    MappedRecursiveRwLockWriteGuard<>: lock_api, RawRwLockRecursive
}

rwlock_names! {
    /// A [`RwLock`] biased towards readers: for data that are read a thousand times and more for
    /// each write.
    ///
    /// A reader then writes no line that other readers write, so readers do not slow each other
    /// down; a writer that comes meanwhile takes some microseconds more. Where writes are more
    /// frequent the bias stays off and the lock is a [`RwLock`] of 128 bytes.
    ///
    /// ```
    /// use lockwright::BiasedRwLock;
    ///
    /// static ROUTES: BiasedRwLock<Vec<(u8, u8)>> = BiasedRwLock::new(Vec::new());
    /// ROUTES.write().push((1, 7));
    /// assert_eq!(ROUTES.read().len(), 1);
    /// ```
    BiasedRwLock, BiasedRwLockReadGuard, BiasedRwLockWriteGuard, BiasedRwLockUpgradableReadGuard,
    MappedBiasedRwLockReadGuard, MappedBiasedRwLockWriteGuard<>: lock_api, RawBiasedRwLock
}

rwlock_names! {
    /// A [`RwLock`] with the policy `W`.
    RwLockWith, RwLockReadGuardWith, RwLockWriteGuardWith, RwLockUpgradableReadGuardWith,
    MappedRwLockReadGuardWith, MappedRwLockWriteGuardWith<W>: lock_api, RawRwLockWith<W>
}

rwlock_names! {
    /// A [`BiasedRwLock`] with the policy `W`.
    BiasedRwLockWith, BiasedRwLockReadGuardWith, BiasedRwLockWriteGuardWith,
    BiasedRwLockUpgradableReadGuardWith, MappedBiasedRwLockReadGuardWith,
    MappedBiasedRwLockWriteGuardWith<W>: lock_api, RawBiasedRwLockWith<W>
}

/// As [`RwLock::new`](lock_api::RwLock::new), which is a constant too.
pub const fn const_rwlock<T>(value: T) -> RwLock<T> {
    RwLock::new(value)
}
