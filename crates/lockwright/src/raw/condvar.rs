//! The condition variable behind `lock_api` 0.5.

use std::marker::PhantomData;
use std::time::{Duration, Instant};

use lockwright_locks::condvar;
use lockwright_locks::mutex::{Policy, Slice};
use lockwright_platform::Native;

use super::{GuardMarker, Key, RawMutexWith, Wait};
use crate::track;

/// A condition variable for a [`RawMutexWith<W>`], to be used through [`lock_api::Condvar`].
pub struct RawCondvarWith<W: Policy>(condvar::RawCondvar<Native>, PhantomData<fn(W)>);

/// The raw condition variable of a [`Condvar`](crate::Condvar).
pub type RawCondvar = RawCondvarWith<Slice>;

impl<W: Policy> RawCondvarWith<W> {
    /// A condition variable without waiters.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = RawCondvarWith(condvar::RawCondvar::INIT, PhantomData);

    /// Returns whether a notification ended the wait.
    ///
    /// # Safety
    ///
    /// 1. The caller holds `mutex`.
    pub(crate) unsafe fn wait_by(&self, mutex: &RawMutexWith<W>, wait: Wait) -> bool {
        let deadline = match wait {
            Wait::Not => Some(0),
            Wait::Until(at) => Some(at),
            Wait::Always => None,
        };
        // SAFETY: the caller holds `mutex` (1).
        track::wait(Key::of(mutex), || unsafe { self.0.wait(mutex.inner(), deadline) })
    }
}

// SAFETY: wait() returns only after it has acquired the mutex again, and by unwinding never
// (nothing in it panics between the release and the acquisition).
unsafe impl<W: Policy> lock_api::RawCondvar for RawCondvarWith<W> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::INIT;

    type RawMutex = RawMutexWith<W>;

    unsafe fn wait(&self, mutex: &RawMutexWith<W>, _guard: &mut GuardMarker) {
        // SAFETY: the caller holds `mutex` (lock_api's contract).
        unsafe { self.wait_by(mutex, Wait::Always) };
    }

    #[inline]
    fn notify_one(&self) -> bool {
        self.0.notify_one()
    }

    #[inline]
    fn notify_all(&self) -> usize {
        self.0.notify_all()
    }
}

// SAFETY: as for RawCondvar; the returned bool says that the deadline ended the wait.
unsafe impl<W: Policy> lock_api::RawCondvarTimed for RawCondvarWith<W> {
    fn checked_duration_to_instant(timeout: &Duration) -> Option<Instant> {
        Instant::now().checked_add(*timeout)
    }

    unsafe fn wait_until(
        &self,
        mutex: &RawMutexWith<W>,
        _guard: &mut GuardMarker,
        timeout: &Instant,
    ) -> bool {
        // SAFETY: the caller holds `mutex` (lock_api's contract).
        !unsafe { self.wait_by(mutex, Wait::until(*timeout)) }
    }

    unsafe fn wait_for(
        &self,
        mutex: &RawMutexWith<W>,
        _guard: &mut GuardMarker,
        timeout: &Duration,
    ) -> bool {
        // SAFETY: the caller holds `mutex` (lock_api's contract).
        !unsafe { self.wait_by(mutex, Wait::for_time(*timeout)) }
    }
}
