//! What fair unlock must keep: the lock goes to a waiter, not back to the unlocker.

use super::{body, demand, guarded};
use crate::scale::rounds;
use crate::scene::assert_usable;
use crate::{FairMutex, oracle};
use lock_api::{Mutex, MutexGuard};

/// A queued waiter is served by the next fair unlock. The bound leaves room for a waiter that
/// is still on its way into the queue; an unfair lock exceeds it a hundredfold.
const BOUND: u64 = 1_000;

/// With nobody waiting a fair unlock is an unlock.
pub fn a_fair_unlock_without_waiters_frees_the_lock<R: FairMutex>() {
    guarded::<R, _>(body!(), || {
        let lock = Mutex::<R, u32>::new(0);
        for _ in 0..rounds(100, 3) {
            MutexGuard::unlock_fair(lock.lock());
            assert_usable(&lock);
            let mut guard = lock.lock();
            MutexGuard::bump(&mut guard);
            assert!(lock.is_locked(), "bump returns with the lock held");
        }
        assert_usable(&lock);
    });
}

/// The unlocker asks again at once, in a loop; the waiter comes first nevertheless.
pub fn a_fair_unlock_serves_a_waiter_although_the_unlocker_loops<R: FairMutex>() {
    let test = body!();
    demand::<R, _>(test, guarded::<R, _>(test, || oracle::bounded_bypass_fair::<R>(BOUND)));
}

/// The same of a lock each of whose unlocks is fair.
pub fn a_plain_unlock_serves_a_waiter_although_the_unlocker_loops<R: FairMutex>() {
    let test = body!();
    demand::<R, _>(test, guarded::<R, _>(test, || oracle::bounded_bypass::<R>(BOUND)));
}

/// `bump` is a fair unlock and a lock: it lets the waiter through.
pub fn a_bump_serves_a_waiter_although_the_owner_loops<R: FairMutex>() {
    let test = body!();
    demand::<R, _>(test, guarded::<R, _>(test, || oracle::bounded_bypass_bump::<R>(BOUND)));
}

/// Fair unlocks, bumps and plain unlocks of one lock, mixed.
pub fn fair_and_plain_unlocks_mixed_keep_exclusion<R: FairMutex>() {
    let test = body!();
    let run = || {
        oracle::exclusion_by::<R>(rounds(6, 3), rounds(3_000, 8), |lock, dice| {
            let mut guard = lock.lock();
            let torn = oracle::step(&mut guard);
            match dice.below(3) {
                0 => drop(guard),
                1 => MutexGuard::unlock_fair(guard),
                _ => MutexGuard::bump(&mut guard),
            }
            torn
        })
    };
    demand::<R, _>(test, guarded::<R, _>(test, run));
}
