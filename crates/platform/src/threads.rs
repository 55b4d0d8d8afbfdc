//! Which thread has which record: what every platform of real threads does alike.
//!
//! A thread keeps the slot that it claims until it ends, and beside it one lock record that it may need
//! next: a contended lock takes its record from there and leaves it there, so that locks of one process
//! that are contended by different threads write no word in common.
//!
//! ```text
//! Edges
//!  [slots.busy]  signal_guard: compiler fence SeqCst <-> a signal handler's enter: compiler fence SeqCst  forbids that a handler finds the wait lock taken and the flag clear
//! ```

use core::cell::Cell;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::table::Table;
use crate::{
    CELL_IN_USE, COUNTERS, LockRecord, Me, Native, Platform, RecordId, Slot, ThreadRecord, Word,
};

/// Records in each table, one less being usable (index 0 means none).
pub const CAPACITY: usize = crate::table::CAPACITY;

/// What a thread keeps for itself; all 0 when it begins.
#[repr(C)]
pub(crate) struct Here<P: Platform> {
    /// The record of the thread's slot; null before its first contended wait.
    pub record: Cell<*const ThreadRecord<P>>,
    /// The thread's number in the system; 0 before it has been asked for.
    pub tid: Cell<u32>,
    /// The thread's slot; 0 before its first contended wait.
    pub slot: Cell<u16>,
    /// How many lock operations are under way on this thread: more than one in signal handlers.
    pub depth: Cell<u8>,
    /// Whether it is a real-time thread (the highest bit), and for how many questions more that is taken to
    /// be so.
    pub realtime: Cell<u8>,
    /// What the thread knows of the extension of time slices.
    pub extension: Cell<u8>,
}

impl<P: Platform> Here<P> {
    /// As a thread begins.
    #[allow(clippy::declare_interior_mutable_const)]
    #[allow(dead_code, reason = "words that are declared in assembly are zeroed by the loader")]
    pub(crate) const ZERO: Self = Here {
        record: Cell::new(core::ptr::null()),
        tid: Cell::new(0),
        slot: Cell::new(0),
        depth: Cell::new(0),
        realtime: Cell::new(0),
        extension: Cell::new(0),
    };
}

/// What a platform has to say of its threads.
///
/// # Safety
///
/// 1. [`here`](Self::here) gives each thread storage of its own, which begins as zeroes.
pub(crate) unsafe trait Threads: Platform {
    /// Runs `f` on the caller's storage.
    fn here<T>(f: impl FnOnce(&Here<Self>) -> T) -> T;

    /// The thread records.
    fn threads() -> &'static Table<ThreadRecord<Self>>;

    /// The lock records.
    fn locks() -> &'static Table<LockRecord<Self>>;

    /// Has [`exit`] run when the calling thread ends. False: it cannot be had any more.
    fn run_at_exit() -> bool;
}

/// Thread slots in use now: threads that have waited for a lock and live still.
pub fn slots_in_use() -> u32 {
    Native::threads().taken().count() as u32
}

/// The calling thread ends: gives its slot back. False if the thread holds something that it published
/// in its record, which another destructor may end the use of: a use that nobody ends keeps the record.
pub(crate) fn exit<P: Threads>() -> bool {
    let Some((slot, record)) = mine::<P>() else { return true };
    if in_use(record) {
        return false;
    }
    P::here(|here| {
        here.slot.set(0);
        here.record.set(core::ptr::null());
    });
    give_up(slot, record);
    true
}

/// Gives back the slot of a thread that is no more, and what it kept for its next wait.
pub(crate) fn give_up<P: Threads>(slot: Slot, record: &ThreadRecord<P>) {
    // Ordering: Relaxed, owner-only (the record's thread, or the only one there is)
    if let Some(spare) = Slot::new(record.own.spare.swap(0, Relaxed) as u16) {
        P::locks().release(spare);
    }
    P::threads().release(slot);
}

/// Whether the thread holds something that it published in its record.
fn in_use<P: Platform>(record: &ThreadRecord<P>) -> bool {
    // Ordering: Relaxed, owner-only (only the record's thread, the caller, writes them)
    record.cells.held.iter().any(|cell| cell.load(Relaxed) & CELL_IN_USE != 0)
}

/// The slot that the thread keeps, and its record.
#[inline]
pub(crate) fn mine<P: Threads>() -> Option<(Slot, &'static ThreadRecord<P>)> {
    P::here(|here| Some((Slot::new(here.slot.get())?, my_record()?)))
}

#[inline(always)]
pub(crate) fn my_record<P: Threads>() -> Option<&'static ThreadRecord<P>> {
    // SAFETY: null, or the record of this thread's slot, which never moves.
    P::here(|here| unsafe { here.record.get().as_ref() })
}

