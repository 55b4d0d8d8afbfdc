//! The beginning of a wait: what the caller is to the lock, and whether it spins. Edges: see the parent module.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_platform::{Me, Platform, Until, Word};

use super::spin::Spun;
use super::{Policy, RawMutex};
use crate::events::{Event, inc};
use crate::record::{Anchor, Record, Spinner};
use crate::share::{self, Last, SURE, Standing};

/// Who comes back later than this since it got the lock does not keep it from others.
const COMES_BACK_NS: u64 = 5_000;

/// A thread watches a round if these bits of the clock are clear when it comes: one in eight.
const SAMPLED: u64 = 7 << 2;

/// How a call has come to the slow path.
pub(super) struct Arrival {
    pub(super) standing: Standing,
    /// The lock is taken again and again, or its owner needs this very CPU.
    pub(super) crowded_out: bool,
    /// It saw the lock taken again and again, or is known to do that itself.
    pub(super) retaken: bool,
    /// What of the lock's going round the caller looks at, if it does.
    round: Option<Round>,
    /// When the call gives up, by [`Platform::now`].
    deadline: Option<u64>,
}

/// From one acquisition of a thread to its next.
enum Round {
    /// It begins when the thread gets the lock.
    Begins,
    /// The thread had got the lock then, came again after so many ticks, and saw this count.
    Ends { last: Last, away: u64, count: u8 },
}

impl<P: Platform, W: Policy> RawMutex<P, W> {
    /// Whether there is but one CPU beside the owner's: then the scheduler admits one spinner, and
    /// no queue is needed for that.
    pub(super) fn one_spinner() -> bool {
        P::cpus() <= 2
    }

    /// When the caller got the lock last, if it watches a round.
    pub(super) fn last(&self) -> Option<Last> {
        P::my_record()
            .filter(|_| Self::S.slices)
            .and_then(|record| share::last(record, self.address()))
    }

    /// The beginning of a wait. A caller that is known to come back at once asks for slices; it does not look whether the
    /// lock goes round.
    pub(super) fn arrive(&self, last: Option<Last>, deadline: Option<u64>) -> Arrival {
        let mut arrival = Arrival {
            standing: Standing::Guest,
            crowded_out: false,
            retaken: false,
            round: None,
            deadline,
        };
        let Some(record) = P::my_record().filter(|_| Self::S.slices) else {
            return arrival;
        };
        let (now, address) = (P::ticks(), self.address());
        arrival.standing = share::standing(record, address, now, P::ticks_of(Self::S.share_ns));
        arrival.round = match last {
            Some(last) => {
                let away = last.ago(now);
                let comes_back = last.sooner == SURE && away <= P::ticks_of(COMES_BACK_NS);
                (arrival.retaken, arrival.crowded_out) = (comes_back, comes_back);
                // Ordering: Relaxed, hint (what the policy goes by)
                Some(Round::Ends { last, away, count: self.words.count.load(Relaxed) })
            }
            None if now & SAMPLED == 0 || !Self::one_spinner() => Some(Round::Begins),
            None => None,
        };
        arrival
    }

    /// The caller has got the lock by spinning, where it goes round. A turn is what it takes from one owner to the next.
    /// A thread that comes back before that again and again, or hardly later, had better keep the lock for a slice: it
    /// remembers that until it comes again. With two CPUs it watches some rounds only, since it holds the lock
    /// meanwhile, and wants to see that several times.
    fn note_round(&self, arrival: &Arrival) {
        let (Some(round), Some(record)) = (&arrival.round, P::my_record()) else {
            return;
        };
        // Ordering: Relaxed, owner-only (others read it as a hint)
        let (now, count) = (P::ticks(), self.words.count.load(Relaxed));
        let one = Self::one_spinner();
        let sooner = match *round {
            // Of two threads one took it more than once, which may have been the caller.
            Round::Ends { last, .. } if one && count.wrapping_sub(last.count) > 2 => last.sooner,
            Round::Ends { last, away, .. } if one => {
                let turn = last.ago(now) / 2;
                // A little more, since an owner that stays leaves the other CPU to other work.
                if away >= turn + turn / 16 {
                    return share::forget_last(record, self.address());
                }
                last.sooner + 1
            }
            Round::Ends { last, away, count: seen } => {
                // Of the wait alone: before it the lock may have been free.
                let turns = count.wrapping_sub(seen).max(1);
                // The clocks of two CPUs may differ a little.
                let turn = last.ago(now).saturating_sub(away) / u64::from(turns);
                // A quarter more, since an owner that stays saves the others' transfers too.
                if away < turn + turn / 4 { SURE } else { 0 }
            }
            Round::Begins => 0,
        };
        share::note_last(record, self.address(), Last::new(now, count, sooner));
    }

