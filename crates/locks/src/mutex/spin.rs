//! Spinning on the lock word, by those who are admitted to it.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_platform::{Holder, Pace, Platform, Spin2, Until, Word, is_cpu};

use super::{Policy, RawMutex};
use crate::events::{Event, inc};
use crate::osq;
use crate::record::ctl;

/// On a machine of many CPUs a spin may last so long for each of them, up to the most: the turn of one in a crowd comes
/// no sooner, and to sleep and be woken would cost everybody more. (Simulated ivybridge-ex-8s, 128 threads with 5 us
/// outside their sections: 737 kops/s with 20 us, 1,370 so.)
const CROWD_NS: u64 = 2_000;
const CROWD_MOST_NS: u64 = 200_000;

/// How a spin ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Spun {
    /// With the lock.
    Acquired,
    /// The lock was taken again and again under the spinner's nose.
    Retaken,
    /// The owner does not run, or time is up.
    GaveUp,
}

impl<P: Platform, W: Policy> RawMutex<P, W> {
    /// Waits until the lock is free or its count is not `count`; `None` if `until` ended it.
    /// Returns whether the lock was free, and the count.
    pub(super) fn await_change(&self, count: u8, until: Until) -> Option<(bool, u8)> {
        let count = (&self.words.count, u8::MAX, count);
        // Ordering: Relaxed, hint (try_acquire decides) (block)
        if Self::S.atomic_unlock {
            match P::spin_while2((&self.words.ctl, ctl::LOCKED, ctl::LOCKED), count, Relaxed, until)
            {
                Spin2::Changed(word, count) => Some((word & ctl::LOCKED == 0, count)),
                _ => None,
            }
        } else {
            match P::spin_while2((&self.words.locked, u8::MAX, 1), count, Relaxed, until) {
                Spin2::Changed(locked, count) => Some((locked == 0, count)),
                _ => None,
            }
        }
    }

    /// The owner as far as it is known. `None`: it does not run.
    fn holder(&self) -> Option<Holder> {
        // Ordering: Relaxed, hint (stale after migration: a wait ends early or at its deadline)
        let cpu = self.words.cpu.load(Relaxed);
        (!is_cpu(cpu) || cpu != P::cpu()).then(|| Holder { cpu, stamp: P::cpu_stamp(cpu) })
    }

    /// Whether the owner needs the caller's CPU.
    pub(super) fn owner_is_here(&self) -> bool {
        self.is_locked() && self.holder().is_none()
    }

    /// When a spin that begins now ends at the latest, in ticks: of a call with a deadline no later than that.
    pub(super) fn spin_end(deadline: Option<u64>) -> u64 {
        let crowd = (u64::from(P::cpus()) * CROWD_NS).min(CROWD_MOST_NS);
        let left = deadline.map_or(u64::MAX, |at| at.saturating_sub(P::now()));
        osq::spin_end::<P>(Self::S.spin_ns.max(crowd).min(left), Self::S.until_resched)
    }

    /// The first few polls, without bookkeeping: where owners alternate, the lock is often about
    /// to be released when a waiter arrives, and a waiter that first looks at the clock is late.
    pub(super) fn spin_eagerly(&self) -> bool {
        if P::spinner_cap() == 0 {
            return false;
        }
        for _ in 0..Self::S.eager_polls {
            if self.try_acquire() {
                return true;
            }
            P::busy_wait_ns(1);
        }
        false
    }

    /// Spins for the lock while its owner is believed to run, until [`spin_end`](Self::spin_end).
    pub(super) fn spin(&self, deadline: Option<u64>) -> Spun {
        self.spin_until(deadline, || self.try_fast())
    }

    /// The same for a waiter that takes the lock from the queue: `Acquired` says that it was seen free.
    pub(super) fn await_release(&self, deadline: Option<u64>) -> Spun {
        self.spin_until(deadline, || true)
    }

    fn spin_until(&self, deadline: Option<u64>, take: impl Fn() -> bool) -> Spun {
        if P::spinner_cap() == 0 || self.holder().is_none() {
            inc::<P>(Event::MutexOptNospin);
            return Spun::GaveUp;
        }
        let end = Self::spin_end(deadline);
        // Ordering: Relaxed, hint (compared with later readings only)
        let mut seen = self.words.count.load(Relaxed);
        let mut retakes = 0;
        // Ordering: Relaxed, hint (what the policy goes by)
        let mut owner = self.words.cpu.load(Relaxed);
        let spun = loop {
            let Some(holder) = self.holder() else {
                inc::<P>(Event::MutexOptStopped);
                break Spun::GaveUp;
            };
            let until = Until {
                deadline: Some(end),
                holder: Some(holder),
                running: None,
                resched: true,
                pace: Pace::Tight,
            };
            let Some((free, count)) = self.await_change(seen, until) else {
                // Ordering: Relaxed, hint (a new owner is worth another look)
                if P::ticks() < end && self.words.count.load(Relaxed) != seen {
                    continue;
                }
                break Spun::GaveUp;
            };
            if free && take() {
                return Spun::Acquired;
            }
            if P::ticks() >= end {
                break Spun::GaveUp;
            }
            if count != seen {
                // Polls that saw a change, not acquisitions: a timer tick of absence must not
                // look like a crowd.
                seen = count;
                // Ordering: Relaxed, hint (what the policy goes by)
                let now_owner = self.words.cpu.load(Relaxed);
                // Where the lock goes round among many CPUs nobody keeps it from the others. With one spinner
                // there is one other, and it is the owner's CPU or the spinner's.
                retakes += u32::from(now_owner == owner || Self::one_spinner());
                owner = now_owner;
                if retakes >= Self::S.retakes {
                    inc::<P>(Event::MutexOptRetaken);
                    break Spun::Retaken;
                }
            }
        };
        inc::<P>(Event::MutexOptFail);
        spun
    }
}
