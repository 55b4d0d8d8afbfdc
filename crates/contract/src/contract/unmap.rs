//! A lock in a page that its next owner unmaps: what C and C++ programs do when they free an
//! object under its own lock. After the release that lets the next owner in, unlock may touch
//! nothing of the lock.
//!
//! One thread holds the lock in a fresh page and releases it; another acquires it, blocked or
//! spinning, and takes the page away at once. A violation is a SIGSEGV: the test binary dies
//! with it; `--test-threads=1` shows which test it was, and keeps a run of 1e6 rounds short.

use super::body;
use crate::AnyMutex;
use crate::os::Arena;
use crate::scale::{Dice, unmap_liveness, unmap_rounds};
use crate::scene::until;
use crate::watchdog::guarded_for;
use lock_api::RawMutex;
use std::hint::spin_loop;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::thread;

/// How the next owner asks.
#[derive(Clone, Copy)]
enum Ask {
    Block,
    Spin,
}

/// What the last owner does before it unmaps.
#[derive(Clone, Copy)]
enum Before {
    Release,
    Nothing,
}

/// The next owner waits in `lock`, releases (the last user of the lock) and unmaps it.
pub fn a_blocked_next_owner_may_release_and_unmap<R: AnyMutex>() {
    run::<R>(body!(), &[Ask::Block], Before::Release);
}

/// The next owner spins on `try_lock`, so it gets in at the first instant the lock is free.
pub fn a_spinning_next_owner_may_release_and_unmap<R: AnyMutex>() {
    run::<R>(body!(), &[Ask::Spin], Before::Release);
}

/// A spinner overtakes a queued waiter, and whichever comes last unmaps: the first unlock may be
/// far into its search for that waiter when the others have come and gone.
pub fn the_last_of_three_owners_may_release_and_unmap<R: AnyMutex>() {
    run::<R>(body!(), &[Ask::Block, Ask::Spin], Before::Release);
}

/// The next owner unmaps what it holds, the instant it has it.
pub fn a_blocked_next_owner_may_unmap_while_holding<R: AnyMutex>() {
    run::<R>(body!(), &[Ask::Block], Before::Nothing);
}

/// The same for a spinning next owner: the shortest way from release to unmap.
pub fn a_spinning_next_owner_may_unmap_while_holding<R: AnyMutex>() {
    run::<R>(body!(), &[Ask::Spin], Before::Nothing);
}

fn run<R: AnyMutex>(test: &str, asks: &'static [Ask], before: Before) {
    guarded_for::<R, _>(unmap_liveness(), test, move || Rounds::<R>::run(asks, before));
}

/// What the threads share outside the page.
struct Rounds<R> {
    arena: Arena,
    /// How many threads ask in each round; the last of them to be served unmaps.
    askers: usize,
    /// The lock of the round, held by the first owner.
    lock: AtomicPtr<R>,
    /// Rounds whose lock has been published.
    begun: AtomicUsize,
    /// Announcements of threads that will ask, over all rounds.
    asked: AtomicUsize,
    /// Acquisitions of theirs, over all rounds.
    served: AtomicUsize,
    /// Rounds whose page is gone.
    unmapped: AtomicUsize,
}

impl<R: AnyMutex> Rounds<R> {
    fn run(asks: &[Ask], before: Before) {
        let zero = || AtomicUsize::new(0);
        let shared = Rounds::<R> {
            // Many pages, so that the kernel's lists of them do not stay warm in one place.
            arena: Arena::reserve(512),
            askers: asks.len(),
            lock: AtomicPtr::new(ptr::null_mut()),
            begun: zero(),
            asked: zero(),
            served: zero(),
            unmapped: zero(),
        };
        thread::scope(|s| {
            for &ask in asks {
                let shared = &shared;
                s.spawn(move || shared.next_owner(ask, before));
            }
            shared.first_owner();
        });
        assert_eq!(shared.unmapped.into_inner(), unmap_rounds());
    }

    fn first_owner(&self) {
        let mut dice = Dice::new(0);
        for round in 0..unmap_rounds() {
            let lock = self.arena.place(round, R::INIT);
            // SAFETY: the page stays mapped until all askers had the lock, which they cannot
            // have before the unlock below; `lock` and `unlock` are a pair of this thread.
            // That `unlock` uses nothing of the lock after the release is what is tested.
            unsafe {
                let guard = lock.as_ref().lock();
                self.lock.store(lock.as_ptr(), SeqCst);
                self.begun.store(round + 1, SeqCst);
                until(|| self.asked.load(SeqCst) == (round + 1) * self.askers);
                pause(round, &mut dice);
                lock.as_ref().unlock(guard);
            }
            until(|| self.unmapped.load(SeqCst) > round);
        }
    }

    fn next_owner(&self, ask: Ask, before: Before) {
        for round in 0..unmap_rounds() {
            until(|| self.begun.load(SeqCst) > round);
            let lock = self.lock.load(SeqCst);
            self.asked.fetch_add(1, SeqCst);
            // SAFETY: the last thread served unmaps the page, after its own last use of the
            // lock; the unlocks of earlier owners may not use it either once another has it.
            unsafe {
                let guard = take(&*lock, ask);
                let last = self.served.fetch_add(1, SeqCst) + 1 == (round + 1) * self.askers;
                match before {
                    Before::Nothing if last => mem::forget(guard),
                    _ => (*lock).unlock(guard),
                }
                if last {
                    self.arena.unmap(round);
                    self.unmapped.store(round + 1, SeqCst);
                }
            }
        }
    }
}

/// Mostly a pause so short that the next owner meets the unlock on its way into the queue;
/// every 32nd round one so long that it sleeps.
fn pause(round: usize, dice: &mut Dice) {
    if round.is_multiple_of(32) {
        thread::sleep(std::time::Duration::from_micros(40 + dice.below(100)));
        return;
    }
    for _ in 0..dice.below(300) {
        spin_loop();
    }
}

fn take<R: RawMutex>(lock: &R, ask: Ask) -> R::Guard {
    if let Ask::Block = ask {
        return lock.lock();
    }
    let mut turns = 0_u32;
    loop {
        if let Some(guard) = lock.try_lock() {
            return guard;
        }
        spin_loop();
        turns += 1;
        if turns.is_multiple_of(2_000) {
            // On one CPU the first owner needs it to get to its unlock.
            thread::yield_now();
        }
    }
}
