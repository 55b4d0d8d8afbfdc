//! A map of shards, each under a lock of its own: reads and writes of keys, some more than others.

use std::sync::atomic::Ordering::Relaxed;

use crossbeam_utils::CachePadded;
use lockwright_platform::{Platform, Word, Work};

use super::{Did, Pattern, step};
use crate::harness::Draw;
use crate::rw_bench::BenchRwLock;

/// Who does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapSpec {
    /// Threads, at least 1.
    pub threads: usize,
    /// Shards, at least 1.
    pub shards: usize,
    /// Percentage of reads.
    pub reads_percent: u32,
    /// PAUSE units outside after each operation.
    pub outside: u32,
}

/// Buckets of a shard.
const BUCKETS: usize = 256;
/// Entries of a bucket: what fits a cache line.
const ENTRIES: usize = 8;
/// A quarter of the operations go to so many buckets of the first shard.
const HOT: u32 = 16;

/// In a line of its own wherever the map lies: neither a round nor a simulated run depends on the heap.
#[repr(align(64))]
struct Bucket<W>([W; ENTRIES]);

/// A map on the platform `P`: its words are traffic there.
pub struct Map<L, P: Platform> {
    shards: Vec<CachePadded<L>>,
    entries: Vec<Bucket<P::Word<u64>>>,
    spec: MapSpec,
}

impl<L: BenchRwLock, P: Platform> Map<L, P> {
    /// All values are 0.
    pub fn new(spec: MapSpec) -> Self {
        let bucket = |_| Bucket(std::array::from_fn(|_| Word::new(0)));
        Map {
            shards: (0..spec.shards).map(|_| CachePadded::new(L::new())).collect(),
            entries: (0..spec.shards * BUCKETS).map(bucket).collect(),
            spec,
        }
    }

    #[inline]
    fn draw(&self, draw: &mut Draw) -> usize {
        let hot = draw.below(4) == 0;
        draw.below(if hot { HOT } else { self.entries.len() as u32 }) as usize
    }

    // Ordering: Relaxed throughout: the shard's lock orders its entries, if it does.
    /// Looks through a bucket for a key.
    #[inline]
    fn read(&self, bucket: usize) -> bool {
        self.shards[bucket / BUCKETS].read(|_| {
            // All entries of a bucket are changed together: a reader sees them alike.
            let first = self.entries[bucket].0[0].load(Relaxed);
            self.entries[bucket].0.iter().all(|entry| entry.load(Relaxed) == first)
        })
    }

    #[inline]
    fn write(&self, bucket: usize, value: u64) {
        self.shards[bucket / BUCKETS].write(|counter| {
            let entries = self.entries[bucket].0.iter();
            step(counter, || entries.for_each(|entry| entry.store(value, Relaxed)));
        });
    }
}

impl<L: BenchRwLock, P: Platform> Pattern for Map<L, P> {
    fn threads(&self) -> usize {
        self.spec.threads
    }

    fn body<K: Work>(&self, number: usize, mut over: impl FnMut(u64) -> bool) -> Did {
        let mut draw = Draw::new(number as u64);
        let mut did = Did::nothing("user");
        loop {
            let bucket = self.draw(&mut draw);
            let reads = draw.below(100) < self.spec.reads_percent;
            super::timed::<K>(&mut did.waits, || {
                if reads {
                    did.wrong += u64::from(!self.read(bucket));
                } else {
                    did.writes += 1;
                    self.write(bucket, did.writes);
                }
                K::ticks()
            });
            did.ops += 1;
            if over(did.ops) {
                return did;
            }
            K::pause(self.spec.outside);
        }
    }

    fn wrong(&self, all: &[Did]) -> u64 {
        // Ordering: Relaxed: the threads have ended.
        let counted = |shard: &CachePadded<L>| shard.read(|counter| counter.load(Relaxed));
        let written: u64 = self.shards.iter().map(counted).sum();
        let writes: u64 = all.iter().map(|did| did.writes).sum();
        writes.abs_diff(written) + all.iter().map(|did| did.wrong).sum::<u64>()
    }
}
