//! What the product is compared with: the kernel's policies, stage by stage, and study objects.
//!
//! Locks to measure, not to use; there by the feature `stages`.

use lock_api::GuardNoSend;
pub use lockwright_locks::biased as rwlock_bias;
use lockwright_locks::count_mutex::CountMutex;
pub use lockwright_locks::count_mutex::{AfterDefault, AfterX86, Before, Tests};
pub use lockwright_locks::mutex::Kernel;
pub use lockwright_locks::rwsem::policy as rwlock_policy;
use lockwright_platform::Native;

/// The kernel's count-word mutex of 2013, before and after commit 0dc8c730c9. It knows no bound
/// on waiting: a thread may starve.
pub struct RawCountMutex<T: Tests>(CountMutex<Native, T>);

// SAFETY: `CountMutex` keeps mutual exclusion between an acquisition and the unlock, and
// publishes the section from one to the next ([count.lock]).
unsafe impl<T: Tests> lock_api::RawMutex for RawCountMutex<T> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawCountMutex(CountMutex::INIT);

    type Guard = GuardNoSend;

    #[inline]
    fn lock(&self) -> GuardNoSend {
        self.0.lock();
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock(&self) -> Option<GuardNoSend> {
        self.0.try_lock().then(GuardNoSend::new)
    }

    #[inline]
    unsafe fn unlock(&self, _guard: GuardNoSend) {
        // SAFETY: the caller holds the mutex (lock_api's contract), and `&self` keeps it alive.
        unsafe { self.0.unlock() }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}
