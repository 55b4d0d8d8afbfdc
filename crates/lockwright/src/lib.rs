//! Linux-kernel-grade sleeping locks for ordinary programs.
//!
//! ```
//! use lockwright::{Condvar, Mutex};
//!
//! static JOBS: Mutex<Vec<u32>> = Mutex::new(Vec::new());
//! static ADDED: Condvar = Condvar::new();
//!
//! std::thread::scope(|s| {
//!     s.spawn(|| {
//!         let mut jobs = JOBS.lock();
//!         ADDED.wait_while(&mut jobs, |jobs| jobs.is_empty());
//!         assert_eq!(jobs.pop(), Some(7));
//!     });
//!     JOBS.lock().push(7);
//!     ADDED.notify_one();
//! });
//! ```
//!
//! # Choosing a mutex
//!
//! | type | waiting | choose it when |
//! |---|---|---|
//! | [`Mutex`] | two regimes, 1 ms slices | throughput and an even share over 0.1 s matter |
//! | [`LatencyMutex`] | the same, short slices | the longest wait matters more than throughput |
//! | [`KernelMutex`] | the kernel's: spin on a running owner, hand-off after 4 ms | you compare with the kernel |
//! | [`AtomicMutex`] | as `Mutex`, atomic unlock | the mutex may be freed by its next owner through a raw pointer |
//!
//! # Data that are read more often than written
//!
//! | type | choose it when |
//! |---|---|
//! | [`SeqLock`] | a small [`Plain`] value is read often; readers store nothing, and do not wait long |
//! | [`SeqLatch`] | the same, and a signal handler reads it: no reader waits for a writer at all |
//! | [`SeqCount`] | the data and the lock of the writers are yours already |
//!
//! All mutexes are 8 bytes beside their data, need no initialisation and are not poisoned by a
//! panic. A signal handler may lock and unlock mutexes, as far as it does not wait for the thread
//! that it interrupted; it must not notify a condition variable that this thread was using.

#![deny(missing_docs)]

mod biased;
mod condvar;
pub mod events;
#[cfg(feature = "lock_api_04")]
pub mod lock_api_04;
mod mutex;
mod rwlock;
mod seqlatch;
mod seqlock;
pub mod study;

pub use biased::RawBiasedRwLock;
pub use condvar::RawCondvar;
pub use lock_api::{self, WaitTimeoutResult};
pub use lockwright_locks::biased as rwlock_bias;
pub use lockwright_locks::mutex::{Kernel, Latency, Policy, Slice, SliceAtomic};
pub use lockwright_locks::plain::Plain;
pub use lockwright_locks::rwsem::policy as rwlock_policy;
pub use lockwright_locks::{
    plain,
    seqcount::{Broken, NotNow, Start},
};
pub use mutex::RawMutex;
pub use rwlock::{RawRwLock, RecursiveRead};
pub use seqlatch::SeqLatch;
pub use seqlock::{SeqLock, SeqLockGuard};

/// A mutex with the default policy, [`Slice`].
pub type Mutex<T> = lock_api::Mutex<RawMutex<Slice>, T>;
/// A mutex with the kernel's policy.
pub type KernelMutex<T> = lock_api::Mutex<RawMutex<Kernel>, T>;
/// A mutex whose longest wait is short.
pub type LatencyMutex<T> = lock_api::Mutex<RawMutex<Latency>, T>;
/// A mutex that may be freed under its own lock.
pub type AtomicMutex<T> = lock_api::Mutex<RawMutex<SliceAtomic>, T>;

/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex<Slice>, T>;
/// The guard of a part of what a [`Mutex`] protects.
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex<Slice>, T>;
/// The guard of a [`Mutex`] in an `Arc`, which it keeps alive.
#[cfg(feature = "arc_lock")]
pub type ArcMutexGuard<T> = lock_api::ArcMutexGuard<RawMutex<Slice>, T>;

/// A reader-writer lock; its waiting policy is one of [`rwlock_policy`].
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
pub type RwLock<T, W = rwlock_policy::Standard> = lock_api::RwLock<RawRwLock<W>, T>;
/// The guard of a reader of a [`RwLock`].
pub type RwLockReadGuard<'a, T, W = rwlock_policy::Standard> =
    lock_api::RwLockReadGuard<'a, RawRwLock<W>, T>;
/// The guard of a writer of a [`RwLock`].
pub type RwLockWriteGuard<'a, T, W = rwlock_policy::Standard> =
    lock_api::RwLockWriteGuard<'a, RawRwLock<W>, T>;
/// The guard of a reader of a [`RwLock`] that may become its writer.
pub type RwLockUpgradableReadGuard<'a, T, W = rwlock_policy::Standard> =
    lock_api::RwLockUpgradableReadGuard<'a, RawRwLock<W>, T>;

/// A [`RwLock`] biased towards readers: for data that are read a thousand times and more for each write.
///
/// A reader then writes no line that other readers write, so readers do not slow each other down; a
/// writer that comes meanwhile takes some microseconds more. Where writes are more frequent the
/// bias stays off and the lock is a [`RwLock`] of 128 bytes.
///
/// ```
/// use lockwright::BiasedRwLock;
///
/// static ROUTES: BiasedRwLock<Vec<(u8, u8)>> = BiasedRwLock::new(Vec::new());
/// ROUTES.write().push((1, 7));
/// assert_eq!(ROUTES.read().len(), 1);
/// ```
pub type BiasedRwLock<T, W = rwlock_policy::Standard> = lock_api::RwLock<RawBiasedRwLock<W>, T>;
/// The guard of a reader of a [`BiasedRwLock`].
pub type BiasedRwLockReadGuard<'a, T, W = rwlock_policy::Standard> =
    lock_api::RwLockReadGuard<'a, RawBiasedRwLock<W>, T>;
/// The guard of a writer of a [`BiasedRwLock`].
pub type BiasedRwLockWriteGuard<'a, T, W = rwlock_policy::Standard> =
    lock_api::RwLockWriteGuard<'a, RawBiasedRwLock<W>, T>;
/// The guard of a reader of a [`BiasedRwLock`] that may become its writer.
pub type BiasedRwLockUpgradableReadGuard<'a, T, W = rwlock_policy::Standard> =
    lock_api::RwLockUpgradableReadGuard<'a, RawBiasedRwLock<W>, T>;

/// A condition variable for [`Mutex`].
pub type Condvar = lock_api::Condvar<RawCondvar<Slice>>;
/// A condition variable for the mutex with another policy.
pub type CondvarWith<W> = lock_api::Condvar<RawCondvar<W>>;

/// A sequence counter, to be begun as [`SeqCount::INIT`](lockwright_locks::seqcount::SeqCount::INIT).
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// static SEQ: lockwright::SeqCount = lockwright::SeqCount::INIT;
/// static LOW: AtomicU64 = AtomicU64::new(0);
/// static HIGH: AtomicU64 = AtomicU64::new(1);
///
/// // One writer at a time:
/// SEQ.write(|_| {
///     LOW.store(10, Relaxed);
///     HIGH.store(11, Relaxed);
/// });
/// // Any number of readers:
/// let (low, high) = SEQ.read(|| (LOW.load(Relaxed), HIGH.load(Relaxed)))?;
/// assert_eq!((low, high), (10, 11));
/// # Ok::<(), lockwright::Broken>(())
/// ```
pub type SeqCount = lockwright_locks::seqcount::SeqCount<lockwright_platform::Native>;
/// An open write section of a [`SeqCount`].
pub type WriteSection<'a> =
    lockwright_locks::seqcount::WriteSection<'a, lockwright_platform::Native>;
