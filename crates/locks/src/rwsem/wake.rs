//! Waking those who wait: grants to readers, wake-ups of writers, transfers. Edges: see the
//! parent module.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use lockwright_platform::{Me, NO_CPU, Platform, SignalGuard, Slot, Word};

use super::count::{HANDOFF, LOCKED, READ_FAIL, READER, READERS, UPGRADABLE, WAITERS, WRITER};
use super::policy::NEVER;
use super::{Policy, RawRwLock, kind, owner};
use crate::events::{Event, give_time_back, inc};
use crate::record::{Anchor, Detached, HeldRecord, Record, node, state, waiter_state};

/// Who may be woken.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Wakers {
    /// The lock looks free: the first waiter, whatever it is.
    Any,
    /// Readers hold the lock: readers, and a reader that upgrades.
    Readers,
    /// The caller holds the lock for reading: readers.
    ReadOwned,
}

/// Most grants of one wake-up, whatever the policy: they are remembered until the guard is free.
const BATCH: usize = 256;

/// What is to be done when the wait lock has been dropped: waiters to wake, a record to give back.
pub(super) struct WakeList<P: Platform> {
    // Two more: a first writer that is told so, and one that is woken by a fair unlock.
    slots: [u16; BATCH + 2],
    length: usize,
    detached: Option<Detached<P>>,
}

impl<P: Platform> WakeList<P> {
    pub(super) fn new() -> Self {
        WakeList { slots: [0; BATCH + 2], length: 0, detached: None }
    }

    fn push(&mut self, slot: Slot) {
        self.slots[self.length] = slot.get();
        self.length += 1;
    }

    pub(super) fn wake(self) {
        if let Some(detached) = self.detached {
            detached.give_back();
        }
        for slot in self.slots[..self.length].iter().filter_map(|&slot| Slot::new(slot)) {
            P::unpark(slot);
        }
    }
}

/// What a waiter's node says of it. Written by the waiter before it queues; read under the wait lock.
pub(super) fn word_of<P: Platform>(slot: Slot, index: usize) -> u32 {
    // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
    node::word::<P>(slot, index).load(Relaxed)
}

pub(super) fn is_writer<P: Platform>(slot: Slot) -> bool {
    word_of::<P>(slot, node::RW_KIND) == kind::WRITER
}

/// In the node's word of bits seen: the waiter has been first when it last went to sleep, and so
/// has a timer, or has asked.
const KNOWS: u32 = 1 << 31;

/// Notes whether the writer in `slot` knows that it is first. Under the wait lock.
pub(super) fn knows_it_is_first<P: Platform>(slot: Slot, knows: bool) {
    let word = node::word::<P>(slot, node::RW_SAW_BIT);
    // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock]) (block)
    let others = word.load(Relaxed) & !KNOWS;
    word.store(others | if knows { KNOWS } else { 0 }, Relaxed);
}

/// When the waiter may forbid stealing, in ticks.
pub(super) fn handoff_at<P: Platform>(slot: Slot) -> u64 {
    let half = |i: usize| u64::from(word_of::<P>(slot, node::RW_HANDOFF_AT[i]));
    half(0) | half(1) << 32
}

impl<P: Platform, W: Policy> RawRwLock<P, W> {
    /// A reader's count has been taken back and somebody waits.
    #[cold]
    pub(super) fn reader_left(&self, now: u64, what: u64) {
        self.end_stay(now);
        if now & (WRITER | READERS | READ_FAIL) == 0 {
            self.allow_spinning();
            self.wake(Wakers::Any);
        } else if now & WRITER == 0 && (what & UPGRADABLE != 0 || now & UPGRADABLE != 0) {
            // An upgradable reader that waits for the place of one, or for the others to leave.
            self.wake(Wakers::Readers);
        }
    }

    /// A writer has left, and somebody waits.
    #[cold]
    pub(super) fn writer_left(&self, now: u64) {
        self.end_stay(now);
        give_time_back::<P>();
        self.wake(Wakers::Any);
    }

    /// Wakes after an unlock.
    #[cold]
    pub(super) fn wake(&self, who: Wakers) {
        let me = P::enter();
        let _guard = SignalGuard::<P>::up();
        if let Some(me) = &me {
            P::check_in(me);
        }
        self.wake_by(me.as_ref(), who);
    }

