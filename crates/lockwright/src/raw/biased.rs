//! The reader-biased lock behind `lock_api` 0.5.
//!
//! Not behind 0.4, which has no place for what a reader has to remember: where it published its hold.

use std::time::{Duration, Instant};

use lockwright_locks::biased::{self, FIRST_GATE, Reading};
use lockwright_locks::rwsem::{Policy, Standard};
use lockwright_platform::Native;

use super::{GuardMarker, Key, Mode, Wait};
use crate::track;

/// A reader-writer lock without data and with the policy `W` that is biased towards readers, to be
/// used through [`lock_api::RwLock`]; see [`BiasedRwLock`](crate::BiasedRwLock).
///
/// 128 bytes, two cache lines: one that readers poll, one that writers write.
///
/// The bias comes first after a run of 2^`FIRST` reads. With 0 it comes with every read and
/// never learns, which is for tests.
///
/// Readers' guards are never `Send`: a reader publishes in its thread's own line. The others' are with
/// the feature `send_guard`.
pub struct RawBiasedRwLockWith<W: Policy, const FIRST: u32 = FIRST_GATE>(
    biased::RawBiasedRwLock<Native, W, FIRST>,
);

/// The raw lock of a [`BiasedRwLock`](crate::BiasedRwLock).
pub type RawBiasedRwLock = RawBiasedRwLockWith<Standard>;

impl<W: Policy, const FIRST: u32> RawBiasedRwLockWith<W, FIRST> {
    /// An unlocked lock.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = RawBiasedRwLockWith(biased::RawBiasedRwLock::INIT);

    #[inline(always)]
    pub(super) fn read(&self, mode: Mode, wait: Wait) -> Option<Reading<Native>> {
        let read = |wait| self.read_by(mode, wait);
        if track::ON { track::take(Key::of(self), mode, wait, read) } else { read(wait) }
    }

    #[inline(always)]
    fn read_by(&self, mode: Mode, wait: Wait) -> Option<Reading<Native>> {
        match (mode, wait) {
            (Mode::ReadAgain, Wait::Not) => self.0.try_read_recursive(),
            (Mode::ReadAgain, Wait::Until(at)) => {
                self.0.try_read_recursive().or_else(|| self.0.read_until(at))
            }
            (Mode::ReadAgain, Wait::Always) => Some(self.0.read_recursive()),
            (_, Wait::Not) => self.0.try_read(),
            (_, Wait::Until(at)) => self.0.read_until(at),
            (_, Wait::Always) => Some(self.0.read()),
        }
    }

    #[inline]
    fn take(&self, mode: Mode, wait: Wait) -> Option<GuardMarker> {
        let take = |wait| self.take_by(mode, wait).then(GuardMarker::new);
        if track::ON { track::take(Key::of(self), mode, wait, take) } else { take(wait) }
    }

    #[inline(always)]
    fn take_by(&self, mode: Mode, wait: Wait) -> bool {
        match (mode, wait) {
            (Mode::Write, Wait::Not) => self.0.try_write(),
            (Mode::Write, Wait::Until(at)) => self.0.write_until(at),
            (Mode::Write, Wait::Always) => {
                self.0.write();
                true
            }
            (_, Wait::Not) => self.0.try_read_upgradable(),
            (_, Wait::Until(at)) => self.0.read_upgradable_until(at),
            (_, Wait::Always) => {
                self.0.read_upgradable();
                true
            }
        }
    }

    /// # Safety
    ///
    /// 1. The caller holds the lock for upgradable reading.
    unsafe fn upgrade_by(
        &self,
        guard: GuardMarker,
        wait: Wait,
    ) -> Result<GuardMarker, GuardMarker> {
        let got = track::change(Key::of(self), (Mode::Upgradable, Mode::Write), wait, |wait| {
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
        });
        if got { Ok(guard) } else { Err(guard) }
    }
}

// SAFETY: `lockwright_locks::biased::RawBiasedRwLock` keeps writers from everybody and publishes
// each section to the next (the semaphore's edges, [biased.on], [biased.left]). A guard that is
// forgotten holds its lock for ever and has no part in another's.
unsafe impl<W: Policy, const FIRST: u32> lock_api::RawRwLock for RawBiasedRwLockWith<W, FIRST> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::INIT;

    type SharedGuard = Reading<Native>;
    type ExclusiveGuard = GuardMarker;

    #[inline(always)]
    fn lock_shared(&self) -> Reading<Native> {
        match self.read(Mode::Read, Wait::Always) {
            Some(reading) => reading,
            None => unreachable!("a read without a limit ends with the lock"),
        }
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<Reading<Native>> {
        self.read(Mode::Read, Wait::Not)
    }

    #[inline(always)]
    unsafe fn unlock_shared(&self, guard: Reading<Native>) {
        track::give_back(Key::of(self), Mode::Read);
        // SAFETY: the guard is of this lock (lock_api's contract), and `&self` keeps it alive for
        // the call.
        unsafe { self.0.unlock_read(guard) }
    }

    #[inline]
    fn lock_exclusive(&self) -> GuardMarker {
        self.take(Mode::Write, Wait::Always);
        GuardMarker::new()
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<GuardMarker> {
        self.take(Mode::Write, Wait::Not)
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, _guard: GuardMarker) {
        track::give_back(Key::of(self), Mode::Write);
        // SAFETY: the caller holds the lock for writing (lock_api's contract), and `&self` keeps
        // it alive for the call.
        unsafe { self.0.unlock_write() }
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    fn is_locked_exclusive(&self) -> bool {
        self.0.is_locked_exclusive()
    }
}

// SAFETY: the fair unlocks release the caller's hold to the first waiters, or as the others do.
unsafe impl<W: Policy, const FIRST: u32> lock_api::RawRwLockFair for RawBiasedRwLockWith<W, FIRST> {
    unsafe fn unlock_shared_fair(&self, guard: Reading<Native>) {
        track::give_back(Key::of(self), Mode::Read);
        // SAFETY: the guard is of this lock (lock_api's contract).
        unsafe { self.0.unlock_read_fair(guard) }
    }

    unsafe fn unlock_exclusive_fair(&self, _guard: GuardMarker) {
        track::give_back(Key::of(self), Mode::Write);
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.0.unlock_write_fair() }
    }
}

// SAFETY: the writer becomes a reader in one step; no writer gets in between.
unsafe impl<W: Policy, const FIRST: u32> lock_api::RawRwLockDowngrade
    for RawBiasedRwLockWith<W, FIRST>
{
    unsafe fn downgrade(&self, _guard: GuardMarker) -> Reading<Native> {
        track::changed(Key::of(self), (Mode::Write, Mode::Read));
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.0.downgrade() }
    }
}

