//! The condition variable behind `lock_api` 0.5.

use std::marker::PhantomData;
use std::time::{Duration, Instant};

use lock_api::GuardNoSend;
use lockwright_locks::condvar;
use lockwright_locks::mutex::{Policy, Slice};
use lockwright_platform::{Native, Platform};

use super::{RawMutexWith, deadline_at};

/// A condition variable for a [`RawMutexWith<W>`], to be used through [`lock_api::Condvar`].
pub struct RawCondvarWith<W: Policy>(condvar::RawCondvar<Native>, PhantomData<fn(W)>);

/// The raw condition variable of a [`Condvar`](crate::Condvar).
pub type RawCondvar = RawCondvarWith<Slice>;

// SAFETY: wait() returns only after it has acquired the mutex again, and by unwinding never
// (nothing in it panics between the release and the acquisition).
unsafe impl<W: Policy> lock_api::RawCondvar for RawCondvarWith<W> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawCondvarWith(condvar::RawCondvar::INIT, PhantomData);

    type RawMutex = RawMutexWith<W>;

    unsafe fn wait(&self, mutex: &RawMutexWith<W>, _guard: &mut GuardNoSend) {
        // SAFETY: the caller holds `mutex` (lock_api's contract).
        unsafe { self.0.wait(&mutex.0, None) };
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
        _guard: &mut GuardNoSend,
        timeout: &Instant,
    ) -> bool {
        let deadline = deadline_at(*timeout).unwrap_or_else(|| Native::now() + (1 << 62));
        // SAFETY: the caller holds `mutex` (lock_api's contract).
        !unsafe { self.0.wait(&mutex.0, Some(deadline)) }
    }
}
