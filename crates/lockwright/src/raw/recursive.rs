//! Reading a lock that the thread may be reading already.

#[cfg(feature = "arc_lock")]
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(feature = "arc_lock")]
use lock_api::ArcRwLockReadGuard;
use lock_api::{RawRwLock, RwLock, RwLockReadGuard};
use lockwright_locks::rwsem::Policy;

use super::{GuardMarker, Mode, RawBiasedRwLockWith, RawRwLockWith, Wait};

/// A raw lock whose readers may join themselves.
pub trait RawReadAgain: RawRwLock {
    #[doc(hidden)]
    fn read_recursive(&self, wait: WaitFor) -> Option<Self::SharedGuard>;
}

/// How long [`RawReadAgain::read_recursive`] may wait.
#[doc(hidden)]
pub struct WaitFor(Wait);

impl<W: Policy> RawReadAgain for RawRwLockWith<W> {
    fn read_recursive(&self, wait: WaitFor) -> Option<GuardMarker> {
        self.take(Mode::ReadAgain, wait.0).map(|()| GuardMarker::new())
    }
}

impl<W: Policy, const FIRST: u32> RawReadAgain for RawBiasedRwLockWith<W, FIRST> {
    fn read_recursive(&self, wait: WaitFor) -> Option<Self::SharedGuard> {
        self.read(Mode::ReadAgain, wait.0)
    }
}

/// Reading a lock that the thread may be reading already.
///
/// `read` of a second guard can deadlock: it waits behind a writer that waits for the first.
/// These do not; in return writers may wait longer, so use them only where it cannot be avoided.
/// Where a lock is read so everywhere, [`RecursiveRwLock`](crate::RecursiveRwLock) needs no import.
///
/// ```
/// use lockwright::{RecursiveRead, RwLock};
///
/// let lock = RwLock::new(5);
/// let first = lock.read();
/// let second = lock.read_recursive(); // whoever waits to write meanwhile
/// assert_eq!(*first, *second);
/// ```
pub trait RecursiveRead {
    /// The raw lock.
    type Raw: RawReadAgain;
    /// What the lock protects.
    type Data: ?Sized;

    /// Locks for reading; does not wait for queued writers while anybody reads.
    fn read_recursive(&self) -> RwLockReadGuard<'_, Self::Raw, Self::Data>;

    /// The same; `None` if a writer holds the lock, or nobody reads and others wait.
    fn try_read_recursive(&self) -> Option<RwLockReadGuard<'_, Self::Raw, Self::Data>>;

    /// The same, for so long at most.
    fn try_read_recursive_for(
        &self,
        timeout: Duration,
    ) -> Option<RwLockReadGuard<'_, Self::Raw, Self::Data>>;

    /// The same, until then at most.
    fn try_read_recursive_until(
        &self,
        timeout: Instant,
    ) -> Option<RwLockReadGuard<'_, Self::Raw, Self::Data>>;

    /// [`read_recursive`](Self::read_recursive) with a guard that keeps the `Arc`.
    #[cfg(feature = "arc_lock")]
    fn read_arc_recursive(self: &Arc<Self>) -> ArcRwLockReadGuard<Self::Raw, Self::Data>;

    /// [`try_read_recursive`](Self::try_read_recursive) with a guard that keeps the `Arc`.
    #[cfg(feature = "arc_lock")]
    fn try_read_arc_recursive(
        self: &Arc<Self>,
    ) -> Option<ArcRwLockReadGuard<Self::Raw, Self::Data>>;

    /// [`try_read_recursive_for`](Self::try_read_recursive_for) with a guard that keeps the `Arc`.
    #[cfg(feature = "arc_lock")]
    fn try_read_arc_recursive_for(
        self: &Arc<Self>,
        timeout: Duration,
    ) -> Option<ArcRwLockReadGuard<Self::Raw, Self::Data>>;

    /// [`try_read_recursive_until`](Self::try_read_recursive_until) with a guard that keeps the `Arc`.
    #[cfg(feature = "arc_lock")]
    fn try_read_arc_recursive_until(
        self: &Arc<Self>,
        timeout: Instant,
    ) -> Option<ArcRwLockReadGuard<Self::Raw, Self::Data>>;
}

fn again<R: RawReadAgain, T: ?Sized>(
    lock: &RwLock<R, T>,
    wait: Wait,
) -> Option<RwLockReadGuard<'_, R, T>> {
    // SAFETY: the guard is of the raw lock, acquired here; `raw` is not used to unlock.
    unsafe {
        let guard = lock.raw().read_recursive(WaitFor(wait))?;
        Some(lock.make_read_guard_unchecked(guard))
    }
}

#[cfg(feature = "arc_lock")]
fn again_arc<R: RawReadAgain, T: ?Sized>(
    lock: &Arc<RwLock<R, T>>,
    wait: Wait,
) -> Option<ArcRwLockReadGuard<R, T>> {
    // SAFETY: as in again().
    unsafe {
        let guard = lock.raw().read_recursive(WaitFor(wait))?;
        Some(lock.make_arc_read_guard_unchecked(guard))
    }
}

impl<R: RawReadAgain, T: ?Sized> RecursiveRead for RwLock<R, T> {
    type Raw = R;
    type Data = T;

    fn read_recursive(&self) -> RwLockReadGuard<'_, R, T> {
        again(self, Wait::Always).expect("a read without a limit ends with the lock")
    }

    fn try_read_recursive(&self) -> Option<RwLockReadGuard<'_, R, T>> {
        again(self, Wait::Not)
    }

    fn try_read_recursive_for(&self, timeout: Duration) -> Option<RwLockReadGuard<'_, R, T>> {
        again(self, Wait::for_time(timeout))
    }

    fn try_read_recursive_until(&self, timeout: Instant) -> Option<RwLockReadGuard<'_, R, T>> {
        again(self, Wait::until(timeout))
    }

    #[cfg(feature = "arc_lock")]
    fn read_arc_recursive(self: &Arc<Self>) -> ArcRwLockReadGuard<R, T> {
        again_arc(self, Wait::Always).expect("a read without a limit ends with the lock")
    }

    #[cfg(feature = "arc_lock")]
    fn try_read_arc_recursive(self: &Arc<Self>) -> Option<ArcRwLockReadGuard<R, T>> {
        again_arc(self, Wait::Not)
    }

    #[cfg(feature = "arc_lock")]
    fn try_read_arc_recursive_for(
        self: &Arc<Self>,
        timeout: Duration,
    ) -> Option<ArcRwLockReadGuard<R, T>> {
        again_arc(self, Wait::for_time(timeout))
    }

    #[cfg(feature = "arc_lock")]
    fn try_read_arc_recursive_until(
        self: &Arc<Self>,
        timeout: Instant,
    ) -> Option<ArcRwLockReadGuard<R, T>> {
        again_arc(self, Wait::until(timeout))
    }
}
