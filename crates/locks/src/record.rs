//! What only a contended lock needs, kept outside the lock.
//!
//! A lock that somebody waits for has a *contention record*: a cache line of type-stable memory
//! named by a 16-bit index in a word of the lock, its *anchor*. It holds the FIFO of waiters, the queue of
//! spinners and the state of the waiting policy. Whoever comes first attaches one, the last to leave
//! detaches it, so the table needs no more records than threads that can wait, and a lock that is never
//! waited for has nothing but its own words.
//!
//! *Wait lock*: all but the queue of spinners changes only under the record's own small lock, held for a
//! few instructions (for each thread that a notification moves) and never across a wake-up or a heavy fence.
//! An unlock waits for it only to pass the lock on, and then not long. See `record/wait_lock.rs`.
//!
//! *Users*: those who wait asleep, and condition waiters that will come to do so, are counted beside the
//! queue of spinners, in its word. The last of both closes that word as it leaves, and then detaches the record:
//! see [`osq`](crate::osq).
//!
//! ```text
//! Edges
//!  [record.wait_lock] HeldRecord::drop: wait lock store Release -> try_acquire: wait lock exchange Acquire  publishes the queue and the policy's words
//!  [record.attach]    attach: anchor exchange Release -> index: anchor load Acquire  publishes the record as it is for this lock
//!  [record.detach]    detach: anchor RMW Release -> attach: anchor exchange Acquire  publishes what the users of the lock's last record did
//!  [record.head]      Queue::push_back, push_front, remove: head store Release -> first: head load Acquire  publishes the waiter's node
//! ```

pub mod node;
mod queue;
mod spinner;
mod wait_lock;

pub use queue::Queue;
pub use spinner::Spinner;
pub use wait_lock::HeldRecord;

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use lockwright_platform::{LockWords, Me, Platform, RecordId, Slot, Word};

use crate::osq::Osq;

/// What a waiter's node says.
pub mod state {
    /// In no queue.
    pub const IDLE: u32 = 0;
    /// In the wait queue of a lock.
    pub const WAITING: u32 = 1;
    /// The lock was passed to this waiter, which is in the queue no longer.
    pub const GRANTED: u32 = 2;
    /// In the queue of a condition variable.
    pub const COND: u32 = 3;
    /// Notified, off the condition variable's queue and in none.
    pub const NOTIFIED: u32 = 4;
}

/// The control word of a lock.
pub mod ctl {
    /// The lock is held (only where unlocking is one atomic operation).
    pub const LOCKED: u32 = 1;
    /// Unlock must wake the first waiter.
    pub const WAKE: u32 = 2;
    /// Unlock must pass the lock to the first waiter.
    pub const HANDOFF: u32 = 4;
    /// Unlock must pass a full fence between its release and its look at this word. Raised by owners only.
    pub const FENCE: u32 = 8;
    /// Either of the requests to unlock.
    pub const ASKED: u32 = WAKE | HANDOFF;
    /// Where the index of the record begins. The bits between are the lock's own.
    pub const INDEX_SHIFT: u32 = 16;
    /// The index of the record.
    pub const INDEX: u32 = 0xffff << INDEX_SHIFT;

    /// The record that a control word names.
    pub fn record(word: u32) -> Option<lockwright_platform::RecordId> {
        lockwright_platform::Slot::new((word >> INDEX_SHIFT) as u16)
    }
}

/// The word of a lock that names its record.
pub trait Anchor<P: Platform> {
    /// The record that is attached.
    fn index(&self) -> Option<RecordId>;

    /// Attaches a record, unless one is attached.
    fn attach(&self, id: RecordId) -> bool;

    /// Detaches the record. Requests of waiters go with it: with nobody left they ask for nothing
    /// (races 12, 20).
    fn detach(&self);
}

/// A control word as an anchor.
#[derive(Copy, Clone)]
pub struct Control<'a, P: Platform>(pub &'a P::Word<u32>);

