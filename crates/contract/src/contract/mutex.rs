//! What every mutex must keep: exclusion, `try_lock`, unwinding, moves, no starvation.

use super::{body, demand, guarded};
use crate::scale::rounds;
use crate::scene::{
    Flag, Tally, announce_and_lock, assert_usable, hold_until_asked, is_barred, linger, until,
};
use crate::{AnyMutex, oracle};
use lock_api::Mutex;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Four threads step two plain counters; only exclusion keeps them equal.
pub fn exclusion_keeps_two_counters_equal<R: AnyMutex>() {
    let test = body!();
    demand::<R, _>(
        test,
        guarded::<R, _>(test, || oracle::exclusion::<R>(rounds(4, 3), rounds(50_000, 40))),
    );
}

/// Sixteen threads, so that most waiters cannot run: waiting must give the CPU away.
pub fn more_threads_than_cpus_keep_exclusion<R: AnyMutex>() {
    let test = body!();
    demand::<R, _>(
        test,
        guarded::<R, _>(test, || oracle::exclusion::<R>(rounds(16, 6), rounds(10_000, 8))),
    );
}

/// The holder sleeps at times inside the critical section, so waiters run out of patience and
/// go through their whole slow path.
pub fn a_holder_that_loses_its_cpu_keeps_exclusion<R: AnyMutex>() {
    let test = body!();
    let run = || {
        oracle::exclusion_by::<R>(rounds(6, 3), rounds(400, 8), |lock, dice| {
            let mut pair = lock.lock();
            if dice.below(16) == 0 {
                thread::sleep(Duration::from_micros(dice.below(400)));
            }
            oracle::step(&mut pair)
        })
    };
    demand::<R, _>(test, guarded::<R, _>(test, run));
}

/// `try_lock` tells the truth in both directions, to the holder and to other threads. It may
/// not fail spuriously here, since nobody else touches the lock.
pub fn try_lock_fails_while_held_and_succeeds_when_free<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        let lock = Mutex::<R, u32>::new(0);
        assert!(!lock.is_locked(), "a new lock is free");
        for round in 0..rounds(100, 5) {
            let held = if round % 2 == 0 { Some(lock.lock()) } else { lock.try_lock() };
            let held = held.expect("try_lock of a free lock succeeds");
            assert!(lock.is_locked());
            assert!(lock.try_lock().is_none(), "the holder cannot lock twice");
            assert!(is_barred(&lock), "another thread cannot lock a held lock");
            drop(held);
        }
        assert_usable(&lock);
    });
}

/// Threads that spin on `try_lock` and threads that block share one lock.
pub fn try_lock_and_lock_mixed_keep_exclusion<R: AnyMutex>() {
    let test = body!();
    let run = || {
        oracle::exclusion_by::<R>(rounds(6, 3), rounds(5_000, 10), |lock, dice| {
            if dice.below(2) == 0 {
                return oracle::step(&mut lock.lock());
            }
            loop {
                if let Some(mut pair) = lock.try_lock() {
                    return oracle::step(&mut pair);
                }
                thread::yield_now();
            }
        })
    };
    demand::<R, _>(test, guarded::<R, _>(test, run));
}

/// A thread holds three locks at once, released in any order, while others contend for them:
/// state that a thread has only once must not be tied to a held lock.
pub fn different_locks_nest_in_any_release_order<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        let locks: [Mutex<R, u64>; 3] = std::array::from_fn(|_| Mutex::new(0));
        let (threads, turns) = (4, rounds(3_000, 8));
        thread::scope(|s| {
            for id in 0..threads {
                let locks = &locks;
                s.spawn(move || {
                    for turn in 0..turns {
                        let mut held = locks.each_ref().map(|lock| Some(lock.lock()));
                        for guard in held.iter_mut().flatten() {
                            **guard += 1;
                        }
                        for place in 0..3 {
                            held[(place * (1 + turn % 2) + turn + id) % 3] = None;
                        }
                    }
                });
            }
        });
        for lock in locks {
            assert_usable(&lock);
            assert_eq!(lock.into_inner(), (threads * turns) as u64);
        }
    });
}

/// Unwinding drops the guard, and that unlocks.
pub fn a_guard_dropped_during_unwind_unlocks<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        let lock = Mutex::<R, u32>::new(0);
        for round in 0..rounds(50, 3) {
            let unwound = catch_unwind(AssertUnwindSafe(|| {
                let mut guard = lock.lock();
                *guard += 1;
                // Not a panic, which would print its message each round.
                resume_unwind(Box::new("holder"));
            }));
            assert!(unwound.is_err());
            assert_eq!(*lock.lock() as usize, round + 1, "not poisoned, and the step is kept");
        }
        assert_usable(&lock);
    });
}