// SAFETY: a timed call that returns a guard has acquired the lock as the others do.
unsafe impl<W: Policy, const FIRST: u32> lock_api::RawRwLockTimed
    for RawBiasedRwLockWith<W, FIRST>
{
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> Option<Reading<Native>> {
        let now = self.read(Mode::Read, Wait::Not);
        now.or_else(|| self.read(Mode::Read, Wait::for_time(timeout)))
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> Option<Reading<Native>> {
        let now = self.read(Mode::Read, Wait::Not);
        now.or_else(|| self.read(Mode::Read, Wait::until(timeout)))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardMarker> {
        self.take(Mode::Write, Wait::for_time(timeout))
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> Option<GuardMarker> {
        self.take(Mode::Write, Wait::until(timeout))
    }
}

// SAFETY: an upgradable reader excludes writers and its like, and becomes the writer when no
// other reader is left and nobody has been in between.
unsafe impl<W: Policy, const FIRST: u32> lock_api::RawRwLockUpgrade
    for RawBiasedRwLockWith<W, FIRST>
{
    type UpgradableGuard = GuardMarker;

    fn lock_upgradable(&self) -> GuardMarker {
        self.take(Mode::Upgradable, Wait::Always);
        GuardMarker::new()
    }

    fn try_lock_upgradable(&self) -> Option<GuardMarker> {
        self.take(Mode::Upgradable, Wait::Not)
    }

    unsafe fn unlock_upgradable(&self, _guard: GuardMarker) {
        track::give_back(Key::of(self), Mode::Upgradable);
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.0.unlock_upgradable() }
    }

    unsafe fn upgrade(&self, guard: GuardMarker) -> GuardMarker {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        match unsafe { self.upgrade_by(guard, Wait::Always) } {
            Ok(guard) | Err(guard) => guard,
        }
    }

    unsafe fn try_upgrade(&self, guard: GuardMarker) -> Result<GuardMarker, GuardMarker> {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.upgrade_by(guard, Wait::Not) }
    }
}

// SAFETY: as RawRwLockFair.
unsafe impl<W: Policy, const FIRST: u32> lock_api::RawRwLockUpgradeFair
    for RawBiasedRwLockWith<W, FIRST>
{
    unsafe fn unlock_upgradable_fair(&self, _guard: GuardMarker) {
        track::give_back(Key::of(self), Mode::Upgradable);
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.0.unlock_upgradable_fair() }
    }
}

// SAFETY: as RawRwLockUpgrade and RawRwLockDowngrade.
unsafe impl<W: Policy, const FIRST: u32> lock_api::RawRwLockUpgradeDowngrade
    for RawBiasedRwLockWith<W, FIRST>
{
    unsafe fn downgrade_upgradable(&self, _guard: GuardMarker) -> Reading<Native> {
        track::changed(Key::of(self), (Mode::Upgradable, Mode::Read));
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.0.downgrade_upgradable() }
    }

    unsafe fn downgrade_to_upgradable(&self, guard: GuardMarker) -> GuardMarker {
        track::changed(Key::of(self), (Mode::Write, Mode::Upgradable));
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.0.downgrade_to_upgradable() };
        guard
    }
}

// SAFETY: as RawRwLockUpgrade; until a deadline.
unsafe impl<W: Policy, const FIRST: u32> lock_api::RawRwLockUpgradeTimed
    for RawBiasedRwLockWith<W, FIRST>
{
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<GuardMarker> {
        self.take(Mode::Upgradable, Wait::for_time(timeout))
    }

    fn try_lock_upgradable_until(&self, timeout: Instant) -> Option<GuardMarker> {
        self.take(Mode::Upgradable, Wait::until(timeout))
    }

    unsafe fn try_upgrade_for(
        &self,
        guard: GuardMarker,
        timeout: Duration,
    ) -> Result<GuardMarker, GuardMarker> {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.upgrade_by(guard, Wait::for_time(timeout)) }
    }

    unsafe fn try_upgrade_until(
        &self,
        guard: GuardMarker,
        timeout: Instant,
    ) -> Result<GuardMarker, GuardMarker> {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.upgrade_by(guard, Wait::until(timeout)) }
    }
}
