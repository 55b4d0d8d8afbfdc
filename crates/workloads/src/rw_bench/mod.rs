//! The body that `lockwright bench rwlock` measures: Long's micro-benchmark.
//!
//! N threads loop: lock for reading or writing, work inside, unlock, work outside; [`Mix`] says how
//! reads and writes are mixed.
//! A writer adds one to a counter that it read before the work; a reader looks at it before and
//! after. After the round the counter must equal the writes that the threads counted, and no
//! reader may have seen it change: a lock that let a writer in beside anybody shows.

use std::fmt;
use std::hint::black_box;
use std::io;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use lockwright_platform::{Native, Work};

use crate::harness::{Draw, Interrupt, Usage, team};
use crate::mutex_bench::BenchMutex;

#[cfg(test)]
mod tests;

/// A reader-writer lock over a counter, as a user of that lock would declare it.
///
/// The counter is atomic so that what a broken lock lets happen is no undefined behaviour; all
/// accesses are relaxed, so the order comes from the lock.
pub trait BenchRwLock: Send + Sync {
    /// An unlocked lock over 0.
    fn new() -> Self;

    /// Runs `section` with the lock held for reading.
    fn read<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T;

    /// Runs `section` with the lock held for writing.
    fn write<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T;

    /// Runs `write` with the lock held for writing, then `read` with it held for reading, with no writer in
    /// between if the lock can do that.
    fn write_then_read(&self, write: impl FnOnce(&AtomicU64), read: impl FnOnce(&AtomicU64)) {
        self.write(write);
        self.read(read);
    }
}

/// Any lock that speaks `lock_api` 0.5.
pub struct LockApiRw<R>(lock_api::RwLock<R, AtomicU64>);

impl<R: lock_api::RawRwLock + Send + Sync> BenchRwLock for LockApiRw<R> {
    fn new() -> Self {
        LockApiRw(lock_api::RwLock::new(AtomicU64::new(0)))
    }

    #[inline]
    fn read<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        section(&self.0.read())
    }

    #[inline]
    fn write<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        section(&self.0.write())
    }
}

/// A mutex in the place of a reader-writer lock: its readers exclude each other. It lies where the
/// mutex lies.
#[repr(C)]
pub struct AsRwLock<M> {
    mutex: M,
    counter: AtomicU64,
}

impl<M: BenchMutex> BenchRwLock for AsRwLock<M> {
    fn new() -> Self {
        AsRwLock { mutex: M::new(), counter: AtomicU64::new(0) }
    }

    #[inline]
    fn read<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        self.mutex.with(|_| section(&self.counter))
    }

    #[inline]
    fn write<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        self.mutex.with(|_| section(&self.counter))
    }
}

/// No lock at all, which the benchmark must notice.
pub struct NoRwLock(AtomicU64);

impl BenchRwLock for NoRwLock {
    fn new() -> Self {
        NoRwLock(AtomicU64::new(0))
    }

    fn read<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        section(&self.0)
    }

    fn write<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        section(&self.0)
    }
}

/// A percentage, to 0.0001 % exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u32);

impl Percent {
    /// The parts of a percent that are told apart.
    const PARTS: u32 = 10_000;
    /// Everything.
    const ALL: u32 = 100 * Self::PARTS;

    /// Whether it is a whole number of so many sections.
    pub const fn divides(self, sections: u32) -> bool {
        (self.0 as u64 * sections as u64).is_multiple_of(Self::ALL as u64)
    }

    /// So much of a number, rounded down.
    const fn of(self, number: u64) -> u64 {
        number * self.0 as u64 / Self::ALL as u64
    }

    /// A whole percentage.
    ///
    /// # Panics
    ///
    /// It is above 100.
    pub const fn whole(percent: u32) -> Self {
        assert!(percent <= 100);
        Percent(percent * Self::PARTS)
    }

