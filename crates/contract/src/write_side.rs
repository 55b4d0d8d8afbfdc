//! The writers' side of a reader-writer lock as a mutex, for the mutex's contract.

use lock_api::{RawMutex, RawMutexFair, RawMutexTimed, RawRwLock, RawRwLockFair, RawRwLockTimed};

/// A mutex that is a reader-writer lock used for writing only.
#[derive(Debug)]
pub struct WriteSide<R>(R);

// SAFETY: an exclusive hold of the reader-writer lock excludes other exclusive holds (its
// contract), and nothing else is asked of it here.
unsafe impl<R: RawRwLock> RawMutex for WriteSide<R> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = WriteSide(R::INIT);

    type Guard = R::ExclusiveGuard;

    fn lock(&self) -> Self::Guard {
        self.0.lock_exclusive()
    }

    fn try_lock(&self) -> Option<Self::Guard> {
        self.0.try_lock_exclusive()
    }

    unsafe fn unlock(&self, guard: Self::Guard) {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.0.unlock_exclusive(guard) }
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: as above.
unsafe impl<R: RawRwLockFair> RawMutexFair for WriteSide<R> {
    unsafe fn unlock_fair(&self, guard: Self::Guard) {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.0.unlock_exclusive_fair(guard) }
    }
}

// SAFETY: as above.
unsafe impl<R: RawRwLockTimed> RawMutexTimed for WriteSide<R> {
    type Duration = R::Duration;
    type Instant = R::Instant;

    fn try_lock_for(&self, timeout: R::Duration) -> Option<Self::Guard> {
        self.0.try_lock_exclusive_for(timeout)
    }

    fn try_lock_until(&self, timeout: R::Instant) -> Option<Self::Guard> {
        self.0.try_lock_exclusive_until(timeout)
    }
}
