//! Operations on directories and files: the patterns into which those FxMark items fall that stress
//! a file system's locks.
//!
//! An operation finds its way first, which takes no lock (the kernel walks paths without), and then
//! works under the lock of a directory or file: for itself if it writes. Times are drawn between
//! half and three halves of their mean, so that threads do not fall into step. *Left out*: the disk,
//! and locks below the directory's own, such as an allocator's.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright_platform::Platform;

use crate::harness::Draw;
use crate::rw_bench::BenchRwLock;

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
    /// Nanoseconds under it, on average; below 2^31, as the other.
    pub inside_ns: u32,
    /// Nanoseconds before, on average.
    pub outside_ns: u32,
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

impl Pattern {
    /// How many directories so many threads need. The thread with number n uses the one with
    /// number n modulo this.
    pub fn directories(self, threads: usize) -> usize {
        if self == Pattern::PrivateWrite { threads } else { 1 }
    }
}

impl Operation {
    /// One thread's loop over the directory under `lock`, whose counter is the number of its entries.
    /// Ends when `over`, told the number of operations after each, says so.
    pub fn repeat<L: BenchRwLock, P: Platform>(
        self,
        lock: &L,
        seed: u64,
        mut over: impl FnMut(u64) -> bool,
    ) -> Operated {
        let mut draw = Draw::new(seed);
        let mut all = Operated::default();
        loop {
            P::busy_wait_ns(around(&mut draw, self.outside_ns));
            let inside = around(&mut draw, self.inside_ns);
            if self.pattern == Pattern::SharedRead {
                all.torn += lock.read(|entries| {
                    let before = value(entries);
                    P::busy_wait_ns(inside);
                    u64::from(value(entries) != before)
                });
            } else {
                lock.write(|entries| {
                    let before = value(entries);
                    P::busy_wait_ns(inside);
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

    /// What each of three threads of this machine did, and the entries of each directory.
    fn operate(pattern: Pattern, each: u64) -> (Vec<Operated>, Vec<u64>) {
        let operation = Operation { pattern, inside_ns: 100, outside_ns: 50 };
        let locks: Vec<_> =
            (0..pattern.directories(3)).map(|_| On::<RawRwLock<Native, Standard>>::new()).collect();
        let did = std::thread::scope(|scope| {
            let locks = &locks;
            let run = |thread: usize| {
                scope.spawn(move || {
                    let lock = &locks[thread % locks.len()];
                    operation.repeat::<_, Native>(lock, thread as u64, |done| done == each)
                })
            };
            [0, 1, 2].map(run).map(|thread| thread.join().unwrap()).to_vec()
        });
        (did, locks.iter().map(|lock| lock.read(value)).collect())
    }

    /// Writes are counted where they were made, reads change nothing.
    #[test]
    fn every_write_is_an_entry() {
        for (pattern, entries) in [
            (Pattern::SharedWrite, vec![1_500]),
            (Pattern::PrivateWrite, vec![500; 3]),
            (Pattern::SharedRead, vec![0]),
        ] {
            let (did, found) = operate(pattern, 500);
            let written = entries.iter().sum::<u64>() / 3;
            assert_eq!(did, [Operated { done: 500, written, torn: 0 }; 3], "{pattern:?}");
            assert_eq!(found, entries, "{pattern:?}");
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
