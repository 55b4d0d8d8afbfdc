//! The reader-biased lock behind `lock_api` 0.5.

use std::time::{Duration, Instant};

use lock_api::GuardNoSend;
use lockwright_locks::biased::{self, FIRST_GATE, Reading};
use lockwright_locks::rwsem::{Policy, Standard};
use lockwright_platform::Native;

use super::{RecursiveRead, deadline_at, deadline_in};

/// A reader-writer lock without data and with the policy `W` that is biased towards readers, to be used through
/// [`lock_api::RwLock`]; see [`BiasedRwLock`](crate::BiasedRwLock).
///
/// 128 bytes, two cache lines: one that readers poll, one that writers write.
///
/// The bias comes first after a run of 2^`FIRST` reads. With 0 it comes with every read and
/// never learns, which is for tests.
///
/// Guards are not `Send`: a reader publishes in its thread's own line.
pub struct RawBiasedRwLockWith<W: Policy, const FIRST: u32 = FIRST_GATE>(
    biased::RawBiasedRwLock<Native, W, FIRST>,
);

/// The raw lock of a [`BiasedRwLock`](crate::BiasedRwLock).
pub type RawBiasedRwLock = RawBiasedRwLockWith<Standard>;

impl<W: Policy, const FIRST: u32> RawBiasedRwLockWith<W, FIRST> {
    /// An unlocked lock.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = RawBiasedRwLockWith(biased::RawBiasedRwLock::INIT);

    fn read_by(&self, deadline: Option<u64>) -> Option<Reading<Native>> {
        match deadline {
            Some(at) => self.0.try_read().or_else(|| self.0.read_until(at)),
            None => Some(self.0.read()),
        }
    }

    fn write_by(&self, deadline: Option<u64>) -> Option<GuardNoSend> {
        let got = match deadline {
            Some(at) => self.0.write_until(at),
            None => {
                self.0.write();
                true
            }
        };
        got.then(GuardNoSend::new)
    }

    fn upgradable_by(&self, deadline: Option<u64>) -> Option<GuardNoSend> {
        let got = match deadline {
            Some(at) => self.0.read_upgradable_until(at),
            None => {
                self.0.read_upgradable();
                true
            }
        };
        got.then(GuardNoSend::new)
    }

    /// # Safety
    ///
    /// The caller holds the lock for upgradable reading.
    unsafe fn upgrade_by(
        &self,
        guard: GuardNoSend,
        deadline: Option<u64>,
    ) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: passes on this function's contract.
        let got = unsafe {
            match deadline {
                Some(at) => self.0.upgrade_until(at),
                None => {
                    self.0.upgrade();
                    true
                }
            }
        };
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
    type ExclusiveGuard = GuardNoSend;

    #[inline(always)]
    fn lock_shared(&self) -> Reading<Native> {
        self.0.read()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<Reading<Native>> {
        self.0.try_read()
    }

    #[inline(always)]
    unsafe fn unlock_shared(&self, guard: Reading<Native>) {
        // SAFETY: the guard is of this lock (lock_api's contract), and `&self` keeps it alive for
        // the call.
        unsafe { self.0.unlock_read(guard) }
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
        // SAFETY: the guard is of this lock (lock_api's contract).
        unsafe { self.0.unlock_read_fair(guard) }
    }

    unsafe fn unlock_exclusive_fair(&self, _guard: GuardNoSend) {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.0.unlock_write_fair() }
    }
}

// SAFETY: the writer becomes a reader in one step; no writer gets in between.
unsafe impl<W: Policy, const FIRST: u32> lock_api::RawRwLockDowngrade
    for RawBiasedRwLockWith<W, FIRST>
{
    unsafe fn downgrade(&self, _guard: GuardNoSend) -> Reading<Native> {
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
        self.read_by(deadline_in(timeout))
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> Option<Reading<Native>> {
        self.read_by(deadline_at(timeout))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        self.write_by(deadline_in(timeout))
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        self.write_by(deadline_at(timeout))
    }
}

// SAFETY: an upgradable reader excludes writers and its like, and becomes the writer when no
// other reader is left and nobody has been in between.
unsafe impl<W: Policy, const FIRST: u32> lock_api::RawRwLockUpgrade
    for RawBiasedRwLockWith<W, FIRST>
{
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
unsafe impl<W: Policy, const FIRST: u32> lock_api::RawRwLockUpgradeDowngrade
    for RawBiasedRwLockWith<W, FIRST>
{
    unsafe fn downgrade_upgradable(&self, _guard: GuardNoSend) -> Reading<Native> {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.0.downgrade_upgradable() }
    }

    unsafe fn downgrade_to_upgradable(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller holds the lock for writing (lock_api's contract).
        unsafe { self.0.downgrade_to_upgradable() };
        guard
    }
}

// SAFETY: as RawRwLockUpgrade; until a deadline.
unsafe impl<W: Policy, const FIRST: u32> lock_api::RawRwLockUpgradeTimed
    for RawBiasedRwLockWith<W, FIRST>
{
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        self.upgradable_by(deadline_in(timeout))
    }

    fn try_lock_upgradable_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        self.upgradable_by(deadline_at(timeout))
    }

    unsafe fn try_upgrade_for(
        &self,
        guard: GuardNoSend,
        timeout: Duration,
    ) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.upgrade_by(guard, deadline_in(timeout)) }
    }

    unsafe fn try_upgrade_until(
        &self,
        guard: GuardNoSend,
        timeout: Instant,
    ) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: the caller holds the lock for upgradable reading (lock_api's contract).
        unsafe { self.upgrade_by(guard, deadline_at(timeout)) }
    }
}

impl<W: Policy, const FIRST: u32, T: ?Sized> RecursiveRead
    for lock_api::RwLock<RawBiasedRwLockWith<W, FIRST>, T>
{
    type Guard<'a>
        = lock_api::RwLockReadGuard<'a, RawBiasedRwLockWith<W, FIRST>, T>
    where
        Self: 'a;

    fn read_recursive(&self) -> Self::Guard<'_> {
        // SAFETY: the guard is of the raw lock, acquired here; `raw` is not used to unlock.
        unsafe { self.make_read_guard_unchecked(self.raw().0.read_again()) }
    }

    fn try_read_recursive(&self) -> Option<Self::Guard<'_>> {
        // SAFETY: as in read_recursive().
        unsafe {
            let reading = self.raw().0.try_read_again()?;
            Some(self.make_read_guard_unchecked(reading))
        }
    }
}
