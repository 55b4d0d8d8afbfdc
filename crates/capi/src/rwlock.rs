//! `lw_rwlock_*`.

use core::ffi::c_int;
use core::mem::offset_of;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use libc::{EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, clockid_t, timespec};
use lockwright_locks::rwsem::RawRwLock;
use lockwright_locks::rwsem::policy::{Policy, Standard, V5_11};
use lockwright_platform::Native;
use lockwright_platform::native::Timeout;

use crate::mutex::{LW_POLICY_DEFAULT, LW_POLICY_KERNEL};
use crate::time::timeout;

/// A reader-writer lock: 24 bytes. A thread that reads must not lock it for reading a second time,
/// but by lw_rwlock_rdlock_recursive: a writer that waits in between waits for the thread, and the
/// thread for it.
#[repr(C)]
pub struct lw_rwlock_t {
    /// For the library.
    pub count: u64,
    /// For the library.
    pub word: [u32; 4],
}

/// What the words are.
#[repr(C)]
struct RwLock {
    raw: RawRwLock<Native, Standard>,
    /// Who holds it for writing.
    writer: AtomicU32,
    policy: u32,
}

const _: () = {
    assert!(size_of::<RwLock>() == 24 && size_of::<lw_rwlock_t>() == 24);
    assert!(align_of::<RwLock>() == align_of::<lw_rwlock_t>());
    assert!(offset_of!(RwLock, writer) == 16 && offset_of!(RwLock, policy) == 20);
};

macro_rules! under_policy {
    ($rwlock:expr, $raw:ident => $body:expr) => {
        match $rwlock.policy {
            LW_POLICY_KERNEL => {
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
    /// # Safety
    ///
    /// 1. `rwlock` points to an initialised lock that lives as long as the reference is used.
    unsafe fn of<'a>(rwlock: *const lw_rwlock_t) -> &'a Self {
        // SAFETY: the caller's contract (1); the words are atomic words of these sizes.
        unsafe { &*rwlock.cast() }
    }

    fn as_policy<W: Policy>(&self) -> &RawRwLock<Native, W> {
        // SAFETY: the policy is in the type alone; all stages have the same words.
        unsafe { &*(&raw const self.raw).cast() }
    }

    fn is_written_by_me(&self) -> bool {
        // Ordering: Relaxed, owner-only (a thread finds its own number if it wrote it itself)
        self.writer.load(Relaxed) == Native::tid()
    }

    fn set_writer(&self, thread: u32) {
        // Ordering: Relaxed, owner-only (others compare it with their own numbers)
        self.writer.store(thread, Relaxed);
    }

    fn read(&self, timeout: Option<&Timeout>) -> c_int {
        under_policy!(self, raw => {
            if raw.try_read() {
                return 0;
            }
            if self.is_written_by_me() {
                return EDEADLK;
            }
            match timeout {
                None => raw.read(),
                Some(timeout) if timeout.wait(|deadline| raw.read_until(deadline)) => {}
                Some(_) => return ETIMEDOUT,
            }
        });
        0
    }

    fn write(&self, timeout: Option<&Timeout>) -> c_int {
        under_policy!(self, raw => {
            if !raw.try_write() {
                if self.is_written_by_me() {
                    return EDEADLK;
                }
                match timeout {
                    None => raw.write(),
                    Some(timeout) if timeout.wait(|deadline| raw.write_until(deadline)) => {}
                    Some(_) => return ETIMEDOUT,
                }
            }
        });
        self.set_writer(Native::tid());
        0
    }
}

// SAFETY (of all below): C programs pass pointers to locks that live during the call and are
// initialised; what they release, they hold.

/// Initialises a reader-writer lock with LW_POLICY_DEFAULT or LW_POLICY_KERNEL; EINVAL if it is
/// neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_init(rwlock: *mut lw_rwlock_t, policy: u32) -> c_int {
    if policy != LW_POLICY_DEFAULT && policy != LW_POLICY_KERNEL {
        return EINVAL;
    }
    // SAFETY: see above.
    unsafe { rwlock.write(lw_rwlock_t { count: 0, word: [0, 0, 0, policy] }) };
    0
}

/// Ends a reader-writer lock's use; EBUSY if somebody holds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_destroy(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    if unsafe { RwLock::of(rwlock) }.raw.is_locked() { EBUSY } else { 0 }
}

/// Locks for reading. EDEADLK: the caller holds the lock for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_rdlock(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    unsafe { RwLock::of(rwlock) }.read(None)
}

