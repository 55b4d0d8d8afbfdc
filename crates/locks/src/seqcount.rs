//! The sequence counter: readers that write nothing and order with read barriers only.
//!
//! *Algorithm*: the Linux kernel's `seqcount_t` (as used by `mems_allowed`, commit cc9a6c8776,
//! 2012), written anew; the orderings as in H.-J. Boehm, "Can seqlocks get along with programming
//! language memory models?", MSPC 2012. *Differs from the kernel in*: 64 bits, so that no reader
//! can sleep through a whole turn of the counter; a waiting reader gives its CPU away, since a
//! writer of user space can lose its own; a section that is not ended leaves a mark.
//!
//! *Guarantees*: a read that is not to be retried saw no word of a section that ran meanwhile,
//! and all words of the sections before; a reader stores nothing in shared memory.
//! *Does not guarantee*: exclusion of writers (bring your own: with two writers at once readers
//! may be fooled); progress of readers under a writer that never rests (see the bounded forms);
//! use by a reader that interrupts the writer, as a signal handler does: it waits for ever for
//! the section it interrupted (race 25 of the kernel). `try_begin` does not wait, and
//! [`SeqLatch`](crate::seqlatch) always has an answer.
//! *A writer that unwinds*: a [`WriteSection`] that is dropped without [`end`](WriteSection::end)
//! closes the section, so that readers are not stuck, and marks the counter broken, so that they
//! are not fooled: they get [`Broken`] instead of half of an update, until a writer has set the
//! data right and said so ([`repaired`](WriteSection::repaired)). *Fork*: a section that another
//! thread had open stays open in the child.
//! *Cost*: 8 bytes; a read is two loads and a test beside the data, a section two stores; no
//! atomic read-modify-write on either side. *Waiting*: spin for about a microsecond while a
//! section is open, then give the CPU away between looks.
//! *Checked by*: `tests/loom_seqcount.rs`, `tests/seqcount.rs` (no store by readers, exactly),
//! `crates/lockwright/tests/contract_seq.rs`.
//!
//! ```text
//! State   seq   WRITING     a section is open        the writer writes; readers wait
//!               BROKEN      a section was not ended  the writer writes; readers give up
//!               the rest    sections ended           a reader compares; 2^62 do not come round
//! ```
//!
//! Edges
//!  [seqcount.end]    close: seq Release -> try_begin, begin_slow: seq Acquire  publishes the data of the section to readers that begin after it
//!  [seqcount.begin]  begin_write: seq, fence Release, data -> retry: data, fence Acquire, seq  a reader that saw a word of the section sees that it began

use core::fmt;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Platform, Spin, Until, Word, ZeroWord};

/// A section is open.
const WRITING: u64 = 1;
/// A section was left without its end.
const BROKEN: u64 = 2;
const FLAGS: u64 = WRITING | BROKEN;

/// How long a reader spins for an open section before it gives its CPU away.
const SPIN_NS: u64 = 1_000;

/// A sequence counter. What it protects, and what keeps writers apart, is the caller's.
///
/// What readers look at while a writer may write must be atomic, or read in another way that is
/// not a data race: the counter says afterwards whether the values belong together, it does not
/// keep the reader away. (`SeqLock` does both parts.)
#[repr(transparent)]
pub struct SeqCount<P: Platform> {
    seq: P::Word<u64>,
}

/// What [`SeqCount::begin`] found, for [`SeqCount::retry`] to compare with.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Start(u64);

impl Start {
    /// As a number, for callers in other languages.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// From [`to_bits`](Self::to_bits).
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Start(bits)
    }
}

/// A writer left its section without ending it: the data may be half of an update.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a writer left its section without ending it")
    }
}

impl core::error::Error for Broken {}

/// Why there is nothing to read at once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum NotNow {
    /// A section was open, or began meanwhile. Another attempt may succeed.
    Writing,
    /// As [`Broken`]. No attempt succeeds before a writer has repaired the data.
    Broken,
}

