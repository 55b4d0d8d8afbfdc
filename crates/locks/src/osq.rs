//! Optimistic spin queue: lets one thread at a time spin on a lock.
//!
//! *Algorithm*: the place of the Linux kernel's osq_lock, filled by a [cancellable MCS queue](crate::mcs).
//! *Differs from the kernel in*: nodes belong to threads (type-stable records named by 16-bit slots), not
//! to CPUs, since a user-space spinner can be preempted; so a waiter also leaves when its predecessor does
//! not run, and a waiter that leaves does not unlink its node but abandons it, so that nobody ever waits for a
//! neighbour: the head, which may hold the lock, least of all. A node says how far it stands from the first of its
//! queue (serial numbers, as in the dynamic NUMA-aware series of 2024), so that no more threads queue
//! up than CPUs may spin, without a count that all of them change.
//!
//! The word also counts the other users of the record that the queue lies in, and how often the record has
//! changed locks: so whoever is the last of both closes it by the exchange by which it leaves, and one that was
//! late for a lock joins nothing of another's.
//!
//! *Guarantees*: at most one thread is between a [`join`](Osq::join) that returned `Turn::Mine` and its
//! [`leave`](Osq::leave); order FIFO among those who stay; abortable. *Does not guarantee*: the lock it is used
//! beside. *Cost*: 4 bytes of a lock's record; a failed and a successful exchange, a swap, and a swap to pass on;
//! one and one without contention. *Waiting*: spinning on the own node. *Checked by*: `tests/loom_osq.rs`.
//!
//! ```text
//! State   word    0..15 slot of the last in the queue, 0 for none, or CLOSED | 32..47 users | 48..63 lives
//!         first   serial number of the head                           the head writes it; hint
//!         serial  in each node: its predecessor's and 1               its thread writes it; hint
//!
//! queue and users -> one more : join, add_user (not if closed, nor in another life than was looked at)
//! alone, no users -> CLOSED   : leave, drop_user_or_close      CLOSED -> empty, next life : open
//! ```
//!
//! ```text
//! Edges
//!  [osq.close]  leave, drop_user_or_close: word exchange AcqRel -> leave, drop_user_or_close: word exchange AcqRel  publishes what users and heads did before they left to the one that closes
//!  [osq.open]   open, add_first_user, join_first, clear: word store Release -> look: word load Acquire  publishes that the anchor of the last lock names the record no more
//! ```

mod numa;

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use lockwright_platform::{Me, Platform, RecordId, Slot, Until, Word};

use crate::events::{Event, inc};
use crate::mcs::{self, Closed, Missed, Node};
use crate::record::node;

/// In the word: the queue takes nobody. No thread has this slot.
const CLOSED: u64 = 0xffff;
/// The last in the queue.
const LAST: u64 = 0xffff;
/// A user that is not in the queue.
const USER: u64 = 1 << 32;
const USERS: u64 = 0xffff << 32;
/// Counts locks that the record has served; comes round after 2^16 of them.
const LIFE: u64 = 1 << 48;

const NODE: Node = Node::new(node::OSQ_NEXT, node::OSQ_STATE);

/// A queue of spinners, in the words of a lock's record.
pub struct Osq<P: Platform> {
    /// See the module documentation.
    pub word: &'static P::Word<u64>,
    /// The serial number of the head.
    pub first: &'static P::Word<u32>,
    /// Heads in a row that had found many before them, and the last one's serial number.
    pub deep: &'static P::Word<u32>,
    /// The record that the queue lies in.
    pub id: RecordId,
}

/// The head's place in the queue.
#[must_use]
pub struct Seat<P: Platform> {
    place: Place,
    /// Of the queue it stood in, if not in the word.
    domain: Option<numa::Domain<P>>,
}

/// Where a thread stands in a queue, about.
#[derive(Copy, Clone)]
struct Place {
    serial: u32,
    /// How many stood before it when it came.
    ahead: u32,
}

impl Place {
    const FIRST: Place = Place { serial: 1, ahead: 0 };
}

/// The place of the next in a queue: the last in it is in the word, its number in its node, that of the head in
/// `first`.
fn place<P: Platform>(serial: usize, first: &P::Word<u32>, word: u64) -> Place {
    let Some(last) = Slot::new((word & LAST) as u16) else { return Place::FIRST };
    // Ordering: Relaxed, hint (how many are there, about) (block)
    let its = node::word::<P>(last, serial).load(Relaxed);
    // Negative where the head of a new queue has not said its number yet.
    let ahead = its.wrapping_sub(first.load(Relaxed)).wrapping_add(1);
    Place { serial: its.wrapping_add(1), ahead: if (ahead as i32) < 0 { 0 } else { ahead } }
}

