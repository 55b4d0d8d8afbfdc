//! C11's `mtx_*` and `cnd_*`, whose objects are those of POSIX, and whose results are others.

use core::ffi::{c_int, c_void};

use libc::{EBUSY, ENOMEM, ETIMEDOUT, timespec};

use crate::condvar::*;
use crate::entry::{export, export_from};
use crate::mutex::*;
use crate::objects::{Cond, Mutex};

const SUCCESS: c_int = 0;
const IS_BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

fn result(error: c_int) -> c_int {
    match error {
        0 => SUCCESS,
        ENOMEM => NO_MEMORY,
        ETIMEDOUT => TIMED_OUT,
        EBUSY => IS_BUSY,
        _ => ERROR,
    }
}

// `mtx_init` is the C library's: what it leaves is what an object of ours begins with.

// SAFETY (of all below): as of the functions of POSIX that do the work.
export_from! {
    "C" fn mtx_lock(mutex: *mut Mutex; from) {
        // SAFETY: see above.
        result(unsafe { pthread_mutex_lock::body(mutex, from) })
    }

    "C" fn mtx_timedlock(mutex: *mut Mutex, at: *const timespec; from) {
        // SAFETY: see above.
        result(unsafe { pthread_mutex_timedlock::body(mutex, at, from) })
    }

    "C" fn mtx_unlock(mutex: *mut Mutex; from) {
        // SAFETY: see above.
        result(unsafe { pthread_mutex_unlock::body(mutex, from) })
    }

    "C" fn cnd_init(cond: *mut Cond; from) {
        // SAFETY: see above.
        result(unsafe { pthread_cond_init::body(cond, core::ptr::null::<c_void>(), from) })
    }

    "C-unwind" fn cnd_wait(cond: *mut Cond, mutex: *mut Mutex; from) {
        // SAFETY: see above.
        result(unsafe { pthread_cond_wait::body(cond, mutex, from) })
    }

    "C-unwind" fn cnd_timedwait(cond: *mut Cond, mutex: *mut Mutex, at: *const timespec; from) {
        // SAFETY: see above.
        result(unsafe { pthread_cond_timedwait::body(cond, mutex, at, from) })
    }
}

export! {
    "C" fn mtx_trylock(mutex: *mut Mutex) {
        // SAFETY: see above.
        result(unsafe { pthread_mutex_trylock(mutex) })
    }

    "C" fn cnd_signal(cond: *mut Cond) {
        // SAFETY: see above.
        result(unsafe { pthread_cond_signal(cond) })
    }

    "C" fn cnd_broadcast(cond: *mut Cond) {
        // SAFETY: see above.
        result(unsafe { pthread_cond_broadcast(cond) })
    }
}

/// Returns nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mtx_destroy(mutex: *mut Mutex) {
    // SAFETY: see above.
    unsafe { pthread_mutex_destroy(mutex) };
}

/// Returns nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cnd_destroy(cond: *mut Cond) {
    // SAFETY: see above.
    unsafe { pthread_cond_destroy(cond) };
}
