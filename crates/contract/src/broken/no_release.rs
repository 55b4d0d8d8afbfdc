//! A lock whose word carries no order.

use lock_api::{GuardNoSend, RawMutex};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// A test-and-set lock with relaxed operations throughout: exclusive, but what one holder wrote
/// the next need not see. On x86-64 no run shows it, so only a checker of the memory model can.
#[derive(Debug)]
pub struct NoRelease(AtomicBool);

// SAFETY: broken on purpose: no release on unlock, no acquire on lock. For tests only, where
// Miri must report the race.
unsafe impl RawMutex for NoRelease {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = NoRelease(AtomicBool::new(false));
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
        let taken = self.0.compare_exchange(false, true, Relaxed, Relaxed);
        taken.is_ok().then(GuardNoSend::new)
    }

    unsafe fn unlock(&self, _: GuardNoSend) {
        self.0.store(false, Relaxed);
    }

    fn is_locked(&self) -> bool {
        self.0.load(Relaxed)
    }
}
