//! Passing the lock on: requests for a hand-off, and the hand-off itself. Edges: see the parent module.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Me, Platform, SignalGuard, Slot, Until, Word};

use super::slow::First;
use super::{Policy, RawMutex};
use crate::events::{Event, give_time_back, inc};
use crate::record::{Anchor, HeldRecord, Record, ctl, my_state, node, state, waiter_state};
use crate::share;

/// How long an unlock waits for the wait lock, to pass the lock on.
const HANDOFF_WAIT_NS: u64 = 2_000;

/// How many waiters are looked at for one that will not wake on the new owner's CPU.
const CHOICE: usize = 8;

/// Bits of a waiter's word `node::KIND`. Written before it queues, and under the wait lock.
pub(super) mod kind {
    /// It need not wait for the end of a slice.
    pub const GUEST: u32 = 1;
    /// A guest that the rest of the running slice belongs to.
    pub const LENDER: u32 = 2;
    /// Another was let pass it once, to wake on a CPU that is free.
    pub const PASSED_OVER: u32 = 4;
}

/// A word of a waiter's node.
fn word<P: Platform>(slot: Slot, word: usize) -> u32 {
    // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock]; TIMER: hint, see sleep_first())
    node::word::<P>(slot, word).load(Relaxed)
}

fn is_guest<P: Platform>(slot: Slot) -> bool {
    word::<P>(slot, node::KIND) & kind::GUEST != 0
}

/// Whether the waiter looks after itself: it has been first, and never sleeps without a timer since, unless it
/// has asked.
fn has_timer<P: Platform>(slot: Slot) -> bool {
    word::<P>(slot, node::TIMER) != 0
}

/// Whether the waiter has asked for a hand-off, and may sleep until it gets the lock.
fn has_asked<P: Platform>(slot: Slot) -> bool {
    word::<P>(slot, node::TIMER) == ASKED
}

/// In a waiter's word `node::TIMER`: it has asked.
const ASKED: u32 = 2;

impl<P: Platform, W: Policy> RawMutex<P, W> {
    /// Where it lies, for what threads remember of it.
    pub(super) fn address(&self) -> usize {
        core::ptr::from_ref(&self.words).addr()
    }

    /// Asks for a hand-off at the next unlock.
    pub(super) fn ask(&self, me: &Me<P>, first: &mut First) {
        if !first.asked {
            first.asked = true;
            // Ordering: Relaxed, sequence (before each request that it makes of ctl, [mutex.asks])
            node::words(me.record())[node::TIMER].store(ASKED, Relaxed);
            inc::<P>(Event::MutexHandoffAsked);
        }
        // Again at each turn: a hand-off to another may have taken the flag down.
        // Ordering: Relaxed, hint (re-checked by the next unlock)
        if self.words.ctl.load(Relaxed) & ctl::HANDOFF == 0 {
            // Ordering: Release, [mutex.ask], [mutex.asks]: pairs with the loads in unlock()
            self.words.ctl.fetch_or(ctl::HANDOFF, Release);
        }
    }

    /// Spins for a hand-off that was asked for, or for the lock if it comes free and stays so: an owner that
    /// takes it again at once has seen the request, or is about to.
    pub(super) fn await_grant(&self, me: &Me<P>, record: Record<P>) -> bool {
        let granted = my_state(me);
        let until = Until {
            resched: true,
            ..Until::CHANGED.deadline(P::ticks() + P::ticks_of(Self::S.spin_ns))
        };
        let mine = (granted, u32::MAX, state::WAITING);
        // Ordering: Relaxed, hint (wait_queued looks again, with Acquire) (block)
        if Self::S.atomic_unlock {
            P::spin_while2(mine, (&self.words.ctl, ctl::LOCKED, ctl::LOCKED), Relaxed, until);
        } else {
            P::spin_while2(mine, (&self.words.locked, u8::MAX, 1), Relaxed, until);
        }

        // Ordering: Relaxed, hint (take_queued looks again)
        granted.load(Relaxed) == state::WAITING
            && (!Self::S.slices || self.stays_free(Self::S.asked_lines))
            && self.take_queued(me, record)
    }

