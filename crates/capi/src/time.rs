//! Time-outs: a clock and an absolute time.

use core::ffi::c_int;

use libc::{EINVAL, clockid_t, timespec};
use lockwright_platform::native::Timeout;

/// The time-out of a call, if it is one.
///
/// # Safety
///
/// 1. `at` points to a time.
pub unsafe fn timeout(clock: clockid_t, at: *const timespec) -> Result<Timeout, c_int> {
    if !Timeout::is_clock(clock) {
        return Err(EINVAL);
    }
    // SAFETY: the caller's contract (1).
    let timeout = unsafe { Timeout::new(clock, at) };
    timeout.check().map(|()| timeout)
}
