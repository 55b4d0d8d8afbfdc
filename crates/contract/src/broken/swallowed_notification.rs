//! A condition variable whose impatient waiters take the notification with them.

use crate::reference::Futex;
use lock_api::{GuardNoSend, RawCondvar, RawCondvarTimed, RawMutex};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::thread::{self, Thread, ThreadId};
use std::time::{Duration, Instant};

/// A waiter whose time is up reports a timeout without asking whether it was notified meanwhile,
/// so the notifier counts a thread that nobody sees wake.
///
/// The window between "time is up" and leaving the queue is widened to 100 us.
#[derive(Debug)]
pub struct SwallowedNotification {
    queue: Mutex<VecDeque<Thread>>,
}

impl SwallowedNotification {
    fn queue(&self) -> MutexGuard<'_, VecDeque<Thread>> {
        self.queue.lock().expect("no panic under it")
    }

    /// Sleeps until taken from the queue (`true`) or until the deadline (`false`).
    fn sleep(&self, me: ThreadId, deadline: Option<Instant>) -> bool {
        while self.queue().iter().any(|waiter| waiter.id() == me) {
            match deadline.map(|at| at.saturating_duration_since(Instant::now())) {
                None => thread::park(),
                Some(Duration::ZERO) => {
                    thread::sleep(Duration::from_micros(100));
                    // The defect: whether it was still queued decides what to report.
                    self.queue().retain(|waiter| waiter.id() != me);
                    return false;
                }
                Some(left) => thread::park_timeout(left),
            }
        }
        true
    }

    /// # Safety
    ///
    /// 1. The caller holds `mutex` by `guard`.
    unsafe fn wait_at_most(
        &self,
        mutex: &Futex,
        guard: &mut GuardNoSend,
        deadline: Option<Instant>,
    ) -> bool {
        let me = thread::current();
        self.queue().push_back(me.clone());
        // SAFETY: rule 1; the guard is used up here and replaced below, with no panic between.
        unsafe { mutex.unlock(std::mem::take(guard)) };
        let notified = self.sleep(me.id(), deadline);
        *guard = mutex.lock();
        notified
    }
}

// SAFETY: a waiter queues before it unlocks and relocks before it returns; what is broken on
// purpose is the count.
unsafe impl RawCondvar for SwallowedNotification {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = SwallowedNotification { queue: Mutex::new(VecDeque::new()) };
    type RawMutex = Futex;

    unsafe fn wait(&self, mutex: &Futex, guard: &mut GuardNoSend) {
        // SAFETY: the caller's promise is rule 1.
        unsafe { self.wait_at_most(mutex, guard, None) };
    }

    fn notify_one(&self) -> bool {
        self.queue().pop_front().inspect(Thread::unpark).is_some()
    }

    fn notify_all(&self) -> usize {
        self.queue().drain(..).inspect(Thread::unpark).count()
    }
}

// SAFETY: as for `RawCondvar`.
unsafe impl RawCondvarTimed for SwallowedNotification {
    fn checked_duration_to_instant(timeout: &Duration) -> Option<Instant> {
        Instant::now().checked_add(*timeout)
    }

    unsafe fn wait_until(&self, mutex: &Futex, guard: &mut GuardNoSend, at: &Instant) -> bool {
        // SAFETY: the caller's promise is rule 1.
        unsafe { !self.wait_at_most(mutex, guard, Some(*at)) }
    }
}