    /// The first waiter takes the lock, if it is free, and leaves the queue. Under the wait lock, so that an
    /// owner never waits for that.
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
        let guest = is_guest::<P>(me.slot());
        if Self::S.slices && !guest {
            // Its owner left the lock alone: the regime is over.
            // Ordering: Relaxed, hint (what others go by)
            record.slice_end().store(0, Relaxed);
        }
        let wake = self.pass_requests(&held, guest);
        held.leave(self.anchor());
        if let Some(next) = wake {
            P::unpark(next);
        }
        self.locked_from_queue(me)
    }

    /// Puts the requests of a waiter that has left the queue with the lock down, and up those that the new
    /// owner's unlock shall find. Whom to wake now, so that it sets its timer.
    fn pass_requests(&self, held: &HeldRecord<P>, to_guest: bool) -> Option<Slot> {
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
        let slice_end = held.record().slice_end().load(Relaxed);
        let (mut up, mut wake) = (0, None);
        match held.first() {
            None => {}
            // It has asked, and that was taken down for the one before it.
            Some(next) if is_guest::<P>(next) => up = ctl::HANDOFF,
            Some(_) if !Self::S.slices || slice_end == 0 => up = ctl::WAKE,
            // It had asked, and a guest came first.
            Some(_) if to_guest && Self::slice_left(slice_end).is_none() => up = ctl::HANDOFF,
            Some(next) if has_timer::<P>(next) => {}
            Some(next) => wake = Some(next),
        }
        let mut down = (ctl::HANDOFF | ctl::WAKE) & !up;
        if held.cond_waiters() == 0 {
            down |= ctl::FENCE;
        }
        // Ordering: Acquire, [mutex.asks]: of a request that this takes down its maker is seen below
        self.words.ctl.fetch_and(!down, Acquire);
        // A first waiter that had asked before its slice was over may sleep without a timer, and a guest came first.
        if up == 0 && wake.is_none() && held.first().is_some_and(has_asked::<P>) {
            up = ctl::HANDOFF;
        }
        if up != 0 {
            // Ordering: Release, [mutex.ask]: publishes the queue to the unlock that sees it
            self.words.ctl.fetch_or(up, Release);
        }
        wake
    }

    /// The lock was passed to this waiter, which is out of the queue already and no user any more.
    pub(super) fn take_over(&self, me: &Me<P>) -> bool {
        // Ordering: Relaxed, owner-only (granted: nobody else writes it)
        my_state(me).store(state::IDLE, Relaxed);
        self.locked_from_queue(me)
    }

    fn locked_from_queue(&self, me: &Me<P>) -> bool {
        // Ordering: Relaxed, owner-only (out of the queue: nobody else looks at it)
        let kind = node::words(me.record())[node::KIND].load(Relaxed);
        if Self::S.slices && kind & (kind::GUEST | kind::LENDER) == kind::GUEST {
            inc::<P>(Event::MutexGuest);
            let until = P::ticks().wrapping_add(P::ticks_of(Self::S.guest_ns));
            share::note(me.record(), self.address(), until, false);
        }
        inc::<P>(Event::MutexQlock);
        self.acquired_slowly();
        true
    }

    /// Passes the lock to the first waiter, and does all that its place in the queue asks for, so that it has
    /// nothing to wait for. False: nobody is there, or the queue is being changed at this moment (then the
    /// request stands and the next unlock tries again).
    pub(super) fn hand_off(&self) -> bool {
        let Some(id) = self.anchor().index() else {
            return self.no_waiter();
        };
        let me = P::enter();
        // A signal handler that finds the wait lock taken by its own thread must not wait for it.
        let _guard = SignalGuard::<P>::up();
        let Some(held) = Record::<P>::at(id).acquire_within(HANDOFF_WAIT_NS) else {
            return false;
        };
        if self.anchor().index() != Some(id) {
            return false;
        }
        let Some(first) = held.first() else {
            drop(held);
            return self.no_waiter();
        };
        let guest = is_guest::<P>(first);
        if Self::S.slices {
            self.end_stay(me.as_ref(), &held, first);
        }
        held.remove(first);
        // All of it before the grant: after it the lock is another's.
        let wake = self.pass_requests(&held, guest);
        let detached = held.end_use(self.anchor());
        // Ordering: Release, [mutex.grant]: pairs with the loads in wait_queued() and cancel()
        waiter_state::<P>(first).store(state::GRANTED, Release);
        drop(held);
        if let Some(detached) = detached {
            detached.give_back();
        }
        inc::<P>(Event::MutexHandoff);
        give_time_back::<P>();
        P::unpark(first);
        // The new owner is not the one to do it: woken by its first unlock, the next would find the lock free and
        // the new owner about to steal it.
        if let Some(next) = wake {
            P::unpark(next);
        }
        true
    }

    /// The caller's stay ends, or is interrupted by a guest.
    fn end_stay(&self, me: Option<&Me<P>>, held: &HeldRecord<P>, first: Slot) {
        let record = held.record();
        let first_kind = word::<P>(first, node::KIND);
        let guest = first_kind & kind::GUEST != 0;
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock]) (block)
        let slice_end = record.slice_end().load(Relaxed);
        let waiters = record.length().load(Relaxed);
        let since = record.since().load(Relaxed);
        let now = P::ticks();
        record.since().store(now, Relaxed);
        let owner = me.map_or(0, |me| u32::from(me.slot().get()));
        let by_guest = record.guest_owner().load(Relaxed) == owner;
        let returns = first_kind & kind::LENDER != 0;
        if guest && !returns {
            record.guests().store(record.guests().load(Relaxed) + 1, Relaxed);
            record.guest_owner().store(first.get().into(), Relaxed);
        }

        if let Some(me) = me {
            let [least, most] = [Self::S.guest_ns, Self::S.share_ns].map(P::ticks_of);
            let used = if since == 0 { 0 } else { now.wrapping_sub(since) };
            let until = now.wrapping_add(share::share(used, waiters, least, most));
            // Giving back what was lent is no lending, or two threads of one CPU would pass the lock to and
            // fro for the rest of the slice; nor does a guest lend what is not its own.
            let runs = Self::slice_left(slice_end).is_some();
            let lent = guest && runs && !returns && !by_guest;
            if lent {
                inc::<P>(Event::MutexLent);
            }
            share::note(me.record(), self.address(), until, lent);
        }
        if !guest && slice_end != 0 {
            Self::begin_slice(held, true);
            self.choose_next(held, first);
        }
    }

    /// Puts a waiter behind the new owner that will not wake on its CPU: it would preempt it there, while
    /// the old owner's CPU falls idle.
    fn choose_next(&self, held: &HeldRecord<P>, first: Slot) {
        let Some(next) = held.next(first) else {
            return;
        };
        let busy = P::last_cpu(first);
        if P::last_cpu(next) != busy
            || word::<P>(next, node::KIND) & (kind::PASSED_OVER | kind::GUEST) != 0
        {
            return;
        }
        let mut other = held.next(next);
        for _ in 0..CHOICE {
            match other {
                Some(slot) if P::last_cpu(slot) != busy => {
                    let passed = node::word::<P>(next, node::KIND);
                    // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
                    passed.store(kind::PASSED_OVER, Relaxed);
                    return held.move_behind(slot, first);
                }
                Some(slot) => other = held.next(slot),
                None => return,
            }
        }
    }

    /// A hand-off was asked for, but the queue is empty: the request is void.
    fn no_waiter(&self) -> bool {
        // Ordering: Relaxed, hint (requests only; the owner takes it down before it releases)
        self.words.ctl.fetch_and(!ctl::HANDOFF, Relaxed);
        false
    }
}
