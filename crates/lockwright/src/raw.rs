//! The locks behind the traits of `lock_api` 0.5.

mod biased;
mod condvar;
mod mutex;
mod rwlock;

pub use biased::{RawBiasedRwLock, RawBiasedRwLockWith};
pub use condvar::{RawCondvar, RawCondvarWith};
pub use mutex::{RawMutex, RawMutexWith};
pub use rwlock::{RawRwLock, RawRwLockWith, RecursiveRead};

use std::time::{Duration, Instant};

use lockwright_platform::{Native, Platform};

/// The platform's clock at `timeout` from now; `None` when that is too far to be counted.
pub(crate) fn deadline_in(timeout: Duration) -> Option<u64> {
    Native::now().checked_add(u64::try_from(timeout.as_nanos()).ok()?)
}

/// The platform's clock at `at`; a time that has passed is now.
pub(crate) fn deadline_at(at: Instant) -> Option<u64> {
    deadline_in(at.saturating_duration_since(Instant::now()))
}
