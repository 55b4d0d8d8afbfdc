//! What only a contended lock needs, kept outside the lock.
//!
//! A lock that somebody waits for has a *contention record*: a cache line of type-stable memory
//! named by a 16-bit index in the lock's control word. It holds the FIFO of waiters, the OSQ tail
//! and the state of the waiting policy. The first waiter attaches one, the last to leave detaches
//! it, so the table needs no more records than threads that can wait, and a lock that is never
//! waited for is 8 bytes.
//!
//! *Guard*: everything but the OSQ tail and the crowd word changes only under the record's own small
//! lock (`guard`), held for a few instructions (for each thread that a notification moves) and
//! never across a wake-up or a fence. An unlock waits for it only to pass the lock on, and then
//! not long. See `record/guard.rs` for the wait for it.
//!
//! *Crowd*: users and spinners are counted in one word, together with how often the record has been
//! attached, so that spinners come and go without the guard: one that leaves has the lock, and
//! would hold it for as long as the guard is fought for. Without the guard users are never counted up
//! from 0; so whoever finds 0 under the guard may detach the record.
//!
//! Words of the control word: see [`ctl`].
//!
//! ```text
//! Edges
//!  [record.guard]  Guarded::drop: guard store Release -> acquire, try_acquire: guard exchange Acquire  publishes the queue and the policy's words
//!  [record.attach] attach: control word exchange Release -> users of the index: control word load Acquire  publishes the emptied record
//!  [record.head]   Queue::push_back, push_front, remove: head store Release -> first: head load Acquire  publishes the waiter's node
//!  [record.crowd]  attach_new: crowd store Release -> join: crowd load Acquire  publishes that the lock served before names the record no more
//!  [record.left]   leave_spinning: crowd fetch_sub Release -> settle: crowd load Acquire  publishes the spinner's last use of the record
//! ```

mod crowd;
mod guard;
mod queue;

pub use crowd::join_spinners;
pub(crate) use queue::{Queue, word};

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use lockwright_platform::{LockWords, Me, Platform, RecordId, Slot, Word};

/// Words of a thread record, by name.
pub(crate) mod node {
    use lockwright_platform::{Platform, THREAD_WORDS, ThreadRecord};

    /// The words of a thread's node.
    #[inline(always)]
    pub fn words<P: Platform>(record: &ThreadRecord<P>) -> &[P::Word<u32>; THREAD_WORDS] {
        // SAFETY: this crate alone reaches them, and changes each as the edges of its lock say (1).
        unsafe { record.words() }
    }

    pub const OSQ_NEXT: usize = 0;
    pub const OSQ_PREV: usize = 1;
    /// See [`super::state`].
    pub const STATE: usize = 2;
    pub const NEXT: usize = 3;
    pub const PREV: usize = 4;
    /// Next of a batch of notified condition waiters.
    pub const CHAIN: usize = 5;
    /// Memory of dozes that found the lock idle.
    pub const LURK: usize = 6;
    /// Address of the mutex that a condition waiter will return with, in two halves.
    pub const MUTEX: [usize; 2] = [7, 8];

    /// How many reads of reader-biased locks this thread leaves uncounted before the next that it
    /// counts.
    pub const UNCOUNTED: usize = 10;

    // A waiter of a reader-writer lock is no condition waiter: it has these words instead.
    /// What it waits for.
    pub const RW_KIND: usize = CHAIN;
    /// When it may forbid stealing, in ticks, in two halves.
    pub const RW_HANDOFF_AT: [usize; 2] = MUTEX;
    /// Bits of the owner word that it found set when it came.
    pub const RW_SAW_BIT: usize = 9;
}

/// What a waiter's node says.
pub mod state {
    /// In no queue.
    pub const IDLE: u32 = 0;
    /// In the wait queue of a mutex.
    pub const WAITING: u32 = 1;
    /// The lock was passed to this waiter, which is in the queue no longer.
    pub const GRANTED: u32 = 2;
    /// In the queue of a condition variable.
    pub const COND: u32 = 3;
    /// Notified: taken off the condition variable's queue, first of its batch.
    pub const NOTIFIED: u32 = 4;
    /// Notified, waiting for the first of its batch to move it to the mutex.
    pub const CHAINED: u32 = 5;
}

