//! What a lock with timeouts must keep: a waiter that gives up leaves no trace.

use super::{body, demand, guarded};
use crate::scale::rounds;
use crate::scene::{Tally, announce_and_lock, assert_usable, hold_until_asked, linger};
use crate::{TimedMutex, oracle};
use lock_api::Mutex;
use std::mem;
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for any thread to be served in.
const AMPLE: Duration = Duration::from_secs(60);

/// Waits `time` for `lock` in another thread, which must not get it.
fn time_out<R: TimedMutex, T: Send>(lock: &Mutex<R, T>, time: Duration) {
    thread::scope(|s| {
        s.spawn(|| assert!(lock.try_lock_for(time).is_none(), "the lock is held"));
    });
}

/// The plainest case: wait, give up, and the lock is as before.
pub fn a_timed_out_waiter_leaves_the_lock_usable<R: TimedMutex>() {
    guarded::<R, _>(body!(), || {
        let lock = Mutex::<R, u32>::new(0);
        for round in 0..rounds(30, 3) {
            let held = lock.lock();
            time_out(&lock, Duration::from_micros(10 << (round % 8)));
            assert!(lock.is_locked(), "giving up does not release");
            drop(held);
            assert_usable(&lock);
        }
    });
}

/// `lock_api`: an unsuccessful timed lock must not return before its timeout.
pub fn a_failed_timed_lock_waits_its_full_time<R: TimedMutex>() {
    guarded::<R, _>(body!(), || {
        let lock = Mutex::<R, u32>::new(0);
        let _held = lock.lock();
        for wait_us in [1, 50, 1_000, 20_000] {
            let wait = Duration::from_micros(wait_us);
            thread::scope(|s| {
                s.spawn(|| {
                    let start = Instant::now();
                    assert!(lock.try_lock_for(wait).is_none());
                    assert!(start.elapsed() >= wait, "{:?} of {wait:?}", start.elapsed());
                    let until = Instant::now() + wait;
                    assert!(lock.try_lock_until(until).is_none());
                    assert!(Instant::now() >= until);
                });
            });
        }
    });
}

/// The first waiter gives up; the one behind it, with no timeout, must still be found.
pub fn a_waiter_behind_a_timed_out_one_is_served<R: TimedMutex>() {
    guarded::<R, _>(body!(), || {
        for round in 0..rounds(40, 3) {
            let lock = Mutex::<R, u32>::new(0);
            let (first, second) = (Tally::new(), Tally::new());
            thread::scope(|s| {
                let held = lock.lock();
                let quitter = s.spawn(|| {
                    first.add();
                    assert!(lock.try_lock_for(Duration::from_millis(2)).is_none());
                });
                first.wait_for(1);
                // The second queues before, around, or after the first gives up.
                linger(Duration::from_micros(100 * (round as u64 % 25)));
                s.spawn(|| *announce_and_lock(&second, &lock) += 1);
                second.wait_for(1);
                quitter.join().expect("the lock is held");
                linger(Duration::from_micros(50));
                drop(held);
            });
            assert_eq!(*lock.lock(), 1);
            assert_usable(&lock);
        }
    });
}

/// Head, middle and tail of the queue give up while patient waiters stand between them.
pub fn waiters_around_a_timed_out_one_are_served<R: TimedMutex>() {
    guarded::<R, _>(body!(), || {
        for round in 0..rounds(20, 2) {
            let lock = Mutex::<R, u32>::new(0);
            let (asking, gone) = (Tally::new(), Tally::new());
            thread::scope(|s| {
                let held = lock.lock();
                for place in 0..7 {
                    let (lock, asking, gone) = (&lock, &asking, &gone);
                    s.spawn(move || {
                        if place % 2 == 1 {
                            *announce_and_lock(asking, lock) += 1;
                            return;
                        }
                        asking.add();
                        let time = Duration::from_micros(500 + 200 * ((place + round) as u64 % 7));
                        assert!(lock.try_lock_for(time).is_none(), "the lock is held");
                        gone.add();
                    });
                    asking.wait_for(place + 1);
                    linger(Duration::from_micros(100));
                }
                gone.wait_for(4);
                drop(held);
            });
            assert_eq!(*lock.lock(), 3, "the patient waiters were served");
            assert_usable(&lock);
        }
    });
}

/// When all waiters have given up, no flag of theirs bars the next thread.
pub fn the_lock_is_free_after_every_waiter_timed_out<R: TimedMutex>() {
    guarded::<R, _>(body!(), || {
        for round in 0..rounds(20, 2) {
            let lock = Mutex::<R, u32>::new(0);
            let held = lock.lock();
            thread::scope(|s| {
                for id in 0..5 {
                    let lock = &lock;
                    let time = Duration::from_micros(200 + 1_000 * ((id + round) as u64 % 6));
                    s.spawn(move || assert!(lock.try_lock_for(time).is_none()));
                }
            });
            drop(held);
            assert_usable(&lock);
        }
    });
}

