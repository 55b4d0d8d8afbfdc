//! What a thread keeps for itself, see `initial_exec`.

use super::Native;
use crate::threads::Here;

crate::initial_exec!(
    pub(super) fn here: Here<Native> = Here::ZERO, 16 bytes,
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
