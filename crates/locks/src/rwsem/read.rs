//! The slow path of readers. Edges: see the parent module.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use lockwright_platform::{Me, Platform, Word};

use super::count::{HANDOFF, READ_FAIL, READER, READERS, WAITERS, WRITER};
use super::policy::{NEVER, ReaderSteal};
use super::wake::{WakeList, Wakers};
use super::{Policy, RawRwLock, kind, owner};
use crate::events::{Event, inc};
use crate::record::{HeldRecord, Record, attach, my_state, node, state, try_in_turn};

impl<P: Platform, W: Policy> RawRwLock<P, W> {
    /// `counted`: the caller is in the count, which was this then.
    #[cold]
    pub(super) fn read_slow(&self, counted: Option<u64>, deadline: Option<u64>) -> bool {
        inc::<P>(Event::RwsemReadSlow);
        let now = match counted {
            Some(now) => now,
            // As if it were: what is looked at below includes the caller.
            None => self.count().wrapping_add(READER),
        };
        let mut counted = counted.is_some();
        // Ordering: Relaxed, hint (what the policy goes by)
        let seen_owner = self.owner.load(Relaxed);
        if now & READ_FAIL != 0 {
            self.forbid_spinning();
        }
        let crowd = Self::S.admission.anti_starvation
            && now & WRITER == 0
            && now & READERS > READER
            && seen_owner & owner::READER_OWNED != 0;
        let steals = !crowd && now & Self::refused(true) == 0 && self.may_steal();
        if steals && (counted || self.try_read_past()) {
            self.note_reader();
            inc::<P>(Event::RwsemRlockSteal);
            if now & READERS == READER && now & WAITERS != 0 {
                // The first reader of a phase lets in those who queue (P17).
                self.wake(Wakers::ReadOwned);
            }
            return true;
        }
        let guest = self.arrive_as_guest();
        if !crowd && Self::S.user.eager_polls > 0 {
            if core::mem::take(&mut counted) {
                self.give_back(READER);
            }
            if self.poll_eagerly(Self::try_read_unqueued, true, guest) {
                inc::<P>(Event::RwsemOptRlock);
                return true;
            }
        }
        let Some(me) = P::enter() else {
            if counted {
                self.give_back(READER);
            }
            return self.without_node(Self::try_read_past, Event::RwsemRlockFail, deadline);
        };
        P::check_in(&me);
        if Self::S.waits.readers_spin && !crowd {
            let mut spins = false;
            if counted && self.may_spin(true) {
                // Before anything else: writers cannot take the lock meanwhile.
                self.back_out();
                counted = false;
                spins = true;
            }
            match if spins { self.spin_in_turn(&me, Self::try_read_unqueued, true) } else { None } {
                Some(true) => {
                    self.bring_readers(&me);
                    inc::<P>(Event::RwsemOptRlock);
                    return true;
                }
                Some(false)
                    if Self::S.waits.phase_retry
                        && self.phase_changed(seen_owner)
                        && self.try_read_unqueued() =>
                {
                    inc::<P>(Event::RwsemOptRlock);
                    inc::<P>(Event::RwsemOptRlock2);
                    return true;
                }
                _ => inc::<P>(Event::RwsemOptFail),
            }
        }
        let Some(held) = attach(self.anchor(), Some(&me)) else {
            drop(me);
            if counted {
                self.give_back(READER);
            }
            return self.without_node(Self::try_read_past, Event::RwsemRlockFail, deadline);
        };
        self.queued(|| self.queue_reader(&me, held, counted, seen_owner, guest, deadline))
    }

    /// Whether readers that were refused only because others wait may keep the lock.
    fn may_steal(&self) -> bool {
        match Self::S.admission.reader_steals {
            ReaderSteal::Never => false,
            ReaderSteal::Always => true,
            ReaderSteal::IfNoSpinner => !self.has_spinner(),
        }
    }

    /// A reader has got the lock past the queue: if readers are first there, they come along.
    fn bring_readers(&self, me: &Me<P>) {
        // Ordering: Relaxed, hint (looked at again inside the wait lock)
        if self.count.load(Relaxed) & WAITERS != 0 {
            self.wake_by(Some(me), Wakers::ReadOwned);
        }
    }