impl<P: Platform> Osq<P> {
    /// The word, if it is open, and that of a record of the caller's lock, as `ours` says after a look.
    fn look(&self, ours: impl Fn() -> bool) -> Option<u64> {
        // Ordering: Acquire, [osq.open]: pairs with the store in open(): a record that has got another
        // lock is seen not to be ours
        let word = self.word.load(Acquire);
        (word & LAST != CLOSED && ours()).then_some(word)
    }

    /// Changes the word in the life in which it was seen; what it was before.
    fn change(&self, seen: u64, new: impl Fn(u64) -> u64) -> Result<u64, Closed> {
        let mut word = seen;
        loop {
            // Ordering: AcqRel, [mcs.tail], [mcs.empty], [osq.close]: releases the caller's node, acquires the
            // last head's section; Relaxed, hint (retried)
            match self.word.compare_exchange(word, new(word), AcqRel, Relaxed) {
                Ok(_) => return Ok(word),
                Err(now) if now & LAST == CLOSED || now / LIFE != word / LIFE => {
                    return Err(Closed);
                }
                Err(now) => word = now,
            }
        }
    }

    /// Counts a user; see [`join`](Self::join) for `ours`. False: closed, or not ours.
    pub fn add_user(&self, ours: impl Fn() -> bool) -> bool {
        self.look(ours).is_some_and(|seen| self.change(seen, |word| word + USER).is_ok())
    }

    /// Makes the caller, who alone knows the record, a user.
    pub fn add_first_user(&self) {
        // Ordering: Relaxed, owner-only (the caller alone knows the record)
        let word = self.word.load(Relaxed);
        // Ordering: Release, [osq.open]: whoever looks sees, as with open(), that the last lock let go
        self.word.store(word + USER, Release);
    }

    /// Makes the caller, who alone knows the record, the head.
    pub fn join_first(&self, me: &Me<P>) -> Option<Seat<P>> {
        if !NODE.is_free(me) {
            return None;
        }
        // Ordering: Relaxed, init (published by [record.attach]) (block)
        node::word::<P>(me.slot(), node::OSQ_SERIAL).store(1, Relaxed);
        self.first.store(1, Relaxed);
        let word = self.word.load(Relaxed);

        // Ordering: Release, [osq.open]: as in add_first_user()
        self.word.store(word | u64::from(me.slot().get()), Release);
        inc::<P>(Event::OsqHead);
        Some(Seat { place: Place::FIRST, domain: None })
    }

    /// Takes [`add_first_user`](Self::add_first_user) or [`join_first`](Self::join_first) back.
    pub fn clear(&self) {
        // Ordering: Relaxed, owner-only (the caller alone knows the record)
        let word = self.word.load(Relaxed);
        // Ordering: Release, [osq.open]: as in add_first_user()
        self.word.store(word / LIFE * LIFE, Release);
    }

    /// Counts a user less. If nobody is left the queue is closed, and the caller, who is told so, opens it
    /// again.
    pub fn drop_user_or_close(&self) -> bool {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut word = self.word.load(Relaxed);
        loop {
            let last = word & (USERS | LAST) == USER;
            let new = (word - USER) | if last { CLOSED } else { 0 };
            // Ordering: AcqRel, [osq.close], [mcs.empty]: releases what the user did, acquires what others
            // did; Relaxed, hint (retried)
            match self.word.compare_exchange(word, new, AcqRel, Relaxed) {
                Ok(_) => return last,
                Err(now) => word = now,
            }
        }
    }

    /// Queues up behind fewer than `most` others and waits for the turn, or until `until` ends the wait.
    /// `ours` says, after a look at the queue, whether it is still that of the caller's lock.
    pub fn join(
        &self,
        me: &Me<P>,
        until: Until,
        most: u32,
        ours: impl Fn() -> bool,
    ) -> Result<Seat<P>, Missed> {
        let seen = self.look(ours).ok_or(Missed::Closed)?;
        let joined = match numa::Domain::of(self, me, seen) {
            Some(domain) => self.join_domain(domain, me, until, most, seen),
            None => self.join_alone(me, until, most, seen),
        };
        match joined {
            Ok(_) => inc::<P>(Event::OsqHead),
            Err(Missed::Gone) => inc::<P>(Event::OsqUnqueue),
            Err(Missed::Lent) => inc::<P>(Event::OsqLent),
            Err(Missed::Full) => inc::<P>(Event::OsqFull),
            Err(Missed::Closed) => {}
        }
        joined
    }

