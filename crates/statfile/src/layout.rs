//! The layout. A change of it is another [`VERSION`].

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// The first word of a file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"lockwrst");
/// What a reader must be made for.
pub const VERSION: u32 = 3;

/// Entries of the tables, powers of two.
pub const LOCKS: usize = 1 << 11;
/// See [`LOCKS`].
pub const SITES: usize = 1 << 12;
/// See [`LOCKS`].
pub const STACKS: usize = 1 << 12;
/// See [`LOCKS`].
pub const THREADS: usize = 1 << 10;
/// See [`LOCKS`].
pub const MODULES: usize = 1 << 8;

/// Frames of a stack.
pub const FRAMES: usize = 27;
/// Room for lock events.
pub const EVENTS: usize = 80;

/// What [`Header::control`] may ask for: statistics of locks.
pub const COLLECT: u32 = 1;

/// [`Header::state`]: the program runs, or was killed.
pub const RUNNING: u32 = 1;
/// [`Header::state`]: the program has ended by itself.
pub const ENDED: u32 = 2;

/// The whole file.
#[repr(C)]
pub struct File {
    /// Who, when, lock events.
    pub header: Header,
    /// By address.
    pub locks: [Lock; LOCKS],
    /// By lock, role and address of the call.
    pub sites: [Site; SITES],
    /// By site and frames.
    pub stacks: [Stack; STACKS],
    /// By number.
    pub threads: [Thread; THREADS],
    /// In the order of their discovery.
    pub modules: [Module; MODULES],
}

/// Who, when, lock events, what did not fit.
#[repr(C, align(4096))]
pub struct Header {
    /// [`MAGIC`], written last.
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// Of the process.
    pub pid: AtomicU32,
    /// Size of the file.
    pub size: AtomicU64,
    /// What a reader asks for; the only word that one may write.
    pub control: AtomicU32,
    /// [`RUNNING`] or [`ENDED`].
    pub state: AtomicU32,
    /// Nanoseconds of the real-time clock when the file was made.
    pub made_at: AtomicU64,
    /// Nanoseconds of the monotonic clock since when locks are counted; 0: never.
    pub collects_since: AtomicU64,
    /// Nanoseconds of the monotonic clock when the program ended.
    pub ended_at: AtomicU64,
    /// How many of the events there are.
    pub event_count: AtomicU32,
    /// One in so many acquisitions has its hold timed; 0: none.
    pub hold_every: AtomicU32,
    /// Nanoseconds of the monotonic clock when the events were last written.
    pub events_at: AtomicU64,
    /// Lock events of the process.
    pub events: [AtomicU64; EVENTS],
    /// Waits for locks that had no entry left.
    pub lost_locks: AtomicU64,
    /// Waits at sites that had no entry left.
    pub lost_sites: AtomicU64,
    /// Stacks that had no entry left.
    pub lost_stacks: AtomicU64,
    /// Waits of threads that had no entry left.
    pub lost_threads: AtomicU64,
    /// The policies of the process, as text.
    pub policy: [AtomicU8; 128],
    /// The executable.
    pub program: [AtomicU8; 512],
}

/// What a lock is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Kind {
    /// A mutex of the C library's default kind.
    Mutex = 1,
    /// A recursive mutex.
    Recursive = 2,
    /// An error-checking mutex.
    ErrorCheck = 3,
    /// An adaptive mutex.
    Adaptive = 4,
    /// A reader-writer lock.
    RwLock = 5,
    /// A spin lock.
    Spin = 6,
    /// A condition variable: waiting for it is no contention.
    Cond = 7,
    /// A mutex that is the C library's: shared, robust, with a priority protocol, or by policy.
    LibcMutex = 8,
    /// A reader-writer lock that is the C library's.
    LibcRwLock = 9,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 9] = [
        Kind::Mutex,
        Kind::Recursive,
        Kind::ErrorCheck,
        Kind::Adaptive,
        Kind::RwLock,
        Kind::Spin,
        Kind::Cond,
        Kind::LibcMutex,
        Kind::LibcRwLock,
    ];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Mutex => "mutex",
            Kind::Recursive => "mutex-rec",
            Kind::ErrorCheck => "mutex-err",
            Kind::Adaptive => "mutex-adap",
            Kind::RwLock => "rwlock",
            Kind::Spin => "spin",
            Kind::Cond => "cond",
            Kind::LibcMutex => "mutex-libc",
            Kind::LibcRwLock => "rwlock-libc",
        }
    }
}

/// What a thread does at a site.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Role {
    /// It waits to hold the lock alone, or for a condition variable.
    Waits = 1,
    /// It waits to read.
    WaitsToRead = 2,
    /// It has held the lock while others waited: the site is that of the release.
    MakesWait = 3,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 3] = [Role::Waits, Role::WaitsToRead, Role::MakesWait];
}

/// Octaves of the histogram of waits, from [`FIRST_BUCKET_NS`].
const OCTAVES: usize = 30;
/// Buckets of an octave.
pub const PER_OCTAVE: usize = 4;
/// Buckets of the histogram; the last one has all that are longer.
pub const BUCKETS: usize = OCTAVES * PER_OCTAVE;
/// The end of the first bucket, which has all that are shorter.
pub const FIRST_BUCKET_NS: u64 = 128;

/// The bucket of a wait.
pub const fn bucket(ns: u64) -> usize {
    if ns < FIRST_BUCKET_NS {
        return 0;
    }
    let octave = (ns.ilog2() - FIRST_BUCKET_NS.ilog2()) as usize;
    // The bits behind the first.
    let part = (ns >> (ns.ilog2() - PER_OCTAVE.ilog2())) as usize % PER_OCTAVE;
    let bucket = octave * PER_OCTAVE + part + 1;
    if bucket < BUCKETS { bucket } else { BUCKETS - 1 }
}

