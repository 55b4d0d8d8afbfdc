//! What a forked child must forget.
//!
//! The child has one thread; records of the others name threads that do not exist there. Locks
//! that another thread held stay held, as POSIX says. The handler is registered before `main`, so
//! that it runs before handlers of the program, which may unlock what they locked for the fork.
//! A fork in a signal handler that interrupted a lock operation is not supported: the operation
//! would go on in the child without its record.

use super::{membarrier, slots, tls};

extern "C" fn in_child() {
    membarrier::register_child();
    tls::forget_tid();
    slots::forget_others();
}

/// Registers the handler.
pub(super) fn arm() {
    // SAFETY: `in_child` is an extern "C" function without arguments, as pthread_atfork asks, and
    // async-signal-safe: atomics and one system call.
    unsafe { pthread_atfork(None, None, Some(in_child)) };
}

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> libc::c_int;
}
