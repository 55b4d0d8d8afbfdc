//! The sequence lock: a value in atomic words under a [sequence counter](crate::seqcount).
//!
//! *Algorithm*: the Linux kernel's `seqlock_t` less its lock, which the user of this module
//! brings; Boehm, MSPC 2012, for the copies. *Differs from the kernel in*: the value is copied
//! word by word with relaxed atomic operations, so that the race between reader and writer is
//! none in Rust's memory model; what was copied is not looked at as a value before the counter
//! has confirmed it; a bounded number of attempts, after which the caller takes the lock.
//!
//! *Guarantees*: a value that is returned was written by one store as a whole; readers store
//! nothing. *Does not guarantee*: exclusion of writers; success of a bounded read. *A writer
//! that unwinds*: there is no code of the user in the section, only the copy, which cannot unwind.
//! *Cost*: 8 bytes beside the value, which is aligned to 8 at least. *Waiting*: see
//! [`SeqCount`]; between attempts about a microsecond at most. *Checked by*: as for the counter;
//! the copies by Miri (`crates/lockwright/tests/contract_seq.rs`).
//!
//! Padding: see [`plain`](mod@crate::plain). The words are those of the value itself: 64-bit
//! words, then at most one each of 32, 16 and 8 bits; each byte belongs to one word always, so
//! atomic accesses of different sizes never meet, and no byte outside the value is touched.
//!
//! Edges: none of its own; the copies stand between the fences of `seqcount.rs`.

use core::cell::UnsafeCell;
use core::fmt;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use lockwright_platform::{Platform, Word, ZeroWord};

use crate::plain::Plain;
use crate::seqcount::SeqCount;

/// A value in atomic words.
///
/// # Safety
///
/// 1. `load` and `store` are not data races with each other, and do not unwind.
/// 2. An image that `load` took while no `store` ran, ordered after the last one, may be turned
///    into the value of that store by `value`.
pub unsafe trait Body {
    /// What is stored.
    type Value: Copy;
    /// Copied words of which it is not known yet whether they belong to one value.
    type Image;

    /// Copies the words out, in no order.
    fn load(&self) -> Self::Image;

    /// Copies `value` in, in no order.
    fn store(&self, value: Self::Value);

    /// The value in `image`.
    ///
    /// # Safety
    ///
    /// 1. Every word of `image` is of the same `store`, or of the body's creation.
    unsafe fn value(image: Self::Image) -> Self::Value;
}

/// A [`Body`] that lies over a value's own memory.
#[repr(C, align(8))]
pub struct Overlay<T: Plain>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: shared access is by atomic operations only, and values may go to other threads
// (`Plain`, 3).
unsafe impl<T: Plain> Sync for Overlay<T> {}

impl<T: Plain> Overlay<T> {
    /// Holds `value`.
    pub const fn new(value: T) -> Self {
        const { T::CHECKED };
        Overlay(UnsafeCell::new(MaybeUninit::new(value)))
    }

    /// The value, to the only one who can see it.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: initialised by `new`, and by whole stores only since (Body, 2); `&mut self`
        // keeps all others away.
        unsafe { self.0.get_mut().assume_init_mut() }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        // SAFETY: as in `get_mut`.
        unsafe { self.0.into_inner().assume_init() }
    }
}

/// Bytes of `T` in whole 64-bit words; the tail follows.
const fn words_end<T>() -> usize {
    size_of::<T>() & !7
}

// SAFETY: (1) all accesses through a shared reference are atomic, and each byte is always
// accessed by the same word: 8-byte words up to `words_end`, then one of 4, 2 and 1 bytes, each
// aligned since the memory is aligned to 8; nothing unwinds. (2) Such an image has each byte from
// the same `T`, in its place.
unsafe impl<T: Plain> Body for Overlay<T> {
    type Value = T;
    type Image = MaybeUninit<T>;

    #[inline(always)]
    fn load(&self) -> MaybeUninit<T> {
        let mut image = MaybeUninit::<T>::uninit();
        let (from, to) = (self.0.get().cast::<u8>(), image.as_mut_ptr().cast::<u8>());
        let mut at = 0;
        macro_rules! copy {
            ($word:ty, $atomic:ty) => {
                // SAFETY: `at` and the word's size are within both values; `from + at` is aligned
                // to the word; its bytes are initialised (`Plain`, 1), and atomic accesses are
                // the only ones there are while `&self` lives.
                unsafe {
                    // Ordering: Relaxed, fenced (by retry() of the counter)
                    let word = <$atomic>::from_ptr(from.add(at).cast()).load(Relaxed);
                    to.add(at).cast::<$word>().write_unaligned(word);
                }
                at += size_of::<$word>();
            };
        }
        while at < words_end::<T>() {
            copy!(u64, AtomicU64);
        }
        if size_of::<T>() & 4 != 0 {
            copy!(u32, AtomicU32);
        }
        if size_of::<T>() & 2 != 0 {
            copy!(u16, AtomicU16);
        }
        if size_of::<T>() & 1 != 0 {
            copy!(u8, AtomicU8);
        }
        debug_assert_eq!(at, size_of::<T>());
        image
    }

