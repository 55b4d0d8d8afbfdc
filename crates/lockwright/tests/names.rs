//! The names that a user writes: each infers what it does not say, and each policy has its guards.
#![cfg(not(loom))]

use lockwright::*;

#[test]
fn a_lock_needs_no_type_where_it_is_made() {
    let (rwlock, biased) = (RwLock::new(5), BiasedRwLock::new(6));
    let mutex = lock_api::Mutex::from_raw(RawMutex::INIT, 7);
    let by_raw = lock_api::RwLock::from_raw(RawRwLock::INIT, 8);
    let biased_by_raw = lock_api::RwLock::from_raw(RawBiasedRwLock::INIT, 9);
    let (atomic, latency) = (AtomicMutex::new(10), LatencyMutex::new(11));
    let sum = *rwlock.read() + *biased.read() + *mutex.lock() + *by_raw.read();
    assert_eq!(sum + *biased_by_raw.read() + *atomic.lock() + *latency.lock(), 56);
}

#[test]
fn each_mutex_has_its_guards() {
    fn part<W: MutexPolicy>(
        guard: MutexGuardWith<'_, (u8, u8), W>,
    ) -> MappedMutexGuardWith<'_, u8, W> {
        MutexGuardWith::map(guard, |pair| &mut pair.1)
    }
    let (default, latency) = (Mutex::new((1, 2)), LatencyMutex::new((3, 4)));
    let atomic = AtomicMutex::new((5, 6));
    let guards: (MutexGuard<_>, LatencyMutexGuard<_>, AtomicMutexGuard<_>) =
        (default.lock(), latency.lock(), atomic.lock());
    let parts: (MappedMutexGuard<_>, MappedLatencyMutexGuard<_>, MappedAtomicMutexGuard<_>) =
        (part(guards.0), part(guards.1), part(guards.2));
    assert_eq!((*parts.0, *parts.1, *parts.2), (2, 4, 6));
}

#[test]
fn each_reader_writer_lock_has_its_guards() {
    let lock: RwLockWith<[u8; 2], Standard> = RwLock::new([1, 2]);
    let reading: MappedRwLockReadGuard<u8> = RwLockReadGuard::map(lock.read(), |all| &all[1]);
    assert_eq!(*reading, 2);
    drop(reading);
    let upgradable: RwLockUpgradableReadGuard<_> = lock.upgradable_read();
    let writing: RwLockWriteGuard<_> = RwLockUpgradableReadGuard::upgrade(upgradable);
    let part: MappedRwLockWriteGuard<u8> = RwLockWriteGuard::map(writing, |all| &mut all[0]);
    assert_eq!(*part, 1);

    let biased: BiasedRwLockWith<[u8; 2], Standard> = BiasedRwLock::new([1, 2]);
    let reading: MappedBiasedRwLockReadGuard<u8> =
        BiasedRwLockReadGuard::map(biased.read(), |all| &all[1]);
    assert_eq!(*reading, 2);
    drop(reading);
    let upgradable: BiasedRwLockUpgradableReadGuard<_> = biased.upgradable_read();
    let writing: BiasedRwLockWriteGuard<_> = BiasedRwLockUpgradableReadGuard::upgrade(upgradable);
    let part: MappedBiasedRwLockWriteGuard<u8> =
        BiasedRwLockWriteGuard::map(writing, |all| &mut all[0]);
    assert_eq!(*part, 1);
}

#[test]
fn a_condition_variable_goes_with_each_mutex() {
    let (mutex, condvar) = (LatencyMutex::new(false), CondvarWith::<Latency>::new());
    std::thread::scope(|s| {
        s.spawn(|| {
            *mutex.lock() = true;
            condvar.notify_all();
        });
        condvar.wait_while(&mut mutex.lock(), |done| !*done);
    });
    assert!(*mutex.lock());
}

/// The table of the front page.
#[test]
fn locks_are_of_the_sizes_that_the_choosing_table_says() {
    assert_eq!(size_of::<Mutex<()>>(), 8);
    assert_eq!(size_of::<LatencyMutex<()>>(), 8);
    assert_eq!(size_of::<FairMutex<()>>(), 8);
    assert_eq!(size_of::<AtomicMutex<()>>(), 8);
    assert_eq!(size_of::<ReentrantMutex<()>>(), 24);
    assert_eq!(size_of::<RwLock<()>>(), 16);
    assert_eq!(size_of::<RecursiveRwLock<()>>(), 16);
    assert_eq!(size_of::<BiasedRwLock<()>>(), 128);
    assert_eq!(size_of::<SeqLock<u64>>(), 16 + 8);
    assert_eq!(size_of::<SeqLatch<u64>>(), 16 + 2 * 8);
    assert_eq!(size_of::<SeqCount>(), 8);
    assert_eq!(size_of::<Condvar>(), 8);
    assert_eq!(size_of::<Once>(), 4);
}