    /// The percentage as a number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::PARTS)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_f64().fmt(f)
    }
}

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no percentage; expected 0 to 100, such as 50 or 99.99");
        let parts = text.parse::<f64>().map_err(|_| wrong())? * f64::from(Self::PARTS);
        if !(0.0..=f64::from(Self::ALL)).contains(&parts) {
            return Err(wrong());
        }
        if (parts - parts.round()).abs() > 1e-6 {
            return Err(format!("'{text}' has more than 4 decimals"));
        }
        Ok(Percent(parts.round() as u32))
    }
}

/// How reads and writes are mixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mix {
    /// Each thread draws anew for each section.
    #[default]
    Drawn,
    /// Of each block of so many sections of a thread (at least 1) the first are reads.
    Blocks(u32),
    /// A thread only reads or only writes.
    Dedicated,
}

impl Mix {
    /// Sections in a block; 0: they do not come in blocks.
    pub fn block(self) -> u32 {
        match self {
            Mix::Blocks(sections) => sections,
            Mix::Drawn | Mix::Dedicated => 0,
        }
    }
}

/// One round.
#[derive(Clone, Copy, Debug)]
pub struct RwSpec {
    /// Number of threads, at least 1.
    pub threads: usize,
    /// Percentage of reads; of threads that read, if dedicated (rounded; at least one thread of
    /// each role, unless there is but one role).
    pub readers: Percent,
    /// How they are mixed; in blocks only percentages that [divide](Percent::divides) them.
    pub mix: Mix,
    /// Units of [`Work::pause`] inside each section.
    pub load: u32,
    /// Units outside after each section.
    pub outside: u32,
    /// Wall time from the start of the first thread to the stop.
    pub time: Duration,
}

impl RwSpec {
    /// Threads that only read, where they have roles.
    pub fn reading_threads(&self) -> usize {
        let all = Percent::ALL as usize;
        let exact = (self.threads * self.readers.0 as usize + all / 2) / all;
        match self.readers.0 {
            0 => 0,
            Percent::ALL => self.threads,
            _ if self.threads == 1 => exact,
            _ => exact.clamp(1, self.threads - 1),
        }
    }

    /// Percentage of reads of the thread with this number, from 0.
    pub fn percent_of(&self, thread: usize) -> Percent {
        match self.mix {
            Mix::Drawn | Mix::Blocks(_) => self.readers,
            Mix::Dedicated if thread < self.reading_threads() => Percent::whole(100),
            Mix::Dedicated => Percent::whole(0),
        }
    }
}

/// What one thread did.
#[derive(Clone, Copy, Debug, Default)]
pub struct RwThread {
    /// Read sections.
    pub reads: u64,
    /// Write sections.
    pub writes: u64,
    /// Read sections in which the counter changed.
    torn: u64,
    /// CPU time and switches.
    pub usage: Usage,
}

/// What one round yielded.
#[derive(Clone, Debug)]
pub struct RwReport {
    /// From the start of the first thread to the stop.
    pub elapsed: Duration,
    /// One entry per thread; where they have roles the readers come first.
    pub threads: Vec<RwThread>,
    /// Writes that the counter lacks, and reads in which it changed: above 0 the lock let a
    /// writer in beside somebody.
    pub intrusions: u64,
    /// The round was interrupted.
    pub cut_short: bool,
}

/// The measurements of one lock, behind a vtable: one call per round.
pub trait RwBench: Sync {
    /// One round.
    ///
    /// # Errors
    ///
    /// A thread could not be started; nothing was measured.
    fn round(&self, spec: &RwSpec, interrupt: &Interrupt) -> io::Result<RwReport>;

    /// Time of so many reads (or writes) of nothing by the calling thread alone, loop included.
    fn uncontended(&self, pairs: u64, write: bool) -> Duration;
}

/// [`RwBench`] for the lock `L`.
pub struct RwRunner<L>(PhantomData<fn() -> L>);

