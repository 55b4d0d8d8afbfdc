//! `pthread_rwlock_*`.
//!
//! The C library prefers readers unless asked not to, and programs rely on it: a thread that reads
//! may begin to read again although a writer waits. Such a lock lets readers in past those
//! who wait while others read.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use libc::{CLOCK_REALTIME, EBUSY, EDEADLK, EINVAL, ETIMEDOUT, clockid_t, timespec};
use lockwright_locks::rwsem::RawRwLock;
use lockwright_locks::rwsem::count::{READERS, WRITER};
use lockwright_locks::rwsem::policy::{Policy, V5_11};
use lockwright_platform::Native;

use crate::mutex::export;
use crate::objects::RwLock;
use crate::{real, settings};
use lockwright_platform::native::Timeout;

macro_rules! under_policy {
    ($rwlock:expr, $raw:ident => $body:expr) => {
        match settings::rwlock() {
            settings::rwlock::KERNEL => {
                let $raw = $rwlock.as_policy::<V5_11>();
                $body
            }
            _ => {
                let $raw = &$rwlock.raw;
                $body
            }
        }
    };
}

impl RwLock {
    fn as_policy<W: Policy>(&self) -> &RawRwLock<Native, W> {
        // SAFETY: the policy is in the type alone; all stages have the same words.
        unsafe { &*(&raw const self.raw).cast() }
    }

    /// Whether readers get in past those who wait, if others read.
    #[inline(always)]
    fn lets_readers_past(&self) -> bool {
        self.prefers_readers() && settings::rwlock() != settings::rwlock::FAIR
    }

    fn is_written_by(&self, me: u32) -> bool {
        // Ordering: Relaxed, owner-only (a thread finds its own number if it wrote it itself)
        self.writer.load(Relaxed) == me
    }

    fn set_writer(&self, me: u32) {
        // Ordering: Relaxed, owner-only (others compare it with their own numbers)
        self.writer.store(me, Relaxed);
    }

    #[inline(always)]
    fn try_read(&self) -> bool {
        under_policy!(self, raw => {
            if self.lets_readers_past() { raw.try_read_again() } else { raw.try_read() }
        })
    }

    fn read(&self, timeout: Option<&Timeout>) -> c_int {
        if let Some(error) = timeout.and_then(|timeout| timeout.check().err()) {
            return error;
        }
        if self.try_read() {
            return 0;
        }
        if self.is_written_by(Native::tid()) {
            return EDEADLK;
        }
        under_policy!(self, raw => match timeout {
            None => raw.read(),
            Some(timeout) if timeout.wait(|deadline| raw.read_until(deadline)) => {}
            Some(_) => return ETIMEDOUT,
        });
        0
    }

    fn write(&self, timeout: Option<&Timeout>) -> c_int {
        if let Some(error) = timeout.and_then(|timeout| timeout.check().err()) {
            return error;
        }
        let me = Native::tid();
        under_policy!(self, raw => {
            if !raw.try_write() {
                if self.is_written_by(me) {
                    return EDEADLK;
                }
                match timeout {
                    None => raw.write(),
                    Some(timeout) if timeout.wait(|deadline| raw.write_until(deadline)) => {}
                    Some(_) => return ETIMEDOUT,
                }
            }
        });
        self.set_writer(me);
        0
    }

    /// # Safety
    ///
    /// 1. The caller holds the lock.
    unsafe fn release(&self) -> c_int {
        if self.is_written_by(Native::tid()) {
            self.set_writer(0);
            // SAFETY: the caller's contract (1).
            under_policy!(self, raw => unsafe { raw.unlock_write() });
        } else if self.raw.count() & READERS != 0 && self.raw.count() & WRITER == 0 {
            // SAFETY: the caller's contract (1).
            under_policy!(self, raw => unsafe { raw.unlock_read() });
        }
        // Else nobody reads, and taking a reader away would break the lock. The C library returns 0 too.
        0
    }
}

fn is_real(rwlock: &RwLock) -> bool {
    rwlock.is_foreign() || settings::rwlock() == settings::rwlock::LIBC
}

/// The time-out of a `clock` call; an error of the clock comes first.
unsafe fn timeout(clock: clockid_t, at: *const timespec) -> Result<Timeout, c_int> {
    if !Timeout::is_clock(clock) {
        return Err(EINVAL);
    }
    // SAFETY: as POSIX says, it points to a time.
    Ok(unsafe { Timeout::new(clock, at) })
}

