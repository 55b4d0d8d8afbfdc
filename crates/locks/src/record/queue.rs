//! A list of waiters: links in their nodes, head and tail in the record or lock it belongs to. All of it
//! changes only under one small lock of the owner; the head may be read without. Edges: see the parent
//! module.

use core::sync::atomic::Ordering::{Relaxed, Release};

use lockwright_platform::{Platform, Slot, Word};

use super::node;

/// The ends of a list, for as long as the lock over it is held.
pub struct Queue<'a, P: Platform> {
    /// The first waiter's slot, or 0.
    pub head: &'a P::Word<u16>,
    /// The last one's.
    pub tail: &'a P::Word<u16>,
}

/// The waiter behind `slot`.
pub fn next<P: Platform>(slot: Slot) -> Option<Slot> {
    // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
    Slot::new(node::word::<P>(slot, node::NEXT).load(Relaxed) as u16)
}

/// The waiter before `slot`.
pub fn previous<P: Platform>(slot: Slot) -> Option<Slot> {
    // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
    Slot::new(node::word::<P>(slot, node::PREV).load(Relaxed) as u16)
}

impl<P: Platform> Queue<'_, P> {
    /// Appends a waiter; true if it is first.
    pub fn push_back(&self, slot: Slot) -> bool {
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock]) (block)
        let last = self.tail.load(Relaxed);
        node::word::<P>(slot, node::NEXT).store(0, Relaxed);
        node::word::<P>(slot, node::PREV).store(u32::from(last), Relaxed);
        self.tail.store(slot.get(), Relaxed);

        match Slot::new(last) {
            Some(last) => {
                // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
                node::word::<P>(last, node::NEXT).store(u32::from(slot.get()), Relaxed);
                false
            }
            None => {
                // Ordering: Release, [record.head]: pairs with the load in first()
                self.head.store(slot.get(), Release);
                true
            }
        }
    }

    /// Puts a waiter before all others.
    pub fn push_front(&self, slot: Slot) {
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock]) (block)
        let first = self.head.load(Relaxed);
        node::word::<P>(slot, node::NEXT).store(u32::from(first), Relaxed);
        node::word::<P>(slot, node::PREV).store(0, Relaxed);

        match Slot::new(first) {
            // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
            Some(first) => node::word::<P>(first, node::PREV).store(u32::from(slot.get()), Relaxed),
            // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
            None => self.tail.store(slot.get(), Relaxed),
        }
        // Ordering: Release, [record.head]: pairs with the load in first()
        self.head.store(slot.get(), Release);
    }

    /// Puts a waiter behind another.
    pub fn push_behind(&self, slot: Slot, other: Slot) {
        let Some(after) = next::<P>(other) else {
            self.push_back(slot);
            return;
        };
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock]) (block)
        node::word::<P>(slot, node::PREV).store(u32::from(other.get()), Relaxed);
        node::word::<P>(slot, node::NEXT).store(u32::from(after.get()), Relaxed);
        node::word::<P>(other, node::NEXT).store(u32::from(slot.get()), Relaxed);
        node::word::<P>(after, node::PREV).store(u32::from(slot.get()), Relaxed);
    }

    /// Takes a waiter out of the list, wherever it stands.
    pub fn remove(&self, slot: Slot) {
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock]) (block)
        let next = node::word::<P>(slot, node::NEXT).load(Relaxed);
        let prev = node::word::<P>(slot, node::PREV).load(Relaxed);

        match Slot::new(next as u16) {
            // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
            Some(next) => node::word::<P>(next, node::PREV).store(prev, Relaxed),
            // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
            None => self.tail.store(prev as u16, Relaxed),
        }
        match Slot::new(prev as u16) {
            // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
            Some(prev) => node::word::<P>(prev, node::NEXT).store(next, Relaxed),
            // Ordering: Release, [record.head]: pairs with the load in first()
            None => self.head.store(next as u16, Release),
        }
    }
}