    /// Whether the caller should spin. In slices a lender only, whose lock will be back soon; else it sees whether the lock
    /// goes round.
    pub(super) fn may_spin(&self, arrival: &Arrival) -> bool {
        let slices = Self::in_slices(self.anchor().index().map(Record::<P>::at));
        match arrival.standing {
            _ if arrival.crowded_out => false,
            Standing::Lender => true,
            Standing::Guest | Standing::Hog => !slices,
        }
    }

    /// The first few polls, before all else: the lock may be about to be released. Not where it is kept from
    /// newcomers, and of many CPUs only where nobody waits. Of two threads one that watches a round does not, since it
    /// would get past it.
    pub(super) fn take_eagerly(&self, last: Option<Last>) -> bool {
        let record = self.anchor().index().map(Record::<P>::at);
        let one = Self::one_spinner();
        let open = record.is_none() || (one && !Self::in_slices(record));
        let watches = last.is_some_and(|last| one || last.sooner == SURE);
        if watches || !open || !self.spin_eagerly() {
            return false;
        }
        self.acquired_slowly();
        inc::<P>(Event::MutexOptLock);
        true
    }

    /// Spins without telling anybody, if nobody else can run.
    pub(super) fn spin_unqueued(&self, arrival: &mut Arrival) -> bool {
        if !Self::one_spinner() || !self.may_spin(arrival) {
            return false;
        }
        match self.spin(arrival.deadline) {
            Spun::Acquired => {
                self.acquired_slowly();
                self.note_round(arrival);
                inc::<P>(Event::MutexOptLock);
                return true;
            }
            Spun::Retaken => (arrival.retaken, arrival.crowded_out) = (true, true),
            // A yield would let the owner run to the end of its time, not of its section.
            Spun::GaveUp if Self::S.slices && self.owner_is_here() => arrival.crowded_out = true,
            Spun::GaveUp => return self.yield_to_owner(),
        }
        false
    }

    /// Spins as the one that may, if the caller comes to be that one.
    pub(super) fn spin_in_turn(&self, me: &Me<P>, arrival: &mut Arrival) -> bool {
        let until =
            Until { resched: true, ..Until::CHANGED.deadline(Self::spin_end(arrival.deadline)) };
        let Some(spinner) = Spinner::join(self.anchor(), me, until, P::spinner_cap()) else {
            return false;
        };
        let end = if self.try_acquire() { Spun::Acquired } else { self.spin(arrival.deadline) };
        if end == Spun::Acquired {
            self.acquired_slowly();
            self.note_round(arrival);
        }
        spinner.leave(self.anchor());
        if end == Spun::Acquired {
            inc::<P>(Event::MutexOptLock);
            return true;
        }
        if end == Spun::Retaken {
            (arrival.retaken, arrival.crowded_out) = (true, true);
        }
        false
    }

    /// The owner does not run, as far as we know: lets it. A thread that yields stays runnable,
    /// so no CPU is left idle behind it, and nobody has to wake it.
    fn yield_to_owner(&self) -> bool {
        for _ in 0..Self::S.yields {
            P::yield_now();
            if self.try_acquire() {
                inc::<P>(Event::MutexYieldLock);
                self.acquired_slowly();
                return true;
            }
        }
        false
    }
}
