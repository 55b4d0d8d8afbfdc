//! The tables of thread and lock records, and which thread has which.
//!
//! A thread keeps the slot that it claims until it ends, and beside it one lock record that it may need
//! next: a contended lock takes its record from there and leaves it there, so that locks of one process
//! that are contended by different threads write no word in common.
//!
//! ```text
//! Edges
//!  [slots.busy]  shield: compiler fence SeqCst <-> a signal handler's enter: compiler fence SeqCst  forbids that a handler finds the wait lock taken and the flag clear
//! ```

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::tls::here;
use super::{Native, memory};
use crate::table::{FIRST, Table};
use crate::{CELL_IN_USE, COUNTERS, LockRecord, Me, RecordId, Slot, ThreadRecord};

/// Records in each table, one less being usable (index 0 means none).
pub const CAPACITY: usize = crate::table::CAPACITY;

// SAFETY: a record is atomic words, for which 0 is a value (1); pages are mapped for ever (2).
static THREADS: Table<ThreadRecord<Native>> =
    unsafe { Table::new([const { ThreadRecord::ZERO }; FIRST], memory::zeroed) };
// SAFETY: as above.
static LOCKS: Table<LockRecord<Native>> =
    unsafe { Table::new([const { LockRecord::ZERO }; FIRST], memory::zeroed) };

#[inline]
pub(super) fn thread_record(slot: Slot) -> &'static ThreadRecord<Native> {
    THREADS.get(slot)
}

#[inline]
pub(super) fn lock_record(id: RecordId) -> &'static LockRecord<Native> {
    LOCKS.get(id)
}

/// See [`Platform::slots`](crate::Platform::slots).
pub(super) fn taken() -> impl Iterator<Item = Slot> {
    THREADS.taken()
}

/// Thread slots in use now: threads that have waited for a lock and live still.
pub fn slots_in_use() -> u32 {
    taken().count() as u32
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
            && let Some(slot) = THREADS.claim()
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
            THREADS.release(slot);
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
    let Some((slot, record)) = mine() else { return };
    if !in_use(record) {
        here(|here| {
            here.slot.set(0);
            here.record.set(core::ptr::null());
        });
        give_up(slot, record);
    } else if round.addr() < EXIT_ROUNDS {
        // Another destructor may end the use of a cell. A use that nobody ends keeps the record.
        will_return(round.addr() + 1);
    }
}

/// Gives back the slot of a thread that is no more, and what it kept for its next wait.
fn give_up(slot: Slot, record: &ThreadRecord<Native>) {
    // Ordering: Relaxed, owner-only (the record's thread, or the only one there is)
    if let Some(spare) = Slot::new(record.own.spare.swap(0, Relaxed) as u16) {
        LOCKS.release(spare);
    }
    THREADS.release(slot);
}

/// Whether the thread holds something that it published in its record.
fn in_use(record: &ThreadRecord<Native>) -> bool {
    // Ordering: Relaxed, owner-only (only the record's thread, the caller, writes them)
    record.cells.held.iter().any(|cell| cell.load(Relaxed) & CELL_IN_USE != 0)
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

/// Asks the C library to run [`at_thread_exit`] in this thread; `round` is from 1.
fn will_return(round: usize) -> bool {
    let value = core::ptr::without_provenance_mut(round);
    // SAFETY: the key was made by make_key() and is never deleted; the value is not dereferenced.
    make_key().is_some_and(|key| unsafe { libc::pthread_setspecific(key, value) } == 0)
}

/// The slot that the thread keeps, and its record.
#[inline]
fn mine() -> Option<(Slot, &'static ThreadRecord<Native>)> {
    here(|here| Some((Slot::new(here.slot.get())?, my_record()?)))
}

#[inline(always)]
pub(super) fn my_record() -> Option<&'static ThreadRecord<Native>> {
    // SAFETY: null, or the record of this thread's slot, which never moves.
    here(|here| unsafe { here.record.get().as_ref() })
}

/// Adds to how many lock operations the thread is inside of; returns what it was before.
#[inline]
pub(super) fn shield(plus: u8) -> u8 {
    // For the compiler, so that a signal handler between two operations of this thread sees them
    // in order.
    // Ordering: SeqCst, [slots.busy]: store-load within the thread, the depth against the wait lock
    core::sync::atomic::compiler_fence(SeqCst);
    let was = here(|here| here.depth.replace(here.depth.get().wrapping_add(plus)));
    // Ordering: SeqCst, [slots.busy]: store-load within the thread, the depth against the wait lock
    core::sync::atomic::compiler_fence(SeqCst);
    was
}

/// Takes back what [`shield`] added.
#[inline]
pub(super) fn unshield() {
    shield(u8::MAX);
}

