//! The system calls of sleeping and waking, each in one function.

use core::sync::atomic::AtomicU32;

use super::syscall::syscall;

/// Sleeps while `word` holds `value`, until woken or the absolute `CLOCK_MONOTONIC` time
/// `deadline` (nanoseconds). Returns whether the deadline ended it; any other end, a signal
/// included, is `false`.
pub(super) fn wait(word: &AtomicU32, value: u32, deadline: Option<u64>) -> bool {
    let at = deadline.map(timespec);
    let at: *const libc::timespec = at.as_ref().map_or(core::ptr::null(), |t| t);
    // SAFETY: `word` and `at` are valid for the whole call; FUTEX_WAIT_BITSET only reads them.
    let r = unsafe {
        syscall!(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG,
            value,
            at,
            core::ptr::null::<u32>(),
            libc::FUTEX_BITSET_MATCH_ANY,
        )
    };
    r == -(libc::ETIMEDOUT as isize)
}

/// Wakes at most one thread that sleeps on `word`.
pub(super) fn wake_one(word: &AtomicU32) {
    // SAFETY: `word` is valid; FUTEX_WAKE reads nothing through it.
    unsafe {
        syscall!(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1u32,);
    }
}

/// Sleeps for `ns` nanoseconds, or less if a signal arrives.
pub(super) fn sleep(ns: u64) {
    let t = timespec(ns);
    // SAFETY: `t` is a valid timespec for the whole call.
    unsafe { syscall!(libc::SYS_nanosleep, &raw const t, core::ptr::null_mut::<libc::timespec>()) };
}

/// Offers the CPU to another thread.
pub(super) fn yield_now() {
    // SAFETY: sched_yield has no preconditions.
    unsafe { libc::sched_yield() };
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ }
}