/// The control word of a lock.
pub mod ctl {
    /// The lock is held (only where unlocking is one atomic operation).
    pub const LOCKED: u32 = 1;
    /// Unlock must wake the first waiter.
    pub const WAKE: u32 = 2;
    /// Unlock must pass the lock to the first waiter.
    pub const HANDOFF: u32 = 4;
    /// Either of the requests to unlock.
    pub const ASKED: u32 = WAKE | HANDOFF;
    /// Where the index of the record begins. The bits between are the lock's own.
    pub const INDEX_SHIFT: u32 = 16;
    /// The index of the record.
    pub const INDEX: u32 = 0xffff << INDEX_SHIFT;

    /// The record a control word names.
    #[inline]
    pub fn record(word: u32) -> Option<lockwright_platform::RecordId> {
        lockwright_platform::Slot::new((word >> INDEX_SHIFT) as u16)
    }
}

/// A contention record.
#[derive(Copy, Clone)]
pub struct Record<P: Platform> {
    id: RecordId,
    words: &'static LockWords<P>,
}

const GUARD: usize = 0;
const LENGTH: usize = 1;
const READER_SPINS: usize = 2;

impl<P: Platform> PartialEq for Record<P> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// A record whose guard the caller holds.
pub struct Guarded<'m, P: Platform> {
    record: Record<P>,
    /// The caller's node, if it is first in the line for the guard.
    in_line: Option<&'m Me<P>>,
}

impl<P: Platform> Record<P> {
    /// The record with this index.
    #[inline]
    pub fn at(id: RecordId) -> Self {
        // SAFETY: this crate alone reaches them, and changes each as the edges below say (1).
        Record { id, words: unsafe { P::lock_record(id).words() } }
    }

    /// The OSQ tail.
    pub fn osq_tail(&self) -> &'static P::Word<u16> {
        &self.words.halves[0]
    }

    /// When the running slice ends, in ticks; 0 when no slice runs.
    pub fn slice_end(&self) -> &'static P::Word<u64> {
        &self.words.wides[0]
    }

    /// Number of queued waiters.
    pub fn length(&self) -> &'static P::Word<u32> {
        &self.words.words[LENGTH]
    }

    fn head(&self) -> &'static P::Word<u16> {
        &self.words.halves[1]
    }

    fn tail(&self) -> &'static P::Word<u16> {
        &self.words.halves[2]
    }

    /// Who waits for the guard: the tail of an OSQ.
    pub fn line(&self) -> &'static P::Word<u16> {
        &self.words.halves[3]
    }

    fn crowd(&self) -> &'static P::Word<u64> {
        &self.words.wides[1]
    }

    /// The first waiter, as it is or was a moment ago.
    pub fn first(&self) -> Option<Slot> {
        // Ordering: Acquire, [record.head]: pairs with the store in push_back() and remove()
        Slot::new(self.head().load(Acquire))
    }
}

/// Finds the record of the lock with this control word, or attaches one; counts the caller as a
/// user and returns with the guard held. `None`: no record is left. `me`: see [`Record::acquire`].
pub fn attach<'m, P: Platform>(
    control: &P::Word<u32>,
    me: Option<&'m Me<P>>,
) -> Option<Guarded<'m, P>> {
    loop {
        // Ordering: Acquire, [record.attach]: pairs with the exchange in attach_new()
        let word = control.load(Acquire);
        let Some(id) = ctl::record(word) else {
            if let Some(guarded) = attach_new(control)? {
                return Some(guarded);
            }
            continue;
        };
        let guarded = Record::<P>::at(id).acquire(me);
        // Detaching needs the guard: if the lock names this record now, it does until the guard
        // is dropped; otherwise it was detached before and perhaps serves another lock.
        // Ordering: Relaxed, sequence (inside the guard, [record.guard])
        if ctl::record(control.load(Relaxed)) == Some(id) {
            guarded.add_users(1);
            return Some(guarded);
        }
    }
}

/// Inner `None`: another thread attached one first.
fn attach_new<P: Platform>(control: &P::Word<u32>) -> Option<Option<Guarded<'static, P>>> {
    let id = P::claim_lock_record()?;
    let guarded = Record::<P>::at(id).acquire(None);
    // Ordering: Relaxed, init (published by [record.attach] and the guard) (block)
    guarded.record.slice_end().store(0, Relaxed);
    guarded.record.dismiss_reader();
    let before = guarded.record.crowd().load(Relaxed);
    let after = (before & !(crowd::ATTACHED - 1)).wrapping_add(crowd::ATTACHED);
    // Ordering: Release, [record.crowd]: pairs with the load in join()
    guarded.record.crowd().store(after + crowd::USER, Release);

    // Ordering: Relaxed, hint (re-checked by the exchange)
    let mut word = control.load(Relaxed);
    while ctl::record(word).is_none() {
        let new = word | u32::from(id.get()) << ctl::INDEX_SHIFT;
        // Ordering: AcqRel, [record.attach]: releases the emptied record; Relaxed, hint (retried)
        match control.compare_exchange(word, new, AcqRel, Relaxed) {
            Ok(_) => return Some(Some(guarded)),
            Err(now) => word = now,
        }
    }
    guarded.drop_user();
    drop(guarded);
    // SAFETY: claimed above for this lock, which did not take it (1).
    unsafe { P::return_lock_record(id) };
    Some(None)
}

