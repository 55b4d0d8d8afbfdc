//! `pthread_mutex_*`.

use core::ffi::{c_int, c_void};

use libc::{CLOCK_REALTIME, EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, clockid_t, timespec};
use lockwright_locks::mutex::{Atomic, Fair, Kernel, Latency, Policy, RawMutex};
use lockwright_locks::ownership::{Entry, Exit};
use lockwright_platform::Native;
use lockwright_platform::native::Timeout;

use crate::entry::{export, export_from};
use crate::objects::Mutex;
use crate::{real, settings, stat};

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
        const { assert!(W::SWITCHES.atomic_unlock) };
        // SAFETY: the policy is in the type alone; the words are the same, and mean the same to
        // all policies that unlock atomically.
        unsafe { &*(&raw const self.raw).cast() }
    }

    /// Acquires the lock if it is free; as the C library does without atomic operations where there
    /// is one thread.
    #[inline(always)]
    fn try_raw(&self) -> bool {
        // SAFETY: the C library says that there is no other thread; memory that is shared between
        // processes holds no object of ours.
        (settings::is_alone() && unsafe { self.raw.try_lock_alone() }) || self.raw.try_lock()
    }

    /// Releases the lock.
    ///
    /// # Safety
    ///
    /// 1. The caller holds it.
    #[inline(always)]
    unsafe fn unlock_raw(&self) {
        // SAFETY: as for try_raw(); the caller's contract (1).
        unsafe {
            if !settings::is_alone() || !self.raw.unlock_alone() {
                self.raw.unlock();
            }
        }
    }

    /// Acquires the lock, which is another's.
    #[cold]
    fn wait(&self, timeout: Option<&Timeout>, from: usize) -> c_int {
        if let Some(error) = timeout.and_then(|timeout| timeout.check().err()) {
            return error;
        }
        if !(stat::is_on() || stat::asked()) {
            return if self.wait_raw(timeout) { 0 } else { ETIMEDOUT };
        }
        let counted = stat::begin(&self.as_object(), false, from);
        self.wait_begins();
        let got = self.wait_raw(timeout);
        self.wait_ends(got && counted);
        if counted {
            // With the acquisition that is about to be counted.
            let (acquisitions, changes) = self.counts();
            let changes = changes + u32::from(self.own.last_holder().0 != Native::tid());
            stat::finish(got, Some((acquisitions.wrapping_add(1), changes)));
        }
        if got { 0 } else { ETIMEDOUT }
    }

    fn wait_raw(&self, timeout: Option<&Timeout>) -> bool {
        under_policy!(self, raw => match timeout {
            None => {
                raw.lock();
                true
            }
            Some(timeout) => timeout.wait(|deadline| raw.lock_until(deadline)),
        })
    }

    /// Acquires it as its kind says.
    fn acquire(&self, timeout: Option<&Timeout>, from: usize) -> c_int {
        let me = Native::tid();
        match self.own.enter(me) {
            Entry::Again => return 0,
            Entry::Deadlock => return EDEADLK,
            Entry::TooDeep => return EAGAIN,
            Entry::Acquire => {}
        }
        if !self.try_raw() {
            let error = self.wait(timeout, from);
            if error != 0 {
                return error;
            }
        }
        self.acquired(me);
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
        if !self.try_raw() {
            return EBUSY;
        }
        self.acquired(me);
        0
    }

    /// # Safety
    ///
    /// 1. The caller holds the mutex, unless its kind is one that refuses it then.
    unsafe fn release(&self, from: usize) -> c_int {
        match self.own.exit(Native::tid()) {
            Exit::Holds => 0,
            Exit::NotHolder => EPERM,
            Exit::Release => {
                // SAFETY: the caller's contract (1).
                unsafe { self.release_last(from) };
                0
            }
        }
    }

    /// Releases it altogether. (All policies release alike but the fair one.)
    ///
    /// # Safety
    ///
    /// 1. The caller holds the mutex.
    unsafe fn release_last(&self, from: usize) {
        if !settings::counts() {
            self.own.released();
            // SAFETY: the caller's contract (1).
            return under_policy!(self, raw => unsafe { raw.unlock() });
        }
        let address = &raw const *self as usize;
        let others = self.is_watched() && self.others_wait();
        let charge = if others { stat::charge(address) } else { None };
        stat::hold_ends(address);
        self.own.released_by(Native::tid());
        // SAFETY: the caller's contract (1).
        under_policy!(self, raw => unsafe { raw.unlock() });
        // The mutex may be gone.
        if others {
            stat::blame(charge, from);
        } else {
            stat::settle();
        }
    }

    /// A condition wait is about to release it.
    pub fn release_noted(&self, me: u32) {
        if settings::counts() {
            self.own.released_by(me);
        } else {
            self.own.released();
        }
    }

    /// What a condition wait does before it releases the mutex, for statistics.
    pub fn about_to_release(&self, from: usize) {
        if settings::counts() {
            let address = &raw const *self as usize;
            stat::hold_ends(address);
            if self.is_watched() && self.others_wait() {
                stat::blame(stat::charge(address), from);
            } else {
                stat::settle();
            }
        }
    }
}

/// Whether the C library is to be called on.
pub fn is_real(mutex: &Mutex) -> bool {
    mutex.is_foreign() || settings::mutex() == settings::mutex::LIBC
}