impl<P: Platform> Anchor<P> for Control<'_, P> {
    fn index(&self) -> Option<RecordId> {
        // Ordering: Acquire, [record.attach]: pairs with the exchange in attach()
        ctl::record(self.0.load(Acquire))
    }

    fn attach(&self, id: RecordId) -> bool {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut word = self.0.load(Relaxed);
        while ctl::record(word).is_none() {
            let new = word | u32::from(id.get()) << ctl::INDEX_SHIFT;
            // Ordering: AcqRel, [record.attach], [record.detach]: releases the record, acquires what was done
            // by those who used the last; Relaxed, hint (retried)
            match self.0.compare_exchange(word, new, AcqRel, Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    fn detach(&self) {
        // Ordering: Release, [record.detach]: pairs with the exchange in attach()
        self.0.fetch_and(!(ctl::ASKED | ctl::FENCE | ctl::INDEX), Release);
    }
}

/// A contention record.
#[derive(Copy, Clone)]
pub struct Record<P: Platform> {
    id: RecordId,
    words: &'static LockWords<P>,
}

const WAIT_LOCK: usize = 0;
const WAITERS: usize = 1;
const COND_WAITERS: usize = 2;
const READER_SPINS: usize = 3;
const OSQ_FIRST: usize = 4;
const GUESTS: usize = 5;
const GUEST_OWNER: usize = 6;
const OSQ_DEEP: usize = 7;

impl<P: Platform> PartialEq for Record<P> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl<P: Platform> Record<P> {
    /// The record with this index.
    #[inline]
    pub fn at(id: RecordId) -> Self {
        // SAFETY: this crate alone reaches them, and changes each as the edges above say (1).
        Record { id, words: unsafe { P::lock_record(id).words() } }
    }

    /// The queue of spinners.
    pub fn osq(&self) -> Osq<P> {
        let words = &self.words.words;
        let (first, deep) = (&words[OSQ_FIRST], &words[OSQ_DEEP]);
        Osq { word: &self.words.wides[1], first, deep, id: self.id }
    }

    /// When the running slice ends, in ticks; 0 when no slice runs.
    pub fn slice_end(&self) -> &'static P::Word<u64> {
        &self.words.wides[0]
    }

    /// When the present owner's stay began, in ticks; 0: not known. Of a reader-writer lock: since when its
    /// guests are counted.
    pub fn since(&self) -> &'static P::Word<u64> {
        &self.words.wides[2]
    }

    /// Guests that have had the lock in the running slice. Of a reader-writer lock: that stood before others.
    pub fn guests(&self) -> &'static P::Word<u32> {
        &self.words.words[GUESTS]
    }

    /// Slot of the guest that the lock was passed to last.
    pub fn guest_owner(&self) -> &'static P::Word<u32> {
        &self.words.words[GUEST_OWNER]
    }

    /// Number of queued waiters.
    pub fn length(&self) -> &'static P::Word<u32> {
        &self.words.words[WAITERS]
    }

    /// The first waiter, as it is or was a moment ago.
    pub fn first(&self) -> Option<Slot> {
        // Ordering: Acquire, [record.head]: pairs with the store in push_back() and remove()
        Slot::new(self.head().load(Acquire))
    }

    /// Admits a spinning reader, if none is there.
    pub fn admit_reader(&self) -> bool {
        // Ordering: Relaxed, hint (policy only)
        self.words.words[READER_SPINS].swap(1, Relaxed) == 0
    }

    /// The spinning reader has gone.
    pub fn dismiss_reader(&self) {
        // Ordering: Relaxed, hint (policy only)
        self.words.words[READER_SPINS].store(0, Relaxed);
    }

    fn head(&self) -> &'static P::Word<u16> {
        &self.words.halves[0]
    }

    fn tail(&self) -> &'static P::Word<u16> {
        &self.words.halves[1]
    }

    /// The last of the guests, who stand before all others.
    fn last_guest(&self) -> &'static P::Word<u16> {
        &self.words.halves[3]
    }

    /// Who waits for the wait lock: the last of a queue.
    fn line(&self) -> &'static P::Word<u16> {
        &self.words.halves[2]
    }

    /// The words of the policy as a new lock finds them.
    fn clear(&self) {
        // Ordering: Relaxed, init (published by [record.attach]) (block)
        self.slice_end().store(0, Relaxed);
        self.since().store(0, Relaxed);
        self.words.words[COND_WAITERS].store(0, Relaxed);
        self.guests().store(0, Relaxed);
        self.guest_owner().store(0, Relaxed);
        self.last_guest().store(0, Relaxed);
        self.osq().deep.store(0, Relaxed);
        self.dismiss_reader();
    }

    /// Takes the record, whose word the caller closed, from its lock. It must be [given
    /// back](Detached::give_back).
    fn detach(self, anchor: impl Anchor<P>) -> Detached<P> {
        anchor.detach();
        self.osq().open();
        Detached(self)
    }
}

