//! The beginning of a wait: what the caller is to the lock, and whether it spins. Edges: see the parent module.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_platform::{Me, Platform, Until, Word};

use super::spin::Spun;
use super::{Policy, RawMutex};
use crate::events::{Event, inc};
use crate::record::{Anchor, Record, Spinner};
use crate::share::{self, Standing};

/// Who comes back later than this since it got the lock does not keep it from others.
const COMES_BACK_NS: u64 = 5_000;

/// How a call has come to the slow path.
pub(super) struct Arrival {
    pub(super) standing: Standing,
    /// The lock is taken again and again, or its owner needs this very CPU.
    pub(super) crowded_out: bool,
    /// It saw the lock taken again and again, or is known to do that itself.
    pub(super) retaken: bool,
    /// Where the lock may go round: since when the call waits, the lock's count then, and how long before that the
    /// thread got it last.
    turn: Option<(u64, u8, u64)>,
    /// When the call gives up, by [`Platform::now`].
    deadline: Option<u64>,
}

impl<P: Platform, W: Policy> RawMutex<P, W> {
    /// Whether there is but one CPU beside the owner's: then the scheduler admits one spinner, and
    /// no queue is needed for that.
    pub(super) fn one_spinner() -> bool {
        P::cpus() <= 2
    }

    /// The beginning of a wait. On a machine of many CPUs a caller that is known to come back at once asks for slices; it
    /// does not look whether the lock goes round.
    pub(super) fn arrive(&self, deadline: Option<u64>) -> Arrival {
        let standing = self.standing();
        let mut arrival =
            Arrival { standing, crowded_out: false, retaken: false, turn: None, deadline };
        if Self::S.slices && !Self::one_spinner() {
            let now = P::ticks();
            // Ordering: Relaxed, hint (what the policy goes by)
            let count = self.words.count.load(Relaxed);
            let last = P::my_record().and_then(|record| share::last(record, self.address()));
            let away = last.map_or(u64::MAX, |(got, _)| now.wrapping_sub(got));
            let comes_back = last.is_some_and(|(_, comes_back)| comes_back)
                && away <= P::ticks_of(COMES_BACK_NS);
            (arrival.retaken, arrival.crowded_out) = (comes_back, comes_back);
            arrival.turn = Some((now, count, away));
        }
        arrival
    }

    /// The caller has got the lock by spinning, where it goes round. A turn is what it takes from one owner to the next.
    /// A thread that comes back before that, or hardly later, had better kept the lock for a slice: it
    /// remembers that until it comes again.
    fn note_turn(&self, arrival: &Arrival) {
        let (Some((since, count, away)), Some(record)) = (arrival.turn, P::my_record()) else {
            return;
        };
        let now = P::ticks();
        // Ordering: Relaxed, owner-only (others read it as a hint)
        let turns = self.words.count.load(Relaxed).wrapping_sub(count).max(1);
        let turn = now.wrapping_sub(since) / u64::from(turns);
        // A quarter more, since an owner that stays saves the others' transfers too.
        let comes_back = away < turn.saturating_add(turn / 4);
        share::note_last(record, self.address(), now, comes_back);
    }

    /// What the calling thread is to this lock.
    fn standing(&self) -> Standing {
        match P::my_record() {
            Some(record) if Self::S.slices => {
                let longest = P::ticks_of(Self::S.share_ns);
                share::standing(record, self.address(), P::ticks(), longest)
            }
            _ => Standing::Guest,
        }
    }

    /// Whether the caller should spin. In slices a lender only, whose lock will be back soon. A hog where no slice
    /// runs, and there is one other CPU, does not: with one waiter the record goes at each hand-off, and the slice
    /// with it, and the hog begins the present owner's. With more it sees whether the lock goes round.
    pub(super) fn may_spin(&self, arrival: &Arrival) -> bool {
        let slices = Self::in_slices(self.anchor().index().map(Record::<P>::at));
        match arrival.standing {
            _ if arrival.crowded_out => false,
            Standing::Lender => true,
            Standing::Guest => !slices,
            Standing::Hog => !slices && !Self::one_spinner(),
        }
    }

    /// Spins without telling anybody, if nobody waits yet or nobody else can run: with more CPUs it must be
    /// short.
    pub(super) fn spin_unqueued(&self, arrival: &mut Arrival) -> bool {
        let alone = Self::one_spinner() || self.anchor().index().is_none();
        if !alone || !self.may_spin(arrival) {
            return false;
        }
        let spun = match self.spin_eagerly() {
            true => Spun::Acquired,
            false if Self::one_spinner() => self.spin(arrival.deadline),
            false => Spun::GaveUp,
        };
        match spun {
            Spun::Acquired => {
                self.acquired_slowly();
                inc::<P>(Event::MutexOptLock);
                return true;
            }
            Spun::Retaken => (arrival.retaken, arrival.crowded_out) = (true, true),
            Spun::GaveUp if !Self::one_spinner() => {}
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
            self.note_turn(arrival);
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
