//! The queue of spinners, parted by domain while there is a crowd.
//!
//! *Algorithm*: cohort queueing (Dice, Marathe, Shavit, PPoPP 2012) that comes and goes, as in the dynamic
//! NUMA-aware OSQ proposed for the Linux kernel in September 2024. Each domain has a queue of its own; its head
//! queues up in the lock's word for all of them, and those behind it have that place one after another, until
//! their batch ends by count or by time, or nobody of the domain is left. *Differs from that series in*: the turn
//! to spin is always the head's of the one queue in the word, whoever stands there for whom. So queues can be parted
//! and joined at any moment: who has seen an old word queues up in it and is served like all others, nobody is
//! stopped, drained or frozen, and no state lies between the two. Whether a queue is deep is told by what each
//! head found when it came, so no look at another's line is added to a turn. Both levels can be left. No worker:
//! parted queues are joined again by the head that finds them idle, or with the last user of the lock's record.
//!
//! *Guarantees*: as the OSQ; within a domain FIFO, between domains FIFO. A domain waits for at most one batch of
//! each other domain that stood before it. *Cost*: an entry of 64 bytes for each of at most 16 queues, one of 255
//! that are set up when first used (domains beyond 16 share queues); a line of the thread's record; a change of
//! hands within a domain touches no line that other domains use but the lock's own. *Approximates*: a thread whose
//! place the others of its domain have is [lent](Missed::Lent) until their batch ends, and does not spin
//! on another lock as the first of a domain meanwhile. *Checked by*: `tests/loom_numa.rs`, `osq/tests.rs`.
//!
//! ```text
//! Word    16..23 entry | 24..31 mode: 0 one queue | 1 parted
//! Entry   line of a queue   wides[1]  0..15 last in the queue | 16..31 record | 32..47 its life | 48 RETIRED; 0 free
//!                           top       slot of the thread whose node has the domain's place in the word; 0 none
//!                           batch     turns of the batch so far     since   when it began
//!         first line        left      queues that are the record's or have somebody in them still
//!                           company   when a batch last had two turns; whoever has the turn of the word
//!
//! one queue -> parted : note_depth, by the head     parted -> one queue : join_up, by the head; open, by whoever closed
//! free -> of a record : part    -> RETIRED -> free : retire and, where somebody is left in the queue, pass_domain
//! ```
//!
//! ```text
//! Edges
//!  [numa.line]    part: domain word store Release -> push: domain word exchange Acquire  publishes the line
//!  [numa.part]    part: word exchange Release -> look: word load Acquire  publishes the entry's lines
//!  [numa.retire]  retire: domain word fetch_or AcqRel -> pass_domain: domain word exchange AcqRel  whichever comes second frees the queue, and sees the first's last use
//!  [numa.left]    drained: left fetch_sub AcqRel -> drained: left fetch_sub AcqRel  publishes the last use of each queue to whoever gives the entry back
//! ```

use core::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

use lockwright_platform::{LockWords, Me, NumaMode, Platform, QUEUES, RecordId, Slot, Until, Word};

use super::{LAST, LIFE, Osq, Place, Seat, place, while_runs};
use crate::events::{Event, inc};
use crate::mcs::{self, Closed, Missed, Node};
use crate::record::node;

const ENTRY_SHIFT: u32 = 16;
const ENTRY: u64 = 0xff << ENTRY_SHIFT;
const PARTED: u64 = 1 << 24;

/// In a domain's word: the record and its life.
const KEY: u64 = 0xffff_ffff << 16;
const RETIRED: u64 = 1 << 48;

const NODE: Node = Node::new(node::DOMAIN_NEXT, node::DOMAIN_STATE);

// Words of a queue's line.
const FIRST: usize = 0;
const TOP: usize = 1;
const BATCH: usize = 2;
const LEFT: usize = 3;
const SINCE: usize = 0;
const DOMAIN_WORD: usize = 1;
const COMPANY: usize = 2;

/// A domain's queue.
pub(super) struct Domain<P: Platform> {
    entry: RecordId,
    line: &'static LockWords<P>,
    /// Of the lock's record, as in the word of the queue.
    key: u64,
}

/// The lines of an entry that are in use.
fn lines<P: Platform>(entry: RecordId) -> impl Iterator<Item = &'static LockWords<P>> {
    // SAFETY: this module alone reaches them, and changes them as its documentation says (1).
    unsafe { P::queue_entry(entry).lines() }.take(queues::<P>())
}