/// A timeout of zero takes a free lock and does not wait for a held one.
pub fn a_zero_timeout_is_a_try_lock<R: TimedMutex>() {
    guarded::<R, _>(body!(), || {
        let lock = Mutex::<R, u32>::new(0);
        for _ in 0..rounds(100, 3) {
            let held = lock.try_lock_for(Duration::ZERO).expect("the lock is free");
            time_out(&lock, Duration::ZERO);
            drop(held);
        }
        assert_usable(&lock);
    });
}

/// A deadline that has passed is treated like a timeout of zero.
pub fn a_deadline_in_the_past_is_a_try_lock<R: TimedMutex>() {
    guarded::<R, _>(body!(), || {
        let past = Instant::now();
        linger(Duration::from_millis(1));
        let lock = Mutex::<R, u32>::new(0);
        for _ in 0..rounds(100, 3) {
            let held = lock.try_lock_until(past).expect("the lock is free");
            thread::scope(|s| {
                s.spawn(|| assert!(lock.try_lock_until(past).is_none(), "the lock is held"));
            });
            drop(held);
        }
        assert_usable(&lock);
    });
}

/// A timeout that no clock can represent means no timeout.
pub fn an_endless_timeout_waits_for_the_lock<R: TimedMutex>() {
    guarded::<R, _>(body!(), || {
        let lock = Mutex::<R, u32>::new(0);
        for time in [Duration::MAX, Duration::from_secs(u64::MAX / 4), AMPLE * 60 * 24 * 36_500] {
            let asking = Tally::new();
            thread::scope(|s| {
                let held = lock.lock();
                s.spawn(|| {
                    asking.add();
                    *lock.try_lock_for(time).expect("an endless wait ends with the lock") += 1;
                });
                hold_until_asked(held, &asking, 1, Duration::from_millis(2));
            });
        }
        assert_eq!(*lock.lock(), 3);
    });
}

/// A timed waiter whose lock is released well before its deadline gets it, queued or not.
pub fn a_timed_waiter_gets_the_lock_in_time<R: TimedMutex>() {
    guarded::<R, _>(body!(), || {
        let lock = Mutex::<R, u32>::new(0);
        let times = rounds(100, 3);
        for round in 0..times {
            let asking = Tally::new();
            thread::scope(|s| {
                let held = lock.lock();
                s.spawn(|| {
                    asking.add();
                    let deadline = Instant::now() + AMPLE;
                    *lock.try_lock_until(deadline).expect("released long before") += 1;
                });
                hold_until_asked(held, &asking, 1, Duration::from_micros(round as u64 * 10));
            });
        }
        assert_eq!(*lock.lock() as usize, times);
        assert_usable(&lock);
    });
}

/// The release comes just when the first waiter gives up; the one behind it is served.
pub fn a_timeout_racing_with_an_unlock_passes_the_baton<R: TimedMutex>() {
    let test = body!();
    let limit = Duration::from_secs(10);
    demand::<R, _>(test, guarded::<R, _>(test, move || oracle::baton::<R>(limit)));
}

/// Many impatient threads race with unlocks; every acquisition that was reported happened, no
/// other did, and the lock is free at the end.
pub fn a_storm_of_cancellations_conserves_acquisitions<R: TimedMutex>() {
    let test = body!();
    let run = || {
        oracle::exclusion_by::<R>(rounds(8, 4), rounds(2_000, 6), |lock, dice| {
            loop {
                let patience = Duration::from_micros(dice.below(150));
                let Some(mut pair) = lock.try_lock_for(patience) else { continue };
                if dice.below(8) == 0 {
                    linger(Duration::from_micros(dice.below(100)));
                }
                return oracle::step(&mut pair);
            }
        })
    };
    demand::<R, _>(test, guarded::<R, _>(test, run));
}

/// A timed wait for a lock whose holder is gone for ever ends at its deadline.
pub fn a_lock_held_by_a_thread_that_exited_times_out<R: TimedMutex>() {
    guarded::<R, _>(body!(), || {
        let lock = Mutex::<R, u32>::new(0);
        thread::scope(|s| {
            s.spawn(|| mem::forget(lock.lock()));
        });
        for _ in 0..rounds(5, 1) {
            time_out(&lock, Duration::from_millis(10));
        }
        assert!(lock.is_locked());
    });
}
