//! Type-stable records: one per thread slot, one per contended lock.
//!
//! The words have no meaning here. `lockwright-locks` gives them names; the platform promises
//! that they stay where they are for ever, so that a stale index can always be followed.

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
            next_free: Word::new(0),
            words: words(),
            counters: words(),
        }
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
        LockRecord { halves: words(), words: words(), wides: words(), next_free: Word::new(0) }
    }
}

impl<P: Platform> Default for LockRecord<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// 32-bit words of a thread record that are free for algorithms.
pub const THREAD_WORDS: usize = 10;
/// 32-bit words of a lock record that are free for algorithms.
pub const LOCK_WORDS: usize = 8;

/// One thread's record.
///
/// Three parts on lines of their own: what the platform keeps and others poll rarely, the words
/// of the algorithms, and the counters, which only the owner writes.
#[repr(C, align(64))]
pub struct ThreadRecord<P: Platform> {
    /// Park token, a futex word natively.
    pub(crate) token: P::Word<u32>,
    /// CPU at the last [`check_in`](crate::Platform::check_in).
    pub(crate) cpu: P::Word<u16>,
    /// 1 while the thread is parked.
    pub(crate) parked: P::Word<u8>,
    /// Free-list link; 0 ends it.
    pub(crate) next_free: P::Word<u32>,
    /// For the algorithms; 0 when the record is first used.
    pub words: [P::Word<u32>; THREAD_WORDS],
    pub(crate) counters: [P::Word<u64>; COUNTERS],
}

/// The state that only a contended lock needs.
#[repr(C, align(64))]
pub struct LockRecord<P: Platform> {
    /// 16-bit words for the algorithms.
    pub halves: [P::Word<u16>; 4],
    /// 32-bit words for the algorithms.
    pub words: [P::Word<u32>; LOCK_WORDS],
    /// 64-bit words for the algorithms.
    pub wides: [P::Word<u64>; 2],
    /// Free-list link; 0 ends it.
    pub(crate) next_free: P::Word<u32>,
}

#[cfg(feature = "native")]
impl<P: Platform> ThreadRecord<P>
where
    P::Word<u8>: ZeroWord,
    P::Word<u16>: ZeroWord,
    P::Word<u32>: ZeroWord,
    P::Word<u64>: ZeroWord,
{
    pub(crate) const ZERO: Self = ThreadRecord {
        token: ZeroWord::ZERO,
        cpu: ZeroWord::ZERO,
        parked: ZeroWord::ZERO,
        next_free: ZeroWord::ZERO,
        words: [const { ZeroWord::ZERO }; THREAD_WORDS],
        counters: [const { ZeroWord::ZERO }; COUNTERS],
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
        halves: [const { ZeroWord::ZERO }; 4],
        words: [const { ZeroWord::ZERO }; LOCK_WORDS],
        wides: [const { ZeroWord::ZERO }; 2],
        next_free: ZeroWord::ZERO,
    };
}
