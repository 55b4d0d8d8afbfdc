//! The reader-writer lock behind `lock_api` 0.5.

use std::time::{Duration, Instant};

use lockwright_locks::rwsem::{self, Policy, Recursive, Standard};
use lockwright_platform::Native;

use super::{GuardMarker, Key, Mode, Wait};
use crate::track;

/// A reader-writer lock without data and with the policy `W`, to be used through [`lock_api::RwLock`].
///
/// 16 bytes: the count word that every call writes, the owner word that the holder writes, and the
/// index of what only a contended lock needs. All three lie on one cache line, since whoever writes
/// one has just written another; data that are written under the lock may well share it, data that
/// are only read should not.
///
/// Guards stay in their thread unless the feature `send_guard` is on. Nothing in the lock minds who
/// unlocks it: an owner is known by the CPU it took the lock on, which is a hint.
pub struct RawRwLockWith<W: Policy>(rwsem::RawRwLock<Native, W>);

/// The raw lock of a [`RwLock`](crate::RwLock).
pub type RawRwLock = RawRwLockWith<Standard>;
/// The raw lock of a [`RecursiveRwLock`](crate::RecursiveRwLock).
pub type RawRwLockRecursive = RawRwLockWith<Recursive>;

impl<W: Policy> RawRwLockWith<W> {
    /// An unlocked lock.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = RawRwLockWith(rwsem::RawRwLock::INIT);

    #[inline(always)]
    pub(crate) fn take(&self, mode: Mode, wait: Wait) -> Option<()> {
        let take = |wait| self.take_by(mode, wait).then_some(());
        if track::ON {
            track::take(Key::of(self), Self::tracked(mode), wait, take)
        } else {
            take(wait)
        }
    }

    /// How a hold comes about: readers of some policies pass the queue.
    fn tracked(mode: Mode) -> Mode {
        if W::RECURSIVE_READS && mode == Mode::Read { Mode::ReadAgain } else { mode }
    }

    #[inline(always)]
    fn take_by(&self, mode: Mode, wait: Wait) -> bool {
        match (mode, wait) {
            (Mode::Read, Wait::Not) => self.0.try_read(),
            (Mode::Read, Wait::Until(at)) => self.0.read_until(at),
            (Mode::Read, Wait::Always) => {
                self.0.read();
                true
            }
            (Mode::ReadAgain, Wait::Not) => self.0.try_read_recursive(),
            (Mode::ReadAgain, Wait::Until(at)) => {
                self.0.try_read_recursive() || self.0.read_until(at)
            }
            (Mode::ReadAgain, Wait::Always) => {
                self.0.read_recursive();
                true
            }
            (Mode::Upgradable, Wait::Not) => self.0.try_read_upgradable(),
            (Mode::Upgradable, Wait::Until(at)) => self.0.read_upgradable_until(at),
            (Mode::Upgradable, Wait::Always) => {
                self.0.read_upgradable();
                true
            }
            (Mode::Write, Wait::Not) => self.0.try_write(),
            (Mode::Write, Wait::Until(at)) => self.0.write_until(at),
            (Mode::Write, Wait::Always) => {
                self.0.write();
                true
            }
        }
    }

    /// Reads the clock only if the lock is not free.
    #[inline]
    pub(crate) fn take_for(&self, mode: Mode, timeout: Duration) -> Option<()> {
        self.take(mode, Wait::Not).or_else(|| self.take(mode, Wait::for_time(timeout)))
    }

    /// As [`take_for`](Self::take_for).
    #[inline]
    pub(crate) fn take_until(&self, mode: Mode, timeout: Instant) -> Option<()> {
        self.take(mode, Wait::Not).or_else(|| self.take(mode, Wait::until(timeout)))
    }

    /// # Safety
    ///
    /// 1. The caller holds the lock in this mode and gives it up.
    #[inline(always)]
    pub(crate) unsafe fn give_back(&self, mode: Mode) {
        track::give_back(Key::of(self), mode);
        // SAFETY: held in this mode (1), and `&self` keeps the lock alive for the call.
        unsafe {
            match mode {
                Mode::Read | Mode::ReadAgain => self.0.unlock_read(),
                Mode::Upgradable => self.0.unlock_upgradable(),
                Mode::Write => self.0.unlock_write(),
            }
        }
    }

