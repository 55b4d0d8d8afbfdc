//! What every condition variable must keep, whether or not it wakes spuriously.
//!
//! A waiter counts itself under the mutex before it waits. As the wait releases the mutex and
//! begins in one step, whoever holds the mutex and reads `n` knows that `n` threads wait.

use super::{body, guarded};
use crate::scale::rounds;
use crate::scene::{Flag, Tally, is_barred, linger, until};
use crate::{AnyCondvar, TimedMutex};
use lock_api::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

/// What the threads share: the permits that end a wait, and who has come and gone.
#[derive(Default)]
struct Hall {
    waiting: usize,
    permits: usize,
    gone: usize,
}

/// Starts `n` waiters that each need a permit, lets `notify` run when all wait, and returns
/// when all have gone.
fn waiters<C: AnyCondvar<R>, R: TimedMutex>(
    n: usize,
    notify: impl Fn(MutexGuard<'_, R, Hall>, &Condvar<C>, usize),
) {
    let (hall, condvar) = (Mutex::<R, Hall>::new(Hall::default()), Condvar::<C>::new());
    thread::scope(|s| {
        for _ in 0..n {
            s.spawn(|| {
                let mut hall = hall.lock();
                hall.waiting += 1;
                while hall.permits == 0 {
                    condvar.wait(&mut hall);
                }
                hall.permits -= 1;
                hall.gone += 1;
            });
        }
        until(|| hall.lock().waiting == n);
        for i in 0..n {
            notify(hall.lock(), &condvar, i);
        }
        until(|| hall.lock().gone == n);
    });
}

/// As many notifications as waiters, each with one permit, given with the mutex held and after
/// its release: nobody is forgotten.
pub fn every_notified_waiter_wakes<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        for round in 0..rounds(50, 2) {
            waiters::<C, R>(rounds(6, 3), |mut hall, condvar, i| {
                hall.permits += 1;
                if (round + i) % 2 == 0 {
                    condvar.notify_one();
                } else {
                    drop(hall);
                    condvar.notify_one();
                }
            });
        }
    });
}

/// One call ends 64 waits, with the mutex held by the notifier and free.
pub fn notify_all_with_64_waiters_completes<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        let n = rounds(64, 4);
        for round in 0..rounds(10, 2) {
            waiters::<C, R>(n, |mut hall, condvar, i| {
                if i > 0 {
                    return;
                }
                hall.permits = n;
                if round % 2 == 0 {
                    condvar.notify_all();
                } else {
                    drop(hall);
                    condvar.notify_all();
                }
            });
        }
    });
}

/// While a thread waits, the mutex is free for all others.
pub fn waiting_releases_the_mutex<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        waiters::<C, R>(1, |mut hall, condvar, _| {
            let mutex = MutexGuard::mutex(&hall);
            MutexGuard::unlocked(&mut hall, || {
                linger(Duration::from_millis(2));
                for _ in 0..10 {
                    drop(mutex.try_lock().expect("the only other thread waits"));
                }
            });
            hall.permits += 1;
            condvar.notify_one();
        });
    });
}

/// After a notified wait the waiter holds the mutex, and the guard is good for an unlock.
pub fn the_mutex_is_held_on_return_from_wait<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        for _ in 0..rounds(50, 3) {
            let (ready, condvar) = (Mutex::<R, bool>::new(false), Condvar::<C>::new());
            thread::scope(|s| {
                let mut guard = ready.lock();
                s.spawn(|| {
                    *ready.lock() = true;
                    condvar.notify_one();
                });
                while !*guard {
                    condvar.wait(&mut guard);
                    assert!(is_barred(&ready));
                }
            });
            assert!(ready.try_lock().is_some(), "and released once, by the guard");
        }
    });
}

/// After a wait that timed out the waiter holds the mutex, even if it must wait for it: the
/// timeout bounds the wait for the notification only.
pub fn the_mutex_is_held_on_return_from_a_timeout<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        for _ in 0..rounds(20, 2) {
            let (mutex, condvar) = (Mutex::<R, u32>::new(0), Condvar::<C>::new());
            let done = Flag::new();
            thread::scope(|s| {
                let mut guard = mutex.lock();
                s.spawn(|| {
                    // Comes in when the wait releases the mutex, and outstays the timeout.
                    let mut guard = mutex.lock();
                    linger(Duration::from_millis(3));
                    *guard += 1;
                    done.raise();
                });
                while *guard == 0 {
                    condvar.wait_for(&mut guard, Duration::from_millis(1));
                }
                assert!(done.is_raised());
                assert!(is_barred(&mutex));
            });
            assert!(mutex.try_lock().is_some());
        }
    });
}