fn queues<P: Platform>() -> usize {
    usize::from(P::domains()).min(QUEUES)
}

/// The entry that a word names.
fn entry(word: u64) -> Option<RecordId> {
    if word & PARTED == 0 { None } else { Slot::new(((word & ENTRY) >> ENTRY_SHIFT) as u16) }
}

/// A queue of a retired entry is empty. The last to be gives the entry back.
fn drained<P: Platform>(id: RecordId) {
    // SAFETY: as in lines().
    let left = &unsafe { P::queue_entry(id).line(0) }.words[LEFT];
    // Ordering: AcqRel, [numa.left]: as it says
    if left.fetch_sub(1, AcqRel) == 1 {
        inc::<P>(Event::NumaEntryFree);
        // SAFETY: claimed by part(); no word names it any more, all its queues are empty, and who comes
        // late finds that they are not the lock's (1).
        unsafe { P::return_queue_entry(id) };
    }
}

/// Takes the entry that a word named from its lock, once. Whoever is in its queues leaves by and by.
pub(super) fn retire<P: Platform>(word: u64) {
    let Some(id) = entry(word) else { return };
    for line in lines::<P>(id) {
        let word = &line.wides[DOMAIN_WORD];
        // Ordering: AcqRel, [numa.retire]: as it says
        if word.fetch_or(RETIRED, AcqRel) & LAST == 0 {
            // Ordering: Relaxed, owner-only (a retired queue takes nobody; published by [numa.left])
            word.store(0, Relaxed);
            drained::<P>(id);
        }
    }
}

impl<P: Platform> Domain<P> {
    /// The queue of the caller's domain, if the word as it was seen says that queues are parted.
    #[inline]
    pub(super) fn of(osq: &Osq<P>, me: &Me<P>, seen: u64) -> Option<Self> {
        let entry = entry(seen)?;
        let (domain, domains) = (usize::from(P::domain(me)), usize::from(P::domains()));
        let queue = if domains > QUEUES { domain * QUEUES / domains } else { domain };
        // SAFETY: as in lines().
        let line = unsafe { P::queue_entry(entry).line(queue) };
        Some(Domain { entry, line, key: osq.key(seen) })
    }

    fn word(&self) -> &'static P::Word<u64> {
        &self.line.wides[DOMAIN_WORD]
    }

    /// Makes the caller the last in the queue; who was it before.
    fn push(&self, me: Slot) -> Result<Option<Slot>, Closed> {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut word = self.word().load(Relaxed);
        loop {
            if word & (KEY | RETIRED) != self.key {
                return Err(Closed);
            }
            let new = word & !LAST | u64::from(me.get());
            // Ordering: AcqRel, [mcs.tail], [mcs.empty], [numa.line]: releases the caller's node, acquires the
            // line and the last head's section; Relaxed, hint (retried)
            match self.word().compare_exchange(word, new, AcqRel, Relaxed) {
                Ok(_) => return Ok(Slot::new((word & LAST) as u16)),
                Err(now) => word = now,
            }
        }
    }

    /// Empties the queue if `last` is the last; `before` is what to do before that.
    fn pop(&self, last: Slot, before: impl FnOnce()) -> bool {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut word = self.word().load(Relaxed);
        if word & LAST != u64::from(last.get()) {
            return false;
        }
        before();
        while word & LAST == u64::from(last.get()) {
            let retired = word & RETIRED != 0;
            let new = if retired { 0 } else { word & !LAST };
            // Ordering: AcqRel, [mcs.empty], [mcs.tail], [numa.retire]: releases the head's section to the next
            // first; Relaxed, hint (retried)
            match self.word().compare_exchange(word, new, AcqRel, Relaxed) {
                Ok(_) => {
                    if retired {
                        drained::<P>(self.entry);
                    }
                    return true;
                }
                Err(now) => word = now,
            }
        }
        false
    }

    // The words below are those of whoever has the domain's turn.

    fn top(&self) -> Option<Slot> {
        // Ordering: Relaxed, owner-only (the domain's head's)
        Slot::new(self.line.words[TOP].load(Relaxed) as u16)
    }

    fn set_top(&self, slot: Option<Slot>) {
        // Ordering: Relaxed, owner-only (the domain's head's)
        self.line.words[TOP].store(slot.map_or(0, |slot| u32::from(slot.get())), Relaxed);
    }

    /// The domain has got its place in the word, by the node of the thread in `slot`.
    fn begin_batch(&self, slot: Slot) {
        self.set_top(Some(slot));
        // Ordering: Relaxed, owner-only (the domain's head's) (block)
        self.line.words[BATCH].store(0, Relaxed);
        self.line.wides[SINCE].store(P::ticks(), Relaxed);
    }

    /// A turn ends; whether the batch is over.
    fn note_turn(&self) -> bool {
        let numa = P::numa();
        // Ordering: Relaxed, owner-only (the domain's head's) (block)
        let turns = self.line.words[BATCH].load(Relaxed) + 1;
        self.line.words[BATCH].store(turns, Relaxed);
        if turns >= numa.batch {
            inc::<P>(Event::NumaBatchCount);
            return true;
        }
        // Ordering: Relaxed, owner-only (the domain's head's)
        let spent = P::ticks().saturating_sub(self.line.wides[SINCE].load(Relaxed));
        if spent >= P::ticks_of(numa.batch_ns) {
            inc::<P>(Event::NumaBatchTime);
            return true;
        }
        false
    }

    /// A batch ends; whether in no domain anybody has had company for long.
    fn is_idle(&self) -> bool {
        let (numa, now) = (P::numa(), P::ticks());
        // SAFETY: as in lines().
        let company = &unsafe { P::queue_entry(self.entry).line(0) }.wides[COMPANY];
        // Ordering: Relaxed, owner-only (the domain's head's, and the word's) (block)
        if self.line.words[BATCH].load(Relaxed) > 1 && numa.mode != NumaMode::Off {
            company.store(now, Relaxed);
            return false;
        }
        let long = || now.saturating_sub(company.load(Relaxed)) >= P::ticks_of(numa.idle_ns);
        match numa.mode {
            NumaMode::Off => true,
            NumaMode::Dynamic => long(),
            NumaMode::On => false,
        }
    }
}

