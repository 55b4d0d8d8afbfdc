//! Spinning for the lock, beside the queue. Edges: see the parent module.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_platform::{Holder, Me, Platform, Spin, Spin2, Until, Word, is_cpu};

use super::count::{HANDOFF, LOCKED, READER, READERS, WRITER};
use super::{Policy, RawRwLock, owner};
use crate::events::{Event, inc};
use crate::osq;
use crate::record::{Anchor, Record, Spinner, my_state, state};

/// Time for spinning on readers: so much, and [`PER_READER_NS`] for each up to [`MOST_READERS`].
const READERS_NS: u64 = 10_000;
const PER_READER_NS: u64 = 500;
const MOST_READERS: u64 = 30;
/// It is up at the first of every so many turns of the loop that finds it so: where readers come and
/// go, a turn takes as long as the line does.
const TURNS: u64 = 16;
/// What a turn takes where nobody does (16 of them 250 to 800 ns: commit 7d43f1ce9d).
const TURN_NS: u64 = 30;
/// A first writer yields after so long to readers that it awaits.
const READERS_TURN_NS: u64 = 2_000;

/// Who holds the lock, by its owner word.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Owner {
    /// Nobody, or somebody who has not said so yet.
    Null,
    Writer,
    Reader,
    /// Spinning is forbidden, or the writer does not run.
    Nonspinnable,
}

impl<P: Platform, W: Policy> RawRwLock<P, W> {
    pub(super) fn forbidding(reader: bool) -> u32 {
        if !Self::S.waits.split_bits {
            owner::NONSPINNABLE
        } else if reader {
            owner::RD_NONSPINNABLE
        } else {
            owner::WR_NONSPINNABLE
        }
    }

    fn classify(word: u32, forbidding: u32) -> Owner {
        if word & forbidding != 0 {
            Owner::Nonspinnable
        } else if word & owner::READER_OWNED != 0 {
            Owner::Reader
        } else if word >> owner::CPU_SHIFT != 0 {
            Owner::Writer
        } else {
            Owner::Null
        }
    }

    /// The writer as far as it is known. `None`: it does not run.
    fn holder(word: u32) -> Option<Holder> {
        let cpu = Self::cpu_of(word);
        (!is_cpu(cpu) || cpu != P::cpu()).then(|| Holder { cpu, stamp: P::cpu_stamp(cpu) })
    }

    /// A few attempts before any bookkeeping, and some more after yielding: the lock is often
    /// about to be released, by an owner that may need this very CPU.
    pub(super) fn poll_eagerly(
        &self,
        attempt: fn(&Self) -> bool,
        reader: bool,
        guest: bool,
    ) -> bool {
        if P::spinner_cap() > 0 {
            for _ in 0..Self::S.user.eager_polls {
                if attempt(self) {
                    return true;
                }
                if !reader && self.may_drain() {
                    return false;
                }
                P::busy_wait_ns(1);
            }
        }
        // To a guest the lock is passed on: a yield would let the owner run to the end of its time.
        let yields = if guest { 0 } else { Self::S.user.yields };
        for _ in 0..yields {
            if !reader && self.may_drain() {
                return false;
            }
            P::yield_now();
            if attempt(self) {
                return true;
            }
        }
        false
    }

    /// Whether readers alone hold the lock, and a writer that queues may keep new ones out at
    /// once: then it need not hope to find the lock free.
    pub(super) fn may_drain(&self) -> bool {
        // Ordering: Relaxed, hint (what the policy goes by)
        let now = self.count.load(Relaxed);
        Self::S.user.handoff_from_readers && now & WRITER == 0 && now & LOCKED != 0
    }

    /// Whether the owner word lets the caller spin.
    pub(super) fn may_spin(&self, reader: bool) -> bool {
        // Ordering: Relaxed, hint (what the policy goes by)
        let word = self.owner.load(Relaxed);
        let sensible = match Self::classify(word, Self::forbidding(reader)) {
            Owner::Nonspinnable => false,
            Owner::Writer => Self::holder(word).is_some(),
            Owner::Reader => Self::S.waits.reader_owned_spin,
            Owner::Null => true,
        };
        sensible && P::spinner_cap() > 0 && !P::should_yield()
    }

    /// Whether somebody spins in the OSQ, as far as can be seen.
    pub(super) fn has_spinner(&self) -> bool {
        // A record that serves another lock by now misleads a policy, no more.
        self.anchor().index().is_some_and(|id| Record::<P>::at(id).osq().has_spinner())
    }

    /// When a spin that begins now ends at the latest, in ticks.
    fn spin_end() -> u64 {
        osq::spin_end::<P>(Self::S.user.spin_ns, Self::S.user.until_resched)
    }

