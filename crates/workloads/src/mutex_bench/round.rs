//! The throughput round.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;

use lockwright_platform::{Native, Work};

use super::{BenchMutex, Rhythm, RoundSpec};
use crate::harness::{Interrupt, Usage, team};

/// What one thread did in a round.
#[derive(Clone, Copy, Debug)]
pub struct ThreadReport {
    /// Sections completed before the stop.
    pub ops: u64,
    /// CPU time and switches from its first section to its last.
    pub usage: Usage,
}

/// What one round yielded.
#[derive(Clone, Debug)]
pub struct RoundReport {
    /// From the start of the first thread to the stop.
    pub elapsed: Duration,
    /// One entry per thread.
    pub threads: Vec<ThreadReport>,
    /// Sections whose addition to the counter is missing: above 0 the lock let two threads in.
    pub lost_updates: u64,
    /// The round was interrupted; its figures are of a shorter time than asked for.
    pub cut_short: bool,
}

/// Runs one round with a new mutex, alone on its cache lines.
pub(super) fn throughput<M: BenchMutex>(
    spec: &RoundSpec,
    interrupt: &Interrupt,
) -> io::Result<RoundReport> {
    let mutex = CachePadded::new(M::new());
    let stop = CachePadded::new(AtomicBool::new(false));
    let team = team::run(spec.threads, spec.time, &stop, interrupt, |_| {
        // Ordering: Relaxed: a hint, looked at again after the next section.
        sections::<_, Native>(&*mutex, spec.rhythm, |_| stop.load(Ordering::Relaxed))
    })?;
    let done = team.members.iter().map(|(done, _)| done).sum();
    Ok(RoundReport {
        elapsed: team.elapsed,
        threads: team
            .members
            .iter()
            // Each thread's last section ended after the stop: it is checked, not counted.
            .map(|&(done, usage)| ThreadReport { ops: done - 1, usage })
            .collect(),
        lost_updates: lost_updates(&*mutex, done),
        cut_short: team.cut_short,
    })
}

/// One thread's measured loop, on whatever platform; returns all sections it did. Ends when
/// `over`, asked after each section with their number, says so.
///
/// Nothing shared is written but by the lock and its section; the count stays in a register.
#[inline(never)]
pub fn sections<M: BenchMutex, K: Work>(
    mutex: &M,
    rhythm: Rhythm,
    mut over: impl FnMut(u64) -> bool,
) -> u64 {
    let mut done = 0;
    let mut left = rhythm.burst;
    loop {
        mutex.with(|counter| section::<K>(counter, rhythm.load));
        done += 1;
        if over(done) {
            return done;
        }
        left -= 1;
        if left == 0 {
            K::pause(rhythm.outside);
            left = rhythm.burst;
        }
    }
}

/// The body of a section: the counter is read before the work and written after it, so that a
/// second thread anywhere in the section loses an update.
#[inline(always)]
pub(super) fn section<K: Work>(counter: &mut u64, load: u32) {
    let before = *counter;
    K::pause(load);
    *counter = before + 1;
}

/// How many of the `done` sections do not show in the counter.
pub(super) fn lost_updates<M: BenchMutex>(mutex: &M, done: u64) -> u64 {
    mutex.with(|counter| done.abs_diff(*counter))
}
