//! Waiting for a record's guard. Edges: see the parent module.
//!
//! Threads that find the guard taken stand in line for it, in an OSQ of its own
//! ([`line`](Record::line)), and whoever comes then goes behind them, as at the kernel's queued
//! spinlock: dozens that polled a word of the line that the holder works on would make each of its
//! writes wait for their copies. Not in line: threads without a node, and all where fewer than two may
//! spin. One that waits too long, for a thread before it that does not run, leaves the line and polls.
//! *Checked by*: `tests/loom_record.rs`.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Me, Platform, Spin, Until, Word};

use super::{GUARD, Guarded, Record, attach};
use crate::osq;

/// How long a thread spins for the guard while it does not change, and how it waits then, for a
/// holder that is preempted.
const GUARD_SPIN_NS: u64 = 2_000;
const GUARD_YIELDS: u32 = 10;
const GUARD_SLEEP_NS: u64 = 50_000;
/// How long it stands in line for it: a microsecond for each of some hundred before it.
const GUARD_LINE_NS: u64 = 200_000;
/// Fewer spinners than this make no line.
const GUARD_CROWD: u32 = 2;

impl<P: Platform> Record<P> {
    /// Takes the guard, if it is free or becomes so within `ns`.
    pub fn acquire_within(self, ns: u64) -> Option<Guarded<'static, P>> {
        if let Some(guarded) = self.try_acquire() {
            return Some(guarded);
        }
        let until = Until::CHANGED.deadline(P::ticks() + P::ticks_of(ns));
        // Ordering: Relaxed, hint (re-checked by try_acquire)
        P::spin_while(&self.words.words[GUARD], u32::MAX, 1, Relaxed, until);
        self.try_acquire()
    }

    /// Takes the guard, if it is free.
    pub fn try_acquire(self) -> Option<Guarded<'static, P>> {
        let guard = &self.words.words[GUARD];
        // Ordering: Acquire, [record.guard]: pairs with the release in Guarded::drop(); Relaxed,
        // hint (failure gives up)
        guard
            .compare_exchange(0, 1, Acquire, Relaxed)
            .ok()
            .map(|_| Guarded { record: self, in_line: None })
    }

    /// Takes the guard. A thread with a node (`me`) stands in line with others, so that only one at a
    /// time fetches the line that the holder works on. The holder runs a few instructions, but may be
    /// preempted in them: after a short spin the wait yields.
    pub fn acquire(self, me: Option<&Me<P>>) -> Guarded<'_, P> {
        // Ordering: Relaxed, hint (whoever stands there comes first, no more)
        let line_stands = me.is_some() && self.line().load(Relaxed) != 0;
        if !line_stands && let Some(guarded) = self.try_acquire() {
            return guarded;
        }
        if let Some(me) = me
            && P::spinner_cap() >= GUARD_CROWD
            && let Some(guarded) = self.acquire_in_line(me)
        {
            return guarded;
        }
        for turn in 0u32.. {
            if let Some(guarded) = self.try_acquire() {
                return guarded;
            }
            if !self.await_release() {
                // Yielding lets a holder of this thread's priority run, sleeping any.
                if turn < GUARD_YIELDS { P::yield_now() } else { P::sleep(GUARD_SLEEP_NS) }
            }
        }
        unreachable!("the loop has no end")
    }

    /// The guard of the record that the caller uses already, or of one for the lock with this control
    /// word; see [`attach`].
    pub fn acquire_or_attach<'m>(
        used: Option<Self>,
        control: &P::Word<u32>,
        me: &'m Me<P>,
    ) -> Option<Guarded<'m, P>> {
        match used {
            Some(record) => Some(record.acquire(Some(me))),
            None => attach(control, Some(me)),
        }
    }

    /// Waits for a change of the guard; false if there is none.
    fn await_release(self) -> bool {
        let until = Until::CHANGED.deadline(P::ticks() + P::ticks_of(GUARD_SPIN_NS));
        // Ordering: Relaxed, hint (re-checked by try_acquire)
        let end = P::spin_while(&self.words.words[GUARD], u32::MAX, 1, Relaxed, until);
        matches!(end, Spin::Changed(_))
    }

    /// `None`: the holder does not run, it seems, or somebody in the line does not.
    fn acquire_in_line(self, me: &Me<P>) -> Option<Guarded<'_, P>> {
        let end = P::ticks() + P::ticks_of(GUARD_LINE_NS);
        let until = Until { resched: true, ..Until::CHANGED.deadline(end) };
        if !osq::line_up(self.line(), me, until) {
            return None;
        }
        loop {
            if let Some(mut guarded) = self.try_acquire() {
                // The next in line is told when the guard is free, not before.
                guarded.in_line = Some(me);
                return Some(guarded);
            }
            if !self.await_release() {
                osq::unlock(self.line(), me);
                return None;
            }
        }
    }
}

impl<P: Platform> Drop for Guarded<'_, P> {
    fn drop(&mut self) {
        // Ordering: Release, [record.guard]: pairs with the exchange in try_acquire()
        self.record.words.words[GUARD].store(0, Release);
        if let Some(me) = self.in_line {
            osq::unlock(self.record.line(), me);
        }
    }
}