impl fmt::Display for NotNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotNow::Writing => f.write_str("a writer was in its section"),
            NotNow::Broken => Broken.fmt(f),
        }
    }
}

impl core::error::Error for NotNow {}

impl<P: Platform> SeqCount<P>
where
    P::Word<u64>: ZeroWord,
{
    /// A counter with no section behind it.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = SeqCount { seq: ZeroWord::ZERO };
}

impl<P: Platform> Default for SeqCount<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> fmt::Debug for SeqCount<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed, stat
        let seq = self.seq.load(Relaxed);
        f.debug_struct("SeqCount")
            .field("sections", &(seq >> FLAGS.count_ones()))
            .field("writing", &(seq & WRITING != 0))
            .field("broken", &(seq & BROKEN != 0))
            .finish()
    }
}

impl<P: Platform> SeqCount<P> {
    /// A counter, where a constant cannot be had (the model checker).
    pub fn new() -> Self {
        SeqCount { seq: Word::new(0) }
    }

    /// Begins to read; waits while a section is open.
    ///
    /// What is read then may be used once [`retry`](Self::retry) has said no.
    ///
    /// # Errors
    ///
    /// [`Broken`]: a writer unwound in its section; the data are not to be used before a writer
    /// has repaired them.
    #[inline]
    pub fn begin(&self) -> Result<Start, Broken> {
        match self.try_begin() {
            Ok(start) => Ok(start),
            Err(_) => self.begin_slow(),
        }
    }

    /// Begins to read if no section is open; never waits.
    ///
    /// # Errors
    ///
    /// [`NotNow::Writing`]: a section is open. [`NotNow::Broken`]: as for [`begin`](Self::begin).
    #[inline]
    pub fn try_begin(&self) -> Result<Start, NotNow> {
        // Ordering: Acquire, [seqcount.end]: pairs with close(); what the last section wrote is
        // there for the loads that follow
        let seq = self.seq.load(Acquire);
        match seq & FLAGS {
            0 => Ok(Start(seq)),
            BROKEN => Err(NotNow::Broken),
            _ => Err(NotNow::Writing),
        }
    }

    #[cold]
    fn begin_slow(&self) -> Result<Start, Broken> {
        loop {
            // Ordering: Acquire, [seqcount.end]: pairs with close(), as in try_begin()
            match P::spin_while(&self.seq, WRITING, WRITING, Acquire, spin_until::<P>()) {
                Spin::Changed(seq) if seq & BROKEN != 0 => return Err(Broken),
                Spin::Changed(seq) => return Ok(Start(seq)),
                // The writer may have lost its CPU, to this very thread for one.
                _ => P::yield_now(),
            }
        }
    }

    /// Waits until no section is open, but no longer than about a microsecond.
    #[cold]
    pub(crate) fn wait_briefly(&self) {
        // Ordering: Relaxed, hint (re-checked by the begin that follows)
        P::spin_while(&self.seq, WRITING, WRITING, Relaxed, spin_until::<P>());
    }

    /// Whether a section has begun since `start`: then what was read is to be thrown away.
    #[inline]
    pub fn retry(&self, start: Start) -> bool {
        // Ordering: Acquire, [seqcount.begin]: pairs with the fence in begin_write(); after the
        // reader's loads, so that a word of a section shows its odd sequence too
        P::fence(Acquire);
        // Ordering: Relaxed, fenced (by the fence above: not earlier than the reader's loads)
        self.seq.load(Relaxed) != start.0
    }

    /// Runs `read` until no section ran meanwhile; its last result.
    ///
    /// `read` may run several times and see values that do not belong together; it should do no
    /// more than copy them. A writer that never rests keeps a reader here: see
    /// [`try_read`](Self::try_read).
    ///
    /// # Errors
    ///
    /// As [`begin`](Self::begin).
    #[inline]
    pub fn read<R>(&self, mut read: impl FnMut() -> R) -> Result<R, Broken> {
        loop {
            let start = self.begin()?;
            let result = read();
            if !self.retry(start) {
                return Ok(result);
            }
        }
    }

