//! The mutex behind `lock_api` 0.5.

use std::time::{Duration, Instant};

use lock_api::GuardNoSend;
use lockwright_locks::mutex::{self, Policy, Slice};
use lockwright_platform::Native;

use super::{deadline_at, deadline_in};

/// A mutex without data and with the policy `W`, to be used through [`lock_api::Mutex`].
///
/// Guards are not `Send`: an owner is known by the CPU it runs on, and the last owner by its
/// thread.
pub struct RawMutexWith<W: Policy>(pub(crate) mutex::RawMutex<Native, W>);

/// The raw lock of a [`Mutex`](crate::Mutex).
pub type RawMutex = RawMutexWith<Slice>;

impl<W: Policy> RawMutexWith<W> {
    /// An unlocked mutex.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = RawMutexWith(mutex::RawMutex::INIT);

    #[inline]
    fn lock_by(&self, deadline: Option<u64>) -> bool {
        match deadline {
            Some(deadline) => self.0.lock_until(deadline),
            None => {
                self.0.lock();
                true
            }
        }
    }
}

// SAFETY: `lockwright_locks::mutex::RawMutex` keeps mutual exclusion between an acquisition and
// the unlock, and publishes the section from one to the next ([mutex.lock], [mutex.grant]).
unsafe impl<W: Policy> lock_api::RawMutex for RawMutexWith<W> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::INIT;

    type Guard = GuardNoSend;

    #[inline]
    fn lock(&self) -> GuardNoSend {
        self.0.lock();
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock(&self) -> Option<GuardNoSend> {
        self.0.try_lock().then(GuardNoSend::new)
    }

    #[inline]
    unsafe fn unlock(&self, _guard: GuardNoSend) {
        // SAFETY: the caller holds the mutex (lock_api's contract); unless W unlocks atomically,
        // `&self` keeps it alive for the call.
        unsafe { self.0.unlock() }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: unlock_fair releases the mutex to the first waiter, or as unlock does.
unsafe impl<W: Policy> lock_api::RawMutexFair for RawMutexWith<W> {
    #[inline]
    unsafe fn unlock_fair(&self, _guard: GuardNoSend) {
        // SAFETY: the caller holds the mutex (lock_api's contract), and `&self` keeps it alive.
        unsafe { self.0.unlock_fair() }
    }
}

// SAFETY: a timed lock that returns a guard has acquired the mutex as lock() does.
unsafe impl<W: Policy> lock_api::RawMutexTimed for RawMutexWith<W> {
    type Duration = Duration;
    type Instant = Instant;

    #[inline]
    fn try_lock_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        if self.0.try_lock() {
            return Some(GuardNoSend::new());
        }
        self.lock_by(deadline_in(timeout)).then(GuardNoSend::new)
    }

    #[inline]
    fn try_lock_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        if self.0.try_lock() {
            return Some(GuardNoSend::new());
        }
        self.lock_by(deadline_at(timeout)).then(GuardNoSend::new)
    }
}
