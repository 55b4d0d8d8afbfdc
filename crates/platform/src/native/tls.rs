//! What a thread keeps for itself, see `initial_exec`.

use super::Native;
use crate::threads::Here;

crate::initial_exec!(
    pub(super) fn here: Here<Native> = Here::ZERO, 24 bytes,
    concat!(
        "lockwright_here_",
        env!("CARGO_PKG_VERSION_MAJOR"),
        "_",
        env!("CARGO_PKG_VERSION_MINOR"),
        "_",
        env!("CARGO_PKG_VERSION_PATCH")
    )
);

/// The calling thread's number in the system. A forked child forgets what it was in the parent.
#[inline]
pub(super) fn tid() -> u32 {
    match here(|here| here.tid.get()) {
        0 => ask_for_tid(),
        tid => tid,
    }
}

#[cold]
fn ask_for_tid() -> u32 {
    // SAFETY: gettid takes nothing.
    let tid = unsafe { super::syscall::syscall!(libc::SYS_gettid) } as u32;
    here(|here| here.tid.set(tid));
    tid
}

/// In a forked child, whose thread has another number.
pub(super) fn forget_tid() {
    here(|here| here.tid.set(0));
}

/// Whether the thread is scheduled by a real-time policy. The system is asked at every 64th question.
pub(super) fn is_realtime() -> bool {
    if cfg!(miri) {
        // It has one kind of thread, and no such call.
        return false;
    }
    const YES: u8 = 0x80;
    const QUESTIONS: u8 = 63;
    here(|here| {
        let mut known = here.realtime.get();
        if known & QUESTIONS == 0 {
            // SAFETY: sched_getscheduler takes a number; 0 is the caller.
            let policy = unsafe { super::syscall::syscall!(libc::SYS_sched_getscheduler, 0u32) };
            let realtime =
                [libc::SCHED_FIFO, libc::SCHED_RR, libc::SCHED_DEADLINE].contains(&(policy as i32));
            known = QUESTIONS | if realtime { YES } else { 0 };
        }
        here.realtime.set(known - 1);
        known & YES != 0
    })
}
