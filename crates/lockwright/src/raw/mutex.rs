//! The mutex behind `lock_api` 0.5.

use std::time::{Duration, Instant};

use lockwright_locks::mutex::{self, Fair, Policy, Slice};
use lockwright_platform::Native;

use super::{GuardMarker, Key, Mode, Wait};
use crate::track;

/// A mutex without data and with the policy `W`, to be used through [`lock_api::Mutex`].
///
/// Guards stay in their thread unless the feature `send_guard` is on. Nothing in the lock minds who
/// unlocks it: an owner is known by the CPU it took the lock on, which is a hint.
pub struct RawMutexWith<W: Policy>(mutex::RawMutex<Native, W>);

/// The raw lock of a [`Mutex`](crate::Mutex).
pub type RawMutex = RawMutexWith<Slice>;
/// The raw lock of a [`FairMutex`](crate::FairMutex).
pub type RawFairMutex = RawMutexWith<Fair>;

impl<W: Policy> RawMutexWith<W> {
    /// An unlocked mutex.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = RawMutexWith(mutex::RawMutex::INIT);

    /// The lock below, for those who know by themselves who holds it.
    pub(super) fn inner(&self) -> &mutex::RawMutex<Native, W> {
        &self.0
    }

    #[inline(always)]
    pub(crate) fn take(&self, wait: Wait) -> Option<()> {
        let take = |wait| self.take_by(wait).then_some(());
        if track::ON { track::take(Key::of(self), Mode::Write, wait, take) } else { take(wait) }
    }

    #[inline(always)]
    fn take_by(&self, wait: Wait) -> bool {
        match wait {
            Wait::Not => self.0.try_lock(),
            Wait::Until(at) => self.0.lock_until(at),
            Wait::Always => {
                self.0.lock();
                true
            }
        }
    }

    /// Reads the clock only if the mutex is not free.
    #[inline]
    pub(crate) fn take_for(&self, timeout: Duration) -> Option<()> {
        self.take(Wait::Not).or_else(|| self.take(Wait::for_time(timeout)))
    }

    /// As [`take_for`](Self::take_for).
    #[inline]
    pub(crate) fn take_until(&self, timeout: Instant) -> Option<()> {
        self.take(Wait::Not).or_else(|| self.take(Wait::until(timeout)))
    }

    /// # Safety
    ///
    /// 1. The caller holds the mutex and gives it up.
    #[inline(always)]
    pub(crate) unsafe fn give_back(&self) {
        track::give_back(Key::of(self), Mode::Write);
        // SAFETY: the caller holds it (1); unless W unlocks atomically, `&self` keeps it alive for
        // the call.
        unsafe { self.0.unlock() }
    }

    /// To the first waiter, if there is one.
    ///
    /// # Safety
    ///
    /// As for [`give_back`](Self::give_back).
    #[inline]
    pub(crate) unsafe fn give_back_fair(&self) {
        track::give_back(Key::of(self), Mode::Write);
        // SAFETY: as in give_back().
        unsafe { self.0.unlock_fair() }
    }

    /// Whether somebody holds the mutex now.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: `lockwright_locks::mutex::RawMutex` keeps mutual exclusion between an acquisition and
// the unlock, and publishes the section from one to the next ([mutex.lock], [mutex.grant]).
unsafe impl<W: Policy> lock_api::RawMutex for RawMutexWith<W> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::INIT;

    type Guard = GuardMarker;

    #[inline]
    fn lock(&self) -> GuardMarker {
        self.take(Wait::Always);
        GuardMarker::new()
    }

    #[inline]
    fn try_lock(&self) -> Option<GuardMarker> {
        self.take(Wait::Not).map(|()| GuardMarker::new())
    }

    #[inline]
    unsafe fn unlock(&self, _guard: GuardMarker) {
        // SAFETY: the caller holds the mutex (lock_api's contract).
        unsafe { self.give_back() }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.is_held()
    }
}

// SAFETY: unlock_fair releases the mutex to the first waiter, or as unlock does.
unsafe impl<W: Policy> lock_api::RawMutexFair for RawMutexWith<W> {
    #[inline]
    unsafe fn unlock_fair(&self, _guard: GuardMarker) {
        // SAFETY: the caller holds the mutex (lock_api's contract).
        unsafe { self.give_back_fair() }
    }
}

// SAFETY: a timed lock that returns a guard has acquired the mutex as lock() does.
unsafe impl<W: Policy> lock_api::RawMutexTimed for RawMutexWith<W> {
    type Duration = Duration;
    type Instant = Instant;

    #[inline]
    fn try_lock_for(&self, timeout: Duration) -> Option<GuardMarker> {
        self.take_for(timeout).map(|()| GuardMarker::new())
    }

    #[inline]
    fn try_lock_until(&self, timeout: Instant) -> Option<GuardMarker> {
        self.take_until(timeout).map(|()| GuardMarker::new())
    }
}
