//! Operations on directories and files: the patterns into which those FxMark items fall that stress
//! a file system's locks.
//!
//! An operation finds its way first, which takes no lock (the kernel walks paths without), and then
//! works under the lock of a directory or file: for itself if it writes. Times are drawn between
//! half and three halves of their mean, so that threads do not fall into step. *Left out*: the disk,
//! and locks below the directory's own, such as an allocator's.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright_platform::Platform;

use crate::rw_bench::{BenchRwLock, Draw};

/// Whose lock an operation takes, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// All write to one: create, unlink or rename in a shared directory, overwrite pages of one
    /// file (FxMark's MWCM, MWUM, MWRM, DWOM).
    SharedWrite,
    /// Each thread writes to its own (MWCL, MWUL, DWOL): what sharing is held against.
    PrivateWrite,
    /// All read one: list a shared directory (MRDM).
    SharedRead,
}

/// What a thread does over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The lock.
    pub pattern: Pattern,
    /// Nanoseconds under it, on average.
    pub inside_ns: u32,
    /// Nanoseconds before, on average.
    pub outside_ns: u32,
}

/// The directories of so many threads.
pub struct Directories<L> {
    operation: Operation,
    locks: Vec<L>,
}

/// What a thread did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operated {
    /// Operations.
    pub done: u64,
    /// Those of them that wrote.
    pub written: u64,
    /// Reads in which the directory changed: somebody wrote beside the reader.
    pub torn: u64,
}

impl<L: BenchRwLock> Directories<L> {
    /// Empty ones; `lock` makes their locks.
    pub fn new(operation: Operation, threads: usize, lock: impl Fn() -> L) -> Self {
        let many = if operation.pattern == Pattern::PrivateWrite { threads } else { 1 };
        Directories { operation, locks: (0..many).map(|_| lock()).collect() }
    }

    /// The loop of the thread with this number, below the number of threads. Ends when `over`,
    /// told the number of operations after each, says so.
    ///
    /// # Panics
    ///
    /// If the thread has no directory.
    pub fn operate<P: Platform>(
        &self,
        thread: usize,
        seed: u64,
        mut over: impl FnMut(u64) -> bool,
    ) -> Operated {
        let Operation { pattern, inside_ns, outside_ns } = self.operation;
        let lock = &self.locks[if pattern == Pattern::PrivateWrite { thread } else { 0 }];
        let mut draw = Draw::new(seed);
        let mut all = Operated::default();
        loop {
            P::relax(around(&mut draw, outside_ns));
            let inside = around(&mut draw, inside_ns);
            if pattern == Pattern::SharedRead {
                all.torn += lock.read(|entries| {
                    let before = value(entries);
                    P::relax(inside);
                    u64::from(value(entries) != before)
                });
            } else {
                lock.write(|entries| {
                    let before = value(entries);
                    P::relax(inside);
                    entries.store(before + 1, Relaxed);
                });
                all.written += 1;
            }
            all.done += 1;
            if over(all.done) {
                return all;
            }
        }
    }

    /// Entries made in all of them: as many as there were writes, or a lock let two in.
    pub fn entries(&self) -> u64 {
        self.locks.iter().map(|lock| lock.read(value)).sum()
    }
}

// Ordering: Relaxed throughout: the lock orders the counter, if it does.
fn value(entries: &AtomicU64) -> u64 {
    entries.load(Relaxed)
}

/// Between half and three halves of `mean`.
fn around(draw: &mut Draw, mean: u32) -> u32 {
    mean / 2 + draw.below(mean + 1)
}

#[cfg(test)]
mod tests {
    use lockwright_locks::rwsem::{RawRwLock, Standard};
    use lockwright_platform::Native;

    use super::*;
    use crate::on::On;

    fn operate(pattern: Pattern, threads: usize, each: u64) -> (Vec<Operated>, u64, usize) {
        let operation = Operation { pattern, inside_ns: 100, outside_ns: 50 };
        let new = On::<RawRwLock<Native, Standard>>::new;
        let directories = Directories::new(operation, threads, new);
        let did = std::thread::scope(|scope| {
            let directories = &directories;
            let run = |thread| {
                scope.spawn(move || {
                    directories.operate::<Native>(thread, thread as u64, |done| done == each)
                })
            };
            let running: Vec<_> = (0..threads).map(run).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        (did, directories.entries(), directories.locks.len())
    }

    /// On threads of this machine: writes are counted where they were made, reads change nothing.
    #[test]
    fn every_write_is_an_entry() {
        for (pattern, entries, locks) in [
            (Pattern::SharedWrite, 1_500, 1),
            (Pattern::PrivateWrite, 1_500, 3),
            (Pattern::SharedRead, 0, 1),
        ] {
            let (did, found, many) = operate(pattern, 3, 500);
            let one = Operated { done: 500, written: entries / 3, torn: 0 };
            assert_eq!(did, [one; 3], "{pattern:?}");
            assert_eq!((found, many), (entries, locks), "{pattern:?}");
        }
    }

    #[test]
    fn times_are_around_their_mean() {
        let mut draw = Draw::new(7);
        let times: Vec<u32> = (0..10_000).map(|_| around(&mut draw, 1_000)).collect();
        assert!(times.iter().all(|time| (500..=1_500).contains(time)));
        let mean = times.iter().map(|&time| u64::from(time)).sum::<u64>() / 10_000;
        assert!((980..=1_020).contains(&mean), "{mean}");
        assert_eq!(around(&mut draw, 0), 0);
    }
}