    /// Runs `read` once; its result unless a section was open or began meanwhile. Never waits,
    /// so it may be called where the writer may have been interrupted.
    ///
    /// # Errors
    ///
    /// As [`try_begin`](Self::try_begin); [`NotNow::Writing`] also if a section began meanwhile.
    #[inline]
    pub fn try_read<R>(&self, read: impl FnOnce() -> R) -> Result<R, NotNow> {
        let start = self.try_begin()?;
        let result = read();
        if self.retry(start) { Err(NotNow::Writing) } else { Ok(result) }
    }

    /// Opens a section: readers wait, or will retry.
    ///
    /// Only one thread at a time may have a section open, and one section happens before the next
    /// (a lock around them does both); otherwise readers may be fooled. The section must not be
    /// forgotten: readers would wait for its end. Nothing that may interrupt the thread in the
    /// section, such as a signal handler, may wait in [`begin`](Self::begin).
    ///
    /// # Panics
    ///
    /// In debug builds, if a section is open already.
    #[inline]
    pub fn begin_write(&self) -> WriteSection<'_, P> {
        // Ordering: Relaxed, owner-only (writers exclude each other)
        let before = self.seq.load(Relaxed);
        debug_assert!(before & WRITING == 0, "two write sections at once");
        // Ordering: Relaxed, fenced (by the fence below)
        self.seq.store(before | WRITING, Relaxed);
        // Ordering: Release, [seqcount.begin]: pairs with the fence in retry(); before the stores
        // of the section
        P::fence(Release);
        WriteSection { count: self, before, broken: before & BROKEN }
    }

    /// Ends a section that was opened and forgotten, for callers that cannot keep it.
    ///
    /// # Safety
    ///
    /// 1. The caller has the one open section.
    #[inline]
    pub unsafe fn end_write(&self) {
        // Ordering: Relaxed, owner-only (the section is the caller's)
        let before = self.seq.load(Relaxed) & !WRITING;
        WriteSection { count: self, before, broken: before & BROKEN }.end();
    }

    /// Runs `write` in a section. If it unwinds the counter is broken, see [`WriteSection`].
    ///
    /// The conditions of [`begin_write`](Self::begin_write) apply.
    #[inline]
    pub fn write<R>(&self, write: impl FnOnce(&mut WriteSection<'_, P>) -> R) -> R {
        let mut section = self.begin_write();
        let result = write(&mut section);
        section.end();
        result
    }
}

fn spin_until<P: Platform>() -> Until {
    Until::CHANGED.deadline(P::ticks().saturating_add(P::ticks_of(SPIN_NS)))
}

/// An open section. To be [ended](Self::end); dropped instead, as by a panic or an early return,
/// it closes but leaves the counter [`Broken`].
#[must_use = "a section that is dropped without `end` leaves the counter broken"]
pub struct WriteSection<'a, P: Platform> {
    count: &'a SeqCount<P>,
    /// The word before the section.
    before: u64,
    /// BROKEN if readers are not to trust the data after the section.
    broken: u64,
}

impl<P: Platform> WriteSection<'_, P> {
    /// Whether an earlier section was not ended, and nobody has repaired the data since.
    pub fn found_broken(&self) -> bool {
        self.broken != 0
    }

    /// Says that the data are whole again: with the end of this section readers trust them.
    pub fn repaired(&mut self) {
        self.broken = 0;
    }

    /// Ends the section; readers see what it wrote.
    #[inline]
    pub fn end(self) {
        self.close(self.broken);
        core::mem::forget(self);
    }

    #[inline]
    fn close(&self, broken: u64) {
        let next = (self.before | FLAGS).wrapping_add(1) | broken;
        // Ordering: Release, [seqcount.end]: pairs with try_begin() and begin_slow(); publishes
        // what the section wrote
        self.count.seq.store(next, Release);
    }
}

impl<P: Platform> Drop for WriteSection<'_, P> {
    #[cold]
    fn drop(&mut self) {
        self.close(BROKEN);
    }
}
