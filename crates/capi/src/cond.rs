//! `lw_cond_*`.

use core::ffi::c_int;

use libc::{EINVAL, EPERM, ETIMEDOUT, clockid_t, timespec};
use lockwright_locks::condvar::RawCondvar;
use lockwright_locks::mutex::{Atomic, Fair, Kernel, Latency, SliceAtomic};
use lockwright_locks::ownership::Exit;
use lockwright_platform::Native;
use lockwright_platform::native::Timeout;

use crate::mutex::{Mutex, lw_mutex_t, under_policy};
use crate::time::timeout;

/// A condition variable: 12 bytes. It may be destroyed as soon as nobody waits any more, so by a
/// waiter that has just returned.
#[repr(C)]
pub struct lw_cond_t {
    /// For the library.
    pub word: [u32; 3],
}

/// What the words are.
#[repr(C)]
struct Cond {
    raw: RawCondvar<Native>,
    clock: clockid_t,
}

const _: () = {
    assert!(size_of::<Cond>() == 12 && size_of::<lw_cond_t>() == 12);
    assert!(align_of::<Cond>() == align_of::<lw_cond_t>());
};

impl Cond {
    /// # Safety
    ///
    /// 1. `cond` points to an initialised condition variable that lives as long as the reference is
    ///    used.
    unsafe fn of<'a>(cond: *const lw_cond_t) -> &'a Self {
        // SAFETY: the caller's contract (1); the words are of these sizes.
        unsafe { &*cond.cast() }
    }

    /// # Safety
    ///
    /// 1. The caller holds the mutex, unless its kind is one that refuses it then.
    unsafe fn wait(&self, mutex: &Mutex, timeout: Option<&Timeout>) -> c_int {
        match mutex.leave() {
            Exit::NotHolder => return EPERM,
            // Held more than once, it would not be released.
            Exit::Holds => {
                mutex.come_back_again();
                return EINVAL;
            }
            Exit::Release => {}
        }
        let notified = loop {
            let deadline = timeout.map(Timeout::deadline);
            // SAFETY: the caller's contract (1).
            let notified = under_policy!(mutex, raw => unsafe { self.raw.wait(raw, deadline) });
            if notified || timeout.is_none_or(Timeout::has_passed) {
                break notified;
            }
        };
        mutex.come_back();
        if notified { 0 } else { ETIMEDOUT }
    }
}

// SAFETY (of all below): C programs pass pointers to objects that live during the call and are
// initialised; the mutex of a wait is the caller's.

/// Initialises a condition variable whose timed waits go by CLOCK_REALTIME (also LW_COND_INIT's) or
/// CLOCK_MONOTONIC; EINVAL for others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_cond_init(cond: *mut lw_cond_t, clock: clockid_t) -> c_int {
    if !Timeout::is_clock(clock) {
        return EINVAL;
    }
    // SAFETY: see above.
    unsafe { cond.write(lw_cond_t { word: [0, 0, clock as u32] }) };
    0
}

/// Ends a condition variable's use. Nobody may wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_cond_destroy(cond: *mut lw_cond_t) -> c_int {
    let _ = cond;
    0
}

/// Releases the mutex, waits to be notified, and locks the mutex again. It may return without a
/// notification. EPERM: the caller does not hold the mutex, and its kind checks that. EINVAL: it
/// holds it more than once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_cond_wait(cond: *mut lw_cond_t, mutex: *mut lw_mutex_t) -> c_int {
    // SAFETY: see above.
    unsafe { Cond::of(cond).wait(Mutex::of(mutex), None) }
}

/// The same, unless the condition variable's clock reaches `at` first: ETIMEDOUT, with the mutex
/// locked again. EINVAL: no such time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_cond_timedwait(
    cond: *mut lw_cond_t,
    mutex: *mut lw_mutex_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: see above.
    unsafe { lw_cond_clockwait(cond, mutex, Cond::of(cond).clock, at) }
}

/// The same by a clock of the caller's choice; EINVAL if there is no such clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_cond_clockwait(
    cond: *mut lw_cond_t,
    mutex: *mut lw_mutex_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: see above; `at` points to a time.
    match unsafe { timeout(clock, at) } {
        // SAFETY: see above.
        Ok(timeout) => unsafe { Cond::of(cond).wait(Mutex::of(mutex), Some(&timeout)) },
        Err(error) => error,
    }
}

/// Ends the wait of the thread that has waited longest, if one waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_cond_signal(cond: *mut lw_cond_t) -> c_int {
    // SAFETY: see above.
    unsafe { Cond::of(cond) }.raw.notify_one();
    0
}

/// Ends all waits. The threads are not woken together, but one by one as the mutex comes to them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_cond_broadcast(cond: *mut lw_cond_t) -> c_int {
    // SAFETY: see above.
    unsafe { Cond::of(cond) }.raw.notify_all();
    0
}