    /// Queues up in the word itself, as it was seen, for nobody else.
    fn join_alone(
        &self,
        me: &Me<P>,
        until: Until,
        most: u32,
        seen: u64,
    ) -> Result<Seat<P>, Missed> {
        let place = self.join_word(me, while_runs(until), most, seen)?;
        Ok(Seat { place, domain: None })
    }

    /// Queues up in the word itself, as it was seen.
    fn join_word(
        &self,
        me: &Me<P>,
        until: impl FnOnce(Slot) -> Until,
        most: u32,
        seen: u64,
    ) -> Result<Place, Missed> {
        let place = place::<P>(node::OSQ_SERIAL, self.first, seen);
        if place.ahead >= most {
            return Err(Missed::Full);
        }
        // Ordering: Relaxed, hint (how many are there, about)
        node::word::<P>(me.slot(), node::OSQ_SERIAL).store(place.serial, Relaxed);
        mcs::join(NODE, me, until, |me| {
            let before = self.change(seen, |word| word & !LAST | u64::from(me.get()))?;
            Ok(Slot::new((before & LAST) as u16))
        })?;
        // Ordering: Relaxed, hint (how many are there, about)
        self.first.store(place.serial, Relaxed);
        Ok(place)
    }

    /// Passes the turn on to the next in line. If nobody is, and there are no users, the queue is closed, and
    /// the caller, who is told so, opens it again.
    pub fn leave(&self, me: &Me<P>, seat: Seat<P>) -> bool {
        match seat.domain {
            Some(domain) => self.leave_domain(&domain, me),
            None => {
                self.note_depth(me, seat.place);
                self.pass_word(me.slot())
            }
        }
    }

    /// [`leave`](Self::leave) for the node of the thread in `slot`.
    fn pass_word(&self, slot: Slot) -> bool {
        let mut closed = false;
        mcs::pass::<P>(NODE, slot, |last| {
            // Ordering: Relaxed, hint (re-checked by the exchange)
            let mut word = self.word.load(Relaxed);
            while word & LAST == u64::from(last.get()) {
                let closes = word & USERS == 0;
                let new = if closes { word | CLOSED } else { word & !LAST };
                // Ordering: AcqRel, [osq.close], [mcs.empty], [mcs.tail]: releases the head's section to the
                // next first, acquires what users did; Relaxed, hint (retried)
                match self.word.compare_exchange(word, new, AcqRel, Relaxed) {
                    Ok(_) => {
                        closed = closes;
                        return true;
                    }
                    Err(now) => word = now,
                }
            }
            false
        });
        closed
    }

    /// Opens a queue that the caller closed, for the record's next lock.
    pub fn open(&self) {
        // Ordering: Relaxed, owner-only (a closed queue changes by whoever closed it)
        let word = self.word.load(Relaxed);
        numa::retire::<P>(word);
        // Ordering: Release, [osq.open]: pairs with the load in look()
        self.word.store((word / LIFE).wrapping_add(1).wrapping_mul(LIFE), Release);
    }

    /// Parts the queue, in which nobody is yet, for tests.
    #[cfg(loom)]
    pub fn part_now(&self) {
        self.part();
    }

    /// Whether the queue takes nobody now, for tests.
    #[cfg(loom)]
    pub fn is_closed(&self) -> bool {
        // Ordering: Relaxed, hint (the answer is old when it is given)
        self.word.load(Relaxed) & LAST == CLOSED
    }

    /// Whether somebody is in the queue, as it was a moment ago.
    pub fn has_spinner(&self) -> bool {
        // Ordering: Relaxed, hint (what a policy goes by)
        !matches!(self.word.load(Relaxed) & LAST, 0 | CLOSED)
    }
}

/// `until`, or until the predecessor does not run.
fn while_runs(until: Until) -> impl FnOnce(Slot) -> Until {
    move |before| Until { running: Some(before), ..until }
}

/// When a spin that begins now ends at the latest, in ticks: after `ns`, or, if it lasts until the
/// scheduler wants the CPU and the platform tells that, never.
pub(crate) fn spin_end<P: Platform>(ns: u64, until_resched: bool) -> u64 {
    if until_resched && P::TELLS_RESCHED {
        return u64::MAX;
    }
    P::ticks().saturating_add(P::ticks_of(ns))
}

#[cfg(all(test, not(any(loom, miri))))]
mod tests;
