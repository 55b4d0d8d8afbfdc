//! The condition variable behind `lock_api` 0.5.

use std::marker::PhantomData;
use std::time::{Duration, Instant};

use lock_api::GuardNoSend;
use lockwright_locks::condvar;
use lockwright_locks::mutex::{Policy, Slice};
use lockwright_platform::{Native, Platform};

use crate::RawMutex;
use crate::mutex::deadline_at;

/// A condition variable for [`RawMutex<W>`], to be used through [`lock_api::Condvar`].
pub struct RawCondvar<W: Policy = Slice>(condvar::RawCondvar<Native>, PhantomData<fn(W)>);

// SAFETY: wait() returns only after it has acquired the mutex again, and by unwinding never
// (nothing in it panics between the release and the acquisition).
unsafe impl<W: Policy> lock_api::RawCondvar for RawCondvar<W> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawCondvar(condvar::RawCondvar::INIT, PhantomData);

    type RawMutex = RawMutex<W>;

    unsafe fn wait(&self, mutex: &RawMutex<W>, _guard: &mut GuardNoSend) {
        // SAFETY: the caller holds `mutex` (lock_api's contract).
        unsafe { self.0.wait(mutex.inner(), None) };
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
unsafe impl<W: Policy> lock_api::RawCondvarTimed for RawCondvar<W> {
    fn checked_duration_to_instant(timeout: &Duration) -> Option<Instant> {
        Instant::now().checked_add(*timeout)
    }

    unsafe fn wait_until(
        &self,
        mutex: &RawMutex<W>,
        _guard: &mut GuardNoSend,
        timeout: &Instant,
    ) -> bool {
        let deadline = deadline_at(*timeout).unwrap_or_else(|| Native::now() + (1 << 62));
        // SAFETY: the caller holds `mutex` (lock_api's contract).
        !unsafe { self.0.wait(mutex.inner(), Some(deadline)) }
    }
}
