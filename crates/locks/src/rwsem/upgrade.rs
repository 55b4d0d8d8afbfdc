//! The upgradable reader: reads beside others, and may become the writer without letting another
//! in between. At most one at a time. Edges: see the parent module.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use lockwright_platform::{Me, Platform, Word};

use super::count::{HANDOFF, LOCKED, READ_FAIL, READ_FAILED, READER, UPGRADABLE, WAITERS, WRITER};
use super::wake::{Wakers, knows_it_is_first};
use super::{Policy, RawRwLock, kind};
use crate::events::{Event, inc};
use crate::record::{HeldRecord, attach, state};

/// What an upgradable reader has in the count.
const MINE: u64 = READER | UPGRADABLE;

impl<P: Platform, W: Policy> RawRwLock<P, W> {
    /// Acquires the lock for upgradable reading.
    pub fn read_upgradable(&self) {
        if !self.try_read_upgradable() {
            self.upgradable_slow(None);
        }
    }

    /// The same, unless `Platform::now()` reaches `deadline` first.
    pub fn read_upgradable_until(&self, deadline: u64) -> bool {
        self.try_read_upgradable() || self.upgradable_slow(Some(deadline))
    }

    /// Acquires the lock for upgradable reading if that needs no wait.
    pub fn try_read_upgradable(&self) -> bool {
        self.take_upgradable(READ_FAILED)
    }

    fn take_upgradable(&self, refused: u64) -> bool {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut now = self.count.load(Relaxed);
        while now & (refused | UPGRADABLE) == 0 {
            let new = now.wrapping_add(MINE);
            if new & READ_FAIL != 0 {
                return false;
            }
            // Ordering: Acquire, [rwsem.write]: pairs with the release in unlock_write();
            // Relaxed, hint (retried)
            match self.count.compare_exchange(now, new, Acquire, Relaxed) {
                Ok(_) => {
                    self.note_reader();
                    return true;
                }
                Err(other) => now = other,
            }
        }
        false
    }

    #[cold]
    fn upgradable_slow(&self, deadline: Option<u64>) -> bool {
        inc::<P>(Event::RwsemReadSlow);
        let past: fn(&Self) -> bool = |lock| lock.take_upgradable(WRITER | HANDOFF | READ_FAIL);
        let Some(me) = P::enter() else {
            return self.without_node(past, Event::RwsemRlockFail, deadline);
        };
        P::check_in(&me);
        let Some(held) = attach(self.anchor(), Some(&me)) else {
            drop(me);
            return self.without_node(past, Event::RwsemRlockFail, deadline);
        };
        self.clear_leftovers(&held);
        self.describe(&me, kind::UPGRADABLE, 0, false);
        let first = held.push_back(me.slot(), state::WAITING);
        self.wait_read(&me, held, if first { WAITERS } else { 0 }, false, deadline)
    }

    /// Releases an upgradable reader's hold.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock for upgradable reading.
    /// 2. The lock outlives this call.
    pub unsafe fn unlock_upgradable(&self) {
        self.give_back(MINE);
    }

    /// Releases an upgradable reader's hold; the last reader passes the lock to the first waiter.
    ///
    /// # Safety
    ///
    /// As for [`unlock_upgradable`](Self::unlock_upgradable).
    pub unsafe fn unlock_upgradable_fair(&self) {
        // SAFETY: held for upgradable reading (1), for reading after the first call; the lock
        // outlives both (2).
        unsafe {
            self.downgrade_upgradable();
            self.unlock_read_fair();
        }
    }

    /// Turns the upgradable hold into a reader's; another may have the right then.
    ///
    /// # Safety
    ///
    /// As for [`unlock_upgradable`](Self::unlock_upgradable).
    pub unsafe fn downgrade_upgradable(&self) {
        // Ordering: Release, [rwsem.read]: pairs with the writers' acquisitions
        if self.count.fetch_sub(UPGRADABLE, Release) & WAITERS != 0 {
            self.wake(Wakers::Readers);
        }
    }

    /// Turns a writer's hold into an upgradable reader's.
    ///
    /// # Safety
    ///
    /// As for [`unlock_write`](Self::unlock_write).
    pub unsafe fn downgrade_to_upgradable(&self) {
        // Ordering: Release, [rwsem.write]: pairs with the acquisitions of readers
        let before = self.count.fetch_add(MINE - WRITER, Release);
        self.note_reader();
        if before & WAITERS != 0 {
            self.wake(Wakers::ReadOwned);
        }
    }

