//! Passing the lock on: requests for a hand-off, the hand-off itself, and the slices at whose end
//! the owner is asked for one. Edges: see the parent module.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Me, Platform, Shield, Until, Word};

use super::slow::First;
use super::{Policy, RawMutex};
use crate::events::{Event, inc};
use crate::record::{Guarded, Record, ctl, my_state, state, waiter_state};

/// How long an unlock waits for the guard, to pass the lock on.
const HANDOFF_GUARD_NS: u64 = 2_000;

impl<P: Platform, W: Policy> RawMutex<P, W> {
    /// Asks for a hand-off at the next unlock.
    pub(super) fn ask(&self, first: &mut First) {
        if !first.asked {
            first.asked = true;
            inc::<P>(Event::MutexHandoffAsked);
        }
        // Again at each turn: a hand-off to another may have taken the flag down.
        // Ordering: Relaxed, hint (re-checked by the next unlock)
        if self.ctl.load(Relaxed) & ctl::HANDOFF == 0 {
            // Ordering: Release, [mutex.ask]: pairs with the loads in unlock()
            self.ctl.fetch_or(ctl::HANDOFF, Release);
        }
    }

    /// Spins for a hand-off that was asked for, or for the lock if it comes free.
    pub(super) fn await_grant(&self, me: &Me<P>, record: Record<P>) -> bool {
        let granted = my_state(me);
        let until = Until {
            resched: true,
            ..Until::CHANGED.deadline(P::ticks() + P::ticks_of(W::SPIN_NS))
        };
        let mine = (granted, u32::MAX, state::WAITING);
        // Ordering: Relaxed, hint (wait_queued looks again, with Acquire) (block)
        if W::ATOMIC_UNLOCK {
            P::spin_while2(mine, (&self.ctl, ctl::LOCKED, ctl::LOCKED), Relaxed, until);
        } else {
            P::spin_while2(mine, (&self.locked, u8::MAX, 1), Relaxed, until);
        }

        // Ordering: Relaxed, hint (wait_queued looks again, with Acquire)
        granted.load(Relaxed) == state::WAITING
            && self.try_acquire()
            && self.leave_queue(me, record)
    }

    /// What is left of a slice, in ticks. A slice that has more left than slices last is over: the
    /// counter has gone backwards (another machine, a long sleep).
    pub(super) fn slice_left(end: u64) -> Option<u64> {
        let left = end.wrapping_sub(P::ticks());
        let running = W::SLICES && end != 0 && left != 0 && left <= P::ticks_of(W::SLICE_NS);
        running.then_some(left)
    }

    /// Starts a slice, unless one runs and `anew` is not set.
    pub(super) fn begin_slice(guarded: &Guarded<P>, anew: bool) {
        let record = guarded.record();
        // Ordering: Relaxed, hint (read as hints outside the guard) (block)
        if anew || record.slice_end().load(Relaxed) == 0 {
            let waiters = u64::from(record.length().load(Relaxed)).max(1);
            let ns = W::SLICE_NS.min((W::ROUND_NS / waiters).max(W::SLICE_MIN_NS));
            record.slice_end().store(P::ticks() + P::ticks_of(ns), Relaxed);
        }
    }

    /// The owner's look at its slice, at every so many acquisitions.
    #[cold]
    pub(super) fn check_slice(&self) {
        // Ordering: Acquire, [record.attach]: the record's words are looked at
        let Some(id) = ctl::record(self.ctl.load(Acquire)) else {
            return;
        };
        let record = Record::<P>::at(id);
        // Ordering: Relaxed, hint (what the policy goes by)
        let slice_end = record.slice_end().load(Relaxed);
        if slice_end == 0 || Self::slice_left(slice_end).is_some() {
            return;
        }
        let over = P::ticks().wrapping_sub(slice_end);
        if over < P::ticks_of(W::SLICE_GRACE_NS) {
            return;
        }
        let Some(first) = record.first() else {
            return;
        };
        if over < P::ticks_of(2 * W::SLICE_GRACE_NS) {
            P::unpark(first);
        } else {
            // Ordering: Release, [mutex.ask]: the owner's own unlock reads it
            self.ctl.fetch_or(ctl::HANDOFF, Release);
            inc::<P>(Event::MutexHandoffAsked);
        }
    }

