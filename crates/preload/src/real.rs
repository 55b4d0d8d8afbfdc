//! The C library's own functions, for the objects that stay its own.
//!
//! A cancelled thread unwinds through those of them that are cancellation points. They are looked
//! up all at once when the first of them is needed, and before `main` at the latest. Two threads
//! that come first at a time find the same.
//!
//! ```text
//! Edges
//!  [real.found]  find: FOUND store Release -> table: FOUND load Acquire  publishes the addresses
//! ```

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr};

use libc::{clockid_t, pthread_t, timespec};

use crate::elf;
use crate::objects::{Cond, Mutex, RwLock, Spin};

macro_rules! real {
    ($($name:ident ( $($arg:ident: $type:ty),* );)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(usize)]
        enum Which { $($name),* }

        static TABLE: [AtomicPtr<c_void>; [$(stringify!($name)),*].len()] =
            [const { AtomicPtr::new(null_mut()) }; [$(stringify!($name)),*].len()];

        #[cold]
        fn find() {
            $(
                let name = concat!(stringify!($name), "\0");
                let name = core::ffi::CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or(c"");
                // A library of its own before glibc 2.34; an empty one since.
                let found = [&b"libpthread.so."[..], b"libc.so."]
                    .into_iter()
                    .find_map(|object| elf::find(object, name));
                if let Some(found) = found {
                    // Ordering: Relaxed, init (published by [real.found])
                    TABLE[Which::$name as usize].store(found.as_ptr(), Relaxed);
                }
            )*
            // Ordering: Release, [real.found]: pairs with the load in table()
            FOUND.store(true, Release);
        }

        $(
            /// The C library's; `ENOSYS` if it has none.
            ///
            /// # Safety
            ///
            /// As POSIX says of the function.
            pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
                let function = table(Which::$name);
                if function.is_null() {
                    return libc::ENOSYS;
                }
                // SAFETY: the address is that of the C library's function of this name, which has
                // this signature.
                unsafe {
                    let function: unsafe extern "C-unwind" fn($($type),*) -> c_int =
                        core::mem::transmute(function);
                    function($($arg),*)
                }
            }
        )*
    };
}

real! {
    pthread_mutex_init(mutex: *mut Mutex, attr: *const c_void);
    pthread_mutex_destroy(mutex: *mut Mutex);
    pthread_mutex_lock(mutex: *mut Mutex);
    pthread_mutex_trylock(mutex: *mut Mutex);
    pthread_mutex_unlock(mutex: *mut Mutex);
    pthread_mutex_timedlock(mutex: *mut Mutex, at: *const timespec);
    pthread_mutex_clocklock(mutex: *mut Mutex, clock: clockid_t, at: *const timespec);
    pthread_rwlock_init(rwlock: *mut RwLock, attr: *const c_void);
    pthread_rwlock_destroy(rwlock: *mut RwLock);
    pthread_rwlock_rdlock(rwlock: *mut RwLock);
    pthread_rwlock_wrlock(rwlock: *mut RwLock);
    pthread_rwlock_tryrdlock(rwlock: *mut RwLock);
    pthread_rwlock_trywrlock(rwlock: *mut RwLock);
    pthread_rwlock_timedrdlock(rwlock: *mut RwLock, at: *const timespec);
    pthread_rwlock_timedwrlock(rwlock: *mut RwLock, at: *const timespec);
    pthread_rwlock_clockrdlock(rwlock: *mut RwLock, clock: clockid_t, at: *const timespec);
    pthread_rwlock_clockwrlock(rwlock: *mut RwLock, clock: clockid_t, at: *const timespec);
    pthread_rwlock_unlock(rwlock: *mut RwLock);
    pthread_cond_init(cond: *mut Cond, attr: *const c_void);
    pthread_cond_destroy(cond: *mut Cond);
    pthread_cond_wait(cond: *mut Cond, mutex: *mut Mutex);
    pthread_cond_timedwait(cond: *mut Cond, mutex: *mut Mutex, at: *const timespec);
    pthread_cond_clockwait(cond: *mut Cond, mutex: *mut Mutex, clock: clockid_t, at: *const timespec);
    pthread_cond_signal(cond: *mut Cond);
    pthread_cond_broadcast(cond: *mut Cond);
    pthread_spin_init(spin: *mut Spin, shared: c_int);
    pthread_spin_lock(spin: *mut Spin);
    pthread_spin_trylock(spin: *mut Spin);
    pthread_spin_unlock(spin: *mut Spin);
    pthread_cancel(thread: pthread_t);
}

static FOUND: AtomicBool = AtomicBool::new(false);

fn table(which: Which) -> *mut c_void {
    // Ordering: Acquire, [real.found]: pairs with the store in find()
    if !FOUND.load(Acquire) {
        find();
    }
    // Ordering: Relaxed, sequence (published by [real.found], or stored by this thread)
    TABLE[which as usize].load(Relaxed)
}
