//! A guard may be dropped by another thread than took it.
#![cfg(all(feature = "send_guard", not(loom)))]

use std::thread;

use lockwright::*;

const ROUNDS: u32 = if cfg!(miri) { 3 } else { 2_000 };

fn elsewhere<T: Send>(value: T) {
    thread::scope(|s| s.spawn(|| drop(value)).join().expect("no panic there"));
}

/// Each guard goes to another thread and is dropped there, while others wait for the lock.
fn contended<T: Send + Sync>(lock: &T, take: impl Fn(&T) + Sync) {
    thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| (0..ROUNDS / 10 + 1).for_each(|_| take(lock)));
        }
    });
}

#[test]
fn a_guard_that_is_dropped_elsewhere_releases() {
    let mutex = Mutex::new(0_u32);
    contended(&mutex, |mutex| {
        let mut guard = mutex.lock();
        *guard += 1;
        elsewhere(guard);
    });
    assert_eq!(*mutex.lock(), 3 * (ROUNDS / 10 + 1));

    let fair = FairMutex::new(0_u32);
    contended(&fair, |mutex| {
        let mut guard = mutex.lock();
        *guard += 1;
        elsewhere(FairMutexGuard::map(guard, |all| all));
    });
    assert_eq!(*fair.lock(), 3 * (ROUNDS / 10 + 1));

    let lock = RwLock::new(0_u32);
    contended(&lock, |lock| {
        elsewhere(lock.read());
        let mut writing = RwLockUpgradableReadGuard::upgrade(lock.upgradable_read());
        *writing += 1;
        elsewhere(RwLockWriteGuard::downgrade(writing));
    });
    assert_eq!(*lock.read(), 3 * (ROUNDS / 10 + 1));

    let biased = BiasedRwLock::new(0_u32);
    contended(&biased, |lock| {
        let mut writing = lock.write();
        *writing += 1;
        elsewhere(writing);
        drop(lock.read());
    });
    assert_eq!(*biased.read(), 3 * (ROUNDS / 10 + 1));
}

/// A condition variable's wait gives the mutex back in the thread that has the guard.
#[test]
fn a_guard_that_was_sent_may_wait_for_a_condition() {
    let (mutex, condvar) = (Mutex::new(false), Condvar::new());
    thread::scope(|s| {
        let guard = mutex.lock();
        let waiter = s.spawn({
            let condvar = &condvar;
            move || {
                let mut guard = guard;
                condvar.wait_while(&mut guard, |ready| !*ready);
                *guard
            }
        });
        *mutex.lock() = true;
        condvar.notify_one();
        assert!(waiter.join().expect("no panic there"));
    });
}
