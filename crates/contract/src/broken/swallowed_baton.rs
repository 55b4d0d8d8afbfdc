//! A lock whose impatient waiters take the wake-up with them.

use lock_api::{GuardNoSend, RawMutex, RawMutexTimed};
use std::collections::VecDeque;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, MutexGuard};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Waiters queue, and a release wakes the first of them. One whose time is up leaves without
/// asking whether that wake-up was just given to it, so nobody behind it is woken.
///
/// The window between "time is up" and leaving the queue is widened to 1 ms.
#[derive(Debug)]
pub struct SwallowedBaton {
    held: AtomicBool,
    queue: Mutex<VecDeque<Thread>>,
}

impl SwallowedBaton {
    fn queue(&self) -> MutexGuard<'_, VecDeque<Thread>> {
        self.queue.lock().expect("no panic under it")
    }

    fn acquire(&self, deadline: Option<Instant>) -> Option<GuardNoSend> {
        loop {
            let mut queue = self.queue();
            if let Some(guard) = self.try_lock() {
                return Some(guard);
            }
            let me = thread::current();
            queue.push_back(me.clone());
            drop(queue);
            if !self.sleep(me.id(), deadline) {
                return None;
            }
        }
    }

    /// Sleeps until taken from the queue (`true`) or until the deadline (`false`).
    fn sleep(&self, me: thread::ThreadId, deadline: Option<Instant>) -> bool {
        while self.queue().iter().any(|waiter| waiter.id() == me) {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            match left {
                None => thread::park(),
                Some(Duration::ZERO) => {
                    thread::sleep(Duration::from_millis(1));
                    // The defect: whether it was still queued decides who is woken next.
                    self.queue().retain(|waiter| waiter.id() != me);
                    return false;
                }
                Some(left) => thread::park_timeout(left),
            }
        }
        true
    }
}

// SAFETY: exclusive by the compare-exchange; what is broken on purpose is progress.
unsafe impl RawMutex for SwallowedBaton {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self =
        SwallowedBaton { held: AtomicBool::new(false), queue: Mutex::new(VecDeque::new()) };
    type Guard = GuardNoSend;

    fn lock(&self) -> GuardNoSend {
        self.acquire(None).expect("no deadline")
    }

    fn try_lock(&self) -> Option<GuardNoSend> {
        let taken = self.held.compare_exchange(false, true, Acquire, Relaxed);
        taken.is_ok().then(GuardNoSend::new)
    }

    unsafe fn unlock(&self, _: GuardNoSend) {
        let mut queue = self.queue();
        self.held.store(false, Release);
        if let Some(first) = queue.pop_front() {
            first.unpark();
        }
    }

    fn is_locked(&self) -> bool {
        self.held.load(Relaxed)
    }
}

// SAFETY: as for `RawMutex`.
unsafe impl RawMutexTimed for SwallowedBaton {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        self.acquire(Instant::now().checked_add(timeout))
    }

    fn try_lock_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        self.acquire(Some(timeout))
    }
}