    /// Spins as the one that may, if the caller, which [may spin](Self::may_spin), comes to be that one;
    /// true with the lock. `None`: it should not spin now.
    pub(super) fn spin_in_turn(
        &self,
        me: &Me<P>,
        attempt: fn(&Self) -> bool,
        reader: bool,
    ) -> Option<bool> {
        let one_reader = reader && Self::S.waits.one_reader_spins;
        let record = self.anchor().index().map(Record::<P>::at);
        if one_reader && record.is_some_and(|record| !record.admit_reader()) {
            return None;
        }
        let end = Self::spin_end();
        let until = Until { resched: true, ..Until::CHANGED.deadline(end) };
        let spinner = Spinner::join(self.anchor(), me, until, P::spinner_cap());
        let got = spinner.as_ref().map(|_| self.spin(attempt, reader, end));
        if one_reader && let Some(record) = record.or(spinner.as_ref().map(Spinner::record)) {
            record.dismiss_reader();
        }
        if let Some(spinner) = spinner {
            spinner.leave(self.anchor());
        }
        got
    }

    fn spin(&self, attempt: fn(&Self) -> bool, reader: bool, end: u64) -> bool {
        let (forbidding, refused) = (Self::forbidding(reader), Self::refused(reader));
        let (mut before, mut readers_end, mut nulls, mut turns) = (Owner::Null, end, 0, 0);
        let over = || end != u64::MAX && P::ticks() >= end;
        loop {
            let now = self.await_owner(forbidding, end);
            let leaves = now == Owner::Reader && !Self::S.waits.reader_owned_spin;
            if now == Owner::Nonspinnable || leaves && !Self::S.user.last_try {
                return false;
            }
            if attempt(self) {
                return true;
            }
            // Ordering: Relaxed, hint (compared with later readings only)
            let seen = self.count.load(Relaxed);
            if seen & refused == 0 {
                // Free again: there may be nobody left to change it.
                if over() {
                    return false;
                }
                continue;
            }
            if now != Owner::Null {
                nulls = 0;
            }
            let limit = match now {
                Owner::Writer if over() => return false,
                Owner::Writer => {
                    before = now;
                    continue;
                }
                Owner::Reader if leaves => return false,
                // A reader waits for a writer that has not said so yet, or for one's turn.
                Owner::Reader if reader => end,
                Owner::Reader => {
                    turns += 1;
                    if before != Owner::Reader {
                        readers_end = P::ticks().saturating_add(P::ticks_of(self.readers_ns()));
                        turns = 0;
                    }
                    match turns % TURNS {
                        0 => readers_end,
                        n => {
                            let left = P::ticks_of((TURNS - n) * TURN_NS);
                            readers_end.max(P::ticks().saturating_add(left))
                        }
                    }
                }
                _ => {
                    nulls += 1;
                    if Self::S.waits.null_owner_tries != 0 && nulls > Self::S.waits.null_owner_tries
                    {
                        return false;
                    }
                    end
                }
            };
            let until = Until { resched: true, ..Until::CHANGED.deadline(limit) };
            // Ordering: Relaxed, hint (the attempt decides)
            match P::spin_while(&self.count, u64::MAX, seen, Relaxed, until) {
                Spin::Changed(_) => {}
                Spin::Deadline if now == Owner::Reader && !reader => {
                    self.forbid_spinning();
                    inc::<P>(Event::RwsemOptNospin);
                    return false;
                }
                _ => return false,
            }
            before = now;
        }
    }

    fn readers_ns(&self) -> u64 {
        // Ordering: Relaxed, hint (a number for a time limit)
        let readers = (self.count.load(Relaxed) & READERS) / READER;
        READERS_NS + PER_READER_NS * readers.min(MOST_READERS)
    }

    /// Waits while the same writer holds the lock and runs.
    fn await_owner(&self, forbidding: u32, end: u64) -> Owner {
        // Ordering: Relaxed, hint (the attempt decides)
        let word = self.owner.load(Relaxed);
        let now = Self::classify(word, forbidding);
        if now != Owner::Writer {
            return now;
        }
        let Some(holder) = Self::holder(word) else {
            return Owner::Nonspinnable;
        };
        let until = Until { holder: Some(holder), resched: true, ..Until::CHANGED.deadline(end) };
        // Ordering: Relaxed, hint (the attempt decides) (block)
        if Self::S.waits.handoff_stops {
            let owner = (&self.owner, u32::MAX, word);
            return match P::spin_while2((&self.count, HANDOFF, 0), owner, Relaxed, until) {
                Spin2::Changed(count, word) if count & HANDOFF == 0 => {
                    Self::classify(word, forbidding)
                }
                _ => Owner::Nonspinnable,
            };
        }
        match P::spin_while(&self.owner, u32::MAX, word, Relaxed, until) {
            Spin::Changed(word) => Self::classify(word, forbidding),
            Spin::Deadline | Spin::Stopped | Spin::Resched => Owner::Nonspinnable,
        }
    }

    /// A first writer that has forbidden stealing spins for its turn. True: it should try again
    /// before it sleeps.
    pub(super) fn spin_for_handoff(&self) -> bool {
        // Ordering: Relaxed, hint (the attempt decides)
        if !Self::S.waits.handoff_spins || self.count.load(Relaxed) & HANDOFF == 0 {
            return false;
        }
        let end = Self::spin_end();
        if Self::S.user.handoff_from_readers {
            return self.await_readers(end);
        }
        // Ordering: Relaxed, hint (the attempt decides)
        let was = Self::classify(self.owner.load(Relaxed), owner::NONSPINNABLE);
        // Only a change is worth another attempt: a null owner that stays is one that does not
        // run (races 13, 14).
        was == Owner::Writer && self.await_owner(owner::NONSPINNABLE, end) == Owner::Null
    }

