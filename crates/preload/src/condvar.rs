//! `pthread_cond_*`.
//!
//! Four cases, by whose the condition variable is and whose the mutex: ours and ours; ours and the
//! C library's (a robust one, say), whose waiters are woken and not moved; both the C library's;
//! and one shared between processes with a mutex of ours, which the C library cannot wait with
//! (see [`wait_shared`]).

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use libc::{EINVAL, EPERM, ETIMEDOUT, clockid_t, timespec};
use lockwright_locks::condvar::Foreign;
use lockwright_locks::mutex::{Atomic, Fair, Kernel, Latency};
use lockwright_locks::ownership::{Entry, Exit};
use lockwright_platform::Native;

use crate::cancel::{self, Watch};
use crate::entry::{export, export_from};
use crate::mutex::{
    is_real as mutex_is_real, pthread_mutex_lock, pthread_mutex_unlock, under_policy,
};
use crate::objects::{Cond, Mutex};
use crate::{real, settings, stat};
use lockwright_platform::native::Timeout;

fn is_real(cond: &Cond) -> bool {
    cond.is_foreign() || settings::mutex() == settings::mutex::LIBC
}

/// The result of a wait that somebody stopped to cancel the thread; no error number.
const STOPPED: c_int = -1;

impl Cond {
    /// Waits until `attempt`, which gets a deadline, says that it was notified, or time is up. (A
    /// clock that has been set back prolongs the wait.)
    fn until(
        timeout: Option<&Timeout>,
        watch: &Watch,
        attempt: impl Fn(Option<u64>) -> bool,
    ) -> c_int {
        loop {
            if attempt(timeout.map(Timeout::deadline)) {
                return 0;
            }
            if watch.is_over() {
                return STOPPED;
            }
            if timeout.is_some_and(Timeout::has_passed) {
                return ETIMEDOUT;
            }
        }
    }

    /// With a mutex of ours.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the mutex, unless its kind is one that refuses it then.
    unsafe fn wait(&self, mutex: &Mutex, timeout: Option<&Timeout>, watch: &Watch) -> c_int {
        let me = Native::tid();
        match mutex.own.exit(me) {
            Exit::NotHolder => return EPERM,
            Exit::Release => mutex.release_noted(me),
            Exit::Holds => {
                // It stays held all the while, as the C library has it.
                let nothing = Foreign { unlock: || {}, lock: || {} };
                let result = Self::until(timeout, watch, |deadline| {
                    // SAFETY: there is nothing to release.
                    unsafe { self.raw.wait_with(&nothing, deadline, watch) }
                });
                let entry = mutex.own.enter(me);
                debug_assert!(entry == Entry::Again);
                return result;
            }
        }
        mutex.add_users(1);
        let result = Self::until(timeout, watch, |deadline| {
            // SAFETY: the caller's contract (1).
            under_policy!(mutex, raw => unsafe { self.raw.wait_with(raw, deadline, watch) })
        });
        mutex.add_users(-1);
        mutex.acquired(me);
        result
    }

    /// With a mutex of the C library's, whose own errors are the result if it has any.
    ///
    /// # Safety
    ///
    /// 1. As POSIX says.
    unsafe fn wait_foreign(
        &self,
        mutex: *mut Mutex,
        timeout: Option<&Timeout>,
        watch: &Watch,
    ) -> c_int {
        let error = Cell::new(0);
        let companion = Foreign {
            // SAFETY: the caller's contract (1).
            unlock: || error.set(unsafe { real::pthread_mutex_unlock(mutex) }),
            lock: || {
                if error.get() == 0 {
                    // SAFETY: the caller's contract (1).
                    error.set(unsafe { real::pthread_mutex_lock(mutex) });
                }
            },
        };
        // Refused, the mutex is not released, and there would be nobody to notify the caller.
        let refused = Refuses { watch, error: &error };
        let result = Self::until(timeout, watch, |deadline| {
            // SAFETY: the caller's contract (1).
            let notified = unsafe { self.raw.wait_with(&companion, deadline, &refused) };
            notified || error.get() != 0
        });
        if error.get() != 0 { error.get() } else { result }
    }
}

