//! A lock that is free and barred.

use lock_api::{GuardNoSend, RawMutex};
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;
use std::time::Duration;

const HELD: u32 = 1;
/// Reserved for the first waiter.
const HANDOFF: u32 = 2;
/// One waiter; the bits above hold their number.
const WAITER: u32 = 4;

/// A release with waiters reserves the lock for the first of them, but the test for the flag
/// bars everybody, that waiter included: the lock stays free and unusable.
#[derive(Debug)]
pub struct HandoffNobodyMayTake(AtomicU32);

// SAFETY: exclusive by the compare-exchange; what is broken on purpose is progress.
unsafe impl RawMutex for HandoffNobodyMayTake {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = HandoffNobodyMayTake(AtomicU32::new(0));
    type Guard = GuardNoSend;

    fn lock(&self) -> GuardNoSend {
        if let Some(guard) = self.try_lock() {
            return guard;
        }
        self.0.fetch_add(WAITER, Relaxed);
        loop {
            if let Some(guard) = self.try_lock() {
                self.0.fetch_sub(WAITER, Relaxed);
                return guard;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn try_lock(&self) -> Option<GuardNoSend> {
        let take = |word| (word & (HELD | HANDOFF) == 0).then_some(word | HELD);
        self.0.fetch_update(Acquire, Relaxed, take).is_ok().then(GuardNoSend::new)
    }

    unsafe fn unlock(&self, _: GuardNoSend) {
        let release = |word| {
            let reserved = if word >= WAITER { HANDOFF } else { 0 };
            Some(word & !HELD | reserved)
        };
        self.0.fetch_update(Release, Relaxed, release).expect("the update is total");
    }

    fn is_locked(&self) -> bool {
        self.0.load(Relaxed) & HELD != 0
    }
}