impl<P: Platform> Osq<P> {
    /// The record and its life, as in the word of a domain's queue.
    fn key(&self, word: u64) -> u64 {
        u64::from(self.id.get()) << 16 | (word / LIFE) << 32
    }

    /// Joins through the queue of the caller's domain.
    pub(super) fn join_domain(
        &self,
        domain: Domain<P>,
        me: &Me<P>,
        until: Until,
        most: u32,
        seen: u64,
    ) -> Result<Seat<P>, Missed> {
        let first = &domain.line.words[FIRST];
        // Ordering: Relaxed, hint (how many are there, about) (block)
        let word = domain.word().load(Relaxed);
        let place = place::<P>(node::DOMAIN_SERIAL, first, word);
        if place.ahead >= most.div_ceil(queues::<P>() as u32) {
            return Err(Missed::Full);
        }
        node::word::<P>(me.slot(), node::DOMAIN_SERIAL).store(place.serial, Relaxed);

        match mcs::join(NODE, me, while_runs(until), |me| domain.push(me)) {
            // The queues are one again, or the record is another lock's, which the word then tells.
            Err(Missed::Closed) => return self.join_alone(me, until, most, seen),
            Err(missed) => return Err(missed),
            Ok(()) => {}
        }
        // Ordering: Relaxed, hint (how many are there, about)
        first.store(place.serial, Relaxed);
        if domain.top().is_some() {
            inc::<P>(Event::NumaLocal);
            return Ok(Seat { place, domain: Some(domain) });
        }
        // Whose node is before the caller's tells nothing of who has the turn there.
        match self.join_word(me, |_| until, u32::MAX, seen) {
            Ok(_) => {
                inc::<P>(Event::NumaRemote);
                domain.begin_batch(me.slot());
                Ok(Seat { place, domain: Some(domain) })
            }
            Err(missed) => {
                let closed = self.pass_domain(&domain, me);
                debug_assert!(!closed, "the caller had no place in the word");
                Err(missed)
            }
        }
    }

    /// [`leave`](Self::leave) for who came through the queue of a domain.
    pub(super) fn leave_domain(&self, domain: &Domain<P>, me: &Me<P>) -> bool {
        let closed = domain.note_turn() && self.give_up_top(domain);
        self.pass_domain(domain, me) | closed
    }

    /// Passes the domain's turn on; the place in the word with it, if there is one and somebody wants it.
    /// Whether the word was closed.
    fn pass_domain(&self, domain: &Domain<P>, me: &Me<P>) -> bool {
        let mut closed = false;
        mcs::pass::<P>(NODE, me.slot(), |last| {
            domain.pop(last, || closed |= self.give_up_top(domain))
        });
        closed
    }

