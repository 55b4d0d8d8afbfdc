//! The C library's objects as lockwright uses them: its state lies inside, and says whose they
//! are.
//!
//! An object of zeroes is free. What the C library keeps in the words that tell whose an object is
//! (kind, shared) stays where it is and as it was set; so an object of its own is told from ours
//! at each call, also one that a static initialiser made. Sizes and places are those of x86-64 and
//! aarch64, asserted below.

use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicUsize};

use lockwright_locks::condvar::RawCondvar;
use lockwright_locks::mutex::{self, RawMutex};
use lockwright_locks::ownership::{Ownership, kind};
use lockwright_locks::rwsem::{self, RawRwLock};
use lockwright_locks::spinlock::RawSpinLock;
use lockwright_platform::Native;
use lockwright_statfile::Kind;

use crate::settings;
use crate::stat::{self, Object};

/// A mutex may be freed by its next owner while its unlock still runs.
pub type DefaultMutex = mutex::SliceAtomic;
pub type DefaultRwLock = rwsem::Standard;

/// `pthread_mutex_t`, `mtx_t`.
#[repr(C)]
pub struct Mutex {
    pub raw: RawMutex<Native, DefaultMutex>,
    /// Its last word is the C library's `__kind`.
    pub own: Ownership<Native>,
    /// Condition waits that will acquire the mutex again. Changed under it.
    users: AtomicU16,
    /// For statistics: threads that wait, and [`TO_SETTLE`].
    waiting: AtomicU16,
    /// For statistics: acquisitions, and those of them by another thread than the one before.
    /// Changed by the owner.
    acquisitions: AtomicU32,
    changes: AtomicU32,
    /// Where it was initialised by a call.
    made_at: AtomicUsize,
}

/// In the number of threads that wait: the owner has a wait of its own to settle.
const TO_SETTLE: u16 = 1 << 15;

const KIND: usize = 16;

/// Bits of `__kind` that make a mutex the C library's: robust, priority inheritance and
/// protection, shared; the sign, of one that was destroyed. (The two between are about elision.)
const FOREIGN: u32 = !(kind::MASK | 256 | 512);

impl Mutex {
    #[inline(always)]
    pub fn is_foreign(&self) -> bool {
        self.own.kind() & FOREIGN != 0
    }

    /// Ours, and of the kind that needs no look at the holder.
    #[inline(always)]
    pub fn is_normal(&self) -> bool {
        self.own.kind() & (FOREIGN | kind::MASK) == 0
    }

    pub fn in_use(&self) -> bool {
        // Ordering: Relaxed, hint (the answer is old when it is given)
        self.raw.is_locked() || self.users.load(Relaxed) != 0
    }

    /// A condition wait begins (`plus` 1) or ends (-1); the caller holds the mutex.
    pub fn add_users(&self, plus: i16) {
        // Ordering: Relaxed, owner-only (changed under the mutex) (block)
        let users = self.users.load(Relaxed).wrapping_add_signed(plus);
        self.users.store(users, Relaxed);
    }

    /// The lock has been acquired by thread `me`.
    #[inline(always)]
    pub fn acquired(&self, me: u32) {
        if settings::counts() {
            self.acquired_and_counted(me);
        } else {
            self.own.acquired(me);
        }
    }

    #[inline(always)]
    pub fn acquired_and_counted(&self, me: u32) {
        let (last, _) = self.own.last_holder();
        // Ordering: Relaxed, owner-only (changed under the mutex) (block)
        let acquisitions = self.acquisitions.load(Relaxed).wrapping_add(1);
        self.acquisitions.store(acquisitions, Relaxed);
        if last != me {
            let changes = self.changes.load(Relaxed).wrapping_add(1);
            self.changes.store(changes, Relaxed);
        }

        self.own.acquired(me);
        stat::hold_begins(&raw const *self as usize, acquisitions);
    }

    /// What it counts.
    pub fn counts(&self) -> (u32, u32) {
        // Ordering: Relaxed, owner-only (the caller holds the mutex, or has a copy)
        (self.acquisitions.load(Relaxed), self.changes.load(Relaxed))
    }

    /// What a copy counts, if it is that of a mutex of this kind, made there.
    pub fn counts_of(&self, kind: u32, made_at: usize) -> Option<(u32, u32)> {
        // Ordering: Relaxed, owner-only (a copy)
        let same = !self.is_foreign()
            && self.object_kind() as u32 == kind
            && self.made_at.load(Relaxed) == made_at;
        same.then(|| self.counts())
    }

    fn object_kind(&self) -> Kind {
        match self.own.kind() & kind::MASK {
            _ if self.is_foreign() => Kind::LibcMutex,
            kind::RECURSIVE => Kind::Recursive,
            kind::ERROR_CHECK => Kind::ErrorCheck,
            kind::ADAPTIVE => Kind::Adaptive,
            _ => Kind::Mutex,
        }
    }

