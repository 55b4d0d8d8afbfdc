//! The tables of thread and lock records, and who holds which.
//!
//! Both tables are static and zero-initialised: address space, not memory, until touched. A free
//! record is on a Treiber stack whose head carries a tag against reuse (ABA); records that were
//! never used lie above a high-water mark. Claiming is lock-free and safe in signal handlers.
//!
//! ```text
//! Edges
//!  [slots.free]  Pool::put: head exchange Release -> Pool::take: head load Acquire  publishes the record's link and words
//!  [slots.busy]  shield: compiler fence SeqCst <-> a signal handler's enter: compiler fence SeqCst  forbids that a handler finds the guard taken and the flag clear
//! ```

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::Native;
use super::tls::here;
use crate::{CELL_IN_USE, COUNTERS, LockRecord, Me, RecordId, Slot, ThreadRecord};

/// Records in each table, one less being usable (index 0 means none).
pub const CAPACITY: usize = if cfg!(miri) { 256 } else { 1 << 16 };

static THREADS: [ThreadRecord<Native>; CAPACITY] = [const { ThreadRecord::ZERO }; CAPACITY];
static LOCKS: [LockRecord<Native>; CAPACITY] = [const { LockRecord::ZERO }; CAPACITY];

pub(super) static THREAD_POOL: Pool = Pool::new();
pub(super) static LOCK_POOL: Pool = Pool::new();

#[inline]
pub(super) fn thread_record(slot: Slot) -> &'static ThreadRecord<Native> {
    &THREADS[slot.get() as usize % CAPACITY]
}

#[inline]
pub(super) fn lock_record(id: RecordId) -> &'static LockRecord<Native> {
    &LOCKS[id.get() as usize % CAPACITY]
}

/// Which records of a table are free.
pub(super) struct Pool {
    /// Tag in the high half, index of the first free record in the low half.
    head: AtomicU64,
    /// Records below this have been used.
    high: AtomicU32,
    /// Records taken and not put back.
    taken: AtomicU32,
}

impl Pool {
    const fn new() -> Self {
        Pool { head: AtomicU64::new(0), high: AtomicU32::new(1), taken: AtomicU32::new(0) }
    }

    fn take(&self, link: impl Fn(Slot) -> &'static AtomicU32) -> Option<Slot> {
        // Ordering: Acquire, [slots.free]: pairs with the exchange in put()
        let mut head = self.head.load(Acquire);
        while let Some(first) = Slot::new(head as u16) {
            // Ordering: Relaxed, hint (the tag makes the exchange fail if the link is stale)
            let next = link(first).load(Relaxed);
            let new = ((head >> 32) + 1) << 32 | u64::from(next);
            // Ordering: Acquire, [slots.free]: success needs the words the head load saw; failure
            // order Acquire re-reads the head
            match self.head.compare_exchange_weak(head, new, Acquire, Acquire) {
                Ok(_) => {
                    // Ordering: Relaxed, stat
                    self.taken.fetch_add(1, Relaxed);
                    return Some(first);
                }
                Err(now) => head = now,
            }
        }
        self.take_new()
    }

    fn take_new(&self) -> Option<Slot> {
        // Ordering: Relaxed, hint (the index alone matters: a fresh record is all 0) (block)
        let mut high = self.high.load(Relaxed);
        while (high as usize) < CAPACITY {
            match self.high.compare_exchange_weak(high, high + 1, Relaxed, Relaxed) {
                Ok(_) => {
                    self.taken.fetch_add(1, Relaxed);
                    return Slot::new(high as u16);
                }
                Err(now) => high = now,
            }
        }
        None
    }

