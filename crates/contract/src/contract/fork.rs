//! `fork` copies the locks and whatever they keep outside themselves, but only one thread. In
//! the child, a lock that nobody else held must work, alone and contended.

use super::{body, guarded};
use crate::AnyMutex;
use crate::os::{Ended, in_child, with_bare_threads};
use crate::scale::rounds;
use crate::scene::{Flag, Tally, announce_and_lock, assert_usable, hold_until_asked, linger};
use lock_api::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

/// How long a child may take before it counts as hung.
const LIMIT: Duration = Duration::from_secs(20);

/// Locks contended at the time of the fork, a thread that forks, and a free lock in the child.
pub fn a_child_locks_what_was_free_while_others_hold_and_wait<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        let free = Mutex::<R, usize>::new(0);
        let held = Mutex::<R, usize>::new(0);
        for _ in 0..rounds(5, 1) {
            let (asking, done) = (Tally::new(), Flag::new());
            thread::scope(|s| {
                s.spawn(|| {
                    let _guard = announce_and_lock(&asking, &held);
                    done.wait();
                });
                asking.wait_for(1);
                for _ in 0..6 {
                    s.spawn(|| *announce_and_lock(&asking, &held) += 1);
                }
                asking.wait_for(7);
                linger(Duration::from_millis(1));
                let ended = in_child(LIMIT, || child_uses(&free));
                done.raise();
                assert_eq!(ended, Ended::Code(0));
            });
            assert_usable(&held);
            assert_usable(&free);
        }
    });
}

/// The fork meets the other threads at any point of their lock and unlock calls. The child
/// leaves their lock alone and uses another.
pub fn a_child_locks_what_was_free_amid_a_storm<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        let (free, stormy) = (Mutex::<R, usize>::new(0), Mutex::<R, u64>::new(0));
        let done = Flag::new();
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    while !done.is_raised() {
                        *stormy.lock() += 1;
                    }
                });
            }
            let ended: Vec<_> =
                (0..rounds(20, 1)).map(|_| in_child(LIMIT, || child_uses(&free))).collect();
            done.raise();
            assert!(ended.iter().all(|&end| end == Ended::Code(0)), "{ended:?}");
        });
        assert_usable(&stormy);
    });
}

/// POSIX: a lock that another thread held stays held in the child; looking at it is harmless.
pub fn a_lock_that_another_thread_held_stays_held_in_the_child<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        let (lock, holding, done) = (Mutex::<R, usize>::new(0), Flag::new(), Flag::new());
        thread::scope(|s| {
            s.spawn(|| {
                let _guard = lock.lock();
                holding.raise();
                done.wait();
            });
            holding.wait();
            let ended = in_child(LIMIT, || {
                code_of(|| {
                    let barred = Flag::new();
                    let look = || {
                        if lock.try_lock().is_none() {
                            barred.raise();
                        }
                    };
                    with_bare_threads(1, &look, || ());
                    assert!(barred.is_raised());
                })
            });
            done.raise();
            assert_eq!(ended, Ended::Code(0));
        });
        assert_usable(&lock);
    });
}

/// What `pthread_atfork` handlers do: the forking thread holds the lock, others wait for it in
/// the parent, and the child releases it. There it must not be handed to a thread that does
/// not exist, but be free and usable.
pub fn a_forking_owner_may_unlock_in_the_child<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        for _ in 0..rounds(5, 1) {
            let (lock, asking) = (Mutex::<R, usize>::new(0), Tally::new());
            thread::scope(|s| {
                let held = lock.lock();
                for _ in 0..4 {
                    s.spawn(|| drop(announce_and_lock(&asking, &lock)));
                }
                asking.wait_for(4);
                linger(Duration::from_millis(10));
                let mut held = Some(held);
                let ended = in_child(LIMIT, || {
                    held = None;
                    child_uses(&lock)
                });
                drop(held);
                assert_eq!(ended, Ended::Code(0));
            });
            assert_usable(&lock);
        }
    });
}

/// In the child: the lock works alone, then with four threads. Returns the exit code.
fn child_uses<R: AnyMutex>(lock: &Mutex<R, usize>) -> i32 {
    code_of(|| {
        let before = *lock.lock();
        assert!(lock.try_lock().is_some());
        let asking = Tally::new();
        let held = lock.lock();
        let add = || {
            *announce_and_lock(&asking, lock) += 1;
            for _ in 0..200 {
                *lock.lock() += 1;
            }
        };
        with_bare_threads(4, &add, || {
            hold_until_asked(held, &asking, 4, Duration::from_millis(1));
        });
        assert_eq!(*lock.lock(), before + 4 * 201);
    })
}

/// 0 if `body` returns, 1 if it panics.
fn code_of(body: impl FnOnce()) -> i32 {
    catch_unwind(AssertUnwindSafe(body)).map_or(1, |()| 0)
}
