//! Type-stable records: one per thread slot, one per contended lock.
//!
//! The words have no meaning here. `lockwright-locks` gives them names; the platform promises
//! that they stay where they are for ever, so that a stale index can always be followed.

use core::sync::atomic::AtomicPtr;

#[cfg(feature = "native")]
use crate::ZeroWord;
use crate::{COUNTERS, Platform, Scalar, Word};

fn words<W: Word<T>, T: Scalar, const N: usize>() -> [W; N] {
    core::array::from_fn(|_| Word::new(T::ZERO))
}

impl<P: Platform> ThreadRecord<P> {
    /// A record of zeroes, where a constant cannot be had.
    pub fn new() -> Self {
        ThreadRecord {
            token: Word::new(0),
            cpu: Word::new(0),
            parked: Word::new(0),
            words: words(),
            own: Own {
                counters: words(),
                spare: Word::new(0),
                lock: AtomicPtr::new(core::ptr::null_mut()),
                notes: words(),
            },
            cells: Cells { held: words(), tallies: words() },
        }
    }

    /// The words of the algorithms, which others poll; 0 when the record is first used.
    ///
    /// # Safety
    ///
    /// 1. They are changed only as the protocol of the lock asks that the record's thread waits for.
    #[inline(always)]
    pub unsafe fn words(&self) -> &[P::Word<u32>; THREAD_WORDS] {
        &self.words
    }

    /// Words of the algorithms that only the record's thread uses; 0 when the record is first used, else as
    /// the last thread left them.
    ///
    /// # Safety
    ///
    /// 1. The caller is that thread.
    #[inline(always)]
    pub unsafe fn notes(&self) -> &[P::Word<u64>; NOTES] {
        &self.own.notes
    }

    /// A word of the algorithms that holds a pointer. An atomic of the standard library on every platform:
    /// an algorithm that uses it orders its uses by other words.
    ///
    /// # Safety
    ///
    /// 1. As for [`words`](Self::words).
    #[inline(always)]
    pub unsafe fn lock(&self) -> &AtomicPtr<()> {
        &self.own.lock
    }

    /// The cells, 0 when the record is first used.
    ///
    /// # Safety
    ///
    /// 1. Only the record's own thread changes them.
    #[inline(always)]
    pub unsafe fn cells(&self) -> &Cells<P> {
        &self.cells
    }
}

impl<P: Platform> Default for ThreadRecord<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> LockRecord<P> {
    /// A record of zeroes, where a constant cannot be had.
    pub fn new() -> Self {
        LockRecord { words: LockWords { halves: words(), words: words(), wides: words() } }
    }

    /// The words of the algorithms.
    ///
    /// # Safety
    ///
    /// 1. They are changed only as the protocol of the lock asks that the record serves.
    #[inline(always)]
    pub unsafe fn words(&self) -> &LockWords<P> {
        &self.words
    }
}

impl<P: Platform> Default for LockRecord<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// 32-bit words of a thread record that are free for algorithms.
pub const THREAD_WORDS: usize = 17;
/// 32-bit words of a lock record that are free for algorithms.
pub const LOCK_WORDS: usize = 8;

/// 64-bit words of a thread record that only its thread uses; they fill a line.
pub const NOTES: usize = 8;

/// Cells of a thread record; with their tallies they fill a line.
pub const CELLS: usize = if cfg!(loom) { 2 } else { 4 };

/// In which a thread publishes what it holds. Only the thread writes them.
#[repr(C, align(64))]
pub struct Cells<P: Platform> {
    /// What is held. While one of them has a bit of [`CELL_IN_USE`] set the record stays its
    /// thread's, if it must be beyond the thread's end.
    pub held: [P::Word<u64>; CELLS],
    /// How often, or what else is of use to others.
    pub tallies: [P::Word<u64>; CELLS],
}

/// One thread's record.
///
/// Three parts: what the platform keeps and the words of the algorithms, which others poll; the
/// counters, which only the owner writes; the cells, a line that only the owner writes and that
/// others read when they must know what every thread holds.
#[repr(C, align(64))]
pub struct ThreadRecord<P: Platform> {
    /// Park token, a futex word natively.
    pub(crate) token: P::Word<u32>,
    /// CPU at the last [`check_in`](crate::Platform::check_in).
    pub(crate) cpu: P::Word<u16>,
    /// 1 while the thread is parked.
    pub(crate) parked: P::Word<u8>,
    pub(crate) words: [P::Word<u32>; THREAD_WORDS],
    pub(crate) own: Own<P>,
    pub(crate) cells: Cells<P>,
}

