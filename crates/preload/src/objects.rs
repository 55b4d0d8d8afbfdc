//! The C library's objects as lockwright uses them: its state lies inside, and says whose they
//! are.
//!
//! An object of zeroes is free. What the C library keeps in the words that tell whose an object is
//! (kind, shared) stays where it is and as it was set; so an object of its own is told from ours
//! at each call, also one that a static initialiser made. Sizes and places are those of x86-64 and
//! aarch64, asserted below.

use core::mem::offset_of;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_locks::condvar::RawCondvar;
use lockwright_locks::mutex::{self, RawMutex};
use lockwright_locks::ownership::{Ownership, kind};
use lockwright_locks::rwsem::{self, RawRwLock};
use lockwright_locks::spinlock::RawSpinLock;
use lockwright_platform::Native;

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
    users: AtomicU32,
}

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
    pub fn add_users(&self, plus: i32) {
        // Ordering: Relaxed, owner-only (changed under the mutex) (block)
        let users = self.users.load(Relaxed).wrapping_add_signed(plus);
        self.users.store(users, Relaxed);
    }
}

/// `pthread_rwlock_t`.
#[repr(C)]
pub struct RwLock {
    pub raw: RawRwLock<Native, DefaultRwLock>,
    _unused: [u32; 2],
    /// The thread that holds it for writing, where the C library notes it too.
    pub writer: AtomicU32,
    shared: AtomicU32,
    _unused_too: [u64; 2],
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
}

/// `pthread_cond_t`, `cnd_t`. That of programs linked with glibc 2.2.5 has no other size.
#[repr(C)]
pub struct Cond {
    pub raw: RawCondvar<Native>,
    _unused: [u32; 4],
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