    /// The same for a caller inside a lock operation, with its node if it has one.
    pub(super) fn wake_by(&self, me: Option<&Me<P>>, who: Wakers) {
        // Ordering: Acquire, [rwsem.queue]: whoever set WAITERS had attached the record before
        self.count.load(Acquire);
        let Some(id) = self.anchor().index() else {
            return;
        };
        let held = Record::<P>::at(id).acquire(me);
        if self.anchor().index() != Some(id) {
            // All who waited when the caller unlocked have left, and each has passed the baton.
            return;
        }
        let mut list = WakeList::new();
        self.mark_wake(&held, who, &mut list);
        drop(held);
        list.wake();
    }

    /// What somebody does who has queued, or found the lock held by readers only.
    pub(super) fn wake_if_not_written(
        &self,
        held: &HeldRecord<P>,
        now: u64,
        list: &mut WakeList<P>,
    ) {
        if now & WRITER != 0 {
            return;
        }
        if now & (READERS | READ_FAIL) != 0 {
            self.mark_wake(held, Wakers::Readers, list);
        } else {
            self.allow_spinning();
            self.mark_wake(held, Wakers::Any, list);
        }
    }

    /// What a thread does that has just queued, as the `reader` in this slot or as a writer: before 6.1 a
    /// reader wakes others only if the lock is free, and a writer leaves it forbidden to spin.
    pub(super) fn wake_as_newcomer(
        &self,
        held: &HeldRecord<P>,
        now: u64,
        reader: Option<Slot>,
        list: &mut WakeList<P>,
    ) {
        let upgrades = |slot| word_of::<P>(slot, node::RW_KIND) != kind::READER;
        // An upgradable reader, which the kernel has not, may wait for a change of the count alone.
        if Self::S.admission.enqueue_wakes || now & UPGRADABLE != 0 || reader.is_some_and(upgrades)
        {
            return self.wake_if_not_written(held, now, list);
        }
        match reader {
            _ if now & WRITER != 0 => {}
            Some(_) if now & LOCKED == 0 => self.wake_if_not_written(held, now, list),
            // Itself, to join those who hold the lock.
            Some(slot) if held.first() == Some(slot) => {
                self.mark_wake(held, Wakers::Any, list);
            }
            Some(_) => {}
            None if now & LOCKED == 0 => self.mark_wake(held, Wakers::Any, list),
            None => self.mark_wake(held, Wakers::Readers, list),
        }
    }

    /// Grants to readers, or notes the first writer for a wake-up. All granted readers are in the
    /// count before the first of them may run (race 8).
    pub(super) fn mark_wake(&self, held: &HeldRecord<P>, who: Wakers, list: &mut WakeList<P>) {
        let Some(first) = held.first() else {
            // Left over where a fork cut the queue off.
            // Ordering: Relaxed, hint (requests of nobody)
            self.count.fetch_and(!(WAITERS | HANDOFF), Relaxed);
            return;
        };
        match word_of::<P>(first, node::RW_KIND) {
            kind::WRITER if who == Wakers::Any => self.wake_writer(held, first, list),
            kind::UPGRADING if who != Wakers::ReadOwned => list.push(first),
            kind::WRITER => Self::tell_first(first, list),
            kind::UPGRADING => {}
            _ if list.length >= BATCH => {}
            _ => self.grant_readers(held, first, who, list),
        }
    }

    /// A writer that has become first in its sleep must set its timer, or ask: with readers there
    /// all the time no unlock would wake it (race 16).
    fn tell_first(first: Slot, list: &mut WakeList<P>) {
        if Self::S.admission.handoff_ns != NEVER
            && word_of::<P>(first, node::RW_SAW_BIT) & KNOWS == 0
        {
            knows_it_is_first::<P>(first, true);
            list.push(first);
        }
    }

    fn wake_writer(&self, held: &HeldRecord<P>, first: Slot, list: &mut WakeList<P>) {
        inc::<P>(Event::RwsemWakeWriter);
        if Self::S.admission.writers_steal && !Self::S.admission.early_transfer {
            if Self::S.user.doze_ns != NEVER {
                // Once is enough: it may be long before it runs, and raises the flag again if it
                // wants another (or sets a timer).
                // Ordering: Relaxed, sequence (WAITERS changes inside the wait lock, [record.wait_lock])
                self.count.fetch_and(!WAITERS, Relaxed);
            }
            return list.push(first);
        }
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut now = self.count.load(Relaxed);
        while now & LOCKED == 0 {
            let new = self.without_first(held, first, now) | WRITER;
            // Ordering: Acquire, [rwsem.write], [rwsem.read]: pairs with the releases, on behalf
            // of the waiter; Relaxed, hint (retried)
            match self.count.compare_exchange(now, new, Acquire, Relaxed) {
                Ok(_) => {
                    self.grant_writer(held, first, list);
                    return list.push(first);
                }
                Err(other) => now = other,
            }
        }
    }