/// A holder that unwinds with waiters behind it serves them; nothing is poisoned.
pub fn a_panicking_holder_leaves_the_lock_usable<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        for _ in 0..rounds(20, 2) {
            let lock = Arc::new(Mutex::<R, u32>::new(0));
            let asking = Arc::new(Tally::new());
            let waiters: Vec<_> = (0..3)
                .map(|_| {
                    let (lock, asking) = (lock.clone(), asking.clone());
                    thread::spawn(move || *announce_and_lock(&asking, &lock) += 1)
                })
                .collect();
            let holder = thread::spawn({
                let (lock, asking) = (lock.clone(), asking.clone());
                move || {
                    let _guard = lock.lock();
                    asking.wait_for(1);
                    linger(Duration::from_micros(200));
                    resume_unwind(Box::new("holder"));
                }
            });
            assert!(holder.join().is_err());
            for waiter in waiters {
                waiter.join().expect("a waiter must not see its holder's panic");
            }
            assert_eq!(*lock.lock(), 3);
            assert_usable(&lock);
        }
    });
}

/// A free lock is plain data: it may be contended here, moved, and contended there.
pub fn a_lock_moved_while_free_works<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        let mut lock = Mutex::<R, usize>::new(0);
        for home in 0..rounds(50, 3) {
            let asking = Tally::new();
            thread::scope(|s| {
                let held = lock.lock();
                s.spawn(|| *announce_and_lock(&asking, &lock) += 1);
                hold_until_asked(held, &asking, 1, Duration::from_micros(50));
            });
            assert_eq!(*lock.get_mut(), home + 1);
            // To the heap and back to another place on the stack.
            lock = *Box::new(mem::replace(&mut lock, Mutex::new(usize::MAX)));
        }
        assert_usable(&lock);
    });
}

/// Whoever owns a lock alone may forget its guard and drop it, also after contention, and a new
/// lock in the same memory starts free.
pub fn a_lock_dropped_while_held_is_harmless<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        let mut place = Box::new(Mutex::<R, u32>::new(0));
        for _ in 0..rounds(100, 3) {
            let asking = Tally::new();
            thread::scope(|s| {
                let held = place.lock();
                s.spawn(|| drop(announce_and_lock(&asking, &place)));
                hold_until_asked(held, &asking, 1, Duration::from_micros(20));
            });
            mem::forget(place.lock());
            *place = Mutex::new(0);
            assert_usable(&place);
        }
    });
}

/// A guard that owns its lock by `Arc` is the last owner, so the unlock and the free of the
/// lock follow each other at once.
pub fn an_arc_guard_outlives_its_scope<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        for _ in 0..rounds(200, 5) {
            let lock = Arc::new(Mutex::<R, u32>::new(1));
            let waiter = lock.clone();
            let guard = lock.lock_arc();
            drop(lock);
            let waiter = thread::spawn(move || *waiter.lock_arc() += 1);
            linger(Duration::from_micros(20));
            assert_eq!(*guard, 1);
            drop(guard);
            waiter.join().expect("the waiter panicked");
        }
    });
}

/// One thread unlocks and relocks as fast as it can; another that asks gets the lock. Only
/// time bounds this, generously, since not every lock bounds its bypass.
pub fn a_looping_owner_does_not_starve_a_waiter<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        for _ in 0..rounds(5, 1) {
            let lock = Mutex::<R, u64>::new(0);
            let (started, served) = (Flag::new(), Flag::new());
            thread::scope(|s| {
                s.spawn(|| {
                    let mut turns = 0_u64;
                    while !served.is_raised() {
                        *lock.lock() += 1;
                        turns += 1;
                        if turns == 10 {
                            started.raise();
                        }
                        if cfg!(miri) {
                            // Miri switches threads rarely; natively the loop stays tight.
                            thread::yield_now();
                        }
                    }
                });
                started.wait();
                *lock.lock() += 1;
                served.raise();
            });
            until(|| !lock.is_locked());
        }
    });
}

/// A waiter is served by the one release there is: no other thread comes by to help.
pub fn a_waiter_is_served_after_the_only_release<R: AnyMutex>() {
    let test = body!();
    let limit = Duration::from_secs(10);
    demand::<R, _>(test, guarded::<R, _>(test, move || oracle::progress::<R>(limit)));
}
