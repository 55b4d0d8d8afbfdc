//! The same mutex for crates that are on `lock_api` 0.4: [`RawMutex`] speaks both.

use std::time::{Duration, Instant};

use lock_api_04::{GuardNoSend, RawMutex as _, RawMutexFair, RawMutexTimed};
use lockwright_locks::mutex::Policy;

use crate::raw::{RawMutex, RawMutexWith, deadline_at, deadline_in};

/// A mutex with the default policy behind `lock_api` 0.4.
pub type Mutex<T> = lock_api_04::Mutex<RawMutex, T>;
/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T> = lock_api_04::MutexGuard<'a, RawMutex, T>;

// SAFETY: as for lock_api 0.5 (see `crate::RawMutex`).
unsafe impl<W: Policy> lock_api_04::RawMutex for RawMutexWith<W> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::INIT;

    type GuardMarker = GuardNoSend;

    #[inline]
    fn lock(&self) {
        self.0.lock();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller holds the mutex (lock_api's contract), and `&self` keeps it alive.
        unsafe { self.0.unlock() }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: as for lock_api 0.5.
unsafe impl<W: Policy> RawMutexFair for RawMutexWith<W> {
    #[inline]
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller holds the mutex (lock_api's contract), and `&self` keeps it alive.
        unsafe { self.0.unlock_fair() }
    }
}

// SAFETY: as for lock_api 0.5.
unsafe impl<W: Policy> RawMutexTimed for RawMutexWith<W> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, timeout: Duration) -> bool {
        self.try_lock()
            || match deadline_in(timeout) {
                Some(deadline) => self.0.lock_until(deadline),
                None => {
                    self.0.lock();
                    true
                }
            }
    }

    fn try_lock_until(&self, timeout: Instant) -> bool {
        self.try_lock()
            || match deadline_at(timeout) {
                Some(deadline) => self.0.lock_until(deadline),
                None => {
                    self.0.lock();
                    true
                }
            }
    }
}
