//! What the threads of a simulated run do.

use lockwright_workloads::directory::Pattern;
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
    /// The mutex benchmark's loop; see [`mutex_bench`](lockwright_workloads::mutex_bench).
    Mutex {
        /// PAUSEs inside.
        load: u32,
        /// PAUSEs outside.
        outside: u32,
    },
    /// The kernel's locktorture; see `lockwright_workloads`.
    Torture {
        /// Milliseconds, a fifth of the rare long hold.
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
    /// Users that work and fork (locks of writers); see `forks`.
    Forks(Turn),
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
}

/// Whether the workload is one for reader-writer locks, or else for mutexes.
pub fn takes(workload: &Workload, rwlock: bool) -> bool {
    match workload {
        Workload::Rw { .. } | Workload::PageFault { .. } | Workload::Directory { .. } => rwlock,
        Workload::Mutex { .. } | Workload::Torture { .. } => !rwlock,
        Workload::Forks(_) => true,
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
