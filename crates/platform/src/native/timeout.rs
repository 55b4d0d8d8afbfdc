//! Time-outs as C programs give them: a clock and an absolute time.
//!
//! Waits go by the platform's clock. A clock that is set back while one waits prolongs the wait; one that is
//! set forward is noticed at the deadline as it was.

use core::ffi::c_int;

use super::Native;
use crate::Platform;
use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, EINVAL, clockid_t, timespec};

const SECOND: i64 = 1_000_000_000;

/// When a wait ends.
#[derive(Copy, Clone)]
pub struct Timeout {
    clock: clockid_t,
    at: timespec,
}

impl Timeout {
    /// The clocks that waits may go by are those of the C library: real time and monotonic.
    pub fn is_clock(clock: clockid_t) -> bool {
        clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC
    }

    /// # Safety
    ///
    /// 1. `at` points to a time.
    pub unsafe fn new(clock: clockid_t, at: *const timespec) -> Self {
        // SAFETY: the caller's contract (1).
        Timeout { clock, at: unsafe { *at } }
    }

    /// `EINVAL` if it is no time.
    pub fn check(&self) -> Result<(), c_int> {
        if (0..SECOND).contains(&self.at.tv_nsec) { Ok(()) } else { Err(EINVAL) }
    }

    /// The platform's clock at this time: now, if it has passed.
    pub fn deadline(&self) -> u64 {
        if self.clock == CLOCK_MONOTONIC {
            return self.nanoseconds().max(0) as u64;
        }
        let left = self.nanoseconds().saturating_sub(now(self.clock));
        Native::now().saturating_add(left.max(0) as u64)
    }

    /// Whether it has passed by its own clock: one that has been set back meanwhile has not.
    pub fn has_passed(&self) -> bool {
        now(self.clock) >= self.nanoseconds()
    }

    /// By `clock`, this time or that in `ns` nanoseconds, if it is earlier; and whether it is this one.
    pub fn within(timeout: Option<&Self>, clock: clockid_t, ns: i64) -> (timespec, bool) {
        let left = timeout.map(|timeout| timeout.nanoseconds().saturating_sub(now(timeout.clock)));
        let is_last = left.is_some_and(|left| left <= ns);
        let at = now(clock) + left.filter(|_| is_last).unwrap_or(ns).max(0);
        (timespec { tv_sec: at / SECOND, tv_nsec: at % SECOND }, is_last)
    }

    fn nanoseconds(&self) -> i64 {
        self.at.tv_sec.saturating_mul(SECOND).saturating_add(self.at.tv_nsec)
    }

    /// Waits by `attempt`, which gets a deadline of the platform's clock, until it succeeds or this time has passed.
    pub fn wait(&self, attempt: impl Fn(u64) -> bool) -> bool {
        loop {
            if attempt(self.deadline()) {
                return true;
            }
            if self.has_passed() {
                return false;
            }
        }
    }
}

fn now(clock: clockid_t) -> i64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; the clock is one of the two above.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec.saturating_mul(SECOND).saturating_add(time.tv_nsec)
}
