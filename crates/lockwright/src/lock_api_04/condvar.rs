//! The condition variable for mutexes of `lock_api` 0.4, which has no wrapper for one: in the shape
//! of `lock_api` 0.5's.

use std::fmt;
use std::time::{Duration, Instant};

use lock_api_04::MutexGuard;
use lockwright_locks::mutex::{Policy, Slice};

use crate::raw::{RawCondvarWith, RawMutexWith, Wait};

/// Whether a wait ended because its time was up.
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether it did.
    #[inline]
    pub const fn timed_out(self) -> bool {
        self.0
    }
}

/// [`Condvar`](crate::Condvar) for `lock_api` 0.4.
pub type Condvar = CondvarWith<Slice>;

/// [`CondvarWith`](crate::CondvarWith) for `lock_api` 0.4.
pub struct CondvarWith<W: Policy>(RawCondvarWith<W>);

impl<W: Policy> CondvarWith<W> {
    /// A condition variable without waiters.
    #[inline]
    pub const fn new() -> Self {
        CondvarWith(RawCondvarWith::INIT)
    }

    /// Ends the wait that began first; returns whether there was one.
    #[inline]
    pub fn notify_one(&self) -> bool {
        lock_api::RawCondvar::notify_one(&self.0)
    }

    /// Ends all waits; returns how many there were.
    #[inline]
    pub fn notify_all(&self) -> usize {
        lock_api::RawCondvar::notify_all(&self.0)
    }

    fn wait_by<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, RawMutexWith<W>, T>,
        wait: Wait,
    ) -> WaitTimeoutResult {
        // SAFETY: the guard holds the mutex (1), and is borrowed until that is held again.
        WaitTimeoutResult(!unsafe { self.0.wait_by(MutexGuard::mutex(guard).raw(), wait) })
    }

    fn wait_while_by<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, RawMutexWith<W>, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        wait: Wait,
    ) -> WaitTimeoutResult {
        let mut result = WaitTimeoutResult(false);
        while !result.timed_out() && condition(guard) {
            result = self.wait_by(guard, wait);
        }
        result
    }

    /// Releases the mutex, waits for a notification, and locks the mutex again.
    #[inline]
    pub fn wait<T: ?Sized>(&self, mutex_guard: &mut MutexGuard<'_, RawMutexWith<W>, T>) {
        self.wait_by(mutex_guard, Wait::Always);
    }

    /// As [`wait`](Self::wait), until then at most.
    #[inline]
    pub fn wait_until<T: ?Sized>(
        &self,
        mutex_guard: &mut MutexGuard<'_, RawMutexWith<W>, T>,
        timeout: Instant,
    ) -> WaitTimeoutResult {
        self.wait_by(mutex_guard, Wait::until(timeout))
    }

    /// As [`wait`](Self::wait), for so long at most.
    #[inline]
    pub fn wait_for<T: ?Sized>(
        &self,
        mutex_guard: &mut MutexGuard<'_, RawMutexWith<W>, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        self.wait_by(mutex_guard, Wait::for_time(timeout))
    }

    /// Waits as long as `condition` is true, which is asked under the mutex.
    #[inline]
    pub fn wait_while<T, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, RawMutexWith<W>, T>,
        condition: F,
    ) where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_by(mutex_guard, condition, Wait::Always);
    }

    /// As [`wait_while`](Self::wait_while), until then at most. As in `parking_lot` 0.12,
    /// the condition is not asked again when the time is up.
    #[inline]
    pub fn wait_while_until<T, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, RawMutexWith<W>, T>,
        condition: F,
        timeout: Instant,
    ) -> WaitTimeoutResult
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_by(mutex_guard, condition, Wait::until(timeout))
    }

    /// As [`wait_while`](Self::wait_while), for so long at most, and as
    /// [`wait_while_until`](Self::wait_while_until).
    #[inline]
    pub fn wait_while_for<T, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, RawMutexWith<W>, T>,
        condition: F,
        timeout: Duration,
    ) -> WaitTimeoutResult
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_by(mutex_guard, condition, Wait::for_time(timeout))
    }
}

impl<W: Policy> Default for CondvarWith<W> {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl<W: Policy> fmt::Debug for CondvarWith<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Condvar { .. }")
    }
}
