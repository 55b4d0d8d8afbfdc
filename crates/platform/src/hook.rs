//! A function that runs on a thread that is about to sleep in a lock operation.
//!
//! For tools that have something to ask a thread which waits for a lock: they wake it, and it passes
//! here before it sleeps again. Without the
//! feature `park_hook` there is none, and nothing asks for one.

use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};

// Edges
//  [hook.set] set_park_hook: store Release -> run: load Acquire  publishes what the function needs
static HOOK: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Has `hook` run on each thread that is about to sleep in a lock operation. It may not wait for a lock of this
/// crate's users: the thread is inside one of theirs.
pub fn set_park_hook(hook: fn()) {
    // Ordering: Release, [hook.set]: pairs with the load in run()
    HOOK.store(hook as *mut (), Release);
}

pub(crate) fn run() {
    // Ordering: Acquire, [hook.set]: pairs with the store in set_park_hook()
    let hook = HOOK.load(Acquire);
    if !hook.is_null() {
        // SAFETY: stored by set_park_hook() alone, which took it from a function of this type.
        let hook: fn() = unsafe { core::mem::transmute(hook) };
        hook();
    }
}
