//! The C library's mutex.

use crate::foreign::{Foreign, Guarded};

/// `pthread_mutex_t` with default attributes, as statically initialised.
pub type Pthread = Guarded<Default>;

/// `pthread_mutex_t` of kind `PTHREAD_MUTEX_ADAPTIVE_NP`: spins a while before it sleeps.
#[cfg(target_env = "gnu")]
pub type PthreadAdaptive = Guarded<Adaptive>;

/// Marker of [`Pthread`].
pub struct Default;

/// Marker of [`PthreadAdaptive`].
#[cfg(target_env = "gnu")]
pub struct Adaptive;

macro_rules! posix {
    ($marker:ty, $initialiser:expr) => {
        // SAFETY: 1. POSIX, pthread_mutex_lock. 2. The initialiser is a value of the type; no
        // address in it has been given to the library before the first lock.
        unsafe impl Foreign for $marker {
            type Object = libc::pthread_mutex_t;

            fn init() -> Self::Object {
                $initialiser
            }

            #[inline]
            unsafe fn lock(object: *mut Self::Object) {
                // SAFETY: the caller's.
                let error = unsafe { libc::pthread_mutex_lock(object) };
                debug_assert_eq!(error, 0);
            }

            #[inline]
            unsafe fn unlock(object: *mut Self::Object) {
                // SAFETY: the caller's.
                let error = unsafe { libc::pthread_mutex_unlock(object) };
                debug_assert_eq!(error, 0);
            }

            unsafe fn destroy(object: *mut Self::Object) {
                // SAFETY: the caller's.
                let error = unsafe { libc::pthread_mutex_destroy(object) };
                debug_assert_eq!(error, 0);
            }
        }
    };
}

posix!(Default, libc::PTHREAD_MUTEX_INITIALIZER);
#[cfg(target_env = "gnu")]
posix!(Adaptive, libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP);
