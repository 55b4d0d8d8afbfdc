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
//! # Choosing
//!
//! | type | bytes beside the data | choose it when |
//! |---|---|---|
//! | [`Mutex`] | 8 | you have no reason for another |
//! | [`LatencyMutex`] | 8 | the longest wait matters more than the rate |
//! | [`FairMutex`] | 8 | each waiter shall have its turn, whatever that costs |
//! | [`AtomicMutex`] | 8 | its next owner may free it through a raw pointer; or other CPUs must never be interrupted |
//! | [`ReentrantMutex`] | 24 | code that holds it calls code that locks it |
//! | [`RwLock`] | 16 | data are read more often than written, in sections longer than the lock's own cost |
//! | [`RecursiveRwLock`] | 16 | a thread that reads may read again; writers may starve |
//! | [`BiasedRwLock`] | 128 | there are a thousand reads and more for each write |
//! | [`SeqLock`] | 16 | a small [`Plain`] value is read often; readers store nothing, and do not wait long |
//! | [`SeqLatch`] | 16, and the data twice | the same, and a signal handler reads it: no reader waits for a writer at all |
//! | [`SeqCount`] | 8 | the data and the lock of the writers are yours already |
//! | [`Condvar`] | 8, nothing beside | threads wait for a change of what a mutex protects |
//! | [`Once`] | 4, nothing beside | something is done once |
//!
//! All need no initialisation, and panics poison none but [`Once`]. The page of each type says what it guarantees
//! and does not.
//!
//! # Policies
//!
//! [`MutexWith`] and [`RwLockWith`] take a policy, a type that says how threads wait: [`Slice`] (the default: a
//! thread that takes a contended mutex again and again keeps it for a slice of time, so that the line of the
//! mutex stays in its cache; others that come now and then are let in between), [`Latency`] (shorter slices),
//! [`SliceAtomic`] (nothing of the mutex is touched after the unlock's one operation), [`Fair`] (each unlock hands
//! the mutex on), [`Standard`] and [`Recursive`] for reader-writer locks.
//!
//! # Platforms
//!
//! 64-bit Linux, x86-64 and aarch64, with glibc 2.35 or later has everything. Elsewhere (musl, 32-bit Linux, macOS,
//! Windows) the same locks wait by what the standard library offers: it is not known which CPU a holder runs on,
//! each unlock has a fence of its own, a forked child may use no lock that another thread of its parent was in the
//! middle of, and signal handlers may use none. A target without threads or 64-bit atomic operations is refused by one error.
//! `lockwright doctor`, of the command line, says what a machine lacks and what that costs.
//!
//! On Linux a thread that goes to sleep has the CPUs of the process pass a fence (`membarrier`), so that unlocking
//! costs one atomic operation. The environment variable `LOCKWRIGHT_MEMBARRIER=off`, or the feature
//! `no_membarrier` of `lockwright-platform`, turns that off. `LOCKWRIGHT_CPUS=n` has locks behave as if there were so many CPUs, for
//! tests. `LOCKWRIGHT_SLICE_EXT=auto` has owners that others wait for ask the kernel (Linux 7.0 and glibc 2.41, or later)
//! to leave them their CPU some microseconds longer; it is `off` unless asked for, since no such kernel was at hand to try it on.
//!
//! # Features
//!
//! | feature | default | what |
//! |---|---|---|
//! | `events` | yes | counts what happened in slow paths: module [`events`] |
//! | `arc_lock` | yes | guards that hold an `Arc` of their lock |
//! | `send_guard` | no | guards may go to other threads (readers' of [`BiasedRwLock`] never) |
//! | `serde` | no | what a lock protects is serialized and deserialized |
//! | `owning_ref` | no | guards for the crate of this name |
//! | `lock_api_04` | no | the same locks for crates on `lock_api` 0.4: module `lock_api_04` |
//! | `deadlock_detection` | no | finds threads that wait for each other: module `deadlock` |
//! | `stages` | no | the kernel's policies, stage by stage, to compare with: module `stages` |
//!
//! The oldest compiler is Rust 1.95.

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
pub mod numa;
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
///
/// ```
/// use lockwright::{Condvar, Mutex};
///
/// static READY: Mutex<bool> = Mutex::new(false);
/// static CHANGED: Condvar = Condvar::new();
///
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         *READY.lock() = true;
///         CHANGED.notify_one();
///     });
///     CHANGED.wait_while(&mut READY.lock(), |ready| !*ready);
/// });
/// ```
#[doc = include_str!("../docs/condvar.md")]
pub type Condvar = lock_api::Condvar<RawCondvar>;
/// A condition variable for [`MutexWith<T, W>`](MutexWith): of [`LatencyMutex`], with `W` as [`Latency`], of
/// [`AtomicMutex`] as [`SliceAtomic`], of [`FairMutex`] as [`Fair`]. Two mutexes of one condition variable
/// have one policy.
///
/// ```
/// use lockwright::{CondvarWith, Fair, FairMutex};
///
/// let (turn, changed) = (FairMutex::new(0), CondvarWith::<Fair>::new());
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         *turn.lock() = 1;
///         changed.notify_all()
///     });
///     changed.wait_while(&mut turn.lock(), |turn| *turn == 0);
/// });
/// ```
#[doc = include_str!("../docs/condvar.md")]
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
#[doc = include_str!("../docs/seqcount.md")]
pub type SeqCount = lockwright_locks::seqcount::SeqCount<lockwright_platform::Native>;
/// An open write section of a [`SeqCount`].
pub type WriteSection<'a> =
    lockwright_locks::seqcount::WriteSection<'a, lockwright_platform::Native>;