/// A record that no lock names any more.
#[must_use]
pub struct Detached<P: Platform>(Record<P>);

impl<P: Platform> Detached<P> {
    /// Gives it back.
    pub fn give_back(self) {
        // SAFETY: claimed for a lock that has let go of it; nobody uses it any more, and who comes late
        // finds that it is not the lock's (1).
        unsafe { P::return_lock_record(self.0.id) };
    }
}

/// Finds the record of the lock with this anchor, or attaches one; counts the caller as a
/// user and returns with the wait lock held. `None`: no record is left. `me`: see
/// [`Record::acquire`].
pub fn attach<'m, P: Platform>(
    anchor: impl Anchor<P>,
    me: Option<&'m Me<P>>,
) -> Option<HeldRecord<'m, P>> {
    loop {
        let Some(id) = anchor.index() else {
            if let Some(record) = attach_new(&anchor)? {
                return Some(record.acquire(me));
            }
            continue;
        };
        let record = Record::<P>::at(id);
        if record.osq().add_user(|| anchor.index() == Some(id)) {
            return Some(record.acquire(me));
        }
        if anchor.index() == Some(id) {
            // Whoever closed it is about to detach it.
            P::yield_now();
        }
    }
}

/// Inner `None`: another thread attached one first.
fn attach_new<P: Platform>(anchor: &impl Anchor<P>) -> Option<Option<Record<P>>> {
    let record = Record::<P>::at(P::claim_lock_record()?);
    record.clear();
    record.osq().add_first_user();
    if anchor.attach(record.id) {
        return Some(Some(record));
    }
    record.osq().clear();
    // SAFETY: claimed above for a lock that has another (1).
    unsafe { P::return_lock_record(record.id) };
    Some(None)
}

/// The state word of a waiter's node.
pub fn waiter_state<P: Platform>(slot: Slot) -> &'static P::Word<u32> {
    node::word::<P>(slot, node::STATE)
}

/// The caller's own state word.
pub fn my_state<P: Platform>(me: &Me<P>) -> &'static P::Word<u32> {
    &node::words(me.record())[node::STATE]
}

