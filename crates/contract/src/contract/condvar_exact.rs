//! What a condition variable must keep that promises no spurious wake-ups: it counts.

use super::{body, guarded};
use crate::scale::{Dice, rounds};
use crate::scene::{linger, until};
use crate::{AnyCondvar, TimedMutex};
use lock_api::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// Waiters that have come, and those whose wait ended by a notification or by time.
#[derive(Default)]
struct Counts {
    waiting: usize,
    notified: usize,
    timed_out: usize,
}

/// One notification, one wake-up, reported as such; without waiters none.
pub fn notify_one_wakes_exactly_one<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        let (counts, condvar) = (Mutex::<R, Counts>::new(Counts::default()), Condvar::<C>::new());
        let n = rounds(5, 3);
        assert!(!condvar.notify_one(), "nobody waits");
        thread::scope(|s| {
            for _ in 0..n {
                s.spawn(|| {
                    let mut counts = counts.lock();
                    counts.waiting += 1;
                    // Deliberately no loop: a spurious wake-up would be counted.
                    condvar.wait(&mut counts);
                    counts.notified += 1;
                });
            }
            until(|| counts.lock().waiting == n);
            for woken in 1..=n {
                assert!(condvar.notify_one(), "{} wait", n + 1 - woken);
                until(|| counts.lock().notified >= woken);
                linger(Duration::from_millis(10));
                assert_eq!(counts.lock().notified, woken, "nobody else woke");
            }
            assert!(!condvar.notify_one(), "all have gone");
        });
    });
}

/// `notify_all` wakes everybody and says how many that were.
pub fn notify_all_wakes_all_and_counts_them<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        for round in 0..rounds(30, 2) {
            let (counts, condvar) = (Mutex::<R, usize>::new(0), Condvar::<C>::new());
            let n = 1 + round % rounds(16, 4);
            assert_eq!(condvar.notify_all(), 0);
            thread::scope(|s| {
                for _ in 0..n {
                    s.spawn(|| {
                        let mut waiting = counts.lock();
                        *waiting += 1;
                        condvar.wait(&mut waiting);
                    });
                }
                until(|| *counts.lock() == n);
                if round % 2 == 0 {
                    assert_eq!(condvar.notify_all(), n);
                } else {
                    let _held = counts.lock();
                    assert_eq!(condvar.notify_all(), n);
                }
            });
            assert_eq!(condvar.notify_all(), 0);
        }
    });
}

/// A condition variable is no semaphore.
pub fn a_notification_before_the_wait_is_not_remembered<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        let (mutex, condvar) = (Mutex::<R, ()>::new(()), Condvar::<C>::new());
        for _ in 0..rounds(5, 2) {
            assert!(!condvar.notify_one());
            assert_eq!(condvar.notify_all(), 0);
            let mut guard = mutex.lock();
            assert!(condvar.wait_for(&mut guard, Duration::from_millis(5)).timed_out());
        }
    });
}

/// Timeouts race with `notify_one`: each call that said it woke somebody is a waiter that says
/// it was notified. A notification swallowed by a waiter that reports a timeout is lost to the
/// program.
pub fn timeouts_racing_with_notify_one_conserve_the_count<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        conserve_under_timeouts::<C, R>(|condvar| usize::from(condvar.notify_one()));
    });
}

/// The same for the number that `notify_all` returns.
pub fn timeouts_racing_with_notify_all_conserve_the_count<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || conserve_under_timeouts::<C, R>(|condvar| condvar.notify_all()));
}

fn conserve_under_timeouts<C: AnyCondvar<R>, R: TimedMutex>(notify: fn(&Condvar<C>) -> usize) {
    let (counts, condvar) = (Mutex::<R, Counts>::new(Counts::default()), Condvar::<C>::new());
    let (threads, waits) = (rounds(6, 2), rounds(1_500, 5));
    let mut woken = 0;
    thread::scope(|s| {
        for id in 0..threads {
            let (counts, condvar) = (&counts, &condvar);
            s.spawn(move || {
                let mut dice = Dice::new(id);
                let mut counts = counts.lock();
                for _ in 0..waits {
                    let patience = Duration::from_micros(dice.below(200));
                    if condvar.wait_for(&mut counts, patience).timed_out() {
                        counts.timed_out += 1;
                    } else {
                        counts.notified += 1;
                    }
                }
            });
        }
        let mut dice = Dice::new(threads);
        loop {
            {
                let counts = counts.lock();
                if counts.notified + counts.timed_out == threads * waits {
                    break;
                }
                if dice.below(2) == 0 {
                    woken += notify(&condvar);
                }
            }
            woken += notify(&condvar);
            linger(Duration::from_micros(dice.below(50)));
        }
    });
    assert_eq!(counts.into_inner().notified, woken, "notified waiters and notifications differ");
}
