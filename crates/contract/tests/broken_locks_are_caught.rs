//! Every broken lock is condemned by its oracle, every run; and the oracles acquit good locks.
//!
//! A test here fails when the harness does not see the defect.

use lockwright_contract::oracle;
#[cfg(not(miri))]
use lockwright_contract::oracle::Violation;
use lockwright_contract::reference::Futex;
#[cfg(not(miri))]
use lockwright_contract::{AnyMutex, broken};
use parking_lot::RawMutex;
use std::time::Duration;

/// How long a stuck waiter is given here. Too short would only make a good lock look bad, and
/// none of the locks condemned here is good.
#[cfg(not(miri))]
const SHORT: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(30);

#[test]
fn the_oracles_acquit_good_locks() {
    assert_eq!(oracle::exclusion::<RawMutex>(4, if cfg!(miri) { 20 } else { 5_000 }), Ok(()));
    assert_eq!(oracle::exclusion::<Futex>(4, if cfg!(miri) { 20 } else { 5_000 }), Ok(()));
    assert_eq!(oracle::progress::<RawMutex>(LONG), Ok(()));
    assert_eq!(oracle::progress::<Futex>(LONG), Ok(()));
    assert_eq!(oracle::baton::<RawMutex>(LONG), Ok(()));
    assert_eq!(oracle::baton::<Futex>(LONG), Ok(()));
    let bypasses = oracle::bounded_bypass_fair::<RawMutex>(1_000);
    assert!(bypasses.is_ok(), "{bypasses:?}");
}

#[cfg(not(miri))]
#[test]
fn no_exclusion_is_caught_by_the_exclusion_oracle() {
    let verdict = oracle::exclusion::<broken::NoExclusion>(4, 20_000);
    assert!(matches!(verdict, Err(Violation::Exclusion { .. })), "{verdict:?}");
}

#[cfg(not(miri))]
fn assert_stuck<R: AnyMutex>() {
    let verdict = oracle::progress::<R>(SHORT);
    assert!(matches!(verdict, Err(Violation::Stuck { .. })), "{verdict:?}");
}

#[cfg(not(miri))]
#[test]
fn a_lost_wakeup_is_caught_by_the_progress_oracle() {
    assert_stuck::<broken::LostWakeup>();
}

#[cfg(not(miri))]
#[test]
fn a_handoff_that_nobody_may_take_is_caught_by_the_progress_oracle() {
    assert_stuck::<broken::HandoffNobodyMayTake>();
}

#[cfg(not(miri))]
#[test]
fn a_missing_heavy_fence_with_a_delayed_unlocking_store_is_caught() {
    assert_stuck::<broken::MissingHeavyFenceAtUnlock>();
}

#[cfg(not(miri))]
#[test]
fn a_missing_heavy_fence_with_a_delayed_sleep_flag_is_caught() {
    assert_stuck::<broken::MissingHeavyFenceAtWait>();
}

/// The fault injection itself breaks nothing: with the fence both variants are live.
#[cfg(not(miri))]
#[test]
fn the_heavy_fence_survives_the_same_faults() {
    assert_eq!(oracle::progress::<broken::WithHeavyFenceAtUnlock>(LONG), Ok(()));
    assert_eq!(oracle::progress::<broken::WithHeavyFenceAtWait>(LONG), Ok(()));
}

#[cfg(not(miri))]
#[test]
fn a_swallowed_baton_is_caught_by_the_baton_oracle() {
    let verdict = oracle::baton::<broken::SwallowedBaton>(SHORT);
    assert!(matches!(verdict, Err(Violation::Stuck { .. })), "{verdict:?}");
    // Without timeouts the lock is live: the defect is in giving up.
    assert_eq!(oracle::progress::<broken::SwallowedBaton>(LONG), Ok(()));
}

#[cfg(not(miri))]
#[test]
fn a_swallowed_notification_is_caught_by_the_condvar_contract() {
    use lockwright_contract::contract::{condvar, condvar_exact};
    type Culprit = broken::SwallowedNotification;
    let caught = std::panic::catch_unwind(|| {
        condvar_exact::timeouts_racing_with_notify_one_conserve_the_count::<Culprit, Futex>();
    });
    let payload = caught.expect_err("the contract must see a lost notification");
    let text = payload.downcast_ref::<String>().expect("a panic with a message");
    assert!(text.contains("notified waiters and notifications differ"), "{text}");
    // Without timeouts it is a good condition variable.
    condvar_exact::notify_one_wakes_exactly_one::<Culprit, Futex>();
    condvar::producers_and_consumers_conserve_items::<Culprit, Futex>();
}

/// The violation kills the process, so it is a child that runs the contract.
#[cfg(not(miri))]
#[test]
fn a_touch_after_release_dies_in_the_unmap_contract() {
    use lockwright_contract::contract::unmap;
    use lockwright_contract::os::{Ended, in_child};
    let bodies = [
        unmap::a_blocked_next_owner_may_release_and_unmap::<broken::TouchAfterRelease>,
        unmap::a_spinning_next_owner_may_release_and_unmap::<broken::TouchAfterRelease>,
        unmap::a_blocked_next_owner_may_unmap_while_holding::<broken::TouchAfterRelease>,
        unmap::a_spinning_next_owner_may_unmap_while_holding::<broken::TouchAfterRelease>,
    ];
    for body in bodies {
        let ended = in_child(LONG, || {
            body();
            0
        });
        assert_eq!(ended, Ended::Signal(11), "11 is SIGSEGV");
    }
}

#[cfg(not(miri))]
#[test]
fn an_unfair_handoff_is_caught_by_the_bypass_oracle() {
    for verdict in [
        oracle::bounded_bypass_fair::<broken::UnfairHandoff>(1_000),
        oracle::bounded_bypass_bump::<broken::UnfairHandoff>(1_000),
        oracle::bounded_bypass::<broken::UnfairHandoff>(1_000),
    ] {
        assert!(matches!(verdict, Err(Violation::Bypass { .. })), "{verdict:?}");
    }
}

/// Exclusive and live, so no other oracle may blame it: an oracle answers its own question.
#[cfg(not(miri))]
#[test]
fn an_unfair_handoff_is_exclusive_and_live() {
    assert_eq!(oracle::exclusion::<broken::UnfairHandoff>(2, 500), Ok(()));
    assert_eq!(oracle::progress::<broken::UnfairHandoff>(LONG), Ok(()));
}
