//! The asymmetric fence pair.
//!
//! A waiter that is about to sleep makes every thread of the process pass a full fence, so that
//! an unlocking thread needs none of its own. The kernel does this with
//! `membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)` (Linux 4.14), which interrupts the CPUs that run the
//! process, one call in the whole machine at a time.
//!
//! ```text
//! State   FENCED    the light side fences by itself, the heavy side needs no more than its own fence
//!         BARRIER   the light side leaves it to the heavy one, which calls membarrier
//!         LEAVING   the light side fences by itself; some that began under BARRIER may not have: the
//!                   heavy side calls membarrier, or waits them out
//!
//! FENCED -> BARRIER : enable (before `main`, in a forked child, and when a rest is over)
//! BARRIER -> LEAVING -> FENCED : rest (calls cost too much), refused (the kernel does not do it any more)
//! ```
//!
//! *Budget*: one thread of the process is in the call at a time; one that comes meanwhile waits for a call
//! that began after it came, which serves all who wait. If calls take more than [`SLOW_NS`] on average, or
//! more than [`MOST_CALLS`] are made within [`WINDOW_NS`], the process rests: light sides fence by
//! themselves for [`REST_NS`], then longer each time. *Checked by* the tests of `native`, the models of all
//! locks (whose light side is a full fence), `loom_heavy_fence` and its broken twin.
//!
//! ```text
//! Edges
//!  [fence.pair]   light: compiler fence or full fence SeqCst <-> heavy: full fence SeqCst and membarrier  forbids that each misses the store before the other
//!  [fence.mode]   enable, rest, refused: mode store Release -> light, heavy: mode load Acquire  publishes what heavy sides stored before the mode changed to BARRIER, and what light sides did before it changed to FENCED
//!  [fence.calls]  call: calls store Release -> share: calls load Acquire  publishes what every thread did before the call that is over
//! ```

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicU32, AtomicU64, compiler_fence, fence};

use super::hot::HOT;
use super::syscall::syscall;
use super::{clock, environment, futex};
use crate::Heavy;

const FENCED: u32 = 0;
const BARRIER: u32 = 1;
const LEAVING: u32 = 2;

/// Calls that take longer on average are too dear: a wait for a lock is a matter of microseconds.
/// Source: assumed; on two CPUs a call takes 0.5 to 3 us.
const SLOW_NS: u64 = 20_000;
/// More calls within a window cost others too much. Source: assumed; at 1 us a call with an interrupt on
/// each other CPU it is about 2 % of every CPU of the process.
const MOST_CALLS: u64 = 2_000;
const WINDOW_NS: u64 = 100_000_000;
/// How long the first rest lasts, and the longest.
const REST_NS: u64 = 100_000_000;
const LONGEST_REST_NS: u64 = 3_200_000_000;
/// A store is visible to all CPUs after this, whatever its CPU does. Source: assumed, far above the time
/// for which a processor keeps a store to itself.
const DRAIN_NS: u64 = 1_000_000;

const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

/// What heavy sides write; on lines that the light side does not read.
#[repr(align(64))]
struct Calls {
    /// Even: that half of this many calls are over. Odd: one more is under way.
    count: AtomicU64,
    /// Moving average of what a call takes, eight times, in nanoseconds.
    average: AtomicU64,
    longest: AtomicU64,
    /// When the window began, and how many calls were over then.
    window: AtomicU64,
    window_calls: AtomicU64,
    /// When the rest ends; 0 for no rest, `u64::MAX` for ever.
    rest_until: AtomicU64,
    rest_ns: AtomicU64,
}

static CALLS: Calls = Calls {
    count: AtomicU64::new(0),
    average: AtomicU64::new(0),
    longest: AtomicU64::new(0),
    window: AtomicU64::new(0),
    window_calls: AtomicU64::new(0),
    rest_until: AtomicU64::new(u64::MAX),
    rest_ns: AtomicU64::new(REST_NS),
};

/// Whether membarrier may be used: it is wanted, and the process was registered.
static MAY: AtomicU32 = AtomicU32::new(0);

#[inline(always)]
pub(super) fn light() {
    // After the caller's store: before it, the mode might change in between.
    if light_is_free() {
        // Ordering: SeqCst, [fence.pair]: store-load of the caller, for the compiler only (unlock's
        // release against its look at the flags); the processor's half is heavy()'s
        compiler_fence(SeqCst);
    } else {
        full();
    }
}

/// Whether the heavy side does the light side's part.
#[inline(always)]
pub(super) fn light_is_free() -> bool {
    // Ordering: Acquire, [fence.mode]: pairs with the store in enable(): a heavy side that saw FENCED
    // before it, and called nobody, has its store seen by whoever sees BARRIER
    HOT.mode.load(Acquire) == BARRIER
}

