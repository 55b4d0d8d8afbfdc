//! What a thread keeps for itself, see `initial_exec`.

use core::cell::Cell;

use super::Native;
use crate::ThreadRecord;

/// The words of one thread; all 0 when it begins.
#[repr(C)]
pub(super) struct Here {
    /// The record of the thread's slot; null before its first contended wait.
    pub record: Cell<*const ThreadRecord<Native>>,
    /// The thread's number in the system; 0 before it has been asked for.
    pub tid: Cell<u32>,
    /// The thread's slot; 0 before its first contended wait.
    pub slot: Cell<u16>,
    /// How many lock operations are under way on this thread: more than one in signal handlers.
    pub depth: Cell<u8>,
}

// The name ends with the crate's version: two versions in one program have two sets of words.
macro_rules! symbol {
    () => {
        concat!(
            "lockwright_here_",
            env!("CARGO_PKG_VERSION_MAJOR"),
            "_",
            env!("CARGO_PKG_VERSION_MINOR"),
            "_",
            env!("CARGO_PKG_VERSION_PATCH")
        )
    };
}

crate::initial_exec!(
    pub(super) fn here: Here = Here {
        record: Cell::new(core::ptr::null()),
        tid: Cell::new(0),
        slot: Cell::new(0),
        depth: Cell::new(0),
    }, 16 bytes, symbol!()
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
