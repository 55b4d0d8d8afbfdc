//! The reader-writer lock behind `lock_api` 0.4.

use std::time::{Duration, Instant};

use lock_api_04::{
    RawRwLock, RawRwLockDowngrade, RawRwLockFair, RawRwLockRecursive, RawRwLockRecursiveTimed,
    RawRwLockTimed, RawRwLockUpgrade, RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair,
    RawRwLockUpgradeTimed,
};
use lockwright_locks::rwsem::Policy;

use super::GuardMarker;
use crate::raw::{Mode, RawRwLockWith, Wait};

// SAFETY: as for lock_api 0.5 (see `raw::rwlock`).
unsafe impl<W: Policy> RawRwLock for RawRwLockWith<W> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::INIT;

    type GuardMarker = GuardMarker;

    #[inline]
    fn lock_shared(&self) {
        self.take(Mode::Read, Wait::Always);
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        self.take(Mode::Read, Wait::Not).is_some()
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        // SAFETY: the caller holds the lock for reading (lock_api's contract).
        unsafe { self.give_back(Mode::Read) }
    }

    #[inline]
    fn lock_exclusive(&self) {
        self.take(Mode::Write, Wait::Always);
    }

    #[inline]
    fn try_lock_exclusive(&self) -> bool {
        self.take(Mode::Write, Wait::Not).is_some()
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.give_back(Mode::Write) }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.is_held()
    }

    #[inline]
    fn is_locked_exclusive(&self) -> bool {
        self.is_written()
    }
}

// SAFETY: as for lock_api 0.5.
unsafe impl<W: Policy> RawRwLockFair for RawRwLockWith<W> {
    unsafe fn unlock_shared_fair(&self) {
        // SAFETY: the caller holds the lock for reading (lock_api's contract).
        unsafe { self.give_back_fair(Mode::Read) }
    }

    unsafe fn unlock_exclusive_fair(&self) {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.give_back_fair(Mode::Write) }
    }
}

// SAFETY: as for lock_api 0.5.
unsafe impl<W: Policy> RawRwLockDowngrade for RawRwLockWith<W> {
    unsafe fn downgrade(&self) {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.weaken(Mode::Write, Mode::Read) }
    }
}

// SAFETY: as for lock_api 0.5.
unsafe impl<W: Policy> RawRwLockTimed for RawRwLockWith<W> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        self.take_for(Mode::Read, timeout).is_some()
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> bool {
        self.take_until(Mode::Read, timeout).is_some()
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        self.take_for(Mode::Write, timeout).is_some()
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> bool {
        self.take_until(Mode::Write, timeout).is_some()
    }
}

// SAFETY: a hold for reading, acquired whoever waits while others read.
unsafe impl<W: Policy> RawRwLockRecursive for RawRwLockWith<W> {
    fn lock_shared_recursive(&self) {
        self.take(Mode::ReadAgain, Wait::Always);
    }

    fn try_lock_shared_recursive(&self) -> bool {
        self.take(Mode::ReadAgain, Wait::Not).is_some()
    }
}

// SAFETY: as RawRwLockRecursive; until a deadline.
unsafe impl<W: Policy> RawRwLockRecursiveTimed for RawRwLockWith<W> {
    fn try_lock_shared_recursive_for(&self, timeout: Duration) -> bool {
        self.take_for(Mode::ReadAgain, timeout).is_some()
    }

    fn try_lock_shared_recursive_until(&self, timeout: Instant) -> bool {
        self.take_until(Mode::ReadAgain, timeout).is_some()
    }
}

// SAFETY: as for lock_api 0.5.
unsafe impl<W: Policy> RawRwLockUpgrade for RawRwLockWith<W> {
    fn lock_upgradable(&self) {
        self.take(Mode::Upgradable, Wait::Always);
    }

    fn try_lock_upgradable(&self) -> bool {
        self.take(Mode::Upgradable, Wait::Not).is_some()
    }

    unsafe fn unlock_upgradable(&self) {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.give_back(Mode::Upgradable) }
    }

    unsafe fn upgrade(&self) {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.upgrade_by(Wait::Always) };
    }

    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.upgrade_by(Wait::Not) }
    }
}

// SAFETY: as RawRwLockFair.
unsafe impl<W: Policy> RawRwLockUpgradeFair for RawRwLockWith<W> {
    unsafe fn unlock_upgradable_fair(&self) {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.give_back_fair(Mode::Upgradable) }
    }
}

// SAFETY: as for lock_api 0.5.
unsafe impl<W: Policy> RawRwLockUpgradeDowngrade for RawRwLockWith<W> {
    unsafe fn downgrade_upgradable(&self) {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.weaken(Mode::Upgradable, Mode::Read) }
    }

    unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.weaken(Mode::Write, Mode::Upgradable) }
    }
}

// SAFETY: as for lock_api 0.5.
unsafe impl<W: Policy> RawRwLockUpgradeTimed for RawRwLockWith<W> {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> bool {
        self.take_for(Mode::Upgradable, timeout).is_some()
    }

    fn try_lock_upgradable_until(&self, timeout: Instant) -> bool {
        self.take_until(Mode::Upgradable, timeout).is_some()
    }

    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.upgrade_by(Wait::for_time(timeout)) }
    }

    unsafe fn try_upgrade_until(&self, timeout: Instant) -> bool {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.upgrade_by(Wait::until(timeout)) }
    }
}
