//! The reader-writer locks by name.

use crate::raw::{RawBiasedRwLock, RawBiasedRwLockWith, RawRwLock, RawRwLockWith};

/// Names a reader-writer lock and its guards: of a reader, a writer, an upgradable reader, and of
/// parts of what the first two protect.
macro_rules! rwlock_names {
    (
        $(#[$doc:meta])*
        $lock:ident, $read:ident, $write:ident, $upgradable:ident, $mapped_read:ident, $mapped_write:ident
            <$($policy:ident)?>: $raw:ty
    ) => {
        $(#[$doc])*
        pub type $lock<T $(, $policy)?> = lock_api::RwLock<$raw, T>;
        #[doc = concat!("The guard of a reader of a [`", stringify!($lock), "`].")]
        pub type $read<'a, T $(, $policy)?> = lock_api::RwLockReadGuard<'a, $raw, T>;
        #[doc = concat!("The guard of a writer of a [`", stringify!($lock), "`].")]
        pub type $write<'a, T $(, $policy)?> = lock_api::RwLockWriteGuard<'a, $raw, T>;
        #[doc = concat!("The guard of a reader of a [`", stringify!($lock), "`] that may become its writer.")]
        pub type $upgradable<'a, T $(, $policy)?> =
            lock_api::RwLockUpgradableReadGuard<'a, $raw, T>;
        #[doc = concat!("The guard of a reader of a part of what a [`", stringify!($lock), "`] protects.")]
        pub type $mapped_read<'a, T $(, $policy)?> = lock_api::MappedRwLockReadGuard<'a, $raw, T>;
        #[doc = concat!("The guard of a writer of a part of what a [`", stringify!($lock), "`] protects.")]
        pub type $mapped_write<'a, T $(, $policy)?> = lock_api::MappedRwLockWriteGuard<'a, $raw, T>;
    };
}

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
    MappedRwLockReadGuard, MappedRwLockWriteGuard<>: RawRwLock
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
    MappedBiasedRwLockReadGuard, MappedBiasedRwLockWriteGuard<>: RawBiasedRwLock
}

rwlock_names! {
    /// A [`RwLock`] with the policy `W`.
    RwLockWith, RwLockReadGuardWith, RwLockWriteGuardWith, RwLockUpgradableReadGuardWith,
    MappedRwLockReadGuardWith, MappedRwLockWriteGuardWith<W>: RawRwLockWith<W>
}

rwlock_names! {
    /// A [`BiasedRwLock`] with the policy `W`.
    BiasedRwLockWith, BiasedRwLockReadGuardWith, BiasedRwLockWriteGuardWith,
    BiasedRwLockUpgradableReadGuardWith, MappedBiasedRwLockReadGuardWith,
    MappedBiasedRwLockWriteGuardWith<W>: RawBiasedRwLockWith<W>
}
