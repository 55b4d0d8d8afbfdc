//! Patterns on threads of this machine.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use lockwright_platform::Native;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use super::{Did, Pattern};
use crate::harness::{Interrupt, Usage, Waits, team};

/// Where the threads run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cpus {
    /// Wherever the scheduler puts them.
    #[default]
    Free,
    /// All on the first CPU that the process may use.
    One,
    /// In turn on the first two.
    Two,
}

/// What one thread did.
#[derive(Clone, Debug)]
pub struct PatternThread {
    /// What it was.
    pub role: &'static str,
    /// Operations.
    pub ops: u64,
    /// CPU time and switches.
    pub usage: Usage,
}

/// What one round yielded.
#[derive(Clone, Debug)]
pub struct PatternReport {
    /// From the start of the first thread to the stop.
    pub elapsed: Duration,
    /// One entry for each thread.
    pub threads: Vec<PatternThread>,
    /// What the pattern times, all threads together.
    pub waits: Waits,
    /// What the lock did wrong.
    pub wrong: u64,
    /// The round was interrupted.
    pub cut_short: bool,
}

/// Runs a pattern until `time` has passed.
///
/// # Errors
///
/// A thread could not be started; nothing was measured.
pub fn run(
    pattern: &(impl Pattern + Sync),
    cpus: Cpus,
    time: Duration,
    interrupt: &Interrupt,
) -> io::Result<PatternReport> {
    let stop = CachePadded::new(AtomicBool::new(false));
    let team = team::run(pattern.threads(), time, &stop, interrupt, |number| {
        cpus.bind(number);
        // Ordering: Relaxed: a hint to stop.
        pattern.body::<Native>(number, |_| stop.load(Relaxed))
    })?;
    let all: Vec<Did> = team.members.iter().map(|(did, _)| did.clone()).collect();
    let mut waits = Waits::new();
    all.iter().for_each(|did| waits.merge(&did.waits));
    let threads = team.members.iter().map(|(did, usage)| PatternThread {
        role: did.role,
        // The last operation ended after the stop.
        ops: did.ops.saturating_sub(1),
        usage: *usage,
    });
    Ok(PatternReport {
        elapsed: team.elapsed,
        threads: threads.collect(),
        waits,
        wrong: pattern.wrong(&all),
        cut_short: team.cut_short,
    })
}

impl Cpus {
    /// Binds the calling thread; where that is refused it stays free.
    fn bind(self, number: usize) {
        let nth = match self {
            Cpus::Free => return,
            Cpus::One => 0,
            Cpus::Two => number % 2,
        };
        let own = Pid::from_raw(0);
        let Ok(allowed) = sched_getaffinity(own) else { return };
        let cpus = (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).unwrap_or(false));
        let mut set = CpuSet::new();
        if cpus.into_iter().nth(nth).is_some_and(|cpu| set.set(cpu).is_ok()) {
            let _ = sched_setaffinity(own, &set);
        }
    }
}

/// Touches so many pages for the first time, and gives them back.
pub fn fault_in(pages: u32) {
    const PAGE: usize = 4096;
    // Where there is no memory there is nothing to touch, and the next allocation says so.
    if let Ok(mut fresh) = memmap2::MmapMut::map_anon(pages as usize * PAGE) {
        fresh.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    }
}
