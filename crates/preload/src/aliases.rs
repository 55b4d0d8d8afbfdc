//! The names with underscores, which the C library has exported since 2.2.5 for libraries that
//! must not take the plain ones.

use core::ffi::{c_int, c_void};

use crate::entry::jump;
use crate::mutex::*;
use crate::objects::{Mutex, RwLock};
use crate::rwlock::*;

macro_rules! aliases {
    ($($alias:ident = $name:ident($($arg:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $alias($($arg: $type),*) -> c_int {
            // SAFETY: the same function.
            unsafe { $name($($arg),*) }
        }
    )*};
}

aliases! {
    __pthread_mutex_destroy = pthread_mutex_destroy(mutex: *mut Mutex);
    __pthread_mutex_trylock = pthread_mutex_trylock(mutex: *mut Mutex);
    __pthread_rwlock_destroy = pthread_rwlock_destroy(rwlock: *mut RwLock);
    __pthread_rwlock_tryrdlock = pthread_rwlock_tryrdlock(rwlock: *mut RwLock);
    __pthread_rwlock_trywrlock = pthread_rwlock_trywrlock(rwlock: *mut RwLock);
}

macro_rules! aliases_from {
    ($($alias:ident = $name:ident($($arg:ident: $type:ty),*);)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $alias($($arg: $type),*) -> c_int {
            jump!($name::body, $($arg),*)
        }
    )*};
}

aliases_from! {
    __pthread_mutex_init = pthread_mutex_init(mutex: *mut Mutex, attr: *const c_void);
    __pthread_mutex_lock = pthread_mutex_lock(mutex: *mut Mutex);
    __pthread_mutex_unlock = pthread_mutex_unlock(mutex: *mut Mutex);
    __pthread_rwlock_init = pthread_rwlock_init(rwlock: *mut RwLock, attr: *const c_void);
    __pthread_rwlock_rdlock = pthread_rwlock_rdlock(rwlock: *mut RwLock);
    __pthread_rwlock_wrlock = pthread_rwlock_wrlock(rwlock: *mut RwLock);
    __pthread_rwlock_unlock = pthread_rwlock_unlock(rwlock: *mut RwLock);
}
