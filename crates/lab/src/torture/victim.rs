//! Locks as torture drives them: by closures, each with what it can do.

use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;
use std::sync::{OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use lock_api::{
    Mutex, MutexGuard, RawMutex, RawMutexFair, RawMutexTimed, RawRwLockFair,
    RawRwLockUpgradeDowngrade, RawRwLockUpgradeTimed, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use lockwright_workloads::harness::Interrupt;
use lockwright_workloads::mutex_bench::BenchMutex;
use lockwright_workloads::rw_bench::BenchRwLock;

use super::storm::storm;
use super::{Outcome, Plan, Stats};

/// What a lock can do, and what it allows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Abilities {
    /// It has readers.
    pub reads: bool,
    /// Calls that do not wait.
    pub tries: bool,
    /// Calls that run out of time.
    pub times_out: bool,
    /// Downgrade and upgrade.
    pub converts: bool,
    /// Handlers of signals may lock.
    pub in_handlers: bool,
    /// A child of fork may lock what nobody held.
    pub in_children: bool,
}

/// A lock, by what can be done with it. What a section does is given as a closure; a call that fails
/// says so and runs none.
pub trait Torturable: Send + Sync + 'static {
    /// What it can do.
    fn can() -> Abilities
    where
        Self: Sized;

    /// Unlocked.
    fn new() -> Self
    where
        Self: Sized;

    /// Locks for writing.
    fn write(&self, section: &mut dyn FnMut());

    /// Locks for reading.
    fn read(&self, section: &mut dyn FnMut()) {
        self.write(section);
    }

    /// Unlocks fairly, if it can.
    fn write_fair(&self, section: &mut dyn FnMut()) {
        self.write(section);
    }

    /// Locks for writing if that is possible at once.
    fn try_write(&self, _section: &mut dyn FnMut()) -> bool {
        false
    }

    /// Locks for reading if that is possible at once.
    fn try_read(&self, _section: &mut dyn FnMut()) -> bool {
        false
    }

    /// Locks for writing if that is possible in time.
    fn write_for(&self, _time: Duration, _section: &mut dyn FnMut()) -> bool {
        false
    }

    /// Locks for reading if that is possible in time.
    fn read_for(&self, _time: Duration, _section: &mut dyn FnMut()) -> bool {
        false
    }

    /// Locks for writing, then reads with no writer in between.
    fn downgrade(&self, write: &mut dyn FnMut(), _read: &mut dyn FnMut()) {
        self.write(write);
    }

    /// Locks for reading, then writes with no writer in between.
    fn upgrade(&self, _read: &mut dyn FnMut(), write: &mut dyn FnMut()) {
        self.write(write);
    }
}

/// Makes what is [`Torturable`]. The storm itself is compiled once: what its threads do beside the lock costs
/// them nothing that matters.
pub trait Victim: Sync {
    /// What it can do.
    fn can(&self) -> Abilities;

    /// Everything at once.
    fn storm(&self, plan: &Plan, stop: &Interrupt, report: &mut dyn FnMut(&Stats)) -> Outcome;
}

/// [`Victim`] of the lock `T`.
pub struct Of<T>(PhantomData<fn() -> T>);

impl<T> Of<T> {
    /// It holds nothing.
    pub const NEW: Self = Of(PhantomData);
}

impl<T: Torturable> Victim for Of<T> {
    fn can(&self) -> Abilities {
        T::can()
    }

    fn storm(&self, plan: &Plan, stop: &Interrupt, report: &mut dyn FnMut(&Stats)) -> Outcome {
        storm(T::can(), || Box::new(T::new()), plan, stop, report)
    }
}

/// A mutex of `lock_api` with time-outs and fair unlock. `OWN`: of this project, which allows
/// handlers and children.
pub struct OfMutex<R, const OWN: bool>(Mutex<R, ()>);

impl<R, const OWN: bool> Torturable for OfMutex<R, OWN>
where
    R: RawMutexFair + RawMutexTimed<Duration = Duration, Instant = Instant> + Send + Sync + 'static,
{
    fn can() -> Abilities {
        Abilities {
            tries: true,
            times_out: true,
            in_handlers: OWN,
            in_children: OWN,
            ..Abilities::default()
        }
    }

    fn new() -> Self {
        OfMutex(Mutex::new(()))
    }

    fn write(&self, section: &mut dyn FnMut()) {
        let _held = self.0.lock();
        section();
    }

    fn write_fair(&self, section: &mut dyn FnMut()) {
        let held = self.0.lock();
        section();
        MutexGuard::unlock_fair(held);
    }

    fn try_write(&self, section: &mut dyn FnMut()) -> bool {
        self.0.try_lock().map(|_held| section()).is_some()
    }

    fn write_for(&self, time: Duration, section: &mut dyn FnMut()) -> bool {
        self.0.try_lock_for(time).map(|_held| section()).is_some()
    }
}

/// A mutex of `lock_api` without more.
pub struct OfPlainMutex<R>(Mutex<R, ()>);

