//! The store-load race of `broken::HeavyFence`, for the model checker: both fences are needed,
//! and the checker finds the lost wake-up when either is missing.
//!
//! Run with `RUSTFLAGS='--cfg loom' cargo test -p lockwright-contract --test loom_heavy_fence`.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    fence,
};
use loom::thread;

/// The two words of the race: is the lock held, does somebody sleep.
struct Words {
    held: AtomicBool,
    asleep: AtomicBool,
}

/// The owner releases and looks for sleepers, the waiter announces sleep and looks at the lock.
/// Panics in the schedule in which the waiter sleeps and the owner does not know.
///
/// Natively the owner's fence is a compiler fence and the waiter's `membarrier`; the model has
/// only sequentially consistent fences, which order no less than that pair.
fn race(owner_fence: bool, waiter_fence: bool) {
    loom::model(move || {
        let words = Arc::new(Words { held: AtomicBool::new(true), asleep: AtomicBool::new(false) });
        let owner = thread::spawn({
            let words = words.clone();
            move || {
                // Ordering: Release, as an unlock; paired with the waiter's second look.
                words.held.store(false, Release);
                if owner_fence {
                    // Ordering: SeqCst: store `held` before load `asleep`; the waiter's fence
                    // stands between store `asleep` and load `held`.
                    fence(SeqCst);
                }
                // Ordering: Relaxed, fenced by the fence above.
                words.asleep.load(Relaxed)
            }
        });
        // Ordering: Relaxed, fenced by the fence below.
        words.asleep.store(true, Relaxed);
        if waiter_fence {
            // Ordering: SeqCst: store `asleep` before load `held`; see the owner's fence.
            fence(SeqCst);
        }
        // Ordering: Acquire, as a lock; paired with the owner's release.
        let sleeps = words.held.load(Acquire);
        let wakes = owner.join().unwrap();
        assert!(!sleeps || wakes, "lost wake-up: the waiter sleeps and the owner saw nobody");
    });
}

#[test]
fn no_wakeup_is_lost_with_both_fences() {
    race(true, true);
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn a_missing_heavy_fence_is_caught_by_the_model() {
    race(true, false);
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn a_missing_light_fence_is_caught_by_the_model() {
    race(false, true);
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn two_missing_fences_are_caught_by_the_model() {
    race(false, false);
}