    /// The count word when `first` has left the queue with the lock.
    fn without_first(&self, held: &HeldRecord<P>, first: Slot, now: u64) -> u64 {
        let alone = held.next(first).is_none();
        now & !HANDOFF & !WAITERS | if alone { 0 } else { WAITERS }
    }

    /// The lock, held for writing in the count already, becomes that of the first waiter.
    fn grant_writer(&self, held: &HeldRecord<P>, first: Slot, list: &mut WakeList<P>) {
        // Ordering: Relaxed, hint (its CPU is not known before it runs)
        self.owner.store((u32::from(NO_CPU) + 1) << owner::CPU_SHIFT, Relaxed);
        self.grant(held, first, list);
        self.ask_for_guest(held);
    }

    fn grant(&self, held: &HeldRecord<P>, slot: Slot, list: &mut WakeList<P>) {
        held.remove(slot);
        // Before the last is let go, which may free the lock.
        list.detached = held.end_use(self.anchor());
        // Ordering: Release, [rwsem.grant]: pairs with the loads in wait_read(), wait_write() and
        // cancel()
        waiter_state::<P>(slot).store(state::GRANTED, Release);
    }

    fn grant_readers(
        &self,
        held: &HeldRecord<P>,
        first: Slot,
        who: Wakers,
        list: &mut WakeList<P>,
    ) {
        let mut tentative = 0;
        if who != Wakers::ReadOwned {
            tentative = READER;
            if !Self::S.user.counts_first {
                if !self.try_read_unless(|_| WRITER | READ_FAIL) {
                    return self.refuse_grant(self.count(), 0, first);
                }
            } else {
                // Ordering: Acquire, [rwsem.write]: on behalf of the readers
                let before = self.count.fetch_add(READER, Acquire);
                if (before & WRITER) | (before.wrapping_add(READER) & READ_FAIL) != 0 {
                    return self.refuse_grant(before, READER, first);
                }
            }
            // Before the others are looked for, so that spinners know at once.
            self.note_granted_readers(first);
        }
        let granted = self.choose_readers(held, first, list);
        let chosen = list.length - granted as usize..list.length;

        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut now = self.count.load(Relaxed);
        loop {
            let mut new = now.wrapping_add(u64::from(granted) * READER).wrapping_sub(tentative);
            if granted > 0 {
                new &= !HANDOFF;
            }
            new = new & !WAITERS | if granted == self.queue_length(held) { 0 } else { WAITERS };
            // Ordering: AcqRel, [rwsem.write], [rwsem.read]: acquires for the readers, and gives
            // the tentative count back; Relaxed, hint (retried)
            match self.count.compare_exchange(now, new, AcqRel, Relaxed) {
                Ok(_) => break,
                Err(other) => now = other,
            }
        }
        if granted > 0 {
            inc::<P>(Event::RwsemWakeReader);
        }
        for at in chosen {
            let slot = Slot::new(list.slots[at]).expect("a chosen waiter has a slot");
            self.grant(held, slot, list);
        }
        if granted > 0 {
            self.ask_for_guest(held);
        }
        if let Some(first) = held.first()
            && is_writer::<P>(first)
        {
            Self::tell_first(first, list);
        }
    }

    /// A writer holds the lock: takes back what was tentatively counted, and forbids stealing if the first
    /// reader has waited long enough.
    fn refuse_grant(&self, before: u64, tentative: u64, first: Slot) {
        let late = Self::S.admission.handoff_ns != NEVER
            && before & HANDOFF == 0
            && P::ticks() >= handoff_at::<P>(first);
        if late {
            inc::<P>(Event::RwsemRlockHandoff);
        }
        let change = if late { HANDOFF } else { 0 }.wrapping_sub(tentative);
        if change != 0 {
            // Ordering: Release, [rwsem.read]: a tentative count is a reader's
            self.count.fetch_add(change, Release);
        }
    }

    /// Puts the readers that a wake-up grants to on the list; returns their number.
    fn choose_readers(&self, held: &HeldRecord<P>, first: Slot, list: &mut WakeList<P>) -> u32 {
        let room = (BATCH - list.length) as u32;
        let cap = if Self::S.admission.wake_cap == 0 {
            room
        } else {
            room.min(Self::S.admission.wake_cap)
        };
        let (mut granted, mut at) = (0, Some(first));
        while let Some(slot) = at
            && granted < cap
        {
            at = held.next(slot);
            match word_of::<P>(slot, node::RW_KIND) {
                kind::READER => {}
                // Claimed here: a thread that cannot queue takes the bit past those who wait.
                // Ordering: Acquire, [rwsem.write]: on behalf of the reader
                kind::UPGRADABLE if self.count.fetch_or(UPGRADABLE, Acquire) & UPGRADABLE == 0 => {}
                _ if Self::S.admission.wake_all => continue,
                _ => break,
            }
            list.push(slot);
            granted += 1;
        }
        granted
    }