    /// Passes the domain's place in the word on, if it has one. Whether the word was closed.
    fn give_up_top(&self, domain: &Domain<P>) -> bool {
        let Some(top) = domain.top() else { return false };
        if domain.is_idle() {
            self.join_up();
        }
        domain.set_top(None);
        self.pass_word(top)
    }

    /// The head, which came to this place, is about to leave: parts the queue if there is a crowd.
    #[inline]
    pub(super) fn note_depth(&self, me: &Me<P>, place: Place) {
        if place.ahead == 0 {
            return;
        }
        let numa = P::numa();
        let wanted = match numa.mode {
            NumaMode::Off => false,
            NumaMode::On => true,
            // Others touch no word for it.
            NumaMode::Dynamic if place.ahead <= numa.depth => false,
            NumaMode::Dynamic => self.deep_in_a_row(place.serial, P::domain(me)) > numa.keep,
        };
        // Ordering: Relaxed, hint (the head alone changes these bits of an open word)
        if wanted && self.word.load(Relaxed) & PARTED == 0 {
            self.part();
        }
    }

    /// A deep head of this domain and with this number: how many there have been in a row, but for few that left; 0
    /// if all were of one domain.
    fn deep_in_a_row(&self, serial: u32, domain: u16) -> u32 {
        const LEFT_BETWEEN: u16 = 4;
        // 0..15 number of the last | 16..27 how many | 28..30 its domain, in part | 31 of several
        const COUNT: u32 = 0xfff;
        const SEVERAL: u32 = 1 << 31;
        let domain = u32::from(domain & 7) << 28;
        // Ordering: Relaxed, owner-only (the head's) (block)
        let before = self.deep.load(Relaxed);
        let gap = (serial as u16).wrapping_sub(before as u16);
        let (count, several) = if gap <= LEFT_BETWEEN {
            let other = (before ^ domain) & (7 << 28) != 0;
            (((before >> 16) & COUNT) + 1, before & SEVERAL != 0 || other)
        } else {
            (1, false)
        };
        let flag = if several { SEVERAL } else { 0 };
        self.deep.store(flag | domain | count.min(COUNT) << 16 | serial & 0xffff, Relaxed);
        if several { count } else { 0 }
    }

    /// Parts the queue. The caller is the head, or alone.
    #[cold]
    pub(super) fn part(&self) {
        // Ordering: Relaxed, owner-only (the head's)
        self.deep.store(0, Relaxed);
        let Some(id) = P::claim_queue_entry() else {
            return inc::<P>(Event::NumaFull);
        };
        inc::<P>(Event::NumaPart);
        // Ordering: Relaxed, hint (its life stays while there is a head)
        let mut word = self.word.load(Relaxed);
        // SAFETY: as in lines().
        let line = unsafe { P::queue_entry(id).line(0) };
        // Ordering: Relaxed, init (published by [numa.line]) (block)
        line.words[LEFT].store(queues::<P>() as u32, Relaxed);
        line.wides[COMPANY].store(P::ticks(), Relaxed);

        for line in lines::<P>(id) {
            // Ordering: Relaxed, init (published by [numa.line]) (block)
            line.words[FIRST].store(1, Relaxed);
            line.words[TOP].store(0, Relaxed);

            // Ordering: Release, [numa.line]: pairs with the exchange in push(): who is late with the same
            // entry's name from an earlier time of the same lock finds it as it is now
            line.wides[DOMAIN_WORD].store(self.key(word), Release);
        }

        let bits = PARTED | u64::from(id.get()) << ENTRY_SHIFT;
        // Ordering: AcqRel, [numa.part], [osq.close]: releases the lines; Relaxed, hint (retried)
        while let Err(now) = self.word.compare_exchange(word, word | bits, AcqRel, Relaxed) {
            word = now;
        }
    }

    /// Joins the queues again. The caller is the head.
    #[cold]
    fn join_up(&self) {
        // Ordering: Relaxed, hint (the head alone changes these bits of an open word)
        let mut word = self.word.load(Relaxed);
        // Ordering: AcqRel, [osq.close]: as in change(); Relaxed, hint (retried)
        while let Err(now) =
            self.word.compare_exchange(word, word & !(PARTED | ENTRY), AcqRel, Relaxed)
        {
            word = now;
        }
        inc::<P>(Event::NumaJoin);
        retire::<P>(word);
    }
}
