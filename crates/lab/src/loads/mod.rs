//! What arms are put through, a file for each benchmark: its cells, and the metrics of its tables.

pub mod command;
pub mod mutex;
pub mod patterns;
pub mod rwlock;
pub mod seq;

use std::time::Duration;

use lockwright_workloads::mutex_bench::Rhythm;
use lockwright_workloads::patterns::{LockPattern, MonitorPattern};

use crate::experiment::Cell;
use crate::experiment::view::View;
use crate::record::{self, Kind, Params, metric};

/// What an arm is put through in a cell: the typed form of the cell's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Pairs of lock and unlock by one thread.
    Uncontended(Pair),
    /// Sections of a mutex.
    Mutex {
        /// Threads.
        threads: usize,
        /// What each does.
        rhythm: Rhythm,
    },
    /// Read and write sections of a reader-writer lock.
    ReadWrite(rwlock::Setting),
    /// A pattern of a lock.
    Pattern {
        /// The pattern.
        pattern: LockPattern,
        /// Of which locks.
        takes: Takes,
    },
    /// A pattern of a mutex with condition variables.
    Monitor(MonitorPattern),
    /// A command's run.
    Command,
    /// Reads of a value that somebody replaces.
    Reads(seq::Setting),
    /// Page faults beside somebody who replaces the node masks.
    Faults(seq::Setting),
    /// The same as `Mutex` with the wait before each section recorded.
    MutexWaits {
        /// Threads.
        threads: usize,
        /// What each does.
        rhythm: Rhythm,
    },
}

/// Which locks a pattern is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Mutexes.
    Mutexes,
    /// Reader-writer locks.
    RwLocks,
    /// Mutexes, and reader-writer locks, which are then only written.
    Both,
}

/// Which lock and unlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// A mutex's.
    Lock,
    /// A reader's.
    Read,
    /// A writer's.
    Write,
}

/// Time that an uncontended run aims at.
pub const UNCONTENDED_TIME: Duration = Duration::from_millis(10);

/// What a lock costs when nobody else wants it.
pub static UNCONTENDED: View = View {
    headline: &metric::PAIR,
    columns: &[&metric::PAIR_GROSS],
    more: &[],
    notes: &["ns/pair: lock and unlock by one thread, the loop subtracted; gross: with the loop."],
};

impl Pair {
    fn cell(self) -> Cell {
        let (word, title) = match self {
            Pair::Lock => ("lock", "uncontended: ns per lock and unlock by one thread"),
            Pair::Read => ("read", "uncontended: ns per read lock and unlock by one thread"),
            Pair::Write => ("write", "uncontended: ns per write lock and unlock by one thread"),
        };
        let params = record::params([("pair", word.into())]);
        cell(Kind::Uncontended, title.to_owned(), params, UNCONTENDED_TIME, Load::Uncontended(self))
    }
}

/// A thread must have had several turns before its share means anything: in this long for each
/// of the cell's threads, a lock that hands over once in some milliseconds has been round twice,
/// and so has a scheduler with slices of 3 ms.
const WINDOW_PER_THREAD: Duration = Duration::from_millis(8);

/// How long a run lasts unless it is said otherwise.
pub fn window(threads: usize) -> Duration {
    let threads = u32::try_from(threads).unwrap_or(u32::MAX);
    (WINDOW_PER_THREAD.saturating_mul(threads))
        .clamp(Duration::from_millis(60), Duration::from_secs(1))
}

/// Whether the threads' shares mean something in runs of this length.
pub fn long_enough(window: Duration, threads: usize) -> bool {
    window >= fair_window(threads)
}

/// The shortest of such runs.
pub fn fair_window(threads: usize) -> Duration {
    let threads = u32::try_from(threads).unwrap_or(u32::MAX);
    WINDOW_PER_THREAD.saturating_mul(threads).min(Duration::from_secs(1))
}

fn cell(kind: Kind, title: String, params: Params, window: Duration, load: Load) -> Cell {
    Cell { record: record::Cell { kind, title, params, window_s: window.as_secs_f64() }, load }
}
