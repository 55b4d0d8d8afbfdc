//! The wait lock of a record: a spin lock with a queue. Edges: see the parent module.
//!
//! Threads that find it taken stand in line, in a [queue](crate::mcs) of its own, and whoever comes then
//! goes behind them, as at the kernel's queued spinlock: dozens that polled a word of the line that the
//! holder works on would make each of its writes wait for their copies. Not in line: threads without a
//! node, and all where fewer than two may spin. One that waits too long, for a thread before it that does
//! not run, leaves the line and polls. *Checked by*: `tests/loom_record.rs`.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use lockwright_platform::{Me, Platform, Slot, Spin, Until, Word};

use super::{Record, WAIT_LOCK, node};
use crate::mcs::{self, Node};

/// How long a thread spins for it while it does not change, and how it waits then, for a holder that is
/// preempted.
const SPIN_NS: u64 = 2_000;
const YIELDS: u32 = 10;
const SLEEP_NS: u64 = 50_000;
/// How long it stands in line: a microsecond for each of some hundred before it.
const LINE_NS: u64 = 200_000;
/// Where fewer may spin there is no line.
const LINE_SPINNERS: u32 = 2;

const NODE: Node = Node::new(node::LINE_NEXT, node::LINE_STATE);

/// A record whose wait lock the caller holds.
pub struct HeldRecord<'m, P: Platform> {
    record: Record<P>,
    /// The caller's node, if it is first in line.
    in_line: Option<&'m Me<P>>,
}

impl<P: Platform> Record<P> {
    fn wait_lock(&self) -> &'static P::Word<u32> {
        &self.words.words[WAIT_LOCK]
    }

    /// Takes the wait lock, if it is free or becomes so within `ns`.
    pub fn acquire_within(self, ns: u64) -> Option<HeldRecord<'static, P>> {
        if let Some(held) = self.try_acquire() {
            return Some(held);
        }
        let until = Until::CHANGED.deadline(P::ticks() + P::ticks_of(ns));
        // Ordering: Relaxed, hint (re-checked by try_acquire)
        P::spin_while(self.wait_lock(), u32::MAX, 1, Relaxed, until);
        self.try_acquire()
    }

    /// Takes the wait lock, if it is free.
    pub fn try_acquire(self) -> Option<HeldRecord<'static, P>> {
        // Ordering: Acquire, [record.wait_lock]: pairs with the release in HeldRecord::drop(); Relaxed,
        // hint (failure gives up)
        self.wait_lock()
            .compare_exchange(0, 1, Acquire, Relaxed)
            .ok()
            .map(|_| HeldRecord { record: self, in_line: None })
    }

    /// Takes the wait lock. A thread with a node (`me`) stands in line with others, so that only one at a
    /// time fetches the line that the holder works on. The holder runs a few instructions, but may be
    /// preempted in them: after a short spin the wait yields.
    pub fn acquire(self, me: Option<&Me<P>>) -> HeldRecord<'_, P> {
        // Ordering: Relaxed, hint (whoever stands there comes first, no more)
        let line_stands = me.is_some() && self.line().load(Relaxed) != 0;
        if !line_stands && let Some(held) = self.try_acquire() {
            return held;
        }
        if let Some(me) = me
            && P::spinner_cap() >= LINE_SPINNERS
            && let Some(held) = self.acquire_in_line(me)
        {
            return held;
        }
        for turn in 0u32.. {
            if let Some(held) = self.try_acquire() {
                return held;
            }
            if !self.await_release() {
                // Yielding lets a holder of this thread's priority run, sleeping any.
                if turn < YIELDS { P::yield_now() } else { P::sleep(SLEEP_NS) }
            }
        }
        unreachable!("the loop has no end")
    }

    /// Waits for a change of the wait lock; false if there is none.
    fn await_release(self) -> bool {
        let until = Until::CHANGED.deadline(P::ticks() + P::ticks_of(SPIN_NS));
        // Ordering: Relaxed, hint (re-checked by try_acquire)
        let end = P::spin_while(self.wait_lock(), u32::MAX, 1, Relaxed, until);
        matches!(end, Spin::Changed(_))
    }

    /// `None`: the holder does not run, it seems, or somebody in the line does not.
    fn acquire_in_line(self, me: &Me<P>) -> Option<HeldRecord<'_, P>> {
        let end = P::ticks() + P::ticks_of(LINE_NS);
        let until =
            |before| Until { resched: true, running: Some(before), ..Until::CHANGED.deadline(end) };
        // Ordering: AcqRel, [mcs.tail], [mcs.empty]: releases the node to the successor, acquires the last
        // head's section
        let push = |me: Slot| Ok(Slot::new(self.line().swap(me.get(), AcqRel)));
        if mcs::join(NODE, me, until, push).is_err() {
            return None;
        }
        loop {
            if let Some(mut held) = self.try_acquire() {
                // The next in line is told when the wait lock is free, not before.
                held.in_line = Some(me);
                return Some(held);
            }
            if !self.await_release() {
                self.leave_line(me);
                return None;
            }
        }
    }

    fn leave_line(self, me: &Me<P>) {
        mcs::pass::<P>(NODE, me.slot(), |last| {
            // Ordering: AcqRel, [mcs.empty], [mcs.tail]: releases the head's section to the next first;
            // Relaxed, hint (the caller goes on)
            self.line().compare_exchange(last.get(), 0, AcqRel, Relaxed).is_ok()
        });
    }
}

impl<P: Platform> HeldRecord<'_, P> {
    /// The record.
    pub fn record(&self) -> Record<P> {
        self.record
    }
}

impl<P: Platform> Drop for HeldRecord<'_, P> {
    fn drop(&mut self) {
        // Ordering: Release, [record.wait_lock]: pairs with the exchange in try_acquire()
        self.record.wait_lock().store(0, Release);
        if let Some(me) = self.in_line {
            self.record.leave_line(me);
        }
    }
}
