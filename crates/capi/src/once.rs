//! `lw_once*`.

use core::ffi::c_int;

use lockwright_locks::once::RawOnce;
use lockwright_platform::Native;

/// What is done once: 4 bytes.
#[repr(C)]
pub struct lw_once_t {
    /// For the library.
    pub word: u32,
}

const _: () = {
    assert!(size_of::<RawOnce<Native>>() == size_of::<lw_once_t>());
    assert!(align_of::<RawOnce<Native>>() == align_of::<lw_once_t>());
};

/// # Safety
///
/// 1. `once` points to an initialised object that lives as long as the reference is used.
unsafe fn of<'a>(once: *const lw_once_t) -> &'a RawOnce<Native> {
    // SAFETY: the caller's contract (1); the object is one word.
    unsafe { &*once.cast() }
}

// SAFETY (of all below): C programs pass pointers to objects that live during the call and are
// initialised, and end the attempts that they begin.

/// Calls the function if nobody has; returns when it has been called. What the function wrote is
/// seen by every caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_once(once: *mut lw_once_t, function: extern "C" fn()) -> c_int {
    // SAFETY: see above.
    if unsafe { lw_once_begin(once) } {
        function();
        // SAFETY: begun above.
        unsafe { lw_once_end(once, true) };
    }
    0
}

/// The same in two steps: true gives the caller the right to do it, and lw_once_end must follow;
/// false says that it has been done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_once_begin(once: *mut lw_once_t) -> bool {
    // SAFETY: see above.
    let once = unsafe { of(once) };
    !once.is_done() && once.begin(true).is_ok()
}

/// Ends what lw_once_begin began: done, or to be tried again by the next.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_once_end(once: *mut lw_once_t, done: bool) {
    // SAFETY: see above.
    unsafe { of(once).end(done) };
}