    fn queue_length(&self, held: &HeldRecord<P>) -> u32 {
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
        held.record().length().load(Relaxed)
    }

    /// The owner word for readers that were granted the lock. If the first of them had been
    /// forbidden to spin, readers stay so (P11).
    fn note_granted_readers(&self, first: Slot) {
        self.note_reader();
        if Self::S.waits.sticky_reader_bit
            && word_of::<P>(first, node::RW_SAW_BIT) & owner::RD_NONSPINNABLE != 0
        {
            // Ordering: Relaxed, hint (an update may be lost, race 17)
            self.owner.fetch_or(owner::RD_NONSPINNABLE, Relaxed);
            inc::<P>(Event::RwsemOptNorspin);
        }
    }

    /// Releases a writer's hold to the first waiter, or to the first readers.
    ///
    /// # Safety
    ///
    /// As for [`unlock_write`](Self::unlock_write).
    pub unsafe fn unlock_write_fair(&self) {
        if !self.pass_on(WRITER) {
            // SAFETY: passes on this function's contract.
            unsafe { self.unlock_write() }
        }
    }

    /// Releases a reader's hold; the last reader passes the lock to the first waiter.
    ///
    /// # Safety
    ///
    /// As for [`unlock_read`](Self::unlock_read).
    pub unsafe fn unlock_read_fair(&self) {
        if !self.pass_on(READER) {
            // SAFETY: passes on this function's contract.
            unsafe { self.unlock_read() }
        }
    }

    /// Turns the caller's hold, the only one, into that of the first waiter. False: there is no
    /// waiter, or the caller is not alone.
    fn pass_on(&self, mine: u64) -> bool {
        // Not by WAITERS, which may be down while a writer dozes.
        // Ordering: Acquire, [rwsem.queue]: whoever waits had attached the record before
        self.count.load(Acquire);
        let _guard = SignalGuard::<P>::up();
        let Some(id) = self.anchor().index() else {
            return false;
        };
        let held = Record::<P>::at(id).acquire(None);
        if self.anchor().index() != Some(id) {
            return false;
        }
        let Some(first) = held.first() else {
            return false;
        };
        let mut list = WakeList::new();
        if is_writer::<P>(first) {
            // Ordering: Relaxed, hint (re-checked by the exchange)
            let mut now = self.count.load(Relaxed);
            loop {
                if now & LOCKED != mine {
                    return false;
                }
                let new = self.without_first(&held, first, now) & !LOCKED | WRITER;
                // Ordering: AcqRel, [rwsem.write], [rwsem.read]: releases the caller's section,
                // acquires the earlier readers' for the waiter; Relaxed, hint (retried)
                match self.count.compare_exchange(now, new, AcqRel, Relaxed) {
                    Ok(_) => break,
                    Err(other) => now = other,
                }
            }
            self.grant_writer(&held, first, &mut list);
            list.push(first);
        } else {
            // The caller becomes a reader, if it is not, and leaves as one: no writer gets in
            // between.
            if mine == WRITER {
                // Ordering: Release, [rwsem.write]: pairs with the acquisitions of readers
                self.count.fetch_add(READER - WRITER, Release);
            }
            self.mark_wake(&held, Wakers::ReadOwned, &mut list);
            self.give_back_guarded(&held, &mut list);
        }
        drop(held);
        list.wake();
        true
    }

    /// [`give_back`](Self::give_back) of a reader by a holder of the wait lock.
    fn give_back_guarded(&self, held: &HeldRecord<P>, list: &mut WakeList<P>) {
        // Ordering: Release, [rwsem.read]: pairs with the writers' acquisitions
        let now = self.count.fetch_sub(READER, Release).wrapping_sub(READER);
        if now & WAITERS != 0 {
            self.wake_if_not_written(held, now, list);
        }
    }

    /// The last unlock allows writers to spin again.
    fn allow_spinning(&self) {
        if !Self::S.waits.reader_owned_spin {
            return;
        }
        let bits =
            if Self::S.waits.split_bits { owner::WR_NONSPINNABLE } else { owner::NONSPINNABLE };
        // Ordering: Relaxed, hint (re-checked by the next spinner)
        if self.owner.load(Relaxed) & bits != 0 {
            // Ordering: Relaxed, hint (as above)
            self.owner.fetch_and(!bits, Relaxed);
        }
    }
}
