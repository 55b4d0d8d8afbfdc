//! The reader-writer locks by name.

use crate::raw::{
    RawBiasedRwLock, RawBiasedRwLockWith, RawRwLock, RawRwLockRecursive, RawRwLockWith,
};

rwlock_names! {
    /// A reader-writer lock: for data that are read more often than written.
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
    ///
    /// *Cost*: 16 bytes beside the data; two atomic operations for a read or a write that nobody disturbs.
    /// Readers on different CPUs take turns at the lock's cache line, however short the section.
    ///
    /// *Waiting*: spins for up to 20 us while the holder is seen running, yields a few times, then sleeps in a queue.
    /// Readers are woken together. A running thread may take a free lock before those that
    /// sleep, until a first writer has waited for 1 ms: then nobody overtakes it. A first writer that only readers
    /// keep out lets no more of them in. A thread that has not waited for the lock in the last 100 us nor had to give
    /// it up in the last 1 ms is a *guest*: it stands before those who take it again and again, at most 8 times a
    /// millisecond, and nobody overtakes it.
    ///
    /// *Take another* if sections are as short as the lock's own cost ([`Mutex`](crate::Mutex)); if writes are rarer
    /// than one in a thousand ([`BiasedRwLock`]); if the data are small and may be copied
    /// ([`SeqLock`](crate::SeqLock)).
    ///
    #[doc = include_str!("../docs/rwlock.md")]
    RwLock, RwLockReadGuard, RwLockWriteGuard, RwLockUpgradableReadGuard,
    MappedRwLockReadGuard, MappedRwLockWriteGuard<>: lock_api, RawRwLock
}

rwlock_names! {
    /// A [`RwLock`] that a thread may read again while it reads.
    ///
    /// ```
    /// use lockwright::RecursiveRwLock;
    ///
    /// let lock = RecursiveRwLock::new(5);
    /// let first = lock.read();
    /// let second = lock.read(); // whoever waits to write meanwhile
    /// assert_eq!(*first, *second);
    /// ```
    ///
    /// Readers join readers whoever waits, so **writers may starve**: as long as readers overlap, none gets in.
    ///
    /// *Cost*: that of a [`RwLock`]. *Waiting*: likewise, but that a reader waits for a writer that holds the lock, or
    /// behind others where nobody reads.
    ///
    /// *Take another* if no thread reads twice: [`RwLock`]. If few places do, they may use
    /// [`RecursiveRead`](crate::RecursiveRead) on a [`RwLock`].
    ///
    #[doc = include_str!("../docs/rwlock.md")]
    RecursiveRwLock, RecursiveRwLockReadGuard, RecursiveRwLockWriteGuard,
    RecursiveRwLockUpgradableReadGuard, MappedRecursiveRwLockReadGuard,
    MappedRecursiveRwLockWriteGuard<>: lock_api, RawRwLockRecursive
}

rwlock_names! {
    /// A [`RwLock`] biased towards readers: for data that are read a thousand times and more for
    /// each write.
    ///
    /// While the bias is on, a reader writes no line that another reader writes, so readers do not slow each
    /// other down, on any number of CPUs. It comes after a thousand reads without a write, and goes with the next write; where that has
    /// not paid, it comes later the next time. So where writes are frequent this is a [`RwLock`] of 128
    /// bytes.
    ///
    /// ```
    /// use lockwright::BiasedRwLock;
    ///
    /// static ROUTES: BiasedRwLock<Vec<(u8, u8)>> = BiasedRwLock::new(Vec::new());
    /// ROUTES.write().push((1, 7));
    /// assert_eq!(ROUTES.read().len(), 1);
    /// ```
    ///
    /// *Cost*: 128 bytes beside the data; a biased read makes no atomic read-modify-write. A write that
    /// ends the bias has every CPU of the process pass a fence, and looks at the record of every thread that has a
    /// slot; a reader that sleeps in its section delays it as any reader does.
    ///
    /// *Waiting*: as a [`RwLock`].
    ///
    /// *Take another* if writes are more frequent ([`RwLock`]), if hundreds of locks are rarely used (128 bytes
    /// each), or if readers' guards must go to other threads: they never may, even with the feature
    /// `send_guard`, since a reader's hold lies in its own thread's record. A guard that outlives its thread keeps the thread's slot.
    ///
    #[doc = include_str!("../docs/rwlock.md")]
    BiasedRwLock, BiasedRwLockReadGuard, BiasedRwLockWriteGuard, BiasedRwLockUpgradableReadGuard,
    MappedBiasedRwLockReadGuard, MappedBiasedRwLockWriteGuard<>: lock_api, RawBiasedRwLock
}

rwlock_names! {
    /// A [`RwLock`] with the policy `W`, [`Standard`](crate::Standard) or [`Recursive`](crate::Recursive): for code that is
    /// generic over it. The names without `With` are the same types.
    ///
    /// *Cost*: 16 bytes beside the data. *Waiting*: as the policy says.
    ///
    #[doc = include_str!("../docs/rwlock.md")]
    RwLockWith, RwLockReadGuardWith, RwLockWriteGuardWith, RwLockUpgradableReadGuardWith,
    MappedRwLockReadGuardWith, MappedRwLockWriteGuardWith<W>: lock_api, RawRwLockWith<W>
}

rwlock_names! {
    /// A [`BiasedRwLock`] with the policy `W`, by which those wait that the bias does not serve.
    ///
    /// *Cost*: 128 bytes beside the data. *Waiting*: as the policy says.
    ///
    #[doc = include_str!("../docs/rwlock.md")]
    BiasedRwLockWith, BiasedRwLockReadGuardWith, BiasedRwLockWriteGuardWith,
    BiasedRwLockUpgradableReadGuardWith, MappedBiasedRwLockReadGuardWith,
    MappedBiasedRwLockWriteGuardWith<W>: lock_api, RawBiasedRwLockWith<W>
}

/// A new [`RwLock`]; `RwLock::new` is a constant too.
pub const fn const_rwlock<T>(value: T) -> RwLock<T> {
    RwLock::new(value)
}
