//! The table of the count mutex: atomic operations on the count word, path by path, exactly.
//!
//! The waiter is the test's own thread; the owner acts when the waiter waits.
#![cfg(not(loom))]

use std::cell::Cell;
use std::rc::Rc;

use lockwright_locks::count_mutex::{AfterDefault, AfterX86, Before, CountMutex, Tests};
use lockwright_platform::counting::{Counting, act_as, on_wait, ops_on};

type Mutex<T> = CountMutex<Counting, T>;

const OWNER: u16 = 2;

fn leak<T: Tests>() -> &'static Mutex<T> {
    Box::leak(Box::new(CountMutex::new()))
}

fn rmws<T: Tests>(mutex: &Mutex<T>, f: impl FnOnce()) -> u64 {
    ops_on(mutex.count(), f).rmws
}

fn release<T: Tests>(mutex: &Mutex<T>) {
    // SAFETY: only called while the test holds the mutex.
    unsafe { mutex.unlock() }
}

fn uncontended<T: Tests>() -> (u64, u64) {
    let mutex = leak::<T>();
    (rmws(mutex, || mutex.lock()), rmws(mutex, || release(mutex)))
}

#[test]
fn uncontended_pair_is_one_and_one() {
    assert_eq!(uncontended::<Before>(), (1, 1));
    assert_eq!(uncontended::<AfterDefault>(), (1, 1));
    assert_eq!(uncontended::<AfterX86>(), (1, 1));
}

/// A lock that is released at the `turns`th wait of a waiter whose owner is not known, so that
/// it attempts the word at each turn of the spin. Returns the operations of the waiter.
fn spin<T: Tests>(turns: u32) -> u64 {
    let mutex = leak::<T>();
    // Locked, no owner noted: the state between the exchange and the owner's note.
    mutex.lock();
    act_as(OWNER, || mutex.forget_owner());
    let left = Rc::new(Cell::new(turns));
    let script = move || {
        left.set(left.get() - 1);
        if left.get() == 0 {
            act_as(OWNER, || release(mutex));
        }
    };
    let n = on_wait(script, || rmws(mutex, || mutex.lock()));
    release(mutex);
    n
}

#[test]
fn each_spin_attempt_costs_one_before_and_none_after() {
    // The decrement of the fast path, `turns` attempts that fail, one that succeeds.
    for turns in 1..5 {
        assert_eq!(spin::<Before>(turns), 1 + u64::from(turns) + 1);
        assert_eq!(spin::<AfterDefault>(turns), 1 + 1);
        assert_eq!(spin::<AfterX86>(turns), 1 + 1);
    }
}

/// A waiter that queues (its owner runs on the waiter's CPU, so it does not spin) and is woken
/// `wakes` times; at the last the lock is free, before that a thief has taken it. `decrements`
/// other lockers have left the count so far below 0.
fn queue<T: Tests>(wakes: u32, decrements: u32) -> u64 {
    let mutex = leak::<T>();
    mutex.lock();
    for _ in 1..decrements {
        mutex.lower();
    }
    let left = Rc::new(Cell::new(wakes));
    let script = move || {
        left.set(left.get() - 1);
        act_as(OWNER, || {
            release(mutex);
            if left.get() > 0 {
                // The thief: 1 -> 0 hides the waiters.
                assert!(mutex.try_lock());
            }
        });
    };
    let n = on_wait(script, || rmws(mutex, || mutex.lock()));
    release(mutex);
    n
}

#[test]
fn queueing_costs_three_before_and_one_after() {
    // Decrement, first check, first turn; then the exchange of the wake-up that succeeds.
    assert_eq!(queue::<Before>(1, 1), 3 + 1);
    assert_eq!(queue::<AfterDefault>(1, 1), 1 + 1);
    assert_eq!(queue::<AfterX86>(1, 1), 1 + 1);
}

#[test]
fn only_any_negative_helps_where_the_count_is_below_minus_one() {
    // Two lockers below 0 already: the default test sees -2, not -1, and exchanges once; then
    // the word says -1.
    assert_eq!(queue::<Before>(1, 2), 3 + 1);
    assert_eq!(queue::<AfterDefault>(1, 2), 2 + 1);
    assert_eq!(queue::<AfterX86>(1, 2), 1 + 1);
}

#[test]
fn a_wake_up_that_lost_to_a_thief_must_publish_again() {
    // The thief's 0 hides the waiters: the exchange is needed in every version.
    assert_eq!(queue::<Before>(3, 1), 3 + 3);
    assert_eq!(queue::<AfterDefault>(3, 1), 1 + 3);
    assert_eq!(queue::<AfterX86>(3, 1), 1 + 3);
}

/// A wake-up for nothing: the lock is still held and the word shows the waiter.
fn spurious<T: Tests>(wakes: u32) -> u64 {
    let mutex = leak::<T>();
    mutex.lock();
    let left = Rc::new(Cell::new(wakes));
    let script = move || {
        left.set(left.get() - 1);
        if left.get() == 0 {
            act_as(OWNER, || release(mutex));
        }
    };
    let n = on_wait(script, || rmws(mutex, || mutex.lock()));
    release(mutex);
    n
}

#[test]
fn each_later_wake_up_costs_one_before_and_none_after() {
    for wakes in 1..5 {
        let wakes_64 = u64::from(wakes);
        assert_eq!(spurious::<Before>(wakes), 3 + wakes_64);
        assert_eq!(spurious::<AfterDefault>(wakes), 1 + 1);
        assert_eq!(spurious::<AfterX86>(wakes), 1 + 1);
    }
}

#[test]
fn slow_unlock_is_one_and_a_store() {
    fn one<T: Tests>() {
        let mutex = leak::<T>();
        mutex.lock();
        mutex.lower();
        let ops = ops_on(mutex.count(), || release(mutex));
        assert_eq!((ops.rmws, ops.stores), (1, 1));
        assert!(!mutex.is_locked());
    }
    one::<Before>();
    one::<AfterDefault>();
    one::<AfterX86>();
}
