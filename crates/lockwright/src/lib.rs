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

#[cfg(feature = "deadlock_detection")]
pub mod deadlock;
#[cfg(feature = "deadlock_detection")]
use deadlock::track;
pub mod events;
#[macro_use]
mod names;
#[cfg(feature = "lock_api_04")]
pub mod lock_api_04;
mod mutex;
mod once;
mod raw;
mod rwlock;
mod seqlatch;
mod seqlock;
#[cfg(feature = "stages")]
pub mod stages;
#[cfg(not(feature = "deadlock_detection"))]
mod track;

pub use lock_api::{self, WaitTimeoutResult};
#[cfg(feature = "arc_lock")]
pub use lock_api::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard,
};
pub use lockwright_locks::mutex::{Fair, Latency, Policy as MutexPolicy, Slice, SliceAtomic};
pub use lockwright_locks::plain::Plain;
pub use lockwright_locks::rwsem::{Policy as RwLockPolicy, Recursive, Standard};
pub use lockwright_locks::{
    plain,
    seqcount::{Broken, NotNow, Start},
};
pub use mutex::*;
pub use once::{Once, OnceState};
pub use raw::*;
pub use rwlock::*;
pub use seqlatch::SeqLatch;
pub use seqlock::{SeqLock, SeqLockGuard};

/// A condition variable for [`Mutex`].
pub type Condvar = lock_api::Condvar<RawCondvar>;
/// A condition variable for the mutex with another policy.
pub type CondvarWith<W> = lock_api::Condvar<RawCondvarWith<W>>;

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