/// The state word of a waiter's node.
pub fn waiter_state<P: Platform>(slot: Slot) -> &'static P::Word<u32> {
    queue::word::<P>(slot, node::STATE)
}

impl<P: Platform> Guarded<'_, P> {
    /// The record.
    pub fn record(&self) -> Record<P> {
        self.record
    }

    /// The first waiter.
    pub fn first(&self) -> Option<Slot> {
        // Ordering: Relaxed, sequence (inside the guard, [record.guard])
        Slot::new(self.record.head().load(Relaxed))
    }

    /// Counts more users: waiters that were moved here.
    pub fn add_users(&self, n: u32) {
        // Ordering: Relaxed, sequence (detaching is done inside the guard, [record.guard])
        self.record.crowd().fetch_add(u64::from(n) * crowd::USER, Relaxed);
    }

    /// Counts a user less: a waiter that was taken off and will not come back. If it may be the
    /// last, [`leave`](Self::leave) or [`settle`](Self::settle) must follow.
    pub fn drop_user(&self) {
        // Ordering: Relaxed, sequence (detaching is done inside the guard, [record.guard])
        self.record.crowd().fetch_sub(crowd::USER, Relaxed);
    }

    /// Appends a waiter; true if it is first.
    pub fn push_back(&self, slot: Slot, state: u32) -> bool {
        self.set_length(1);
        // Ordering: Relaxed, sequence (inside the guard, [record.guard])
        waiter_state::<P>(slot).store(state, Relaxed);
        self.queue().push_back(slot)
    }

    /// Puts a waiter before all others.
    pub fn push_front(&self, slot: Slot, state: u32) {
        self.set_length(1);
        // Ordering: Relaxed, sequence (inside the guard, [record.guard])
        waiter_state::<P>(slot).store(state, Relaxed);
        self.queue().push_front(slot);
    }

    /// Takes a waiter out of the queue, wherever it stands.
    pub fn remove(&self, slot: Slot) {
        self.set_length(u32::MAX);
        self.queue().remove(slot);
    }

    /// The waiter behind `slot`.
    pub fn next(&self, slot: Slot) -> Option<Slot> {
        queue::next::<P>(slot)
    }

    fn queue(&self) -> Queue<'static, P> {
        Queue { head: self.record.head(), tail: self.record.tail() }
    }

    fn set_length(&self, plus: u32) {
        // Ordering: Relaxed, sequence (inside the guard, [record.guard]; elsewhere a hint) (block)
        let length = self.record.length();
        length.store(length.load(Relaxed).wrapping_add(plus), Relaxed);
    }

    /// Ends the caller's use; the last user detaches the record from the lock.
    pub fn leave(self, control: &P::Word<u32>) {
        self.drop_user();
        self.settle(control);
    }

    /// Detaches the record from the lock if it has no users left.
    pub fn settle(self, control: &P::Word<u32>) {
        // Ordering: Acquire, [record.left]: pairs with leave_spinning()
        if self.record.crowd().load(Acquire) & crowd::USERS == 0 {
            let id = self.record.id;
            // Requests go with the index: with nobody left they ask for nothing (races 12, 20).
            // Ordering: Relaxed, sequence (a reader that still sees the index finds, under the
            // guard, that it is stale: [record.guard])
            control.fetch_and(!(ctl::ASKED | ctl::INDEX), Relaxed);
            drop(self);
            // SAFETY: claimed for this lock, which has let go of it; nobody uses it any more, and who
            // comes late finds, under the guard, that it is not the lock's (1).
            unsafe { P::return_lock_record(id) };
        }
    }
}

/// Runs a closure when it goes out of scope, by a panic too.
pub(crate) struct Finally<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for Finally<F> {
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

/// The caller's own state word.
pub fn my_state<P: Platform>(me: &Me<P>) -> &'static P::Word<u32> {
    &node::words(me.record())[node::STATE]
}
