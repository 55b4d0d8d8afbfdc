//! `pthread_spin_*`.

use core::ffi::c_int;

use libc::EBUSY;

use crate::mutex::export;
use crate::objects::{SPIN_FREE, Spin};
use crate::{real, settings};

// SAFETY (of all below): C programs pass pointers to objects that live during the call and were
// initialised, as POSIX asks; a lock that is unlocked is the caller's.
export! {
    "C" fn pthread_spin_init(spin: *mut Spin, shared: c_int) {
        if shared != libc::PTHREAD_PROCESS_PRIVATE || settings::mutex() == settings::mutex::LIBC {
            // SAFETY: see above.
            return unsafe { real::pthread_spin_init(spin, shared) };
        }
        // SAFETY: see above; the lock is one word.
        unsafe { spin.cast::<u32>().write(SPIN_FREE) };
        0
    }

    "C" fn pthread_spin_destroy(_spin: *mut Spin) {
        0
    }

    "C" fn pthread_spin_lock(spin: *mut Spin) {
        // SAFETY: see above.
        unsafe {
            if Spin::is_foreign(spin) {
                return real::pthread_spin_lock(spin);
            }
            (*spin).raw.lock();
        }
        0
    }

    "C" fn pthread_spin_trylock(spin: *mut Spin) {
        // SAFETY: see above.
        unsafe {
            if Spin::is_foreign(spin) {
                return real::pthread_spin_trylock(spin);
            }
            if (*spin).raw.try_lock() { 0 } else { EBUSY }
        }
    }

    "C" fn pthread_spin_unlock(spin: *mut Spin) {
        // SAFETY: see above.
        unsafe {
            if Spin::is_foreign(spin) {
                return real::pthread_spin_unlock(spin);
            }
            (*spin).raw.unlock();
        }
        0
    }
}
