//! What a forked child must forget.
//!
//! The child has one thread; records of the others name threads that do not exist there. Locks
//! that another thread held stay held, as POSIX says.

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use super::{membarrier, slots};

extern "C" fn in_child() {
    membarrier::register();
    slots::forget_others();
}

/// Registers the handler, once per process: before the first slot is handed out.
pub(super) fn arm() {
    static ARMED: AtomicBool = AtomicBool::new(false);
    // Ordering: Relaxed, hint (one thread wins; a fork beside the first contended wait of the
    // process is the program's race with itself)
    if !cfg!(miri) && !ARMED.swap(true, Relaxed) {
        // SAFETY: `in_child` is an extern "C" function without arguments, as pthread_atfork
        // asks, and async-signal-safe: atomics and one system call.
        unsafe { pthread_atfork(None, None, Some(in_child)) };
    }
}

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> libc::c_int;
}
