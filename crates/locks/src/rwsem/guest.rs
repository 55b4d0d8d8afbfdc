//! Guests: who comes now and then stands before who uses the lock all the time. What makes a thread one, see
//! [`share`]. Edges: see the parent module.
//!
//! A guest that waits may have no CPU, while those that keep the lock from it have: so whoever makes it the first of
//! the queue forbids stealing in its place, and so does a guest for a first that is late to do so.
//!
//! *Bound*: a waiter that is none is passed by [`GUESTS`] guests at most in the time after which it may forbid
//! stealing, and by none that come when it has waited twice as long. *Checked by* `tests/loom_rwsem.rs`
//! (`a_guest_..`).

use core::sync::atomic::Ordering::{Relaxed, Release};

use lockwright_platform::{Me, Platform, Slot, Word};

use super::count::{HANDOFF, WAITERS};
use super::policy::NEVER;
use super::wake::{handoff_at, knows_it_is_first, word_of};
use super::{Policy, RawRwLock, kind};
use crate::events::{Event, inc};
use crate::record::{HeldRecord, node, state};
use crate::share;

/// Most guests that stand before others in the time after which a waiter may ask. Nobody has the lock while one wakes up.
const GUESTS: u32 = 8;

impl<P: Platform, W: Policy> RawRwLock<P, W> {
    /// Whether the calling thread, which begins to wait, is a guest: it has not waited for this lock lately, or once only.
    /// Notes that it does.
    pub(super) fn arrive_as_guest(&self) -> bool {
        if Self::S.user.guest_ns == NEVER {
            return false;
        }
        let Some(record) = P::my_record() else {
            return true;
        };
        let (now, once) = (P::ticks(), P::ticks_of(Self::S.user.guest_ns));
        share::extend(record, self.address(), now, once, Self::longest()) <= once
    }

    /// Runs a wait in the queue, which does not make the calling thread a guest any sooner.
    pub(super) fn queued(&self, wait: impl FnOnce() -> bool) -> bool {
        if Self::S.user.guest_ns == NEVER {
            return wait();
        }
        let began = P::ticks();
        let got = wait();
        if let Some(record) = P::my_record() {
            share::postpone(record, self.address(), began..P::ticks(), Self::longest());
        }
        got
    }

    /// For how long a thread is none at most, in ticks.
    fn longest() -> u64 {
        let ns = Self::S.admission.handoff_ns.saturating_add(Self::S.user.guest_ns);
        P::ticks_of(ns.max(Self::S.user.guest_ns.saturating_mul(2)))
    }

    /// The calling thread's section ends, and the lock was this then. If stealing is forbidden, its stay is over:
    /// it waits as long as anybody then.
    pub(super) fn end_stay(&self, now: u64) {
        if Self::S.user.guest_ns != NEVER
            && now & HANDOFF != 0
            && let Some(record) = P::my_record()
        {
            share::note(record, self.address(), P::ticks().saturating_add(Self::longest()), false);
        }
    }

    /// Where it lies, for what threads remember of it.
    fn address(&self) -> usize {
        core::ptr::from_ref(&self.count).addr()
    }

    /// Takes a place in the queue; true if it is the first. A guest stands behind other guests and before
    /// all others, but for a first that asks already, or should.
    pub(super) fn push(&self, held: &HeldRecord<P>, me: &Me<P>, guest: bool) -> bool {
        let other = held.first_but_guests();
        if !guest || (other.is_some() && !Self::has_room(held)) {
            return held.push_back(me.slot(), state::WAITING);
        }
        match other {
            Some(first) if held.first() == other && self.keeps_its_place(first) => {
                held.count_as_guest(first);
            }
            Some(first) => {
                inc::<P>(Event::RwsemGuest);
                // It must be told when it is first again (race 16).
                knows_it_is_first::<P>(first, false);
            }
            None => {}
        }
        held.push_guest(me.slot(), state::WAITING)
    }

    /// The next of the queue is a guest, who may forbid stealing at once and may not get a CPU while others
    /// run: whoever makes it the first does it in its place.
    pub(super) fn ask_for_guest(&self, held: &HeldRecord<P>) {
        if Self::S.user.guest_ns != NEVER && held.first_is_guest() {
            // Ordering: Relaxed, sequence (HANDOFF changes inside the wait lock, [record.wait_lock])
            self.count.fetch_or(HANDOFF, Relaxed);
        }
    }

    /// Whether the first waiter, no guest, stays before guests: it forbids stealing, or is late to do so. Then
    /// it has no CPU, and the caller does it in its place.
    fn keeps_its_place(&self, first: Slot) -> bool {
        // Ordering: Relaxed, sequence (HANDOFF changes inside the wait lock, [record.wait_lock])
        if self.count.load(Relaxed) & HANDOFF != 0
            || word_of::<P>(first, node::RW_KIND) == kind::UPGRADING
        {
            return true;
        }
        let late = handoff_at::<P>(first).saturating_add(P::ticks_of(Self::S.admission.handoff_ns));
        if P::ticks() < late {
            return false;
        }
        // Ordering: Release, [rwsem.queue]: publishes the record to the unlock that sees it
        self.count.fetch_or(WAITERS | HANDOFF, Release);
        true
    }

    /// Whether one more guest may stand before others: some in the time after which a waiter may ask.
    fn has_room(held: &HeldRecord<P>) -> bool {
        let (record, now) = (held.record(), P::ticks());
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock]) (block)
        if now.wrapping_sub(record.since().load(Relaxed))
            >= P::ticks_of(Self::S.admission.handoff_ns)
        {
            record.since().store(now, Relaxed);
            record.guests().store(0, Relaxed);
        }
        let guests = record.guests().load(Relaxed);
        record.guests().store(guests + 1, Relaxed);
        guests < GUESTS
    }

    /// For models: the calling thread has had to give the lock up just now.
    #[cfg(loom)]
    pub fn use_up(&self) {
        let me = P::enter().expect("a slot");
        let until = P::ticks().saturating_add(Self::longest());
        share::note(me.record(), self.address(), until, false);
    }
}