    /// Whether other readers hold the lock than at the start of the call, or a writer did then (P12).
    fn phase_changed(&self, seen_owner: u32) -> bool {
        // Ordering: Relaxed, hint (try_read_unqueued decides)
        let now = self.owner.load(Relaxed);
        now & owner::READER_OWNED != 0
            && (seen_owner & owner::READER_OWNED == 0
                || (now ^ seen_owner) & !(owner::NONSPINNABLE | owner::READER_OWNED) != 0)
    }

    /// One attempt of a reader that is not queued and not counted.
    pub(super) fn try_read_unqueued(&self) -> bool {
        if !Self::S.user.counts_first {
            return self.try_read_past();
        }
        // Ordering: Relaxed, hint (re-checked by the addition)
        if self.count.load(Relaxed) & Self::refused(true) != 0 {
            return false;
        }
        // Ordering: Acquire, [rwsem.write]: pairs with the release in unlock_write()
        let now = self.count.fetch_add(READER, Acquire).wrapping_add(READER);
        if now & Self::refused(true) == 0 {
            self.note_reader();
            return true;
        }
        self.back_out();
        false
    }

    /// Takes the count of a reader back that goes on trying, and queues if that is in vain. Whoever
    /// left a wake-up to this reader, which looked like a holder, need not get it here: the lock goes
    /// to the first in the OSQ, whose unlock wakes, or the caller wakes when it queues. But where
    /// stealing is forbidden nobody would have the lock first.
    fn back_out(&self) {
        if !Self::S.waits.readers_spin {
            // It polls, and yields in between: too long for one who waits for a wake-up.
            return self.give_back(READER);
        }
        // Ordering: Relaxed, sequence (nothing was read under this count; the releases of others go on
        // through it, [rwsem.read])
        let now = self.count.fetch_sub(READER, Relaxed).wrapping_sub(READER);
        if now & WAITERS != 0 && now & HANDOFF != 0 {
            self.reader_left(now, READER);
        }
    }

    /// The same without an addition that may have to be taken back.
    fn try_read_past(&self) -> bool {
        self.try_read_unless(|_| Self::refused(true))
    }

    /// Queues the caller as a reader, which is in the count if it is `counted`, and waits.
    fn queue_reader(
        &self,
        me: &Me<P>,
        held: HeldRecord<P>,
        counted: bool,
        seen_owner: u32,
        guest: bool,
        deadline: Option<u64>,
    ) -> bool {
        self.clear_leftovers(&held);
        let first = held.first().is_none();
        if counted
            && first
            // Ordering: Acquire, [rwsem.write]: an acquisition like any other (race 9)
            && self.count.load(Acquire) & (WRITER | HANDOFF | READ_FAIL) == 0
        {
            held.leave(self.anchor());
            self.note_reader();
            inc::<P>(Event::RwsemRlockFast);
            return true;
        }
        self.describe(me, kind::READER, seen_owner, guest);
        if self.push(&held, me, guest) && !first {
            // The writer that was first may have taken the flag down.
            self.ask_for_wake();
        }
        let plus = if first { WAITERS } else { 0 };
        let minus = if counted { READER } else { 0 };
        self.wait_read(me, held, plus.wrapping_sub(minus), guest, deadline)
    }

    /// The wait of a reader that has just queued; `change` is what that changes in the count.
    pub(super) fn wait_read(
        &self,
        me: &Me<P>,
        held: HeldRecord<P>,
        change: u64,
        guest: bool,
        deadline: Option<u64>,
    ) -> bool {
        let record = held.record();
        // Ordering: AcqRel, [rwsem.queue], [rwsem.read]: publishes the record; what the caller
        // had in the count leaves it as a reader's
        let now = self.count.fetch_add(change, AcqRel).wrapping_add(change);
        let mut list = WakeList::new();
        self.wake_as_newcomer(&held, now, Some(me.slot()), &mut list);
        // The caller itself may be among those who were granted the lock.
        drop(held);
        list.wake();
        if guest {
            self.spin_for_grant(me);
        }
        loop {
            // Ordering: Acquire, [rwsem.grant]: pairs with the store in mark_wake() (race 9)
            if my_state(me).load(Acquire) == state::GRANTED {
                return self.granted(me, Event::RwsemRlock);
            }
            if deadline.is_some_and(|at| P::now() >= at) {
                return self.cancel(me, record, Event::RwsemRlock, Event::RwsemRlockFail);
            }
            P::park(me, deadline);
            inc::<P>(Event::RwsemSleepReader);
            P::check_in(me);
        }
    }