    /// It as statistics know it.
    pub fn as_object(&self) -> Object {
        // Ordering: Relaxed, owner-only (written before the mutex is used)
        let made_at = if self.is_foreign() { 0 } else { self.made_at.load(Relaxed) };
        Object { address: &raw const *self as usize, kind: self.object_kind(), made_at }
    }

    /// Notes where it has just been initialised.
    pub fn note_made_at(&self, from: usize) {
        // Ordering: Relaxed, owner-only (nobody uses it yet)
        self.made_at.store(from, Relaxed);
    }

    /// A thread begins to wait.
    pub fn wait_begins(&self) {
        // Ordering: Relaxed, stat (an owner that misses it blames nobody)
        self.waiting.fetch_add(1, Relaxed);
    }

    /// It waits no more; as the owner it will settle that when it releases the mutex.
    pub fn wait_ends(&self, got: bool) {
        let settle = if got { TO_SETTLE } else { 0 };
        // Ordering: Relaxed, stat (the owner's own flag; a number of others)
        self.waiting.fetch_add(settle.wrapping_sub(1), Relaxed);
    }

    /// Whether the owner has something to do for statistics when it releases the mutex.
    #[inline(always)]
    pub fn is_watched(&self) -> bool {
        // Ordering: Relaxed, stat (a waiter that is missed is blamed on the next release)
        self.waiting.load(Relaxed) != 0
    }

    /// Takes the owner's flag down; whether others wait.
    pub fn others_wait(&self) -> bool {
        // Ordering: Relaxed, stat (the owner's own flag; a number of others)
        self.waiting.fetch_and(!TO_SETTLE, Relaxed) & !TO_SETTLE != 0
    }
}

/// `pthread_rwlock_t`.
#[repr(C)]
pub struct RwLock {
    pub raw: RawRwLock<Native, DefaultRwLock>,
    /// For statistics: threads that wait.
    waiting: AtomicU16,
    /// The writers among them.
    waiting_writers: AtomicU16,
    /// For statistics: acquisitions by writers. Changed by the writer.
    writes: AtomicU32,
    /// The thread that holds it for writing, where the C library notes it too.
    pub writer: AtomicU32,
    shared: AtomicU32,
    /// For statistics: acquisitions by readers; by other writers than the one before.
    reads: AtomicU32,
    changes: AtomicU32,
    /// Where it was initialised by a call.
    made_at: AtomicUsize,
    kind: AtomicU32,
}

const PREFER_WRITER_NONRECURSIVE: u32 = 2;

impl RwLock {
    #[inline(always)]
    pub fn is_foreign(&self) -> bool {
        // Ordering: Relaxed, owner-only (written before the lock is used)
        self.shared.load(Relaxed) != 0
    }

    /// Whether a thread may lock it for reading again while a writer waits: of all kinds but the
    /// one whose name says otherwise.
    #[inline(always)]
    pub fn prefers_readers(&self) -> bool {
        // Ordering: Relaxed, owner-only (written before the lock is used)
        self.kind.load(Relaxed) != PREFER_WRITER_NONRECURSIVE
    }

    /// The lock has been acquired for writing by thread `me`; 0: it is about to be released.
    #[inline(always)]
    pub fn set_writer(&self, me: u32) {
        // Ordering: Relaxed, owner-only (others compare it with their own numbers)
        self.writer.store(me, Relaxed);
    }