/// Ends a wait whose mutex was not released.
struct Refuses<'a> {
    watch: &'a Watch,
    error: &'a Cell<c_int>,
}

impl lockwright_locks::condvar::Stop for Refuses<'_> {
    fn waits(&self, slot: lockwright_platform::Slot) {
        self.watch.waits(slot);
    }

    fn is_stopped(&self) -> bool {
        self.error.get() != 0 || self.watch.is_stopped()
    }
}

/// How often a condition variable of the C library's was signalled in this process, by address:
/// for waits that might miss it.
static SIGNALS: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];

fn signals(cond: *const Cond) -> &'static AtomicU32 {
    &SIGNALS[cond.addr() / size_of::<Cond>() % SIGNALS.len()]
}

/// A condition variable that is shared, with a mutex that is not. The C library would unlock the
/// mutex in its own way, so it gets another, and waits for a moment at a time: what is signalled
/// before it has begun to wait is found in [`SIGNALS`] after that. For signals of other processes
/// (which have no business with a mutex of this one) the wait ends now and then, as POSIX allows.
///
/// # Safety
///
/// 1. As POSIX says; the mutex is ours.
#[cold]
unsafe fn wait_shared(
    cond: *mut Cond,
    mutex: *mut Mutex,
    timeout: Option<&Timeout>,
    watch: &Watch,
) -> c_int {
    const MOMENT_NS: i64 = 5_000_000;
    const MOMENTS: usize = 50;
    // SAFETY: an object of zeroes is a mutex of the C library's.
    let mut other: libc::pthread_mutex_t = unsafe { core::mem::zeroed() };
    let other = (&raw mut other).cast::<Mutex>();
    // Ordering: Relaxed, hint (a signal of a thread that had the mutex is seen through the mutex)
    let before = signals(cond).load(Relaxed);
    // SAFETY: nobody else knows the other mutex; the caller's contract (1).
    unsafe {
        let refused = pthread_mutex_unlock(mutex);
        if refused != 0 {
            return refused;
        }
        // Our frames must not be left from here.
        let state = cancel::disable();
        real::pthread_mutex_lock(other);
        let mut result = STOPPED;
        for _ in 0..MOMENTS {
            let (at, is_last) = Timeout::within(timeout, (*cond).clock(), MOMENT_NS);
            result = real::pthread_cond_timedwait(cond, other, &at);
            // Ordering: Relaxed, hint (looked at again after the next moment)
            let signalled = signals(cond).load(Relaxed) != before;
            if result != ETIMEDOUT || is_last || signalled || watch.is_over() {
                break;
            }
            result = STOPPED;
        }
        real::pthread_mutex_unlock(other);
        cancel::restore(state);
        pthread_mutex_lock(mutex);
        let timed_out = timeout.is_some_and(Timeout::has_passed);
        if result == ETIMEDOUT && !timed_out { STOPPED } else { result }
    }
}

/// # Safety
///
/// 1. As POSIX says.
unsafe fn wait(
    cond: *mut Cond,
    mutex: *mut Mutex,
    timeout: Option<&Timeout>,
    watch: &Watch,
    from: usize,
) -> c_int {
    // SAFETY: the caller's contract (1).
    let counted = stat::is_on() && unsafe { begin(&*cond, &*mutex, from) };
    // SAFETY: the caller's contract (1), here and below.
    let result = unsafe {
        if is_real(&*cond) {
            wait_shared(cond, mutex, timeout, watch)
        } else if mutex_is_real(&*mutex) {
            (*cond).wait_foreign(mutex, timeout, watch)
        } else {
            (*cond).wait(&*mutex, timeout, watch)
        }
    };
    watch.end();
    if counted {
        stat::finish(result == 0, None);
    }
    result
}

/// For statistics: a wait begins, and the mutex is about to be released.
#[cold]
fn begin(cond: &Cond, mutex: &Mutex, from: usize) -> bool {
    if !mutex_is_real(mutex) {
        mutex.about_to_release(from);
    }
    stat::begin(&cond.as_object(), false, from)
}