impl<L> RwRunner<L> {
    /// The runner; it holds nothing.
    pub const NEW: Self = RwRunner(PhantomData);
}

impl<L: BenchRwLock> RwBench for RwRunner<L> {
    fn round(&self, spec: &RwSpec, interrupt: &Interrupt) -> io::Result<RwReport> {
        let lock = CachePadded::new(L::new());
        let stop = CachePadded::new(AtomicBool::new(false));
        let team = team::run(spec.threads, spec.time, &stop, interrupt, |id| {
            let body = RwBody {
                readers: spec.percent_of(id),
                block: spec.mix.block(),
                load: spec.load,
                outside: spec.outside,
                sleep_ns: 0,
                seed: id as u64,
            };
            // Ordering: Relaxed: the stop is a hint.
            sections::<_, Native>(&*lock, body, |_| stop.load(Relaxed))
        })?;
        let members = team.members.into_iter();
        let threads: Vec<_> = members.map(|(done, usage)| RwThread { usage, ..done }).collect();
        let writes: u64 = threads.iter().map(|thread| thread.writes).sum();
        let torn: u64 = threads.iter().map(|thread| thread.torn).sum();
        // Ordering: Relaxed: the threads have been joined.
        let found = lock.read(|counter| counter.load(Relaxed));
        let intrusions = torn + writes.abs_diff(found);
        Ok(RwReport { elapsed: team.elapsed, threads, intrusions, cut_short: team.cut_short })
    }

    #[inline(never)]
    fn uncontended(&self, pairs: u64, write: bool) -> Duration {
        let lock = CachePadded::new(L::new());
        let lock: &L = black_box(&*lock);
        let began = Instant::now();
        if write {
            (0..pairs).for_each(|_| lock.write(|counter| _ = black_box(counter)));
        } else {
            (0..pairs).for_each(|_| lock.read(|counter| _ = black_box(counter)));
        }
        began.elapsed()
    }
}

/// What one thread does over and over.
#[derive(Clone, Copy, Debug)]
pub struct RwBody {
    /// Percentage of reads.
    pub readers: Percent,
    /// They are the first of each block of so many sections; 0: they are drawn.
    pub block: u32,
    /// Units of [`Work::pause`] inside each section.
    pub load: u32,
    /// Units outside after each section.
    pub outside: u32,
    /// Nanoseconds of sleep inside each section; 0: none.
    pub sleep_ns: u64,
    /// Decides which sections are reads.
    pub seed: u64,
}

/// One thread's loop, on whatever platform; ends when `over`, asked after each section, says so.
#[inline(never)]
pub fn sections<L: BenchRwLock, K: Work>(
    lock: &L,
    body: RwBody,
    mut over: impl FnMut(&RwThread) -> bool,
) -> RwThread {
    let mut done = RwThread::default();
    let mut draw = Draw::new(body.seed);
    let inside = || {
        K::pause(body.load);
        if body.sleep_ns > 0 {
            K::sleep(body.sleep_ns);
        }
    };
    // Ordering: Relaxed throughout: the lock orders the counter.
    loop {
        let reads = match u64::from(body.block) {
            0 => draw.below(Percent::ALL) < body.readers.0,
            block => (done.reads + done.writes) % block < body.readers.of(block),
        };
        if reads {
            done.torn += lock.read(|counter| {
                let before = counter.load(Relaxed);
                inside();
                u64::from(counter.load(Relaxed) != before)
            });
            done.reads += 1;
        } else {
            lock.write(|counter| {
                let before = counter.load(Relaxed);
                inside();
                counter.store(before + 1, Relaxed);
            });
            done.writes += 1;
        }
        if over(&done) {
            return done;
        }
        K::pause(body.outside);
    }
}

impl RwThread {
    /// Reads in which the counter changed: somebody wrote beside the reader.
    pub fn torn(&self) -> u64 {
        self.torn
    }
}
