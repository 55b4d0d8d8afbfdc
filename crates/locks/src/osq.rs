//! Optimistic spin queue: lets one thread at a time spin on a lock.
//!
//! *Algorithm*: cancellable MCS queue of the Linux kernel (osq_lock), written anew from its
//! description. *Differs from the kernel in*: nodes belong to threads (type-stable records named
//! by 16-bit slots), not to CPUs, since a user-space spinner can be preempted; so a waiter also
//! leaves when its predecessor does not run.
//!
//! *Guarantees*: at most one thread is between a successful [`lock`] and its [`unlock`]; order
//! FIFO among those who stay; abortable. *Does not guarantee*: the lock it is used beside.
//! *Cost*: 2 bytes per lock, 2 words in the thread's record; one exchange and one CAS without
//! contention. *Waiting*: spinning on the own node. *Node lifetime*: records are never freed; a
//! node may be reused as soon as `lock` returned false or `unlock` returned, because both wait
//! until no neighbour can write to it. *Checked by*: `tests/loom_osq.rs`, `osq/tests.rs`.
//!
//! ```text
//! State of a node   next   slot of the successor, 0 = none known
//!                   prev   slot of the predecessor, or HEAD: it passed the queue on to me
//! ```
//!
//! `prev` has one writer at a time: the thread itself before it is linked, then whoever is its
//! predecessor, which either unlinks itself (writes its own predecessor) or passes the queue on.
//!
//! ```text
//! Edges
//!  [osq.tail]    lock: tail swap AcqRel -> lock: tail swap AcqRel  publishes the node's initialised fields to the successor
//!  [osq.link]    lock: prev.next store Release -> stabilise_next: next exchange AcqRel, unqueue: prev.next exchange  publishes my.prev before the link can be seen
//!  [osq.handoff] unlock: next.prev store Release -> lock: spin on prev Acquire, unqueue: prev load Acquire  publishes the head's section
//!  [osq.empty]   unlock, stabilise_next: tail exchange Release -> lock: tail swap AcqRel  publishes the head's section to the next first
//!  [osq.unlink]  unqueue: next.prev, prev.next stores Release -> unqueue: prev load Acquire, stabilise_next: next exchange  publishes the shortened list
//! ```
//!
//! Reclaim: `stabilise_next` ends only when no successor can still find this node by its number.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use lockwright_platform::{Me, Platform, Slot, Spin, ThreadRecord, Until, Word};

use crate::events::{Event, inc};
use crate::record::node;

/// The tail word of a queue: 0 when empty.
pub type Tail<P> = <P as Platform>::Word<u16>;

fn next<P: Platform>(record: &ThreadRecord<P>) -> &P::Word<u32> {
    &node::words(record)[node::OSQ_NEXT]
}

fn prev<P: Platform>(record: &ThreadRecord<P>) -> &P::Word<u32> {
    &node::words(record)[node::OSQ_PREV]
}

/// In `prev`: there is no predecessor any more, the queue is mine.
const HEAD: u32 = 1 << 16;

fn record<P: Platform>(slot: u32) -> &'static ThreadRecord<P> {
    P::thread_record(Slot::new(slot as u16).expect("a queued node has a slot"))
}

/// Queues up; `true` when the caller is head, `false` when it left because `until` ended.
///
/// `until.running` is set by this function to the predecessor.
pub fn lock<P: Platform>(tail: &Tail<P>, me: &Me<P>, until: Until) -> bool {
    let head = line_up(tail, me, until);
    inc::<P>(if head { Event::OsqHead } else { Event::OsqUnqueue });
    head
}

/// [`lock`] uncounted, for a queue that is not one of spinners on a lock.
pub(crate) fn line_up<P: Platform>(tail: &Tail<P>, me: &Me<P>, until: Until) -> bool {
    let (slot, my) = (me.slot(), me.record());
    // Ordering: Relaxed, init (published by [osq.tail])
    next(my).store(0, Relaxed);

    // Ordering: AcqRel, [osq.tail], [osq.empty]: releases the node to the successor, acquires the
    // predecessor's, or the section of the last head
    let old = tail.swap(slot.get(), AcqRel);
    let Some(pred) = Slot::new(old) else {
        return true;
    };
    // Ordering: Relaxed, init (published by [osq.link])
    prev(my).store(u32::from(old), Relaxed);
    // Ordering: Release, [osq.link]: my.prev must be there before a neighbour can find me, or its
    // unqueue would be overwritten by my late store (kernel fix 50972fe78f)
    next(P::thread_record(pred)).store(u32::from(slot.get()), Release);

    let until = Until { running: Some(pred), ..until };
    // Ordering: Acquire, [osq.handoff]: pairs with the store in unlock()
    matches!(P::spin_while(prev(my), HEAD, 0, Acquire, until), Spin::Changed(_))
        || unqueue(tail, me)
}

