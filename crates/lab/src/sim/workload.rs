//! What the threads of a simulated run do.

use lockwright_workloads::directory::Pattern;
use lockwright_workloads::patterns::{BurstSpec, GuestSpec, MapSpec, SectionsSpec, Stall};
use lockwright_workloads::rw_bench::Mix;
use serde::Serialize;

use super::forks::Turn;

/// What the threads do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Workload {
    /// Long's micro-benchmark; see [`rw_bench`](lockwright_workloads::rw_bench).
    Rw {
        /// Percentage of reads.
        readers_percent: u32,
        /// How they are mixed.
        #[serde(serialize_with = "mix_name")]
        mix: Mix,
        /// PAUSEs inside.
        load: u32,
        /// PAUSEs outside.
        outside: u32,
        /// Nanoseconds of sleep inside.
        sleep_ns: u64,
    },
    /// The kernel's locktorture; see [`locktorture`](lockwright_workloads::locktorture).
    Torture {
        /// Milliseconds, a fifth of the rare long hold; 0: there is none.
        long_hold_ms: u32,
        /// Nanoseconds outside.
        outside_ns: u32,
    },
    /// Page faults of threads that share an address space: each maps memory (a write lock), takes `faults`
    /// read locks and unmaps, a write lock that becomes a read lock while the pages are freed.
    PageFault {
        /// Read locks between two pairs of write locks.
        faults: u32,
        /// Nanoseconds inside a read section: zeroing a page, entering it.
        fault_ns: u32,
        /// Nanoseconds inside a write section.
        map_ns: u32,
        /// Nanoseconds to free a page.
        zap_ns: u32,
    },
    /// Operations on directories; see [`directory`](lockwright_workloads::directory).
    Directory {
        /// Whose lock, and how.
        #[serde(serialize_with = "pattern_name")]
        pattern: Pattern,
        /// Nanoseconds inside, on average.
        inside_ns: u32,
        /// Nanoseconds outside, on average.
        outside_ns: u32,
    },
    /// Threads that share one set of event counters; see `epoll`.
    Epoll {
        /// All but the first take events, which that one posts; else all add, change and remove.
        waits: bool,
        /// Nanoseconds inside.
        inside_ns: u32,
        /// Nanoseconds outside.
        outside_ns: u32,
    },
    /// Users that work and fork (locks of writers); see `forks`.
    Forks(Turn),
    /// A guest among hogs, as of `bench patterns`; of as many threads as the run has.
    Guest {
        /// Nanoseconds from one visit of the guest to the next.
        every_ns: u64,
        /// PAUSEs in each section.
        load: u32,
        /// Hogs write; else they read.
        hogs_write: bool,
        /// The guest writes; else it reads.
        guest_writes: bool,
    },
    /// Sections whose holders stall now and then, likewise.
    Stall {
        /// PAUSEs in each section.
        load: u32,
        /// PAUSEs outside.
        outside: u32,
        /// One holder in so many sleeps.
        every: u32,
        /// Nanoseconds that it sleeps.
        sleep_ns: u64,
    },
    /// A map of shards, likewise.
    Map {
        /// Shards.
        shards: usize,
        /// Percentage of reads.
        readers_percent: u32,
        /// PAUSEs outside.
        outside: u32,
    },
    /// All threads want the lock at once, then nobody does, likewise.
    Burst {
        /// PAUSEs in each section.
        load: u32,
        /// Nanoseconds between two bursts.
        quiet_ns: u64,
    },
}

impl Workload {
    /// will-it-scale's page_fault1: 128 MiB are mapped, written page by page and unmapped. Since 4.20 an unmap
    /// holds the lock for writing only until the area is out of the tree, and frees the pages with it held
    /// for reading (commit dd2283f2605e).
    ///
    /// A page takes 0.12 times as long to free as to fault in: measured, the median of 48 rounds on a machine
    /// of today, 2.0 to 3.0 us and 0.25 to 0.39. How long that is on the machine that was published follows
    /// from the rate of its 20 threads before readers spun, 5.5 M a second. The time to map is assumed.
    pub const PAGE_FAULT1: Workload =
        Workload::PageFault { faults: 32_768, fault_ns: 1_170, map_ns: 4_000, zap_ns: 140 };

    /// What its two kinds of operations are called, in tables.
    pub fn roles(&self) -> [&'static str; 2] {
        match self {
            Workload::Guest { .. } => ["guest", "hogs"],
            Workload::Epoll { .. } => ["posts", "sections"],
            _ => ["reads", "writes"],
        }
    }

    /// It has readers, and so takes reader-writer locks only.
    pub fn reads(&self) -> bool {
        match *self {
            Workload::Rw { readers_percent, .. } | Workload::Map { readers_percent, .. } => {
                readers_percent > 0
            }
            Workload::Guest { hogs_write, guest_writes, .. } => !hogs_write || !guest_writes,
            Workload::PageFault { .. } => true,
            Workload::Directory { pattern, .. } => pattern == Pattern::SharedRead,
            _ => false,
        }
    }

    /// Threads that it takes at least.
    pub fn least(&self) -> usize {
        match self {
            Workload::Burst { .. } | Workload::Epoll { waits: true, .. } => 2,
            _ => 1,
        }
    }

    /// The spec of `bench patterns` for so many threads.
    pub(super) fn guest(self, threads: usize) -> Option<GuestSpec> {
        let Workload::Guest { every_ns, load, hogs_write, guest_writes } = self else {
            return None;
        };
        Some(GuestSpec { hogs: threads - 1, every_ns, load, hogs_write, guest_writes })
    }

    pub(super) fn stall(self, threads: usize) -> Option<SectionsSpec> {
        let Workload::Stall { load, outside, every, sleep_ns } = self else { return None };
        let stall = Some(Stall::Sleep { every, ns: sleep_ns });
        Some(SectionsSpec { threads, load, outside, burst: 1, stall })
    }

    pub(super) fn map(self, threads: usize) -> Option<MapSpec> {
        let Workload::Map { shards, readers_percent, outside } = self else { return None };
        Some(MapSpec { threads, shards, reads_percent: readers_percent, outside })
    }

    pub(super) fn burst(self, threads: usize) -> Option<BurstSpec> {
        let Workload::Burst { load, quiet_ns } = self else { return None };
        Some(BurstSpec { threads, load, quiet_ns })
    }
}

fn mix_name<S: serde::Serializer>(mix: &Mix, to: S) -> Result<S::Ok, S::Error> {
    match mix {
        Mix::Drawn => to.serialize_str("drawn"),
        Mix::Blocks(sections) => to.collect_str(&format_args!("blocks of {sections}")),
        Mix::Dedicated => to.serialize_str("dedicated"),
    }
}

fn pattern_name<S: serde::Serializer>(pattern: &Pattern, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(match pattern {
        Pattern::SharedWrite => "shared-write",
        Pattern::PrivateWrite => "private-write",
        Pattern::SharedRead => "shared-read",
    })
}
