//! The locks behind the traits of `lock_api`: each lock says here once how it is taken and given
//! back, and speaks 0.5 in its own file, 0.4 in `lock_api_04`.

mod biased;
mod condvar;
mod mutex;
mod recursive;
mod rwlock;
mod thread_id;

pub use biased::{RawBiasedRwLock, RawBiasedRwLockWith};
pub use condvar::{RawCondvar, RawCondvarWith};
pub use mutex::{RawFairMutex, RawMutex, RawMutexWith};
pub use recursive::RecursiveRead;
pub use rwlock::{RawRwLock, RawRwLockRecursive, RawRwLockWith};
pub use thread_id::RawThreadId;

use std::time::{Duration, Instant};

use lockwright_platform::{Native, Platform};

/// What a guard of `lock_api` 0.5 carries: whether it may go to another thread.
#[cfg(feature = "send_guard")]
pub(crate) type GuardMarker = lock_api::GuardSend;
#[cfg(not(feature = "send_guard"))]
pub(crate) type GuardMarker = lock_api::GuardNoSend;

/// A lock, as deadlock detection knows it: by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(pub usize);

impl Key {
    #[inline(always)]
    pub(crate) fn of<L>(lock: &L) -> Key {
        Key(core::ptr::from_ref(lock).addr())
    }
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Read,
    /// For reading, by a thread that may read already.
    ReadAgain,
    /// For reading, with the right to become the writer.
    Upgradable,
    Write,
}

/// How long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Not,
    /// Until the platform's clock says this.
    Until(u64),
    Always,
}

impl Wait {
    /// For so long from now; for ever when that is too far to be counted.
    pub(crate) fn for_time(timeout: Duration) -> Self {
        let ns = u64::try_from(timeout.as_nanos()).ok();
        ns.and_then(|ns| Native::now().checked_add(ns)).map_or(Wait::Always, Wait::Until)
    }

    /// Until this time; a time that has passed is now.
    pub(crate) fn until(at: Instant) -> Self {
        Wait::for_time(at.saturating_duration_since(Instant::now()))
    }
}