    /// The first waiter has taken the lock: leaves the queue. The next first must be woken by
    /// our unlock, since it sleeps and nobody asked in its name.
    pub(super) fn leave_queue(&self, me: &Me<P>, record: Record<P>) -> bool {
        let guarded = record.acquire(Some(me));
        guarded.remove(me.slot());
        // Ordering: Relaxed, hint (requests only: own unlock reads them, and the hand-off request
        // was this waiter's)
        self.ctl.fetch_and(!(ctl::HANDOFF | ctl::WAKE), Relaxed);
        if guarded.first().is_some() {
            // Ordering: Release, [mutex.ask]: publishes the queue to the unlock that sees it
            self.ctl.fetch_or(ctl::WAKE, Release);
        }
        guarded.leave(&self.ctl);
        self.locked_from_queue()
    }

    /// The lock was passed to this waiter, which is out of the queue already.
    pub(super) fn take_over(&self, me: &Me<P>, record: Record<P>) -> bool {
        // Ordering: Relaxed, owner-only (granted: nobody else writes it)
        my_state(me).store(state::IDLE, Relaxed);
        let guarded = record.acquire(Some(me));
        let next = guarded.first();
        // Ordering: Relaxed, sequence (inside the guard, [record.guard])
        let slices = W::SLICES && record.slice_end().load(Relaxed) != 0;
        if slices {
            Self::begin_slice(&guarded, true);
        } else if next.is_some() {
            // Ordering: Release, [mutex.ask]: publishes the queue to the unlock that sees it
            self.ctl.fetch_or(ctl::WAKE, Release);
        }
        guarded.leave(&self.ctl);
        if let Some(next) = next
            && slices
        {
            // Inside the section: woken by our first unlock, it would find the lock free and the
            // last owner about to steal it.
            P::unpark(next);
        }
        self.locked_from_queue()
    }

    fn locked_from_queue(&self) -> bool {
        inc::<P>(Event::MutexQlock);
        self.acquired();
        true
    }

    /// Passes the lock to the first waiter. False: nobody is there, or the queue is being
    /// changed at this moment (then the request stands and the next unlock tries again).
    pub(super) fn hand_off(&self) -> bool {
        // Ordering: Acquire, [mutex.ask]: pairs with the request
        let word = self.ctl.load(Acquire);
        let Some(id) = ctl::record(word) else {
            return self.no_heir();
        };
        // A signal handler that finds the guard taken by its own thread must not wait for it.
        let _shield = Shield::<P>::up();
        let Some(guarded) = Record::<P>::at(id).acquire_within(HANDOFF_GUARD_NS) else {
            return false;
        };
        // Ordering: Relaxed, sequence (inside the guard, [record.guard])
        if ctl::record(self.ctl.load(Relaxed)) != Some(id) {
            return false;
        }
        let Some(heir) = guarded.first() else {
            drop(guarded);
            return self.no_heir();
        };
        guarded.remove(heir);
        // Before the grant: after it the lock is another's.
        // Ordering: Relaxed, sequence (published by [mutex.grant])
        self.ctl.fetch_and(!ctl::ASKED, Relaxed);
        // Ordering: Release, [mutex.grant]: pairs with the loads in wait_queued() and cancel()
        waiter_state::<P>(heir).store(state::GRANTED, Release);
        drop(guarded);
        inc::<P>(Event::MutexHandoff);
        P::unpark(heir);
        true
    }

    /// A hand-off was asked for, but the queue is empty: the request is void.
    fn no_heir(&self) -> bool {
        // Ordering: Relaxed, hint (requests only; the owner takes it down before it releases)
        self.ctl.fetch_and(!ctl::HANDOFF, Relaxed);
        false
    }
}
