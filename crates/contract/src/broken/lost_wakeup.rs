//! A lock that looks, and then goes to sleep, whatever happened in between.

use lock_api::{GuardNoSend, RawMutex};
use std::sync::Mutex;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread::{self, Thread};
use std::time::Duration;

/// A waiter sees the lock held, registers, and parks without a second look. A release between
/// the look and the registration finds nobody to wake, and nobody will come again.
///
/// The window is widened to 2 ms, which the shorter hold times of the progress oracle meet.
#[derive(Debug)]
pub struct LostWakeup {
    held: AtomicBool,
    sleepers: Mutex<Vec<Thread>>,
}

// SAFETY: exclusive by the compare-exchange; what is broken on purpose is progress. For tests
// only, where `oracle::progress` must see it.
unsafe impl RawMutex for LostWakeup {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self =
        LostWakeup { held: AtomicBool::new(false), sleepers: Mutex::new(Vec::new()) };
    type Guard = GuardNoSend;

    fn lock(&self) -> GuardNoSend {
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            thread::sleep(Duration::from_millis(2));
            self.sleepers.lock().expect("no panic under it").push(thread::current());
            thread::park();
        }
    }

    fn try_lock(&self) -> Option<GuardNoSend> {
        let taken = self.held.compare_exchange(false, true, Acquire, Relaxed);
        taken.is_ok().then(GuardNoSend::new)
    }

    unsafe fn unlock(&self, _: GuardNoSend) {
        self.held.store(false, Release);
        if let Some(sleeper) = self.sleepers.lock().expect("no panic under it").pop() {
            sleeper.unpark();
        }
    }

    fn is_locked(&self) -> bool {
        self.held.load(Relaxed)
    }
}