    /// Turns the upgradable hold into a writer's if there are no other readers.
    ///
    /// # Safety
    ///
    /// As for [`unlock_upgradable`](Self::unlock_upgradable).
    pub unsafe fn try_upgrade(&self) -> bool {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut now = self.count.load(Relaxed);
        while now & LOCKED == READER {
            // Ordering: Acquire, [rwsem.read]: pairs with the releases of the other readers;
            // Relaxed, hint (retried)
            match self.count.compare_exchange(now, now - MINE + WRITER, Acquire, Relaxed) {
                Ok(_) => {
                    self.note_writer();
                    return true;
                }
                Err(other) => now = other,
            }
        }
        false
    }

    /// Turns the upgradable hold into a writer's, waiting for the other readers to leave.
    ///
    /// # Safety
    ///
    /// As for [`unlock_upgradable`](Self::unlock_upgradable).
    pub unsafe fn upgrade(&self) {
        // SAFETY: passes on this function's contract.
        unsafe {
            if !self.try_upgrade() {
                self.upgrade_slow(None);
            }
        }
    }

    /// The same, unless `Platform::now()` reaches `deadline` first: then the caller still holds
    /// the lock for upgradable reading.
    ///
    /// # Safety
    ///
    /// As for [`unlock_upgradable`](Self::unlock_upgradable).
    pub unsafe fn upgrade_until(&self, deadline: u64) -> bool {
        // SAFETY: passes on this function's contract.
        unsafe { self.try_upgrade() || self.upgrade_slow(Some(deadline)) }
    }

    /// # Safety
    ///
    /// As for [`unlock_upgradable`](Self::unlock_upgradable).
    #[cold]
    unsafe fn upgrade_slow(&self, deadline: Option<u64>) -> bool {
        inc::<P>(Event::RwsemWriteSlow);
        // SAFETY: passes on this function's contract.
        let attempt: fn(&Self) -> bool = |lock| unsafe { lock.try_upgrade() };
        let Some(me) = P::enter() else {
            return self.without_node(attempt, Event::RwsemWlockFail, deadline);
        };
        P::check_in(&me);
        let Some(held) = attach(self.anchor(), Some(&me)) else {
            drop(me);
            return self.without_node(attempt, Event::RwsemWlockFail, deadline);
        };
        self.describe(&me, kind::UPGRADING, 0, false);
        self.clear_leftovers(&held);
        if let Some(first) = held.first() {
            knows_it_is_first::<P>(first, false);
        }
        held.push_front(me.slot(), state::WAITING);
        // HANDOFF, whoever asked for it before: no reader may come any more, or the others would
        // never have left.
        // Ordering: AcqRel, [rwsem.queue]: publishes the record to the unlock that sees it
        self.count.fetch_or(WAITERS | HANDOFF, AcqRel);
        self.wait_upgrade(&me, held, deadline)
    }

    fn wait_upgrade(&self, me: &Me<P>, held: HeldRecord<P>, deadline: Option<u64>) -> bool {
        let record = held.record();
        let mut held = held;
        loop {
            if self.try_upgrade_queued(me, &held) {
                held.remove(me.slot());
                held.leave(self.anchor());
                self.note_writer();
                inc::<P>(Event::RwsemWlock);
                return true;
            }
            drop(held);
            if deadline.is_some_and(|at| P::now() >= at) {
                self.leave_queue(me, record.acquire(Some(me)));
                inc::<P>(Event::RwsemWlockFail);
                return false;
            }
            P::park(me, deadline);
            inc::<P>(Event::RwsemSleepWriter);
            P::check_in(me);
            held = record.acquire(Some(me));
        }
    }

    fn try_upgrade_queued(&self, me: &Me<P>, held: &HeldRecord<P>) -> bool {
        let keep = if held.next(me.slot()).is_none() { !(WAITERS | HANDOFF) } else { !HANDOFF };
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut now = self.count.load(Relaxed);
        while now & LOCKED == READER {
            // Ordering: Acquire, [rwsem.read]: pairs with the releases of the other readers;
            // Relaxed, hint (retried)
            match self.count.compare_exchange(now, (now - MINE + WRITER) & keep, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_do_not_overlap() {
        use super::super::count::READERS;
        let all = [WRITER, WAITERS, HANDOFF, UPGRADABLE, READERS, READ_FAIL];
        assert_eq!(all.iter().map(|bits| bits.count_ones()).sum::<u32>(), 4 + 55 + 1);
        assert_eq!(all.iter().fold(0, |sum, bits| sum | bits).count_ones(), 4 + 55 + 1);
    }
}