    fn put(&self, slot: Slot, link: &AtomicU32) {
        // Ordering: Relaxed, stat
        self.taken.fetch_sub(1, Relaxed);
        // Ordering: Relaxed, hint (re-checked by the exchange below)
        let mut head = self.head.load(Relaxed);
        loop {
            // Ordering: Relaxed, init (published by [slots.free])
            link.store(head as u32, Relaxed);
            let new = ((head >> 32) + 1) << 32 | u64::from(slot.get());
            // Ordering: AcqRel, [slots.free]: releases the record; Relaxed, hint (retried)
            match self.head.compare_exchange_weak(head, new, AcqRel, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// In a forked child, where no other thread exists: frees every record but `keep`.
    pub(super) fn rebuild(&self, keep: Option<Slot>, link: impl Fn(Slot) -> &'static AtomicU32) {
        // Ordering: Relaxed, owner-only (a forked child has one thread) (block)
        self.head.store(0, Relaxed);
        self.taken.store(0, Relaxed);
        let high = self.high.load(Relaxed);
        for slot in (1..high).filter_map(|i| Slot::new(i as u16)).filter(|s| Some(*s) != keep) {
            self.taken.fetch_add(1, Relaxed);
            self.put(slot, link(slot));
        }
        self.taken.store(u32::from(keep.is_some()), Relaxed);
    }

    /// Indices that have ever been handed out.
    pub(super) fn used(&self) -> impl Iterator<Item = Slot> + use<> {
        // Ordering: Relaxed, stat
        let high = self.high.load(Relaxed);
        (1..high).filter_map(|i| Slot::new(i as u16))
    }
}

/// Thread slots in use now: threads that have waited for a lock and live still.
pub fn slots_in_use() -> u32 {
    // Ordering: Relaxed, stat
    THREAD_POOL.taken.load(Relaxed)
}

/// Thread slots taken out of use until this is dropped: for tests of exhaustion.
#[doc(hidden)]
pub struct SlotHoard {
    first: Option<Slot>,
    length: usize,
}

#[doc(hidden)]
#[allow(clippy::len_without_is_empty)]
impl SlotHoard {
    pub fn take(most: usize) -> Self {
        let mut hoard = SlotHoard { first: None, length: 0 };
        while hoard.length < most
            && let Some(slot) = take_slot()
        {
            // Ordering: Relaxed, owner-only (the record is this hoard's)
            thread_record(slot).words[0].store(hoard.first.map_or(0, |s| s.get().into()), Relaxed);
            hoard.first = Some(slot);
            hoard.length += 1;
        }
        hoard
    }

    pub fn len(&self) -> usize {
        self.length
    }
}

impl Drop for SlotHoard {
    fn drop(&mut self) {
        while let Some(slot) = self.first {
            // Ordering: Relaxed, owner-only (the record is this hoard's)
            self.first = Slot::new(thread_record(slot).words[0].swap(0, Relaxed) as u16);
            put_slot(slot);
        }
    }
}

/// The pthread key whose destructor gives the thread's slot back, plus 1; 0 before it is made. A
/// key, not a Rust destructor: the C library runs it after those, and setting it allocates
/// nothing (for the first 32 keys of a process).
static KEY: AtomicU32 = AtomicU32::new(0);

/// How often [`at_thread_exit`] waits for the destructors of others. POSIX has the C library call
/// them four times in all, or more.
const EXIT_ROUNDS: usize = 3;

extern "C" fn at_thread_exit(round: *mut libc::c_void) {
    here(|here| {
        let Some(slot) = Slot::new(here.slot.get()) else { return };
        if !in_use(slot) {
            here.slot.set(0);
            put_slot(slot);
        } else if round.addr() < EXIT_ROUNDS {
            // Another destructor may end the use of a cell. A use that nobody ends keeps the record.
            will_return(round.addr() + 1);
        }
    });
}

/// Whether the thread holds something that it published in its record.
fn in_use(slot: Slot) -> bool {
    // Ordering: Relaxed, owner-only (only the record's thread, the caller, writes them)
    thread_record(slot).cells.held.iter().any(|cell| cell.load(Relaxed) & CELL_IN_USE != 0)
}

/// Makes the key; `None` if the process has no keys left (then slots are borrowed).
pub(super) fn make_key() -> Option<libc::pthread_key_t> {
    // Ordering: Relaxed, hint (a key is a number; the loser of a race deletes its own)
    if let Some(key) = KEY.load(Relaxed).checked_sub(1) {
        return Some(key);
    }
    let mut key = 0;
    // SAFETY: `key` is a valid place; the destructor is an extern "C" function that cannot unwind.
    if unsafe { libc::pthread_key_create(&mut key, Some(at_thread_exit)) } != 0 {
        return None;
    }
    // Ordering: Relaxed, hint (as above)
    match KEY.compare_exchange(0, key + 1, Relaxed, Relaxed) {
        Ok(_) => Some(key),
        Err(theirs) => {
            // SAFETY: this thread made the key, and nobody else knows it.
            unsafe { libc::pthread_key_delete(key) };
            Some(theirs - 1)
        }
    }
}

pub(super) fn highest() -> u16 {
    // Ordering: Relaxed, hint (ordered by the caller's fence, see Platform::highest_slot)
    (THREAD_POOL.high.load(Relaxed) - 1) as u16
}

/// Asks the C library to run [`at_thread_exit`] in this thread; `round` is from 1.
fn will_return(round: usize) -> bool {
    let value = core::ptr::without_provenance_mut(round);
    // SAFETY: the key was made by make_key() and is never deleted; the value is not dereferenced.
    make_key().is_some_and(|key| unsafe { libc::pthread_setspecific(key, value) } == 0)
}

fn take_slot() -> Option<Slot> {
    THREAD_POOL.take(|s| &thread_record(s).next_free)
}

fn put_slot(slot: Slot) {
    THREAD_POOL.put(slot, &thread_record(slot).next_free);
}

#[inline]
pub(super) fn my_slot() -> Option<Slot> {
    here(|here| Slot::new(here.slot.get()))
}

/// Sets whether the thread is inside a lock operation; returns whether it was.
#[inline]
pub(super) fn shield(on: bool) -> bool {
    // For the compiler, so that a signal handler between two operations of this thread sees them
    // in order.
    // Ordering: SeqCst, [slots.busy]: store-load within the thread, the flag against the guard
    core::sync::atomic::compiler_fence(SeqCst);
    let was = here(|here| here.busy.replace(on));
    // Ordering: SeqCst, [slots.busy]: store-load within the thread, the flag against the guard
    core::sync::atomic::compiler_fence(SeqCst);
    was
}

pub(super) fn enter() -> Option<Me<Native>> {
    // First of all, so that a signal handler that interrupts the rest gets no slot.
    if shield(true) {
        return None;
    }
    let me = match my_slot() {
        // SAFETY: the slot is this thread's, and the flag was down: no operation has it (1).
        Some(slot) => Some(unsafe { Me::new(slot, false) }),
        None => first_slot(),
    };
    if me.is_none() {
        shield(false);
    }
    me
}

/// Claims the thread's slot. Where nobody would give it back at exit, it is borrowed for one
/// operation.
#[cold]
fn first_slot() -> Option<Me<Native>> {
    let slot = take_slot()?;
    let keeps = will_return(1);
    if keeps {
        here(|here| here.slot.set(slot.get()));
    }
    // SAFETY: taken for this thread just now (1).
    Some(unsafe { Me::new(slot, !keeps) })
}

pub(super) fn leave(slot: Slot, borrowed: bool) {
    if borrowed {
        put_slot(slot);
    }
    shield(false);
}

pub(super) fn claim_lock_record() -> Option<RecordId> {
    LOCK_POOL.take(|s| &lock_record(s).next_free)
}

pub(super) fn return_lock_record(id: RecordId) {
    LOCK_POOL.put(id, &lock_record(id).next_free);
}

/// Adds to the caller's counter. A thread that cannot have a slot adds to the bank of slot 0,
/// atomically.
#[inline]
pub(super) fn count(index: usize, n: u64) {
    match my_slot() {
        Some(slot) => {
            let counter = &thread_record(slot).counters[index];
            // Ordering: Relaxed, stat (one writer; a signal handler between the two loses one) (block)
            let old = counter.load(Relaxed);
            counter.store(old.wrapping_add(n), Relaxed);
        }
        None => count_first(index, n),
    }
}

/// The first event of a thread claims its slot: a thread that only ever spins would otherwise
/// count on a line that all of them share.
#[cold]
fn count_first(index: usize, n: u64) {
    if enter().is_some() && my_slot().is_some() {
        return count(index, n);
    }
    // Ordering: Relaxed, stat
    THREADS[0].counters[index].fetch_add(n, Relaxed);
}

pub(super) fn counted(index: usize) -> u64 {
    debug_assert!(index < COUNTERS);
    let used = THREAD_POOL.used().map(|slot| &thread_record(slot).counters[index]);
    // Ordering: Relaxed, stat
    used.chain([&THREADS[0].counters[index]]).fold(0, |sum, c| sum.wrapping_add(c.load(Relaxed)))
}

/// In a forked child: forgets the threads that no longer exist.
///
/// Lock records in use stay attached to their locks, emptied of waiters: the next slow path on
/// such a lock finds an empty record and gives it back when it leaves.
pub(super) fn forget_others() {
    let me = my_slot();
    for slot in THREAD_POOL.used().filter(|slot| Some(*slot) != me) {
        let record = thread_record(slot);
        // Ordering: Relaxed, owner-only (a forked child has one thread) (block)
        record.token.store(0, Relaxed);
        record.parked.store(0, Relaxed);
        record.words.iter().for_each(|word| word.store(0, Relaxed));
        record.cells.held.iter().for_each(|cell| cell.store(0, Relaxed));
    }
    THREAD_POOL.rebuild(me, |s| &thread_record(s).next_free);
    for id in LOCK_POOL.used() {
        let record = lock_record(id);
        // Ordering: Relaxed, owner-only (a forked child has one thread) (block)
        let words = &record.words;
        words.halves.iter().for_each(|word| word.store(0, Relaxed));
        words.words.iter().for_each(|word| word.store(0, Relaxed));
        words.wides.iter().for_each(|word| word.store(0, Relaxed));
    }
}