/// A full fence, by a locked instruction on the top of the stack where that is cheaper than MFENCE.
#[inline(always)]
fn full() {
    // SAFETY: adds nothing to the word below the stack pointer's, which is this thread's own.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        core::arch::asm!("lock or dword ptr [rsp], 0");
    }
    // Ordering: SeqCst, [fence.pair]: store-load of the caller where nobody calls membarrier
    #[cfg(any(miri, not(target_arch = "x86_64")))]
    fence(SeqCst);
}

pub(super) fn heavy() -> Heavy {
    // Ordering: SeqCst, [fence.pair]: store-load of the caller (a waiter's flag against its look
    // at the lock)
    fence(SeqCst);
    // Ordering: Acquire, [fence.mode]: pairs with the store in rest() and refused(): what light sides
    // left to the heavy one has been done
    if HOT.mode.load(Acquire) != FENCED {
        return share();
    }
    // Ordering: Relaxed, hint (re-checked by enable)
    let until = CALLS.rest_until.load(Relaxed);
    if until != u64::MAX && clock::now() >= until {
        enable();
    }
    Heavy::default()
}

/// A call that begins now or later: one's own, or that of another thread.
fn share() -> Heavy {
    // Ordering: SeqCst, [fence.pair]: store-load, the caller's store against this look: a call that
    // begins after it makes every thread see that store, or be seen
    let seen = CALLS.count.load(SeqCst);
    let enough = (seen + (seen & 1)) + 2;
    // A thread in the call may lose its CPU there; then it is better to make one's own.
    const PATIENCE_NS: u64 = 50_000;
    let end = clock::ticks() + clock::ticks_of(PATIENCE_NS);
    loop {
        // Ordering: Acquire, [fence.calls]: pairs with the store in call()
        let now = CALLS.count.load(Acquire);
        if now >= enough {
            return Heavy { shared: true, ..Heavy::default() };
        }
        // Ordering: AcqRel, [fence.calls]: begins a call after all that were over; Relaxed, hint (retried)
        if now & 1 == 0 && CALLS.count.compare_exchange(now, now + 1, AcqRel, Relaxed).is_ok() {
            return call(now);
        }
        if clock::ticks() >= end {
            if !membarrier(PRIVATE_EXPEDITED) {
                refused();
            }
            return Heavy { calls: 1, ..Heavy::default() };
        }
        core::hint::spin_loop();
    }
}

/// Makes the call that `count` is odd for.
fn call(before: u64) -> Heavy {
    let began = clock::now();
    let done = membarrier(PRIVATE_EXPEDITED);
    let ns = clock::now().saturating_sub(began);
    let mut heavy = Heavy { calls: 1, ns, ..Heavy::default() };
    if !done {
        refused();
    } else if too_dear(ns, began, before / 2) {
        rest(began);
        heavy.rests = true;
    }
    // Ordering: Release, [fence.calls]: pairs with the load in share()
    CALLS.count.store(before + 2, Release);
    heavy
}

/// Notes a call, and says whether it was one too many. One thread at a time.
fn too_dear(ns: u64, now: u64, calls: u64) -> bool {
    // Ordering: Relaxed, stat (one thread at a time is in a call) (block)
    let old = CALLS.average.load(Relaxed);
    let average = if old == 0 { ns * 8 } else { old - old / 8 + ns };
    CALLS.average.store(average.max(1), Relaxed);
    CALLS.longest.store(CALLS.longest.load(Relaxed).max(ns), Relaxed);
    if now.saturating_sub(CALLS.window.load(Relaxed)) > WINDOW_NS {
        if calls - CALLS.window_calls.load(Relaxed) < MOST_CALLS / 4 {
            CALLS.rest_ns.store(REST_NS, Relaxed);
        }
        CALLS.window.store(now, Relaxed);
        CALLS.window_calls.store(calls, Relaxed);
    }
    let many = calls - CALLS.window_calls.load(Relaxed) > MOST_CALLS;

    many || average / 8 > SLOW_NS
}

/// Light sides fence by themselves for a while.
#[cold]
fn rest(now: u64) {
    // Ordering: Relaxed, hint (whoever sees BARRIER still is passed by the call below)
    HOT.mode.store(LEAVING, Relaxed);
    // Ordering: SeqCst, [fence.pair]: store-load, the mode against what light sides leave to this call
    fence(SeqCst);
    if !membarrier(PRIVATE_EXPEDITED) {
        return refused();
    }
    // Ordering: Relaxed, stat (one thread at a time is in a call) (block)
    let ns = CALLS.rest_ns.load(Relaxed);
    CALLS.rest_ns.store((ns * 2).min(LONGEST_REST_NS), Relaxed);
    CALLS.average.store(0, Relaxed);
    CALLS.window.store(0, Relaxed);
    CALLS.rest_until.store(now + ns, Relaxed);

    // Ordering: Release, [fence.mode]: pairs with the load in heavy()
    HOT.mode.store(FENCED, Release);
}