    /// Counts an acquisition, if statistics are collected.
    #[inline(always)]
    pub fn count(&self, reads: bool) {
        if !settings::counts() {
            return;
        }
        if reads {
            // Ordering: Relaxed, stat
            self.reads.fetch_add(1, Relaxed);
        } else {
            // Ordering: Relaxed, owner-only (changed by the writer) (block)
            self.writes.store(self.writes.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }

    /// What it counts.
    pub fn counts(&self) -> (u32, u32) {
        // Ordering: Relaxed, stat (block)
        let all = self.reads.load(Relaxed).wrapping_add(self.writes.load(Relaxed));
        (all, self.changes.load(Relaxed))
    }

    /// What a copy counts, if it is that of a lock made there.
    pub fn counts_of(&self, made_at: usize) -> Option<(u32, u32)> {
        // Ordering: Relaxed, owner-only (a copy)
        (!self.is_foreign() && self.made_at.load(Relaxed) == made_at).then(|| self.counts())
    }

    /// It as statistics know it.
    pub fn as_object(&self) -> Object {
        let foreign = self.is_foreign();
        Object {
            address: &raw const *self as usize,
            kind: if foreign { Kind::LibcRwLock } else { Kind::RwLock },
            // Ordering: Relaxed, owner-only (written before the lock is used)
            made_at: if foreign { 0 } else { self.made_at.load(Relaxed) },
        }
    }

    /// Notes where it has just been initialised.
    pub fn note_made_at(&self, from: usize) {
        // Ordering: Relaxed, owner-only (nobody uses it yet)
        self.made_at.store(from, Relaxed);
    }

    /// A reader or writer begins to wait (`plus` 1), or waits no more (-1).
    pub fn add_waiting(&self, reads: bool, plus: i16) {
        // Ordering: Relaxed, stat (an owner that misses it blames nobody) (block)
        self.waiting.fetch_add(plus.cast_unsigned(), Relaxed);
        if !reads {
            self.waiting_writers.fetch_add(plus.cast_unsigned(), Relaxed);
        }
    }

    /// Whether others wait.
    #[inline(always)]
    pub fn others_wait(&self) -> bool {
        // Ordering: Relaxed, stat (a waiter that is missed is blamed on the next release)
        self.waiting.load(Relaxed) != 0
    }

    /// Whether writers wait.
    pub fn writers_wait(&self) -> bool {
        // Ordering: Relaxed, stat (as above)
        self.waiting_writers.load(Relaxed) != 0
    }
}

/// `pthread_cond_t`, `cnd_t`. That of programs linked with glibc 2.2.5 has no other size.
#[repr(C)]
pub struct Cond {
    pub raw: RawCondvar<Native>,
    /// Where it was initialised by a call.
    made_at: AtomicUsize,
    _unused: [u32; 2],
    /// The C library keeps its flags in one of these (see [`FLAGS`]); no word of ours may be here.
    flags: [AtomicU32; 4],
    _unused_too: [u32; 2],
}

const FLAGS_FROM: usize = 24;
const SHARED: u32 = 1;
const MONOTONIC: u32 = 2;

/// Which of the words holds the C library's flags: the last before 2.41. Learned from it at the
/// first initialisation with attributes, without which all flags are 0.
static FLAGS: AtomicU32 = AtomicU32::new(3);

impl Cond {
    #[inline(always)]
    fn flags(&self) -> u32 {
        // Ordering: Relaxed, owner-only (both written before the condition variable is used) (block)
        let index = FLAGS.load(Relaxed) as usize % self.flags.len();
        self.flags[index].load(Relaxed)
    }

    #[inline(always)]
    pub fn is_foreign(&self) -> bool {
        self.flags() & SHARED != 0
    }

    /// The clock of its timed waits.
    pub fn clock(&self) -> libc::clockid_t {
        if self.flags() & MONOTONIC != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
    }

    /// It as statistics know it.
    pub fn as_object(&self) -> Object {
        // Ordering: Relaxed, owner-only (written before the condition variable is used)
        let made_at = if self.is_foreign() { 0 } else { self.made_at.load(Relaxed) };
        Object { address: &raw const *self as usize, kind: Kind::Cond, made_at }
    }

    /// Notes where it has just been initialised.
    pub fn note_made_at(&self, from: usize) {
        if !self.is_foreign() {
            // Ordering: Relaxed, owner-only (nobody uses it yet)
            self.made_at.store(from, Relaxed);
        }
    }

    /// The C library has just initialised it.
    pub fn learn_flags(&self) {
        // Ordering: Relaxed, owner-only (the caller has just made it) (block)
        let found = self.flags.iter().position(|word| word.load(Relaxed) != 0);
        if let Some(index) = found {
            FLAGS.store(index as u32, Relaxed);
        }
    }
}

/// `pthread_spinlock_t`. A value of the C library's (a static one, or of a lock that is shared)
/// is told from ours by the highest bits.
#[repr(C)]
pub struct Spin {
    pub raw: RawSpinLock<Native, { SPIN_FREE }>,
}

pub const SPIN_FREE: u32 = 0x6000_0000;

impl Spin {
    /// # Safety
    ///
    /// 1. `spin` points to a spin lock.
    #[inline(always)]
    pub unsafe fn is_foreign(spin: *const Spin) -> bool {
        // SAFETY: the caller's contract (1); the lock is one word.
        let word = unsafe { &*spin.cast::<AtomicU32>() };
        // Ordering: Relaxed, hint (the part that is looked at does not change)
        !RawSpinLock::<Native, { SPIN_FREE }>::is_word(word.load(Relaxed))
    }
}

const _: () = {
    assert!(size_of::<Mutex>() <= size_of::<libc::pthread_mutex_t>());
    assert!(offset_of!(Mutex, own) + size_of::<Ownership<Native>>() - 4 == KIND);
    assert!(size_of::<RwLock>() <= size_of::<libc::pthread_rwlock_t>());
    assert!(offset_of!(RwLock, writer) == 24 && offset_of!(RwLock, shared) == 28);
    assert!(offset_of!(RwLock, kind) == 48);
    assert!(size_of::<Cond>() <= size_of::<libc::pthread_cond_t>());
    assert!(offset_of!(Cond, flags) == FLAGS_FROM);
    assert!(size_of::<Spin>() == 4);
};