    /// The lock was granted to this waiter, which is out of the queue and no user any more.
    pub(super) fn granted(&self, me: &Me<P>, event: Event) -> bool {
        // Ordering: Relaxed, owner-only (granted: nobody else writes it)
        my_state(me).store(state::IDLE, Relaxed);
        inc::<P>(event);
        true
    }

    /// A timed waiter gives up, unless the lock was granted to it meanwhile. If it was first, the
    /// next is woken in its place, and what it had asked for is forgotten (races 11, 12, 20).
    pub(super) fn cancel(&self, me: &Me<P>, record: Record<P>, got: Event, lost: Event) -> bool {
        let held = record.acquire(Some(me));
        // Ordering: Acquire, [rwsem.grant]: pairs with the store in mark_wake()
        if my_state(me).load(Acquire) == state::GRANTED {
            drop(held);
            return self.granted(me, got);
        }
        self.leave_queue(me, held);
        inc::<P>(lost);
        false
    }

    /// A waiter leaves the queue without the lock.
    pub(super) fn leave_queue(&self, me: &Me<P>, held: HeldRecord<P>) {
        let was_first = held.first() == Some(me.slot());
        held.remove(me.slot());
        let mut list = WakeList::new();
        if held.first().is_none() {
            // Ordering: Relaxed, sequence (the flags change inside the wait lock, [record.wait_lock])
            self.count.fetch_and(!(WAITERS | HANDOFF), Relaxed);
        } else if was_first {
            // Only the first waiter asks, so the request was the caller's.
            // Ordering: Relaxed, sequence (the flags change inside the wait lock, [record.wait_lock])
            self.count.fetch_and(!HANDOFF, Relaxed);
            // The next first did not take it down, if it is down. The look at the lock must not
            // be older: an unlock in between has seen no WAITERS.
            // Ordering: AcqRel, [rwsem.queue], [rwsem.write], [rwsem.read]: publishes the record to
            // the unlock that sees it; what is granted below was released before
            let now = self.count.fetch_or(WAITERS, AcqRel);
            self.ask_for_guest(&held);
            self.wake_if_not_written(&held, now, &mut list);
        }
        held.leave(self.anchor());
        list.wake();
    }

    /// Flags of nobody, where a fork has cut the queue off.
    pub(super) fn clear_leftovers(&self, held: &HeldRecord<P>) {
        // Ordering: Relaxed, sequence (the flags change inside the wait lock, [record.wait_lock]) (block)
        if held.first().is_none() && self.count.load(Relaxed) & (WAITERS | HANDOFF) != 0 {
            self.count.fetch_and(!(WAITERS | HANDOFF), Relaxed);
        }
    }

    /// Writes into the caller's node what others must know of it.
    pub(super) fn describe(&self, me: &Me<P>, kind: u32, seen_owner: u32, guest: bool) {
        let at = match Self::S.admission.handoff_ns {
            NEVER => u64::MAX,
            // Row P6 of the kernel's series: writers only.
            _ if guest || (kind == kind::WRITER && P::is_realtime()) => P::ticks(),
            ns => P::ticks().saturating_add(P::ticks_of(ns)),
        };
        let words = node::words(me.record());
        // Ordering: Relaxed, init (published by the wait lock, [record.wait_lock]) (block)
        words[node::RW_KIND].store(kind, Relaxed);
        words[node::RW_SAW_BIT].store(seen_owner & owner::NONSPINNABLE, Relaxed);
        words[node::RW_HANDOFF_AT[0]].store(at as u32, Relaxed);
        words[node::RW_HANDOFF_AT[1]].store((at >> 32) as u32, Relaxed);
    }

    /// Without a queue node: sleeps and tries in turn.
    #[cold]
    pub(super) fn without_node(
        &self,
        attempt: fn(&Self) -> bool,
        lost: Event,
        deadline: Option<u64>,
    ) -> bool {
        inc::<P>(Event::RwsemNoNode);
        let got = try_in_turn::<P>(deadline, || attempt(self));
        if !got {
            inc::<P>(lost);
        }
        got
    }
}
