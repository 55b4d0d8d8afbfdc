//! The latch: two copies, one of which is always whole, for readers that may interrupt the writer.
//!
//! *Algorithm*: the Linux kernel's `seqcount_latch_t` (`raw_write_seqcount_latch`, 3.17; used by
//! its clocks, read from non-maskable interrupts), written anew with C11 orderings. *Differs from
//! the kernel in*: 64 bits; the copies are made here, word by word as in
//! [`seqlock`](crate::seqlock).
//!
//! *Guarantees*: a value that is returned was written by one store as a whole; readers store
//! nothing and never wait for a writer, wherever it was stopped: a signal handler on the writer's
//! own thread gets its answer at the first attempt, a reader that fails had a store begin or move
//! on meanwhile. A writer that dies or unwinds around a store leaves nothing half done.
//! *Does not guarantee*: exclusion of writers; that a reader sees the latest value before the
//! store has reached its middle. *Cost*: 8 bytes and two copies of the value; a store writes
//! both. *Waiting*: none. *Checked by*: `tests/loom_seqcount.rs`, `tests/seqcount.rs`,
//! `crates/lockwright/tests/contract_seq.rs` (a signal handler inside a store).
//!
//! ```text
//! State   seq   even  readers use copies[0]; a store, if any, writes copies[1]
//!               odd   readers use copies[1]; the store writes copies[0]
//! ```
//!
//! Edges
//!  [latch.turn]  store: seq Release -> try_read: seq Acquire  publishes the copy that readers turn to
//!  [latch.begin] store: seq, fence Release, copy -> try_read: copy, fence Acquire, seq  a reader that saw a word of the copy being written sees that readers were turned away from it

use core::fmt;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Platform, Word, ZeroWord};

use crate::seqlock::Body;

/// A latch without the lock that keeps its writers apart.
#[repr(C)]
pub struct RawSeqLatch<P: Platform, B: Body> {
    seq: P::Word<u64>,
    copies: [B; 2],
}

impl<P: Platform, B: Body> RawSeqLatch<P, B>
where
    P::Word<u64>: ZeroWord,
{
    /// Holds the value that both bodies hold.
    pub const fn new(copies: [B; 2]) -> Self {
        RawSeqLatch { seq: ZeroWord::ZERO, copies }
    }
}

impl<P: Platform, B: Body> RawSeqLatch<P, B> {
    /// As `new`, where a constant cannot be had (the model checker).
    pub fn with(copies: [B; 2]) -> Self {
        RawSeqLatch { seq: Word::new(0), copies }
    }

    /// Reads; stores nothing in shared memory. The value, and how many attempts failed.
    #[inline]
    pub fn read(&self) -> (B::Value, u64) {
        let mut failed = 0;
        loop {
            // Each failure means that a store has begun or moved on: writers make progress.
            if let Some(value) = self.try_read() {
                return (value, failed);
            }
            failed += 1;
        }
    }

    /// One attempt to read; fails only if a store began or moved on meanwhile.
    #[inline(always)]
    pub fn try_read(&self) -> Option<B::Value> {
        // Ordering: Acquire, [latch.turn]: pairs with both stores of seq in store(); the copy that
        // this value names is whole
        let seq = self.seq.load(Acquire);
        let image = self.copies[(seq & 1) as usize].load();
        // Ordering: Acquire, [latch.begin]: pairs with the fences in store(); after the loads, so
        // that a word of a later store shows its sequence too
        P::fence(Acquire);
        // Ordering: Relaxed, fenced (by the fence above: not earlier than the reader's loads)
        let now = self.seq.load(Relaxed);
        // SAFETY: the copy was whole at `seq` ([latch.turn]), and is not written again before
        // readers are turned away from it, which has not happened ([latch.begin]).
        (now == seq).then(|| unsafe { B::value(image) })
    }

    /// Replaces the value.
    ///
    /// # Safety
    ///
    /// 1. No other call of this function runs at the same time, one interrupted by the caller
    ///    included, and the last one happens before this one.
    #[inline]
    pub unsafe fn store(&self, value: B::Value) {
        // Ordering: Relaxed, owner-only (writers exclude each other)
        let seq = self.seq.load(Relaxed);
        // Ordering: Release, [latch.turn]: pairs with try_read(); turns readers to copies[1],
        // which the last store wrote
        self.seq.store(seq.wrapping_add(1), Release);
        // Ordering: Release, [latch.begin]: pairs with the fence in try_read(); before the words
        // of copies[0]
        P::fence(Release);
        self.copies[0].store(value);
        // Ordering: Release, [latch.turn]: pairs with try_read(); turns readers to copies[0],
        // which is whole now
        self.seq.store(seq.wrapping_add(2), Release);
        // Ordering: Release, [latch.begin]: pairs with the fence in try_read(); before the words
        // of copies[1]
        P::fence(Release);
        self.copies[1].store(value);
    }

    /// Both copies, to the only one who can see them; the value is that of the first.
    pub fn copies_mut(&mut self) -> &mut [B; 2] {
        &mut self.copies
    }
}

impl<P: Platform, B: Body> fmt::Debug for RawSeqLatch<P, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed, stat
        f.debug_struct("RawSeqLatch").field("stores", &(self.seq.load(Relaxed) / 2)).finish()
    }
}