impl<R: RawMutex + Send + Sync + 'static> Torturable for OfPlainMutex<R> {
    fn can() -> Abilities {
        Abilities { tries: true, ..Abilities::default() }
    }

    fn new() -> Self {
        OfPlainMutex(Mutex::new(()))
    }

    fn write(&self, section: &mut dyn FnMut()) {
        let _held = self.0.lock();
        section();
    }

    fn try_write(&self, section: &mut dyn FnMut()) -> bool {
        self.0.try_lock().map(|_held| section()).is_some()
    }
}

/// A reader-writer lock of `lock_api` with everything. `OWN`: of this project, which allows children.
pub struct OfRwLock<R, const OWN: bool>(RwLock<R, ()>);

impl<R, const OWN: bool> Torturable for OfRwLock<R, OWN>
where
    R: RawRwLockUpgradeTimed<Duration = Duration, Instant = Instant>
        + RawRwLockUpgradeDowngrade
        + RawRwLockFair
        + Send
        + Sync
        + 'static,
{
    fn can() -> Abilities {
        Abilities {
            reads: true,
            tries: true,
            times_out: true,
            converts: true,
            in_children: OWN,
            // An unlock may have to wait for what the interrupted thread holds, as its module says.
            ..Abilities::default()
        }
    }

    fn new() -> Self {
        OfRwLock(RwLock::new(()))
    }

    fn write(&self, section: &mut dyn FnMut()) {
        let _held = self.0.write();
        section();
    }

    fn read(&self, section: &mut dyn FnMut()) {
        let _held = self.0.read();
        section();
    }

    fn write_fair(&self, section: &mut dyn FnMut()) {
        let held = self.0.write();
        section();
        RwLockWriteGuard::unlock_fair(held);
    }

    fn try_write(&self, section: &mut dyn FnMut()) -> bool {
        self.0.try_write().map(|_held| section()).is_some()
    }

    fn try_read(&self, section: &mut dyn FnMut()) -> bool {
        self.0.try_read().map(|_held| section()).is_some()
    }

    fn write_for(&self, time: Duration, section: &mut dyn FnMut()) -> bool {
        self.0.try_write_for(time).map(|_held| section()).is_some()
    }

    fn read_for(&self, time: Duration, section: &mut dyn FnMut()) -> bool {
        self.0.try_read_for(time).map(|_held| section()).is_some()
    }

    fn downgrade(&self, write: &mut dyn FnMut(), read: &mut dyn FnMut()) {
        let held = self.0.write();
        write();
        let reading: RwLockReadGuard<R, ()> = RwLockWriteGuard::downgrade(held);
        read();
        drop(reading);
    }

    fn upgrade(&self, read: &mut dyn FnMut(), write: &mut dyn FnMut()) {
        let held = self.0.upgradable_read();
        read();
        let writing = RwLockUpgradableReadGuard::upgrade(held);
        write();
        drop(writing);
    }
}

/// Any other mutex, by the benchmark's adapter.
pub struct OfBenchMutex<M>(M);

impl<M: BenchMutex + 'static> Torturable for OfBenchMutex<M> {
    fn can() -> Abilities {
        Abilities::default()
    }

    fn new() -> Self {
        OfBenchMutex(M::new())
    }

    fn write(&self, section: &mut dyn FnMut()) {
        self.0.with(|_| section());
    }
}

/// Any other reader-writer lock, by the benchmark's adapter.
pub struct OfBenchRwLock<L>(L);

impl<L: BenchRwLock + 'static> Torturable for OfBenchRwLock<L> {
    fn can() -> Abilities {
        Abilities { reads: true, ..Abilities::default() }
    }

    fn new() -> Self {
        OfBenchRwLock(L::new())
    }

    fn write(&self, section: &mut dyn FnMut()) {
        self.0.write(|_: &AtomicU64| section());
    }

    fn read(&self, section: &mut dyn FnMut()) {
        self.0.read(|_: &AtomicU64| section());
    }
}

/// Broken: a downgrade lets writers in before it reads.
pub struct DowngradeGap(std::sync::RwLock<()>);

impl Torturable for DowngradeGap {
    fn can() -> Abilities {
        Abilities { reads: true, converts: true, ..Abilities::default() }
    }

    fn new() -> Self {
        DowngradeGap(std::sync::RwLock::new(()))
    }

    fn write(&self, section: &mut dyn FnMut()) {
        let _held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        section();
    }

    fn read(&self, section: &mut dyn FnMut()) {
        let _held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        section();
    }

    fn downgrade(&self, write: &mut dyn FnMut(), read: &mut dyn FnMut()) {
        self.write(write);
        std::thread::yield_now();
        self.read(read);
    }
}

/// Broken: whoever asked first of all waits for seconds, however many pass meanwhile.
pub struct Outcast {
    lock: std::sync::Mutex<()>,
    first: OnceLock<ThreadId>,
}

impl Outcast {
    /// Longer than the tests let a thread starve.
    const STANDS_BACK: Duration = Duration::from_secs(6);
}

impl Torturable for Outcast {
    fn can() -> Abilities {
        Abilities::default()
    }

    fn new() -> Self {
        Outcast { lock: std::sync::Mutex::new(()), first: OnceLock::new() }
    }

    fn write(&self, section: &mut dyn FnMut()) {
        let me = std::thread::current().id();
        if *self.first.get_or_init(|| me) == me {
            std::thread::sleep(Self::STANDS_BACK);
        }
        let _held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        section();
    }
}
