//! A lock that two threads can hold.

use lock_api::{GuardNoSend, RawMutex};
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use std::thread;

/// Looks whether the lock is free and then takes it: two steps where one exchange is needed.
/// Between them it offers the CPU, so that another thread looks as well.
#[derive(Debug)]
pub struct NoExclusion(AtomicBool);

// SAFETY: broken on purpose: two threads may hold it. For tests only, where
// `oracle::exclusion` must see it.
unsafe impl RawMutex for NoExclusion {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = NoExclusion(AtomicBool::new(false));
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
        if self.0.load(Acquire) {
            return None;
        }
        thread::yield_now();
        self.0.store(true, Release);
        Some(GuardNoSend::new())
    }

    unsafe fn unlock(&self, _: GuardNoSend) {
        self.0.store(false, Release);
    }

    fn is_locked(&self) -> bool {
        self.0.load(Acquire)
    }
}
