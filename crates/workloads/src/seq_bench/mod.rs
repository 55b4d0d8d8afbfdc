//! The body that `lockwright bench seq` measures.
//!
//! Readers copy a value of four words over and over; a writer replaces it, every so often or
//! never. All words of a value are equal, so a reader that got half of an update knows. What is
//! measured is one read-side section; the loop around it and the look at the words are in it, and
//! are the same for all.

mod pace;
mod round;
mod subject;

pub use pace::{Paced, WriteEvery};
pub use round::{SeqReport, SeqSpec};
pub use subject::{BarrierWords, BenchSeq, PlainWords, SeqBench, SeqCountWords, SeqRunner, Value};

#[cfg(test)]
mod tests;
