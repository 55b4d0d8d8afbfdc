//! The mutex's part in a condition wait: notified waiters are moved to its queue without being
//! woken, and go on there. Edges: see the parent module.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Me, Platform, Slot, Word};

use super::{Policy, RawMutex};
use crate::events::{Event, inc, note_fence};
use crate::record::{Record, attach, ctl, node, state, waiter_state, word};

/// Notes in a condition waiter's node the address of the mutex that it will return with, 0 if it is none of ours.
pub(crate) fn note_address<P: Platform>(me: &Me<P>, address: u64) {
    for (word, half) in node::MUTEX.into_iter().zip(halves(address)) {
        // Ordering: Relaxed, init (published by the guard, [record.guard])
        node::words(me.record())[word].store(half, Relaxed);
    }
}

fn halves(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

impl<P: Platform, W: Policy> RawMutex<P, W> {
    /// The mutex's address, for comparison only.
    fn address(&self) -> u64 {
        core::ptr::from_ref(self).addr() as u64
    }

    /// Notes in a condition waiter's node which mutex it will return with.
    pub(crate) fn note_in(&self, me: &Me<P>) {
        note_address(me, self.address());
    }

    fn is_noted_in(&self, slot: Slot) -> bool {
        let words = node::words(P::thread_record(slot));
        // Ordering: Relaxed, sequence (noted before the waiter queued, [record.guard])
        node::MUTEX
            .into_iter()
            .zip(halves(self.address()))
            .all(|(w, half)| words[w].load(Relaxed) == half)
    }

    /// Appends a batch of sleeping threads, linked by `node::CHAIN`, to the queue; they wake one
    /// by one as the lock comes to them. Those that wait with another mutex are returned, as a
    /// chain; all of them if there is no record for the queue.
    pub(crate) fn requeue(&self, first: Slot) -> Option<Slot> {
        let Some(guarded) = attach::<P>(&self.ctl, None) else {
            return Some(first);
        };
        let (mut strangers, mut moved) = (None, 0);
        let mut rest = Some(first);
        while let Some(slot) = rest {
            let chain = word::<P>(slot, node::CHAIN);
            // Ordering: Relaxed, sequence (written before the first one's state,
            // [condvar.notify], which the caller has acquired)
            rest = Slot::new(chain.load(Relaxed) as u16);
            if !self.is_noted_in(slot) {
                // Ordering: Relaxed, owner-only (the chain is this thread's)
                chain.store(strangers.map_or(0, |s: Slot| s.get().into()), Relaxed);
                strangers = Some(slot);
                continue;
            }
            guarded.push_back(slot, state::CHAINED);
            // Ordering: Release, [mutex.grant]: the waiter looks for its record and its place
            waiter_state::<P>(slot).store(state::WAITING, Release);
            moved += 1;
            inc::<P>(Event::CondRequeue);
        }
        guarded.add_users(moved);
        let record = guarded.record();
        // Only now: an unlock may honour the request at once, and a waiter that it wakes must
        // find that it waits for the mutex, or it would sleep again with the request taken down.
        // Ordering: Release, [mutex.ask]: publishes the queue to the unlock that sees it
        self.ctl.fetch_or(ctl::WAKE, Release);
        guarded.leave(&self.ctl);
        // Ordering: fence_heavy, [mutex.dekker]: store-load, the request against the look at the
        // lock; the caller itself may queue behind those it moved, and wake nobody
        note_fence::<P>(P::fence_heavy());
        if !self.is_locked()
            && let Some(first) = record.first()
        {
            P::unpark(first);
        }
        strangers
    }

    /// The rest of a condition wait for a thread that [`requeue`](Self::requeue) has queued.
    pub(crate) fn wait_requeued(&self, me: Me<P>) {
        // Ordering: Acquire, [record.attach]: the record cannot be detached while we are its user
        match ctl::record(self.ctl.load(Acquire)) {
            Some(id) => _ = self.wait_queued(&me, Record::at(id), None),
            None => {
                debug_assert!(false, "a waiter keeps the record attached");
                drop(me);
                self.lock();
            }
        }
    }
}
