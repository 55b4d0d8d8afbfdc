//! The mutex behind `lock_api` 0.4.

use std::time::{Duration, Instant};

use lock_api_04::{RawMutex, RawMutexFair, RawMutexTimed};
use lockwright_locks::mutex::Policy;

use super::GuardMarker;
use crate::raw::{RawMutexWith, Wait};

// SAFETY: as for lock_api 0.5 (see `raw::mutex`).
unsafe impl<W: Policy> RawMutex for RawMutexWith<W> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::INIT;

    type GuardMarker = GuardMarker;

    #[inline]
    fn lock(&self) {
        self.take(Wait::Always);
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.take(Wait::Not).is_some()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller holds the mutex (lock_api's contract).
        unsafe { self.give_back() }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.is_held()
    }
}

// SAFETY: as for lock_api 0.5.
unsafe impl<W: Policy> RawMutexFair for RawMutexWith<W> {
    #[inline]
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller holds the mutex (lock_api's contract).
        unsafe { self.give_back_fair() }
    }
}

// SAFETY: as for lock_api 0.5.
unsafe impl<W: Policy> RawMutexTimed for RawMutexWith<W> {
    type Duration = Duration;
    type Instant = Instant;

    #[inline]
    fn try_lock_for(&self, timeout: Duration) -> bool {
        self.take_for(timeout).is_some()
    }

    #[inline]
    fn try_lock_until(&self, timeout: Instant) -> bool {
        self.take_until(timeout).is_some()
    }
}
