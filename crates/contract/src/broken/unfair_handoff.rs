//! A lock whose fair unlock is fair by name.

use lock_api::{GuardNoSend, RawMutex, RawMutexFair};
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;
use std::time::Duration;

/// Claims to hand over on release, but whoever released last may retake at once, and others only
/// when no release has happened for 2 ms. Exclusive, live once the owner stops, and unfair.
#[derive(Debug)]
pub struct UnfairHandoff {
    held: AtomicBool,
    last: AtomicU64,
    releases: AtomicU64,
}

/// A number for the calling thread, not 0.
fn me() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static ME: u64 = NEXT.fetch_add(1, Relaxed));
    ME.with(|me| *me)
}

// SAFETY: exclusive by the compare-exchange; what is broken on purpose is the order.
unsafe impl RawMutex for UnfairHandoff {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = UnfairHandoff {
        held: AtomicBool::new(false),
        last: AtomicU64::new(0),
        releases: AtomicU64::new(0),
    };
    type Guard = GuardNoSend;

    fn lock(&self) -> GuardNoSend {
        loop {
            let releases = self.releases.load(Relaxed);
            if releases != 0 && self.last.load(Relaxed) != me() {
                thread::sleep(Duration::from_millis(2));
                if self.releases.load(Relaxed) != releases {
                    continue;
                }
            }
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            thread::yield_now();
        }
    }

    fn try_lock(&self) -> Option<GuardNoSend> {
        let taken = self.held.compare_exchange(false, true, Acquire, Relaxed);
        taken.is_ok().then(GuardNoSend::new)
    }

    unsafe fn unlock(&self, _: GuardNoSend) {
        self.last.store(me(), Relaxed);
        self.releases.fetch_add(1, Relaxed);
        self.held.store(false, Release);
    }

    fn is_locked(&self) -> bool {
        self.held.load(Relaxed)
    }
}

// SAFETY: as for `RawMutex`; the claim of a hand-over is the lie.
unsafe impl RawMutexFair for UnfairHandoff {
    unsafe fn unlock_fair(&self, guard: GuardNoSend) {
        // SAFETY: the caller's guard is passed on.
        unsafe { self.unlock(guard) };
    }
}
