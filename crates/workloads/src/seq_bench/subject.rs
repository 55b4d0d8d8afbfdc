//! What is measured: a value that is read much more often than written.

use std::io;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crossbeam_utils::CachePadded;
use lockwright_locks::seqcount::SeqCount;
use lockwright_platform::{Platform, Spin, Until, Word};

use super::round::{self, SeqReport, SeqSpec};
use crate::harness::Interrupt;

/// What is read and written; all words are equal.
pub type Value = [u64; 4];

/// A protection with a value under it.
pub trait BenchSeq: Send + Sync + Sized {
    /// Whether what is read is the value of one write as a whole.
    const WHOLE: bool = true;
    /// Whether [`read`](Self::read) knows how often it had to start again.
    const COUNTS_RETRIES: bool = false;

    /// Holds zeros, for so many readers.
    fn new(readers: usize) -> Self;

    /// The value, and how many attempts failed; `reader` is below the number given to `new`.
    fn read(&self, reader: usize) -> (Value, u64);

    /// Replaces the value. One writer.
    fn write(&self, value: Value);
}

/// The measurement of one protection, behind a vtable.
pub trait SeqBench: Sync {
    /// One round.
    ///
    /// # Errors
    ///
    /// A thread could not be started; nothing was measured.
    fn round(&self, spec: &SeqSpec, interrupt: &Interrupt) -> io::Result<SeqReport>;
}

/// [`SeqBench`] for the protection `S`.
pub struct SeqRunner<S>(PhantomData<fn() -> S>);

impl<S> SeqRunner<S> {
    /// The runner; it holds nothing.
    pub const NEW: Self = SeqRunner(PhantomData);
}

impl<S: BenchSeq> SeqBench for SeqRunner<S> {
    fn round(&self, spec: &SeqSpec, interrupt: &Interrupt) -> io::Result<SeqReport> {
        round::round::<S>(spec, interrupt)
    }
}

type Words<P> = [<P as Platform>::Word<u64>; 4];

fn load<P: Platform>(words: &Words<P>) -> Value {
    // Ordering: Relaxed: ordered, if at all, by the protection.
    std::array::from_fn(|i| words[i].load(Relaxed))
}

fn store<P: Platform>(words: &Words<P>, value: Value) {
    for (word, value) in words.iter().zip(value) {
        // Ordering: Relaxed: as in load().
        word.store(value, Relaxed);
    }
}

/// No protection: what the copying alone costs. Values are torn.
pub struct PlainWords<P: Platform>(Words<P>);

impl<P: Platform> BenchSeq for PlainWords<P> {
    const WHOLE: bool = false;

    fn new(_readers: usize) -> Self {
        PlainWords(Value::default().map(Word::new))
    }

    #[inline]
    fn read(&self, _reader: usize) -> (Value, u64) {
        (load::<P>(&self.0), 0)
    }

    fn write(&self, value: Value) {
        store::<P>(&self.0, value);
    }
}

/// A sequence counter around the words.
pub struct SeqCountWords<P: Platform> {
    seq: SeqCount<P>,
    words: Words<P>,
}

impl<P: Platform> BenchSeq for SeqCountWords<P> {
    const COUNTS_RETRIES: bool = true;

    fn new(_readers: usize) -> Self {
        SeqCountWords { seq: SeqCount::new(), words: Value::default().map(Word::new) }
    }

    #[inline]
    fn read(&self, _reader: usize) -> (Value, u64) {
        let mut failed = 0;
        loop {
            let start = self.seq.begin().expect("no section here unwinds");
            let value = load::<P>(&self.words);
            if !self.seq.retry(start) {
                return (value, failed);
            }
            failed += 1;
        }
    }

    fn write(&self, value: Value) {
        self.seq.write(|_| store::<P>(&self.words, value));
    }
}

/// The full barriers of 2010, as around a node mask: between union and new value the writer waits
/// for each reader once. What is read may be the union, or partly so.
///
/// Edges
///  [barrier.reader]  read: reading, fence, words <-> write: words (union), fence, reading  forbids that the reader misses the union and the writer the reader
///  [barrier.left]    read: words, fence, reading 0 -> write: reading, fence, words  the reader is through before the union goes
pub struct BarrierWords<P: Platform> {
    /// One per reader, on a line of its own, written by that reader only.
    reading: Vec<CachePadded<P::Word<u32>>>,
    words: CachePadded<Words<P>>,
}

impl<P: Platform> BenchSeq for BarrierWords<P> {
    const WHOLE: bool = false;

    fn new(readers: usize) -> Self {
        BarrierWords {
            reading: (0..readers).map(|_| CachePadded::new(Word::new(0))).collect(),
            words: CachePadded::new(Value::default().map(Word::new)),
        }
    }

    #[inline]
    fn read(&self, reader: usize) -> (Value, u64) {
        let reading = &*self.reading[reader];
        // Ordering: Relaxed, fenced (by the fence below)
        reading.store(1, Relaxed);
        // Ordering: SeqCst, [barrier.reader]: store-load, `reading` before the words
        P::fence(SeqCst);
        let value = load::<P>(&self.words);
        // Ordering: SeqCst, [barrier.left]: the words before the store below, as 2010 had it;
        // store-load: none
        P::fence(SeqCst);
        // Ordering: Relaxed, fenced (by the fence above)
        reading.store(0, Relaxed);
        (value, 0)
    }

    fn write(&self, value: Value) {
        let before = load::<P>(&self.words);
        store::<P>(&self.words, std::array::from_fn(|i| before[i] | value[i]));
        // Ordering: SeqCst, [barrier.reader]: store-load, the union before the looks at `reading`
        P::fence(SeqCst);
        for reading in &self.reading {
            let brief = || Until::CHANGED.deadline(P::ticks().saturating_add(P::ticks_of(1_000)));
            // Ordering: Relaxed, fenced (by the fence below)
            while !matches!(P::spin_while(reading, 1, 1, Relaxed, brief()), Spin::Changed(_)) {
                P::yield_now();
            }
        }
        // Ordering: SeqCst, [barrier.left]: the looks at `reading` before the stores below;
        // store-load: none
        P::fence(SeqCst);
        store::<P>(&self.words, value);
    }
}
