//! The reader-writer lock behind `lock_api` 0.5.

use std::time::{Duration, Instant};

use lock_api::GuardNoSend;
use lockwright_locks::rwsem::{self, Policy, Standard};
use lockwright_platform::Native;

use super::{deadline_at, deadline_in};

/// A reader-writer lock without data and with the policy `W`, to be used through [`lock_api::RwLock`].
///
/// 16 bytes: the count word that every call writes, the owner word that the holder writes, and the
/// index of what only a contended lock needs. All three lie on one cache line, since whoever writes
/// one has just written another; data that are written under the lock may well share it, data that
/// are only read should not.
///
/// Guards are not `Send`: an owner is known by the CPU it runs on.
pub struct RawRwLockWith<W: Policy>(rwsem::RawRwLock<Native, W>);

/// The raw lock of a [`RwLock`](crate::RwLock).
pub type RawRwLock = RawRwLockWith<Standard>;

impl<W: Policy> RawRwLockWith<W> {
    /// An unlocked lock.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = RawRwLockWith(rwsem::RawRwLock::INIT);

    #[inline]
    fn read_by(&self, deadline: Option<u64>) -> bool {
        match deadline {
            Some(at) => self.0.try_read() || self.0.read_until(at),
            None => {
                self.0.read();
                true
            }
        }
    }

    #[inline]
    fn write_by(&self, deadline: Option<u64>) -> bool {
        match deadline {
            Some(at) => self.0.write_until(at),
            None => {
                self.0.write();
                true
            }
        }
    }

    fn upgradable_by(&self, deadline: Option<u64>) -> bool {
        match deadline {
            Some(at) => self.0.read_upgradable_until(at),
            None => {
                self.0.read_upgradable();
                true
            }
        }
    }

    /// # Safety
    ///
    /// The caller holds the lock for upgradable reading.
    unsafe fn upgrade_by(&self, deadline: Option<u64>) -> bool {
        // SAFETY: passes on this function's contract.
        unsafe {
            match deadline {
                Some(at) => self.0.upgrade_until(at),
                None => {
                    self.0.upgrade();
                    true
                }
            }
        }
    }
}

// SAFETY: `lockwright_locks::rwsem::RawRwLock` keeps writers from everybody and publishes each
// section to the next ([rwsem.write], [rwsem.read], [rwsem.grant]).
unsafe impl<W: Policy> lock_api::RawRwLock for RawRwLockWith<W> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::INIT;

    type SharedGuard = GuardNoSend;
    type ExclusiveGuard = GuardNoSend;

    #[inline]
    fn lock_shared(&self) -> GuardNoSend {
        self.0.read();
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<GuardNoSend> {
        self.0.try_read().then(GuardNoSend::new)
    }

    #[inline]
    unsafe fn unlock_shared(&self, _guard: GuardNoSend) {
        // SAFETY: the caller holds the lock for reading (lock_api's contract), and `&self` keeps
        // it alive for the call.
        unsafe { self.0.unlock_read() }
    }

    #[inline]
    fn lock_exclusive(&self) -> GuardNoSend {
        self.0.write();
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<GuardNoSend> {
        self.0.try_write().then(GuardNoSend::new)
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, _guard: GuardNoSend) {
        // SAFETY: the caller holds the lock for writing (lock_api's contract), and `&self` keeps
        // it alive for the call.
        unsafe { self.0.unlock_write() }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    #[inline]
    fn is_locked_exclusive(&self) -> bool {
        self.0.is_locked_exclusive()
    }
}

// SAFETY: the fair unlocks release the caller's hold to the first waiters, or as the others do.
unsafe impl<W: Policy> lock_api::RawRwLockFair for RawRwLockWith<W> {
    unsafe fn unlock_shared_fair(&self, _guard: GuardNoSend) {
        // SAFETY: the caller holds the lock for reading (lock_api's contract).
        unsafe { self.0.unlock_read_fair() }
    }

    unsafe fn unlock_exclusive_fair(&self, _guard: GuardNoSend) {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.0.unlock_write_fair() }
    }
}

// SAFETY: the writer becomes a reader in one step; no writer gets in between.
unsafe impl<W: Policy> lock_api::RawRwLockDowngrade for RawRwLockWith<W> {
    unsafe fn downgrade(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.0.downgrade() };
        guard
    }
}

