//! The locks behind `lock_api` 0.4: each trait of it reaches the lock.
#![cfg(not(loom))]

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use lockwright::lock_api_04::*;

const NOT_LONG: Duration = Duration::from_millis(1);

fn elsewhere<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    thread::scope(|s| s.spawn(f).join().expect("no panic there"))
}

#[test]
fn a_mutex_is_held_and_given_back_in_every_way() {
    let lock = Arc::new(Mutex::new(1));
    let held = || elsewhere(|| lock.try_lock().is_none());
    let mut guard = lock.lock();
    assert!(held() && lock.is_locked());
    assert!(elsewhere(|| lock.try_lock_for(NOT_LONG).is_none()));
    assert!(elsewhere(|| lock.try_lock_until(Instant::now() + NOT_LONG).is_none()));
    MutexGuard::bump(&mut guard);
    assert!(held());
    MutexGuard::unlock_fair(guard);
    assert!(!lock.is_locked());
    let arc: lock_api::ArcMutexGuard<lockwright::RawMutex, i32> = lock.lock_arc();
    assert!(held());
    drop(arc);
    let part: MappedMutexGuard<'_, i32> = MutexGuard::map(lock.lock(), |all| all);
    assert!(held());
    drop(part);
    assert!(!lock.is_locked());
}

#[test]
fn a_reader_writer_lock_is_held_and_given_back_in_every_way() {
    let lock = RwLock::new(1);
    let read = || elsewhere(|| lock.try_read().is_some());
    let written = || elsewhere(|| lock.try_write().is_some());
    let upgradable = || elsewhere(|| lock.try_upgradable_read().is_some());

    let mut reader = lock.read();
    assert!(read() && upgradable() && !written());
    assert_eq!((*lock.read_recursive(), lock.try_read_recursive().is_some()), (1, true));
    assert!(lock.try_read_recursive_for(NOT_LONG).is_some());
    assert!(lock.try_read_recursive_until(Instant::now()).is_some());
    assert!(elsewhere(|| lock.try_write_for(NOT_LONG).is_none()));
    assert!(elsewhere(|| lock.try_write_until(Instant::now() + NOT_LONG).is_none()));
    RwLockReadGuard::bump(&mut reader);
    RwLockReadGuard::unlock_fair(reader);
    assert!(written());

    let may_write = lock.upgradable_read();
    assert!(read() && !upgradable() && !written());
    let mut writer = RwLockUpgradableReadGuard::upgrade(may_write);
    assert!(!read() && lock.is_locked_exclusive());
    *writer = 2;
    RwLockWriteGuard::bump(&mut writer);
    let may_write = RwLockWriteGuard::downgrade_to_upgradable(writer);
    assert!(read() && !upgradable());
    let Ok(writer) = RwLockUpgradableReadGuard::try_upgrade(may_write) else { panic!("alone") };
    let reader = RwLockWriteGuard::downgrade(writer);
    assert!(read() && upgradable() && *reader == 2);
    let may_write = lock.upgradable_read();
    let may_write =
        RwLockUpgradableReadGuard::try_upgrade_for(may_write, NOT_LONG).expect_err("another reads");
    drop(reader);
    RwLockUpgradableReadGuard::unlock_fair(may_write);
    assert!(written());
}

#[test]
fn a_condition_variable_waits_and_times_out() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    let mut guard = ready.lock();
    assert!(!changed.notify_one() && changed.notify_all() == 0);
    assert!(changed.wait_for(&mut guard, NOT_LONG).timed_out());
    assert!(changed.wait_until(&mut guard, Instant::now()).timed_out());
    assert!(changed.wait_while_for(&mut guard, |ready| !*ready, NOT_LONG).timed_out());
    thread::scope(|s| {
        s.spawn(|| {
            *ready.lock() = true;
            changed.notify_all();
        });
        changed.wait_while(&mut guard, |ready| !*ready);
        assert!(*guard);
    });
}

#[test]
fn a_reentrant_mutex_is_locked_again_by_its_holder_alone() {
    let lock = const_reentrant_mutex(3);
    let first = lock.lock();
    assert_eq!(*first + *lock.lock(), 6);
    assert!(elsewhere(|| lock.try_lock().is_none()));
    drop(first);
    assert!(elsewhere(|| lock.try_lock().is_some()));
}

#[test]
fn constants_make_each_lock() {
    static MUTEX: Mutex<u8> = const_mutex(1);
    static FAIR: FairMutex<u8> = const_fair_mutex(2);
    static LOCK: RwLock<u8> = const_rwlock(3);
    assert_eq!(*MUTEX.lock() + *FAIR.lock() + *LOCK.read(), 6);
}