/// The kernel does not do it any more (a seccomp filter installed after the start, no memory):
/// from now on each light side fences by itself. One that has just looked at the mode does not; a
/// millisecond later its store is seen by everybody.
#[cold]
fn refused() {
    // Ordering: Relaxed, hint (as in rest()) (block)
    CALLS.rest_until.store(u64::MAX, Relaxed);
    HOT.mode.store(LEAVING, Relaxed);

    drain();
    // Ordering: SeqCst, [fence.pair]: store-load of the caller where nobody calls membarrier
    fence(SeqCst);
    // Ordering: Release, [fence.mode]: pairs with the load in heavy()
    HOT.mode.store(FENCED, Release);
}

/// From now on light sides leave it to heavy ones.
fn enable() {
    // Ordering: Relaxed, hint (set before main, or in a forked child)
    if MAY.load(Relaxed) == 0 {
        return;
    }
    // Ordering: Relaxed, hint (two that come at once enable twice)
    CALLS.rest_until.store(0, Relaxed);
    // Ordering: SeqCst, [fence.pair]: store-load: a heavy side that has seen FENCED and fenced is before
    // this, so whoever sees BARRIER sees its store
    fence(SeqCst);
    // Ordering: Release, [fence.mode]: pairs with the load in light()
    HOT.mode.store(BARRIER, Release);
}

/// How many membarrier system calls the process has made.
pub fn heavy_calls() -> u64 {
    // Ordering: Relaxed, stat
    CALLS.count.load(Relaxed) / 2
}

/// What the longest of them took, in nanoseconds.
pub fn longest_heavy_call_ns() -> u64 {
    // Ordering: Relaxed, stat
    CALLS.longest.load(Relaxed)
}

/// Whether unlocking is free of fences now: the process may call membarrier, and does not rest.
pub fn barrier_in_use() -> bool {
    light_is_free()
}

/// Registers the process. Called before `main`.
pub(super) fn register() {
    if environment::membarrier() && membarrier(REGISTER_PRIVATE_EXPEDITED) {
        // Ordering: Relaxed, hint (set before main)
        MAY.store(1, Relaxed);
        enable();
    }
}

/// In a forked child, which the kernel has registered no more than a new process.
pub(super) fn register_child() {
    // Ordering: Relaxed, owner-only (a forked child has one thread) (block)
    HOT.mode.store(FENCED, Relaxed);
    CALLS.count.store(CALLS.count.load(Relaxed) & !1, Relaxed);
    let may = MAY.load(Relaxed) != 0 && membarrier(REGISTER_PRIVATE_EXPEDITED);
    MAY.store(may.into(), Relaxed);
    CALLS.rest_until.store(u64::MAX, Relaxed);

    enable();
}

/// Lets what processors keep to themselves become visible.
fn drain() {
    #[cfg(test)]
    if script::drained() {
        return;
    }
    futex::sleep(DRAIN_NS);
}

fn membarrier(command: libc::c_int) -> bool {
    #[cfg(test)]
    if script::refuses() {
        return false;
    }
    if cfg!(miri) {
        return false;
    }
    // SAFETY: membarrier takes no pointers; an unknown command returns an error.
    unsafe { syscall!(libc::SYS_membarrier, command, 0u32, 0u32) == 0 }
}

/// A kernel that refuses, for tests.
#[cfg(test)]
pub(super) mod script {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex, PoisonError, RwLock};

    /// Whoever waits for stores to drain says so to the one and waits for the other.
    static GATE: Mutex<Option<Gate>> = Mutex::new(None);

    type Gate = (Sender<()>, Arc<RwLock<()>>);

    fn gate() -> Option<Gate> {
        GATE.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on the kernel refuses, and stores drain while the lock is not held for writing.
    pub(in crate::native) fn refuse(drains: Arc<RwLock<()>>) -> Receiver<()> {
        let (sender, receiver) = channel();
        *GATE.lock().unwrap_or_else(PoisonError::into_inner) = Some((sender, drains));
        receiver
    }

    pub(in crate::native) fn refuse_no_more() {
        *GATE.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn refuses() -> bool {
        gate().is_some()
    }

    pub(super) fn drained() -> bool {
        let Some((reached, drains)) = gate() else { return false };
        let _ = reached.send(());
        drop(drains.read());
        true
    }
}