/// Locks a mutex of the C library's, with statistics if they are collected.
///
/// # Safety
///
/// 1. As POSIX says; `lock` locks the mutex.
unsafe fn lock_real(mutex: *mut Mutex, from: usize, lock: impl FnOnce() -> c_int) -> c_int {
    if !stat::is_on() {
        return lock();
    }
    stat::settle();
    // SAFETY: the caller's contract (1).
    let tried = unsafe { real::pthread_mutex_trylock(mutex) };
    if tried != EBUSY {
        return tried;
    }
    // SAFETY: the caller's contract (1).
    let mut object = unsafe { &*mutex }.as_object();
    object.kind = lockwright_statfile::Kind::LibcMutex;
    object.made_at = 0;
    if !stat::begin(&object, false, from) {
        return lock();
    }
    let result = lock();
    stat::finish(result == 0, None);
    result
}

/// All but the usual case.
///
/// # Safety
///
/// 1. As POSIX says.
#[inline(never)]
unsafe fn lock_otherwise(mutex: *mut Mutex, from: usize) -> c_int {
    // SAFETY: the caller's contract (1), here and below.
    unsafe {
        if is_real(&*mutex) {
            return lock_real(mutex, from, || real::pthread_mutex_lock(mutex));
        }
        (*mutex).acquire(None, from)
    }
}

/// All but the usual case.
///
/// # Safety
///
/// 1. As POSIX says.
#[inline(never)]
unsafe fn unlock_otherwise(mutex: *mut Mutex, from: usize) -> c_int {
    // SAFETY: the caller's contract (1), here and below.
    unsafe {
        if is_real(&*mutex) {
            let watched = stat::is_on();
            let charge = if watched { stat::charge(mutex as usize) } else { None };
            let result = real::pthread_mutex_unlock(mutex);
            if watched {
                stat::blame(charge, from);
            }
            return result;
        }
        (*mutex).release(from)
    }
}

// SAFETY (of all below): C programs pass pointers to objects that live during the call and were
// initialised, as POSIX asks; a mutex that is unlocked is the caller's, where the kind does not
// check it.
export_from! {
    "C" fn pthread_mutex_init(mutex: *mut Mutex, attr: *const c_void; from) {
        // SAFETY: see above. The C library knows which attributes go together, and leaves zeroes
        // and the kind, which is what ours begins with.
        let result = unsafe { real::pthread_mutex_init(mutex, attr) };
        // SAFETY: see above.
        let m = unsafe { &*mutex };
        if result == 0 && !is_real(m) {
            m.note_made_at(from);
        }
        result
    }

    "C" fn pthread_mutex_lock(mutex: *mut Mutex; from) {
        // SAFETY: see above.
        let m = unsafe { &*mutex };
        if m.is_normal() {
            if settings::mutex_is_default() {
                if !m.try_raw() {
                    let error = m.wait(None, from);
                    debug_assert!(error == 0);
                }
                m.own.acquired(Native::tid());
                return 0;
            }
            if settings::mutex_is_default_and_counts() && m.try_raw() {
                m.acquired_and_counted(Native::tid());
                return 0;
            }
        }
        // SAFETY: see above.
        unsafe { lock_otherwise(mutex, from) }
    }

    "C" fn pthread_mutex_unlock(mutex: *mut Mutex; from) {
        // SAFETY: see above.
        let m = unsafe { &*mutex };
        if m.is_normal() {
            if settings::mutex_is_default() {
                m.own.released();
                // SAFETY: see above.
                unsafe { m.unlock_raw() };
                return 0;
            }
            if settings::mutex_is_default_and_counts() && !m.is_watched() && stat::hold_every() == 0 {
                m.own.released_by(Native::tid());
                // SAFETY: see above.
                unsafe { m.unlock_raw() };
                return 0;
            }
        }
        // SAFETY: see above.
        unsafe { unlock_otherwise(mutex, from) }
    }

    "C" fn pthread_mutex_timedlock(mutex: *mut Mutex, at: *const timespec; from) {
        // SAFETY: see above, here and below.
        unsafe {
            if is_real(&*mutex) {
                return lock_real(mutex, from, || real::pthread_mutex_timedlock(mutex, at));
            }
            (*mutex).acquire(Some(&Timeout::new(CLOCK_REALTIME, at)), from)
        }
    }

    "C" fn pthread_mutex_clocklock(mutex: *mut Mutex, clock: clockid_t, at: *const timespec; from) {
        // SAFETY: see above, here and below.
        unsafe {
            if is_real(&*mutex) {
                return lock_real(mutex, from, || real::pthread_mutex_clocklock(mutex, clock, at));
            }
            if !Timeout::is_clock(clock) {
                return EINVAL;
            }
            (*mutex).acquire(Some(&Timeout::new(clock, at)), from)
        }
    }
}

export! {
    "C" fn pthread_mutex_destroy(mutex: *mut Mutex) {
        // SAFETY: see above.
        let m = unsafe { &*mutex };
        let real = is_real(m);
        if !real && m.in_use() {
            return EBUSY;
        }
        if stat::is_on() {
            stat::settle();
            stat::destroyed(mutex as usize, (!real).then(|| m.counts()));
        }
        // It marks the object as destroyed.
        // SAFETY: see above; of ours, no more is known to it than the kind and a depth of 0.
        unsafe { real::pthread_mutex_destroy(mutex) }
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
}
