//! Running something once under the model checker: it runs once, what it wrote is seen, and every
//! waiter is woken.
#![cfg(loom)]

mod support;

use lockwright_locks::once::{OnceState, RawOnce};
use lockwright_model::Model;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use support::{at_night, model, together};

struct Shared {
    once: RawOnce<Model>,
    value: UnsafeCell<u32>,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Shared { once: RawOnce::new(), value: UnsafeCell::new(0) })
    }

    /// Makes the attempt if it is to be made; whether the caller made it.
    fn run(&self, despite_poison: bool, succeed: bool) -> Result<OnceState, OnceState> {
        let right = self.once.begin(despite_poison)?;
        self.value.with_mut(|value| unsafe { *value += 1 });
        unsafe { self.once.end(succeed) };
        Ok(right)
    }

    fn value(&self) -> u32 {
        self.value.with(|value| unsafe { *value })
    }
}

fn try_once(shared: &Shared) -> bool {
    let ran = shared.run(false, true).is_ok();
    assert_eq!(shared.value(), 1);
    ran
}

#[test]
fn one_of_two_runs_it_and_both_see_it() {
    model(None, || {
        let ran = together(&Shared::new(), &[try_once, try_once]);
        assert_eq!(ran.iter().filter(|&&ran| ran).count(), 1);
    });
}

#[test]
fn one_of_three_runs_it_and_all_see_it() {
    model(Some(2), || {
        let ran = together(&Shared::new(), &[try_once, try_once, try_once]);
        assert_eq!(ran.iter().filter(|&&ran| ran).count(), 1);
    });
}

fn wait(shared: &Shared) -> bool {
    assert!(shared.once.wait(true));
    assert!(shared.value() > 0);
    false
}

/// A waiter that came before anybody tried, or later.
#[test]
fn who_waits_sees_it_done() {
    model(None, || _ = together(&Shared::new(), &[try_once, wait]));
}

#[test]
fn two_waiters_are_both_woken() {
    model(Some(1), || _ = together(&Shared::new(), &[try_once, wait, wait]));
}

/// A look that finds it done needs nothing else to see what was written.
#[test]
fn a_look_at_done_sees_what_was_written() {
    let look = |shared: &Shared| {
        let done = shared.once.is_done();
        if done {
            assert_eq!(shared.value(), 1);
        }
        done
    };
    let seen = std::sync::Arc::new(AtomicBool::new(false));
    let see = seen.clone();
    model(None, move || {
        let looks = together(&Shared::new(), &[try_once, look]);
        see.fetch_or(looks[1], Relaxed);
    });
    assert!(seen.load(Relaxed), "no execution has a look after the end");
}

fn fail(shared: &Shared) -> bool {
    shared.run(true, false).is_ok()
}

/// The attempt after a failed one is told so, and sees what that wrote.
fn repair(shared: &Shared) -> bool {
    match shared.run(true, true) {
        Ok(OnceState::Poisoned) => assert_eq!(shared.value(), 2),
        Ok(state) => assert_eq!((state, shared.value()), (OnceState::New, 1)),
        Err(_) => unreachable!("the other attempt fails"),
    }
    true
}

#[test]
fn a_failed_attempt_is_followed_by_another() {
    model(None, || _ = together(&Shared::new(), &[fail, repair]));
}

/// The attempt comes after two failed ones, of which it saw the first only before it began.
#[test]
fn an_attempt_sees_what_the_last_failed_one_wrote() {
    let last = |shared: &Shared| {
        shared.once.begin(true).expect("the others fail");
        let value = shared.value();
        unsafe { shared.once.end(false) };
        value < 3
    };
    model(Some(2), move || _ = together(&Shared::new(), &[last, fail, fail]));
}

#[test]
fn who_waits_outlasts_a_failed_attempt() {
    model(at_night(1, 0), || _ = together(&Shared::new(), &[fail, repair, wait]));
}