    /// To the first waiters, if there are any.
    ///
    /// # Safety
    ///
    /// As for [`give_back`](Self::give_back).
    pub(crate) unsafe fn give_back_fair(&self, mode: Mode) {
        track::give_back(Key::of(self), mode);
        // SAFETY: as in give_back().
        unsafe {
            match mode {
                Mode::Read | Mode::ReadAgain => self.0.unlock_read_fair(),
                Mode::Upgradable => self.0.unlock_upgradable_fair(),
                Mode::Write => self.0.unlock_write_fair(),
            }
        }
    }

    /// Turns the right to write into actual writing, waiting for the other readers to leave.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock for upgradable reading, and still does if this returns false.
    pub(crate) unsafe fn upgrade_by(&self, wait: Wait) -> bool {
        track::change(Key::of(self), (Mode::Upgradable, Mode::Write), wait, |wait| {
            // SAFETY: held for upgradable reading (1), and `&self` keeps the lock alive.
            unsafe {
                match wait {
                    Wait::Not => self.0.try_upgrade(),
                    Wait::Until(at) => self.0.upgrade_until(at),
                    Wait::Always => {
                        self.0.upgrade();
                        true
                    }
                }
            }
        })
    }

    /// Turns a hold into a weaker one: nobody who is kept out by both gets in between.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock in the first mode.
    /// 2. That is not for reading, and the second one is weaker.
    pub(crate) unsafe fn weaken(&self, from: Mode, to: Mode) {
        track::changed(Key::of(self), (from, to));
        // SAFETY: held in this mode (1), and `&self` keeps the lock alive.
        unsafe {
            match (from, to) {
                (Mode::Write, Mode::Upgradable) => self.0.downgrade_to_upgradable(),
                (Mode::Write, _) => self.0.downgrade(),
                (..) => self.0.downgrade_upgradable(),
            }
        }
    }

    /// Whether somebody holds the lock now.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.0.is_locked()
    }

    /// Whether a writer holds the lock now.
    #[inline]
    pub(crate) fn is_written(&self) -> bool {
        self.0.is_locked_exclusive()
    }
}

