//! Words of a thread record, by name.

use lockwright_platform::{Platform, Slot, THREAD_WORDS, ThreadRecord};

/// The words of a thread's node.
#[inline(always)]
pub fn words<P: Platform>(record: &ThreadRecord<P>) -> &[P::Word<u32>; THREAD_WORDS] {
    // SAFETY: this crate alone reaches them, and changes each as the edges of its lock say (1).
    unsafe { record.words() }
}

/// A word of the node of the thread in a slot.
#[inline]
pub fn word<P: Platform>(slot: Slot, word: usize) -> &'static P::Word<u32> {
    &words(P::thread_record(slot))[word]
}

/// In a queue of spinners.
pub const OSQ_NEXT: usize = 0;
pub const OSQ_STATE: usize = 1;
pub const OSQ_SERIAL: usize = 2;
/// In the queue for a wait lock.
pub const LINE_NEXT: usize = 3;
pub const LINE_STATE: usize = 4;
/// See [`super::state`].
pub const STATE: usize = 5;
pub const NEXT: usize = 6;
pub const PREV: usize = 7;
/// What kind of waiter of a mutex it is.
pub const KIND: usize = 8;
/// It never sleeps without a timer.
pub const TIMER: usize = 9;
/// Memory of dozes that found the lock idle.
pub const IDLES: usize = 12;
/// How many reads of reader-biased locks this thread leaves uncounted before the next that it
/// counts.
pub const UNCOUNTED: usize = 13;
/// In a domain's queue of spinners.
pub const DOMAIN_NEXT: usize = 14;
pub const DOMAIN_STATE: usize = 15;
pub const DOMAIN_SERIAL: usize = 16;

// A waiter of a reader-writer lock has these words instead.
/// When it may forbid stealing, in ticks, in two halves.
pub const RW_HANDOFF_AT: [usize; 2] = [KIND, TIMER];
/// What it waits for.
pub const RW_KIND: usize = 10;
/// Bits of the owner word that it found set when it came.
pub const RW_SAW_BIT: usize = 11;
