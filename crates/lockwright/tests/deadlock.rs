//! What the deadlock detector finds, and what it leaves alone.
#![cfg(all(feature = "deadlock_detection", not(any(loom, miri))))]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex as StdMutex, MutexGuard as StdMutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lockwright::deadlock::{DeadlockedThread, check_deadlock};
use lockwright::*;

/// The detector looks at the whole process: one test at a time.
fn alone() -> StdMutexGuard<'static, ()> {
    static ALONE: StdMutex<()> = StdMutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next deadlock, which must come. Its threads stay as they are for ever.
fn one_deadlock() -> Vec<DeadlockedThread> {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        let mut found = check_deadlock();
        assert!(found.len() < 2, "{found:?}");
        if let Some(found) = found.pop() {
            assert!(check_deadlock().is_empty(), "reported twice");
            return found;
        }
        assert!(Instant::now() < limit, "no deadlock found");
        thread::yield_now();
    }
}

/// Two threads that each take a lock, meet, and take the other's.
fn cross<A: Send + Sync + 'static, B: Send + Sync + 'static>(
    a: A,
    b: B,
    take: [fn(&A, &B, &Barrier); 2],
) {
    let shared = Arc::new((a, b, Barrier::new(2)));
    for take in take {
        let shared = shared.clone();
        thread::spawn(move || take(&shared.0, &shared.1, &shared.2));
    }
}

#[inline(never)]
fn where_left_waits(lock: &Mutex<()>) {
    drop(std::hint::black_box(lock.lock()));
}

#[inline(never)]
fn where_right_waits(lock: &Mutex<()>) {
    drop(std::hint::black_box(lock.lock()));
}

#[test]
fn a_report_names_the_threads_and_shows_where_they_wait() {
    let _alone = alone();
    let shared = Arc::new((Mutex::new(()), Mutex::new(()), Barrier::new(2)));
    let (left, right) = (shared.clone(), shared);
    let left = thread::Builder::new().name("left".into()).spawn(move || {
        let _first = left.0.lock();
        left.2.wait();
        where_left_waits(&left.1);
    });
    let right = thread::Builder::new().name("right".into()).spawn(move || {
        let _first = right.1.lock();
        right.2.wait();
        where_right_waits(&right.0);
    });
    let (left, right) = (left.unwrap(), right.unwrap());
    let found = one_deadlock();
    assert_eq!(found.len(), 2);
    for (name, id, place) in [
        ("left", left.thread().id(), "where_left_waits"),
        ("right", right.thread().id(), "where_right_waits"),
    ] {
        let thread = found.iter().find(|thread| thread.name() == Some(name)).expect(name);
        assert_eq!(thread.thread_id(), id);
        let trace = format!("{:?}", thread.backtrace());
        assert!(trace.contains(place), "{trace}");
        let text = thread.to_string();
        assert!(text.contains(name) && text.contains("waits for 0x"), "{text}");
        assert!(text.contains("; holds 0x"), "{text}");
    }
}

#[test]
fn a_thread_that_waits_for_itself_is_a_deadlock() {
    let _alone = alone();
    thread::spawn(|| {
        let lock = LatencyMutex::new(());
        let _first = lock.lock();
        drop(lock.lock());
    });
    assert_eq!(one_deadlock().len(), 1);
    thread::spawn(|| {
        let lock = RwLock::new(());
        let _first = lock.read();
        drop(lock.write());
    });
    assert_eq!(one_deadlock().len(), 1);
}