/// Whether the C library can do it all.
///
/// # Safety
///
/// 1. As POSIX says.
unsafe fn both_real(cond: *mut Cond, mutex: *mut Mutex) -> bool {
    // SAFETY: the caller's contract (1).
    unsafe { is_real(&*cond) && mutex_is_real(&*mutex) }
}

/// A wait of ours, as a cancellation point: a cancelled thread leaves from the frames of C programs
/// and of the function that this is in, with the mutex held and no notification consumed.
macro_rules! wait {
    ($cond:expr, $mutex:expr, $timeout:expr, $from:expr) => {{
        let watch = Watch::new();
        cancel::pthread_testcancel();
        let result = wait($cond, $mutex, $timeout, &watch, $from);
        if result != STOPPED {
            return result;
        }
        cancel::pthread_testcancel();
        0
    }};
}

// SAFETY (of all below): C programs pass pointers to objects that live during the call and were
// initialised, as POSIX asks.
export! {
    "C" fn pthread_cond_destroy(cond: *mut Cond) {
        // SAFETY: see above.
        if is_real(unsafe { &*cond }) {
            // SAFETY: see above.
            return unsafe { real::pthread_cond_destroy(cond) };
        }
        0
    }

    "C" fn pthread_cond_signal(cond: *mut Cond) {
        // SAFETY: see above.
        let c = unsafe { &*cond };
        if is_real(c) {
            // Ordering: Relaxed, hint (for who looks after a moment)
            signals(cond).fetch_add(1, Relaxed);
            // SAFETY: see above.
            return unsafe { real::pthread_cond_signal(cond) };
        }
        c.raw.notify_one();
        0
    }

    "C" fn pthread_cond_broadcast(cond: *mut Cond) {
        // SAFETY: see above.
        let c = unsafe { &*cond };
        if is_real(c) {
            // Ordering: Relaxed, hint (for who looks after a moment)
            signals(cond).fetch_add(1, Relaxed);
            // SAFETY: see above.
            return unsafe { real::pthread_cond_broadcast(cond) };
        }
        c.raw.notify_all();
        0
    }
}

export_from! {
    "C" fn pthread_cond_init(cond: *mut Cond, attr: *const c_void; from) {
        // SAFETY: see above. It leaves zeroes and its flags.
        let result = unsafe { real::pthread_cond_init(cond, attr) };
        // SAFETY: see above.
        let c = unsafe { &*cond };
        if result == 0 {
            if !attr.is_null() {
                c.learn_flags();
            }
            if !is_real(c) {
                c.note_made_at(from);
            }
        }
        result
    }

    "C-unwind" fn pthread_cond_wait(cond: *mut Cond, mutex: *mut Mutex; from) {
        // SAFETY: see above, here and below.
        unsafe {
            if both_real(cond, mutex) {
                return real::pthread_cond_wait(cond, mutex);
            }
            wait!(cond, mutex, None, from)
        }
    }

    "C-unwind" fn pthread_cond_timedwait(cond: *mut Cond, mutex: *mut Mutex, at: *const timespec; from) {
        // SAFETY: see above, here and below.
        unsafe {
            if both_real(cond, mutex) {
                return real::pthread_cond_timedwait(cond, mutex, at);
            }
            let timeout = Timeout::new((*cond).clock(), at);
            if let Err(error) = timeout.check() {
                return error;
            }
            wait!(cond, mutex, Some(&timeout), from)
        }
    }

    "C-unwind" fn pthread_cond_clockwait(
        cond: *mut Cond, mutex: *mut Mutex, clock: clockid_t, at: *const timespec; from
    ) {
        // SAFETY: see above, here and below.
        unsafe {
            if both_real(cond, mutex) {
                return real::pthread_cond_clockwait(cond, mutex, clock, at);
            }
            let timeout = Timeout::new(clock, at);
            if let Err(error) = timeout.check() {
                return error;
            }
            if !Timeout::is_clock(clock) {
                return EINVAL;
            }
            wait!(cond, mutex, Some(&timeout), from)
        }
    }
}