/// `lock_api`: a timed-out wait must not return before its timeout. Without a notification only
/// the timeout or a spurious wake-up, which says so, ends it.
pub fn a_timed_out_wait_takes_its_full_time<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        let (mutex, condvar) = (Mutex::<R, ()>::new(()), Condvar::<C>::new());
        let mut guard = mutex.lock();
        for wait_us in [0, 50, 1_000, 20_000] {
            let wait = Duration::from_micros(wait_us);
            let start = Instant::now();
            while !condvar.wait_for(&mut guard, wait).timed_out() {}
            assert!(start.elapsed() >= wait);
            let until = Instant::now() + wait;
            while !condvar.wait_until(&mut guard, until).timed_out() {}
            assert!(Instant::now() >= until);
            assert!(is_barred(&mutex));
        }
    });
}

/// A deadline that has passed ends the wait at once, with the mutex held.
pub fn a_deadline_in_the_past_times_out<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        let past = Instant::now();
        linger(Duration::from_millis(1));
        let (mutex, condvar) = (Mutex::<R, ()>::new(()), Condvar::<C>::new());
        let mut guard = mutex.lock();
        for _ in 0..rounds(100, 3) {
            while !condvar.wait_until(&mut guard, past).timed_out() {}
            assert!(mutex.is_locked());
        }
        assert!(is_barred(&mutex));
    });
}

/// `wait_while` looks at the condition before it waits and after each wake-up; notifications
/// that do not end the condition do not end the wait.
pub fn wait_while_returns_when_the_condition_ends<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        let (level, condvar) = (Mutex::<R, u32>::new(0), Condvar::<C>::new());
        let goal = rounds(100, 5) as u32;
        thread::scope(|s| {
            s.spawn(|| {
                for _ in 0..goal {
                    *level.lock() += 1;
                    condvar.notify_one();
                }
            });
            let mut guard = level.lock();
            condvar.wait_while(&mut guard, |level| *level < goal);
            assert_eq!(*guard, goal);
            condvar.wait_while(&mut guard, |_| false);
        });
    });
}

/// `wait_while_for` reports a timeout while its condition holds, and none when it does not.
pub fn wait_while_for_times_out_while_the_condition_holds<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        let (mutex, condvar) = (Mutex::<R, u32>::new(0), Condvar::<C>::new());
        let mut guard = mutex.lock();
        let (short, long) = (Duration::from_millis(5), Duration::from_secs(60));
        assert!(condvar.wait_while_for(&mut guard, |_| true, short).timed_out());
        assert!(!condvar.wait_while_for(&mut guard, |_| false, long).timed_out());
        thread::scope(|s| {
            s.spawn(|| {
                *mutex.lock() = 1;
                condvar.notify_all();
            });
            assert!(!condvar.wait_while_for(&mut guard, |n| *n == 0, long).timed_out());
        });
        assert!(is_barred(&mutex));
    });
}

/// The classic: a bounded queue with two condition variables, eight producers and eight
/// consumers. Every item comes out once.
pub fn producers_and_consumers_conserve_items<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        const ROOM: usize = 4;
        let (sides, each) = (rounds(8, 2), rounds(1_000, 8));
        let queue = Mutex::<R, VecDeque<usize>>::new(VecDeque::new());
        let (filled, emptied) = (Condvar::<C>::new(), Condvar::<C>::new());
        let (taken, sum) = (Tally::new(), Mutex::<R, usize>::new(0));
        thread::scope(|s| {
            for producer in 0..sides {
                let (queue, filled, emptied) = (&queue, &filled, &emptied);
                let (taken, sum) = (&taken, &sum);
                s.spawn(move || {
                    for i in 0..each {
                        let mut queue = queue.lock();
                        emptied.wait_while(&mut queue, |queue| queue.len() == ROOM);
                        queue.push_back(producer * each + i);
                        filled.notify_one();
                    }
                });
                s.spawn(move || {
                    for _ in 0..each {
                        let mut queue = queue.lock();
                        filled.wait_while(&mut queue, |queue| queue.is_empty());
                        let item = queue.pop_front().expect("not empty under the mutex");
                        drop(queue);
                        emptied.notify_one();
                        taken.add();
                        *sum.lock() += item;
                    }
                });
            }
        });
        let n = sides * each;
        assert_eq!(taken.get(), n);
        assert_eq!(sum.into_inner(), n * (n - 1) / 2);
        assert!(queue.into_inner().is_empty());
    });
}

/// Used with one mutex, empty, and then with another: nothing of the first is remembered.
pub fn a_condvar_without_waiters_may_change_its_mutex<C: AnyCondvar<R>, R: TimedMutex>() {
    guarded::<C, _>(body!(), || {
        let condvar = Condvar::<C>::new();
        for round in 0..rounds(20, 2) {
            let ready = Mutex::<R, bool>::new(false);
            thread::scope(|s| {
                let mut guard = ready.lock();
                if round % 3 == 0 {
                    condvar.wait_for(&mut guard, Duration::from_micros(100));
                }
                s.spawn(|| {
                    *ready.lock() = true;
                    condvar.notify_all();
                });
                condvar.wait_while(&mut guard, |ready| !*ready);
            });
        }
    });
}
