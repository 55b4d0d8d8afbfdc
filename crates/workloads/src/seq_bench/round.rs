//! One round: readers, and a writer if there is one.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use super::{BenchSeq, Paced, Value, WriteEvery};
use crate::harness::{Interrupt, Waits, team};

/// Reads between two looks whether the round is over.
const BATCH: u64 = 32;

/// One round.
#[derive(Clone, Copy, Debug)]
pub struct SeqSpec {
    /// Number of reading threads, at least 1.
    pub readers: usize,
    /// How often one more thread writes.
    pub write_every: WriteEvery,
    /// Wall time.
    pub time: Duration,
}

/// What one round yielded.
#[derive(Clone, Debug)]
pub struct SeqReport {
    /// From the start of the first thread to the stop.
    pub elapsed: Duration,
    /// Reads of each reader.
    pub reads: Vec<u64>,
    /// Attempts that failed, of all readers; `None` if the protection does not tell.
    pub retries: Option<u64>,
    /// Values that were not of one write. More than 0 is a fault if `whole`.
    pub torn: u64,
    /// Whether the protection promises values of one write.
    pub whole: bool,
    /// How long each write took.
    pub writes: Waits,
    /// The round was interrupted.
    pub cut_short: bool,
}

enum Member {
    Reader { reads: u64, retries: u64, torn: u64 },
    Writer(Waits),
}

pub(super) fn round<S: BenchSeq>(spec: &SeqSpec, interrupt: &Interrupt) -> io::Result<SeqReport> {
    let subject = CachePadded::new(S::new(spec.readers));
    let stop = CachePadded::new(AtomicBool::new(false));
    let writers = usize::from(spec.write_every != WriteEvery::Never);
    let team = team::run(spec.readers + writers, spec.time, &stop, interrupt, |number| {
        if number < spec.readers {
            reader(&*subject, number, &stop)
        } else {
            Member::Writer(writer(&*subject, spec.write_every, &stop))
        }
    })?;
    let mut report = SeqReport {
        elapsed: team.elapsed,
        reads: Vec::with_capacity(spec.readers),
        retries: S::COUNTS_RETRIES.then_some(0),
        torn: 0,
        whole: S::WHOLE,
        writes: Waits::new(),
        cut_short: team.cut_short,
    };
    for (member, _) in team.members {
        match member {
            Member::Reader { reads, retries, torn } => {
                report.reads.push(reads);
                report.retries = report.retries.map(|sum| sum + retries);
                report.torn += torn;
            }
            Member::Writer(writes) => report.writes.merge(&writes),
        }
    }
    Ok(report)
}

#[inline(never)]
fn reader<S: BenchSeq>(subject: &S, number: usize, stop: &AtomicBool) -> Member {
    let (mut reads, mut retries, mut torn) = (0, 0, 0);
    // Ordering: Relaxed: a hint to stop.
    while !stop.load(Relaxed) {
        for _ in 0..BATCH {
            let (value, failed) = black_box(subject).read(number);
            retries += failed;
            torn += u64::from(is_torn(value));
        }
        reads += BATCH;
    }
    Member::Reader { reads, retries, torn }
}

#[inline(always)]
fn is_torn([a, b, c, d]: Value) -> bool {
    (a ^ b) | (a ^ c) | (a ^ d) != 0
}

fn writer<S: BenchSeq>(subject: &S, every: WriteEvery, stop: &AtomicBool) -> Waits {
    let mut writes = Waits::new();
    let mut paced = Paced::new(every);
    let mut number = 0;
    while paced.wait(stop) {
        number += 1;
        let began = Instant::now();
        subject.write([number; 4]);
        writes.record(began.elapsed());
    }
    writes
}
