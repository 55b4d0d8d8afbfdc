//! The asymmetric fence pair.
//!
//! A waiter that is about to sleep makes every thread of the process pass a full fence, so that
//! an unlocking thread needs none of its own. The kernel does this with
//! `membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)` (Linux 4.14).
//!
//! `LIGHT` says that the process is registered. It is set by a constructor before `main` (or
//! before `dlopen` returns, so before any lock of this library is used); while
//! it is not set (no constructor has run, the kernel has no membarrier, or under Miri), the light
//! side is a full fence too, so the pair keeps its contract at every moment: a light side that
//! saw `LIGHT` clear fences by itself, and one that saw it set runs in a registered process.
//!
//! ```text
//! Edges
//!  [fence.pair]  light: compiler fence or full fence SeqCst <-> heavy: full fence SeqCst and membarrier  forbids that each misses the store before the other
//! ```

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicU64, compiler_fence, fence};

static LIGHT: AtomicBool = AtomicBool::new(false);
static HEAVY_CALLS: AtomicU64 = AtomicU64::new(0);

const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

#[inline(always)]
pub(super) fn light() {
    // Ordering: Relaxed, hint (either value is safe, see the module documentation)
    if LIGHT.load(Relaxed) {
        // Ordering: SeqCst, [fence.pair]: store-load of the caller, for the compiler only (unlock's
        // release against its look at the flags); the processor's half is heavy()'s
        compiler_fence(SeqCst);
    } else {
        full();
    }
}

#[cold]
fn full() {
    // Ordering: SeqCst, [fence.pair]: store-load of the caller where nobody is registered
    fence(SeqCst);
}

pub(super) fn heavy() {
    // Ordering: SeqCst, [fence.pair]: store-load of the caller (a waiter's flag against its look
    // at the lock)
    fence(SeqCst);
    // Ordering: Relaxed, hint (either value is safe, see the module documentation)
    if LIGHT.load(Relaxed) {
        // Ordering: Relaxed, stat
        HEAVY_CALLS.fetch_add(1, Relaxed);
        if !membarrier(PRIVATE_EXPEDITED) {
            refused();
        }
    }
}

/// The kernel does not do it any more (a seccomp filter installed after the start, no memory):
/// from now on each light side fences by itself. One that has just looked at `LIGHT` does not; a
/// millisecond later its store is seen by everybody.
#[cold]
fn refused() {
    // Ordering: Relaxed, hint (either value is safe, see the module documentation)
    LIGHT.store(false, Relaxed);
    super::futex::sleep(1_000_000);
    full();
}

/// How many membarrier system calls the process has made.
pub fn heavy_calls() -> u64 {
    // Ordering: Relaxed, stat
    HEAVY_CALLS.load(Relaxed)
}

/// Registers the process. Called before `main`, and in a forked child.
pub(super) fn register() {
    if cfg!(miri) {
        return;
    }
    // Ordering: Relaxed, hint (either value is safe, see the module documentation)
    LIGHT.store(membarrier(REGISTER_PRIVATE_EXPEDITED), Relaxed);
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: membarrier takes no pointers; an unknown command returns an error.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}