    /// A first writer that has just queued waits for the end of a writer's section that runs, once
    /// or so. True: it should try again before it sleeps.
    pub(super) fn spin_as_first(&self, looks: &mut u32) -> bool {
        *looks += 1;
        *looks <= Self::S.user.first_waiter_spins
            && P::spinner_cap() > 0
            && self.await_owner(owner::NONSPINNABLE, Self::spin_end()) != Owner::Nonspinnable
    }

    /// A guest among the queued readers waits for a running writer's unlock, which will grant it the lock.
    pub(super) fn spin_for_grant(&self, me: &Me<P>) {
        // Ordering: Relaxed, hint (how long to wait)
        let word = self.owner.load(Relaxed);
        let holder = Self::holder(word);
        if word & owner::READER_OWNED == 0 && holder.is_some() && P::spinner_cap() > 0 {
            let until =
                Until { holder, resched: true, ..Until::CHANGED.deadline(Self::spin_end()) };
            // Ordering: Relaxed, hint (the caller looks again)
            P::spin_while(my_state(me), u32::MAX, state::WAITING, Relaxed, until);
        }
    }

    /// Waits for the last reader to leave. False: a writer holds the lock, or it takes too long.
    fn await_readers(&self, end: u64) -> bool {
        if P::spinner_cap() == 0 {
            return false;
        }
        loop {
            // Ordering: Relaxed, hint (the attempt decides)
            let now = self.count.load(Relaxed);
            if now & (READERS | WRITER) == 0 {
                return true;
            }
            let turn_end = P::ticks().saturating_add(P::ticks_of(READERS_TURN_NS));
            let until = Until { resched: true, ..Until::CHANGED.deadline(end.min(turn_end)) };
            if now & WRITER != 0 || P::ticks() >= end {
                return false;
            }
            // Ordering: Relaxed, hint (the attempt decides)
            match P::spin_while(&self.count, u64::MAX, now, Relaxed, until) {
                Spin::Changed(_) => {}
                // Which readers run is not known; one may need this very CPU.
                _ => P::yield_now(),
            }
        }
    }

    /// Spinners' time on readers is up.
    pub(super) fn forbid_spinning(&self) {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut word = self.owner.load(Relaxed);
        while word & owner::READER_OWNED != 0 && word & owner::NONSPINNABLE == 0 {
            // Ordering: Relaxed, hint (what the next spinner goes by)
            match self.owner.compare_exchange(word, word | owner::NONSPINNABLE, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(other) => word = other,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use lockwright_platform::Native;

    use super::super::policy::{TimedSpin, V5_3, V5_11};
    use super::*;

    /// The bits after a reader has come to a lock with all of them set.
    fn bits_that_a_reader_keeps<W: Policy>() -> u32 {
        let lock = RawRwLock::<Native, W>::new();
        lock.owner.store(owner::READER_OWNED | owner::NONSPINNABLE, Relaxed);
        lock.read();
        lock.owner.load(Relaxed) & owner::NONSPINNABLE
    }

    #[test]
    fn a_new_reader_lets_writers_spin_again_where_the_bits_are_two_and_at_first_readers_too() {
        assert_eq!(bits_that_a_reader_keeps::<TimedSpin>(), 0);
        assert_eq!(bits_that_a_reader_keeps::<V5_3>(), owner::RD_NONSPINNABLE);
        assert_eq!(bits_that_a_reader_keeps::<V5_11>(), owner::NONSPINNABLE);
    }

    #[test]
    fn what_is_forbidden_under_a_writer_is_forbidden_to_readers_only() {
        let lock = RawRwLock::<Native, TimedSpin>::new();
        lock.write();
        lock.owner.fetch_or(owner::RD_NONSPINNABLE, Relaxed);
        let word = lock.owner.load(Relaxed);
        let seen = |reader| {
            RawRwLock::<Native, TimedSpin>::classify(
                word,
                RawRwLock::<Native, TimedSpin>::forbidding(reader),
            )
        };
        assert_eq!([seen(true), seen(false)], [Owner::Nonspinnable, Owner::Writer]);
    }

    #[test]
    fn where_readers_are_forbidden_to_spin_a_time_limit_forbids_no_more() {
        let lock = RawRwLock::<Native, TimedSpin>::new();
        lock.owner.store(owner::READER_OWNED | owner::RD_NONSPINNABLE, Relaxed);
        lock.forbid_spinning();
        assert_eq!(lock.owner.load(Relaxed), owner::READER_OWNED | owner::RD_NONSPINNABLE);
        lock.owner.store(owner::READER_OWNED, Relaxed);
        lock.forbid_spinning();
        assert_eq!(lock.owner.load(Relaxed), owner::READER_OWNED | owner::NONSPINNABLE);
    }
}