/// When a spin that begins now ends at the latest, in ticks: after `ns`, or, if it lasts until the
/// scheduler wants the CPU and the platform tells that, never.
pub(crate) fn spin_end<P: Platform>(ns: u64, until_resched: bool) -> u64 {
    if until_resched && P::TELLS_RESCHED {
        return u64::MAX;
    }
    P::ticks().saturating_add(P::ticks_of(ns))
}

/// Passes the queue on to the next in line, if any.
pub fn unlock<P: Platform>(tail: &Tail<P>, me: &Me<P>) {
    let slot = me.slot().get();
    // The own node first: in a crowd the tail is elsewhere, and the caller may hold the lock.
    let mut succ = take_next::<P>(me.record());
    if succ.is_none() {
        // Ordering: Release, [osq.empty]: pairs with the swap in lock(); Relaxed, hint (re-checked
        // by stabilise_next)
        if tail.compare_exchange(slot, 0, Release, Relaxed).is_ok() {
            return;
        }
        succ = stabilise_next(tail, me, 0);
    }
    if let Some(succ) = succ {
        // Ordering: Release, [osq.handoff]: pairs with the spin in lock()
        prev(record::<P>(succ)).store(HEAD, Release);
    }
}

/// The successor, if it is known and has not begun to leave; it cannot take me for its predecessor
/// any more.
fn take_next<P: Platform>(my: &ThreadRecord<P>) -> Option<u32> {
    // An exchange, not a load: it ends the successor's hope to unlink itself from me. And not a
    // swap: it must not write 0 over a link that is being made.
    // Ordering: Relaxed, hint (re-checked by the exchange)
    let succ = next(my).load(Relaxed);
    // Ordering: AcqRel, [osq.link], [osq.unlink]: acquires the successor's prev; its unqueue reads
    // the 0 with the same care; Relaxed, hint (the caller tries again)
    let taken = succ != 0 && next(my).compare_exchange(succ, 0, AcqRel, Relaxed).is_ok();
    taken.then_some(succ)
}

/// Waits until the successor is known and cannot take me for its predecessor any more, or I am
/// last and the tail says `old` again. Returns the successor.
fn stabilise_next<P: Platform>(tail: &Tail<P>, me: &Me<P>, old: u16) -> Option<u32> {
    let (slot, my) = (me.slot().get(), me.record());
    loop {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let last = tail.load(Relaxed);
        if last == slot
            // Ordering: AcqRel, [osq.empty], [osq.tail]: releases the head's section to the next
            // first; acquires what a later successor would otherwise pass on; Relaxed, hint
            // (re-checked)
            && tail.compare_exchange(slot, old, AcqRel, Relaxed).is_ok()
        {
            return None;
        }
        if let Some(succ) = take_next::<P>(my) {
            return Some(succ);
        }
        if last != slot {
            // Ordering: Relaxed, hint (the loop decides)
            P::spin_while2(
                (tail, u16::MAX, last),
                (next(my), u32::MAX, 0),
                Relaxed,
                Until::CHANGED,
            );
        }
    }
}

/// Leaves the queue: true if the queue was passed on to me meanwhile.
fn unqueue<P: Platform>(tail: &Tail<P>, me: &Me<P>) -> bool {
    let (slot, my) = (u32::from(me.slot().get()), me.record());

    // Step A: make sure that prev cannot pass the queue on to me any more.
    let before = loop {
        // Ordering: Acquire, [osq.unlink], [osq.handoff]: a concurrent unqueue of prev may have
        // replaced it, and its unlock turns the cancellation into success
        let before = prev(my).load(Acquire);
        if before == HEAD {
            return true;
        }
        let its_next = next(record::<P>(before));
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let seen = its_next.load(Relaxed);
        if seen == slot
            // Ordering: AcqRel, [osq.link]: pairs with the successor's link and my own earlier
            // one; Relaxed, hint (retried)
            && its_next.compare_exchange(slot, 0, AcqRel, Relaxed).is_ok()
        {
            break before;
        }
        if seen != slot {
            // Ordering: Relaxed, hint (the loop decides)
            P::spin_while2(
                (prev(my), u32::MAX, before),
                (its_next, u32::MAX, seen),
                Relaxed,
                Until::CHANGED,
            );
        }
    };

    // Step B: make sure that next cannot take me for its predecessor.
    let Some(after) = stabilise_next(tail, me, before as u16) else {
        return false;
    };

    // Step C: link the two together. `prev` first: next must know its new predecessor before
    // that one can pass the queue on to it.
    // Ordering: Release, [osq.unlink]: pairs with the loads in step A (block)
    prev(record::<P>(after)).store(before, Release);
    next(record::<P>(before)).store(after, Release);
    false
}

#[cfg(all(test, not(any(loom, miri))))]
mod tests;
