//! Threads that come and go, locks that come and go: what a lock keeps outside its own word
//! must be given back.

use super::{body, guarded};
use crate::AnyMutex;
use crate::scale::rounds;
use crate::scene::{
    Flag, Tally, announce_and_lock, assert_usable, at_thread_exit, hold_until_asked, is_barred,
    linger,
};
use lock_api::Mutex;
use std::mem;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// 100,000 locks, alive together, each contended once: state that a lock needs only while it is
/// contended must come back, since there is not that much of it.
pub fn many_locks_are_each_contended_once<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        let locks: Vec<_> = (0..rounds(100_000, 20)).map(|_| Mutex::<R, u32>::new(0)).collect();
        let (holding, asking) = (Tally::new(), Tally::new());
        thread::scope(|s| {
            s.spawn(|| {
                for (i, lock) in locks.iter().enumerate() {
                    holding.wait_for(i + 1);
                    *announce_and_lock(&asking, lock) += 1;
                }
            });
            for (i, lock) in locks.iter().enumerate() {
                let held = lock.lock();
                holding.add();
                // Most holds are short; some outlast a spinning waiter, which then sleeps.
                let time = if i % 16 == 0 { 100 } else { 10 };
                hold_until_asked(held, &asking, i + 1, Duration::from_micros(time));
            }
        });
        for (i, lock) in locks.iter().enumerate() {
            assert_eq!(lock.try_lock().as_deref(), Some(&1), "lock {i} is free again");
        }
    });
}

/// 200 locks with a sleeping waiter each, all at the same time, released in one sweep.
pub fn many_locks_are_contended_at_once<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        for _ in 0..rounds(3, 1) {
            let locks: Vec<_> = (0..rounds(200, 6)).map(|_| Mutex::<R, u32>::new(0)).collect();
            let asking = Tally::new();
            thread::scope(|s| {
                let held: Vec<_> = locks.iter().map(Mutex::lock).collect();
                for lock in &locks {
                    s.spawn(|| *announce_and_lock(&asking, lock) += 1);
                }
                asking.wait_for(locks.len());
                linger(Duration::from_millis(5));
                drop(held);
            });
            assert!(locks.iter().all(|lock| lock.try_lock().as_deref() == Some(&1)));
        }
    });
}

/// 2,000 threads, one after the other, each contending once: what a thread takes for its wait
/// comes back when it exits.
pub fn thousands_of_threads_in_turn_contend_once_each<R: AnyMutex>() {
    guarded::<R, _>(body!(), || contending_threads::<R>(rounds(2_000, 6), 1));
}

/// 70,000 threads: more than there are 16-bit numbers for them. In batches of 64, so that each
/// must queue behind others.
pub fn seventy_thousand_threads_contend_once_each<R: AnyMutex>() {
    guarded::<R, _>(body!(), || contending_threads::<R>(rounds(70_000, 16), rounds(64, 8)));
}

/// Lets `total` threads contend for one lock, `batch` alive at a time.
fn contending_threads<R: AnyMutex>(total: usize, batch: usize) {
    let lock = Mutex::<R, usize>::new(0);
    let mut begun = 0;
    while begun < total {
        let now = batch.min(total - begun);
        begun += now;
        let asking = Tally::new();
        thread::scope(|s| {
            let held = lock.lock();
            for _ in 0..now {
                s.spawn(|| *announce_and_lock(&asking, &lock) += 1);
            }
            hold_until_asked(held, &asking, now, Duration::from_micros(100));
        });
        assert_eq!(*lock.lock(), begun, "every thread of the batch had the lock once");
    }
    assert_usable(&lock);
}

/// While one thread waits, others that used the same lock exit and new ones take their place:
/// the waiter's place in the queue must not be theirs.
pub fn a_waiter_outlives_other_threads_exits<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        for _ in 0..rounds(20, 2) {
            let (lock, other) = (Mutex::<R, u32>::new(0), Mutex::<R, u32>::new(0));
            let asking = Tally::new();
            thread::scope(|s| {
                let held = lock.lock();
                s.spawn(|| *announce_and_lock(&asking, &lock) += 1);
                asking.wait_for(1);
                linger(Duration::from_micros(200));
                for _ in 0..5 {
                    let asking = Tally::new();
                    thread::scope(|short| {
                        let busy = other.lock();
                        short.spawn(|| *other.lock() += 1);
                        short.spawn(|| {
                            assert!(lock.try_lock().is_none(), "the lock is held");
                            *announce_and_lock(&asking, &other) += 1;
                        });
                        hold_until_asked(busy, &asking, 1, Duration::from_micros(100));
                    });
                }
                drop(held);
            });
            assert_eq!(*lock.lock(), 1);
            assert_eq!(*other.lock(), 10);
        }
    });
}

/// A thread that exits without releasing takes the lock with it: it stays held, and looking at
/// its former holder (is it running?) harms nobody.
pub fn a_lock_held_by_a_thread_that_exited_stays_held<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        for _ in 0..rounds(50, 2) {
            let lock = Mutex::<R, u32>::new(0);
            thread::scope(|s| {
                s.spawn(|| mem::forget(lock.lock()));
            });
            assert!(lock.is_locked());
            // New threads may get what the holder left behind; that makes none of them holder.
            for _ in 0..3 {
                assert!(is_barred(&lock));
            }
        }
    });
}

/// A thread-local destructor that was registered after the thread first locked runs before
/// the lock's own, so it finds everything in place.
pub fn a_thread_local_destructor_may_lock<R: AnyMutex>() {
    guarded::<R, _>(body!(), || lock_in_destructors::<R>(false));
}

/// A thread-local destructor that was registered before the thread first locked runs after the
/// lock's own thread-local state is gone.
pub fn a_thread_local_destructor_may_lock_after_the_locks_own<R: AnyMutex>() {
    guarded::<R, _>(body!(), || lock_in_destructors::<R>(true));
}

fn lock_in_destructors<R: AnyMutex>(registered_first: bool) {
    let threads = rounds(8, 3);
    for round in 0..rounds(20, 2) {
        let lock = Arc::new(Mutex::<R, usize>::new(0));
        let (arrived, exiting) = (Arc::new(Tally::new()), Arc::new(Tally::new()));
        let go = Arc::new(Flag::new());
        let leave = |(lock, exiting): (Arc<Mutex<R, usize>>, Arc<Tally>)| {
            at_thread_exit(move || *announce_and_lock(&exiting, &lock) += 1);
        };
        let leavers: Vec<_> = (0..threads)
            .map(|_| {
                let (lock, arrived, go) = (lock.clone(), arrived.clone(), go.clone());
                let last = (lock.clone(), exiting.clone());
                thread::spawn(move || {
                    if registered_first {
                        leave(last);
                        *announce_and_lock(&arrived, &lock) += 1;
                    } else {
                        *announce_and_lock(&arrived, &lock) += 1;
                        leave(last);
                    }
                    arrived.add();
                    go.wait();
                })
            })
            .collect();
        arrived.wait_for(2 * threads);
        let held = lock.lock();
        go.raise();
        hold_until_asked(held, &exiting, threads, Duration::from_micros(200));
        for leaver in leavers {
            leaver.join().expect("a leaving thread panicked");
        }
        assert_eq!(*lock.lock(), 2 * threads, "round {round}: every destructor had the lock");
    }
}
