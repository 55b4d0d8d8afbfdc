//! The busy-waits of real threads: polite loops that look at the clock and the holder every 16th turn.

use core::sync::atomic::Ordering;

use crate::{Pace, Platform, Scalar, Spin, Spin2, Until, Word};

/// Turns between looks at the clock and the holder (the kernel's rwsem uses the same number).
const TURNS: u32 = 16;

/// What may be learned from the polls of a wait that happens anyway.
pub(crate) trait Sample {
    /// Does a poll.
    fn around<T>(&mut self, poll: impl FnOnce() -> T) -> T;
    /// The last poll saw a change.
    fn end(&self);
}

/// Nothing is.
impl Sample for () {
    #[inline(always)]
    fn around<T>(&mut self, poll: impl FnOnce() -> T) -> T {
        poll()
    }

    #[inline(always)]
    fn end(&self) {}
}

/// Why to stop although no word has changed.
enum Stop {
    Deadline,
    Stopped,
    Resched,
}

/// One polite turn: pauses, and on every [`TURNS`]th call checks the reasons to stop.
#[inline(always)]
fn turn<P: Platform>(turns: &mut u32, until: &Until) -> Option<Stop> {
    *turns = turns.saturating_add(1);
    match until.pace {
        Pace::Tight => core::hint::spin_loop(),
        Pace::Every(ns) => P::busy_wait_ns(ns),
    }
    if until.deadline.is_none() && turns.is_multiple_of(0x100) {
        give_way::<P>(*turns);
    }
    if turns.is_multiple_of(TURNS) || matches!(until.pace, Pace::Every(_)) {
        check::<P>(until)
    } else {
        None
    }
}

/// Every so many checks of a wait that nothing but the word can end, the CPU is given up: whoever
/// is to change the word may need it, for a real-time waiter only a sleep lets it run.
fn give_way<P: Platform>(turns: u32) {
    match turns {
        0..0x400 => {}
        0x400..0x4000 => P::yield_now(),
        _ => P::sleep(50_000),
    }
}

fn check<P: Platform>(until: &Until) -> Option<Stop> {
    if let Some(holder) = until.holder
        && crate::is_cpu(holder.cpu)
        && (holder.cpu == P::cpu() || P::cpu_stamp(holder.cpu) != holder.stamp)
    {
        return Some(Stop::Stopped);
    }
    if let Some(slot) = until.running
        && !P::is_running(slot)
    {
        return Some(Stop::Stopped);
    }
    if until.resched && P::should_yield() {
        return Some(Stop::Resched);
    }
    if until.deadline.is_some_and(|at| P::ticks() >= at) {
        return Some(Stop::Deadline);
    }
    None
}

#[inline]
pub(crate) fn spin_while<P: Platform, T: Scalar>(
    word: &P::Word<T>,
    mask: T,
    value: T,
    order: Ordering,
    until: Until,
) -> Spin<T> {
    let mut turns = 0;
    loop {
        let now = word.load(order);
        if now & mask != value {
            return Spin::Changed(now);
        }
        match turn::<P>(&mut turns, &until) {
            None => {}
            Some(Stop::Deadline) => return Spin::Deadline,
            Some(Stop::Stopped) => return Spin::Stopped,
            Some(Stop::Resched) => return Spin::Resched,
        }
    }
}

#[inline]
pub(crate) fn spin_while2<P: Platform, A: Scalar, B: Scalar>(
    a: (&P::Word<A>, A, A),
    b: (&P::Word<B>, B, B),
    order: Ordering,
    until: Until,
    mut sample: impl Sample,
) -> Spin2<A, B> {
    let mut turns = 0;
    loop {
        let now_a = sample.around(|| a.0.load(order));
        let now_b = b.0.load(order);
        if now_a & a.1 != a.2 || now_b & b.1 != b.2 {
            sample.end();
            return Spin2::Changed(now_a, now_b);
        }
        match turn::<P>(&mut turns, &until) {
            None => {}
            Some(Stop::Deadline) => return Spin2::Deadline,
            Some(Stop::Stopped) => return Spin2::Stopped,
            Some(Stop::Resched) => return Spin2::Resched,
        }
    }
}
