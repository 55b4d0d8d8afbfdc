//! A lock whose unlock comes back to a lock that is no longer its own.

use lock_api::{GuardNoSend, RawMutex};
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;

/// Unlock stores "free" and then looks at the same word for waiters, as an unlock does that
/// keeps its waiters in the lock. The next owner may have unmapped it. The window is widened by
/// one offer of the CPU.
#[derive(Debug)]
pub struct TouchAfterRelease(AtomicU32);

// SAFETY: exclusive by the compare-exchange; what is broken on purpose is only the claim that
// the lock may be unmapped by its next owner. For tests in a child process.
unsafe impl RawMutex for TouchAfterRelease {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = TouchAfterRelease(AtomicU32::new(0));
    type Guard = GuardNoSend;

    fn lock(&self) -> GuardNoSend {
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            thread::yield_now();
        }
    }

    fn try_lock(&self) -> Option<GuardNoSend> {
        let taken = self.0.compare_exchange(0, 1, Acquire, Relaxed);
        taken.is_ok().then(GuardNoSend::new)
    }

    unsafe fn unlock(&self, _: GuardNoSend) {
        self.0.store(0, Release);
        thread::yield_now();
        std::hint::black_box(self.0.load(Relaxed));
    }

    fn is_locked(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}