// SAFETY: a timed call that returns a guard has acquired the lock as the others do.
unsafe impl<W: Policy> lock_api::RawRwLockTimed for RawRwLockWith<W> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        self.read_by(deadline_in(timeout)).then(GuardNoSend::new)
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        self.read_by(deadline_at(timeout)).then(GuardNoSend::new)
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        self.write_by(deadline_in(timeout)).then(GuardNoSend::new)
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        self.write_by(deadline_at(timeout)).then(GuardNoSend::new)
    }
}

// SAFETY: an upgradable reader excludes writers and its like, and becomes the writer when no
// other reader is left and nobody has been in between.
unsafe impl<W: Policy> lock_api::RawRwLockUpgrade for RawRwLockWith<W> {
    type UpgradableGuard = GuardNoSend;

    fn lock_upgradable(&self) -> GuardNoSend {
        self.0.read_upgradable();
        GuardNoSend::new()
    }

    fn try_lock_upgradable(&self) -> Option<GuardNoSend> {
        self.0.try_read_upgradable().then(GuardNoSend::new)
    }

    unsafe fn unlock_upgradable(&self, _guard: GuardNoSend) {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.0.unlock_upgradable() }
    }

    unsafe fn upgrade(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.0.upgrade() };
        guard
    }

    unsafe fn try_upgrade(&self, guard: GuardNoSend) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        if unsafe { self.0.try_upgrade() } { Ok(guard) } else { Err(guard) }
    }
}

// SAFETY: as RawRwLockUpgrade and RawRwLockDowngrade.
unsafe impl<W: Policy> lock_api::RawRwLockUpgradeDowngrade for RawRwLockWith<W> {
    unsafe fn downgrade_upgradable(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.0.downgrade_upgradable() };
        guard
    }

    unsafe fn downgrade_to_upgradable(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.0.downgrade_to_upgradable() };
        guard
    }
}

// SAFETY: as RawRwLockUpgrade; until a deadline.
unsafe impl<W: Policy> lock_api::RawRwLockUpgradeTimed for RawRwLockWith<W> {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        self.upgradable_by(deadline_in(timeout)).then(GuardNoSend::new)
    }

    fn try_lock_upgradable_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        self.upgradable_by(deadline_at(timeout)).then(GuardNoSend::new)
    }

    unsafe fn try_upgrade_for(
        &self,
        guard: GuardNoSend,
        timeout: Duration,
    ) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        if unsafe { self.upgrade_by(deadline_in(timeout)) } { Ok(guard) } else { Err(guard) }
    }

    unsafe fn try_upgrade_until(
        &self,
        guard: GuardNoSend,
        timeout: Instant,
    ) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        if unsafe { self.upgrade_by(deadline_at(timeout)) } { Ok(guard) } else { Err(guard) }
    }
}

/// Reading a lock that the thread may be reading already.
///
/// `read` of a second guard can deadlock: it waits behind a writer that waits for the first.
/// These do not; in return writers may wait longer, so use them only where it cannot be avoided.
pub trait RecursiveRead {
    /// The reader's guard.
    type Guard<'a>
    where
        Self: 'a;

    /// Locks for reading; does not wait for queued writers while anybody reads.
    fn read_recursive(&self) -> Self::Guard<'_>;

    /// The same; `None` if a writer holds the lock, or nobody reads and others wait.
    fn try_read_recursive(&self) -> Option<Self::Guard<'_>>;
}

impl<W: Policy, T: ?Sized> RecursiveRead for lock_api::RwLock<RawRwLockWith<W>, T> {
    type Guard<'a>
        = lock_api::RwLockReadGuard<'a, RawRwLockWith<W>, T>
    where
        Self: 'a;

    fn read_recursive(&self) -> Self::Guard<'_> {
        // SAFETY: the raw lock is acquired for reading on the next line, and `raw` is not used to
        // unlock.
        unsafe {
            self.raw().0.read_again();
            self.make_read_guard_unchecked(GuardNoSend::new())
        }
    }

    fn try_read_recursive(&self) -> Option<Self::Guard<'_>> {
        // SAFETY: a guard is made only if the raw lock was acquired for reading.
        unsafe {
            let got = self.raw().0.try_read_again();
            got.then(|| self.make_read_guard_unchecked(GuardNoSend::new()))
        }
    }
}
