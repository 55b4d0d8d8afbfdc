//! `pthread_mutex_*`.

use core::ffi::{c_int, c_void};

use libc::{CLOCK_REALTIME, EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, clockid_t, timespec};
use lockwright_locks::mutex::{Atomic, Fair, Kernel, Latency, Policy, RawMutex};
use lockwright_locks::ownership::{Entry, Exit};
use lockwright_platform::Native;

use crate::objects::Mutex;
use crate::{real, settings};
use lockwright_platform::native::Timeout;

/// Runs `$body` with `$raw` as the mutex's lock under the policy of the process.
macro_rules! under_policy {
    ($mutex:expr, $raw:ident => $body:expr) => {
        match settings::mutex() {
            settings::mutex::LATENCY => {
                let $raw = $mutex.as_policy::<Atomic<Latency>>();
                $body
            }
            settings::mutex::KERNEL => {
                let $raw = $mutex.as_policy::<Atomic<Kernel>>();
                $body
            }
            settings::mutex::FAIR => {
                let $raw = $mutex.as_policy::<Atomic<Fair>>();
                $body
            }
            _ => {
                let $raw = &$mutex.raw;
                $body
            }
        }
    };
}
pub(crate) use under_policy;

impl Mutex {
    /// Its lock as one of another policy.
    pub fn as_policy<W: Policy>(&self) -> &RawMutex<Native, W> {
        const { assert!(W::ATOMIC_UNLOCK) };
        // SAFETY: the policy is in the type alone; the words are the same, and mean the same to
        // all policies that unlock atomically.
        unsafe { &*(&raw const self.raw).cast() }
    }

    fn try_lock(&self) -> bool {
        under_policy!(self, raw => raw.try_lock())
    }

    /// Acquires the lock, of which the holder is another, if anybody.
    fn wait(&self, timeout: Option<&Timeout>) -> c_int {
        let Some(timeout) = timeout else {
            under_policy!(self, raw => raw.lock());
            return 0;
        };
        if let Err(error) = timeout.check() {
            return error;
        }
        if under_policy!(self, raw => timeout.wait(|deadline| raw.lock_until(deadline))) {
            0
        } else {
            ETIMEDOUT
        }
    }

    /// Acquires it as its kind says.
    fn acquire(&self, timeout: Option<&Timeout>) -> c_int {
        let me = Native::tid();
        match self.own.enter(me) {
            Entry::Again => return 0,
            Entry::Deadlock => return EDEADLK,
            Entry::TooDeep => return EAGAIN,
            Entry::Acquire => {}
        }
        if !self.try_lock() {
            let error = self.wait(timeout);
            if error != 0 {
                return error;
            }
        }
        self.own.acquired(me);
        0
    }

    fn try_acquire(&self) -> c_int {
        let me = Native::tid();
        match self.own.enter(me) {
            Entry::Again => return 0,
            Entry::TooDeep => return EAGAIN,
            Entry::Deadlock => return EBUSY,
            Entry::Acquire => {}
        }
        if !self.try_lock() {
            return EBUSY;
        }
        self.own.acquired(me);
        0
    }

    /// # Safety
    ///
    /// 1. The caller holds the mutex, unless its kind is one that refuses it then.
    unsafe fn release(&self) -> c_int {
        match self.own.exit(Native::tid()) {
            Exit::Holds => 0,
            Exit::NotHolder => EPERM,
            Exit::Release => {
                // SAFETY: the caller's contract (1).
                under_policy!(self, raw => unsafe { raw.unlock() });
                0
            }
        }
    }
}

/// Whether the C library is to be called on.
pub fn is_real(mutex: &Mutex) -> bool {
    mutex.is_foreign() || settings::mutex() == settings::mutex::LIBC
}

/// Exports functions under the names that they have.
macro_rules! export {
    ($($abi:literal fn $name:ident($($arg:ident: $type:ty),*) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn $name($($arg: $type),*) -> c_int $body
    )*};
}
pub(crate) use export;

// SAFETY (of all below): C programs pass pointers to objects that live during the call and were
// initialised, as POSIX asks; a mutex that is unlocked is the caller's, where the kind does not check it.
export! {
    "C" fn pthread_mutex_init(mutex: *mut Mutex, attr: *const c_void) {
        // SAFETY: see above. The C library knows which attributes go together, and leaves zeroes
        // and the kind, which is what ours begins with.
        unsafe { real::pthread_mutex_init(mutex, attr) }
    }

    "C" fn pthread_mutex_destroy(mutex: *mut Mutex) {
        // SAFETY: see above.
        let m = unsafe { &*mutex };
        if !is_real(m) && m.in_use() {
            return EBUSY;
        }
        // It marks the object as destroyed.
        // SAFETY: see above; of ours, no more is known to it than the kind and a depth of 0.
        unsafe { real::pthread_mutex_destroy(mutex) }
    }

    "C" fn pthread_mutex_lock(mutex: *mut Mutex) {
        // SAFETY: see above.
        let m = unsafe { &*mutex };
        if m.is_normal() && settings::mutex_is_default() {
            // SAFETY: the C library says that there is no other thread; memory that is shared
            // between processes holds no object of ours.
            if !settings::is_alone() || !unsafe { m.raw.try_lock_alone() } {
                m.raw.lock();
            }
            m.own.acquired(Native::tid());
            return 0;
        }
        if is_real(m) {
            // SAFETY: see above.
            return unsafe { real::pthread_mutex_lock(mutex) };
        }
        m.acquire(None)
    }

    "C" fn pthread_mutex_trylock(mutex: *mut Mutex) {
        // SAFETY: see above.
        let m = unsafe { &*mutex };
        if is_real(m) {
            // SAFETY: see above.
            return unsafe { real::pthread_mutex_trylock(mutex) };
        }
        m.try_acquire()
    }

    "C" fn pthread_mutex_unlock(mutex: *mut Mutex) {
        // SAFETY: see above.
        let m = unsafe { &*mutex };
        if m.is_normal() && settings::mutex_is_default() {
            m.own.released();
            // SAFETY: see above; and as in pthread_mutex_lock().
            unsafe {
                if !settings::is_alone() || !m.raw.unlock_alone() {
                    m.raw.unlock();
                }
            }
            return 0;
        }
        if is_real(m) {
            // SAFETY: see above.
            return unsafe { real::pthread_mutex_unlock(mutex) };
        }
        // SAFETY: see above.
        unsafe { m.release() }
    }

    "C" fn pthread_mutex_timedlock(mutex: *mut Mutex, at: *const timespec) {
        // SAFETY: see above.
        let m = unsafe { &*mutex };
        if is_real(m) {
            // SAFETY: see above.
            return unsafe { real::pthread_mutex_timedlock(mutex, at) };
        }
        // SAFETY: see above.
        m.acquire(Some(&unsafe { Timeout::new(CLOCK_REALTIME, at) }))
    }

    "C" fn pthread_mutex_clocklock(mutex: *mut Mutex, clock: clockid_t, at: *const timespec) {
        // SAFETY: see above.
        let m = unsafe { &*mutex };
        if is_real(m) {
            // SAFETY: see above.
            return unsafe { real::pthread_mutex_clocklock(mutex, clock, at) };
        }
        if !Timeout::is_clock(clock) {
            return EINVAL;
        }
        // SAFETY: see above.
        m.acquire(Some(&unsafe { Timeout::new(clock, at) }))
    }
}