/// Adds to how many lock operations the thread is inside of; returns what it was before.
#[inline]
pub(crate) fn signal_guard<P: Threads>(plus: u8) -> u8 {
    // For the compiler, so that a signal handler between two operations of this thread sees them
    // in order.
    // Ordering: SeqCst, [slots.busy]: store-load within the thread, the depth against the wait lock
    core::sync::atomic::compiler_fence(SeqCst);
    let was = P::here(|here| here.depth.replace(here.depth.get().wrapping_add(plus)));
    // Ordering: SeqCst, [slots.busy]: store-load within the thread, the depth against the wait lock
    core::sync::atomic::compiler_fence(SeqCst);
    was
}

/// Takes back what [`signal_guard`] added.
#[inline]
pub(crate) fn drop_signal_guard<P: Threads>() {
    signal_guard::<P>(u8::MAX);
}

/// See [`Platform::enter`].
pub(crate) fn enter<P: Threads>() -> Option<Me<P>> {
    // First of all, so that a signal handler that interrupts the rest gets no slot.
    if signal_guard::<P>(1) != 0 {
        drop_signal_guard::<P>();
        return None;
    }
    let me = match mine() {
        // SAFETY: the slot is this thread's, and the flag was down: no operation has it (1, 2).
        Some((slot, record)) => Some(unsafe { Me::new(slot, record, false) }),
        None => first_slot(),
    };
    if me.is_none() {
        drop_signal_guard::<P>();
    }
    me
}

/// Claims the thread's slot. Where nobody would give it back at exit, it is borrowed for one
/// operation.
#[cold]
fn first_slot<P: Threads>() -> Option<Me<P>> {
    let slot = P::threads().claim()?;
    let record = P::threads().get(slot);
    let keeps = P::run_at_exit();
    if keeps {
        P::here(|here| {
            here.slot.set(slot.get());
            here.record.set(record);
        });
    }
    // SAFETY: taken for this thread just now (1, 2).
    Some(unsafe { Me::new(slot, record, !keeps) })
}

/// See [`Platform::leave`].
pub(crate) fn leave<P: Threads>(slot: Slot, borrowed: bool) {
    if borrowed {
        give_up::<P>(slot, P::threads().get(slot));
    }
    drop_signal_guard::<P>();
}

/// See [`Platform::claim_lock_record`].
pub(crate) fn claim_lock_record<P: Threads>() -> Option<RecordId> {
    if let Some(record) = keeper::<P>() {
        // Ordering: Relaxed, owner-only (see keeper()) (block)
        if let Some(spare) = Slot::new(record.own.spare.load(Relaxed) as u16) {
            record.own.spare.store(0, Relaxed);
            return Some(spare);
        }
    }
    P::locks().claim()
}

/// See [`Platform::return_lock_record`].
pub(crate) fn return_lock_record<P: Threads>(id: RecordId) {
    if let Some(record) = keeper::<P>() {
        // Ordering: Relaxed, owner-only (see keeper()) (block)
        if record.own.spare.load(Relaxed) == 0 {
            record.own.spare.store(u32::from(id.get()), Relaxed);
            return;
        }
    }
    P::locks().release(id);
}

/// The thread's record, where it may keep a lock record: not in a signal handler that interrupted a lock
/// operation, which may have been about to change that very word.
fn keeper<P: Threads>() -> Option<&'static ThreadRecord<P>> {
    my_record().filter(|_| P::here(|here| here.depth.get()) <= 1)
}

/// Adds to the caller's counter. A thread that cannot have a slot adds to the bank of the spare record,
/// atomically.
#[inline]
pub(crate) fn count<P: Threads>(index: usize, n: u64) {
    match my_record::<P>() {
        Some(record) => {
            let counter = &record.own.counters[index];
            // Ordering: Relaxed, stat (one writer; a signal handler between the two loses one) (block)
            let old = counter.load(Relaxed);
            counter.store(old.wrapping_add(n), Relaxed);
        }
        None => count_first::<P>(index, n),
    }
}

/// The first event of a thread claims its slot: a thread that only ever spins would otherwise
/// count on a line that all of them share.
#[cold]
fn count_first<P: Threads>(index: usize, n: u64) {
    if enter::<P>().is_some() && my_record::<P>().is_some() {
        return count::<P>(index, n);
    }
    // Ordering: Relaxed, stat
    P::threads().spare().own.counters[index].fetch_add(n, Relaxed);
}

/// See [`Platform::counted`].
pub(crate) fn counted<P: Threads>(index: usize) -> u64 {
    debug_assert!(index < COUNTERS);
    // Ordering: Relaxed, stat
    let count = |record: &ThreadRecord<P>| record.own.counters[index].load(Relaxed);
    P::threads().ever_taken().map(count).fold(0, u64::wrapping_add)
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
            && let Some(slot) = Native::threads().claim()
        {
            let before = hoard.first.map_or(0, |slot| slot.get().into());
            // Ordering: Relaxed, owner-only (the record is this hoard's)
            Native::threads().get(slot).words[0].store(before, Relaxed);
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
            let before = Native::threads().get(slot).words[0].swap(0, Relaxed);
            self.first = Slot::new(before as u16);
            Native::threads().release(slot);
        }
    }
}
