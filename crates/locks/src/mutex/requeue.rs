//! The mutex's part in a condition wait. Edges: see the parent module.
//!
//! A condition waiter is a user of the mutex's record from before it releases the mutex until it has it again.
//! Whoever notifies it moves it to the mutex's queue, where it goes on to sleep until the mutex comes to it. So
//! that the notifier, which mostly holds the mutex and cannot know that it does, needs no heavy fence, owners
//! fence by themselves as long as there are condition waiters: the first of them raises `FENCE`, while it owns
//! the mutex, so every owner after it sees that.

use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

use lockwright_platform::{Me, Platform, Slot, ThreadRecord, Word};

use super::{Policy, RawMutex, Words};
use crate::events::{Event, inc};
use crate::record::{Anchor, Control, HeldRecord, Record, attach, ctl, node, state, waiter_state};

/// In the address that a waiter notes: the mutex's unlock is one atomic operation.
const ATOMIC: usize = 1;

/// The mutex that a condition waiter will return with, as its node says.
pub(crate) struct Destination<P: Platform> {
    words: *const Words<P>,
    atomic: bool,
}

impl<P: Platform> PartialEq for Destination<P> {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl<P: Platform> Destination<P> {
    fn word(record: &ThreadRecord<P>) -> &core::sync::atomic::AtomicPtr<()> {
        // SAFETY: this module alone reaches it, and changes it before the thread queues up (1).
        unsafe { record.lock() }
    }

    /// Where the condition waiter in `slot` will return to; `None` for a lock of another kind.
    pub fn of(slot: Slot) -> Option<Self> {
        // Ordering: Relaxed, sequence (noted before the waiter queued, [record.wait_lock])
        let noted = Self::word(P::thread_record(slot)).load(Relaxed);
        let atomic = noted.addr() & ATOMIC != 0;
        let words = noted.map_addr(|at| at & !ATOMIC).cast();
        (!noted.is_null()).then_some(Destination { words, atomic })
    }

    /// Notes that the caller, about to be a condition waiter, will return with a lock of another kind.
    pub fn note_none(me: &Me<P>) {
        // Ordering: Relaxed, init (published by [record.wait_lock])
        Self::word(me.record()).store(core::ptr::null_mut(), Relaxed);
    }

    /// Its record, held.
    ///
    /// # Safety
    ///
    /// 1. A condition waiter that will return there is in its queue, and cannot leave it while the caller
    ///    uses the result.
    pub unsafe fn hold<'m>(&self, me: Option<&'m Me<P>>) -> Arrivals<'m, P> {
        // SAFETY: the waiter borrows the mutex as long as it waits (1), and it has a record, since the waiter
        // is a user of it.
        let words = unsafe { &*self.words };
        let id =
            Control::<P>(&words.ctl).index().expect("a condition waiter keeps the record attached");
        let held = Record::at(id).acquire(me);
        let was_empty = held.first().is_none();
        Arrivals { held, words: self.words, atomic: self.atomic, was_empty, moved: 0 }
    }
}

/// Condition waiters on their way to the queue of a mutex.
pub(crate) struct Arrivals<'m, P: Platform> {
    held: HeldRecord<'m, P>,
    words: *const Words<P>,
    atomic: bool,
    was_empty: bool,
    moved: u32,
}

impl<P: Platform> Arrivals<'_, P> {
    /// Whether nobody is in the mutex's queue.
    pub fn is_first(&self) -> bool {
        self.was_empty
    }

    /// Puts a waiter that was taken off its condition variable's queue at the end of the mutex's.
    pub fn push(&mut self, slot: Slot) {
        self.held.push_back(slot, state::COND);
        // Ordering: Release, [mutex.grant]: the waiter, if awake, goes on in this queue
        waiter_state::<P>(slot).store(state::WAITING, Release);
        self.moved += 1;
        inc::<P>(Event::CondRequeue);
    }

    /// Sees to it that the first of them is woken: by the owner, or, if the mutex is free, by the caller,
    /// who is told whom to wake.
    ///
    /// # Safety
    ///
    /// 1. As for [`Destination::hold`].
    pub unsafe fn settle(self) -> Option<Slot> {
        self.held.set_cond_waiters(self.held.cond_waiters().saturating_sub(self.moved));
        if !self.was_empty {
            // Those before them are looked after already.
            return None;
        }
        // SAFETY: as in Destination::hold(): the waiters cannot leave the mutex's queue either, since the
        // caller holds its wait lock (1).
        let words = unsafe { &*self.words };
        // Ordering: Release, [mutex.ask]: publishes the queue to the unlock that sees it
        let word = words.ctl.fetch_or(ctl::WAKE, Release);
        let free = if self.atomic {
            word & ctl::LOCKED == 0
        } else {
            // Ordering: SeqCst, [mutex.cond]: store-load, the request against the look at the lock
            P::fence(SeqCst);
            // Ordering: Relaxed, fenced (by the fence above)
            words.locked.load(Relaxed) == 0
        };
        if free { self.held.first() } else { None }
    }
}

impl<P: Platform, W: Policy> RawMutex<P, W> {
    /// Makes the caller, which owns the mutex, a condition waiter that will return with it. `None`: it cannot
    /// be a user of a record.
    pub(crate) fn expect_return(&self, me: &Me<P>) -> Option<Record<P>> {
        let held = attach(self.anchor(), Some(me))?;
        let waiters = held.cond_waiters();
        held.set_cond_waiters(waiters + 1);
        if waiters == 0 && !Self::S.atomic_unlock {
            // Ordering: Relaxed, owner-only (the next owner sees what this one did)
            self.words.ctl.fetch_or(ctl::FENCE, Relaxed);
        }
        // Ordering: Relaxed, init (published by [record.wait_lock]) (block)
        node::words(me.record())[node::KIND].store(0, Relaxed);
        node::words(me.record())[node::TIMER].store(0, Relaxed);

        let at = core::ptr::from_ref(&self.words).cast::<()>().cast_mut();
        let noted = at.map_addr(|at| at | if Self::S.atomic_unlock { ATOMIC } else { 0 });
        // Ordering: Relaxed, init (published by [record.wait_lock])
        Destination::<P>::word(me.record()).store(noted, Relaxed);
        Some(held.record())
    }

    /// Takes [`expect_return`](Self::expect_return) back.
    pub(crate) fn expect_no_return(&self, me: &Me<P>, record: Record<P>) {
        let held = record.acquire(Some(me));
        held.set_cond_waiters(held.cond_waiters().saturating_sub(1));
        held.leave(self.anchor());
    }
}
