//! `broken::NoRelease` for the model checker: exclusive, but without order between holders.
//!
//! Run with `RUSTFLAGS='--cfg loom' cargo test -p lockwright-contract --test loom_no_release`.
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{
    AtomicBool,
    Ordering::{self, Acquire, Relaxed, Release},
};
use loom::thread;

/// A test-and-set lock whose orderings are given, with the data it protects.
struct Model {
    held: AtomicBool,
    data: UnsafeCell<u32>,
    lock: Ordering,
    unlock: Ordering,
}

impl Model {
    /// One step under the lock. Gives up if the lock is held: whoever got it twice is enough.
    fn step(&self) {
        // Ordering: `self.lock`, paired with the store below; Relaxed on failure: a hint.
        if self.held.compare_exchange(false, true, self.lock, Relaxed).is_ok() {
            // SAFETY: the exchange made this thread the only holder. Whether that orders the
            // accesses is what loom checks; it reports a race instead of performing one.
            self.data.with_mut(|data| unsafe { *data += 1 });
            // Ordering: `self.unlock`, paired with the exchange above.
            self.held.store(false, self.unlock);
        }
    }
}

fn two_holders(lock: Ordering, unlock: Ordering) {
    loom::model(move || {
        let held = AtomicBool::new(false);
        let model = Arc::new(Model { held, data: UnsafeCell::new(0), lock, unlock });
        let other = thread::spawn({
            let model = model.clone();
            move || model.step()
        });
        model.step();
        other.join().unwrap();
    });
}

#[test]
fn acquire_and_release_order_the_holders() {
    two_holders(Acquire, Release);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_missing_release_is_caught_by_the_model() {
    two_holders(Acquire, Relaxed);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_missing_acquire_is_caught_by_the_model() {
    two_holders(Relaxed, Release);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn no_order_at_all_is_caught_by_the_model() {
    two_holders(Relaxed, Relaxed);
}
