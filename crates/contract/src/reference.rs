//! A plain lock that is known to be good, for the contracts that `parking_lot` does not claim.
//!
//! The three-state futex mutex of Drepper, "Futexes Are Tricky" (2011), mutex 2: 0 free,
//! 1 held, 2 held and somebody may sleep. It keeps no state outside its word, so it works in a
//! child of `fork`, in a signal handler, and in memory that its next owner unmaps (the wake
//! after the release passes the address to the kernel and reads nothing there). It claims no
//! order and no bound on bypass.

use lock_api::{GuardNoSend, RawMutex, RawMutexTimed};
use std::ptr;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::{Duration, Instant};

const FREE: u32 = 0;
const HELD: u32 = 1;
const ASKED: u32 = 2;

/// The reference lock; see the [module](self).
#[derive(Debug)]
pub struct Futex(AtomicU32);

// SAFETY: the word is changed from FREE only by an acquire exchange that saw FREE, so one
// thread at a time holds the lock; it is set FREE only by its holder, with release.
unsafe impl RawMutex for Futex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Futex(AtomicU32::new(FREE));
    type Guard = GuardNoSend;

    fn lock(&self) -> GuardNoSend {
        self.acquire(None).expect("a lock without deadline cannot time out")
    }

    fn try_lock(&self) -> Option<GuardNoSend> {
        let taken = self.0.compare_exchange(FREE, HELD, Acquire, Relaxed);
        taken.is_ok().then(GuardNoSend::new)
    }

    unsafe fn unlock(&self, _: GuardNoSend) {
        let word = ptr::from_ref(&self.0);
        if self.0.swap(FREE, Release) == ASKED {
            futex_wake_one(word);
        }
    }

    fn is_locked(&self) -> bool {
        self.0.load(Relaxed) != FREE
    }
}

// SAFETY: as for `RawMutex`; `acquire` gives up without having changed FREE.
unsafe impl RawMutexTimed for Futex {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        self.acquire(Instant::now().checked_add(timeout))
    }

    fn try_lock_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        self.acquire(Some(timeout))
    }
}

impl Futex {
    fn acquire(&self, deadline: Option<Instant>) -> Option<GuardNoSend> {
        if let Some(guard) = self.try_lock() {
            return Some(guard);
        }
        while self.0.swap(ASKED, Acquire) != FREE {
            let left = match deadline.map(|at| at.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return None,
                left => left,
            };
            futex_wait(&self.0, ASKED, left);
        }
        Some(GuardNoSend::new())
    }
}

fn futex_wait(word: &AtomicU32, expected: u32, left: Option<Duration>) {
    let spec = left.map(|left| libc::timespec {
        // Longer than any test, in whatever type the C library has.
        tv_sec: left.as_secs().min(i32::MAX as u64) as _,
        tv_nsec: left.subsec_nanos() as _,
    });
    let timeout = spec.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the word is borrowed and the timespec lives during the call; FUTEX_WAIT writes
    // to neither. Every return (woken, changed, interrupted, late) leads to a new look.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            timeout,
        );
    }
}

/// Takes a pointer, not a reference: the word's memory may be gone already.
fn futex_wake_one(word: *const AtomicU32) {
    // SAFETY: a private FUTEX_WAKE uses the address as a key only; it reads no memory of ours.
    unsafe {
        libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1_i32);
    }
}
