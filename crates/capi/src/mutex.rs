//! `lw_mutex_*`.

use core::ffi::c_int;
use core::mem::offset_of;

use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, clockid_t, timespec};
use lockwright_locks::mutex::{Atomic, Fair, Kernel, Latency, Policy, RawMutex, SliceAtomic};
use lockwright_locks::ownership::{Entry, Exit, Ownership, kind};
use lockwright_platform::Native;
use lockwright_platform::native::Timeout;

use crate::time::timeout;

/// Locking it twice waits for ever, and any thread may unlock it.
pub const LW_MUTEX_NORMAL: u32 = 0;
/// Its holder may lock it again; it is free after as many unlocks.
pub const LW_MUTEX_RECURSIVE: u32 = 1;
/// Misuse is refused: EDEADLK to the holder that locks it again, EPERM to a thread that unlocks
/// what it does not hold.
pub const LW_MUTEX_ERRORCHECK: u32 = 2;

/// Throughput: where owners take the mutex again at once, it changes hands once a millisecond or
/// so.
pub const LW_POLICY_DEFAULT: u32 = 0;
/// The same with short slices: a short longest wait costs some throughput. (Of mutexes.)
pub const LW_POLICY_LATENCY: u32 = 1;
/// The Linux kernel's way of waiting.
pub const LW_POLICY_KERNEL: u32 = 2;
/// Every unlock hands the mutex to the thread that has waited longest. (Of mutexes.)
pub const LW_POLICY_FAIR: u32 = 3;

/// A mutex: 24 bytes.
#[repr(C)]
pub struct lw_mutex_t {
    /// For the library.
    pub word: [u32; 6],
}

/// What the words are.
#[repr(C)]
pub(crate) struct Mutex {
    raw: RawMutex<Native, SliceAtomic>,
    own: Ownership<Native>,
    policy: u32,
}

const _: () = {
    assert!(size_of::<Mutex>() == 24 && size_of::<lw_mutex_t>() == 24);
    assert!(align_of::<Mutex>() == align_of::<lw_mutex_t>());
    assert!(offset_of!(Mutex, own) == 8 && offset_of!(Mutex, policy) == 20);
    assert!(LW_MUTEX_NORMAL == kind::NORMAL && LW_MUTEX_RECURSIVE == kind::RECURSIVE);
    assert!(LW_MUTEX_ERRORCHECK == kind::ERROR_CHECK);
};

/// Runs `$body` with `$raw` as the mutex's lock under the mutex's policy.
macro_rules! under_policy {
    ($mutex:expr, $raw:ident => $body:expr) => {
        match $mutex.policy() {
            $crate::mutex::LW_POLICY_LATENCY => {
                let $raw = $mutex.as_policy::<Atomic<Latency>>();
                $body
            }
            $crate::mutex::LW_POLICY_KERNEL => {
                let $raw = $mutex.as_policy::<Atomic<Kernel>>();
                $body
            }
            $crate::mutex::LW_POLICY_FAIR => {
                let $raw = $mutex.as_policy::<Atomic<Fair>>();
                $body
            }
            _ => {
                let $raw = $mutex.as_policy::<SliceAtomic>();
                $body
            }
        }
    };
}
pub(crate) use under_policy;

impl Mutex {
    /// # Safety
    ///
    /// 1. `mutex` points to an initialised mutex that lives as long as the reference is used.
    pub unsafe fn of<'a>(mutex: *const lw_mutex_t) -> &'a Self {
        // SAFETY: the caller's contract (1); the words are atomic words of these sizes.
        unsafe { &*mutex.cast() }
    }

    pub fn policy(&self) -> u32 {
        self.policy
    }

    pub fn as_policy<W: Policy>(&self) -> &RawMutex<Native, W> {
        const { assert!(W::SWITCHES.atomic_unlock) };
        // SAFETY: the policy is in the type alone; the words mean the same to all policies that
        // unlock atomically.
        unsafe { &*(&raw const self.raw).cast() }
    }

    fn lock(&self, timeout: Option<&Timeout>) -> c_int {
        let me = Native::tid();
        match self.own.enter(me) {
            Entry::Again => return 0,
            Entry::Deadlock => return EDEADLK,
            Entry::TooDeep => return EAGAIN,
            Entry::Acquire => {}
        }
        under_policy!(self, raw => match timeout {
            None => raw.lock(),
            Some(timeout) if timeout.wait(|deadline| raw.lock_until(deadline)) => {}
            Some(_) => return ETIMEDOUT,
        });
        self.own.acquired(me);
        0
    }