/// As lw_rwlock_rdlock, for a thread that may hold the lock for reading already: if others read,
/// it joins them whoever waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_rdlock_recursive(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    let rwlock = unsafe { RwLock::of(rwlock) };
    if rwlock.raw.try_read_recursive() { 0 } else { rwlock.read(None) }
}

/// Locks for reading if no writer holds the lock or waits for it; EBUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_tryrdlock(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    let rwlock = unsafe { RwLock::of(rwlock) };
    if under_policy!(rwlock, raw => raw.try_read()) { 0 } else { EBUSY }
}

/// Locks for reading unless the clock reaches `at` first: ETIMEDOUT. EINVAL: no such clock or time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_clockrdlock(
    rwlock: *mut lw_rwlock_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: see above; `at` points to a time.
    match unsafe { timeout(clock, at) } {
        // SAFETY: see above.
        Ok(timeout) => unsafe { RwLock::of(rwlock) }.read(Some(&timeout)),
        Err(error) => error,
    }
}

/// Releases a lock that is held for reading; EPERM if nobody reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_rdunlock(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    let rwlock = unsafe { RwLock::of(rwlock) };
    if !rwlock.raw.is_locked() || rwlock.raw.is_locked_exclusive() {
        return EPERM;
    }
    // SAFETY: see above.
    under_policy!(rwlock, raw => unsafe { raw.unlock_read() });
    0
}

/// Locks for writing. EDEADLK: the caller holds the lock for writing already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_wrlock(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    unsafe { RwLock::of(rwlock) }.write(None)
}

/// Locks for writing if nobody holds the lock; EBUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_trywrlock(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    let rwlock = unsafe { RwLock::of(rwlock) };
    if !under_policy!(rwlock, raw => raw.try_write()) {
        return EBUSY;
    }
    rwlock.set_writer(Native::tid());
    0
}

/// Locks for writing unless the clock reaches `at` first: ETIMEDOUT. EINVAL: no such clock or time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_clockwrlock(
    rwlock: *mut lw_rwlock_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: see above; `at` points to a time.
    match unsafe { timeout(clock, at) } {
        // SAFETY: see above.
        Ok(timeout) => unsafe { RwLock::of(rwlock) }.write(Some(&timeout)),
        Err(error) => error,
    }
}

/// Releases a lock that is held for writing; EPERM if the caller does not hold it so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_wrunlock(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    let rwlock = unsafe { RwLock::of(rwlock) };
    if !rwlock.is_written_by_me() {
        return EPERM;
    }
    rwlock.set_writer(0);
    // SAFETY: see above.
    under_policy!(rwlock, raw => unsafe { raw.unlock_write() });
    0
}

/// Turns the caller's hold for writing into one for reading, letting no writer in between; EPERM
/// if it does not hold it so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_downgrade(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    let rwlock = unsafe { RwLock::of(rwlock) };
    if !rwlock.is_written_by_me() {
        return EPERM;
    }
    rwlock.set_writer(0);
    // SAFETY: see above.
    under_policy!(rwlock, raw => unsafe { raw.downgrade() });
    0
}

/// Locks for reading, with the right to become the writer later. One thread at a time has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_uplock(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    let rwlock = unsafe { RwLock::of(rwlock) };
    if rwlock.is_written_by_me() {
        return EDEADLK;
    }
    under_policy!(rwlock, raw => raw.read_upgradable());
    0
}

/// As lw_rwlock_uplock, if that needs no wait; EBUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_tryuplock(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    let rwlock = unsafe { RwLock::of(rwlock) };
    if under_policy!(rwlock, raw => raw.try_read_upgradable()) { 0 } else { EBUSY }
}

/// Makes the caller, which holds the lock by lw_rwlock_uplock, its writer, when the readers have
/// left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_upgrade(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    let rwlock = unsafe { RwLock::of(rwlock) };
    // SAFETY: see above.
    under_policy!(rwlock, raw => unsafe { raw.upgrade() });
    rwlock.set_writer(Native::tid());
    0
}

/// As lw_rwlock_upgrade, if there are no other readers; EBUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_tryupgrade(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    let rwlock = unsafe { RwLock::of(rwlock) };
    // SAFETY: see above.
    if !under_policy!(rwlock, raw => unsafe { raw.try_upgrade() }) {
        return EBUSY;
    }
    rwlock.set_writer(Native::tid());
    0
}

/// Releases a lock that is held by lw_rwlock_uplock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_rwlock_upunlock(rwlock: *mut lw_rwlock_t) -> c_int {
    // SAFETY: see above.
    let rwlock = unsafe { RwLock::of(rwlock) };
    // SAFETY: see above.
    under_policy!(rwlock, raw => unsafe { raw.unlock_upgradable() });
    0
}