#[test]
fn locks_of_different_kinds_are_seen_together() {
    let _alone = alone();
    cross(
        RwLock::new(()),
        FairMutex::new(()),
        [
            |a, b, both| {
                let _first = a.read();
                both.wait();
                drop(b.lock());
            },
            |a, b, both| {
                let _first = b.lock();
                both.wait();
                drop(a.write());
            },
        ],
    );
    assert_eq!(one_deadlock().len(), 2);
    cross(
        BiasedRwLock::new(()),
        ReentrantMutex::new(()),
        [
            |a, b, both| {
                let _first = (a.read(), a.read());
                both.wait();
                drop(b.lock());
            },
            |a, b, both| {
                let _first = (b.lock(), b.lock());
                both.wait();
                drop(BiasedRwLockUpgradableReadGuard::upgrade(a.upgradable_read()));
            },
        ],
    );
    assert_eq!(one_deadlock().len(), 2);
    cross(
        Once::new(),
        AtomicMutex::new(()),
        [
            |a, b, both| {
                a.call_once(|| {
                    both.wait();
                    drop(b.lock());
                });
            },
            |a, b, both| {
                let _first = b.lock();
                both.wait();
                a.wait();
            },
        ],
    );
    assert_eq!(one_deadlock().len(), 2);
}

#[test]
fn waits_that_end_are_no_deadlock() {
    let _alone = alone();
    let (mutex, lock, condvar) = (Mutex::new(()), RwLock::new(()), Condvar::new());
    let (both, done) = (Barrier::new(3), AtomicBool::new(false));
    thread::scope(|s| {
        // With a deadline, crosswise.
        s.spawn(|| {
            let first = mutex.lock();
            both.wait();
            assert!(lock.try_write_for(Duration::from_millis(50)).is_none());
            drop(first);
            done.store(true, Relaxed);
        });
        s.spawn(|| {
            let _first = lock.read();
            both.wait();
            drop(mutex.lock());
        });
        both.wait();
        while !done.load(Relaxed) {
            assert!(check_deadlock().is_empty());
        }
    });
    // For a condition, with the mutex given back meanwhile.
    let ready = Mutex::new(false);
    thread::scope(|s| {
        s.spawn(|| condvar.wait_while(&mut ready.lock(), |ready| !*ready));
        s.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            let mut ready = ready.lock();
            assert!(check_deadlock().is_empty());
            *ready = true;
            condvar.notify_all();
        });
    });
    assert!(check_deadlock().is_empty());
}

/// A lock that another thread unlocks is nobody's afterwards.
#[test]
fn an_unlock_by_force_is_noticed() {
    let _alone = alone();
    let lock = Mutex::new(());
    std::mem::forget(lock.lock());
    // SAFETY: this thread holds the mutex, by the guard that is forgotten, and gives it up here.
    thread::scope(|s| {
        s.spawn(|| unsafe { lock.force_unlock(lock_api::GuardNoSend::new()) }).join()
    })
    .unwrap();
    let other = Mutex::new(());
    let first = other.lock();
    thread::scope(|s| {
        s.spawn(|| {
            let _mine = lock.lock();
            drop(other.lock());
        });
        thread::sleep(Duration::from_millis(20));
        assert!(check_deadlock().is_empty());
        drop(first);
    });
}

/// Threads that take their locks in one order, looked at all the time.
#[test]
fn an_order_of_locks_never_looks_like_a_deadlock() {
    let _alone = alone();
    let locks: [Mutex<u64>; 3] = Default::default();
    let (shared, done) = (RwLock::new(0_u64), AtomicBool::new(false));
    thread::scope(|s| {
        let workers: Vec<_> = (0..6)
            .map(|worker| {
                let (locks, shared) = (&locks, &shared);
                s.spawn(move || {
                    for round in 0..2_000_usize {
                        let first = (worker + round) % 2;
                        let mut one = locks[first].lock();
                        let reading = shared.read();
                        let mut two = locks[2].lock();
                        *one += *reading;
                        *two += 1;
                        drop((one, reading, two));
                        *shared.write() += 1;
                    }
                })
            })
            .collect();
        s.spawn(|| {
            while !done.load(Relaxed) {
                assert!(check_deadlock().is_empty());
            }
        });
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        done.store(true, Relaxed);
    });
    assert_eq!((*locks[2].lock(), *shared.read()), (12_000, 12_000));
}
