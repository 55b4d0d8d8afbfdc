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
use lockwright_statfile::Kind;

use crate::entry::{export, export_from};
use crate::objects::RwLock;
use crate::{real, settings, stat};
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

    #[inline(always)]
    fn try_read(&self) -> bool {
        under_policy!(self, raw => {
            if self.lets_readers_past() { raw.try_read_recursive() } else { raw.try_read() }
        })
    }

    fn read(&self, timeout: Option<&Timeout>, from: usize) -> c_int {
        if let Some(error) = timeout.and_then(|timeout| timeout.check().err()) {
            return error;
        }
        if !self.try_read() {
            if self.is_written_by(Native::tid()) {
                return EDEADLK;
            }
            let wait = || {
                under_policy!(self, raw => match timeout {
                    None => {
                        raw.read();
                        true
                    }
                    Some(timeout) => timeout.wait(|deadline| raw.read_until(deadline)),
                })
            };
            if !self.watched(true, from, wait) {
                return ETIMEDOUT;
            }
        }
        self.count(true);
        0
    }

    fn write(&self, timeout: Option<&Timeout>, from: usize) -> c_int {
        if let Some(error) = timeout.and_then(|timeout| timeout.check().err()) {
            return error;
        }
        let me = Native::tid();
        if !under_policy!(self, raw => raw.try_write()) {
            if self.is_written_by(me) {
                return EDEADLK;
            }
            let wait = || {
                under_policy!(self, raw => match timeout {
                    None => {
                        raw.write();
                        true
                    }
                    Some(timeout) => timeout.wait(|deadline| raw.write_until(deadline)),
                })
            };
            if !self.watched(false, from, wait) {
                return ETIMEDOUT;
            }
        }
        self.set_writer(me);
        self.count(false);
        0
    }

    /// Waits, with statistics if they are collected.
    #[cold]
    fn watched(&self, reads: bool, from: usize, wait: impl FnOnce() -> bool) -> bool {
        if !(stat::is_on() || stat::asked()) {
            return wait();
        }
        let counted = stat::begin(&self.as_object(), reads, from);
        self.add_waiting(reads, 1);
        let got = wait();
        self.add_waiting(reads, -1);
        if counted {
            let (acquisitions, changes) = self.counts();
            stat::finish(got, Some((acquisitions.wrapping_add(1), changes)));
        }
        got
    }

    /// # Safety
    ///
    /// 1. The caller holds the lock.
    unsafe fn release(&self, from: usize) {
        let address = &raw const *self as usize;
        let counts = settings::counts();
        let others = counts && self.others_wait();
        let mut charge = if others { stat::charge(address) } else { None };
        if self.is_written_by(Native::tid()) {
            self.set_writer(0);
            // SAFETY: the caller's contract (1).
            under_policy!(self, raw => unsafe { raw.unlock_write() });
        } else if self.raw.count() & READERS != 0 && self.raw.count() & WRITER == 0 {
            // Readers alone do not wait for a reader, but until they run that have been let in: nobody's
            // fault.
            charge = charge.filter(|_| self.writers_wait());
            // SAFETY: the caller's contract (1).
            under_policy!(self, raw => unsafe { raw.unlock_read() });
        }
        // Else nobody reads, and taking a reader away would break the lock. The C library says
        // nothing either. The lock may be gone.
        if others {
            stat::blame(charge, from);
        } else if counts {
            stat::settle();
        }
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

/// Calls on the C library for its own lock, with statistics if they are collected.
///
/// # Safety
///
/// 1. As POSIX says; `lock` and `try_lock` lock the lock in the same way.
unsafe fn lock_real(
    rwlock: *mut RwLock,
    reads: bool,
    from: usize,
    try_lock: impl FnOnce() -> c_int,
    lock: impl FnOnce() -> c_int,
) -> c_int {
    if !stat::is_on() {
        return lock();
    }
    stat::settle();
    let tried = try_lock();
    if tried != EBUSY {
        return tried;
    }
    let object = stat::Object { address: rwlock as usize, kind: Kind::LibcRwLock, made_at: 0 };
    if !stat::begin(&object, reads, from) {
        return lock();
    }
    let result = lock();
    stat::finish(result == 0, None);
    result
}

// SAFETY (of all below): C programs pass pointers to objects that live during the call and were
// initialised, as POSIX asks; a lock that is unlocked is the caller's.
export_from! {
    "C" fn pthread_rwlock_init(rwlock: *mut RwLock, attr: *const c_void; from) {
        // SAFETY: see above. It leaves zeroes, the kind and whether it is shared.
        let result = unsafe { real::pthread_rwlock_init(rwlock, attr) };
        // SAFETY: see above.
        let l = unsafe { &*rwlock };
        if result == 0 && !is_real(l) {
            l.note_made_at(from);
        }
        result
    }

    "C" fn pthread_rwlock_rdlock(rwlock: *mut RwLock; from) {
        // SAFETY: see above, here and below.
        unsafe {
            if is_real(&*rwlock) {
                return lock_real(
                    rwlock, true, from,
                    || real::pthread_rwlock_tryrdlock(rwlock),
                    || real::pthread_rwlock_rdlock(rwlock),
                );
            }
            (*rwlock).read(None, from)
        }
    }

    "C" fn pthread_rwlock_wrlock(rwlock: *mut RwLock; from) {
        // SAFETY: see above, here and below.
        unsafe {
            if is_real(&*rwlock) {
                return lock_real(
                    rwlock, false, from,
                    || real::pthread_rwlock_trywrlock(rwlock),
                    || real::pthread_rwlock_wrlock(rwlock),
                );
            }
            (*rwlock).write(None, from)
        }
    }

    "C" fn pthread_rwlock_timedrdlock(rwlock: *mut RwLock, at: *const timespec; from) {
        // SAFETY: see above, here and below.
        unsafe {
            if is_real(&*rwlock) {
                return lock_real(
                    rwlock, true, from,
                    || real::pthread_rwlock_tryrdlock(rwlock),
                    || real::pthread_rwlock_timedrdlock(rwlock, at),
                );
            }
            (*rwlock).read(Some(&Timeout::new(CLOCK_REALTIME, at)), from)
        }
    }

    "C" fn pthread_rwlock_timedwrlock(rwlock: *mut RwLock, at: *const timespec; from) {
        // SAFETY: see above, here and below.
        unsafe {
            if is_real(&*rwlock) {
                return lock_real(
                    rwlock, false, from,
                    || real::pthread_rwlock_trywrlock(rwlock),
                    || real::pthread_rwlock_timedwrlock(rwlock, at),
                );
            }
            (*rwlock).write(Some(&Timeout::new(CLOCK_REALTIME, at)), from)
        }
    }

    "C" fn pthread_rwlock_clockrdlock(
        rwlock: *mut RwLock, clock: clockid_t, at: *const timespec; from
    ) {
        // SAFETY: see above, here and below.
        unsafe {
            if is_real(&*rwlock) {
                return real::pthread_rwlock_clockrdlock(rwlock, clock, at);
            }
            match timeout(clock, at) {
                Ok(timeout) => (*rwlock).read(Some(&timeout), from),
                Err(error) => error,
            }
        }
    }

    "C" fn pthread_rwlock_clockwrlock(
        rwlock: *mut RwLock, clock: clockid_t, at: *const timespec; from
    ) {
        // SAFETY: see above, here and below.
        unsafe {
            if is_real(&*rwlock) {
                return real::pthread_rwlock_clockwrlock(rwlock, clock, at);
            }
            match timeout(clock, at) {
                Ok(timeout) => (*rwlock).write(Some(&timeout), from),
                Err(error) => error,
            }
        }
    }

    "C" fn pthread_rwlock_unlock(rwlock: *mut RwLock; from) {
        // SAFETY: see above, here and below.
        unsafe {
            if is_real(&*rwlock) {
                let charge = if stat::is_on() { stat::charge(rwlock as usize) } else { None };
                let result = real::pthread_rwlock_unlock(rwlock);
                if stat::is_on() {
                    stat::blame(charge, from);
                }
                return result;
            }
            (*rwlock).release(from);
        }
        0
    }
}

export! {
    "C" fn pthread_rwlock_destroy(rwlock: *mut RwLock) {
        if stat::is_on() {
            stat::settle();
            // SAFETY: see above.
            let l = unsafe { &*rwlock };
            stat::destroyed(rwlock as usize, (!is_real(l)).then(|| l.counts()));
        }
        // SAFETY: see above.
        unsafe { real::pthread_rwlock_destroy(rwlock) }
    }

    "C" fn pthread_rwlock_tryrdlock(rwlock: *mut RwLock) {
        // SAFETY: see above.
        let l = unsafe { &*rwlock };
        if is_real(l) {
            // SAFETY: see above.
            return unsafe { real::pthread_rwlock_tryrdlock(rwlock) };
        }
        if !l.try_read() {
            return EBUSY;
        }
        l.count(true);
        0
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
        l.count(false);
        0
    }
}