impl<P: Platform> HeldRecord<'_, P> {
    /// The first waiter.
    pub fn first(&self) -> Option<Slot> {
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
        Slot::new(self.record().head().load(Relaxed))
    }

    /// Condition waiters that will come to this record's lock.
    pub fn cond_waiters(&self) -> u32 {
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
        self.record().words.words[COND_WAITERS].load(Relaxed)
    }

    /// Counts condition waiters.
    pub fn set_cond_waiters(&self, n: u32) {
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
        self.record().words.words[COND_WAITERS].store(n, Relaxed);
    }

    /// Appends a waiter; true if it is first.
    pub fn push_back(&self, slot: Slot, state: u32) -> bool {
        self.set_length(1);
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
        waiter_state::<P>(slot).store(state, Relaxed);
        self.queue().push_back(slot)
    }

    /// Puts a waiter before all others.
    pub fn push_front(&self, slot: Slot, state: u32) {
        self.set_length(1);
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
        waiter_state::<P>(slot).store(state, Relaxed);
        self.queue().push_front(slot);
    }

    /// Puts a guest behind the other guests and before all others; true if it is first.
    pub fn push_guest(&self, slot: Slot, state: u32) -> bool {
        self.set_length(1);
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock]) (block)
        waiter_state::<P>(slot).store(state, Relaxed);
        let last = Slot::new(self.record().last_guest().load(Relaxed));
        self.record().last_guest().store(slot.get(), Relaxed);

        match last {
            Some(last) => self.queue().push_behind(slot, last),
            None => self.queue().push_front(slot),
        }
        last.is_none()
    }

    /// The first waiter counts as a guest from now on: none goes before it.
    pub fn count_as_guest(&self, first: Slot) {
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
        self.record().last_guest().store(first.get(), Relaxed);
    }

    /// Whether the first waiter is a guest, or counts as one.
    pub fn first_is_guest(&self) -> bool {
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
        self.record().last_guest().load(Relaxed) != 0
    }

    /// The first waiter that is no guest.
    pub fn first_but_guests(&self) -> Option<Slot> {
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
        match Slot::new(self.record().last_guest().load(Relaxed)) {
            Some(last) => self.next(last),
            None => self.record().first(),
        }
    }

    /// Takes a waiter out of the queue, wherever it stands.
    pub fn remove(&self, slot: Slot) {
        self.set_length(u32::MAX);
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock]) (block)
        let last_guest = self.record().last_guest();
        if last_guest.load(Relaxed) == slot.get() {
            // Those before it are guests as well.
            last_guest.store(queue::previous::<P>(slot).map_or(0, Slot::get), Relaxed);
        }

        self.queue().remove(slot);
    }

    /// Moves a waiter, no guest, behind another.
    pub fn move_behind(&self, slot: Slot, other: Slot) {
        self.queue().remove(slot);
        self.queue().push_behind(slot, other);
    }

    /// The waiter behind `slot`.
    pub fn next(&self, slot: Slot) -> Option<Slot> {
        queue::next::<P>(slot)
    }

    fn queue(&self) -> Queue<'static, P> {
        Queue { head: self.record().head(), tail: self.record().tail() }
    }

    fn set_length(&self, plus: u32) {
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock]; elsewhere a hint) (block)
        let length = self.record().length();
        length.store(length.load(Relaxed).wrapping_add(plus), Relaxed);
    }

    /// Ends a use of the record, the caller's or that of a waiter that will not come back to it. The last
    /// to leave detaches it from the lock, here: when the wait lock is dropped the lock need not exist any
    /// more. The record, if so, is to be given back then.
    pub fn end_use(&self, anchor: impl Anchor<P>) -> Option<Detached<P>> {
        self.record().osq().drop_user_or_close().then(|| self.record().detach(anchor))
    }

    /// Ends the caller's use and drops the wait lock.
    pub fn leave(self, anchor: impl Anchor<P>) {
        let detached = self.end_use(anchor);
        drop(self);
        if let Some(detached) = detached {
            detached.give_back();
        }
    }
}

/// Runs a closure when it goes out of scope, by a panic too.
pub(crate) struct Defer<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for Defer<F> {
    #[inline]
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Bounds of the sleeps of a thread that has no node.
const NO_NODE_SLEEP_NS: (u64, u64) = (50_000, 1_000_000);

/// The wait of a thread that cannot queue: tries and sleeps in turn, until `attempt` succeeds or
/// `Platform::now()` has reached `deadline`.
#[cold]
pub fn try_in_turn<P: Platform>(deadline: Option<u64>, attempt: impl Fn() -> bool) -> bool {
    let mut ns = NO_NODE_SLEEP_NS.0;
    loop {
        if attempt() {
            return true;
        }
        let left = deadline.map_or(u64::MAX, |at| at.saturating_sub(P::now()));
        if left == 0 {
            return false;
        }
        P::sleep(ns.min(left));
        ns = (ns * 2).min(NO_NODE_SLEEP_NS.1);
    }
}