    #[inline(always)]
    fn store(&self, value: T) {
        let (from, to) = ((&raw const value).cast::<u8>(), self.0.get().cast::<u8>());
        let mut at = 0;
        macro_rules! copy {
            ($word:ty, $atomic:ty) => {
                // SAFETY: as in `load`, the two sides exchanged; the bytes of `value` are
                // initialised (`Plain`, 1) and none of them is of a pointer (2).
                unsafe {
                    let word = from.add(at).cast::<$word>().read_unaligned();
                    // Ordering: Relaxed, fenced (by begin_write() and close() of the counter)
                    <$atomic>::from_ptr(to.add(at).cast()).store(word, Relaxed);
                }
                at += size_of::<$word>();
            };
        }
        while at < words_end::<T>() {
            copy!(u64, AtomicU64);
        }
        if size_of::<T>() & 4 != 0 {
            copy!(u32, AtomicU32);
        }
        if size_of::<T>() & 2 != 0 {
            copy!(u16, AtomicU16);
        }
        if size_of::<T>() & 1 != 0 {
            copy!(u8, AtomicU8);
        }
        debug_assert_eq!(at, size_of::<T>());
    }

    #[inline(always)]
    unsafe fn value(image: MaybeUninit<T>) -> T {
        // SAFETY: each byte is of the same value of `T` (this function's 1).
        unsafe { image.assume_init() }
    }
}

/// A [`Body`] of the platform's own words, for the model checker and for counting.
#[repr(transparent)]
pub struct Words<P: Platform, const N: usize>(pub [P::Word<u64>; N]);

impl<P: Platform, const N: usize> Words<P, N> {
    /// Holds `value`.
    pub fn new(value: [u64; N]) -> Self {
        Words(value.map(Word::new))
    }
}

// SAFETY: (1) atomic words; nothing unwinds. (2) The image is the value.
unsafe impl<P: Platform, const N: usize> Body for Words<P, N> {
    type Value = [u64; N];
    type Image = [u64; N];

    #[inline]
    fn load(&self) -> [u64; N] {
        // Ordering: Relaxed, fenced (by retry() of the counter)
        core::array::from_fn(|i| self.0[i].load(Relaxed))
    }

    #[inline]
    fn store(&self, value: [u64; N]) {
        for (word, value) in self.0.iter().zip(value) {
            // Ordering: Relaxed, fenced (by begin_write() and close() of the counter)
            word.store(value, Relaxed);
        }
    }

    #[inline]
    unsafe fn value(image: [u64; N]) -> [u64; N] {
        image
    }
}

/// A sequence lock without the lock that keeps its writers apart.
#[repr(C)]
pub struct RawSeqLock<P: Platform, B: Body> {
    seq: SeqCount<P>,
    body: B,
}

impl<P: Platform, B: Body> RawSeqLock<P, B>
where
    P::Word<u64>: ZeroWord,
{
    /// Protects the value in `body`.
    pub const fn new(body: B) -> Self {
        RawSeqLock { seq: SeqCount::INIT, body }
    }
}

impl<P: Platform, B: Body> RawSeqLock<P, B> {
    /// As `new`, where a constant cannot be had (the model checker).
    pub fn with(body: B) -> Self {
        RawSeqLock { seq: SeqCount::new(), body }
    }

    /// One attempt to read; never waits and stores nothing in shared memory.
    #[inline(always)]
    pub fn try_read(&self) -> Option<B::Value> {
        let start = self.seq.try_begin().ok()?;
        let image = self.body.load();
        // SAFETY: no store ran between try_begin, which saw the last one as a whole
        // ([seqcount.end]), and retry ([seqcount.begin]); so all words are of that store.
        (!self.seq.retry(start)).then(|| unsafe { B::value(image) })
    }

    /// Up to `tries` attempts to read, at least one; the value, and how many attempts failed.
    ///
    /// Between attempts it waits for an open section, but not for long: the writer may have lost
    /// its CPU. `None` means that the caller should wait as the lock of the writers lets it.
    #[inline]
    pub fn read(&self, tries: u32) -> Option<(B::Value, u32)> {
        let mut failed = 0;
        // One loop, no path aside for what failed: a value that is handed from function to
        // function is written in words and read back in vectors, which the store buffer cannot
        // forward.
        loop {
            if let Some(value) = self.try_read() {
                return Some((value, failed));
            }
            failed += 1;
            if failed >= tries {
                return None;
            }
            self.seq.wait_briefly();
        }
    }

    /// Reads as the only writer.
    ///
    /// # Safety
    ///
    /// 1. No [`store`](Self::store) runs during the call, and the last one happens before it.
    #[inline]
    pub unsafe fn read_exclusive(&self) -> B::Value {
        // SAFETY: no store runs (this function's 1), so all words are of the last one.
        unsafe { B::value(self.body.load()) }
    }

    /// Replaces the value.
    ///
    /// # Safety
    ///
    /// 1. No other call of this function runs at the same time, and the last one happens before
    ///    this one: the caller holds a lock.
    #[inline]
    pub unsafe fn store(&self, value: B::Value) {
        let section = self.seq.begin_write();
        self.body.store(value);
        section.end();
    }

    /// The body, to the only one who can see it.
    pub fn body_mut(&mut self) -> &mut B {
        &mut self.body
    }

    /// The body.
    pub fn into_body(self) -> B {
        self.body
    }

    /// The counter, for those who want to know whether the value has been replaced.
    pub fn seq(&self) -> &SeqCount<P> {
        &self.seq
    }
}

impl<P: Platform, B: Body> fmt::Debug for RawSeqLock<P, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.seq.fmt(f)
    }
}
