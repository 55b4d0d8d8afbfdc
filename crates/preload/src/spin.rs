//! `pthread_spin_*`.

use core::ffi::c_int;

use libc::EBUSY;

use lockwright_statfile::Kind;

use crate::entry::{export, export_from};
use crate::objects::{SPIN_FREE, Spin};
use crate::stat::{self, Object};
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

export_from! {
    "C" fn pthread_spin_lock(spin: *mut Spin; from) {
        // SAFETY: see above.
        unsafe {
            if Spin::is_foreign(spin) {
                return real::pthread_spin_lock(spin);
            }
            if !(*spin).raw.try_lock() {
                wait(&*spin, from);
            }
        }
        0
    }
}

/// Waits for the lock, with statistics if they are collected. (Nobody is blamed: four bytes have no
/// room for who waits.)
#[cold]
fn wait(spin: &Spin, from: usize) {
    let object = Object { address: &raw const *spin as usize, kind: Kind::Spin, made_at: 0 };
    if !stat::is_on() || !stat::begin(&object, false, from) {
        return spin.raw.lock();
    }
    spin.raw.lock();
    stat::finish(true, None);
}