/// Where a bucket begins, in nanoseconds.
pub const fn bucket_start_ns(bucket: usize) -> u64 {
    if bucket == 0 {
        return 0;
    }
    let (octave, part) = ((bucket - 1) / PER_OCTAVE, (bucket - 1) % PER_OCTAVE);
    (FIRST_BUCKET_NS << octave) + ((FIRST_BUCKET_NS << octave) / PER_OCTAVE as u64) * part as u64
}

/// One lock.
#[repr(C, align(64))]
pub struct Lock {
    /// Its address; 0: the entry is free.
    pub address: AtomicU64,
    /// A [`Kind`].
    pub kind: AtomicU32,
    /// Most threads that waited at a time.
    pub most_waiters: AtomicU32,
    /// How many locks at this address have been destroyed.
    pub destroyed: AtomicU32,
    /// Where it was initialised by a call; 0 if by none.
    pub made_at: AtomicU64,
    /// Acquisitions, contended or not, as last seen.
    pub acquisitions: AtomicU64,
    /// Those of them by another thread than the one before.
    pub owner_changes: AtomicU64,
    /// Those of them that had to wait.
    pub contended: AtomicU64,
    /// Those of them that slept.
    pub slept: AtomicU64,
    /// Waits that ended without the lock: timed out.
    pub failed: AtomicU64,
    /// Time waited, of all threads together, those that failed included.
    pub wait_ns: AtomicU64,
    /// The longest wait.
    pub wait_max_ns: AtomicU64,
    /// Holds that were timed.
    pub holds: AtomicU64,
    /// Their time.
    pub hold_ns: AtomicU64,
    /// The longest of them.
    pub hold_max_ns: AtomicU64,
    /// For the writer: how many wait now, and the sum of the times at which they began to.
    pub waiting: AtomicU64,
    /// For the writer: time waited by those who have stopped.
    pub waited_ticks: AtomicU64,
    /// For the writer: time waited that somebody has been blamed for.
    pub blamed_ticks: AtomicU64,
    /// For the writer: what the object counted when it was last seen.
    pub seen_acquisitions: AtomicU32,
    /// For the writer: the same of changes of owner.
    pub seen_changes: AtomicU32,
    /// Waits by their length, see [`bucket`].
    pub histogram: [AtomicU32; BUCKETS],
}

/// A lock, a role and the address of a call.
#[repr(C, align(64))]
pub struct Site {
    /// Of all that identifies it; 0: the entry is free.
    pub key: AtomicU64,
    /// Index of the lock.
    pub lock: AtomicU32,
    /// A [`Role`].
    pub role: AtomicU32,
    /// Where the call returns to.
    pub address: AtomicU64,
    /// Waits, or releases while others waited.
    pub count: AtomicU64,
    /// Time waited there, or that others waited for a hold that was released there.
    pub ns: AtomicU64,
    /// The longest wait.
    pub max_ns: AtomicU64,
    /// Part of `count` that no stack stands for yet.
    pub pending_count: AtomicU64,
    /// Part of `ns` that no stack stands for yet.
    pub pending_ns: AtomicU64,
}

/// A stack of a site.
#[repr(C, align(64))]
pub struct Stack {
    /// Of all that identifies it; 0: the entry is free.
    pub key: AtomicU64,
    /// Index of the site.
    pub site: AtomicU32,
    /// How many frames there are.
    pub depth: AtomicU32,
    /// What it stands for of the site's `count`.
    pub count: AtomicU64,
    /// What it stands for of the site's `ns`.
    pub ns: AtomicU64,
    /// Where the calls return to, the innermost first; written before `depth`.
    pub frames: [AtomicU64; FRAMES],
    /// Room.
    pub unused: AtomicU64,
}

/// How long a thread has waited.
#[repr(C, align(64))]
pub struct Thread {
    /// Its number in the system; 0: the entry is free.
    pub tid: AtomicU32,
    /// Room.
    pub unused: AtomicU32,
    /// Its name, at its first wait.
    pub name: [AtomicU8; 16],
    /// Its waits.
    pub waits: AtomicU64,
    /// Their time.
    pub ns: AtomicU64,
    /// The longest.
    pub max_ns: AtomicU64,
    /// Room.
    pub unused_too: AtomicU64,
}

/// What is loaded where.
#[repr(C, align(64))]
pub struct Module {
    /// What its addresses are ahead of those in its file.
    pub base: AtomicU64,
    /// Its first address; 0: the entry is free.
    pub start: AtomicU64,
    /// The end of its addresses; written last.
    pub end: AtomicU64,
    /// Its file.
    pub path: [AtomicU8; 232],
}

const _: () = {
    assert!(size_of::<Header>() == 4096);
    assert!(size_of::<Lock>() == 640 && size_of::<Site>() == 64);
    assert!(size_of::<Stack>() == 256 && size_of::<Thread>() == 64 && size_of::<Module>() == 256);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_all_waits_without_gap() {
        assert_eq!([bucket(0), bucket(127), bucket(128), bucket(u64::MAX)], [0, 0, 1, BUCKETS - 1]);
        for b in 1..BUCKETS - 1 {
            let (start, end) = (bucket_start_ns(b), bucket_start_ns(b + 1));
            assert_eq!([bucket(start), bucket(end - 1), bucket(end)], [b, b, b + 1], "bucket {b}");
            assert!((end - start) * 4 <= start, "bucket {b} is wider than a quarter");
        }
    }
}
