//! What `Once` promises. Miri runs this file.
#![cfg(not(loom))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;

use lockwright::{Once, OnceState};

const THREADS: usize = if cfg!(miri) { 3 } else { 12 };
const ROUNDS: u32 = if cfg!(miri) { 5 } else { 500 };

#[test]
fn one_closure_of_many_runs_and_all_see_what_it_wrote() {
    for round in 1..=ROUNDS {
        let (once, ran, value) = (Once::new(), AtomicU32::new(0), AtomicU32::new(0));
        let start = Barrier::new(THREADS);
        thread::scope(|s| {
            for _ in 0..THREADS {
                s.spawn(|| {
                    start.wait();
                    once.call_once(|| {
                        ran.fetch_add(1, Relaxed);
                        value.store(round, Relaxed);
                    });
                    assert_eq!(value.load(Relaxed), round);
                });
            }
        });
        assert_eq!(ran.into_inner(), 1);
        assert_eq!(once.state(), OnceState::Done);
    }
}

#[test]
fn callers_wait_for_a_closure_that_takes_long() {
    let (once, done) = (Once::new(), AtomicBool::new(false));
    let (running, callers) = (Barrier::new(THREADS), AtomicU32::new(0));
    thread::scope(|s| {
        for _ in 1..THREADS {
            s.spawn(|| {
                running.wait();
                callers.fetch_add(1, Relaxed);
                once.call_once(|| unreachable!("another closure runs"));
                assert!(done.load(Relaxed));
            });
        }
        once.call_once(|| {
            assert_eq!(once.state(), OnceState::InProgress);
            running.wait();
            while callers.load(Relaxed) + 1 < THREADS as u32 {
                thread::yield_now();
            }
            (0..50).for_each(|_| thread::yield_now());
            done.store(true, Relaxed);
        });
    });
}

#[test]
fn who_waits_goes_on_when_a_closure_has_run() {
    let (once, done) = (Once::new(), AtomicBool::new(false));
    thread::scope(|s| {
        for force in [true, false] {
            let (once, done) = (&once, &done);
            s.spawn(move || {
                if force {
                    once.wait_force()
                } else {
                    once.wait()
                }
                assert!(done.load(Relaxed) && once.is_completed());
            });
        }
        (0..50).for_each(|_| thread::yield_now());
        once.call_once(|| done.store(true, Relaxed));
    });
}

#[test]
fn a_panic_poisons_until_a_forced_call_succeeds() {
    let once = Once::new();
    let fail = |f: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
    fail(&|| once.call_once(|| panic!("on purpose")));
    assert!(once.state().is_poisoned() && !once.is_completed());
    fail(&|| once.call_once(|| unreachable!("poisoned")));
    fail(&|| once.wait());
    fail(&|| {
        once.call_once_force(|state| {
            assert!(state.poisoned());
            panic!("on purpose");
        });
    });
    thread::scope(|s| {
        s.spawn(|| once.wait_force());
        once.call_once_force(|state| assert_eq!(state, OnceState::Poisoned));
    });
    assert!(once.state().is_completed() && once.state().done());
    once.call_once(|| unreachable!("it has run"));
}

/// All who wait for a closure that panics are told, none is left asleep.
#[test]
fn a_panic_is_told_to_all_who_wait() {
    let (once, running) = (Once::new(), Barrier::new(THREADS));
    thread::scope(|s| {
        for _ in 1..THREADS {
            s.spawn(|| {
                running.wait();
                assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(|| ()))).is_err());
            });
        }
        let first = catch_unwind(AssertUnwindSafe(|| {
            once.call_once(|| {
                running.wait();
                (0..50).for_each(|_| thread::yield_now());
                panic!("on purpose");
            });
        }));
        assert!(first.is_err());
    });
}

#[test]
fn what_begins_completed_runs_nothing() {
    static DONE: Once = Once::new_completed();
    DONE.call_once(|| unreachable!());
    DONE.call_once_force(|_| unreachable!());
    DONE.wait();
    assert_eq!(DONE.state(), OnceState::Done);
    assert_eq!(format!("{DONE:?}"), "Once { state: Done }");
    assert_eq!(size_of::<Once>(), 4);
}
