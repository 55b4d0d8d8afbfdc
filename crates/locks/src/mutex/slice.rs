//! Slices: how long an owner that takes the lock again at once keeps it from those who wait. Edges: see
//! the parent module.

use core::sync::atomic::Ordering::{Relaxed, Release};

use lockwright_platform::{Platform, Word};

use super::{Policy, RawMutex};
use crate::events::{Event, inc};
use crate::record::{Anchor, HeldRecord, Record, ctl};

impl<P: Platform, W: Policy> RawMutex<P, W> {
    /// Whether a slice runs, or has run out and not been followed by another.
    pub(super) fn in_slices(record: Option<Record<P>>) -> bool {
        // Ordering: Relaxed, hint (what the policy goes by)
        Self::S.slices && record.is_some_and(|record| record.slice_end().load(Relaxed) != 0)
    }

    /// What is left of a slice, in ticks. A slice that has more left than slices last is over: the
    /// counter has gone backwards (another machine, a long sleep).
    pub(super) fn slice_left(end: u64) -> Option<u64> {
        let left = end.wrapping_sub(P::ticks());
        let running = Self::S.slices && end != 0 && left != 0 && left <= Self::longest_slice();
        running.then_some(left)
    }

    fn longest_slice() -> u64 {
        P::ticks_of(Self::S.slice_ns.max(Self::S.slice_min_ns))
    }

    /// Starts a slice, unless one runs and `anew` is not set.
    pub(super) fn begin_slice(held: &HeldRecord<P>, anew: bool) {
        let record = held.record();
        // Ordering: Relaxed, hint (read as hints outside the wait lock) (block)
        if anew || record.slice_end().load(Relaxed) == 0 {
            let waiters = u64::from(record.length().load(Relaxed)).max(1);
            let ns = Self::S.slice_ns.min(Self::S.round_ns / waiters).max(Self::S.slice_min_ns);
            let now = P::ticks();
            record.slice_end().store(now.wrapping_add(P::ticks_of(ns)).max(1), Relaxed);
            record.since().store(now, Relaxed);
            record.guests().store(0, Relaxed);
        }
    }

    /// The owner's look at its slice, at every so many acquisitions.
    #[cold]
    pub(super) fn check_slice(&self) {
        let Some(id) = self.anchor().index() else {
            return;
        };
        let record = Record::<P>::at(id);
        // Ordering: Relaxed, hint (what the policy goes by)
        let slice_end = record.slice_end().load(Relaxed);
        if slice_end == 0 || Self::slice_left(slice_end).is_some() {
            return;
        }
        let over = P::ticks().wrapping_sub(slice_end);
        if over < P::ticks_of(Self::S.grace_ns) {
            return;
        }
        let Some(first) = record.first() else {
            return;
        };
        if over < P::ticks_of(2 * Self::S.grace_ns) {
            P::unpark(first);
        } else {
            // Ordering: Release, [mutex.ask]: the owner's own unlock reads it
            self.words.ctl.fetch_or(ctl::HANDOFF, Release);
            inc::<P>(Event::MutexHandoffAsked);
        }
    }
}
