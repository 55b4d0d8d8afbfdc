//! Being told to end early.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Tells a running measurement to end early. Shared with whoever handles signals.
#[derive(Debug, Default)]
pub struct Interrupt {
    raised: Mutex<bool>,
    changed: Condvar,
}

impl Interrupt {
    /// An interrupt nobody has raised.
    pub const fn new() -> Self {
        Interrupt { raised: Mutex::new(false), changed: Condvar::new() }
    }

    /// Ends the running round and lets no other start. True if it had been raised before.
    pub fn raise(&self) -> bool {
        let before = std::mem::replace(&mut *guard(&self.raised), true);
        self.changed.notify_all();
        before
    }

    /// Whether it has been raised.
    pub fn is_raised(&self) -> bool {
        *guard(&self.raised)
    }

    /// Sleeps for `time` or until raised; true if raised.
    ///
    /// One sleep, not a poll: the measured threads want the CPUs for themselves.
    pub fn sleep(&self, time: Duration) -> bool {
        let raised = guard(&self.raised);
        let (raised, _) = self
            .changed
            .wait_timeout_while(raised, time, |raised| !*raised)
            .unwrap_or_else(PoisonError::into_inner);
        *raised
    }
}

/// A flag or a count is whole whatever happened to the thread that held the lock.
pub(super) fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
