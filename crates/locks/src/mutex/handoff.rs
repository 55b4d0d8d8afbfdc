//! Passing the lock on: requests for a hand-off, the hand-off itself, and the slices at whose end
//! the owner is asked for one. Edges: see the parent module.

use core::sync::atomic::Ordering::{Relaxed, Release};

use lockwright_platform::{Me, Platform, Shield, Until, Word};

use super::slow::First;
use super::{Policy, RawMutex};
use crate::events::{Event, inc};
use crate::record::{Anchor, HeldRecord, Record, ctl, my_state, state, waiter_state};

/// How long an unlock waits for the wait lock, to pass the lock on.
const HANDOFF_WAIT_NS: u64 = 2_000;

impl<P: Platform, W: Policy> RawMutex<P, W> {
    /// Asks for a hand-off at the next unlock.
    pub(super) fn ask(&self, first: &mut First) {
        if !first.asked {
            first.asked = true;
            inc::<P>(Event::MutexHandoffAsked);
        }
        // Again at each turn: a hand-off to another may have taken the flag down.
        // Ordering: Relaxed, hint (re-checked by the next unlock)
        if self.words.ctl.load(Relaxed) & ctl::HANDOFF == 0 {
            // Ordering: Release, [mutex.ask]: pairs with the loads in unlock()
            self.words.ctl.fetch_or(ctl::HANDOFF, Release);
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
            P::spin_while2(mine, (&self.words.ctl, ctl::LOCKED, ctl::LOCKED), Relaxed, until);
        } else {
            P::spin_while2(mine, (&self.words.locked, u8::MAX, 1), Relaxed, until);
        }

        // Ordering: Relaxed, hint (take_queued looks again)
        granted.load(Relaxed) == state::WAITING && self.take_queued(me, record)
    }

    /// What is left of a slice, in ticks. A slice that has more left than slices last is over: the
    /// counter has gone backwards (another machine, a long sleep).
    pub(super) fn slice_left(end: u64) -> Option<u64> {
        let left = end.wrapping_sub(P::ticks());
        let running = W::SLICES && end != 0 && left != 0 && left <= P::ticks_of(W::SLICE_NS);
        running.then_some(left)
    }

    /// Starts a slice, unless one runs and `anew` is not set.
    pub(super) fn begin_slice(held: &HeldRecord<P>, anew: bool) {
        let record = held.record();
        // Ordering: Relaxed, hint (read as hints outside the wait lock) (block)
        if anew || record.slice_end().load(Relaxed) == 0 {
            let waiters = u64::from(record.length().load(Relaxed)).max(1);
            let ns = W::SLICE_NS.min((W::ROUND_NS / waiters).max(W::SLICE_MIN_NS));
            record.slice_end().store(P::ticks() + P::ticks_of(ns), Relaxed);
        }
    }

    /// The owner's look at its slice, at every so many acquisitions.
    #[cold]
    pub(super) fn check_slice(&self) {
        let Some(id) = self.anchor().index() else {
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
            self.words.ctl.fetch_or(ctl::HANDOFF, Release);
            inc::<P>(Event::MutexHandoffAsked);
        }
    }

    /// The first waiter takes the lock, if it is free, and leaves the queue. Under the wait lock, so that an
    /// owner never waits for that. The next first must be woken by our unlock, since it sleeps and nobody
    /// asked in its name.
    pub(super) fn take_queued(&self, me: &Me<P>, record: Record<P>) -> bool {
        if self.is_locked() {
            return false;
        }
        let held = record.acquire(Some(me));
        // A grant, or a waiter that has come to stand before: wait_queued() sees to either.
        if held.first() != Some(me.slot()) || !self.try_acquire() {
            return false;
        }
        held.remove(me.slot());
        self.pass_requests(&held, false);
        held.leave(self.anchor());
        self.locked_from_queue()
    }

    /// Puts the requests of a waiter that leaves the queue with the lock down, and up those of the next, unless
    /// it is `awake` to look after itself.
    fn pass_requests(&self, held: &HeldRecord<P>, awake: bool) {
        let mut down = ctl::HANDOFF | ctl::WAKE;
        if held.cond_waiters() == 0 {
            down |= ctl::FENCE;
        }
        // Ordering: Relaxed, hint (requests only: the next unlock reads them, and the hand-off request
        // was this waiter's)
        self.words.ctl.fetch_and(!down, Relaxed);
        if held.first().is_some() && !awake {
            // Ordering: Release, [mutex.ask]: publishes the queue to the unlock that sees it
            self.words.ctl.fetch_or(ctl::WAKE, Release);
        }
    }

    /// The lock was passed to this waiter, which is out of the queue already and no user any more.
    pub(super) fn take_over(&self, me: &Me<P>) -> bool {
        // Ordering: Relaxed, owner-only (granted: nobody else writes it)
        my_state(me).store(state::IDLE, Relaxed);
        self.locked_from_queue()
    }

    fn locked_from_queue(&self) -> bool {
        inc::<P>(Event::MutexQlock);
        self.acquired();
        true
    }

    /// Passes the lock to the first waiter, and does all that its place in the queue asks for, so that it has
    /// nothing to wait for. False: nobody is there, or the queue is being changed at this moment (then the
    /// request stands and the next unlock tries again).
    pub(super) fn hand_off(&self) -> bool {
        let Some(id) = self.anchor().index() else {
            return self.no_heir();
        };
        // A signal handler that finds the wait lock taken by its own thread must not wait for it.
        let _shield = Shield::<P>::up();
        let Some(held) = Record::<P>::at(id).acquire_within(HANDOFF_WAIT_NS) else {
            return false;
        };
        if self.anchor().index() != Some(id) {
            return false;
        }
        let Some(heir) = held.first() else {
            drop(held);
            return self.no_heir();
        };
        held.remove(heir);
        let next = held.first();
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
        let slices = W::SLICES && held.record().slice_end().load(Relaxed) != 0;
        if slices {
            Self::begin_slice(&held, true);
        }
        // All of it before the grant: after it the lock is another's.
        self.pass_requests(&held, slices);
        let detached = held.end_use(self.anchor());
        // Ordering: Release, [mutex.grant]: pairs with the loads in wait_queued() and cancel()
        waiter_state::<P>(heir).store(state::GRANTED, Release);
        drop(held);
        if let Some(detached) = detached {
            detached.give_back();
        }
        inc::<P>(Event::MutexHandoff);
        P::unpark(heir);
        if let Some(next) = next
            && slices
        {
            // It looks after itself until the slice ends. Woken by the heir's first unlock, it would find
            // the lock free and the heir about to steal it.
            P::unpark(next);
        }
        true
    }

    /// A hand-off was asked for, but the queue is empty: the request is void.
    fn no_heir(&self) -> bool {
        // Ordering: Relaxed, hint (requests only; the owner takes it down before it releases)
        self.words.ctl.fetch_and(!ctl::HANDOFF, Relaxed);
        false
    }
}
