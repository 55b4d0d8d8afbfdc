//! Who holds a mutex that its holder may lock again.

use std::num::NonZeroUsize;

/// Tells threads apart for a [`ReentrantMutex`](crate::ReentrantMutex).
pub struct RawThreadId;

fn id() -> NonZeroUsize {
    // The address of a thread's own variable: no other thread that runs has it.
    std::thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::NonNull::from(here).addr())
}

// SAFETY: two threads that run at the same time never get the same number, and a thread gets the same
// each time: the variable has no destructor, so it lives as long as its thread.
unsafe impl lock_api::GetThreadId for RawThreadId {
    const INIT: RawThreadId = RawThreadId;

    #[inline]
    fn nonzero_thread_id(&self) -> NonZeroUsize {
        id()
    }
}

#[cfg(feature = "lock_api_04")]
// SAFETY: as above.
unsafe impl lock_api_04::GetThreadId for RawThreadId {
    const INIT: RawThreadId = RawThreadId;

    #[inline]
    fn nonzero_thread_id(&self) -> NonZeroUsize {
        id()
    }
}
