//! The tables of thread and lock records, how a slot comes back when its thread ends, and what is left of
//! both in a forked child.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use super::{Native, memory, tls};
use crate::table::{FIRST, Table};
use crate::threads::{self, Here, Threads, give_up, mine, my_record};
use crate::{LockRecord, QUEUES, QueueEntry, ThreadRecord};

// SAFETY: a record is atomic words, for which 0 is a value (1); pages are mapped for ever (2).
static THREADS: Table<ThreadRecord<Native>> =
    unsafe { Table::new([const { ThreadRecord::ZERO }; FIRST], memory::zeroed) };
// SAFETY: as above.
static LOCKS: Table<LockRecord<Native>> =
    unsafe { Table::new([const { LockRecord::ZERO }; FIRST], memory::zeroed) };

// SAFETY: as above.
static ENTRIES: Table<QueueEntry<Native>> =
    unsafe { Table::new([const { NO_QUEUES }; FIRST], memory::zeroed) };
#[allow(clippy::declare_interior_mutable_const)]
const NO_QUEUES: QueueEntry<Native> = QueueEntry { lines: [const { LockRecord::ZERO }; QUEUES] };

/// Queue entries that have an index of 8 bits.
pub(super) fn entries() -> &'static Table<QueueEntry<Native>> {
    &ENTRIES
}

// SAFETY: thread-local storage, zeroes at first (1).
unsafe impl Threads for Native {
    #[inline(always)]
    fn here<T>(f: impl FnOnce(&Here<Self>) -> T) -> T {
        tls::here(f)
    }

    #[inline(always)]
    fn threads() -> &'static Table<ThreadRecord<Self>> {
        &THREADS
    }

    #[inline(always)]
    fn locks() -> &'static Table<LockRecord<Self>> {
        &LOCKS
    }

    fn run_at_exit() -> bool {
        will_return(1)
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
    if !threads::exit::<Native>() && round.addr() < EXIT_ROUNDS {
        // Another destructor may end the use of a cell.
        will_return(round.addr() + 1);
    }
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

/// In a forked child: forgets the threads that no longer exist. Writes records that were in use, no
/// others.
///
/// Lock records in use stay attached to their locks, emptied of waiters: the next slow path on
/// such a lock finds an empty record and gives it back when it leaves. One that another thread had just
/// claimed and had not attached yet stays taken.
pub(super) fn forget_others() {
    let mine = mine::<Native>();
    let me = mine.map(|(slot, _)| slot);
    if let Some((_, record)) = mine
        && Native::here(|here| here.depth.get()) == 0
    {
        // Its nodes may be lent to queues of which nobody is left to give them back.
        // Ordering: Relaxed, owner-only (a forked child has one thread)
        record.words.iter().for_each(|word| word.store(0, Relaxed));
    }
    for slot in THREADS.taken().filter(|&slot| Some(slot) != me) {
        let record = THREADS.get(slot);
        // Ordering: Relaxed, owner-only (a forked child has one thread) (block)
        record.token.store(0, Relaxed);
        record.parked.store(0, Relaxed);
        record.words.iter().for_each(|word| word.store(0, Relaxed));
        record.cells.held.iter().for_each(|cell| cell.store(0, Relaxed));

        give_up(slot, record);
    }
    // Ordering: Relaxed, owner-only (a forked child has one thread)
    let spare = my_record::<Native>().map_or(0, |record| record.own.spare.load(Relaxed));
    let locks = LOCKS.taken().filter(|id| u32::from(id.get()) != spare).map(|id| LOCKS.get(id));
    // No word names an entry any more.
    let entries = ENTRIES.taken().flat_map(|id| {
        ENTRIES.release(id);
        &ENTRIES.get(id).lines
    });
    for record in locks.chain(entries) {
        let words = &record.words;
        // Ordering: Relaxed, owner-only (a forked child has one thread) (block)
        words.halves.iter().for_each(|word| word.store(0, Relaxed));
        words.words.iter().for_each(|word| word.store(0, Relaxed));
        words.wides.iter().for_each(|word| word.store(0, Relaxed));
    }
}
