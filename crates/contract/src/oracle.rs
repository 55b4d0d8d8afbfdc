//! The judgements on a lock, as functions that return what they found.
//!
//! The contract turns a [`Violation`] into a failed test; the tests of [`crate::broken`]
//! demand one. All oracles are one-sided: a violation is certain (up to the stated bound), its
//! absence is only what these runs saw.

use crate::scale::{Dice, rounds};
use crate::scene::{Flag, Tally, announce_and_lock, hold_until_asked, linger};
use crate::watchdog::finished_within;
use crate::{AnyMutex, FairMutex, TimedMutex};
use lock_api::{Mutex, MutexGuard};
use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// What an oracle found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The two counters that the lock protects disagreed while it was held, or lost steps.
    Exclusion {
        /// Steps that all threads made together.
        expected: u64,
        /// The counters at the end.
        found: (u64, u64),
        /// How often a holder saw them differ.
        torn: u64,
    },
    /// A thread that asked was not served although the lock was released.
    Stuck {
        /// How long the holder held on after the thread announced that it would ask.
        held_for: Duration,
        /// How long the oracle waited after the release.
        limit: Duration,
    },
    /// A queued thread was overtaken more often than the bound allows.
    Bypass {
        /// Acquisitions of the looping thread while the other waited, per round.
        seen: Vec<u64>,
        /// The bound asked for.
        bound: u64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Exclusion { expected, found, torn } => write!(
                f,
                "mutual exclusion: counters {found:?} after {expected} steps, seen unequal \
                 {torn} times"
            ),
            Violation::Stuck { held_for, limit } => write!(
                f,
                "progress: a thread that asked {held_for:?} before the release was not served \
                 within {limit:?} after it"
            ),
            Violation::Bypass { seen, bound } => {
                write!(f, "bounded bypass: overtaken {seen:?} times (per round), bound {bound}")
            }
        }
    }
}

/// The pair that only its lock keeps equal: plain words, so that Miri and ThreadSanitizer see
/// a missing ordering, and lost updates show without them.
pub(crate) type Pair = (u64, u64);

/// One step under the lock; returns whether the pair was unequal before it.
///
/// Every 64th step offers the CPU in the middle, so that a second holder would get in even on
/// one CPU.
pub(crate) fn step(pair: &mut Pair) -> bool {
    let torn = pair.0 != pair.1;
    let first = std::hint::black_box(pair.0) + 1;
    pair.0 = first;
    if first.is_multiple_of(64) {
        thread::yield_now();
    }
    pair.1 = std::hint::black_box(pair.1) + 1;
    torn
}

/// Mutual exclusion: `threads` threads step a pair of plain counters `steps` times each.
///
/// Must not be called for a lock that may hang; then the oracle to ask is [`progress`].
///
/// # Errors
///
/// [`Violation::Exclusion`] if a holder saw the counters differ or a step was lost.
pub fn exclusion<R: AnyMutex>(threads: usize, steps: usize) -> Result<(), Violation> {
    exclusion_by::<R>(threads, steps, |lock, _| step(&mut lock.lock()))
}

/// As [`exclusion`], with each step done by `one_step(lock, dice)`, which says whether it saw
/// the pair unequal.
pub(crate) fn exclusion_by<R: AnyMutex>(
    threads: usize,
    steps: usize,
    one_step: impl Fn(&Mutex<R, Pair>, &mut Dice) -> bool + Sync,
) -> Result<(), Violation> {
    let lock = Mutex::<R, Pair>::new((0, 0));
    let start = Flag::new();
    let torn = thread::scope(|s| {
        let worker = |id| {
            let (lock, start, one_step) = (&lock, &start, &one_step);
            move || {
                let mut dice = Dice::new(id);
                start.wait();
                (0..steps).filter(|_| one_step(lock, &mut dice)).count() as u64
            }
        };
        let workers: Vec<_> = (0..threads).map(|id| s.spawn(worker(id))).collect();
        start.raise();
        workers.into_iter().map(|w| w.join().expect("a stepping thread panicked")).sum::<u64>()
    });
    let expected = (threads * steps) as u64;
    let found = lock.into_inner();
    if torn == 0 && found == (expected, expected) {
        Ok(())
    } else {
        Err(Violation::Exclusion { expected, found, torn })
    }
}

/// Progress: a thread asks while the lock is held; the holder releases it once and never comes
/// back, so nothing but that release can serve the waiter. Repeated for several hold times, so
/// that the release meets the waiter before, while and after it goes to sleep.
///
/// On a violation the waiting thread is left behind.
///
/// # Errors
///
/// [`Violation::Stuck`] if the waiter was not served within `limit` of the release.
pub fn progress<R: AnyMutex>(limit: Duration) -> Result<(), Violation> {
    const HOLD_US: [u64; 8] = [0, 5, 20, 50, 200, 1_000, 5_000, 20_000];
    for round in 0..rounds(48, 4) {
        let held_for = Duration::from_micros(HOLD_US[round % HOLD_US.len()]);
        let lock = Arc::new(Mutex::<R, ()>::new(()));
        let asking = Arc::new(Tally::new());
        let held = lock.lock();
        let served = {
            let (lock, asking) = (lock.clone(), asking.clone());
            thread::spawn(move || drop(announce_and_lock(&asking, &lock)))
        };
        hold_until_asked(held, &asking, 1, held_for);
        if cfg!(miri) {
            served.join().expect("the waiter panicked");
        } else if finished_within(limit, || served.join()).is_none() {
            return Err(Violation::Stuck { held_for, limit });
        }
    }
    Ok(())
}