// SAFETY (of all below): C programs pass pointers to objects that live during the call and were
// initialised, as POSIX asks; a lock that is unlocked is the caller's.
export! {
    "C" fn pthread_rwlock_init(rwlock: *mut RwLock, attr: *const c_void) {
        // SAFETY: see above. It leaves zeroes, the kind and whether it is shared.
        unsafe { real::pthread_rwlock_init(rwlock, attr) }
    }

    "C" fn pthread_rwlock_destroy(rwlock: *mut RwLock) {
        // SAFETY: see above.
        unsafe { real::pthread_rwlock_destroy(rwlock) }
    }

    "C" fn pthread_rwlock_rdlock(rwlock: *mut RwLock) {
        // SAFETY: see above.
        let l = unsafe { &*rwlock };
        if is_real(l) {
            // SAFETY: see above.
            return unsafe { real::pthread_rwlock_rdlock(rwlock) };
        }
        l.read(None)
    }

    "C" fn pthread_rwlock_wrlock(rwlock: *mut RwLock) {
        // SAFETY: see above.
        let l = unsafe { &*rwlock };
        if is_real(l) {
            // SAFETY: see above.
            return unsafe { real::pthread_rwlock_wrlock(rwlock) };
        }
        l.write(None)
    }

    "C" fn pthread_rwlock_tryrdlock(rwlock: *mut RwLock) {
        // SAFETY: see above.
        let l = unsafe { &*rwlock };
        if is_real(l) {
            // SAFETY: see above.
            return unsafe { real::pthread_rwlock_tryrdlock(rwlock) };
        }
        if l.try_read() { 0 } else { EBUSY }
    }

    "C" fn pthread_rwlock_trywrlock(rwlock: *mut RwLock) {
        // SAFETY: see above.
        let l = unsafe { &*rwlock };
        if is_real(l) {
            // SAFETY: see above.
            return unsafe { real::pthread_rwlock_trywrlock(rwlock) };
        }
        if !under_policy!(l, raw => raw.try_write()) {
            return EBUSY;
        }
        l.set_writer(Native::tid());
        0
    }

    "C" fn pthread_rwlock_timedrdlock(rwlock: *mut RwLock, at: *const timespec) {
        // SAFETY: see above.
        let l = unsafe { &*rwlock };
        if is_real(l) {
            // SAFETY: see above.
            return unsafe { real::pthread_rwlock_timedrdlock(rwlock, at) };
        }
        // SAFETY: see above.
        l.read(Some(&unsafe { Timeout::new(CLOCK_REALTIME, at) }))
    }

    "C" fn pthread_rwlock_timedwrlock(rwlock: *mut RwLock, at: *const timespec) {
        // SAFETY: see above.
        let l = unsafe { &*rwlock };
        if is_real(l) {
            // SAFETY: see above.
            return unsafe { real::pthread_rwlock_timedwrlock(rwlock, at) };
        }
        // SAFETY: see above.
        l.write(Some(&unsafe { Timeout::new(CLOCK_REALTIME, at) }))
    }

    "C" fn pthread_rwlock_clockrdlock(rwlock: *mut RwLock, clock: clockid_t, at: *const timespec) {
        // SAFETY: see above.
        let l = unsafe { &*rwlock };
        if is_real(l) {
            // SAFETY: see above.
            return unsafe { real::pthread_rwlock_clockrdlock(rwlock, clock, at) };
        }
        // SAFETY: see above.
        match unsafe { timeout(clock, at) } {
            Ok(timeout) => l.read(Some(&timeout)),
            Err(error) => error,
        }
    }

    "C" fn pthread_rwlock_clockwrlock(rwlock: *mut RwLock, clock: clockid_t, at: *const timespec) {
        // SAFETY: see above.
        let l = unsafe { &*rwlock };
        if is_real(l) {
            // SAFETY: see above.
            return unsafe { real::pthread_rwlock_clockwrlock(rwlock, clock, at) };
        }
        // SAFETY: see above.
        match unsafe { timeout(clock, at) } {
            Ok(timeout) => l.write(Some(&timeout)),
            Err(error) => error,
        }
    }

    "C" fn pthread_rwlock_unlock(rwlock: *mut RwLock) {
        // SAFETY: see above.
        let l = unsafe { &*rwlock };
        if is_real(l) {
            // SAFETY: see above.
            return unsafe { real::pthread_rwlock_unlock(rwlock) };
        }
        // SAFETY: see above.
        unsafe { l.release() }
    }
}