// SAFETY: `lockwright_locks::rwsem::RawRwLock` keeps writers from everybody and publishes each
// section to the next ([rwsem.write], [rwsem.read], [rwsem.grant]).
unsafe impl<W: Policy> lock_api::RawRwLock for RawRwLockWith<W> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::INIT;

    type SharedGuard = GuardMarker;
    type ExclusiveGuard = GuardMarker;

    #[inline]
    fn lock_shared(&self) -> GuardMarker {
        self.take(Mode::Read, Wait::Always);
        GuardMarker::new()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<GuardMarker> {
        self.take(Mode::Read, Wait::Not).map(|()| GuardMarker::new())
    }

    #[inline]
    unsafe fn unlock_shared(&self, _guard: GuardMarker) {
        // SAFETY: the caller holds the lock for reading (lock_api's contract).
        unsafe { self.give_back(Mode::Read) }
    }

    #[inline]
    fn lock_exclusive(&self) -> GuardMarker {
        self.take(Mode::Write, Wait::Always);
        GuardMarker::new()
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<GuardMarker> {
        self.take(Mode::Write, Wait::Not).map(|()| GuardMarker::new())
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, _guard: GuardMarker) {
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

// SAFETY: the fair unlocks release the caller's hold to the first waiters, or as the others do.
unsafe impl<W: Policy> lock_api::RawRwLockFair for RawRwLockWith<W> {
    unsafe fn unlock_shared_fair(&self, _guard: GuardMarker) {
        // SAFETY: the caller holds the lock for reading (lock_api's contract).
        unsafe { self.give_back_fair(Mode::Read) }
    }

    unsafe fn unlock_exclusive_fair(&self, _guard: GuardMarker) {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.give_back_fair(Mode::Write) }
    }
}

// SAFETY: the writer becomes a reader in one step; no writer gets in between.
unsafe impl<W: Policy> lock_api::RawRwLockDowngrade for RawRwLockWith<W> {
    unsafe fn downgrade(&self, guard: GuardMarker) -> GuardMarker {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.weaken(Mode::Write, Mode::Read) };
        guard
    }
}

// SAFETY: a timed call that returns a guard has acquired the lock as the others do.
unsafe impl<W: Policy> lock_api::RawRwLockTimed for RawRwLockWith<W> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> Option<GuardMarker> {
        self.take_for(Mode::Read, timeout).map(|()| GuardMarker::new())
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> Option<GuardMarker> {
        self.take_until(Mode::Read, timeout).map(|()| GuardMarker::new())
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardMarker> {
        self.take_for(Mode::Write, timeout).map(|()| GuardMarker::new())
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> Option<GuardMarker> {
        self.take_until(Mode::Write, timeout).map(|()| GuardMarker::new())
    }
}

// SAFETY: an upgradable reader excludes writers and its like, and becomes the writer when no
// other reader is left and nobody has been in between.
unsafe impl<W: Policy> lock_api::RawRwLockUpgrade for RawRwLockWith<W> {
    type UpgradableGuard = GuardMarker;

    fn lock_upgradable(&self) -> GuardMarker {
        self.take(Mode::Upgradable, Wait::Always);
        GuardMarker::new()
    }

    fn try_lock_upgradable(&self) -> Option<GuardMarker> {
        self.take(Mode::Upgradable, Wait::Not).map(|()| GuardMarker::new())
    }

    unsafe fn unlock_upgradable(&self, _guard: GuardMarker) {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.give_back(Mode::Upgradable) }
    }

    unsafe fn upgrade(&self, guard: GuardMarker) -> GuardMarker {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.upgrade_by(Wait::Always) };
        guard
    }

    unsafe fn try_upgrade(&self, guard: GuardMarker) -> Result<GuardMarker, GuardMarker> {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        if unsafe { self.upgrade_by(Wait::Not) } { Ok(guard) } else { Err(guard) }
    }
}

// SAFETY: as RawRwLockFair.
unsafe impl<W: Policy> lock_api::RawRwLockUpgradeFair for RawRwLockWith<W> {
    unsafe fn unlock_upgradable_fair(&self, _guard: GuardMarker) {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.give_back_fair(Mode::Upgradable) }
    }
}

// SAFETY: as RawRwLockUpgrade and RawRwLockDowngrade.
unsafe impl<W: Policy> lock_api::RawRwLockUpgradeDowngrade for RawRwLockWith<W> {
    unsafe fn downgrade_upgradable(&self, guard: GuardMarker) -> GuardMarker {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.weaken(Mode::Upgradable, Mode::Read) };
        guard
    }

    unsafe fn downgrade_to_upgradable(&self, guard: GuardMarker) -> GuardMarker {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.weaken(Mode::Write, Mode::Upgradable) };
        guard
    }
}

// SAFETY: as RawRwLockUpgrade; until a deadline.
unsafe impl<W: Policy> lock_api::RawRwLockUpgradeTimed for RawRwLockWith<W> {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<GuardMarker> {
        self.take_for(Mode::Upgradable, timeout).map(|()| GuardMarker::new())
    }

    fn try_lock_upgradable_until(&self, timeout: Instant) -> Option<GuardMarker> {
        self.take_until(Mode::Upgradable, timeout).map(|()| GuardMarker::new())
    }

    unsafe fn try_upgrade_for(
        &self,
        guard: GuardMarker,
        timeout: Duration,
    ) -> Result<GuardMarker, GuardMarker> {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        if unsafe { self.upgrade_by(Wait::for_time(timeout)) } { Ok(guard) } else { Err(guard) }
    }

    unsafe fn try_upgrade_until(
        &self,
        guard: GuardMarker,
        timeout: Instant,
    ) -> Result<GuardMarker, GuardMarker> {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        if unsafe { self.upgrade_by(Wait::until(timeout)) } { Ok(guard) } else { Err(guard) }
    }
}