pub(super) fn enter() -> Option<Me<Native>> {
    // First of all, so that a signal handler that interrupts the rest gets no slot.
    if shield(1) != 0 {
        unshield();
        return None;
    }
    let me = match mine() {
        // SAFETY: the slot is this thread's, and the flag was down: no operation has it (1, 2).
        Some((slot, record)) => Some(unsafe { Me::new(slot, record, false) }),
        None => first_slot(),
    };
    if me.is_none() {
        unshield();
    }
    me
}

/// Claims the thread's slot. Where nobody would give it back at exit, it is borrowed for one
/// operation.
#[cold]
fn first_slot() -> Option<Me<Native>> {
    let slot = THREADS.claim()?;
    let record = thread_record(slot);
    let keeps = will_return(1);
    if keeps {
        here(|here| {
            here.slot.set(slot.get());
            here.record.set(record);
        });
    }
    // SAFETY: taken for this thread just now (1, 2).
    Some(unsafe { Me::new(slot, record, !keeps) })
}

pub(super) fn leave(slot: Slot, borrowed: bool) {
    if borrowed {
        give_up(slot, thread_record(slot));
    }
    unshield();
}

pub(super) fn claim_lock_record() -> Option<RecordId> {
    if let Some(record) = keeper() {
        // Ordering: Relaxed, owner-only (see keeper()) (block)
        if let Some(spare) = Slot::new(record.own.spare.load(Relaxed) as u16) {
            record.own.spare.store(0, Relaxed);
            return Some(spare);
        }
    }
    LOCKS.claim()
}

pub(super) fn return_lock_record(id: RecordId) {
    if let Some(record) = keeper() {
        // Ordering: Relaxed, owner-only (see keeper()) (block)
        if record.own.spare.load(Relaxed) == 0 {
            record.own.spare.store(u32::from(id.get()), Relaxed);
            return;
        }
    }
    LOCKS.release(id);
}

/// The thread's record, where it may keep a lock record: not in a signal handler that interrupted a lock
/// operation, which may have been about to change that very word.
fn keeper() -> Option<&'static ThreadRecord<Native>> {
    my_record().filter(|_| here(|here| here.depth.get()) <= 1)
}

/// Adds to the caller's counter. A thread that cannot have a slot adds to the bank of the spare record,
/// atomically.
#[inline]
pub(super) fn count(index: usize, n: u64) {
    match my_record() {
        Some(record) => {
            let counter = &record.own.counters[index];
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
    if enter().is_some() && my_record().is_some() {
        return count(index, n);
    }
    // Ordering: Relaxed, stat
    THREADS.spare().own.counters[index].fetch_add(n, Relaxed);
}

pub(super) fn counted(index: usize) -> u64 {
    debug_assert!(index < COUNTERS);
    // Ordering: Relaxed, stat
    let count = |record: &ThreadRecord<Native>| record.own.counters[index].load(Relaxed);
    THREADS.ever_taken().map(count).fold(0, u64::wrapping_add)
}

/// In a forked child: forgets the threads that no longer exist. Writes records that were in use, no
/// others.
///
/// Lock records in use stay attached to their locks, emptied of waiters: the next slow path on
/// such a lock finds an empty record and gives it back when it leaves. One that another thread had just
/// claimed and had not attached yet stays taken.
pub(super) fn forget_others() {
    let me = mine().map(|(slot, _)| slot);
    for slot in THREADS.taken().filter(|&slot| Some(slot) != me) {
        let record = thread_record(slot);
        // Ordering: Relaxed, owner-only (a forked child has one thread) (block)
        record.token.store(0, Relaxed);
        record.parked.store(0, Relaxed);
        record.words.iter().for_each(|word| word.store(0, Relaxed));
        record.cells.held.iter().for_each(|cell| cell.store(0, Relaxed));

        give_up(slot, record);
    }
    // Ordering: Relaxed, owner-only (a forked child has one thread)
    let spare = my_record().map_or(0, |record| record.own.spare.load(Relaxed));
    for id in LOCKS.taken().filter(|id| u32::from(id.get()) != spare) {
        let words = &lock_record(id).words;
        // Ordering: Relaxed, owner-only (a forked child has one thread) (block)
        words.halves.iter().for_each(|word| word.store(0, Relaxed));
        words.words.iter().for_each(|word| word.store(0, Relaxed));
        words.wides.iter().for_each(|word| word.store(0, Relaxed));
    }
}

#[cfg(all(test, not(miri)))]
pub(super) fn claim_for_test() -> Slot {
    THREADS.claim().expect("room for a test")
}

#[cfg(all(test, not(miri)))]
pub(super) fn release_for_test(slot: Slot) {
    THREADS.release(slot);
}