/// What only the thread itself writes, on lines of its own.
#[repr(C, align(64))]
pub(crate) struct Own<P: Platform> {
    /// What it remembers of locks. First, so that all of it lies on one line.
    pub(crate) notes: [P::Word<u64>; NOTES],
    pub(crate) counters: [P::Word<u64>; COUNTERS],
    /// The lock record that the thread keeps for its next wait; 0 for none.
    pub(crate) spare: P::Word<u32>,
    /// A lock that the thread waits for, if the algorithm says so.
    pub(crate) lock: AtomicPtr<()>,
}

/// The bits of a cell that say it is in use.
pub const CELL_IN_USE: u64 = 0x3f;

/// The words of a lock record that are free for algorithms.
#[repr(C)]
pub struct LockWords<P: Platform> {
    /// 16-bit words.
    pub halves: [P::Word<u16>; 4],
    /// 32-bit words.
    pub words: [P::Word<u32>; LOCK_WORDS],
    /// 64-bit words.
    pub wides: [P::Word<u64>; 3],
}

/// Queues that a lock's spinners can be parted into at most.
pub const QUEUES: usize = if cfg!(loom) { 2 } else { 16 };

/// What queues of the domains need: lines like those of locks.
#[repr(C)]
pub struct QueueEntry<P: Platform> {
    pub(crate) lines: [LockRecord<P>; QUEUES],
}

impl<P: Platform> QueueEntry<P> {
    /// An entry of zeroes, where a constant cannot be had.
    pub fn new() -> Self {
        QueueEntry { lines: core::array::from_fn(|_| LockRecord::new()) }
    }

    /// The lines.
    ///
    /// # Safety
    ///
    /// 1. Their words are changed only as the protocol of the queue asks that the entry serves.
    #[inline(always)]
    pub unsafe fn lines(&self) -> impl Iterator<Item = &LockWords<P>> {
        self.lines.iter().map(|line| &line.words)
    }

    /// One of them.
    ///
    /// # Safety
    ///
    /// 1. As for [`lines`](Self::lines).
    #[inline(always)]
    pub unsafe fn line(&self, queue: usize) -> &LockWords<P> {
        &self.lines[queue].words
    }
}

impl<P: Platform> Default for QueueEntry<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// The state that only a contended lock needs.
#[repr(C, align(64))]
pub struct LockRecord<P: Platform> {
    pub(crate) words: LockWords<P>,
}

#[cfg(feature = "native")]
impl<P: Platform> ThreadRecord<P>
where
    P::Word<u8>: ZeroWord,
    P::Word<u16>: ZeroWord,
    P::Word<u32>: ZeroWord,
    P::Word<u64>: ZeroWord,
{
    #[allow(clippy::declare_interior_mutable_const)]
    pub(crate) const ZERO: Self = ThreadRecord {
        token: ZeroWord::ZERO,
        cpu: ZeroWord::ZERO,
        parked: ZeroWord::ZERO,
        words: [const { ZeroWord::ZERO }; THREAD_WORDS],
        own: Own {
            counters: [const { ZeroWord::ZERO }; COUNTERS],
            spare: ZeroWord::ZERO,
            lock: AtomicPtr::new(core::ptr::null_mut()),
            notes: [const { ZeroWord::ZERO }; NOTES],
        },
        cells: Cells {
            held: [const { ZeroWord::ZERO }; CELLS],
            tallies: [const { ZeroWord::ZERO }; CELLS],
        },
    };
}

#[cfg(feature = "native")]
impl<P: Platform> LockRecord<P>
where
    P::Word<u16>: ZeroWord,
    P::Word<u32>: ZeroWord,
    P::Word<u64>: ZeroWord,
{
    pub(crate) const ZERO: Self = LockRecord {
        words: LockWords {
            halves: [const { ZeroWord::ZERO }; 4],
            words: [const { ZeroWord::ZERO }; LOCK_WORDS],
            wides: [const { ZeroWord::ZERO }; 3],
        },
    };
}