    fn try_lock(&self) -> c_int {
        let me = Native::tid();
        match self.own.enter(me) {
            Entry::Again => return 0,
            Entry::TooDeep => return EAGAIN,
            Entry::Deadlock => return EBUSY,
            Entry::Acquire => {}
        }
        if !under_policy!(self, raw => raw.try_lock()) {
            return EBUSY;
        }
        self.own.acquired(me);
        0
    }

    /// # Safety
    ///
    /// 1. The caller holds the mutex, unless its kind is one that refuses it then.
    unsafe fn unlock(&self, fair: bool) -> c_int {
        match self.own.exit(Native::tid()) {
            Exit::Holds => 0,
            Exit::NotHolder => EPERM,
            Exit::Release => {
                self.own.released();
                // SAFETY: the caller's contract (1).
                under_policy!(self, raw => unsafe { if fair { raw.unlock_fair() } else { raw.unlock() } });
                0
            }
        }
    }

    /// Before a condition wait releases the mutex.
    pub fn leave(&self) -> Exit {
        let exit = self.own.exit(Native::tid());
        if exit == Exit::Release {
            self.own.released();
        }
        exit
    }

    /// Takes back what [`leave`](Self::leave) took of several holds.
    pub fn come_back_again(&self) {
        self.own.enter(Native::tid());
    }

    /// After a condition wait has acquired it again.
    pub fn come_back(&self) {
        self.own.acquired(Native::tid());
    }
}

// SAFETY (of all below): C programs pass pointers to mutexes that live during the call and are
// initialised; one that is unlocked is the caller's, where the kind does not check it.

/// Initialises a mutex of a kind (LW_MUTEX_NORMAL, ..) and policy (LW_POLICY_DEFAULT, ..); EINVAL
/// if there is no such kind or policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mutex_init(mutex: *mut lw_mutex_t, kind: u32, policy: u32) -> c_int {
    if kind > LW_MUTEX_ERRORCHECK || policy > LW_POLICY_FAIR {
        return EINVAL;
    }
    // SAFETY: see above.
    unsafe { mutex.write(lw_mutex_t { word: [0, 0, 0, 0, kind, policy] }) };
    0
}

/// Ends a mutex's use; EBUSY if somebody holds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mutex_destroy(mutex: *mut lw_mutex_t) -> c_int {
    // SAFETY: see above.
    if unsafe { Mutex::of(mutex) }.raw.is_locked() { EBUSY } else { 0 }
}

/// Locks a mutex. EDEADLK: the caller holds it, and it is error-checking. EAGAIN: it is recursive,
/// and held too often.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mutex_lock(mutex: *mut lw_mutex_t) -> c_int {
    // SAFETY: see above.
    unsafe { Mutex::of(mutex) }.lock(None)
}

/// Locks a mutex if it is free; EBUSY if it is not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mutex_trylock(mutex: *mut lw_mutex_t) -> c_int {
    // SAFETY: see above.
    unsafe { Mutex::of(mutex) }.try_lock()
}

/// Locks a mutex unless the clock reaches `at` first: ETIMEDOUT. EINVAL: no such clock or time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mutex_clocklock(
    mutex: *mut lw_mutex_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: see above; `at` points to a time.
    match unsafe { timeout(clock, at) } {
        // SAFETY: see above.
        Ok(timeout) => unsafe { Mutex::of(mutex) }.lock(Some(&timeout)),
        Err(error) => error,
    }
}

/// Unlocks a mutex. EPERM: the caller does not hold it, and its kind checks that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mutex_unlock(mutex: *mut lw_mutex_t) -> c_int {
    // SAFETY: see above.
    unsafe { Mutex::of(mutex).unlock(false) }
}

/// Unlocks a mutex, handing it to the thread that has waited longest, if one waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mutex_unlock_fair(mutex: *mut lw_mutex_t) -> c_int {
    // SAFETY: see above.
    unsafe { Mutex::of(mutex).unlock(true) }
}

/// Whether somebody holds the mutex now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_mutex_is_locked(mutex: *const lw_mutex_t) -> bool {
    // SAFETY: see above.
    unsafe { Mutex::of(mutex) }.raw.is_locked()
}
