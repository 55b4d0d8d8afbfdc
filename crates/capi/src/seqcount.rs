//! `lw_seqcount_*`.

use lockwright_locks::seqcount::{SeqCount, Start};
use lockwright_platform::Native;

/// A sequence counter: 8 bytes. Readers store nothing; they look again if a writer was there:
///
///     do {
///         start = lw_seqcount_read_begin(&count);
///         copy = data;
///     } while (lw_seqcount_read_retry(&count, start));
///
/// The data are to be read and written by atomic operations of any order (relaxed is enough).
/// Writers exclude each other by a lock of theirs.
#[repr(C)]
pub struct lw_seqcount_t {
    /// For the library.
    pub word: u64,
}

const _: () = {
    assert!(size_of::<SeqCount<Native>>() == size_of::<lw_seqcount_t>());
    assert!(align_of::<SeqCount<Native>>() == align_of::<lw_seqcount_t>());
};

/// # Safety
///
/// 1. `count` points to an initialised counter that lives as long as the reference is used.
unsafe fn of<'a>(count: *const lw_seqcount_t) -> &'a SeqCount<Native> {
    // SAFETY: the caller's contract (1); a counter is one word.
    unsafe { &*count.cast() }
}

// SAFETY (of all below): C programs pass pointers to counters that live during the call and are
// initialised, and open one section at a time.

/// Begins to read; waits while a writer is at it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_seqcount_read_begin(count: *const lw_seqcount_t) -> u64 {
    // Broken it is only by unwinding, which C does not do.
    // SAFETY: see above.
    unsafe { of(count) }.begin().map_or(0, Start::to_bits)
}

/// Whether a writer was there since lw_seqcount_read_begin returned `start`: then what was read is
/// to be thrown away.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_seqcount_read_retry(count: *const lw_seqcount_t, start: u64) -> bool {
    // SAFETY: see above.
    unsafe { of(count) }.retry(Start::from_bits(start))
}

/// Begins to write: readers wait, or will look again. Nothing that may interrupt the thread, such
/// as a signal handler, may read until lw_seqcount_write_end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_seqcount_write_begin(count: *mut lw_seqcount_t) {
    // SAFETY: see above.
    core::mem::forget(unsafe { of(count) }.begin_write());
}

/// Ends writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_seqcount_write_end(count: *mut lw_seqcount_t) {
    // SAFETY: see above; the section was begun by lw_seqcount_write_begin.
    unsafe { of(count).end_write() };
}