/// The baton: the release comes just when the first waiter's time is up. Whichever wins, the
/// patient waiter behind it must be served: who leaves the queue passes on the wake-up that it
/// may have got.
///
/// On a violation the waiting thread is left behind.
///
/// # Errors
///
/// [`Violation::Stuck`] if the patient waiter was not served within `limit` of the release.
pub fn baton<R: TimedMutex>(limit: Duration) -> Result<(), Violation> {
    let mut dice = Dice::new(0);
    for _ in 0..rounds(400, 5) {
        let lock = Arc::new(Mutex::<R, ()>::new(()));
        let asking = Arc::new(Tally::new());
        let patience = Duration::from_micros(50 + dice.below(200));
        let held_for = patience / 2 + Duration::from_micros(dice.below(200));
        let held = lock.lock();
        let impatient = {
            let (lock, asking) = (lock.clone(), asking.clone());
            thread::spawn(move || {
                asking.add();
                drop(lock.try_lock_for(patience));
            })
        };
        asking.wait_for(1);
        let patient = {
            let (lock, asking) = (lock.clone(), asking.clone());
            thread::spawn(move || drop(announce_and_lock(&asking, &lock)))
        };
        hold_until_asked(held, &asking, 2, held_for);
        let gone = move || (impatient.join(), patient.join());
        if cfg!(miri) {
            let (first, second) = gone();
            first.and(second).expect("a waiter panicked");
        } else if finished_within(limit, gone).is_none() {
            return Err(Violation::Stuck { held_for, limit });
        }
        if lock.try_lock().is_none() {
            return Err(Violation::Stuck { held_for, limit: Duration::ZERO });
        }
    }
    Ok(())
}

/// Bounded bypass: while one thread releases and retakes the lock in a tight loop, another asks;
/// the looping thread may take it at most `bound` times before the other has it.
///
/// The count starts when the other announced itself and had 20 ms to queue. A majority of the
/// rounds decides, since a waiter that is descheduled before it queues is nobody's fault.
/// The loop gives up soon after the bound, so a broken lock does not hang.
///
/// # Errors
///
/// [`Violation::Bypass`] with the counts, if more than half of the rounds exceed the bound.
pub fn bounded_bypass<R: AnyMutex>(bound: u64) -> Result<Vec<u64>, Violation> {
    bypass_of::<R>(bound, |held, lock| {
        drop(held);
        lock.lock()
    })
}

/// [`bounded_bypass`] of a loop that releases with `unlock_fair`.
///
/// # Errors
///
/// As [`bounded_bypass`].
pub fn bounded_bypass_fair<R: FairMutex>(bound: u64) -> Result<Vec<u64>, Violation> {
    bypass_of::<R>(bound, |held, lock| {
        MutexGuard::unlock_fair(held);
        lock.lock()
    })
}

/// [`bounded_bypass`] of a loop that calls `bump`.
///
/// # Errors
///
/// As [`bounded_bypass`].
pub fn bounded_bypass_bump<R: FairMutex>(bound: u64) -> Result<Vec<u64>, Violation> {
    bypass_of::<R>(bound, |mut held, _| {
        MutexGuard::bump(&mut held);
        held
    })
}

type Retake<R> = for<'a> fn(MutexGuard<'a, R, ()>, &'a Mutex<R, ()>) -> MutexGuard<'a, R, ()>;

fn bypass_of<R: AnyMutex>(bound: u64, retake: Retake<R>) -> Result<Vec<u64>, Violation> {
    let seen: Vec<u64> = (0..rounds(5, 1)).map(|_| bypasses(bound, retake)).collect();
    let over = seen.iter().filter(|&&n| n > bound).count();
    if over * 2 > seen.len() { Err(Violation::Bypass { seen, bound }) } else { Ok(seen) }
}

/// Acquisitions of the looping thread before the waiter had the lock; `bound + 1` at most.
fn bypasses<R: AnyMutex>(bound: u64, retake: Retake<R>) -> u64 {
    let lock = Mutex::<R, ()>::new(());
    let asking = Tally::new();
    let served = Flag::new();
    let mut held = lock.lock();
    thread::scope(|s| {
        s.spawn(|| {
            let _guard = announce_and_lock(&asking, &lock);
            served.raise();
        });
        asking.wait_for(1);
        linger(Duration::from_millis(20));
        let mut taken = 0;
        while !served.is_raised() && taken <= bound {
            held = retake(held, &lock);
            if !served.is_raised() {
                taken += 1;
            }
        }
        drop(held);
        taken
    })
}
