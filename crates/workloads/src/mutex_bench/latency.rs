//! The waiting round: how long each section had to wait for its lock.
//!
//! Two clock readings per section, one before the lock call and one inside the section, so the
//! section is longer by one reading and the throughput of such a round means nothing.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crossbeam_utils::CachePadded;
use lockwright_platform::Native;

use super::round::{lost_updates, section};
use super::{BenchMutex, Rhythm, RoundSpec};
use crate::harness::{Interrupt, Waits, team};
use crate::work::pause;

/// What one waiting round yielded.
#[derive(Clone, Debug)]
pub struct LatencyReport {
    /// The waits of all threads.
    pub waits: Waits,
    /// As in [`super::RoundReport::lost_updates`].
    pub lost_updates: u64,
    /// As in [`super::RoundReport::cut_short`].
    pub cut_short: bool,
}

/// Runs one waiting round with a new mutex.
pub(super) fn latency<M: BenchMutex>(
    spec: &RoundSpec,
    interrupt: &Interrupt,
) -> io::Result<LatencyReport> {
    let mutex = CachePadded::new(M::new());
    let stop = CachePadded::new(AtomicBool::new(false));
    let team = team::run(spec.threads, spec.time, &stop, interrupt, |_| {
        timed_sections(&*mutex, &stop, spec.rhythm)
    })?;
    let mut waits = Waits::new();
    for (member, _) in &team.members {
        waits.merge(member);
    }
    let lost_updates = lost_updates(&*mutex, waits.count());
    Ok(LatencyReport { waits, lost_updates, cut_short: team.cut_short })
}

#[inline(never)]
fn timed_sections<M: BenchMutex>(mutex: &M, stop: &AtomicBool, rhythm: Rhythm) -> Waits {
    let mut waits = Waits::new();
    let mut left = rhythm.burst;
    loop {
        let asked = Instant::now();
        let entered = mutex.with(|counter| {
            let entered = Instant::now();
            section::<Native>(counter, rhythm.load);
            entered
        });
        waits.record(entered - asked);
        // Ordering: Relaxed: a hint, looked at again after the next section.
        if stop.load(Ordering::Relaxed) {
            return waits;
        }
        left -= 1;
        if left == 0 {
            pause(rhythm.outside);
            left = rhythm.burst;
        }
    }
}
